//! A family for an element type that the library has no kernel of this kind for: f64 with tiles in static shared memory
//! that are wider than they are deep.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use kernels_gpu::block::operands::Operands;
use tilewright_contract::{
    Bytes, DType, Family, GemmArgs, GemmParams, Kernel, SmemLayout, Storage, Target, TileOrigin,
};

/// The family: its name, which its kernels' symbols begin with, what is new in it, and which devices run it.
pub const FAMILY: Family = Family::new("shallow_f64", "k-tiles of 8, in less shared memory", Target::from(7, 5));

/// Depth of a k-tile.
const DEPTH: u32 = 8;

/// The instance list: a row is an entry point and its kernel in the table below.
macro_rules! instances {
    ($($symbol:ident: $width:literal;)*) => {
        /// One kernel for each row of the list.
        pub static KERNELS: &[Kernel] = &[$(described(stringify!($symbol), $width)),*];

        $(
            /// C = A * B, row-major, any extents and leading dimensions.
            ///
            /// # Safety
            /// `params` describes matrices in global memory; grid, CTA and shared memory are those of its row.
            #[kernel(max_threads = $width * $width)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<f64>) {
                const ELEMS: usize = ($width * DEPTH) as usize;
                // SAFETY: the arrays are this kernel's; the rest is the caller's promise.
                unsafe {
                    let a_s = Shared::new(shared_array![f64; ELEMS], ELEMS);
                    let b_s = Shared::new(shared_array![f64; ELEMS], ELEMS);
                    product(params, $width, a_s, b_s);
                }
            }
        )*
    };
}

instances! {
    shallow_f64_16: 16;
    shallow_f64_32: 32;
}

/// What planning, launching and simulating know of an instance.
const fn described(symbol: &'static str, width: u32) -> Kernel {
    let part = Bytes(width * DEPTH * DType::F64.size_bytes());
    Kernel {
        block: [width, width],
        smem: SmemLayout {
            storage: Storage::Static,
            a_per_stage: part,
            b_per_stage: part,
            ..SmemLayout::NONE
        },
        ..Kernel::plain(FAMILY, symbol, DType::F64, [width, width, DEPTH], width * width)
    }
}

/// The body: each thread computes one element of C.
///
/// # Safety
/// As for the kernels; `a_s` and `b_s` are `width * DEPTH` elements of the CTA's shared memory each.
#[inline(always)]
unsafe fn product(params: &GemmParams<f64>, width: u32, a_s: Shared<f64>, b_s: Shared<f64>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    let at = |row: u32, column: u32, ld: u32| row as usize * ld as usize + column as usize;
    let tile = TileOrigin::of_block(thread::block_idx_x(), n, width);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (row, column) = (tile.row + ty, tile.column + tx);
    // SAFETY: every access to global memory is guarded by the extents; in shared memory each element has one writer,
    // and barriers separate writes from reads by other threads.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        let (mut sum, mut k0) = (0.0, 0);
        while k0 < k {
            // The first DEPTH columns of threads load A, the first DEPTH rows of threads load B.
            if tx < DEPTH {
                let inside = row < m && k0 + tx < k;
                a_s.set(at(ty, tx, DEPTH), a.get_if(inside, || at(row, k0 + tx, lda), 0.0));
            }
            if ty < DEPTH {
                let inside = k0 + ty < k && column < n;
                b_s.set(at(ty, tx, width), b.get_if(inside, || at(k0 + ty, column, ldb), 0.0));
            }
            // RAW: both tiles are filled before any thread reads what others wrote.
            thread::sync_threads();
            let mut i = 0;
            while i < DEPTH {
                sum += a_s.get(at(ty, i, DEPTH)) * b_s.get(at(i, tx, width));
                i += 1;
            }
            // WAR: both tiles are drained before the next k-tile overwrites them.
            thread::sync_threads();
            k0 += DEPTH;
        }
        c.set_if(row < m && column < n, || at(row, column, ldc), || sum);
    }
}
