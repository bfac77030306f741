//! Quantization in device memory: problem, plan and simulator.

use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use std::time::Duration;

use cuda_sim::{GlobalBuffer, Launch, Limits, Report};
use tilewright_contract::{
    DType, Fp8, Fp8Pass, Fp8QuantizeKernel, Fp8QuantizeParams, Fp8ScaleLayout, Fp8Scaling, span_elems,
};

use super::matrix::check_k;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::simulate::SimOptions;

/// How long the threads of a CTA may run without meeting.
const PATIENCE: Duration = Duration::from_secs(60);

/// A matrix to quantize on a GPU: `rows x k` elements of FP8, along K, and their scales.
///
/// The source is row-major in device memory: `rows x k`, or `k x rows` if it is [transposed](Self::transposed), as an A
/// that is stored transposed and a B of `k x n` are. The result has the bits of
/// [`Fp8Matrix::quantize`](super::Fp8Matrix::quantize), which says how it rounds.
///
/// A GPU refuses no elements: **where one is infinite or NaN, the scale that it takes part in is NaN, and all elements
/// with that scale are NaN**. No product of them is a number.
///
/// ```
/// use tilewright::fp8::{Fp8, Fp8Matrix, Fp8Quantize, Fp8Scaling};
/// use tilewright::random::random_matrix;
/// use tilewright::{DType, SimOptions};
///
/// let (rows, k) = (40, 272);
/// let plan = Fp8Quantize::new(Fp8::E4m3, Fp8Scaling::Rows128, DType::F32, rows, k).plan()?;
/// let source = random_matrix::<f32>(1, rows * k);
/// let quantized = plan.simulate(&source, &SimOptions::default())?;
/// quantized.assert_clean();
/// let on_cpu = Fp8Matrix::quantize(Fp8::E4m3, Fp8Scaling::Rows128, rows, k, &source)?;
/// assert_eq!((quantized.data, quantized.scales), (on_cpu.data().to_vec(), on_cpu.scales().to_vec()));
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8Quantize {
    format: Fp8,
    scaling: Fp8Scaling,
    source: DType,
    rows: usize,
    k: usize,
    ld: Option<usize>,
    is_transposed: bool,
}

impl Fp8Quantize {
    /// A packed source of `rows x k`, of f32, f16 or bf16.
    pub fn new(format: Fp8, scaling: Fp8Scaling, source: DType, rows: usize, k: usize) -> Self {
        Self {
            format,
            scaling,
            source,
            rows,
            k,
            ld: None,
            is_transposed: false,
        }
    }

    /// With so many elements from one line of the source to the next. Where that is a multiple of 4, and the source
    /// starts at a multiple of 4 elements, vectors are loaded, otherwise single elements.
    pub fn ld(mut self, ld: usize) -> Self {
        self.ld = Some(ld);
        self
    }

    /// With a source of `k x rows`.
    pub fn transposed(mut self) -> Self {
        self.is_transposed = true;
        self
    }

    /// Lines of the source, and elements of a line.
    fn lines(&self) -> [usize; 2] {
        match self.is_transposed {
            true => [self.k, self.rows],
            false => [self.rows, self.k],
        }
    }

    /// The launches and what memory they take. No GPU is asked: the kernels are for compute capability 9.0, and have
    /// static shared memory, which every one gives.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the numbers, where K is no multiple of 16, for a source of f64, for a leading
    /// dimension that is less than a line, and for extents or a grid that are too large.
    pub fn plan(&self) -> Result<QuantizePlan> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        let Self { rows, k, .. } = *self;
        check_k(self.format, k)?;
        let [_, columns] = self.lines();
        let ld = self.ld.unwrap_or(columns);
        if ld < columns {
            return refuse(format!(
                "a leading dimension of {ld} is less than the {columns} elements of a line"
            ));
        }
        let narrow = |extent: usize| u32::try_from(extent).ok().filter(|&narrow| narrow <= i32::MAX as u32);
        let (Some(rows), Some(k), Some(ld)) = (narrow(rows), narrow(k), narrow(ld)) else {
            return refuse(format!(
                "{rows} x {k} with {ld} elements from line to line: each has to be below 2^31"
            ));
        };
        let tiles = |extent: u32| u64::from(extent.div_ceil(Fp8QuantizeKernel::TILE));
        let tiles = [tiles(rows), tiles(rows) * tiles(k)];
        let Some(ctas) = u32::try_from(tiles[1]).ok().filter(|&ctas| ctas <= i32::MAX as u32) else {
            return refuse(format!(
                "quantizing {rows} x {k} elements takes {} CTAs, a grid has at most {}",
                tiles[1],
                i32::MAX
            ));
        };
        let splits = Fp8QuantizeKernel::splits(self.scaling, rows, k);
        let kernel = |pass| Fp8QuantizeKernel::of(pass, self.scaling, self.source, self.is_transposed);
        let Some(quantize) = kernel(Fp8Pass::Quantize) else {
            return refuse(format!(
                "FP8 is quantized from f32, f16 or bf16, not from {}",
                self.source
            ));
        };
        // No more than the tiles, which a grid has.
        let largest_ctas = match self.scaling {
            Fp8Scaling::Rows => splits * tiles[0] as u32,
            _ => splits,
        };
        let largest = kernel(Fp8Pass::Largest).map(|kernel| (kernel, largest_ctas));
        let launches = [largest, Some((quantize, ctas))];
        let launch = |(kernel, ctas)| QuantizeLaunch { kernel, ctas };
        Ok(QuantizePlan {
            problem: *self,
            extents: [rows, k],
            ld,
            splits,
            launches: launches.map(|of| of.filter(|_| rows > 0).map(launch)),
        })
    }
}

/// One launch of a quantization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantizeLaunch {
    /// The kernel, of [`Fp8QuantizeKernel::THREADS`] threads and [`Fp8QuantizeKernel::smem`] bytes of static shared
    /// memory a CTA.
    pub kernel: &'static Fp8QuantizeKernel,
    /// CTAs of the grid, along x.
    pub ctas: u32,
}

/// The launches of a quantization, and what memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantizePlan {
    problem: Fp8Quantize,
    extents: [u32; 2],
    ld: u32,
    splits: u32,
    launches: [Option<QuantizeLaunch>; 2],
}

impl QuantizePlan {
    /// The matrix that it is for.
    pub fn problem(&self) -> &Fp8Quantize {
        &self.problem
    }

    /// The launches in their order: none without rows, one with scales of blocks, else two.
    pub fn launches(&self) -> impl Iterator<Item = QuantizeLaunch> {
        self.launches.into_iter().flatten()
    }

    /// Where scales are.
    pub fn scale_layout(&self) -> Fp8ScaleLayout {
        let [rows, k] = self.extents.map(|extent| extent as usize);
        Fp8ScaleLayout::of(self.problem.scaling, rows, k)
    }

    /// Elements of the source, from the first to the last, both included.
    pub fn source_elems(&self) -> usize {
        let [lines, columns] = self.problem.lines();
        span_elems(lines, columns, self.ld as usize)
    }

    /// Lines of the source, bytes of a line, and bytes from one line to the next.
    pub(crate) fn source_rows(&self) -> [usize; 3] {
        let [lines, columns] = self.problem.lines();
        let bytes = self.element_bytes();
        [lines, columns * bytes, self.ld as usize * bytes]
    }

    /// Bytes of an element of the source.
    pub(crate) fn element_bytes(&self) -> usize {
        self.problem.source.size_bytes() as usize
    }

    /// Bytes of the elements: `rows x k`, packed.
    pub fn data_bytes(&self) -> usize {
        let [rows, k] = self.extents.map(|extent| extent as usize);
        rows * k
    }

    /// Bytes of the scales, what pads their lines included. One scale for all of a matrix without rows is not written.
    pub fn scale_bytes(&self) -> usize {
        self.scale_layout().bytes()
    }

    /// Bytes of the workspace, whatever it contains; 0 with scales of blocks.
    pub fn workspace_bytes(&self) -> usize {
        let units = match self.problem.scaling {
            Fp8Scaling::Rows => self.extents[0] as usize,
            _ => 1,
        };
        4 * self.splits as usize * units
    }

    /// The parameters of a launch.
    pub(crate) fn params(
        &self,
        launch: &QuantizeLaunch,
        source: *const u8,
        [data, scales, partials]: [*mut u8; 3],
    ) -> Fp8QuantizeParams {
        let [rows, k] = match (launch.kernel.pass, self.problem.scaling) {
            // One kernel for both: lines and columns as they lie.
            (Fp8Pass::Largest, Fp8Scaling::Tensor) if self.problem.is_transposed => [self.extents[1], self.extents[0]],
            _ => self.extents,
        };
        Fp8QuantizeParams {
            source,
            data,
            scales: scales.cast(),
            partials: partials.cast(),
            rows,
            k,
            ld: self.ld,
            // Of rows at most 2^31, rounded up to 4.
            scale_ld: self.scale_layout().ld as u32,
            splits: self.splits,
            format: self.problem.format,
        }
    }

    /// Simulates the launches, of which each is another run of the simulator. What is wrong with a kernel is no error:
    /// it is in its report.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a source of another type or with fewer elements than [`Self::source_elems`];
    /// [`Error::Resources`] where this machine has no memory or threads to simulate with.
    pub fn simulate<T: Element>(&self, source: &[T], options: &SimOptions) -> Result<Quantized> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        if T::DTYPE != self.problem.source {
            return refuse(format!(
                "the plan is for a source of {}, not {}",
                self.problem.source,
                T::DTYPE
            ));
        }
        if source.len() < self.source_elems() {
            return refuse(format!(
                "the source takes {} elements, got {}",
                self.source_elems(),
                source.len()
            ));
        }
        let [lines, columns] = self.problem.lines();
        let from = GlobalBuffer::matrix(source, lines, columns, self.ld as usize).named("source");
        let data = GlobalBuffer::<u8>::uninit(self.data_bytes()).named("data");
        let scales = GlobalBuffer::<f32>::uninit(self.scale_layout().elems()).named("scales");
        let partials = GlobalBuffer::<u32>::uninit(self.workspace_bytes() / 4).named("workspace");
        // Raw pointers are not shared between threads; addresses are.
        let from = from.as_ptr().expose_provenance();
        let to = [
            data.as_mut_ptr().expose_provenance(),
            scales.as_mut_ptr().expose_provenance(),
            partials.as_mut_ptr().expose_provenance(),
        ];
        let mut reports = Vec::new();
        for launch in self.launches() {
            let report = self.run(&launch, from, to, options)?;
            let is_clean = report.is_clean();
            reports.push(report);
            if !is_clean {
                break;
            }
        }
        Ok(Quantized {
            data: data.to_vec(),
            scales: scales.to_vec(),
            reports,
        })
    }

    /// Simulates a launch on these addresses.
    fn run(&self, launch: &QuantizeLaunch, source: usize, to: [usize; 3], options: &SimOptions) -> Result<Report> {
        type EntryPoint = unsafe fn(&Fp8QuantizeParams);
        let symbol = launch.kernel.symbol;
        let entry_point = cuda_sim::device::find_kernel::<EntryPoint>(symbol)
            .ok_or_else(|| Error::InvalidArgument(format!("{symbol} is not linked into this program")))?;
        let simulated = Launch::new(launch.ctas, Fp8QuantizeKernel::THREADS)
            .limits(Limits::from(options.architecture))
            .schedule(options.schedule)
            .checks(options.checks)
            .synchronizations(options.synchronizations.clone())
            .workers(options.workers)
            .time_limit(PATIENCE);
        // SAFETY: the buffers hold what the parameters say, outputs are buffers of their own, partials those of the
        // launch before; grid and CTA are those of the plan.
        let report = simulated.run(|| unsafe {
            let to = to.map(with_exposed_provenance_mut);
            entry_point(&self.params(launch, with_exposed_provenance(source), to));
        });
        match report.lacks() {
            Some(problem) => Err(Error::Resources(problem.to_owned())),
            None => Ok(report),
        }
    }
}

/// What a simulated quantization has written.
#[derive(Clone, Debug)]
pub struct Quantized {
    /// The elements, `rows x k`, row by row. One that was not written is 0xff.
    pub data: Vec<u8>,
    /// The scales ([`QuantizePlan::scale_layout`]). One that was not written is NaN, of all bits set.
    pub scales: Vec<f32>,
    /// What the simulator found, for each launch; those after one with a fault are left out.
    pub reports: Vec<Report>,
}

impl Quantized {
    /// # Panics
    /// If something is wrong, with the text of every fault.
    #[track_caller]
    pub fn assert_clean(&self) {
        for report in &self.reports {
            report.assert_clean();
        }
    }
}
