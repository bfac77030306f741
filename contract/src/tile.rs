//! The geometry of a square tile and of the thread block that computes it.

use core::fmt;

use crate::block::BlockTile;
use crate::line::LineTile;
use crate::tensor::TensorTile;
use crate::wgmma::WgmmaTile;

/// Threads in one block, at most (CUDA programming guide, "Compute Capabilities", all architectures).
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;

/// Threads along one side of a block whose threads compute one element each, at most: 32 x 32 =
/// [`MAX_THREADS_PER_BLOCK`].
pub const MAX_THREADS_PER_SIDE: u32 = 32;

/// Threads along one side of a block whose threads compute several elements each, at most. 16 x 16 threads may use the
/// architecture's 255 registers a thread (65536 registers / 256 threads), so that no launch can fail for the lack of
/// them.
const MAX_THREADS_PER_SIDE_WIDE: u32 = 16;

const _: () = assert!(MAX_THREADS_PER_SIDE * MAX_THREADS_PER_SIDE == MAX_THREADS_PER_BLOCK);

/// A square tile of C and the block that computes it.
///
/// A tile of up to 32 elements a side has one thread an element. A wider tile gives each thread a grid of
/// `outputs_per_side x outputs_per_side` elements, `threads_per_side` apart, so that a warp still reads neighbouring
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileGeometry {
    width: u32,
}

/// A tile width that no block can compute.
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
    /// sums live in registers, whose number is fixed when a kernel is compiled.
    pub const OUTPUTS_PER_SIDE: [u32; 3] = [1, 4, 8];

    /// The widest tile, in elements: 8 x 8 sums of f64 take 128 of a thread's 255 registers; 16 x 16 would exceed them.
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

    /// Threads along each side of the block.
    pub const fn threads_per_side(self) -> u32 {
        threads_per_side(self.width, self.outputs_per_side())
    }

    /// Threads of the block.
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

/// The tile of C that one block computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputTile {
    /// A square, of which each thread computes elements that lie far apart.
    Square(TileGeometry),
    /// A rectangle, of which each thread computes vectors.
    Block(BlockTile),
    /// A part of C's one column or one row.
    Lines(LineTile),
    /// A rectangle, of which each warp computes a part on the tensor cores.
    Tensor(TensorTile),
    /// A rectangle, of which each warpgroup that multiplies computes 64 rows by `wgmma`.
    Wgmma(WgmmaTile),
}

impl OutputTile {
    /// Rows of the tile; of lines as many as the larger side, for C has no more than one along the other.
    pub const fn m(self) -> u32 {
        match self {
            Self::Square(tile) => tile.width(),
            Self::Block(tile) => tile.m,
            Self::Tensor(tile) => tile.m,
            Self::Wgmma(tile) => tile.m,
            Self::Lines(tile) => tile.lines(),
        }
    }

    /// Columns of the tile; of lines see [`Self::m`].
    pub const fn n(self) -> u32 {
        match self {
            Self::Square(tile) => tile.width(),
            Self::Block(tile) => tile.n,
            Self::Tensor(tile) => tile.n,
            Self::Wgmma(tile) => tile.n,
            Self::Lines(tile) => tile.lines(),
        }
    }

    /// Threads of the block along x, y, z.
    pub const fn block(self) -> [u32; 3] {
        match self {
            Self::Square(tile) => [tile.threads_per_side(), tile.threads_per_side(), 1],
            Self::Block(tile) => [tile.threads(), 1, 1],
            Self::Tensor(tile) => [tile.threads(), 1, 1],
            Self::Wgmma(tile) => [tile.threads(), 1, 1],
            Self::Lines(_) => [LineTile::THREADS, 1, 1],
        }
    }

    /// Threads of the block.
    pub const fn threads(self) -> u32 {
        let [x, y, z] = self.block();
        x * y * z
    }

    /// Blocks of a cluster, neighbours along M; 1 where there are no clusters.
    pub const fn cluster(self) -> u32 {
        match self {
            Self::Wgmma(tile) => tile.cluster,
            Self::Square(_) | Self::Block(_) | Self::Tensor(_) | Self::Lines(_) => 1,
        }
    }

    /// Whether a launch has no more blocks than the device holds at once, each of which computes tile after tile.
    pub const fn is_persistent(self) -> bool {
        matches!(self, Self::Wgmma(tile) if tile.persistent)
    }

    /// Sums that a block leaves in the workspace where it computes a slice of K.
    pub const fn sums(self) -> u32 {
        match self {
            Self::Square(_) | Self::Block(_) | Self::Tensor(_) | Self::Wgmma(_) => self.m() * self.n(),
            // One a thread, whether it is of a line of its own or not.
            Self::Lines(_) => LineTile::THREADS,
        }
    }
}

impl fmt::Display for OutputTile {
    /// Writes `tile width 64`, `tile 256 x 128` or `8 lines`, in elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Square(tile) => write!(f, "tile width {}", tile.width()),
            Self::Block(_) | Self::Tensor(_) | Self::Wgmma(_) => write!(f, "tile {} x {}", self.m(), self.n()),
            Self::Lines(tile) => write!(f, "{} lines", tile.lines()),
        }
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
            // 65536 registers of a block, 255 of a thread, rounded up to 256 by the allocation unit.
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
            assert!(alloc_free_display(&error, nearest), "{error:?}");
        }
    }

    /// Whether the Display form ends with `suffix`, without an allocator.
    fn alloc_free_display(error: &TileError, suffix: &str) -> bool {
        struct Tail<'a> {
            buffer: &'a mut [u8; 128],
            len: usize,
        }
        impl fmt::Write for Tail<'_> {
            fn write_str(&mut self, s: &str) -> fmt::Result {
                for byte in s.bytes() {
                    *self.buffer.get_mut(self.len).ok_or(fmt::Error)? = byte;
                    self.len += 1;
                }
                Ok(())
            }
        }
        let mut buffer = [0; 128];
        let mut tail = Tail {
            buffer: &mut buffer,
            len: 0,
        };
        fmt::write(&mut tail, format_args!("{error}")).expect("fits");
        let len = tail.len;
        buffer[..len].ends_with(suffix.as_bytes())
    }
}
