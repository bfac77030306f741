//! What is launched: inputs on the GPU, checks, sizes.

use cust::memory::{CopyDestination, DeviceBuffer};

use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::inverse8::elems;
use crate::kernels::{Extents, Problem, Variant};
use crate::scalar::{Real, first_difference, uniform};
use crate::{inverse, product};

/// Sizes of each problem.
pub const SIZES: usize = 3;

/// The sizes that `ncu` counts: one that caches hold, and one that they do not.
pub const COUNTED: [usize; 2] = [0, SIZES - 1];

/// Square products.
const EXTENTS: [u32; SIZES] = [2048, 4096, 8192];

/// Matrices to invert: input and output fit into the L2 cache of an H200 in f32 and about so in f64; and twice they do
/// not.
const COUNTS: [u32; SIZES] = [1 << 15, 1 << 18, 1 << 20];

/// One size of one problem, on a GPU.
pub trait Workload {
    /// The size, for people.
    fn label(&self) -> String;

    /// Operations of a product, or bytes that inverses must move.
    fn work(&self) -> f64;

    /// Enqueues a variant.
    fn launch(&mut self, variant: &Variant) -> Result<()>;

    /// Launches a variant into an output of NaNs and checks what it writes: the first time against the CPU, then
    /// against the result of the first time, to the bit.
    fn check(&mut self, variant: &Variant) -> Result<()>;
}

/// This size of a problem.
pub fn of<'gpu>(gpu: &'gpu Gpu, problem: Problem, size: usize) -> Result<Box<dyn Workload + 'gpu>> {
    Ok(match problem {
        Problem::RegisterTile => Box::new(Product::new(gpu, EXTENTS[size])?),
        Problem::Inverse8F32 => Box::new(Inverses::<f32>::new(gpu, COUNTS[size])?),
        Problem::Inverse8F64 => Box::new(Inverses::<f64>::new(gpu, COUNTS[size])?),
    })
}

/// An output on the GPU, and a right result to compare it with.
struct Output<T: Real> {
    on_gpu: DeviceBuffer<T>,
    right: Option<Vec<T>>,
}

impl<T: Real> Output<T> {
    fn new(elems: usize) -> Result<Self> {
        // SAFETY: every bit pattern is a number, and nothing reads it before it was written.
        let on_gpu = unsafe { DeviceBuffer::uninitialized(elems) }?;
        Ok(Self { on_gpu, right: None })
    }

    /// Fills it with NaNs.
    fn poison(&mut self) -> Result<()> {
        Ok(self.on_gpu.set_8(0xff)?)
    }

    fn check(&mut self, gpu: &Gpu, against_cpu: impl FnOnce(&[T]) -> Result<f64>) -> Result<()> {
        gpu.synchronize()?;
        let mut result = vec![T::ZERO; self.on_gpu.len()];
        self.on_gpu.copy_to(&mut result)?;
        match &self.right {
            None => {
                against_cpu(&result)?;
                self.right = Some(result);
            }
            Some(right) => {
                if let Some(at) = first_difference(&result, right) {
                    let (got, first) = (result[at], right[at]);
                    return Err(Error::Wrong(format!(
                        "element {at} is {got}, that of the first variant {first}"
                    )));
                }
            }
        }
        Ok(())
    }
}

struct Product<'gpu> {
    gpu: &'gpu Gpu,
    extents: Extents,
    operands: [Vec<f32>; 2],
    on_gpu: [DeviceBuffer<f32>; 2],
    c: Output<f32>,
}

impl<'gpu> Product<'gpu> {
    fn new(gpu: &'gpu Gpu, extent: u32) -> Result<Self> {
        let extents = product::extents(extent, extent, extent, 0);
        let [of_a, of_b, of_c] = extents.span_elems();
        let (a, b) = (uniform(1, of_a), uniform(2, of_b));
        Ok(Self {
            gpu,
            extents,
            on_gpu: [DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?],
            operands: [a, b],
            c: Output::new(of_c)?,
        })
    }
}

impl Workload for Product<'_> {
    fn label(&self) -> String {
        format!("{0} x {0} x {0}", self.extents.m)
    }

    fn work(&self) -> f64 {
        2.0 * f64::from(self.extents.m).powi(3)
    }

    fn launch(&mut self, variant: &Variant) -> Result<()> {
        let [a, b] = &self.on_gpu;
        self.gpu.multiply(variant, &self.extents, [a, b], &mut self.c.on_gpu)
    }

    fn check(&mut self, variant: &Variant) -> Result<()> {
        self.c.poison()?;
        self.launch(variant)?;
        let [a, b] = &self.operands;
        self.c.check(self.gpu, |c| product::check(&self.extents, a, b, c))
    }
}

struct Inverses<'gpu, T: Real> {
    gpu: &'gpu Gpu,
    count: u32,
    matrices: Vec<T>,
    from: DeviceBuffer<T>,
    to: Output<T>,
}

impl<'gpu, T: Real> Inverses<'gpu, T> {
    fn new(gpu: &'gpu Gpu, count: u32) -> Result<Self> {
        let matrices = inverse::dominant::<T>(1, count);
        Ok(Self {
            gpu,
            count,
            from: DeviceBuffer::from_slice(&matrices)?,
            to: Output::new(elems(count))?,
            matrices,
        })
    }
}

impl<T: Real> Workload for Inverses<'_, T> {
    fn label(&self) -> String {
        format!("{} matrices", self.count)
    }

    fn work(&self) -> f64 {
        // Each element is read once and written once.
        2.0 * size_of_val(&self.matrices[..]) as f64
    }

    fn launch(&mut self, variant: &Variant) -> Result<()> {
        let (from, to) = (&self.from, &mut self.to.on_gpu);
        self.gpu.invert(variant, variant.threads, self.count, from, to)
    }

    fn check(&mut self, variant: &Variant) -> Result<()> {
        self.to.poison()?;
        self.launch(variant)?;
        self.to
            .check(self.gpu, |to| inverse::check(self.count, &self.matrices, to))
    }
}
