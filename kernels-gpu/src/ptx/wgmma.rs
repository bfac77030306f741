//! `wgmma`: matrix multiplication by a warpgroup, operands in shared memory (PTX ISA, "Asynchronous warpgroup level
//! matrix instructions"), for `sm_90a` alone.
//!
//! ```text
//! fence(d)                           the accumulators are in place
//! mma_async(d, a, b, ..), ..          d += a * b, for 16 of K each
//! commit()                           they become one group
//! wait::<1, _>(d)                    all groups of this warpgroup but the latest are complete
//! ```
//!
//! Every function is executed by all 128 threads of a warpgroup together, the first of which has a number that is a
//! multiple of 128.
//!
//! From the fence until the wait that covers it, nobody accesses the accumulators of an mma but further mma of the same
//! shape, and nobody writes its operands. `fence` and `wait` take the accumulators, so that the compiler moves
//! no access to them over either. Arrays of accumulators are indexed by constants only: they stay in registers.
//!
//! Accumulator `i` of thread `t` of the warpgroup is at row `16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2)` and column
//! `8 * (i / 4) + 2 * (t % 4) + i % 2` of the 64 x N result ([`accumulator_position`]).
//!
//! In the simulator the accumulators are computed when the product starts, each in binary32 along K; the hardware adds
//! in an order and with roundings of its own. The reads of the operands go on until the wait.

use half::{bf16, f16};
use tilewright_contract::Fp8;

pub use super::matrix_descriptor::{Descriptor, DescriptorSwizzle};

/// An element of A and B: binary16 ([`f16`](struct@f16)) or [`bf16`].
pub trait WgmmaElement: sealed::Sealed {
    /// Whether it is bfloat16; else binary16.
    const IS_BF16: bool;
}

impl WgmmaElement for f16 {
    const IS_BF16: bool = false;
}

impl WgmmaElement for bf16 {
    const IS_BF16: bool = true;
}

/// A thread's part of a 64 x 8 operand A of tf32: of warp w and lane 4 g + p the elements in rows 16 w + g and
/// 16 w + g + 8 of column p, then those of column p + 4. The lowest 13 bits of an f32 are ignored.
pub type Tf32Fragment = [f32; 4];

/// An element of A or B of 8 bits.
pub trait Fp8Element: sealed::Sealed {
    /// The format.
    const FORMAT: Fp8;
}

/// [`Fp8::E4m3`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct E4m3;

/// [`Fp8::E5m2`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct E5m2;

impl Fp8Element for E4m3 {
    const FORMAT: Fp8 = Fp8::E4m3;
}

impl Fp8Element for E5m2 {
    const FORMAT: Fp8 = Fp8::E5m2;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::f16 {}
    impl Sealed for super::bf16 {}
    impl Sealed for super::E4m3 {}
    impl Sealed for super::E5m2 {}
    impl<const ACCUMULATORS: usize> Sealed for [f32; ACCUMULATORS] {}
}

/// Row and column of accumulator `index` of `thread`, 0 to 127 of the warpgroup.
pub const fn accumulator_position(thread: u32, index: u32) -> (u32, u32) {
    let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (index / 2 % 2);
    (row, 8 * (index / 4) + 2 * (thread % 4) + index % 2)
}

/// Accumulators of a thread for 64, 128, 168, 192 or 256 columns: half as many.
pub trait Accumulators: sealed::Sealed {
    /// All 0. (`[0.0; N]` of 128 elements is a loop to the compiler, which would keep the array in local memory.)
    fn zero() -> Self;
    /// See [`mma_async`].
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    unsafe fn mma_async<T: WgmmaElement, const A_IS_MN_MAJOR: bool, const B_IS_MN_MAJOR: bool>(
        &mut self,
        a: Descriptor,
        b: Descriptor,
        accumulate: bool,
    );
    /// See [`mma_async_tf32`].
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    unsafe fn mma_async_tf32(&mut self, a: Descriptor, b: Descriptor);
    /// See [`mma_async_tf32_fragment`].
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    unsafe fn mma_async_tf32_fragment(&mut self, a: Tf32Fragment, b: Descriptor);
    /// See [`mma_async_fp8`].
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    unsafe fn mma_async_fp8<A: Fp8Element, B: Fp8Element>(&mut self, a: Descriptor, b: Descriptor, accumulate: bool);
    /// See [`fence`].
    #[doc(hidden)]
    fn fence(&mut self);
    /// See [`wait`].
    #[doc(hidden)]
    fn wait<const PENDING: u32>(&mut self);

    /// Calls `f` with the index and the value of each accumulator. Unrolled: a loop may index the array at run time,
    /// which moves it to local memory.
    fn for_each(&self, f: impl FnMut(u32, f32));
}

macro_rules! acc {
    ($columns:literal: 0 $($i:literal)*) => {
        impl Accumulators for [f32; $columns / 2] {
            #[inline(always)]
            fn zero() -> Self {
                let mut acc = core::mem::MaybeUninit::<Self>::uninit();
                let first = acc.as_mut_ptr().cast::<f32>();
                // SAFETY: each element is written once.
                unsafe {
                    first.write(0.0);
                    $(first.add($i).write(0.0);)*
                    acc.assume_init()
                }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn mma_async<T: WgmmaElement, const A_IS_MN_MAJOR: bool, const B_IS_MN_MAJOR: bool>(
                &mut self,
                a: Descriptor,
                b: Descriptor,
                accumulate: bool,
            ) {
                #[cfg(target_arch = "nvptx64")]
                {
                    macro_rules! wgmma {
                        ($types:literal) => {
                            // SAFETY: the caller's promise.
                            unsafe {
                                core::arch::asm!(
                                    concat!(
                                        "{{ .reg .pred accumulate; setp.ne.b32 accumulate, {accumulate}, 0; ",
                                        "wgmma.mma_async.sync.aligned.m64n", $columns, "k16.f32.", $types,
                                        " {{{0}", $(", {", $i, "}",)* "}}, ",
                                        "{a}, {b}, accumulate, 1, 1, {transpose_a}, {transpose_b}; }}",
                                    ),
                                    inout(reg32) self[0],
                                    $(inout(reg32) self[$i],)*
                                    a = in(reg64) a.0,
                                    b = in(reg64) b.0,
                                    accumulate = in(reg32) accumulate as u32,
                                    transpose_a = const A_IS_MN_MAJOR as u32,
                                    transpose_b = const B_IS_MN_MAJOR as u32,
                                    options(nostack, preserves_flags),
                                )
                            }
                        };
                    }
                    if const { T::IS_BF16 } {
                        wgmma!("bf16.bf16");
                    } else {
                        wgmma!("f16.f16");
                    }
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    use cuda_views::wgmma::{self, MmaAsync, OperandA, WgmmaElement};
                    let mma = MmaAsync {
                        a: OperandA::Shared(a.0),
                        b: b.0,
                        columns: $columns,
                        elements: [if T::IS_BF16 { WgmmaElement::Bf16 } else { WgmmaElement::F16 }; 2],
                        a_is_mn_major: A_IS_MN_MAJOR,
                        b_is_mn_major: B_IS_MN_MAJOR,
                        accumulate,
                    };
                    // SAFETY: half as many accumulators as columns, which are the caller's.
                    unsafe { wgmma::mma_async(mma, self.as_mut_ptr()) };
                }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn mma_async_tf32(&mut self, a: Descriptor, b: Descriptor) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's promise.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred accumulate; setp.ne.b32 accumulate, {accumulate}, 0; ",
                            "wgmma.mma_async.sync.aligned.m64n", $columns, "k8.f32.tf32.tf32 {{{0}",
                            $(", {", $i, "}",)* "}}, {a}, {b}, accumulate, 1, 1; }}",
                        ),
                        inout(reg32) self[0],
                        $(inout(reg32) self[$i],)*
                        a = in(reg64) a.0,
                        b = in(reg64) b.0,
                        accumulate = in(reg32) 1,
                        options(nostack, preserves_flags),
                    )
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: half as many accumulators as columns, which are the caller's.
                unsafe {
                    use cuda_views::wgmma::{self, MmaAsync, OperandA};
                    wgmma::mma_async(MmaAsync::tf32(OperandA::Shared(a.0), b.0, $columns), self.as_mut_ptr());
                }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn mma_async_tf32_fragment(&mut self, a: Tf32Fragment, b: Descriptor) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's promise.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred accumulate; setp.ne.b32 accumulate, {accumulate}, 0; ",
                            "wgmma.mma_async.sync.aligned.m64n", $columns, "k8.f32.tf32.tf32 {{{0}",
                            $(", {", $i, "}",)* "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, accumulate, 1, 1; }}",
                        ),
                        inout(reg32) self[0],
                        $(inout(reg32) self[$i],)*
                        a0 = in(reg32) a[0].to_bits(),
                        a1 = in(reg32) a[1].to_bits(),
                        a2 = in(reg32) a[2].to_bits(),
                        a3 = in(reg32) a[3].to_bits(),
                        b = in(reg64) b.0,
                        accumulate = in(reg32) 1,
                        options(nostack, preserves_flags),
                    )
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: half as many accumulators as columns, which are the caller's.
                unsafe {
                    use cuda_views::wgmma::{self, MmaAsync, OperandA};
                    let a = OperandA::Registers(a.map(f32::to_bits));
                    wgmma::mma_async(MmaAsync::tf32(a, b.0, $columns), self.as_mut_ptr());
                }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn mma_async_fp8<A: Fp8Element, B: Fp8Element>(
                &mut self,
                a: Descriptor,
                b: Descriptor,
                accumulate: bool,
            ) {
                #[cfg(target_arch = "nvptx64")]
                {
                    macro_rules! wgmma {
                        ($types:literal) => {
                            // SAFETY: the caller's promise.
                            unsafe {
                                core::arch::asm!(
                                    concat!(
                                        "{{ .reg .pred accumulate; setp.ne.b32 accumulate, {accumulate}, 0; ",
                                        "wgmma.mma_async.sync.aligned.m64n", $columns, "k32.f32.", $types,
                                        " {{{0}", $(", {", $i, "}",)* "}}, {a}, {b}, accumulate, 1, 1; }}",
                                    ),
                                    inout(reg32) self[0],
                                    $(inout(reg32) self[$i],)*
                                    a = in(reg64) a.0,
                                    b = in(reg64) b.0,
                                    accumulate = in(reg32) accumulate as u32,
                                    options(nostack, preserves_flags),
                                )
                            }
                        };
                    }
                    match const { (A::FORMAT, B::FORMAT) } {
                        (Fp8::E4m3, Fp8::E4m3) => wgmma!("e4m3.e4m3"),
                        (Fp8::E4m3, Fp8::E5m2) => wgmma!("e4m3.e5m2"),
                        (Fp8::E5m2, Fp8::E4m3) => wgmma!("e5m2.e4m3"),
                        (Fp8::E5m2, Fp8::E5m2) => wgmma!("e5m2.e5m2"),
                    }
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: half as many accumulators as columns, which are the caller's.
                unsafe {
                    use cuda_views::wgmma::{self, MmaAsync};
                    let elements = [A::FORMAT, B::FORMAT].map(simulated);
                    let mma = MmaAsync::fp8([a.0, b.0], $columns, elements, accumulate);
                    wgmma::mma_async(mma, self.as_mut_ptr());
                }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            fn fence(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: a fence accesses nothing. That it names the accumulators keeps accesses to them on their
                // side.
                unsafe {
                    core::arch::asm!(
                        concat!("wgmma.fence.sync.aligned; // {0}", $(" {", $i, "}",)*),
                        inout(reg32) self[0],
                        $(inout(reg32) self[$i],)*
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                cuda_views::wgmma::fence();
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            fn wait<const PENDING: u32>(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: memory does not change, and registers only as the starts of products promised. Named as in
                // `fence`.
                unsafe {
                    core::arch::asm!(
                        concat!("wgmma.wait_group.sync.aligned {pending}; // {0}", $(" {", $i, "}",)*),
                        inout(reg32) self[0],
                        $(inout(reg32) self[$i],)*
                        pending = const PENDING,
                        options(nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                cuda_views::wgmma::wait(PENDING, self);
            }

            #[inline(always)]
            fn for_each(&self, mut f: impl FnMut(u32, f32)) {
                f(0, self[0]);
                $(f($i, self[$i]);)*
            }
        }
    };
}

acc!(64:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
acc!(128:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
acc!(168:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83);
acc!(192:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95);
acc!(256:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
    96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119
    120 121 122 123 124 125 126 127);

/// Orders accesses to the accumulators and to shared memory before the mma that follow: `wgmma.fence`. Needed before
/// the first mma, and after any other write of the accumulators.
///
/// # Safety
/// All threads of the warpgroup execute it together.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn fence<S: Accumulators>(acc: &mut S) {
    acc.fence();
}

/// Starts `acc = a * b`, or if `accumulate` `acc += a * b`: `wgmma.mma_async` of shape m64nNk16, N = 64, 128, 168,
/// 192 or 256 by the number of accumulators, with 64 rows of A and N columns of B in shared memory. A is contiguous
/// along K unless `A_IS_MN_MAJOR`, and so is B unless `B_IS_MN_MAJOR`.
///
/// # Safety
/// - All threads of the warpgroup execute it together, with the same operands, after a [`fence`].
/// - The descriptors are of shared memory that nobody writes until the mma has been waited for. Threads that have
///   written it have executed `bulk_copy::proxy_fence` since, and a barrier separates the two; or TMA loads have, whose
///   mbarrier this thread has waited for.
/// - Until then nobody accesses the accumulators but mma of the same shape.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn mma_async<T: WgmmaElement, const A_IS_MN_MAJOR: bool, const B_IS_MN_MAJOR: bool, S: Accumulators>(
    acc: &mut S,
    a: Descriptor,
    b: Descriptor,
    accumulate: bool,
) {
    // SAFETY: the caller's promise.
    unsafe { acc.mma_async::<T, A_IS_MN_MAJOR, B_IS_MN_MAJOR>(a, b, accumulate) };
}

/// Starts `acc += a * b`: `wgmma.mma_async` of shape m64nNk8 on tf32, both operands K-major in shared memory, in rows
/// of 32 elements of K.
///
/// # Safety
/// As for [`mma_async`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn mma_async_tf32<S: Accumulators>(acc: &mut S, a: Descriptor, b: Descriptor) {
    // SAFETY: the caller's promise.
    unsafe { acc.mma_async_tf32(a, b) };
}

/// The same with A from registers: each thread passes its [fragment](Tf32Fragment).
///
/// # Safety
/// - As for [`mma_async`], with the same B in all threads.
/// - The fragment was written before the last [`fence`], and its registers are not written until the mma has been
///   waited for.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn mma_async_tf32_fragment<S: Accumulators>(acc: &mut S, a: Tf32Fragment, b: Descriptor) {
    // SAFETY: the caller's promise.
    unsafe { acc.mma_async_tf32_fragment(a, b) };
}

/// Starts `acc = a * b`, or if `accumulate` `acc += a * b`: `wgmma.mma_async` of shape m64nNk32 on FP8, both operands
/// K-major in shared memory, in rows of 128 elements of K.
///
/// The hardware keeps some 14 bits where it adds. The simulator adds in f64 and rounds to f32 once, unless it is told
/// to truncate as the hardware does.
///
/// # Safety
/// As for [`mma_async`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn mma_async_fp8<A: Fp8Element, B: Fp8Element, S: Accumulators>(
    acc: &mut S,
    a: Descriptor,
    b: Descriptor,
    accumulate: bool,
) {
    // SAFETY: the caller's promise.
    unsafe { acc.mma_async_fp8::<A, B>(a, b, accumulate) };
}

/// The simulator's name of a format.
#[cfg(not(target_arch = "nvptx64"))]
fn simulated(format: Fp8) -> cuda_views::wgmma::WgmmaElement {
    match format {
        Fp8::E4m3 => cuda_views::wgmma::WgmmaElement::E4m3,
        Fp8::E5m2 => cuda_views::wgmma::WgmmaElement::E5m2,
    }
}

/// Makes one group of all mma that this warpgroup has issued since the last commit, or an empty one:
/// `wgmma.commit_group`.
///
/// # Safety
/// All threads of the warpgroup execute it together.
#[inline(always)]
pub unsafe fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: products that the warpgroup has started keep what their starts promised.
    unsafe {
        core::arch::asm!("wgmma.commit_group.sync.aligned;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_views::wgmma::commit();
}

/// Waits until at most `PENDING` (0 to 7) of the latest groups are pending: `wgmma.wait_group`. The accumulators of
/// the others are there, and their operands may be written again once a barrier says so to their writers.
///
/// # Safety
/// All threads of the warpgroup execute it together.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn wait<const PENDING: u32, S: Accumulators>(acc: &mut S) {
    const { assert!(PENDING <= 7, "a wait leaves at most 7 groups pending") };
    acc.wait::<PENDING>();
}
