//! From the sums of a warp to C.

use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{GemmCall, Swizzle, span_elems};

use super::{Place, Sums, TensorElement, Tile};
use crate::primitives::async_copy;
use crate::primitives::mma::c_place;
use crate::unroll::unrolled;

/// Stores a lane's sums. Where C takes vectors of 16 bytes and is not read, by way of shared memory, so that 8 lanes store 128 bytes of a row; else
/// as they are, two neighbours at once where C allows that.
///
/// # Safety
/// `c` is as `call` says; the place is the warp's own. `ring` is the block's, of which no thread will use anything any more. Every thread of the block
/// calls this.
#[inline(always)]
pub(super) unsafe fn store<E: TensorElement, T: Tile, const M: usize, const N: usize>(
    sums: &Sums<M, N>,
    place: Place,
    c: *mut E,
    call: GemmCall,
    ring: Shared<E>,
) {
    let (n, ld) = (call.args.n, call.args.ldc);
    // SAFETY: the caller's promise.
    unsafe {
        if call.beta == 0.0 && n.is_multiple_of(8) && ld.is_multiple_of(8) && c.addr().is_multiple_of(16) {
            through_shared::<E, T, M, N>(sums, place, c.cast(), call, ring);
        } else {
            directly::<E, M, N>(sums, place, c, call);
        }
    }
}

/// Stores by way of shared memory: a warp's part of C as rows of its own, [`Swizzle`]d, so that neither the lanes that store pairs nor those that load
/// chunks have bank conflicts.
///
/// # Safety
/// As for [`store`]; `beta` is 0, and C, as words of two elements, begins at a multiple of 16 bytes, with rows a multiple of that apart and of whole 16s.
#[inline(always)]
unsafe fn through_shared<E: TensorElement, T: Tile, const M: usize, const N: usize>(
    sums: &Sums<M, N>,
    place: Place,
    c: *mut u32,
    call: GemmCall,
    ring: Shared<E>,
) {
    let (m, n, ld) = (call.args.m, call.args.n, call.args.ldc as usize);
    let tile = const { T::TILE };
    let elems = const { T::TILE.warp_m * T::TILE.warp_n };
    const {
        assert!(
            T::TILE.m * T::TILE.n <= T::TILE.stages * T::TILE.stage_elems(),
            "the ring holds a tile of C"
        )
    };
    let swizzle = const { Swizzle::of_row(T::TILE.warp_n) };
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    // Copies of steps behind the end may still be under way, and would come to the ring after what is written there below.
    async_copy::wait::<0>();
    // WAR: no thread reads the ring any more, and none copies to it.
    thread::sync_threads();
    // SAFETY: the part is the warp's own, and the ring holds those of all warps. What is stored lies inside C, as whole chunks do or do not.
    unsafe {
        let own = ring.part((warp * elems) as usize, elems as usize);
        unrolled!(M, at most 8, |i| {
            unrolled!(N, at most 16, |j| {
                let mut half = 0;
                while half < 2 {
                    let (row, column) = c_place(lane, 2 * half);
                    let index = swizzle.elem(16 * i as u32 + row, j as u32) + column;
                    let two = [sums[i][j][2 * half as usize], sums[i][j][2 * half as usize + 1]];
                    own.set_vec(index as usize, E::narrow_pair(two.map(|sum| call.alpha * sum)));
                    half += 1;
                }
            });
        });
        // RAW: the warp's part is there.
        warp::sync_warp(u32::MAX);
        let words = Shared::<u32>::new(own.as_mut_ptr().cast(), elems as usize / 2);
        let c = GlobalMut::new_with(c, || span_elems(m as usize, n as usize, ld) / 2);
        let rows = 32 / swizzle.chunks();
        let mut first = 0;
        while first < tile.warp_m {
            let (row, chunk) = (first + lane / swizzle.chunks(), lane % swizzle.chunks());
            let (in_c, column) = (
                place.row + place.warp_row + row,
                place.column + place.warp_column + chunk * 8,
            );
            if in_c < m && column < n {
                let chunk = words.get_vec::<4>(swizzle.elem(row, chunk) as usize / 2);
                c.set_vec((in_c as usize * ld + column as usize) / 2, chunk);
            }
            first += rows;
        }
    }
}

/// Stores pairs, or single elements.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn directly<E: TensorElement, const M: usize, const N: usize>(
    sums: &Sums<M, N>,
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
    let lane = thread::thread_idx_x() % 32;
    let (first_row, first_column) = (place.row + place.warp_row, place.column + place.warp_column);
    let reads = call.beta != 0.0;
    unrolled!(M, at most 8, |i| {
        unrolled!(N, at most 16, |j| {
            let mut half = 0;
            while half < 2 {
                let (row, column) = c_place(lane, 2 * half);
                let (row, column) = (first_row + 16 * i as u32 + row, first_column + 8 * j as u32 + column);
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
