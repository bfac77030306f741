//! Products with a vector: the geometry of kernels whose C is one column or one row.
//!
//! If `n` is 1 the matrix is A and the vector B; if `m` is 1 the matrix is B and the vector A. An element of C, an
//! output, is the dot product of the vector with a row of A or a column of B.

use crate::args::GemmArgs;
use crate::dtype::DType;
use crate::family::{Family, major};
use crate::kernel::{Alignment, Features, Kernel, Operands, SplitK};
use crate::major::Major;
use crate::shape::{GemmShape, Operand, Transpose};
use crate::smem::SmemLayout;
use crate::units::Bytes;

/// The geometry of a CTA. K-major: a warp per output, its lanes along K. MN-major: each lane has
/// [`LANE_OUTPUTS`](Self::LANE_OUTPUTS) outputs, each warp a part of K.
#[derive(Clone, Copy, Debug)]
pub struct MatrixVectorTile;

impl MatrixVectorTile {
    /// Threads of a CTA.
    pub const THREADS: u32 = 256;
    /// Its warps.
    pub const WARPS: u32 = Self::THREADS / 32;
    /// CTAs that an SM is to hold.
    pub const MIN_BLOCKS: u32 = 4;
    /// Vectors that a thread loads before it uses the first.
    pub const AHEAD: u32 = 8;
    /// Outputs of a lane, of an MN-major matrix.
    pub const LANE_OUTPUTS: u32 = 4;

    /// Elements of C of a CTA.
    pub const fn outputs(major: Major) -> u32 {
        match major {
            Major::K => Self::WARPS,
            Major::Mn => 32 * Self::LANE_OUTPUTS,
        }
    }

    /// Elements along K that the CTA loads ahead.
    pub const fn depth(major: Major) -> u32 {
        match major {
            // Vectors of 4 elements.
            Major::K => 32 * 4 * Self::AHEAD,
            Major::Mn => Self::WARPS * Self::AHEAD,
        }
    }

    /// Static shared memory: of an MN-major matrix the partial results of all warps are added up there.
    pub const fn static_bytes(major: Major) -> Bytes {
        match major {
            Major::K => Bytes(0),
            Major::Mn => Bytes(Self::outputs(major) * Self::WARPS * size_of::<f32>() as u32),
        }
    }
}

/// The kernels of this family: calls `$callback!` with rows `symbol: major of the matrix, elements of one load of it;`.
#[macro_export]
macro_rules! matrix_vector_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            matrix_vector_k4_f32: KMajor, 4;
            matrix_vector_k_f32: KMajor, 1;
            matrix_vector_mn4_f32: MnMajor, 4;
            matrix_vector_mn_f32: MnMajor, 1;
        }
    };
}

macro_rules! rows {
    ($($symbol:ident: $major:ident, $elems:literal;)*) => {
        [$(kernel(stringify!($symbol), major!($major), $elems)),*]
    };
}

/// The kernels of this file.
pub(super) const KERNELS: [Kernel; 4] = crate::matrix_vector_kernels!(rows);

const fn kernel(symbol: &'static str, major: Major, elems: u32) -> Kernel {
    let tile = [
        MatrixVectorTile::outputs(major),
        MatrixVectorTile::outputs(major),
        MatrixVectorTile::depth(major),
    ];
    Kernel {
        operands: Operands::MatrixAndVector(major),
        alignment: Alignment::of([elems; 2]),
        smem: SmemLayout {
            scratch: MatrixVectorTile::static_bytes(major),
            ..SmemLayout::NONE
        },
        supports: Features {
            alpha_beta: true,
            batch: true,
            ..Features::PRODUCT
        },
        // One element per thread, whether it has an output or not.
        split_k: Some(SplitK {
            elems_per_tile: MatrixVectorTile::THREADS,
            threads: MatrixVectorTile::THREADS,
            counters_per_tile: 1,
        }),
        ..Kernel::plain(
            Family::MATRIX_VECTOR,
            symbol,
            DType::F32,
            tile,
            MatrixVectorTile::THREADS,
        )
    }
}

/// Which operand is the matrix and its major; `None` for a product of two matrices.
pub const fn matrix_of(shape: &GemmShape) -> Option<(Operand, Major)> {
    let operand = if shape.n() == 1 {
        Operand::A
    } else if shape.m() == 1 {
        Operand::B
    } else {
        return None;
    };
    Some((operand, Major::of(operand, shape.transpose(operand))))
}

/// The arguments as these kernels take them: the leading dimension of the vector is the elements from one of its
/// elements to the next.
pub const fn args(shape: &GemmShape) -> GemmArgs {
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
        assert_eq!(
            (MatrixVectorTile::outputs(Major::K), MatrixVectorTile::depth(Major::K)),
            (8, 1024)
        );
        assert_eq!(
            (MatrixVectorTile::outputs(Major::Mn), MatrixVectorTile::depth(Major::Mn)),
            (128, 64)
        );
        assert_eq!(MatrixVectorTile::static_bytes(Major::Mn), Bytes(4096));
    }

    #[test]
    fn the_matrix_is_the_operand_that_is_no_vector() {
        let (no, yes) = (Transpose::No, Transpose::Yes);
        let of = |m, n, transpose| {
            let shape = GemmShape::packed_transposed(m, n, 7, transpose).expect("small");
            (matrix_of(&shape), args(&shape))
        };
        for other in [no, yes] {
            assert_eq!(of(5, 1, [no, other]).0, Some((Operand::A, Major::K)));
            assert_eq!(of(5, 1, [yes, other]).0, Some((Operand::A, Major::Mn)));
            assert_eq!(of(1, 5, [other, no]).0, Some((Operand::B, Major::Mn)));
            assert_eq!(of(1, 5, [other, yes]).0, Some((Operand::B, Major::K)));
            assert_eq!(of(2, 2, [other, no]).0, None);
            // The other vector is one row, or one element per row.
            assert_eq!(of(5, 1, [no, other]).1.ldb, 1);
            assert_eq!(of(1, 5, [other, no]).1.lda, 1);
        }
        // Rows that are longer than their one element: they stay apart.
        let shape = GemmShape::with_ld(5, 1, 7, 7, 3, 2).expect("small");
        assert_eq!((args(&shape).ldb, args(&shape).ldc), (3, 2));
        let shape = GemmShape::with_transposes(1, 5, 7, [yes, no], [4, 5, 5]).expect("small");
        assert_eq!(args(&shape).lda, 4);
    }
}
