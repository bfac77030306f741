//! What the simulator says of the guide's own kernels.

use cuda_sim::{GlobalBuffer, Launch, Report, Schedule};
use exercises::course::{EXERCISES, Verdict, Version};

use crate::slides::{self, TILE};

/// A tiled product of the slides.
type Product = unsafe fn(*const f32, *const f32, *mut f32, usize, usize);

/// Runs a kernel of the slides on matrices of 32 x 32, and says what is wrong with the result.
pub fn run_slides(kernel: Product) -> (Report, Option<usize>) {
    const WIDTH: usize = 32;
    let elems = |seed: usize| -> Vec<f32> { (0..WIDTH * WIDTH).map(|i| ((i * 7 + seed) % 11) as f32).collect() };
    let (a, b) = (elems(1), elems(2));
    let [on_a, on_b] = [("A", &a), ("B", &b)].map(|(name, of)| GlobalBuffer::from_slice(of).named(name));
    let p = GlobalBuffer::<f32>::uninit(WIDTH * WIDTH).named("P");
    let a_bytes = 4 * TILE * TILE;
    let launch = Launch::new((2, 2), (TILE as u32, TILE as u32))
        .dynamic_shared_bytes(2 * a_bytes as u32)
        .schedule(Schedule::All);
    // SAFETY: matrices, grid and shared memory as the kernels ask for; the simulator refuses the rest.
    let report = launch.run(|| unsafe { kernel(on_a.as_ptr(), on_b.as_ptr(), p.as_mut_ptr(), WIDTH, a_bytes) });
    let found = p.to_vec();
    let is_wrong = |&i: &usize| {
        let (row, column) = (i / WIDTH, i % WIDTH);
        let sum: f32 = (0..WIDTH).map(|k| a[row * WIDTH + k] * b[k * WIDTH + column]).sum();
        report.is_clean() && found[i] != sum
    };
    let wrong = (0..WIDTH * WIDTH).find(is_wrong);
    (report, wrong)
}

/// The first fault of an exercise's file as it is handed out.
pub fn first_fault(file: &str) -> Option<String> {
    let exercise = EXERCISES.iter().find(|exercise| exercise.file == file)?;
    let outcome = (exercise.run)(Version::Yours);
    match outcome.verdict() {
        Verdict::Fault(_, fault) => Some(fault.to_string()),
        _ => None,
    }
}

/// The text with the listings' paths from the repository's root: the compiler has them from here, where they are
/// included. A table becomes as much narrower.
fn from_the_root(text: &str) -> String {
    const INCLUDED: &str = "cli/tests/guide/../../../";
    let narrower = |line: &str| match line.strip_prefix(" line") {
        Some(rest) => format!(
            " line{}",
            rest.strip_prefix(&*" ".repeat(INCLUDED.len())).unwrap_or(rest)
        ),
        None => line.replace(INCLUDED, ""),
    };
    text.lines().map(narrower).collect::<Vec<_>>().join("\n")
}

/// What is said under a name: of the slides, or `first fault of FILE`.
pub fn said(name: &str) -> Option<String> {
    match name {
        "slides" => {
            let fault = run_slides(slides::of_the_slides).0.faults.first()?.to_string();
            Some(from_the_root(&fault))
        }
        "slides mended" => {
            let text = run_slides(slides::mended).0.to_string();
            let table = text.lines().filter(|line| !line.trim().is_empty());
            Some(from_the_root(&table.collect::<Vec<_>>().join("\n")))
        }
        _ => first_fault(name.strip_prefix("first fault of ")?),
    }
}
