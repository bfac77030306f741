//! `tilewright lessons`: the course, with the speed of each lesson; or one lesson, run, checked and simulated.

use clap::Args;
use half::f16;
use serde::{Deserialize, Serialize};
use tilewright::device::{self, DeviceProfile};
use tilewright::dispatch::{Policy, plan};
use tilewright::random::random_matrix;
use tilewright::simulate::SimOptions;
use tilewright::{Backend, DType, Element, Gemm, GemmShape, Operand, Options, Report, Verify, check, product};
use tilewright_contract::{Kernel, lessons};
use tilewright_harness::digest;

use crate::choice::OnDevice;
use crate::failure::{Failure, Result};
use crate::{guide, matmul, output, sim};

/// The times of the lessons that were filed last, beside cuBLAS in the same run.
const FILED: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../docs/results/h200-lessons.json"
));

/// The course: one kernel a lesson, each with one idea more; or one lesson, run, checked and simulated
///
/// Without a number, lists the lessons with what an H200 measured. With one, runs that lesson on the GPU if there is
/// one, compares every element with the CPU's reference, and simulates a smaller product with every access checked.
#[derive(Args)]
pub struct Command {
    /// The lesson: its number, or the name of its kernel
    #[arg(value_name = "LESSON")]
    lesson: Option<String>,
    #[command(flatten)]
    device: OnDevice,
}

/// A lesson, as the kernel table has it.
#[derive(Serialize)]
struct Lesson {
    number: usize,
    kernel: &'static str,
    idea: &'static str,
    /// The whole kernel, from the root of the repository.
    source: String,
    /// The chapter of the guide, from the root of the repository.
    chapter: &'static str,
    dtype: &'static str,
    /// m, n and k of a CTA's tile, in elements.
    tile: [u32; 3],
    /// Threads of a CTA.
    threads: u32,
    static_smem_bytes: u32,
    dynamic_smem_bytes: u32,
    /// Null where nothing was filed.
    measured: Option<Measured>,
}

/// A time that was filed.
#[derive(Clone, Copy, Serialize)]
struct Measured {
    tflops: f64,
    /// cuBLAS's time over the lesson's.
    of_cublas: f64,
    /// Whether it is of the PTX in this program; null where this program has none.
    current: Option<bool>,
}

/// What `--json` prints without a number.
#[derive(Serialize)]
struct Course {
    /// Where and when the lessons were measured.
    about: About,
    lessons: Vec<Lesson>,
}

/// What `--json` prints of one lesson.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    lesson: Lesson,
    /// The product on the GPU, every element checked; null without a GPU that runs it.
    gpu: Option<Report>,
    /// Why it did not run there.
    without_gpu: Option<String>,
    simulated: sim::Listing,
}

/// The filed results, as far as they are shown.
#[derive(Deserialize)]
struct Filed {
    about: About,
    rows: Vec<Row>,
}

#[derive(Deserialize, Serialize)]
struct About {
    device: String,
    driver: String,
    peer: String,
    commit: String,
    date: String,
    /// The general PTX level whose kernels were measured.
    ptx_level: String,
}

#[derive(Deserialize)]
struct Row {
    kernel: String,
    measured: Option<Times>,
}

#[derive(Deserialize)]
struct Times {
    digest: String,
    ours: Side,
    ratio: Ratio,
}

#[derive(Deserialize)]
struct Side {
    tflops: f64,
}

#[derive(Deserialize)]
struct Ratio {
    median: f64,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let filed: Filed = serde_json::from_str(FILED)
        .map_err(|error| Failure::environment(format!("the times within this program are damaged: {error}")))?;
    let all = || (1..).zip(&lessons::KERNELS);
    let Some(name) = &command.lesson else {
        let course = Course {
            lessons: all()
                .map(|(number, kernel)| Lesson::of(number, kernel, &filed))
                .collect(),
            about: filed.about,
        };
        return match json {
            true => output::print_json(&course),
            false => output::print(&course.to_string()),
        };
    };
    let is_meant = |(number, kernel): &(usize, &Kernel)| name.parse() == Ok(*number) || name == kernel.symbol;
    let Some((number, kernel)) = all().find(is_meant) else {
        let last = lessons::KERNELS.len();
        return Err(Failure::input(format!("no lesson `{name}`; known: 1 to {last}")));
    };
    let (gpu, without_gpu) = on_gpu(kernel, command.device.ordinal())?;
    let outcome = Outcome {
        lesson: Lesson::of(number, kernel, &filed),
        gpu,
        without_gpu,
        simulated: simulated(kernel)?,
    };
    match json {
        true => output::print_json(&outcome)?,
        false => output::print(&outcome.to_string())?,
    }
    outcome.simulated.outcome()
}

impl Lesson {
    fn of(number: usize, kernel: &Kernel, filed: &Filed) -> Self {
        let row = filed.rows.iter().find(|row| row.kernel == kernel.symbol);
        let measured = row.and_then(|row| row.measured.as_ref()).map(|times| Measured {
            tflops: times.ours.tflops,
            of_cublas: times.ratio.median,
            current: digest::of_kernel(kernel.symbol, &filed.about.ptx_level).map(|digest| digest == times.digest),
        });
        let file = kernel.symbol.replacen("lesson_", "l", 1);
        Self {
            number,
            kernel: kernel.symbol,
            idea: kernel.family.idea(),
            source: format!("kernels-gpu/src/lessons/{file}.rs"),
            chapter: guide::of_lesson(number),
            dtype: kernel.dtype.name(),
            tile: [kernel.tile.m, kernel.tile.n, kernel.tile.k],
            threads: kernel.threads(),
            static_smem_bytes: kernel.static_bytes().get(),
            dynamic_smem_bytes: kernel.dynamic_bytes().get(),
            measured,
        }
    }

    /// `8192 B (8 KiB), static`, or `none`.
    fn shared_memory(&self) -> String {
        match (self.static_smem_bytes, self.dynamic_smem_bytes) {
            (0, 0) => "none".to_owned(),
            (bytes, 0) => format!("{}, static", output::bytes(bytes.into())),
            (_, bytes) => format!("{}, dynamic", output::bytes(bytes.into())),
        }
    }

    fn tile(&self) -> String {
        let [m, n, k] = self.tile;
        format!("{m}x{n}x{k}")
    }
}

/// Multiplies a product with residue tiles along every extent, and compares every element; or says why not.
fn on_gpu(kernel: &Kernel, device: u32) -> Result<(Option<Report>, Option<String>)> {
    const EXTENTS: [usize; 3] = [1030, 780, 522];
    let profile = match device::query(device) {
        Ok(profile) => profile,
        Err(error) => return Ok((None, Some(error.to_string()))),
    };
    if !kernel.target.runs_on(profile.compute_capability) {
        let ((major, minor), has) = (kernel.target.compute_capability, profile.compute_capability_name());
        let reason = format!(
            "it needs compute capability {major}.{minor}, {} has {has}",
            profile.name
        );
        return Ok((None, Some(reason)));
    }
    let report = match kernel.dtype {
        DType::F16 => multiplied::<f16>(kernel, EXTENTS, device),
        _ => multiplied::<f32>(kernel, EXTENTS, device),
    };
    report.map(|report| (Some(report), None))
}

fn multiplied<T: Element>(kernel: &Kernel, [m, n, k]: [usize; 3], device: u32) -> Result<Report> {
    let shape = GemmShape::packed(m, n, k).map_err(tilewright::Error::from)?;
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let options = Options {
        backend: Backend::Gpu,
        device,
        policy: policy(kernel),
        verify: Verify::Full,
    };
    let (a, b) = (
        operand(Operand::A, check::DEFAULT_SEED),
        operand(Operand::B, check::DEFAULT_SEED + 1),
    );
    Ok(product(&Gemm::new(shape), &a, &b, None::<&[T]>, &options)?.report)
}

/// Simulates a product of two tiles along each extent, with a residue.
fn simulated(kernel: &Kernel) -> Result<sim::Listing> {
    let extent = |tile: u32| tile as usize + 8;
    let tile = kernel.tile;
    let shape =
        GemmShape::packed(extent(tile.m), extent(tile.n), 2 * tile.k as usize + 8).map_err(tilewright::Error::from)?;
    let options = SimOptions::default();
    let profile = DeviceProfile::of_arch(options.architecture);
    let plan = plan(&shape, kernel.dtype, &profile, &policy(kernel)).map_err(tilewright::Error::from)?;
    match kernel.dtype {
        DType::F16 => sim::listing::<f16>(&plan, &options, check::DEFAULT_SEED, false),
        _ => sim::listing::<f32>(&plan, &options, check::DEFAULT_SEED, false),
    }
}

fn policy(kernel: &Kernel) -> Policy {
    Policy {
        kernel: Kernel::named(kernel.symbol),
        ..Policy::default()
    }
}

impl std::fmt::Display for Course {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let About {
            device,
            driver,
            peer,
            commit,
            date,
            ..
        } = &self.about;
        let mut table = output::table();
        table.set_header([
            "",
            "kernel",
            "idea",
            "type",
            "tile",
            "shared memory",
            "TFLOP/s",
            "of cuBLAS",
        ]);
        for lesson in &self.lessons {
            let figure = |text: &dyn Fn(Measured) -> String| match lesson.measured {
                Some(measured) if measured.current != Some(false) => text(measured),
                Some(_) => "stale".to_owned(),
                None => String::new(),
            };
            table.add_row([
                lesson.number.to_string(),
                lesson.kernel.to_owned(),
                lesson.idea.to_owned(),
                lesson.dtype.to_owned(),
                lesson.tile(),
                lesson.shared_memory(),
                figure(&|measured| format!("{:.1}", measured.tflops)),
                figure(&|measured| format!("{:.0} %", 100.0 * measured.of_cublas)),
            ]);
        }
        output::right_align(&mut table, [0, 6, 7]);
        write!(
            f,
            "{}\nTFLOP/s at 4096 x 4096 x 4096 on {device}, driver {driver}, with {peer} in the same run; commit {}, \
             {date}.\n`tilewright lessons N` runs, checks and simulates lesson N; its whole kernel is in \
             kernels-gpu/src/lessons.\nThe guide explains them: {}.\n",
            output::render(table),
            commit.get(..10).unwrap_or(commit),
            guide::LADDER,
        )
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lesson = &self.lesson;
        writeln!(f, "Lesson {}: {}\n", lesson.number, lesson.idea)?;
        let rows = [
            ("source", lesson.source.clone()),
            ("explained in", lesson.chapter.to_owned()),
            (
                "tile of a CTA",
                format!("{} (m x n x k), {}", lesson.tile(), lesson.dtype),
            ),
            ("threads", lesson.threads.to_string()),
            ("shared memory", lesson.shared_memory()),
        ];
        f.write_str(&output::render(output::pairs(rows)))?;
        match (&self.gpu, &self.without_gpu) {
            (Some(report), _) => write!(f, "\nOn the GPU\n\n{}", matmul::describe(report))?,
            (None, reason) => writeln!(
                f,
                "\nNot run on a GPU: {}",
                reason.as_deref().unwrap_or("there is none")
            )?,
        }
        write!(f, "\nIn the simulator\n\n{}", sim::describe(&self.simulated))
    }
}
