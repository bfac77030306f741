//! From the sums of a warp to C.

use cuda_views::GlobalMut;
use tilewright_contract::{GemmCall, span_elems};

use super::TensorElement;
use crate::primitives::mma::c_place;
use crate::unroll::unrolled;

/// Where a warp's part of C begins.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) lane: u32,
}

/// Stores a lane's sums, two neighbours at once where C allows it.
///
/// # Safety
/// `c` is as `call` says; the place is the warp's own.
#[inline(always)]
pub(super) unsafe fn store<E: TensorElement, const M: usize, const N: usize>(
    sums: &[[[f32; 4]; N]; M],
    place: Place,
    c: *mut E,
    call: GemmCall,
) {
    let (m, n, ld) = (call.args.m, call.args.n, call.args.ldc as usize);
    // Two elements have one address with a multiple of 4 bytes in every row.
    let pairs = n.is_multiple_of(2) && ld.is_multiple_of(2) && c.addr().is_multiple_of(4);
    // SAFETY: C is as `call` says.
    let c = unsafe { GlobalMut::new_with(c, || span_elems(m as usize, n as usize, ld)) };
    let scaled = |sum: f32, before: Option<E>| match before {
        Some(before) => call.alpha * sum + call.beta * before.widen(),
        None => call.alpha * sum,
    };
    let reads = call.beta != 0.0;
    unrolled!(M, at most 8, |i| {
        unrolled!(N, at most 16, |j| {
            let mut half = 0;
            while half < 2 {
                let (row, column) = c_place(place.lane, 2 * half);
                let (row, column) = (place.row + 16 * i as u32 + row, place.column + 8 * j as u32 + column);
                let index = row as usize * ld + column as usize;
                let two = [sums[i][j][2 * half as usize], sums[i][j][2 * half as usize + 1]];
                // SAFETY: what is accessed is inside C, and no other thread accesses it. With `pairs`, n is even, so that both are inside or neither.
                unsafe {
                    if pairs {
                        if row < m && column < n {
                            let before = if reads { c.get_vec::<2>(index).map(Some) } else { [None; 2] };
                            let values = [scaled(two[0], before[0]), scaled(two[1], before[1])];
                            c.set_vec(index, E::narrow_pair(values));
                        }
                    } else {
                        let inside = [0, 1].map(|next| row < m && column + next < n);
                        let mut values = [0.0; 2];
                        let mut next = 0;
                        while next < 2 {
                            let before = reads.then(|| c.get_if(inside[next], || index + next, E::ZERO));
                            values[next] = scaled(two[next], before);
                            next += 1;
                        }
                        let [first, second] = E::narrow_pair(values);
                        c.set_if(inside[0], || index, || first);
                        c.set_if(inside[1], || index + 1, || second);
                    }
                }
                half += 1;
            }
        });
    });
}
