//! `mma.sync` in f64: a warp multiplies matrices on its tensor cores (PTX ISA, "Warp Level Matrix Instructions: mma",
//! "Matrix Fragments for mma.m8n8k4 with .f64 floating point type" and "for mma.m16n8k8").
//!
//! `D = A B + C`: A is 16 x 8, B 8 x 8, C and D 16 x 8. Each lane holds a fragment of each; with `group = lane / 4` and
//! `t = lane % 4`:
//!
//! ```text
//! A (row, k)       0           1               2               3
//!                  group, t    group + 8, t    group, t + 4    group + 8, t + 4
//! B (k, column)    0           1
//!                  t, group    t + 4, group
//! C (row, column)  0             1                 2                 3
//!                  group, 2 t    group, 2 t + 1    group + 8, 2 t    group + 8, 2 t + 1
//! ```
//!
//! [`Wide`] is one instruction, which `sm_90` has; [`Narrow`] is four of 8 x 8 x 4, from `sm_80` on. On the host the
//! products of a sum are added to C one after the other, from k = 0 on, each rounded once.

use crate::ptx::griddepcontrol;

/// A lane's part of A.
pub type FragmentA = [f64; 4];
/// A lane's part of B.
pub type FragmentB = [f64; 2];
/// A lane's part of C or D.
pub type FragmentC = [f64; 4];

/// The instructions of a product.
pub trait MmaF64 {
    /// `c += a * b` by the warp.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute this together, on a device that has the instructions.
    unsafe fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB);

    /// Waits for the grid before, where the architecture lets this one begin earlier, and lets the next one begin.
    #[inline(always)]
    fn follow_previous_grid() {}
}

/// `mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64`.
pub struct Wide;

/// `mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64`, four times.
pub struct Narrow;

impl MmaF64 for Wide {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn follow_previous_grid() {
        griddepcontrol::wait();
        griddepcontrol::launch_dependents();
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller's promise. Not `pure`: it stays where all lanes are.
        unsafe {
            core::arch::asm!(
                "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 \
                 {{{c0}, {c1}, {c2}, {c3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};",
                c0 = inout(reg64) c[0],
                c1 = inout(reg64) c[1],
                c2 = inout(reg64) c[2],
                c3 = inout(reg64) c[3],
                a0 = in(reg64) a[0],
                a1 = in(reg64) a[1],
                a2 = in(reg64) a[2],
                a3 = in(reg64) a[3],
                b0 = in(reg64) b[0],
                b1 = in(reg64) b[1],
                options(nomem, nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        host::mma(c, a, b);
    }
}

impl MmaF64 for Narrow {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller's promise.
        unsafe {
            let [c0, c1, c2, c3] = c;
            for k in 0..2 {
                narrow(c0, c1, a[2 * k], b[k]);
                narrow(c2, c3, a[2 * k + 1], b[k]);
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        host::mma(c, a, b);
    }
}

/// 8 rows, 8 columns and 4 of k.
///
/// # Safety
/// As for [`MmaF64::mma`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn narrow(c0: &mut f64, c1: &mut f64, a: f64, b: f64) {
    // SAFETY: the caller's promise. Not `pure`: it stays where all lanes are.
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{c0}, {c1}}}, {{{a}}}, {{{b}}}, {{{c0}, {c1}}};",
            c0 = inout(reg64) *c0,
            c1 = inout(reg64) *c1,
            a = in(reg64) a,
            b = in(reg64) b,
            options(nomem, nostack, preserves_flags),
        );
    }
}

/// The product on the host.
#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use super::{FragmentA, FragmentB, FragmentC};
    use cuda_views::matrix::warp_gather;

    /// Exchanges fragments with the warp, and adds to this lane's part of C.
    #[track_caller]
    pub(super) fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB) {
        let lane = cuda_std::warp::lane_id() as usize;
        let (group, t) = (lane / 4, lane % 4);
        // The two rows of A that this lane's elements are of: three numbers of a lane at a time.
        let mut rows = [[0.0; 8]; 2];
        let mut columns = [[0.0; 8]; 2];
        let [a0, a1, a2, a3] = a;
        let words = [a0, a1, a2, a3, b[0], b[1]].map(f64::to_bits);
        for part in 0..2 {
            let own = [words[3 * part], words[3 * part + 1], words[3 * part + 2]];
            warp_gather(own, |all| {
                for (number, word) in (3 * part..).zip(0..3) {
                    let of = |holder: usize| f64::from_bits(all[holder][word]);
                    for k in 0..4 {
                        match number {
                            0..4 => rows[number % 2][k + number / 2 * 4] = of(4 * group + k),
                            _ => {
                                for (which, column) in columns.iter_mut().enumerate() {
                                    column[k + (number - 4) * 4] = of(4 * (2 * t + which) + k);
                                }
                            }
                        }
                    }
                }
            });
        }
        for (number, sum) in c.iter_mut().enumerate() {
            let pairs = rows[number / 2].iter().zip(&columns[number % 2]);
            *sum = pairs.fold(*sum, |sum, (a, b)| a.mul_add(*b, sum));
        }
    }
}
