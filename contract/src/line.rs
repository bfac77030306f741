//! Products with a vector: the geometry of kernels whose C is one column or one row.
//!
//! Where `n` is 1 the matrix is A, its lines are its rows, and the vector is B; where `m` is 1 the matrix is B, its
//! lines are its columns, and the vector is A. An element of C is the sum of a line's elements, each times the
//! vector's.

use crate::args::GemmArgs;
use crate::shape::{GemmShape, Operand, Transpose};
use crate::units::Bytes;

/// What one block computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineTile {
    /// The elements of a line are neighbours in memory: a warp for each line, its lanes along K.
    AlongK,
    /// The elements of neighbouring lines are neighbours: the lanes of a warp have lines, its warps parts of K.
    AcrossK,
}

impl LineTile {
    /// Threads of a block.
    pub const THREADS: u32 = 256;
    /// Its warps.
    pub const WARPS: u32 = Self::THREADS / 32;
    /// Vectors that a thread loads before it uses the first.
    pub const AHEAD: u32 = 8;
    /// Lines of a lane, across K.
    pub const LANE_LINES: u32 = 4;

    /// Elements of C of a block.
    pub const fn lines(self) -> u32 {
        match self {
            Self::AlongK => Self::WARPS,
            Self::AcrossK => 32 * Self::LANE_LINES,
        }
    }

    /// Elements along K of a step of the whole block.
    pub const fn depth(self) -> u32 {
        match self {
            // Vectors of 4 elements.
            Self::AlongK => 32 * 4 * Self::AHEAD,
            Self::AcrossK => Self::WARPS * Self::AHEAD,
        }
    }

    /// Static shared memory: across K the sums of all warps meet there.
    pub const fn static_bytes(self) -> Bytes {
        match self {
            Self::AlongK => Bytes(0),
            Self::AcrossK => Bytes(Self::AcrossK.lines() * Self::WARPS * size_of::<f32>() as u32),
        }
    }
}

/// Which operand is the matrix and how its lines lie; `None` for a product of two matrices.
pub const fn lines_of(shape: &GemmShape) -> Option<(Operand, LineTile)> {
    let (operand, across) = if shape.n() == 1 {
        (Operand::A, Transpose::Yes)
    } else if shape.m() == 1 {
        (Operand::B, Transpose::No)
    } else {
        return None;
    };
    let is_across = matches!(
        (shape.transpose(operand), across),
        (Transpose::No, Transpose::No) | (Transpose::Yes, Transpose::Yes)
    );
    let tile = if is_across { LineTile::AcrossK } else { LineTile::AlongK };
    Some((operand, tile))
}

/// The arguments as these kernels take them: the leading dimension of the vector is the elements from one of its
/// elements to the next.
pub const fn line_args(shape: &GemmShape) -> GemmArgs {
    let mut args = shape.args();
    // A row of one element to a line of memory, or all of them in one.
    match (args.n, shape.transpose(Operand::A), shape.transpose(Operand::B)) {
        (1, _, Transpose::Yes) => args.ldb = 1,
        (1, ..) => {}
        (_, Transpose::No, _) => args.lda = 1,
        (..) => {}
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_computes_what_its_threads_hold() {
        assert_eq!((LineTile::AlongK.lines(), LineTile::AlongK.depth()), (8, 1024));
        assert_eq!((LineTile::AcrossK.lines(), LineTile::AcrossK.depth()), (128, 64));
        assert_eq!(LineTile::AcrossK.static_bytes(), Bytes(4096));
    }

    #[test]
    fn the_matrix_is_the_operand_that_is_no_vector() {
        let (no, yes) = (Transpose::No, Transpose::Yes);
        let of = |m, n, transpose| {
            let shape = GemmShape::packed_transposed(m, n, 7, transpose).expect("small");
            (lines_of(&shape), line_args(&shape))
        };
        for other in [no, yes] {
            assert_eq!(of(5, 1, [no, other]).0, Some((Operand::A, LineTile::AlongK)));
            assert_eq!(of(5, 1, [yes, other]).0, Some((Operand::A, LineTile::AcrossK)));
            assert_eq!(of(1, 5, [other, no]).0, Some((Operand::B, LineTile::AcrossK)));
            assert_eq!(of(1, 5, [other, yes]).0, Some((Operand::B, LineTile::AlongK)));
            assert_eq!(of(2, 2, [other, no]).0, None);
            // The other vector lies in one row, or one element a row.
            assert_eq!(of(5, 1, [no, other]).1.ldb, 1);
            assert_eq!(of(1, 5, [other, no]).1.lda, 1);
        }
        // Rows that are longer than their one element: they stay apart.
        let shape = GemmShape::with_ld(5, 1, 7, 7, 3, 2).expect("small");
        assert_eq!((line_args(&shape).ldb, line_args(&shape).ldc), (3, 2));
        let shape = GemmShape::with_transposes(1, 5, 7, [yes, no], [4, 5, 5]).expect("small");
        assert_eq!(line_args(&shape).lda, 4);
    }
}
