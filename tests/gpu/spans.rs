//! Matrices that span more than 4 GiB, one of them more than 2^32 elements: few rows, far apart. No index of a kernel
//! may be computed in 32 bits.

use half::f16;
use tilewright::check::Expected;
use tilewright::dispatch::{Policy, plan};
use tilewright::launch::{DeviceMatrix, Gpu};
use tilewright::random::random_matrix;
use tilewright::{Element, Family, Gemm, GemmShape, Kernel, Operand, Transpose};

use crate::Outcome;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    let trials = [
        Trial::test("spans::f32_by_simt", || each_layout::<f32>(Some(Family::SIMT), FAR)),
        Trial::test("spans::f16_by_mma_sync", || {
            each_layout::<f16>(Some(Family::MMA_SYNC), FAR)
        }),
        Trial::test("spans::f32_by_the_planner", || each_layout::<f32>(None, FAR)),
        Trial::test("spans::f16_by_the_planner", || each_layout::<f16>(None, FAR)),
        // rows at odd elements: padded first.
        Trial::test("spans::f16_copied", || {
            each_layout::<f16>(Some(Family::MMA_SYNC), FAR - 1)
        }),
    ];
    // They take most of a GPU's memory.
    trials.into_iter().map(Trial::alone).collect()
}

/// Elements from one row of A and B to the next: as far apart as the pipelined kernels take them, in whole chunks.
const FAR: usize = Kernel::MAX_LD / 8 * 8;

/// Elements behind each row of C that are looked at: nobody writes them.
const BEHIND: usize = 64;

/// A of 264 rows spans more than 2^32 elements, every other operand more than 4 GiB; transposed operands do, too.
fn each_layout<T: Element>(family: Option<Family>, far: usize) -> Outcome {
    let gpu = Gpu::open(0)?;
    for transpose in [[Transpose::No; 2], [Transpose::No, Transpose::Yes], [Transpose::Yes; 2]] {
        let (m, n, k) = (264, 136, 144);
        let far_c = (1_usize << 32).div_ceil(size_of::<T>() * (m - 1)).next_multiple_of(8);
        let shape = GemmShape::with_transposes(m, n, k, transpose, [far, far, far_c])?;
        let spans = [Operand::A, Operand::B, Operand::C].map(|operand| shape.span_elems(operand));
        let needed = (spans.iter().sum::<usize>() + BEHIND) * size_of::<T>();
        if spans.iter().any(|span| span * size_of::<T>() <= 1 << 32) {
            return Err(format!("spans of {spans:?} elements are no test").into());
        }
        let (free, _) = cust::memory::mem_get_info()?;
        // What the driver needs besides.
        if needed + (1 << 30) > free {
            println!(
                "skipped: {shape} {transpose:?} of {} needs {needed} bytes, {free} are free",
                T::DTYPE
            );
            continue;
        }
        let policy = Policy {
            family,
            ..Policy::default()
        };
        let plan = plan(&shape, T::DTYPE, gpu.profile(), &policy)?;
        let (on_a, a) = far_apart::<T>(&gpu, &shape, Operand::A)?;
        let (on_b, b) = far_apart::<T>(&gpu, &shape, Operand::B)?;
        let mut on_c = gpu.uninitialized::<T>(shape.span_elems(Operand::C) + BEHIND)?;
        on_c.fill_bytes(0xff)?;
        gpu.launch(&plan, &Gemm::new(plan.shape()), &on_a, &on_b, &mut on_c)?;
        gpu.synchronize()?;
        let mut c = Vec::new();
        let mut row = vec![T::from_f64(0.0); n + BEHIND];
        for first in (0..m).map(|row| row * far_c) {
            on_c.download_at(first, &mut row)?;
            c.extend_from_slice(&row[..n]);
            if let Some(at) = (n..row.len()).find(|&at| !row[at].to_f64().is_nan()) {
                let what = plan.kernel().symbol;
                return Err(format!("{what} {transpose:?}: element {} outside of C was written", first + at).into());
            }
        }
        let packed = GemmShape::packed_transposed(m, n, k, transpose)?;
        let verdict = Expected::product(&packed, &a, &b)?
            .with_precision(plan.kernel().precision)?
            .full(&c)?;
        if !verdict.passed() {
            return Err(format!("{} {transpose:?}: {verdict}", plan.kernel().symbol).into());
        }
    }
    Ok(())
}

/// A random operand on the device, NaN between its rows, and packed on the host.
fn far_apart<'gpu, T: Element>(
    gpu: &'gpu Gpu,
    shape: &GemmShape,
    operand: Operand,
) -> Result<(DeviceMatrix<'gpu, T>, Vec<T>), tilewright::Error> {
    let (rows, columns, ld) = shape.extents(operand);
    let packed = random_matrix::<T>(operand as u64 + 1, rows * columns);
    let mut on_device = gpu.uninitialized(shape.span_elems(operand))?;
    on_device.fill_bytes(0xff)?;
    for (row, elements) in packed.chunks_exact(columns).enumerate() {
        on_device.upload_at(row * ld, elements)?;
    }
    Ok((on_device, packed))
}
