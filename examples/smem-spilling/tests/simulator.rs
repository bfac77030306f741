//! The kernels on the CPU: launched under the simulator, where nothing spills, checked for faults, compared with the
//! reference. Needs no GPU.

use cuda_sim::{GlobalBuffer, Launch, Report};
use smem_spilling::kernels::inverse8::elems;
use smem_spilling::kernels::register_tile::SIDE;
use smem_spilling::kernels::{EntryPoint, Extents, Problem, Variant};
use smem_spilling::scalar::{Real, first_difference, uniform};
use smem_spilling::{inverse, product};

/// A kernel that inverts matrices.
type Invert<T> = unsafe fn(*const T, *mut T, u32);

/// Launches a kernel for `count` matrices.
fn launch_inverses<T: Real>(kernel: Invert<T>, threads: u32, count: u32, from: &[T]) -> (Report, Vec<T>) {
    let (from, to) = (GlobalBuffer::from_slice(from), GlobalBuffer::<T>::uninit(elems(count)));
    let launch = Launch::new(count.div_ceil(threads).max(1), threads);
    // SAFETY: both buffers hold `count` matrices, and every matrix has a thread.
    let report = launch.run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), count) });
    let result = if report.is_clean() { to.to_vec() } else { Vec::new() };
    (report, result)
}

/// All variants of a problem give the same right inverses.
fn inverses<T: Real>(problem: Problem, kernel_of: fn(&Variant) -> Option<Invert<T>>) {
    for count in [1, 100, 300] {
        let matrices = inverse::dominant::<T>(count.into(), count);
        let mut first: Option<Vec<T>> = None;
        for variant in problem.variants() {
            let kernel = kernel_of(variant).expect("an entry point of its problem");
            let (report, inverses) = launch_inverses(kernel, variant.threads, count, &matrices);
            report.assert_clean();
            match &first {
                Some(first) => assert_eq!(first_difference(&inverses, first), None, "{}", variant.symbol),
                None => {
                    let error = inverse::check(count, &matrices, &inverses).expect("right");
                    assert!(error < 0.25, "{error}");
                    first = Some(inverses);
                }
            }
        }
    }
}

#[test]
fn inverses_in_f32_are_right_and_the_same() {
    inverses(Problem::Inverse8F32, |variant| match variant.entry_point {
        EntryPoint::Inverse8F32(kernel) => Some(kernel),
        _ => None,
    });
}

#[test]
fn inverses_in_f64_are_right_and_the_same() {
    inverses(Problem::Inverse8F64, |variant| match variant.entry_point {
        EntryPoint::Inverse8F64(kernel) => Some(kernel),
        _ => None,
    });
}

#[test]
fn a_launch_beyond_the_bounds_is_refused() {
    for variant in Problem::Inverse8F32.variants() {
        let EntryPoint::Inverse8F32(kernel) = variant.entry_point else {
            panic!("{} inverts in f32", variant.symbol)
        };
        let (report, _) = launch_inverses(kernel, variant.threads + 1, 1, &inverse::dominant(1, 1));
        let is_bounded = variant.max_threads().is_some();
        assert_eq!(report.is_clean(), !is_bounded, "{}:\n{report}", variant.symbol);
    }
}

/// C of a launch, padding included.
fn launch_product(variant: &Variant, extents: Extents, [a, b]: [&GlobalBuffer<f32>; 2]) -> Vec<f32> {
    let EntryPoint::RegisterTile(kernel) = variant.entry_point else {
        panic!("{} multiplies", variant.symbol)
    };
    let c = GlobalBuffer::from_slice(&vec![f32::NAN; extents.span_elems()[2]]);
    let launch = Launch::new(product::ctas(&extents).expect("small"), (SIDE, SIDE));
    // SAFETY: the buffers hold the matrices; grid and CTA are the kernel's.
    let report = launch.run(|| unsafe { kernel(a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), extents) });
    report.assert_clean();
    c.to_vec()
}

#[test]
fn products_are_right_and_the_same() {
    for (m, n, k, padding) in [(1, 1, 1, 0), (130, 127, 33, 5), (128, 256, 8, 0), (3, 2, 0, 1)] {
        let extents = product::extents(m, n, k, padding);
        let [of_a, of_b, _] = extents.span_elems();
        let (a, b): (Vec<f32>, Vec<f32>) = (uniform(1, of_a), uniform(2, of_b));
        let [on_a, on_b] = [&a, &b].map(|operand| GlobalBuffer::from_slice(operand));
        let mut first: Option<Vec<f32>> = None;
        for variant in Problem::RegisterTile.variants() {
            let c = launch_product(variant, extents, [&on_a, &on_b]);
            match &first {
                Some(first) => assert_eq!(first_difference(&c, first), None, "{}", variant.symbol),
                None => {
                    product::check(&extents, &a, &b, &c).expect("right");
                    let (ldc, n) = (extents.ldc as usize, n as usize);
                    let padding = c.iter().enumerate().filter(|(at, _)| at % ldc >= n);
                    assert!(
                        padding.into_iter().all(|(_, of_padding)| of_padding.is_nan()),
                        "{extents:?}"
                    );
                    first = Some(c);
                }
            }
        }
    }
}
