//! Square tiles in shared memory: the seeds' kernels, of every element type, with static and with dynamic arrays.

use core::fmt;

use crate::dtype::DType;
use crate::family::{Family, dtype};
use crate::kernel::{Features, Kernel, TileShape};
use crate::smem::{SmemLayout, Storage};
use crate::units::{Bytes, Elems};

/// Threads of a CTA, at most (CUDA programming guide, "Compute Capabilities", all architectures).
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;

/// Threads along one side of a CTA whose threads compute one element each, at most: 32 x 32 =
/// [`MAX_THREADS_PER_BLOCK`].
pub const MAX_THREADS_PER_SIDE: u32 = 32;

/// Threads along one side of a CTA whose threads compute several elements each, at most. 16 x 16 threads may use the
/// architecture's 255 registers a thread (65536 registers / 256 threads), so that no launch can fail for the lack of
/// them.
const MAX_THREADS_PER_SIDE_WIDE: u32 = 16;

const _: () = assert!(MAX_THREADS_PER_SIDE * MAX_THREADS_PER_SIDE == MAX_THREADS_PER_BLOCK);

/// A square tile of C and the CTA that computes it.
///
/// A tile of up to 32 elements a side has one thread an element. A wider tile gives each thread a grid of
/// `outputs_per_side x outputs_per_side` elements, `threads_per_side` apart, so that a warp still reads neighboring
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileGeometry {
    width: u32,
}

/// A tile width that no CTA can compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileError {
    /// The width asked for, in elements.
    pub requested: u32,
}

impl fmt::Display for TileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearest = self.requested.clamp(TileGeometry::MIN_WIDTH, TileGeometry::MAX_WIDTH);
        write!(
            f,
            "tile width {} is outside {}..={}; nearest: {nearest}",
            self.requested,
            TileGeometry::MIN_WIDTH,
            TileGeometry::MAX_WIDTH
        )
    }
}

impl core::error::Error for TileError {}

impl TileGeometry {
    /// The narrowest tile, in elements.
    pub const MIN_WIDTH: u32 = 1;

    /// Elements of C that one thread computes along each side: the choices, each an entry point of its own, since the
    /// accumulators are in registers, whose number is fixed when a kernel is compiled.
    pub const OUTPUTS_PER_SIDE: [u32; 3] = [1, 4, 8];

    /// The widest tile, in elements: 8 x 8 accumulators of f64 take 128 of a thread's 255 registers; 16 x 16 would
    /// exceed them.
    pub const MAX_WIDTH: u32 = MAX_THREADS_PER_SIDE_WIDE * Self::OUTPUTS_PER_SIDE[Self::OUTPUTS_PER_SIDE.len() - 1];

    /// The widths, both ends included, whose threads compute `OUTPUTS_PER_SIDE[choice]` elements along each side.
    pub const fn widths(choice: usize) -> (u32, u32) {
        let min = if choice == 0 {
            Self::MIN_WIDTH
        } else {
            Self::widths(choice - 1).1 + 1
        };
        let max = if choice == 0 {
            MAX_THREADS_PER_SIDE
        } else {
            MAX_THREADS_PER_SIDE_WIDE * Self::OUTPUTS_PER_SIDE[choice]
        };
        (min, max)
    }

    /// The widths, from and to, whose threads compute `outputs` elements along each side.
    pub const fn widths_of(outputs: u32) -> [u32; 2] {
        let mut choice = 0;
        while Self::OUTPUTS_PER_SIDE[choice] != outputs {
            choice += 1;
        }
        let (min, max) = Self::widths(choice);
        [min, max]
    }

    /// A tile of `width x width` elements.
    ///
    /// # Errors
    /// [`TileError`] outside [`Self::MIN_WIDTH`]`..=`[`Self::MAX_WIDTH`].
    pub const fn new(width: u32) -> Result<Self, TileError> {
        if width < Self::MIN_WIDTH || width > Self::MAX_WIDTH {
            return Err(TileError { requested: width });
        }
        Ok(Self { width })
    }

    /// Rows and columns of the tile, in elements.
    pub const fn width(self) -> u32 {
        self.width
    }

    /// Elements of C that one thread computes along each side.
    pub const fn outputs_per_side(self) -> u32 {
        let mut choice = 0;
        while self.width > Self::widths(choice).1 {
            choice += 1;
        }
        Self::OUTPUTS_PER_SIDE[choice]
    }

    /// Threads along each side of the CTA.
    pub const fn threads_per_side(self) -> u32 {
        threads_per_side(self.width, self.outputs_per_side())
    }

    /// Threads of the CTA.
    pub const fn threads(self) -> u32 {
        self.threads_per_side() * self.threads_per_side()
    }

    /// The `outputs_per_side` kernel's stride between a thread's elements, for device code that holds both numbers
    /// already.
    #[inline(always)]
    pub const fn stride(width: u32, outputs_per_side: u32) -> u32 {
        threads_per_side(width, outputs_per_side)
    }
}

/// Two square tiles, one after the other, in one allocation:
///
/// ```text
/// byte 0                     a_part              a_part + b_part
/// | A_s: width x width | pad | B_s: width x width | pad |
/// ```
///
/// Rows are packed (pitch = width elements). Each part is rounded up to [`TilePair::ALIGNMENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TilePair {
    tile: TileGeometry,
    part: Bytes,
}

impl TilePair {
    /// Both parts begin at a multiple of 16 bytes, the widest shared-memory access (PTX ISA, `ld.shared.v4.b32`).
    pub const ALIGNMENT: u32 = 16;

    /// The layout of two tiles of `tile` with elements of `dtype`.
    pub const fn new(tile: TileGeometry, dtype: DType) -> Self {
        let elems = Elems(tile.width() * tile.width());
        // The widest tile takes 128 * 128 * 8 bytes: neither step can exceed u32.
        let part = match elems.to_bytes(dtype.size_bytes()) {
            Some(bytes) => match bytes.align_up(Self::ALIGNMENT) {
                Some(part) => part,
                None => panic!("a tile exceeds u32 bytes"),
            },
            None => panic!("a tile exceeds u32 bytes"),
        };
        Self { tile, part }
    }

    /// Where `A_s` begins.
    pub const fn a_offset(self) -> Bytes {
        Bytes(0)
    }

    /// Where `B_s` begins.
    pub const fn b_offset(self) -> Bytes {
        self.part
    }

    /// Bytes of the part of `A_s`, padding included.
    pub const fn a_part(self) -> Bytes {
        self.part
    }

    /// Bytes of the part of `B_s`, padding included.
    pub const fn b_part(self) -> Bytes {
        self.part
    }

    /// Bytes of the whole allocation.
    pub const fn total(self) -> Bytes {
        Bytes(self.part.get() * 2)
    }

    /// The widest tile whose pair fits into `limit`, or `None` where not even one element a side does.
    pub fn widest_within(limit: Bytes, dtype: DType) -> Option<TileGeometry> {
        (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
            .rev()
            .filter_map(|width| TileGeometry::new(width).ok())
            .find(|&tile| Self::new(tile, dtype).total() <= limit)
    }
}

/// Kernels with tiles in static arrays: calls `$callback!` with `symbol: element, width;` rows.
#[macro_export]
macro_rules! tiled_static_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            tiled_static_16_f32: f32, 16;
            tiled_static_32_f32: f32, 32;
            tiled_static_16_f64: f64, 16;
            tiled_static_32_f64: f64, 32;
            tiled_static_16_f16: f16, 16;
            tiled_static_32_f16: f16, 32;
            tiled_static_16_bf16: bf16, 16;
            tiled_static_32_bf16: bf16, 32;
        }
    };
}

/// Kernels with tiles in the dynamic allocation: calls `$callback!` with rows `symbol: element, outputs of a thread
/// along each side, width;`. The width is a constant of the kernel (`Fixed 16`) or comes with the launch (`Runtime`).
///
/// Two widths have kernels of their own, in which the width is a constant: a fair comparison with static arrays, where
/// it always is. That the allocation is dynamic is then the only difference.
#[macro_export]
macro_rules! tiled_dynamic_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            tiled_dynamic_16_f32: f32, 1, Fixed 16;
            tiled_dynamic_32_f32: f32, 1, Fixed 32;
            tiled_dynamic_1x1_f32: f32, 1, Runtime;
            tiled_dynamic_4x4_f32: f32, 4, Runtime;
            tiled_dynamic_8x8_f32: f32, 8, Runtime;
            tiled_dynamic_16_f64: f64, 1, Fixed 16;
            tiled_dynamic_32_f64: f64, 1, Fixed 32;
            tiled_dynamic_1x1_f64: f64, 1, Runtime;
            tiled_dynamic_4x4_f64: f64, 4, Runtime;
            tiled_dynamic_8x8_f64: f64, 8, Runtime;
            tiled_dynamic_16_f16: f16, 1, Fixed 16;
            tiled_dynamic_32_f16: f16, 1, Fixed 32;
            tiled_dynamic_1x1_f16: f16, 1, Runtime;
            tiled_dynamic_4x4_f16: f16, 4, Runtime;
            tiled_dynamic_8x8_f16: f16, 8, Runtime;
            tiled_dynamic_16_bf16: bf16, 1, Fixed 16;
            tiled_dynamic_32_bf16: bf16, 1, Fixed 32;
            tiled_dynamic_1x1_bf16: bf16, 1, Runtime;
            tiled_dynamic_4x4_bf16: bf16, 4, Runtime;
            tiled_dynamic_8x8_bf16: bf16, 8, Runtime;
        }
    };
}

macro_rules! with_static_tiles {
    ($($symbol:ident: $element:ident, $width:literal;)*) => {
        [$(of_batches(with_static(
            Family::TILED_STATIC,
            stringify!($symbol),
            dtype!($element),
            [$width; 2],
        ))),*]
    };
}

macro_rules! with_dynamic_tiles {
    ($($symbol:ident: $element:ident, $outputs:literal, $kind:ident $($width:literal)?;)*) => {
        [$(of_batches(kernel(
            Family::TILED_DYNAMIC,
            stringify!($symbol),
            dtype!($element),
            with_dynamic_tiles!(@widths $outputs $($width)?),
            Storage::Dynamic,
        ))),*]
    };
    (@widths $outputs:literal) => { TileGeometry::widths_of($outputs) };
    (@widths $outputs:literal $width:literal) => { [$width; 2] };
}

pub(super) const STATIC: [Kernel; 8] = crate::tiled_static_kernels!(with_static_tiles);
pub(super) const DYNAMIC: [Kernel; 20] = crate::tiled_dynamic_kernels!(with_dynamic_tiles);

/// The kernel, for batches too.
pub(super) const fn of_batches(kernel: Kernel) -> Kernel {
    Kernel {
        supports: Features {
            batch: true,
            ..kernel.supports
        },
        ..kernel
    }
}

/// The kernel with static tiles whose widths these are, with the widest.
pub(super) const fn with_static(family: Family, symbol: &'static str, dtype: DType, widths: [u32; 2]) -> Kernel {
    kernel(family, symbol, dtype, widths, Storage::Static)
}

/// The kernel whose widths these are, with the widest.
const fn kernel(family: Family, symbol: &'static str, dtype: DType, widths: [u32; 2], storage: Storage) -> Kernel {
    // Tile, CTA and bytes follow from the width.
    let kernel = Kernel {
        widths: Some(widths),
        max_threads: None,
        smem: SmemLayout {
            storage,
            ..SmemLayout::NONE
        },
        ..Kernel::plain(family, symbol, dtype, [0; 3], 0)
    };
    with_width(kernel, widths[1])
}

/// The kernel with tiles of this width, one of its [`widths`](Kernel::widths).
pub(crate) const fn with_width(kernel: Kernel, width: u32) -> Kernel {
    if kernel.tile.n == width {
        return kernel;
    }
    let tile = match TileGeometry::new(width) {
        Ok(tile) => tile,
        Err(_) => panic!("a width outside the geometry's range"),
    };
    let part = TilePair::new(tile, kernel.dtype).a_part();
    Kernel {
        tile: TileShape {
            m: width,
            n: width,
            k: width,
        },
        block: [tile.threads_per_side(); 2],
        smem: SmemLayout {
            a_per_stage: part,
            b_per_stage: part,
            ..kernel.smem
        },
        ..kernel
    }
}

#[inline(always)]
const fn threads_per_side(width: u32, outputs_per_side: u32) -> u32 {
    width.div_ceil(outputs_per_side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_covered_by_at_most_1024_threads() {
        for width in TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH {
            let tile = TileGeometry::new(width).expect("width in range");
            let (threads, outputs) = (tile.threads_per_side(), tile.outputs_per_side());
            assert!(tile.threads() <= MAX_THREADS_PER_BLOCK, "{width}");
            // 65536 registers of a CTA, 255 of a thread, rounded up to 256 by the allocation unit.
            assert!(outputs == 1 || tile.threads() * 256 <= 65536, "{width}");
            assert!(threads * outputs >= width, "{width}: every column has a thread");
            assert!(
                threads * (outputs - 1) < width,
                "{width}: no row of outputs is wholly idle"
            );
        }
    }

    #[test]
    fn widths_outside_the_range_name_the_nearest() {
        for (requested, nearest) in [(0, "nearest: 1"), (129, "nearest: 128"), (u32::MAX, "nearest: 128")] {
            let error = TileGeometry::new(requested).expect_err("out of range");
            assert!(std::format!("{error}").ends_with(nearest), "{error:?}");
        }
    }

    #[test]
    fn the_slides_example_takes_128_bytes() {
        let tile = TileGeometry::new(4).expect("4 is a tile width");
        assert_eq!(TilePair::new(tile, DType::F32).total(), Bytes(2 * 4 * 4 * 4));
    }

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        for dtype in DType::ALL {
            for width in TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH {
                let pair = TilePair::new(TileGeometry::new(width).expect("in range"), dtype);
                let tile_bytes = width * width * dtype.size_bytes();
                assert_eq!(pair.b_offset().get() % TilePair::ALIGNMENT, 0);
                assert!(pair.a_offset().get() + tile_bytes <= pair.b_offset().get());
                assert!(pair.b_offset().get() + tile_bytes <= pair.total().get());
                assert!(pair.total().get() - 2 * tile_bytes < 2 * TilePair::ALIGNMENT);
                assert_eq!(pair.a_part().get() + pair.b_part().get(), pair.total().get());
            }
        }
    }

    #[test]
    fn the_widest_tile_is_exact_to_the_byte() {
        for dtype in DType::ALL {
            for width in TileGeometry::MIN_WIDTH..TileGeometry::MAX_WIDTH {
                let total = TilePair::new(TileGeometry::new(width).expect("in range"), dtype).total();
                let at = TilePair::widest_within(total, dtype).expect("fits");
                // Padding can make neighbors equal in size; then the wider one is right.
                assert!(at.width() >= width && TilePair::new(at, dtype).total() <= total);
                let under = TilePair::widest_within(Bytes(total.get() - 1), dtype).map_or(0, TileGeometry::width);
                assert!(under < width);
            }
        }
        assert_eq!(TilePair::widest_within(Bytes(31), DType::F16), None);
    }

    #[test]
    fn every_width_has_one_dynamic_kernel_for_any_width_and_perhaps_one_for_just_it() {
        for dtype in DType::ALL {
            for width in TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH {
                let matching = |fixed: bool| {
                    Family::TILED_DYNAMIC
                        .kernels()
                        .filter(|kernel| kernel.dtype == dtype && kernel.with_width(width).is_some())
                        .filter(|kernel| (kernel.widths == Some([width; 2])) == fixed)
                        .count()
                };
                assert_eq!(matching(false), 1, "{dtype} {width}");
                let found = Kernel::find(Family::TILED_DYNAMIC, dtype, width).expect("every width has one");
                assert_eq!(
                    matching(true),
                    usize::from(found.widths == Some([width; 2])),
                    "{dtype} {width}"
                );
                let tile = TileGeometry::new(width).expect("in range");
                assert_eq!(found.threads(), tile.threads(), "{dtype} {width}");
                assert_eq!(
                    found.dynamic_bytes(),
                    TilePair::new(tile, dtype).total(),
                    "{dtype} {width}"
                );
                let pair = TilePair::new(tile, dtype);
                assert_eq!((found.smem.a(), found.smem.b()), (pair.a_part(), pair.b_part()));
            }
        }
    }
}
