//! The table of kernels: one row an entry point of the device crate.

use core::fmt;
use core::str::FromStr;

use crate::args::TileParts;
use crate::dtype::DType;
use crate::layout::{RegisterTile, TilePair};
use crate::tile::TileGeometry;
use crate::units::Bytes;

/// A step of the ladder; its number is its file in the device crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// Global memory only, one thread an element.
    Naive,
    /// Tiles in static shared arrays, whose size the compiler knows.
    TiledStatic,
    /// Tiles carved out of one dynamic allocation, whose size the launch decides.
    TiledDynamic,
    /// A tile of registers for each thread, fed by short static tiles.
    RegisterTile,
}

impl Rung {
    /// Every rung, in learning order.
    pub const ALL: [Rung; 4] = [Rung::Naive, Rung::TiledStatic, Rung::TiledDynamic, Rung::RegisterTile];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Rung::Naive => "r01_naive",
            Rung::TiledStatic => "r02_tiled_static",
            Rung::TiledDynamic => "r03_tiled_dynamic",
            Rung::RegisterTile => "r05_register_tile",
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rung {
    type Err = &'static str;

    /// Reads a [`Rung::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Rung::ALL
            .into_iter()
            .find(|rung| rung.name() == name)
            .ok_or("unknown kernel; known: r01_naive, r02_tiled_static, r03_tiled_dynamic, r05_register_tile")
    }
}

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
}

/// The shared memory that an entry point uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedMemory {
    /// None.
    None,
    /// Static arrays of this many bytes in all.
    Static(Bytes),
    /// A dynamic allocation laid out by [`TilePair`].
    Dynamic,
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
        match self.tile {
            Tile::Fixed(fixed) => fixed == width,
            Tile::Runtime { min, max } => min <= width && width <= max,
        }
    }

    /// The entry point for a rung, an element type and a tile width: the first of the table, where a width that the compiler
    /// knows stands before the range that holds it.
    pub fn find(rung: Rung, dtype: DType, width: u32) -> Option<&'static Variant> {
        VARIANTS
            .iter()
            .find(|v| v.rung == rung && v.dtype == dtype && v.computes(width))
    }

    /// Bytes of dynamic shared memory that a launch with this tile needs.
    pub const fn dynamic_bytes(&self, tile: TileGeometry) -> Bytes {
        match self.shared {
            SharedMemory::Dynamic => TilePair::new(tile, self.dtype).total(),
            SharedMemory::None | SharedMemory::Static(_) => Bytes(0),
        }
    }

    /// How the shared memory of a tile is divided into `A_s` and `B_s`.
    pub const fn parts(&self, tile: TileGeometry) -> TileParts {
        match self.rung {
            Rung::RegisterTile => RegisterTile::PARTS,
            Rung::Naive | Rung::TiledStatic | Rung::TiledDynamic => TilePair::new(tile, self.dtype).parts(),
        }
    }

    /// Elements along K of a tile of this width.
    pub const fn depth(&self, width: u32) -> u32 {
        match self.rung {
            Rung::RegisterTile => RegisterTile::DEPTH,
            Rung::Naive | Rung::TiledStatic | Rung::TiledDynamic => width,
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

const PER_DTYPE: usize = 8;

/// Every entry point of the device crate.
pub static VARIANTS: [Variant; PER_DTYPE * DType::ALL.len() + REGISTER_ROWS.len()] = {
    let groups = [
        rows!(DType::F32, "f32"),
        rows!(DType::F64, "f64"),
        rows!(DType::F16, "f16"),
        rows!(DType::Bf16, "bf16"),
    ];
    const SQUARE: usize = PER_DTYPE * DType::ALL.len();
    let mut all = [groups[0][0]; SQUARE + REGISTER_ROWS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < SQUARE {
            groups[i / PER_DTYPE][i % PER_DTYPE]
        } else {
            REGISTER_ROWS[i - SQUARE]
        };
        i += 1;
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
    fn static_bytes_stay_below_the_static_limit() {
        for variant in &VARIANTS {
            assert!(variant.static_bytes() <= Bytes(48 * 1024), "{}", variant.symbol);
        }
    }
}
