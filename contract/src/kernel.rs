//! A kernel as a value.

mod properties;

use core::fmt;

pub use properties::{Alignment, Features, Loads, MmaPath, Operands, Schedule, SplitK, Target, TileShape};

use crate::args::GemmArgs;
use crate::batch::Batch;
use crate::dtype::DType;
use crate::family::{Family, KERNELS, matrix_vector, tiled, wgmma};
use crate::major::Major;
use crate::operand_copy::{CopyKind, OperandCopy, padded_ld};
use crate::precision::Precision;
use crate::shape::{GemmShape, Operand, Transpose};
use crate::smem::SmemLayout;
use crate::units::Bytes;

/// A kernel: everything that planning, launching, simulating and checking know of it.
///
/// A family fills it in, in `const`, from the geometry that its device code indexes with. Nobody outside of a family
/// asks which family it is, except for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The entry point in PTX.
    pub symbol: &'static str,
    /// For names and documentation.
    pub family: Family,
    /// Which devices run it.
    pub target: Target,
    /// The type of A, B and C. Sums are of [`DType::accumulator`].
    pub dtype: DType,
    /// The arithmetic of its products.
    pub precision: Precision,
    /// Which operands it takes, and how they are stored.
    pub operands: Operands,
    /// How operands are aligned.
    pub alignment: Alignment,
    /// Whether dispatch may have A, and B, transposed by a copy first, for products that have them in the other major:
    /// where the kernel for that major is slower, or there is none.
    pub may_transpose: [bool; 2],
    /// The tile of C, and a step along K, in elements. Of a kernel with [`widths`](Self::widths) that of the widest.
    pub tile: TileShape,
    /// What the elements of the last k-tile that it multiplies are a multiple of; `None` for a kernel that multiplies
    /// all of a k-tile, with zeros past the end of K.
    pub k_granularity: Option<u32>,
    /// Columns of a tile that its neighbor on the left has too. It stores as many less, and in each row of C others:
    /// those of whole sectors.
    pub overlap: u32,
    /// The widths of the square tiles that a launch chooses from, from and to; `None` for a kernel of one tile that is
    /// not chosen by its width.
    pub widths: Option<[u32; 2]>,
    /// Threads of a CTA along x and y.
    pub block: [u32; 2],
    /// `.maxntid`: a launch of more threads fails.
    pub max_threads: Option<u32>,
    /// Of the CTA's warps those that only load (warp specialization).
    pub producer_warps: u32,
    /// CTAs of a cluster, neighbors along M, or along N if it [is transposed](Self::is_transposed); 1 without clusters.
    pub cluster: u32,
    /// Whether it computes the transpose of C, from those of B and A.
    pub is_transposed: bool,
    /// The tiles of a CTA.
    pub schedule: Schedule,
    /// The MMA instructions.
    pub mma: MmaPath,
    /// How A and B reach shared memory.
    pub loads: Loads,
    /// Shared memory of a CTA.
    pub smem: SmemLayout,
    /// Alpha and beta, bias and activation, and the like.
    pub supports: Features,
    /// Split-K; `None` where it is not supported.
    pub split_k: Option<SplitK>,
}

impl Kernel {
    /// Elements from one row of an operand to the next, at most, where a kernel counts those of a tile in 32 bits:
    /// tiles have at most 256 rows.
    pub const MAX_LD: usize = u32::MAX as usize / 256;

    /// What most kernels have in common: one tile per CTA of `threads` threads along x, row-major operands in single
    /// elements, `fma`, no shared memory, the product alone. A family changes what differs, and so does a kernel from
    /// outside the table, which a policy may name:
    ///
    /// ```
    /// use tilewright_contract::{DType, Family, Kernel, Target};
    ///
    /// const MY_GEMM: Family = Family::new("my_gemm", "what is new in it", Target::from(7, 5));
    /// static MINE: Kernel = Kernel {
    ///     block: [16, 16],
    ///     ..Kernel::plain(MY_GEMM, "my_gemm_f32", DType::F32, [16, 16, 1], 256)
    /// };
    /// assert!(Kernel::named(MINE.symbol).is_none() && MINE.accepts(&MINE.small_shape()));
    /// ```
    pub const fn plain(family: Family, symbol: &'static str, dtype: DType, [m, n, k]: [u32; 3], threads: u32) -> Self {
        Self {
            symbol,
            family,
            target: family.target(),
            dtype,
            precision: Precision::Ieee,
            operands: Operands::Matrices([Major::K, Major::Mn]),
            alignment: Alignment::NONE,
            may_transpose: [false; 2],
            tile: TileShape { m, n, k },
            k_granularity: None,
            overlap: 0,
            widths: None,
            block: [threads, 1],
            max_threads: Some(threads),
            producer_warps: 0,
            cluster: 1,
            is_transposed: false,
            schedule: Schedule::OneTilePerCta,
            mma: MmaPath::Simt,
            loads: Loads::Threads,
            smem: SmemLayout::NONE,
            supports: Features::PRODUCT,
            split_k: None,
        }
    }

    /// The kernel with the square tile of a width, in elements; `None` where it has none of that width.
    pub const fn with_width(&self, width: u32) -> Option<Self> {
        match self.widths {
            Some([min, max]) if min <= width && width <= max => Some(tiled::with_width(*self, width)),
            None if self.tile.m == width && self.tile.n == width && !self.takes_vector() => Some(*self),
            _ => None,
        }
    }

    /// The kernel with each of its tiles: one for each width, or itself.
    pub fn with_every_tile(&self) -> impl Iterator<Item = Self> + use<> {
        let kernel = *self;
        let [min, max] = self.widths.unwrap_or([self.tile.n; 2]);
        (min..=max).filter_map(move |width| match kernel.widths {
            Some(_) => kernel.with_width(width),
            None => Some(kernel),
        })
    }

    /// The width nearest to `width` of a square tile of this kernel; `None` where it has no square tile.
    pub const fn nearest_width(&self, width: u32) -> Option<u32> {
        match self.widths {
            Some([min, _]) if width < min => Some(min),
            Some([_, max]) if width > max => Some(max),
            Some(_) => Some(width),
            None if self.tile.m == self.tile.n && !self.takes_vector() => Some(self.tile.n),
            None => None,
        }
    }

    /// Whether it computes a matrix-vector product.
    pub const fn takes_vector(&self) -> bool {
        matches!(self.operands, Operands::MatrixAndVector(_))
    }

    /// Whether two kernels differ in the types and layouts of their operands alone.
    pub fn has_same_tile(&self, other: &Self) -> bool {
        let of = |kernel: &Self| {
            (
                kernel.tile,
                kernel.widths,
                kernel.block,
                kernel.cluster,
                kernel.schedule,
            )
        };
        let vector = |kernel: &Self| match kernel.operands {
            Operands::Matrices(_) => None,
            Operands::MatrixAndVector(major) => Some(major),
        };
        let how = |kernel: &Self| (kernel.mma, kernel.loads, kernel.smem, vector(kernel));
        of(self) == of(other) && how(self) == how(other)
    }

    /// Whether one of both is enough to try for a shape, and it is this one where it stands first in the table: the
    /// same kernel, or one of the same family and tile, neither of which has operands copied. Of these the first loads
    /// vectors where it can.
    pub fn stands_for(&self, other: &Self, shape: &GemmShape) -> bool {
        let is_alike = self.family == other.family && self.has_same_tile(other);
        is_alike && (self.symbol == other.symbol || self.accepts(shape) && other.accepts(shape))
    }

    /// The first kernel of a family and type with a tile of this width: one whose width is a constant stands before
    /// the one that takes it at launch.
    pub fn find(family: Family, dtype: DType, width: u32) -> Option<Self> {
        KERNELS
            .iter()
            .filter(|kernel| kernel.family == family && kernel.dtype == dtype)
            .find_map(|kernel| kernel.with_width(width))
    }

    /// The row of the table with this entry point.
    pub fn named(symbol: &str) -> Option<&'static Self> {
        KERNELS.iter().find(|kernel| kernel.symbol == symbol)
    }

    /// Whether A and B are split into bf16 first.
    pub const fn splits_operands(&self) -> bool {
        matches!(self.precision, Precision::EmulatedF32)
    }

    /// Matrices that become of A and of B before the kernel loads them: the parts that they are split into, or one.
    pub const fn parts(&self) -> u32 {
        if self.splits_operands() {
            CopyKind::Split.parts()
        } else {
            1
        }
    }

    /// The type of A and B in shared memory: their own, or that of the parts that they are split into.
    pub const fn operand_dtype(&self) -> DType {
        if self.splits_operands() {
            DType::Bf16
        } else {
            self.dtype
        }
    }

    /// Whether this kernel computes this shape, with operands whose addresses are multiples of 16 bytes. Where operands
    /// are split, those are their parts.
    pub fn accepts(&self, shape: &GemmShape) -> bool {
        self.is_computed(shape)
            && match self.operands {
                Operands::MatrixAndVector(_) => matches!(matrix_vector::matrix_of(shape),
                    Some((matrix, _)) if self.alignment.fits(shape, matrix)),
                Operands::Matrices(_) => [Operand::A, Operand::B]
                    .iter()
                    .all(|&operand| self.alignment.fits(shape, operand)),
            }
    }

    /// Whether this kernel computes this shape, if operands are aligned.
    fn is_computed(&self, shape: &GemmShape) -> bool {
        let batch = shape.batch();
        if batch.groups != self.supports.groups || !batch.groups && batch != Batch::ONE && !self.supports.batch {
            return false;
        }
        match self.operands {
            Operands::MatrixAndVector(major) => {
                matches!(matrix_vector::matrix_of(shape), Some((_, of_matrix)) if of_matrix == major)
            }
            Operands::Matrices(majors) => {
                majors == shape.majors()
                    && [Operand::A, Operand::B]
                        .iter()
                        .all(|&operand| self.is_near(shape, operand))
            }
        }
    }

    /// Whether this kernel can count the elements of an operand's tile. Loads by `cp.async` and those of `simt` through
    /// registers count them in 32 bits, up to [`MAX_LD`](Self::MAX_LD); tensor maps count bytes in 40.
    pub fn is_near(&self, shape: &GemmShape, operand: Operand) -> bool {
        let is_narrow = matches!(self.loads, Loads::CpAsync) || self.family == Family::SIMT;
        !is_narrow || shape.extents(operand).2 <= Self::MAX_LD
    }

    /// The shape as this kernel takes it: the same where it [`accepts`](Self::accepts) it, otherwise that of
    /// [copies](Self::copies) of A and B. Of elements of 2 and 4 bytes, operands with unaligned leading dimensions,
    /// strides or rows, or with rows too far apart, are padded, and where [`may_transpose`](Self::may_transpose) says
    /// so they are transposed. Operands that are split have the leading dimensions of their parts, and strides from the
    /// first part of a matrix to that of the next. `None` for a shape that it does not compute either way.
    pub fn taken(&self, shape: &GemmShape) -> Option<GemmShape> {
        if !self.splits_operands() && self.accepts(shape) {
            return Some(*shape);
        }
        let Operands::Matrices(majors) = self.operands else {
            return None;
        };
        let [a, b] = [
            self.operand_taken(shape, Operand::A, majors[0])?,
            self.operand_taken(shape, Operand::B, majors[1])?,
        ];
        let taken = shape.with_operand_layouts(Major::transposes(majors), [a.0, b.0], [a.1, b.1]);
        let taken = taken.ok()?;
        let is_countable =
            |operand| OperandCopy::between(self, shape, &taken, operand).is_none_or(|copy| copy.is_countable());
        (self.is_computed(&taken) && is_countable(Operand::A) && is_countable(Operand::B)).then_some(taken)
    }

    /// The leading dimension and the stride of an operand as it is, or of its copy with this major; `None` where there
    /// can be none.
    fn operand_taken(&self, shape: &GemmShape, operand: Operand, major: Major) -> Option<(usize, usize)> {
        let (rows, columns, ld) = shape.extents(operand);
        let stride = shape.batch().stride(operand) as usize;
        let element_bytes = self.operand_dtype().size_bytes();
        let [of_a, of_b] = shape.majors();
        let (own, may_transpose) = match operand {
            Operand::A => (of_a, self.may_transpose[0]),
            Operand::B | Operand::C => (of_b, self.may_transpose[1]),
        };
        let copy = |rows: usize, ld: usize| {
            let stride = if stride == 0 {
                0
            } else {
                self.parts() as usize * rows * ld
            };
            Some((ld, stride))
        };
        if own != major {
            return (may_transpose && !shape.batch().groups)
                .then(|| copy(columns, padded_ld(rows.max(1), element_bytes)))?;
        }
        // An empty one is not copied, and has some leading dimension.
        let padded = padded_ld(columns.max(1), element_bytes);
        if self.splits_operands() {
            return copy(rows, padded);
        }
        if self.alignment.fits(shape, operand) && self.is_near(shape, operand) {
            return Some((ld, stride));
        }
        let elems = self.alignment.of_operand(operand);
        let ends_anywhere = self.alignment.residue || columns.is_multiple_of(elems);
        match rows {
            _ if !matches!(element_bytes, 2 | 4) => None,
            // Not copied: its leading dimension is that of nothing.
            0 | 1 if ends_anywhere && stride.is_multiple_of(elems) => Some((padded, stride)),
            0 | 1 if !ends_anywhere => None,
            // The copy's rows end in zeros, and so do no others: it has to be told from the matrix.
            _ if !ends_anywhere && ld == padded => copy(rows, padded + elems),
            _ => copy(rows, padded),
        }
    }

    /// What of A and of B is copied before a launch with this shape; nothing where the kernel does not compute it.
    pub fn copies(&self, shape: &GemmShape) -> [Option<OperandCopy>; 2] {
        let taken = self.taken(shape);
        [Operand::A, Operand::B].map(|operand| OperandCopy::between(self, shape, taken.as_ref()?, operand))
    }

    /// A small product that it computes.
    pub fn small_shape(&self) -> GemmShape {
        // Multiples of every vector.
        let shape = match self.operands {
            Operands::MatrixAndVector(Major::K) => GemmShape::packed(4, 1, 4),
            Operands::MatrixAndVector(Major::Mn) => GemmShape::packed(1, 4, 4),
            Operands::Matrices(majors) => GemmShape::packed_transposed(8, 8, 8, Major::transposes(majors)),
        };
        let shape = match self.supports.groups {
            true => shape.and_then(|shape| shape.with_groups(2, 64)),
            false => shape,
        };
        shape.expect("packed and small")
    }

    /// The extents and leading dimensions as the entry point takes them.
    pub const fn args(&self, shape: &GemmShape) -> GemmArgs {
        if self.takes_vector() {
            matrix_vector::args(shape)
        } else {
            shape.args()
        }
    }

    /// How its two matrices are stored; of a matrix and a vector not transposed.
    pub const fn transposes(&self) -> [Transpose; 2] {
        match self.operands {
            Operands::Matrices(majors) => Major::transposes(majors),
            Operands::MatrixAndVector(_) => [Transpose::No; 2],
        }
    }

    /// Whether this is its tile (m, n, k), its CTA (threads along x and y) and its shared memory: for device code that
    /// states them itself, in a const assertion.
    pub const fn has_geometry(&self, [m, n, k]: [u32; 3], [x, y]: [u32; 2], smem: Bytes) -> bool {
        let tile = self.tile;
        tile.m == m
            && tile.n == n
            && tile.k == k
            && self.block[0] == x
            && self.block[1] == y
            && self.smem.total().get() == smem.get()
    }

    /// Threads of a CTA.
    pub const fn threads(&self) -> u32 {
        self.block[0] * self.block[1]
    }

    /// Bytes of dynamic shared memory that a launch passes.
    pub const fn dynamic_bytes(&self) -> Bytes {
        self.smem.dynamic_bytes()
    }

    /// Bytes of static shared memory.
    pub const fn static_bytes(&self) -> Bytes {
        self.smem.static_bytes()
    }

    /// Whether the entry point takes tensor maps of A, B and C beside [`GemmParams`](crate::GemmParams).
    pub const fn takes_tensor_maps(&self) -> bool {
        matches!(self.loads, Loads::Tma)
    }

    /// Whether CTAs compute tile after tile.
    pub const fn is_persistent(&self) -> bool {
        !matches!(self.schedule, Schedule::OneTilePerCta)
    }

    /// Rows of the boxes that the tensor maps of A, B and C load or store, for a product with `m` rows and `n` columns.
    /// Those of A and B have 128 bytes a row, those of C [`EpilogueBuffers::n`](crate::EpilogueBuffers).
    pub fn box_rows(&self, extents: [u32; 2]) -> [u32; 3] {
        let extents = if self.supports.trimmed_boxes {
            extents
        } else {
            [self.tile.m, self.tile.n]
        };
        match self.operands {
            Operands::Matrices(majors) => wgmma::box_rows(self, majors, extents),
            Operands::MatrixAndVector(_) => [0; 3],
        }
    }

    /// Writes `tile width 64`, `tile 256 x 128` or `8 lines`, in elements.
    pub fn tile_name(&self) -> impl fmt::Display {
        TileName {
            tile: self.tile,
            kind: match (self.widths, self.operands) {
                (Some(_), _) => TileKind::Width,
                (None, Operands::Matrices(_)) => TileKind::Rectangle,
                (None, Operands::MatrixAndVector(_)) => TileKind::Lines,
            },
        }
    }
}

struct TileName {
    tile: TileShape,
    kind: TileKind,
}

enum TileKind {
    Width,
    Rectangle,
    Lines,
}

impl fmt::Display for TileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TileShape { m, n, .. } = self.tile;
        match self.kind {
            TileKind::Width => write!(f, "tile width {n}"),
            TileKind::Rectangle => write!(f, "tile {m} x {n}"),
            TileKind::Lines => write!(f, "{n} lines"),
        }
    }
}

#[cfg(test)]
mod tests;
