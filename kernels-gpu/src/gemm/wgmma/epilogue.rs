//! From the sums of a warpgroup to C, by way of its panels in shared memory.

use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{Activation, GemmParams, Output, Swizzle, WgmmaTile, span_elems};

use super::{Element, Tile};
use crate::block::element::Narrowed;
use crate::block::finish::{Finish, gelu, relu};
use crate::block::split_k::{Party, Share, reduce};
use crate::block::unroll::unrolled;
use crate::ptx::elect::elect;
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::uniform::uniform;
use crate::ptx::wgmma::{Sums, element_of_sums};
use crate::ptx::{bulk_copy, named_barrier, opaque, stmatrix};

/// Where a kernel leaves its results.
#[derive(Clone, Copy)]
pub struct Target<'map, E> {
    /// C's map, with boxes of 64 rows and the tile's columns of a panel, and the 128-byte swizzle if these are 64. Not
    /// used where C's elements are f32, or its columns, its leading dimension or its address are no multiples of 16
    /// bytes.
    pub map: &'map TensorMap,
    /// All else.
    pub params: &'map GemmParams<E>,
}

/// The named barrier of all warpgroups that multiply; each has one of its own below.
const ALL: u32 = 15;

/// A warpgroup that multiplies.
struct Warpgroup<E> {
    number: u32,
    /// Which 64 of its rows of the tile are stored.
    group: u32,
    /// Its panels, which nobody reads any more.
    panels: Shared<E>,
}

impl<E: Element> Warpgroup<E> {
    /// Its named barrier.
    fn barrier(&self) -> u32 {
        1 + self.number
    }
}

impl<E: Element> Party for Warpgroup<E> {
    #[inline(always)]
    fn thread(&self) -> u32 {
        thread::thread_idx_x() % WgmmaTile::WARPGROUP
    }

    #[inline(always)]
    unsafe fn sync(&self) {
        // SAFETY: whole warps, each once.
        unsafe { named_barrier::sync(self.barrier(), WgmmaTile::WARPGROUP) };
    }

    #[inline(always)]
    unsafe fn ask_first(&self, yes: bool) -> bool {
        // SAFETY: one word of the panels, written by one thread; the barriers are behind and before every other access.
        unsafe {
            let answer = Shared::<u32>::new(self.panels.as_mut_ptr().cast(), 1);
            if self.thread() == 0 {
                answer.set(0, u32::from(yes));
            }
            // RAW: the answer is there.
            self.sync();
            let yes = uniform(answer.get(0)) != 0;
            // WAR: all have read it.
            self.sync();
            yes
        }
    }
}

/// Stores 64 rows of a tile that warpgroup `number` has, the `group`th of them, whose first row and column are `at`;
/// with slices, the warpgroup that has the sums of all does. By bulk copies where C takes them, else by threads.
/// `is_last`: no tile of the block follows.
///
/// # Safety
/// `target` is as it says; `ring` is the block's, and every thread of the warpgroup calls this. If `is_last`, all
/// copies to the ring have been waited for.
#[inline(always)]
pub(super) unsafe fn store<E: Element, T: Tile, const SUMS: usize>(
    mut sums: [f32; SUMS],
    [number, group]: [u32; 2],
    share: Share,
    at: [u32; 2],
    is_last: bool,
    target: Target<'_, E>,
    ring: Shared<E>,
) where
    [f32; SUMS]: Sums,
{
    let tile = const { T::TILE };
    let Target { params, .. } = target;
    let c = params.c;
    let elems = const { T::TILE.c_panels * T::TILE.c_panel_elems() };
    // SAFETY: the panels are the warpgroup's own. The rest is the caller's promise.
    unsafe {
        let panels = ring.part((tile.ring_elems() + number * elems) as usize, elems as usize);
        let warpgroup = Warpgroup { number, group, panels };
        if const { T::TILE.supports_split_k() } && share.slices > 1 {
            const { assert!(!T::TILE.supports_split_k() || matches!(SUMS, 32 | 64 | 96)) };
            // WAR: the copies of the thread that starts them have read the panels; all pass `reduce`'s first
            // barrier before it uses them.
            bulk_copy::wait_read::<0>();
            // In rows of 8, as many as there are.
            let first = sums.as_mut_ptr();
            let has_all = match const { SUMS } {
                32 => reduce::<E, 4, 8>(&warpgroup, &mut *first.cast(), share, params),
                64 => reduce::<E, 8, 8>(&warpgroup, &mut *first.cast(), share, params),
                _ => reduce::<E, 12, 8>(&warpgroup, &mut *first.cast(), share, params),
            };
            if !has_all {
                return;
            }
        }
        let elements = 16 / size_of::<E>();
        let takes_boxes = params.beta == 0.0
            && params.output == Output::Same
            && (params.n as usize).is_multiple_of(elements)
            && (params.ldc as usize).is_multiple_of(elements)
            && c.addr().is_multiple_of(16);
        if takes_boxes {
            let mut alpha = params.alpha;
            if !params.bias.is_null() || params.activation != Activation::None {
                finish(&mut sums, at, target);
                alpha = 1.0;
            }
            // With slices the other warpgroup may be done with this tile, and does not come to meet this one.
            let is_last = is_last && share.slices == 1 && !const { T::TILE.ping_pong };
            by_boxes::<E, T, SUMS>(&sums, at, alpha, is_last, target.map, warpgroup, ring);
        } else {
            match params.output {
                Output::Same => by_threads::<E, E, SUMS>(&sums, at, c, target, warpgroup),
                Output::F32 => by_threads::<E, f32, SUMS>(&sums, at, c.cast(), target, warpgroup),
            }
        }
    }
}

/// Makes `activation(alpha * sums + bias)` of the sums.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn finish<E: Element, const SUMS: usize>(sums: &mut [f32; SUMS], at: [u32; 2], target: Target<'_, E>) {
    let Target { params, .. } = target;
    let column = at[1] + element_of_sums(thread::thread_idx_x(), 0).1;
    // Branches around all sums, not around each: the code is many times shorter.
    macro_rules! for_pairs {
        (|$two:ident, $column:ident| $made:expr) => {
            unrolled!(SUMS / 4, |four| {
                unrolled!(2, at most 2, |pair| {
                    let first = 4 * four + 2 * pair;
                    let ($two, $column) = ([sums[first], sums[first + 1]], column + element_of_sums(0, first as u32).1);
                    [sums[first], sums[first + 1]] = $made;
                });
            })
        };
    }
    if params.bias.is_null() {
        for_pairs!(|two, _column| two.map(|sum| params.alpha * sum));
    } else {
        // SAFETY: the bias is as the target says.
        let bias = |column| unsafe { Finish::new(params).bias(column) };
        for_pairs!(|two, column| {
            let bias = bias(column);
            [params.alpha * two[0] + bias[0], params.alpha * two[1] + bias[1]]
        });
    }
    match params.activation {
        Activation::None => {}
        Activation::Relu => for_pairs!(|two, _column| two.map(relu)),
        Activation::Gelu => for_pairs!(|two, _column| two.map(gelu)),
    }
}

/// Stores `alpha * sums`, panel after panel: the warpgroup writes it to shared memory, swizzled, and one thread starts
/// a copy of it, which goes on while the next one is written, or the next tile multiplied. Nothing outside of C is
/// stored. After the last tile the stages have room for all panels at once.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn by_boxes<E: Element, T: Tile, const SUMS: usize>(
    sums: &[f32; SUMS],
    at: [u32; 2],
    alpha: f32,
    is_last: bool,
    map: &TensorMap,
    warpgroup: Warpgroup<E>,
    ring: Shared<E>,
) {
    let tile = const { T::TILE };
    let t = warpgroup.thread();
    let lane = t % 32;
    // One lane of it starts the copies and waits for them: elected, so that their addresses stay in uniform registers.
    // SAFETY: whole warps are here.
    let is_first_warp = unsafe { uniform(t / 32) } == 0;
    // The row of the panel that this lane brings to `stmatrix`, and which 8 of its 16 columns.
    let (row, half) = (16 * (t / 32) + lane % 16, lane / 16);
    let columns = const { T::TILE.c_columns() };
    let count = const { T::TILE.n / T::TILE.c_columns() };
    const {
        assert!(
            T::TILE.ping_pong || T::TILE.m * T::TILE.n <= T::TILE.ring_elems(),
            "the ring holds a tile of C"
        )
    };
    // From the warpgroup's first panel to the next tile's, or in the ring.
    let own = if is_last {
        warpgroup.number * count * tile.c_panel_elems()
    } else {
        tile.ring_elems() + warpgroup.number * tile.c_panels * tile.c_panel_elems()
    };
    if is_last {
        // SAFETY: whole warps, each once, of all warpgroups that multiply.
        // WAR: the other warpgroup's products have read the stages.
        unsafe { named_barrier::sync(ALL, tile.consumers() * WgmmaTile::WARPGROUP) };
    }
    unrolled!(const T::TILE.n / T::TILE.c_columns(), |panel| {
        let place = if is_last { panel } else { (warpgroup.group * count + panel) % tile.c_panels };
        let start = own + place * tile.c_panel_elems();
        // SAFETY: the panels are the warpgroup's own; each row is written by four lanes of one warp. The whole
        // warpgroup is here.
        unsafe {
            if !is_last {
                if is_first_warp && elect(u32::MAX) {
                    match const { T::TILE.c_panels } {
                        1 => bulk_copy::wait_read::<0>(),
                        _ => bulk_copy::wait_read::<1>(),
                    }
                }
                // WAR: the copy that read this panel last is done.
                warpgroup.sync();
            }
            let two = |i: usize| {
                let two = [sums[i], sums[i + 1]];
                bytemuck::cast(E::narrow_pair(two.map(|sum| alpha * sum)))
            };
            unrolled!(const T::TILE.c_columns() / 16, |pair| {
                let index = start + place_of_chunk::<T>(row, 2 * pair + half);
                let first = (columns / 2 * panel + 8 * pair) as usize;
                stmatrix::store::<E, 4>(ring, index, [0, 2, 4, 6].map(|i| two(first + i)));
            });
            if const { T::TILE.c_columns() % 16 != 0 } {
                // The last 8 columns: lanes of the other half bring no row, but an address of it.
                let last = const { T::TILE.c_columns() / 8 - 1 };
                let first = (columns / 2 * panel + 4 * last) as usize;
                stmatrix::store::<E, 2>(ring, start + place_of_chunk::<T>(row, last), [0, 2].map(|i| two(first + i)));
            }
            bulk_copy::proxy_fence();
            // RAW: the panel is written, and the async proxy sees it.
            warpgroup.sync();
            if is_first_warp && elect(u32::MAX) {
                let column = at[1] + panel * columns;
                bulk_copy::store_2d(map, [column as i32, at[0] as i32], ring, start);
                bulk_copy::commit();
            }
            // The lanes meet again before the next tile, as `ptxas` has to see.
            warp::sync_warp(u32::MAX);
        }
    });
}

/// Where the 8 elements of chunk `chunk` of row `row` of a panel of C lie: as its tensor map says.
#[inline(always)]
fn place_of_chunk<T: Tile>(row: u32, chunk: u32) -> u32 {
    let columns = const { T::TILE.c_columns() };
    if columns == WgmmaTile::PANEL {
        const { Swizzle::of_row(WgmmaTile::PANEL) }.elem(row, chunk)
    } else {
        row * columns + 8 * chunk
    }
}

/// Columns of what a warp has in shared memory at once: 16 rows of them, in f32, are its quarter of a panel.
const COLUMNS: u32 = 32;

/// The place of 4 columns of a row of a warp's sums: XORed so that neither a warp's pairs of columns of 8 rows nor its
/// whole rows have bank conflicts.
#[inline(always)]
const fn place(row: u32, four: u32) -> u32 {
    row * COLUMNS + (four ^ (row % 4 * 2)) * 4
}

/// Computes `activation(alpha * sums + beta * C + bias)` and stores it as elements of `F`: each warp by itself, 32
/// columns of its 16 rows after the other, by way of shared memory, so that 8 lanes read and store a whole row of them.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn by_threads<E: Element, F: Narrowed, const SUMS: usize>(
    sums: &[f32; SUMS],
    at: [u32; 2],
    c: *mut F,
    target: Target<'_, E>,
    warpgroup: Warpgroup<E>,
) {
    let Target { params, .. } = target;
    let (m, n, ld) = (params.m, params.n, params.ldc as usize);
    let t = warpgroup.thread();
    let (warp, lane) = (t / 32, t % 32);
    let [row, column] = [at[0] + 16 * warp, at[1]];
    // Four elements have one address with a multiple of all their bytes in every row.
    let fours = n.is_multiple_of(4) && ld.is_multiple_of(4) && c.addr().is_multiple_of(4 * size_of::<F>());
    let (own_row, own_column) = element_of_sums(lane, 0);
    // SAFETY: a warp has a quarter of the warpgroup's panel to itself. C and the bias are as the target says; of C a
    // thread accesses elements that no other does. With `fours` n is a multiple of 4, and four columns are all inside
    // or none.
    unsafe {
        let own = Shared::<f32>::new(warpgroup.panels.as_mut_ptr().cast(), const { 64 * COLUMNS as usize })
            .part((16 * COLUMNS * warp) as usize, const { 16 * COLUMNS as usize });
        let c = GlobalMut::new_with(c, || span_elems(m as usize, n as usize, ld));
        let finish = Finish::new(params);
        let parts = const { (2 * SUMS as u32).div_ceil(COLUMNS) };
        // What of C's columns the tile has.
        let end = n.min(column + 2 * SUMS as u32);
        let mut part = opaque::zero();
        while part < parts {
            let column = column + COLUMNS * part + lane % 8 * 4;
            // What C holds is loaded for all passes at once, while the sums go to shared memory. No branch between the
            // loads, behind which each would be waited for: a row that C does not have is replaced by the thread's
            // first.
            let mut before = [[F::ZERO; 4]; 4];
            let first = row + lane / 8;
            if params.beta != 0.0 && first < m && column < end {
                let index = |pass: usize| {
                    let below = first + 4 * pass as u32;
                    (if below < m { below } else { first }) as usize * ld + column as usize
                };
                if fours {
                    unrolled!(4, at most 4, |pass| {
                        before[pass] = c.get_vec::<4>(index(pass));
                    });
                } else {
                    unrolled!(4, at most 4, |pass| {
                        unrolled!(4, at most 4, |i| {
                            before[pass][i] = c.get_if(column + (i as u32) < end, || index(pass) + i, F::ZERO);
                        });
                    });
                }
            }
            // Only what indexes the sums is written out for each part, the rest stands here once.
            unrolled!(parts, at most 8, |turn| {
                if part == turn {
                    unrolled!(8, at most 8, |pair| {
                        let (below, right) = element_of_sums(0, 2 * pair);
                        let (row, column) = (own_row + below, own_column + right);
                        let i = (16 * turn + 2 * pair) as usize;
                        // The last part of a tile may have fewer columns.
                        if i < SUMS {
                            own.set_vec((place(row, column / 4) + column % 4) as usize, [sums[i], sums[i + 1]]);
                        }
                    });
                }
            });
            // RAW: the warp's sums are there.
            warp::sync_warp(u32::MAX);
            let bias = [finish.bias(column), finish.bias(column + 2)];
            unrolled!(4, at most 4, |pass| {
                let below = 4 * pass as u32 + lane / 8;
                let row = row + below;
                let index = row as usize * ld + column as usize;
                let values = own.get_vec::<4>(place(below, lane % 8) as usize);
                if row < m && column < end {
                    let scaled = |i: usize| {
                        let product = params.alpha * values[i];
                        if params.beta == 0.0 { product } else { product + params.beta * before[pass][i].widen() }
                    };
                    let [first, last] = [
                        finish.apply([scaled(0), scaled(1)], bias[0]),
                        finish.apply([scaled(2), scaled(3)], bias[1]),
                    ];
                    let [first, last] = [F::narrow_pair(first), F::narrow_pair(last)];
                    let values = [first[0], first[1], last[0], last[1]];
                    if fours {
                        c.set_vec(index, values);
                    } else {
                        unrolled!(4, at most 4, |i| {
                            c.set_if(column + (i as u32) < end, || index + i, || values[i]);
                        });
                    }
                }
            });
            // WAR: the warp's sums are read.
            warp::sync_warp(u32::MAX);
            part += 1;
        }
    }
}
