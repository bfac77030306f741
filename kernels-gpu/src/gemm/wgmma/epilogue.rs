//! Epilogue: from the accumulators of a warpgroup to C, through its epilogue subtiles in shared memory.

use cuda_std::{thread, warp};
use cuda_views::Shared;
use tilewright_contract::{Activation, GemmParams, Output, Swizzle, WgmmaTile};

use super::{Element, Tile};
use crate::block::batch::offset;
use crate::block::element::{self, Narrowed};
use crate::block::epilogue::{Epilogue, gelu, relu};
use crate::block::narrow_store;
use crate::block::split_k::{SplitTile, ThreadGroup, reduce};
use crate::block::unroll::unrolled;
use crate::block::warp_store::{self, BUFFER_ELEMS, WarpTile};
use crate::ptx::elect::elect;
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::warp_uniform::warp_uniform;
use crate::ptx::wgmma::{Accumulators, accumulator_position};
use crate::ptx::{bulk_copy, named_barrier, stmatrix};

/// Destination of a kernel's results.
#[derive(Clone, Copy)]
pub struct Target<'map, E> {
    /// C's map of rank 3: boxes of 64 rows and the columns of an epilogue subtile, with the 128-byte swizzle if these
    /// are
    /// 64. Not used if C's elements are f32, or its columns, leading dimension, stride or address are not multiples of
    /// 16 bytes.
    pub map: &'map TensorMap,
    /// All else.
    pub params: &'map GemmParams<E>,
}

impl<'map, P> Target<'map, P> {
    /// The same for elements of another type.
    ///
    /// # Safety
    /// The operands are of that type.
    #[inline(always)]
    pub(super) unsafe fn cast<Q>(self) -> Target<'map, Q> {
        let Self { map, params } = self;
        // SAFETY: the layout of the parameters is the same for all elements; the rest is the caller's promise.
        let params = unsafe { &*core::ptr::from_ref(params).cast() };
        Target { map, params }
    }
}

/// Where an MMA tile goes in C.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The first row.
    pub(crate) row: u32,
    /// The first column.
    pub(crate) column: u32,
    /// The matrix of C.
    pub(crate) product: u32,
    /// Where the rows end: those of C, or of the group.
    pub(crate) end: u32,
}

/// Named barrier of all consumer warpgroups; each has one of its own below.
const ALL: u32 = 15;

/// A consumer warpgroup.
struct Warpgroup<E> {
    number: u32,
    /// Index of the MMA tile that is stored, among the warpgroup's.
    m_tile: u32,
    /// Its epilogue subtiles, which nobody reads any more.
    subtiles: Shared<E>,
}

impl<E: Element> Warpgroup<E> {
    /// Consumer warpgroup `number`, which stores MMA tile `m_tile`. `elems` are the pipeline's.
    ///
    /// # Safety
    /// The epilogue subtiles follow the stages in `elems`.
    #[inline(always)]
    unsafe fn new<T: Tile>(number: u32, m_tile: u32, elems: Shared<E>) -> Self {
        let own = const { T::TILE.c_subtiles * T::TILE.c_subtile_elems() };
        let first = const { T::TILE.pipeline_elems() } + number * own;
        // SAFETY: the caller's promise.
        let subtiles = unsafe { elems.part(first as usize, own as usize) };
        Self {
            number,
            m_tile,
            subtiles,
        }
    }

    /// Its named barrier.
    fn barrier(&self) -> u32 {
        1 + self.number
    }

    /// What the calling warp stores of an MMA tile by predicated stores, and its buffer for that: a quarter of a
    /// subtile.
    ///
    /// # Safety
    /// The warpgroup has a subtile.
    #[inline(always)]
    unsafe fn warp_part(&self, at: Place) -> (WarpTile, Shared<f32>) {
        let warp = self.thread() / 32;
        let tile = WarpTile {
            row: at.row + 16 * warp,
            column: at.column,
            end: at.end,
        };
        // SAFETY: a warp has a quarter of the subtile to itself.
        let buffer = unsafe {
            let subtile = Shared::<f32>::new(self.subtiles.as_mut_ptr().cast(), const { 4 * BUFFER_ELEMS });
            subtile.part(warp as usize * BUFFER_ELEMS, BUFFER_ELEMS)
        };
        (tile, buffer)
    }
}

impl<E: Element> ThreadGroup for Warpgroup<E> {
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
    unsafe fn broadcast(&self, flag: bool) -> bool {
        // SAFETY: one word of the subtiles, written by one thread; barriers separate it from every other access.
        unsafe {
            let shared_flag = Shared::<u32>::new(self.subtiles.as_mut_ptr().cast(), 1);
            if self.thread() == 0 {
                shared_flag.set(0, u32::from(flag));
            }
            // RAW: the flag is written.
            self.sync();
            let flag = warp_uniform(shared_flag.get(0)) != 0;
            // WAR: all have read it.
            self.sync();
            flag
        }
    }
}

/// Stores MMA tile `m_tile` of warpgroup `number` to `at`; with split-K, the warpgroup that holds the sum of all splits
/// does. By TMA where C allows it, else by predicated stores. `is_last`: no tile of this CTA follows.
///
/// # Safety
/// `target` is as it says; `elems` are the pipeline's, and every thread of the warpgroup calls this. If `is_last`, all
/// loads into the pipeline have been waited for.
#[inline(always)]
pub(crate) unsafe fn store<E: Element, T: Tile, const ACCUMULATORS: usize>(
    mut acc: [f32; ACCUMULATORS],
    [number, m_tile]: [u32; 2],
    split: SplitTile,
    at: Place,
    is_last: bool,
    target: Target<'_, E>,
    elems: Shared<E>,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    let Target { params, .. } = target;
    // SAFETY: the subtiles are the warpgroup's own. The rest is the caller's promise.
    unsafe {
        let warpgroup = Warpgroup::new::<T>(number, m_tile, elems);
        if const { T::TILE.supports_split_k() } && split.splits > 1 {
            const { assert!(!T::TILE.supports_split_k() || matches!(ACCUMULATORS, 32 | 64 | 96)) };
            // WAR: the issuing thread's TMA stores have read the subtiles; all threads pass `reduce`'s first barrier
            // before it writes them.
            bulk_copy::wait_read::<0>();
            // As rows of 8.
            let first = acc.as_mut_ptr();
            let is_complete = match const { ACCUMULATORS } {
                32 => reduce::<E, f32, 4, 8>(&warpgroup, &mut *first.cast(), split, params),
                64 => reduce::<E, f32, 8, 8>(&warpgroup, &mut *first.cast(), split, params),
                _ => reduce::<E, f32, 12, 8>(&warpgroup, &mut *first.cast(), split, params),
            };
            if !is_complete {
                return;
            }
        }
        // C of 16 bits that is not read.
        let is_narrow = params.beta == 0.0 && params.output == Output::Same;
        let elements = 16 / size_of::<E>();
        // TMA knows where C ends, not where a group does.
        let is_inside = !const { T::TILE.groups } || at.row + WgmmaTile::ROWS <= at.end || at.end == params.m;
        let takes_tma = is_narrow
            && is_inside
            && (params.n as usize).is_multiple_of(elements)
            && (params.ldc as usize).is_multiple_of(elements)
            && (params.stride_c as usize).is_multiple_of(elements)
            && params.c.addr().is_multiple_of(16);
        // A ping-pong tile with more accumulators has no registers left for it, and would spill.
        let rounds_first = takes_tma || is_narrow && const { !T::TILE.ping_pong || ACCUMULATORS <= 64 };
        let mut alpha = params.alpha;
        if rounds_first && (!params.bias.is_null() || params.activation != Activation::None) {
            apply_epilogue(&mut acc, at, target);
            alpha = 1.0;
        }
        if takes_tma {
            // With split-K the other warpgroup may have returned already, with groups it may store without TMA: it
            // would not arrive at the common barrier.
            let is_last = is_last && split.splits == 1 && !const { T::TILE.ping_pong || T::TILE.groups };
            store_tma::<E, T, ACCUMULATORS>(&acc, at, alpha, is_last, target.map, warpgroup, elems);
        } else {
            if const { T::TILE.groups } {
                bulk_copy::wait_read::<0>();
                // WAR: the TMA store of another tile has read the subtiles.
                warpgroup.sync();
            }
            let c_elem = offset(params.stride_c, at.product);
            let c = params.c.wrapping_add(c_elem);
            match params.output {
                Output::Same if rounds_first => {
                    let (tile, buffer) = warpgroup.warp_part(at);
                    narrow_store::store::<E, 1>(&acc, alpha, tile, c, params, buffer);
                }
                Output::Same => store_predicated::<E, E, E>(&acc, at, c, target, warpgroup),
                Output::F32 => {
                    let c = params.c.cast::<f32>().wrapping_add(c_elem);
                    store_predicated::<E, E, f32>(&acc, at, c, target, warpgroup);
                }
            }
        }
    }
}

/// [`store`] of f32, always by predicated stores.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn store_parts<E: Element, T: Tile, const ACCUMULATORS: usize>(
    mut acc: [f32; ACCUMULATORS],
    number: u32,
    split: SplitTile,
    at: Place,
    target: Target<'_, f32>,
    elems: Shared<E>,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    let params = target.params;
    // SAFETY: the subtiles are the warpgroup's own. The rest is the caller's promise.
    unsafe {
        let warpgroup = Warpgroup::new::<T>(number, 0, elems);
        const { assert!(T::TILE.parts == 1 || ACCUMULATORS == 64) };
        // As rows of 8.
        let rows = acc.as_mut_ptr().cast();
        if split.splits > 1 && !reduce::<f32, f32, 8, 8>(&warpgroup, &mut *rows, split, params) {
            return;
        }
        let c = params.c.wrapping_add(offset(params.stride_c, at.product));
        store_predicated::<E, f32, f32>(&acc, at, c, target, warpgroup);
    }
}

/// `acc = activation(alpha * acc + bias)`.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn apply_epilogue<E: Element, const ACCUMULATORS: usize>(
    acc: &mut [f32; ACCUMULATORS],
    at: Place,
    target: Target<'_, E>,
) {
    let Target { params, .. } = target;
    let column = at.column + accumulator_position(thread::thread_idx_x(), 0).1;
    // Branches around all accumulators, not around each: much shorter code.
    macro_rules! for_pairs {
        (|$two:ident, $column:ident| $made:expr) => {
            unrolled!(ACCUMULATORS / 4, |vec4| {
                unrolled!(2, at most 2, |pair| {
                    let first = 4 * vec4 + 2 * pair;
                    let right = accumulator_position(0, first as u32).1;
                    let ($two, $column) = ([acc[first], acc[first + 1]], column + right);
                    [acc[first], acc[first + 1]] = $made;
                });
            })
        };
    }
    if params.bias.is_null() {
        for_pairs!(|two, _column| [params.alpha * two[0], params.alpha * two[1]]);
    } else {
        // SAFETY: the bias is as the target says.
        let bias = |column| unsafe { Epilogue::new(params).bias(column) };
        for_pairs!(|two, column| {
            let bias = bias(column);
            [params.alpha * two[0] + bias[0], params.alpha * two[1] + bias[1]]
        });
    }
    match params.activation {
        Activation::None => {}
        Activation::Relu => for_pairs!(|two, _column| [relu(two[0]), relu(two[1])]),
        Activation::Gelu => for_pairs!(|two, _column| [gelu(two[0]), gelu(two[1])]),
    }
}

/// Stores `alpha * acc` by TMA, one epilogue subtile after the other: the warpgroup writes it to shared memory,
/// swizzled, and one thread starts a TMA store, which overlaps with the next subtile or the next tile. TMA stores
/// nothing outside C. After the last tile the stages have room for all subtiles at once.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn store_tma<E: Element, T: Tile, const ACCUMULATORS: usize>(
    acc: &[f32; ACCUMULATORS],
    at: Place,
    alpha: f32,
    is_last: bool,
    map: &TensorMap,
    warpgroup: Warpgroup<E>,
    elems: Shared<E>,
) {
    let tile = const { T::TILE };
    let t = warpgroup.thread();
    let lane = t % 32;
    // One lane of it starts the TMA stores and waits for them: elected, so that addresses stay in uniform registers.
    // SAFETY: whole warps are here.
    let is_first_warp = unsafe { warp_uniform(t / 32) } == 0;
    // The row of the subtile whose address this lane gives to `stmatrix`, and which 8 of 16 columns.
    let (row, half) = (16 * (t / 32) + lane % 16, lane / 16);
    let columns = const { T::TILE.c_columns() };
    let count = const { T::TILE.n / T::TILE.c_columns() };
    const {
        assert!(
            T::TILE.ping_pong || T::TILE.m * T::TILE.n <= T::TILE.pipeline_elems(),
            "the stages hold a tile of C"
        )
    };
    // The warpgroup's first subtile: in its own buffer, or after the last tile in the stages.
    let own = if is_last {
        warpgroup.number * count * tile.c_subtile_elems()
    } else {
        tile.pipeline_elems() + warpgroup.number * tile.c_subtiles * tile.c_subtile_elems()
    };
    if is_last {
        // SAFETY: whole warps, each once, of all consumer warpgroups.
        // WAR: the other warpgroup's mma have read the stages.
        unsafe { named_barrier::sync(ALL, tile.consumers() * WgmmaTile::WARPGROUP) };
    }
    unrolled!(const T::TILE.n / T::TILE.c_columns(), |subtile| {
        let buffer = if is_last { subtile } else { (warpgroup.m_tile * count + subtile) % tile.c_subtiles };
        let start = own + buffer * tile.c_subtile_elems();
        // SAFETY: the subtiles are the warpgroup's own; four lanes of one warp write each row. The whole warpgroup is
        // here.
        unsafe {
            if !is_last {
                if is_first_warp && elect(u32::MAX) {
                    match const { T::TILE.c_subtiles } {
                        1 => bulk_copy::wait_read::<0>(),
                        _ => bulk_copy::wait_read::<1>(),
                    }
                }
                // WAR: the TMA store that read this buffer last is done.
                warpgroup.sync();
            }
            let two = |i: usize| {
                let two = [acc[i], acc[i + 1]];
                bytemuck::cast(E::narrow_pair(two.map(|sum| alpha * sum)))
            };
            unrolled!(const T::TILE.c_columns() / 16, |pair| {
                let index = start + subtile_elem::<T>(row, 2 * pair + half);
                let first = (columns / 2 * subtile + 8 * pair) as usize;
                stmatrix::store::<E, 4>(elems, index, [0, 2, 4, 6].map(|i| two(first + i)));
            });
            if const { T::TILE.c_columns() % 16 != 0 } {
                // The last 8 columns: the other half of the lanes gives addresses that are not used.
                let last = const { T::TILE.c_columns() / 8 - 1 };
                let first = (columns / 2 * subtile + 4 * last) as usize;
                stmatrix::store::<E, 2>(elems, start + subtile_elem::<T>(row, last), [0, 2].map(|i| two(first + i)));
            }
            bulk_copy::proxy_fence();
            // RAW: the subtile is written, and the async proxy sees it.
            warpgroup.sync();
            if is_first_warp && elect(u32::MAX) {
                let column = at.column + subtile * columns;
                bulk_copy::store_3d(map, [column, at.row, at.product].map(|at| at as i32), elems, start);
                bulk_copy::commit();
            }
            // The lanes reconverge before the next tile, where `ptxas` sees it.
            warp::sync_warp(u32::MAX);
        }
    });
}

/// Index of 16-byte vector `vector` of row `row` of an epilogue subtile, in elements, as C's tensor map has it.
#[inline(always)]
fn subtile_elem<T: Tile>(row: u32, vector: u32) -> u32 {
    let columns = const { T::TILE.c_columns() };
    if columns == WgmmaTile::SWIZZLE_ATOM {
        const { Swizzle::of_row(WgmmaTile::SWIZZLE_ATOM) }.elem(row, vector)
    } else {
        row * columns + 8 * vector
    }
}

/// Stores the accumulators as elements of `F` by the warps' [predicated stores](warp_store), each through its quarter
/// of a subtile.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn store_predicated<E: Element, P: element::Element<Acc = f32>, F: Narrowed>(
    acc: &[f32],
    at: Place,
    c: *mut F,
    target: Target<'_, P>,
    warpgroup: Warpgroup<E>,
) {
    // SAFETY: C and the bias are as the target says; a warp stores 16 rows that no other does.
    unsafe {
        let (tile, buffer) = warpgroup.warp_part(at);
        warp_store::store::<P, F, 1, 8>(acc, tile, c, target.params, buffer);
    }
}
