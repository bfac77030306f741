//! From the sums of a warpgroup to C, by way of its panels in shared memory.

use cuda_std::{thread, warp};
use cuda_views::{Global, GlobalMut, Shared};
use tilewright_contract::{Activation, Epilogue, GemmCall, Output, Swizzle, WgmmaTile, span_elems};

use super::{Element, Tile};
use crate::primitives::tensor_map::TensorMap;
use crate::primitives::wgmma::{Sums, element_of_sums};
use crate::primitives::{bulk_copy, named_barrier, stmatrix};
use crate::unroll::unrolled;

/// Stores a warpgroup's 64 rows of a tile, whose first row and column are `at`: by bulk copies where C takes them and nothing but the product goes there,
/// else by threads.
///
/// # Safety
/// `c`, `call` and `epilogue` are as they say; `ring` is the block's, and every thread of the warpgroup calls this.
#[inline(always)]
pub(super) unsafe fn store<E: Element, T: Tile, const SUMS: usize>(
    sums: &[f32; SUMS],
    at: [u32; 2],
    c_map: &TensorMap,
    c: *mut E,
    call: GemmCall,
    epilogue: Epilogue<E>,
    ring: Shared<E>,
) where
    [f32; SUMS]: Sums,
{
    let tile = const { T::TILE };
    let warpgroup = thread::thread_idx_x() / WgmmaTile::WARPGROUP;
    let elems = const { T::TILE.c_panels * T::TILE.c_panel_elems() };
    let is_product = call.beta == 0.0
        && epilogue.bias.is_null()
        && epilogue.activation == Activation::None
        && epilogue.output == Output::Same;
    let takes_boxes = call.args.ldc.is_multiple_of(8) && c.addr().is_multiple_of(16);
    // SAFETY: the panels are the warpgroup's own. The rest is the caller's promise.
    unsafe {
        let panels = ring.part((tile.ring_elems() + warpgroup * elems) as usize, elems as usize);
        if const { T::TILE.bulk_store } && is_product && takes_boxes {
            by_boxes::<E, T, SUMS>(sums, at, c_map, call.alpha, panels);
        } else {
            match epilogue.output {
                Output::Same => by_threads::<E, E, SUMS>(sums, at, c, call, epilogue, panels),
                Output::F32 => by_threads::<E, f32, SUMS>(sums, at, c.cast(), call, epilogue, panels),
            }
        }
    }
}

/// Stores panel after panel: the warpgroup writes it to shared memory, swizzled, and one thread starts a copy of it, which goes on while the next one is
/// written, or the next tile multiplied. Nothing outside of C is stored.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn by_boxes<E: Element, T: Tile, const SUMS: usize>(
    sums: &[f32; SUMS],
    at: [u32; 2],
    c_map: &TensorMap,
    alpha: f32,
    panels: Shared<E>,
) {
    let tile = const { T::TILE };
    let swizzle = const { Swizzle::of_row(WgmmaTile::PANEL) };
    let (warpgroup, t) = (
        thread::thread_idx_x() / WgmmaTile::WARPGROUP,
        thread::thread_idx_x() % WgmmaTile::WARPGROUP,
    );
    let lane = t % 32;
    // The row of the panel that this lane brings to `stmatrix`, and which 8 of its 16 columns.
    let (row, half) = (16 * (t / 32) + lane % 16, lane / 16);
    let barrier = 1 + warpgroup;
    unrolled!(const { T::TILE.n / WgmmaTile::PANEL }, at most 8, |panel| {
        let start = panel % tile.c_panels * tile.c_panel_elems();
        // SAFETY: the panels are the warpgroup's own; each row is written by four lanes of one warp. The whole warpgroup is here.
        unsafe {
            if t == 0 {
                match const { T::TILE.c_panels } {
                    1 => bulk_copy::wait_read::<0>(),
                    _ => bulk_copy::wait_read::<1>(),
                }
            }
            // WAR: the copy that read this panel last is done.
            named_barrier::sync(barrier, WgmmaTile::WARPGROUP);
            unrolled!(4, at most 8, |pair| {
                let index = start + swizzle.elem(row, 2 * pair + half);
                let first = (32 * panel + 8 * pair) as usize;
                let elements = [0, 2, 4, 6].map(|i| {
                    let two = [sums[first + i], sums[first + i + 1]];
                    bytemuck::cast(E::narrow_pair(two.map(|sum| alpha * sum)))
                });
                stmatrix::store::<E, 4>(panels, index, elements);
            });
            bulk_copy::proxy_fence();
            // RAW: the panel is written, and the async proxy sees it.
            named_barrier::sync(barrier, WgmmaTile::WARPGROUP);
            if t == 0 {
                let column = at[1] + panel * WgmmaTile::PANEL;
                bulk_copy::store_2d(c_map, [column as i32, at[0] as i32], panels, start);
                bulk_copy::commit();
            }
        }
    });
}

/// Columns of what a warp has in shared memory at once: 16 rows of them, in f32, are its quarter of a panel.
const COLUMNS: u32 = 32;

/// The place of 4 columns of a row of a warp's sums: XORed so that neither a warp's pairs of columns of 8 rows nor its whole rows have bank conflicts.
#[inline(always)]
const fn place(row: u32, four: u32) -> u32 {
    row * COLUMNS + (four ^ (row % 4 * 2)) * 4
}

/// Computes `activation(alpha * sums + beta * C + bias)` and stores it as elements of `F`: each warp by itself, 32 columns of its 16 rows after the other, by
/// way of shared memory, so that 8 lanes read and store a whole row of them.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn by_threads<E: Element, F: crate::element::Element<Sum = f32>, const SUMS: usize>(
    sums: &[f32; SUMS],
    at: [u32; 2],
    c: *mut F,
    call: GemmCall,
    epilogue: Epilogue<E>,
    panels: Shared<E>,
) {
    let (m, n, ld) = (call.args.m, call.args.n, call.args.ldc as usize);
    let t = thread::thread_idx_x() % WgmmaTile::WARPGROUP;
    let (warp, lane) = (t / 32, t % 32);
    let [row, column] = [at[0] + 16 * warp, at[1]];
    // Four elements have one address with a multiple of all their bytes in every row.
    let fours = n.is_multiple_of(4) && ld.is_multiple_of(4) && c.addr().is_multiple_of(4 * size_of::<F>());
    let (own_row, own_column) = element_of_sums(lane, 0);
    // SAFETY: a warp has a quarter of the warpgroup's panel to itself. C and the bias are as the call says; of C a thread accesses elements that no other
    // does. With `fours` n is a multiple of 4, and four columns are all inside or none.
    unsafe {
        let own = Shared::<f32>::new(panels.as_mut_ptr().cast(), const { 64 * COLUMNS as usize })
            .part((16 * COLUMNS * warp) as usize, const { 16 * COLUMNS as usize });
        let c = GlobalMut::new_with(c, || span_elems(m as usize, n as usize, ld));
        let bias = Global::new(epilogue.bias, n as usize);
        unrolled!(const { 2 * SUMS as u32 / COLUMNS }, at most 8, |part| {
            unrolled!(8, at most 8, |pair| {
                let (below, right) = element_of_sums(0, 2 * pair);
                let (row, column) = (own_row + below, own_column + right);
                let i = (16 * part + 2 * pair) as usize;
                own.set_vec((place(row, column / 4) + column % 4) as usize, [sums[i], sums[i + 1]]);
            });
            // RAW: the warp's sums are there.
            warp::sync_warp(u32::MAX);
            let mut pass = 0;
            while pass < 4 {
                let (below, four) = (4 * pass + lane / 8, lane % 8);
                let (row, column) = (row + below, column + COLUMNS * part + 4 * four);
                let index = row as usize * ld + column as usize;
                let mut values = own.get_vec::<4>(place(below, four) as usize).map(|sum| call.alpha * sum);
                if row < m && column < n {
                    if call.beta != 0.0 {
                        let before = if fours {
                            c.get_vec::<4>(index)
                        } else {
                            [0, 1, 2, 3].map(|i| c.get_if(column + i < n, || index + i as usize, F::ZERO))
                        };
                        for (value, before) in values.iter_mut().zip(before) {
                            *value += call.beta * before.widen();
                        }
                    }
                    if !epilogue.bias.is_null() {
                        for (i, value) in (0..).zip(&mut values) {
                            *value += bias
                                .get_if(column + i < n, || (column + i) as usize, E::ZERO)
                                .widen();
                        }
                    }
                    if epilogue.activation == Activation::Relu {
                        values = values.map(|value| if value < 0.0 { 0.0 } else { value });
                    }
                    let values = values.map(F::narrow);
                    if fours {
                        c.set_vec(index, values);
                    } else {
                        for (i, value) in (0..).zip(values) {
                            c.set_if(column + i < n, || index + i as usize, || value);
                        }
                    }
                }
                pass += 1;
            }
            // WAR: the warp's sums are read.
            warp::sync_warp(u32::MAX);
        });
    }
}
