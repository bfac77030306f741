//! The table of kernels: one row an entry point of the device crate.

use crate::args::TileParts;
use crate::block::BlockTile;
use crate::dtype::DType;
use crate::layout::{RegisterTile, TilePair};
use crate::line::{LineTile, lines_of};
use crate::row_copy::RowCopy;
use crate::rung::Rung;
use crate::shape::{GemmShape, Operand, Transpose};
use crate::tensor::{TensorTile, tensor_tiles};
use crate::tile::{OutputTile, TileError, TileGeometry};
use crate::units::Bytes;
use crate::wgmma::{WgmmaTile, wgmma_tiles};

/// The tile widths that an entry point computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// One width, known to the compiler.
    Fixed(u32),
    /// Any width of the range, both ends included, given at launch.
    Runtime {
        /// The narrowest.
        min: u32,
        /// The widest.
        max: u32,
    },
    /// One rectangle, known to the compiler.
    Block(BlockTile),
    /// Lines of a matrix, for a product with a vector.
    Lines(LineTile),
    /// One rectangle of a tensor-core kernel, known to the compiler.
    Tensor(TensorTile),
    /// One rectangle of a kernel that multiplies by `wgmma`, known to the compiler.
    Wgmma(WgmmaTile),
}

impl Tile {
    /// The tile, where it is no square of some width.
    pub const fn only(self) -> Option<OutputTile> {
        match self {
            Self::Fixed(_) | Self::Runtime { .. } => None,
            Self::Block(tile) => Some(OutputTile::Block(tile)),
            Self::Lines(tile) => Some(OutputTile::Lines(tile)),
            Self::Tensor(tile) => Some(OutputTile::Tensor(tile)),
            Self::Wgmma(tile) => Some(OutputTile::Wgmma(tile)),
        }
    }

    /// The width nearest to `width` of a square among them; `None` where there is none.
    pub const fn nearest_width(self, width: u32) -> Option<u32> {
        let (m, n) = match self {
            Self::Fixed(fixed) => (fixed, fixed),
            Self::Runtime { min, .. } if width < min => (min, min),
            Self::Runtime { max, .. } if width > max => (max, max),
            Self::Runtime { .. } => (width, width),
            Self::Block(tile) => (tile.m, tile.n),
            Self::Tensor(tile) => (tile.m, tile.n),
            Self::Wgmma(tile) => (tile.m, tile.n),
            Self::Lines(_) => return None,
        };
        if m == n { Some(n) } else { None }
    }
}

/// The shared memory that an entry point uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedMemory {
    /// None.
    None,
    /// Static arrays of this many bytes in all.
    Static(Bytes),
    /// A dynamic allocation laid out by [`TilePair`], by [`BlockTile`], by [`TensorTile`] or by [`WgmmaTile`].
    Dynamic,
}

/// How a kernel copies A and B from global to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copies {
    /// How A and B lie in memory.
    pub transpose: [Transpose; 2],
    /// Elements of one copy of A and of B, or of the unit that a tensor map counts in. More than one: leading
    /// dimensions and addresses are multiples of it, and extents along rows unless they are `ragged`.
    pub vector: [u32; 2],
    /// Whether rows may end anywhere: what a copy of 16 bytes or a box of a tensor map has behind the end of a row
    /// becomes zeros.
    pub ragged: bool,
}

impl Copies {
    /// Single elements of matrices that are not transposed.
    pub const PLAIN: Self = Self {
        transpose: [Transpose::No; 2],
        vector: [1; 2],
        ragged: false,
    };

    /// Whether a kernel with these copies computes this shape, with operands whose addresses are multiples of 16 bytes.
    pub fn accept(&self, shape: &GemmShape) -> bool {
        self.fit(shape, Operand::A)
            && self.fit(shape, Operand::B)
            && self.transpose == [shape.transpose(Operand::A), shape.transpose(Operand::B)]
    }

    /// Whether an operand can be copied in vectors of this length.
    fn fit(&self, shape: &GemmShape, operand: Operand) -> bool {
        let (_, columns, ld) = shape.extents(operand);
        let vector = self.vector_of(operand);
        (self.ragged || columns.is_multiple_of(vector)) && ld.is_multiple_of(vector)
    }

    /// Elements of one copy of an operand.
    fn vector_of(&self, operand: Operand) -> usize {
        self.vector[if operand == Operand::A { 0 } else { 1 }] as usize
    }
}

/// One entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The rung.
    pub rung: Rung,
    /// The element type of A, B and C.
    pub dtype: DType,
    /// The tile widths.
    pub tile: Tile,
    /// The shared memory.
    pub shared: SharedMemory,
    /// The symbol in PTX.
    pub symbol: &'static str,
    /// How A and B are copied; of lines the transposes say nothing, for [`lines_of`] tells how the matrix lies.
    pub copies: Copies,
    /// What `#[kernel(..)]` says of it.
    pub attributes: Attributes,
}

/// The options of an entry point's `#[kernel(..)]`. A test compares them with the directives in its PTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// The most threads of a block (`.maxntid`): a launch with more is refused.
    pub max_threads: Option<u32>,
}

impl Attributes {
    /// No options.
    pub const NONE: Self = Self { max_threads: None };
}

impl Variant {
    /// Whether this entry point computes tiles of this width.
    pub const fn computes(&self, width: u32) -> bool {
        matches!(self.tile.nearest_width(width), Some(nearest) if nearest == width)
    }

    /// The entry point for a rung, an element type and a tile width: the first of the table, where a width that the
    /// compiler knows stands before the range that holds it.
    pub fn find(rung: Rung, dtype: DType, width: u32) -> Option<&'static Variant> {
        VARIANTS
            .iter()
            .find(|v| v.rung == rung && v.dtype == dtype && v.computes(width))
    }

    /// Whether this entry point computes this shape, with operands whose addresses are multiples of 16 bytes.
    pub fn accepts(&self, shape: &GemmShape) -> bool {
        // Within a tile the pipelined kernels count elements in 32 bits; their tiles have at most 256 rows. Tensor maps
        // count bytes in 40.
        let near = |operand| shape.extents(operand).2 <= u32::MAX as usize / 256;
        let counts = self.rung.takes_call() && !self.rung.multiplies_by_wgmma();
        match (self.tile, lines_of(shape)) {
            (Tile::Lines(tile), Some((matrix, lies))) => tile == lies && self.copies.fit(shape, matrix),
            (Tile::Lines(_), None) => false,
            _ => self.copies.accept(shape) && (!counts || (near(Operand::A) && near(Operand::B))),
        }
    }

    /// The shape as this entry point takes it: the same where it [`accepts`](Self::accepts) it. Of elements of 2 bytes,
    /// A and B may lie in rows that do not begin at multiples of its vectors: the leading dimension is then that of a
    /// copy, or of the one row that there is ([`RowCopy::between`] says which). `None` for a shape that it does not
    /// compute either way.
    pub fn taken(&self, shape: &GemmShape) -> Option<GemmShape> {
        if self.accepts(shape) {
            return Some(*shape);
        }
        if self.dtype.size_bytes() != RowCopy::ELEMENT_BYTES {
            return None;
        }
        let lds = [Operand::A, Operand::B].map(|operand| {
            let (_, columns, ld) = shape.extents(operand);
            let fits = ld.is_multiple_of(self.copies.vector_of(operand));
            if fits { ld } else { RowCopy::padded(columns) }
        });
        let taken = shape.with_operand_lds(lds).ok()?;
        let is_countable = |operand| RowCopy::between(shape, &taken, operand).is_none_or(|copy| copy.is_countable());
        (self.accepts(&taken) && is_countable(Operand::A) && is_countable(Operand::B)).then_some(taken)
    }

    /// A small product that it computes.
    pub fn small_shape(&self) -> GemmShape {
        // Multiples of every vector.
        let shape = match self.tile {
            Tile::Lines(LineTile::AlongK) => GemmShape::packed(4, 1, 4),
            Tile::Lines(LineTile::AcrossK) => GemmShape::packed(1, 4, 4),
            Tile::Fixed(_) | Tile::Runtime { .. } | Tile::Block(_) | Tile::Tensor(_) | Tile::Wgmma(_) => {
                GemmShape::packed_transposed(8, 8, 8, self.copies.transpose)
            }
        };
        shape.expect("packed and small")
    }

    /// Whether it can cut K into slices.
    pub const fn takes_slices(&self) -> bool {
        match self.tile {
            Tile::Block(tile) => self.rung.takes_call() && tile.takes_slices(),
            Tile::Lines(_) => true,
            Tile::Wgmma(tile) => tile.takes_slices(),
            Tile::Fixed(_) | Tile::Runtime { .. } | Tile::Tensor(_) => false,
        }
    }

    /// The tile of a width that this entry point [`computes`](Self::computes).
    pub const fn tile_of_width(&self, width: u32) -> Result<OutputTile, TileError> {
        match (self.tile.only(), TileGeometry::new(width)) {
            (Some(tile), _) => Ok(tile),
            (None, Ok(tile)) => Ok(OutputTile::Square(tile)),
            (None, Err(error)) => Err(error),
        }
    }

    /// Bytes of dynamic shared memory that a launch with this tile needs.
    pub const fn dynamic_bytes(&self, tile: OutputTile) -> Bytes {
        match (self.shared, tile) {
            (SharedMemory::Dynamic, OutputTile::Square(tile)) => TilePair::new(tile, self.dtype).total(),
            (SharedMemory::Dynamic, OutputTile::Block(tile)) => tile.bytes(self.dtype),
            (SharedMemory::Dynamic, OutputTile::Tensor(tile)) => tile.bytes(),
            (SharedMemory::Dynamic, OutputTile::Wgmma(tile)) => tile.bytes(),
            (SharedMemory::None | SharedMemory::Static(_), _) | (_, OutputTile::Lines(_)) => Bytes(0),
        }
    }

    /// How the shared memory of a tile is divided into `A_s` and `B_s`, all stages together; of lines there is nothing
    /// in shared memory.
    pub const fn parts(&self, tile: OutputTile) -> TileParts {
        match (self.rung, tile) {
            (Rung::RegisterTile, _) => RegisterTile::PARTS,
            (_, OutputTile::Square(tile)) => TilePair::new(tile, self.dtype).parts(),
            (_, OutputTile::Tensor(tile)) => {
                let bytes = tile.stages * TensorTile::ELEMENT_BYTES;
                TileParts {
                    tile_width: tile.n,
                    a_part: Bytes(tile.a_elems() * bytes),
                    b_part: Bytes(tile.b_elems() * bytes),
                }
            }
            (_, OutputTile::Wgmma(tile)) => {
                let bytes = tile.stages * WgmmaTile::ELEMENT_BYTES;
                TileParts {
                    tile_width: tile.n,
                    a_part: Bytes(tile.a_elems() * bytes),
                    b_part: Bytes(tile.b_elems() * bytes),
                }
            }
            (_, OutputTile::Lines(tile)) => TileParts {
                tile_width: tile.lines(),
                a_part: Bytes(0),
                b_part: Bytes(0),
            },
            (_, OutputTile::Block(tile)) => {
                let bytes = tile.stages * self.dtype.size_bytes();
                TileParts {
                    tile_width: tile.n,
                    a_part: Bytes(tile.a_elems() * bytes),
                    b_part: Bytes(tile.b_elems() * bytes),
                }
            }
        }
    }

    /// Elements along K of a step with this tile.
    pub const fn depth(&self, tile: OutputTile) -> u32 {
        match (self.rung, tile) {
            (Rung::RegisterTile, _) => RegisterTile::DEPTH,
            (_, OutputTile::Square(tile)) => tile.width(),
            (_, OutputTile::Block(tile)) => tile.k,
            (_, OutputTile::Tensor(tile)) => tile.k,
            (_, OutputTile::Wgmma(_)) => WgmmaTile::K,
            (_, OutputTile::Lines(tile)) => tile.depth(),
        }
    }

    /// Bytes of static shared memory.
    pub const fn static_bytes(&self) -> Bytes {
        match self.shared {
            SharedMemory::Static(bytes) => bytes,
            SharedMemory::None | SharedMemory::Dynamic => Bytes(0),
        }
    }
}

/// Static bytes of a tile pair, at compile time.
const fn static_pair(width: u32, dtype: DType) -> SharedMemory {
    match TileGeometry::new(width) {
        Ok(tile) => SharedMemory::Static(TilePair::new(tile, dtype).total()),
        Err(_) => panic!("a static tile width is outside the geometry's range"),
    }
}

/// The rows of one element type. `$suffix` ends each symbol.
macro_rules! rows {
    ($dtype:expr, $suffix:literal) => {
        [
            row(
                Rung::Naive,
                $dtype,
                Tile::Fixed(16),
                SharedMemory::None,
                concat!("r01_naive_", $suffix),
            ),
            row(
                Rung::TiledStatic,
                $dtype,
                Tile::Fixed(16),
                static_pair(16, $dtype),
                concat!("r02_tiled_static_16_", $suffix),
            ),
            row(
                Rung::TiledStatic,
                $dtype,
                Tile::Fixed(32),
                static_pair(32, $dtype),
                concat!("r02_tiled_static_32_", $suffix),
            ),
            row(
                Rung::TiledDynamic,
                $dtype,
                Tile::Fixed(16),
                SharedMemory::Dynamic,
                concat!("r03_tiled_dynamic_16_", $suffix),
            ),
            row(
                Rung::TiledDynamic,
                $dtype,
                Tile::Fixed(32),
                SharedMemory::Dynamic,
                concat!("r03_tiled_dynamic_32_", $suffix),
            ),
            dynamic_row($dtype, 0, concat!("r03_tiled_dynamic_1x1_", $suffix)),
            dynamic_row($dtype, 1, concat!("r03_tiled_dynamic_4x4_", $suffix)),
            dynamic_row($dtype, 2, concat!("r03_tiled_dynamic_8x8_", $suffix)),
        ]
    };
}

const fn row(rung: Rung, dtype: DType, tile: Tile, shared: SharedMemory, symbol: &'static str) -> Variant {
    Variant {
        rung,
        dtype,
        tile,
        shared,
        symbol,
        copies: Copies::PLAIN,
        attributes: Attributes::NONE,
    }
}

/// The rows of [`Rung::RegisterTile`].
const REGISTER_ROWS: [Variant; 1] = [Variant {
    rung: Rung::RegisterTile,
    dtype: DType::F32,
    tile: Tile::Fixed(RegisterTile::WIDTH),
    shared: SharedMemory::Static(RegisterTile::BYTES),
    symbol: "r05_register_tile_f32",
    copies: Copies::PLAIN,
    attributes: Attributes {
        max_threads: Some(RegisterTile::THREADS),
    },
}];

/// The dynamic entry point for one choice of [`TileGeometry::OUTPUTS_PER_SIDE`].
const fn dynamic_row(dtype: DType, choice: usize, symbol: &'static str) -> Variant {
    let (min, max) = TileGeometry::widths(choice);
    row(
        Rung::TiledDynamic,
        dtype,
        Tile::Runtime { min, max },
        SharedMemory::Dynamic,
        symbol,
    )
}

/// A rung's one kernel with a [`BlockTile`] in a static array.
const fn static_row(rung: Rung, tile: BlockTile, symbol: &'static str) -> Variant {
    Variant {
        attributes: Attributes {
            max_threads: Some(tile.threads()),
        },
        ..row(
            rung,
            DType::F32,
            Tile::Block(tile),
            SharedMemory::Static(tile.bytes(DType::F32)),
            symbol,
        )
    }
}

/// The rows of rung 4 and of rungs 6 to 8.
const STATIC_ROWS: [Variant; 4] = [
    static_row(Rung::RegisterColumn, tiles::COLUMN_64X64, "r04_register_column_f32"),
    static_row(Rung::VectorCopy, tiles::ONE_STAGE_128X128, "r06_vector_copy_f32"),
    static_row(Rung::WarpTile, tiles::ONE_STAGE_128X128, "r07_warp_tile_f32"),
    static_row(Rung::DoubleBuffer, tiles::TWO_STAGES_128X128, "r08_double_buffer_f32"),
];

/// The rows of one tile: one for each layout of A and B, and for those whose copies can be vectors one that makes them
/// so. `$prefix` begins each symbol, the tile ends it.
macro_rules! block_rows {
    ($rung:expr, $prefix:literal, $tile:expr, $suffix:literal: $($layout:literal $a:ident $b:ident $vector:expr;)*) => {
        [$(Variant {
            rung: $rung,
            dtype: DType::F32,
            tile: Tile::Block($tile),
            shared: SharedMemory::Dynamic,
            symbol: concat!($prefix, "_", $layout, "_", $suffix, "_f32"),
            copies: Copies { transpose: [Transpose::$a, Transpose::$b], vector: $vector, ragged: false },
            attributes: Attributes { max_threads: Some($tile.threads()) },
        }),*]
    };
    (any $tile:expr, $suffix:literal) => {
        block_rows! { Rung::Gemm, "r10_gemm", $tile, $suffix:
            "nn4" No No [1, 4];
            "nt" No Yes [1, 1];
            "tn4" Yes No [4, 4];
            "tt4" Yes Yes [4, 1];
            "nn" No No [1, 1];
            "tn" Yes No [1, 1];
            "tt" Yes Yes [1, 1];
        }
    };
}

/// The rows of [`Rung::AsyncCopy`].
const ASYNC_ROWS: [Variant; 2] = block_rows! { Rung::AsyncCopy, "r09_async_copy", tiles::T256X128, "256x128":
    "nn4" No No [1, 4];
    "nn" No No [1, 1];
};

/// The tiles of the rungs that have a [`BlockTile`]; f32.
pub mod tiles {
    use crate::block::BlockTile;

    const fn tile(m: u32, n: u32, k: u32, thread_m: u32, thread_n: u32, stages: u32) -> BlockTile {
        let tile = BlockTile {
            m,
            n,
            k,
            thread_m,
            thread_n,
            stages,
        };
        tile.checked()
    }

    /// Of [`Rung::RegisterColumn`](super::Rung::RegisterColumn): 8 rows of one column a thread.
    pub const COLUMN_64X64: BlockTile = tile(64, 64, 8, 8, 1, 1);
    /// Of [`Rung::VectorCopy`](super::Rung::VectorCopy) and [`Rung::WarpTile`](super::Rung::WarpTile).
    pub const ONE_STAGE_128X128: BlockTile = tile(128, 128, 8, 8, 8, 1);
    /// Of [`Rung::DoubleBuffer`](super::Rung::DoubleBuffer): one stage is filled while the other is read.
    pub const TWO_STAGES_128X128: BlockTile = tile(128, 128, 8, 8, 8, 2);

    /// For large products: 16 x 8 elements a thread, one block a multiprocessor.
    pub const T256X128: BlockTile = tile(256, 128, 16, 16, 8, 3).pipelined();
    /// For products with too few tiles of 256 x 128: 8 x 8 elements a thread, two blocks a multiprocessor.
    pub const T128X128: BlockTile = tile(128, 128, 16, 8, 8, 3).pipelined();
    /// Four warps with 8 x 8 elements a thread.
    pub const T128X64: BlockTile = tile(128, 64, 16, 8, 8, 3).pipelined();
    /// Two warps with 8 x 8 elements a thread.
    pub const T64X64: BlockTile = tile(64, 64, 16, 8, 8, 4).pipelined();
    /// For few rows of C.
    pub const T32X128: BlockTile = tile(32, 128, 32, 4, 8, 3).pipelined();
    /// For few columns of C.
    pub const T128X32: BlockTile = tile(128, 32, 32, 8, 4, 3).pipelined();
    /// For no more than 16 rows of C.
    pub const T16X128: BlockTile = tile(16, 128, 32, 4, 4, 4).pipelined();
}

/// The rows of [`Rung::Gemm`] with the tiles for large products. Where no vectors can be copied the next smaller tile
/// is as fast; where registers do not suffice on every architecture there is no row.
const LARGE_ROWS: [Variant; 4] = block_rows! { Rung::Gemm, "r10_gemm", tiles::T256X128, "256x128":
    "nn4" No No [1, 4];
    "nt" No Yes [1, 1];
    "tn4" Yes No [4, 4];
    "tt4" Yes Yes [4, 1];
};
const MIDDLE_ROWS: [Variant; 2] = block_rows! { Rung::Gemm, "r10_gemm", tiles::T128X128, "128x128":
    "nn4" No No [1, 4];
    "nt" No Yes [1, 1];
};
const SQUARE_ROWS: [Variant; 6] = block_rows! { Rung::Gemm, "r10_gemm", tiles::T64X64, "64x64":
    "nn4" No No [1, 4];
    "nt" No Yes [1, 1];
    "tn4" Yes No [4, 4];
    "tt4" Yes Yes [4, 1];
    "nn" No No [1, 1];
    "tt" Yes Yes [1, 1];
};

const COLUMNS_ROWS: [Variant; 6] = block_rows! { Rung::Gemm, "r10_gemm", tiles::T128X32, "128x32":
    "nn4" No No [1, 4];
    "nt" No Yes [1, 1];
    "tn4" Yes No [4, 4];
    "tt4" Yes Yes [4, 1];
    "nn" No No [1, 1];
    "tn" Yes No [1, 1];
};

/// The rows of [`Rung::Gemm`] with the other tiles, for every layout.
const GEMM_ROWS: [[Variant; 7]; 3] = [
    block_rows!(any tiles::T128X64, "128x64"),
    block_rows!(any tiles::T32X128, "32x128"),
    block_rows!(any tiles::T16X128, "16x128"),
];

/// A row of [`Rung::MatrixVector`]: the matrix is loaded in vectors of so many elements, whichever operand it is.
const fn line_row(tile: LineTile, vector: u32, symbol: &'static str) -> Variant {
    Variant {
        copies: Copies {
            vector: [vector; 2],
            ..Copies::PLAIN
        },
        attributes: Attributes {
            max_threads: Some(LineTile::THREADS),
        },
        ..row(
            Rung::MatrixVector,
            DType::F32,
            Tile::Lines(tile),
            match tile {
                LineTile::AlongK => SharedMemory::None,
                LineTile::AcrossK => SharedMemory::Static(tile.static_bytes()),
            },
            symbol,
        )
    }
}

/// The rows of [`Rung::MatrixVector`].
const LINE_ROWS: [Variant; 4] = [
    line_row(LineTile::AlongK, 4, "r11_matrix_vector_along_k4_f32"),
    line_row(LineTile::AlongK, 1, "r11_matrix_vector_along_k_f32"),
    line_row(LineTile::AcrossK, 4, "r11_matrix_vector_across_k4_f32"),
    line_row(LineTile::AcrossK, 1, "r11_matrix_vector_across_k_f32"),
];

/// A row of [`Rung::MmaSync`]. A copy moves 16 bytes, of which those behind the end of a row are zeros.
const fn tensor_row(dtype: DType, tile: TensorTile, transpose: [Transpose; 2], symbol: &'static str) -> Variant {
    Variant {
        copies: Copies {
            transpose,
            vector: [8, 8],
            ragged: true,
        },
        attributes: Attributes {
            max_threads: Some(tile.threads()),
        },
        ..row(Rung::MmaSync, dtype, Tile::Tensor(tile), SharedMemory::Dynamic, symbol)
    }
}

/// The rows of [`Rung::MmaSync`] of one element type.
macro_rules! tensor_rows {
    ($dtype:expr, $suffix:literal) => {
        tensor_rows! { $dtype, $suffix:
            T128X128 "nn" "128x128" No No;
            T128X128 "nt" "128x128" No Yes;
            T128X128 "tn" "128x128" Yes No;
            T128X128 "tt" "128x128" Yes Yes;
            T256X128 "nn" "256x128" No No;
            T256X128 "nt" "256x128" No Yes;
        }
    };
    ($dtype:expr, $suffix:literal: $($tile:ident $layout:literal $extents:literal $a:ident $b:ident;)*) => {
        [$(tensor_row(
            $dtype,
            tensor_tiles::$tile,
            [Transpose::$a, Transpose::$b],
            concat!("r12_mma_sync_", $layout, "_", $extents, "_", $suffix),
        )),*]
    };
}

/// A row of a rung that multiplies by `wgmma`. Tensor maps count addresses and leading dimensions in 16 bytes.
const fn wgmma_row(
    rung: Rung,
    dtype: DType,
    tile: WgmmaTile,
    transpose: [Transpose; 2],
    symbol: &'static str,
) -> Variant {
    Variant {
        copies: Copies {
            transpose,
            vector: [8, 8],
            ragged: true,
        },
        attributes: Attributes {
            max_threads: Some(tile.threads()),
        },
        ..row(rung, dtype, Tile::Wgmma(tile), SharedMemory::Dynamic, symbol)
    }
}

/// The rows of the rungs that multiply by `wgmma`, of one element type: one each for the steps on the way, and of
/// [`Rung::WgmmaGemm`] every layout in every tile, the largest first.
macro_rules! wgmma_rows {
    ($dtype:expr, $suffix:literal) => {
        wgmma_rows! { $dtype, $suffix:
            WgmmaOneStage "r13_wgmma" ONE_STAGE_128X128 "128x128" { "nn" No No; }
            WgmmaRing "r14_warp_specialized" RING_128X256 "128x256" { "nn" No No; }
            WgmmaPersistent "r15_persistent" PERSISTENT_128X256 "128x256" { "nn" No No; }
            WgmmaCluster "r16_cluster" CLUSTER_128X256 "128x256" { "nn" No No; }
            WgmmaGemm "r17_wgmma_gemm" T128X256 "128x256" { "nn" No No; "nt" No Yes; "tn" Yes No; "tt" Yes Yes; }
            WgmmaGemm "r17_wgmma_gemm" T128X168 "128x168" { "nt" No Yes; "tt" Yes Yes; }
            WgmmaGemm "r17_wgmma_gemm" T128X192 "128x192" { "nn" No No; "nt" No Yes; "tn" Yes No; "tt" Yes Yes; }
            WgmmaGemm "r17_wgmma_gemm" T128X128 "128x128" { "nn" No No; "nt" No Yes; "tn" Yes No; "tt" Yes Yes; }
            WgmmaGemm "r17_wgmma_gemm" T128X64 "128x64" { "nn" No No; "nt" No Yes; "tn" Yes No; "tt" Yes Yes; }
            WgmmaGemm "r17_wgmma_gemm" T64X128 "64x128" { "nn" No No; "nt" No Yes; "tn" Yes No; "tt" Yes Yes; }
            WgmmaGemm "r17_wgmma_gemm" T64X64 "64x64" { "nn" No No; "nt" No Yes; "tn" Yes No; "tt" Yes Yes; }
        }
    };
    ($dtype:expr, $suffix:literal: $($rung:ident $prefix:literal $tile:ident $extents:literal { $($layout:literal $a:ident $b:ident;)* })*) => {
        [$($(wgmma_row(
            Rung::$rung,
            $dtype,
            wgmma_tiles::$tile,
            [Transpose::$a, Transpose::$b],
            concat!($prefix, "_", $layout, "_", $extents, "_", $suffix),
        )),*),*]
    };
}

/// All groups of rows, in the order of the table.
const GROUPS: [&[Variant]; 19] = [
    &rows!(DType::F32, "f32"),
    &rows!(DType::F64, "f64"),
    &rows!(DType::F16, "f16"),
    &rows!(DType::Bf16, "bf16"),
    &REGISTER_ROWS,
    &STATIC_ROWS,
    &ASYNC_ROWS,
    &LARGE_ROWS,
    &MIDDLE_ROWS,
    &GEMM_ROWS[0],
    &SQUARE_ROWS,
    &GEMM_ROWS[1],
    &COLUMNS_ROWS,
    &GEMM_ROWS[2],
    &LINE_ROWS,
    &tensor_rows!(DType::F16, "f16"),
    &tensor_rows!(DType::Bf16, "bf16"),
    &wgmma_rows!(DType::F16, "f16"),
    &wgmma_rows!(DType::Bf16, "bf16"),
];

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].len();
        group += 1;
    }
    count
};

/// Every entry point of the device crate.
pub static VARIANTS: [Variant; COUNT] = {
    let mut all = [REGISTER_ROWS[0]; COUNT];
    let (mut next, mut group) = (0, 0);
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            all[next] = GROUPS[group][row];
            next += 1;
            row += 1;
        }
        group += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_has_one_dynamic_entry_point_for_any_width_and_perhaps_one_for_just_it() {
        for dtype in DType::ALL {
            for width in TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH {
                let matching = |fixed: bool| {
                    VARIANTS
                        .iter()
                        .filter(|v| v.rung == Rung::TiledDynamic && v.dtype == dtype && v.computes(width))
                        .filter(|v| matches!(v.tile, Tile::Fixed(_)) == fixed)
                        .count()
                };
                assert_eq!(matching(false), 1, "{dtype} {width}");
                let found = Variant::find(Rung::TiledDynamic, dtype, width).expect("every width has one");
                assert_eq!(
                    matching(true),
                    usize::from(found.tile == Tile::Fixed(width)),
                    "{dtype} {width}"
                );
            }
        }
    }

    #[test]
    fn symbols_are_unique_and_end_in_their_element_type() {
        for (i, variant) in VARIANTS.iter().enumerate() {
            assert!(variant.symbol.starts_with(variant.rung.name()));
            assert!(variant.symbol.ends_with(variant.dtype.name()));
            assert!(VARIANTS[..i].iter().all(|other| other.symbol != variant.symbol));
        }
    }

    #[test]
    fn every_entry_point_accepts_its_small_shape() {
        for variant in &VARIANTS {
            assert!(variant.accepts(&variant.small_shape()), "{}", variant.symbol);
        }
    }

    #[test]
    fn rows_that_begin_anywhere_are_taken_in_copies_of_16_bytes() {
        let layouts = [
            [Transpose::No, Transpose::No],
            [Transpose::No, Transpose::Yes],
            [Transpose::Yes, Transpose::No],
            [Transpose::Yes, Transpose::Yes],
        ];
        for variant in &VARIANTS {
            let on_tensor_cores = matches!(variant.tile, Tile::Tensor(_) | Tile::Wgmma(_));
            for transpose in layouts {
                let packed = GemmShape::packed_transposed(70, 60, 50, transpose).expect("valid");
                let [a, b] = [Operand::A, Operand::B].map(|operand| packed.extents(operand).1);
                for (lds, taken) in [
                    ([77, 80], [RowCopy::padded(a), 80]),
                    ([80, 77], [80, RowCopy::padded(b)]),
                    ([77, 77], [RowCopy::padded(a), RowCopy::padded(b)]),
                    ([80, 80], [80, 80]),
                ] {
                    let shape = packed.with_operand_lds(lds).expect("valid");
                    let expected = if variant.accepts(&shape) {
                        Some(shape)
                    } else {
                        let copied = packed.with_operand_lds(taken).expect("valid");
                        (on_tensor_cores && variant.copies.transpose == transpose).then_some(copied)
                    };
                    assert_eq!(variant.taken(&shape), expected, "{} {lds:?}", variant.symbol);
                }
            }
        }
    }

    #[test]
    fn static_bytes_stay_below_the_static_limit() {
        for variant in &VARIANTS {
            assert!(variant.static_bytes() <= Bytes(48 * 1024), "{}", variant.symbol);
        }
    }
}
