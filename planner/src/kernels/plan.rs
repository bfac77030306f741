//! From a shape and a device to a launch: the slides' `calculate_appropriate_SM_usage`, done right.
//!
//! Against the slides: the limit is the opt-in one (`sharedMemPerBlock` is 48 KiB everywhere), static and dynamic shared
//! memory count together, the tile is chosen first and its size follows, and what the kernel gets are parts in bytes, not
//! `size / 2` used as an element offset.
//!
//! A pure function: no driver, no device. Every candidate that was passed over has its reason.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;
use tilewright_contract::{
    Bytes, DType, GemmShape, Grid, GridError, Rung, SharedMemory, Tile, TileError, TileGeometry, TilePair, TileParts,
    VARIANTS, Variant,
};

use crate::device::DeviceProfile;
use crate::kernels::estimate_us;

/// What the user leaves open and what not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The kernel, or `None` for the best that fits.
    pub rung: Option<Rung>,
    /// The tile width in elements, or `None` for the best that fits.
    pub tile: Option<u32>,
    /// Shared memory of a block in bytes that must not be exceeded, below the device's own limit.
    pub smem_limit: Option<Bytes>,
}

/// A launch: which entry point, with which geometry and how much shared memory. Only [`plan`] makes one, so that a launch may
/// rely on its numbers belonging together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The product.
    shape: GemmShape,
    /// The entry point.
    variant: &'static Variant,
    /// The tile and the block that computes it.
    tile: TileGeometry,
    /// The tiles of C.
    grid: Grid,
    /// Dynamic shared memory of a block.
    dynamic_bytes: Bytes,
    /// What a block may use, static and dynamic together.
    limit_bytes: Bytes,
    /// Whether the launch needs `cuFuncSetAttribute` first: static + dynamic exceed the default limit.
    opt_in: bool,
    /// Why this tile, and why not the others; one line each.
    reasons: Vec<String>,
}

/// Geometry and memory of a plan, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanSummary {
    /// The entry point's symbol.
    pub kernel: &'static str,
    /// Tile width in elements.
    pub tile: u32,
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Blocks of the grid along x, y, z.
    pub grid: [u32; 3],
    /// Bytes of the part of A_s (0 without shared memory).
    pub a_part_bytes: u32,
    /// Bytes of the part of B_s (0 without shared memory).
    pub b_part_bytes: u32,
    /// Static shared memory of a block.
    pub static_smem_bytes: u32,
    /// Dynamic shared memory of a block.
    pub dynamic_smem_bytes: u32,
    /// What a block may use.
    pub limit_bytes: u32,
    /// Whether the launch opts in above the default limit.
    pub opt_in: bool,
}

impl Plan {
    /// The product.
    pub fn shape(&self) -> GemmShape {
        self.shape
    }

    /// The entry point.
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// The tile and the block that computes it.
    pub fn tile(&self) -> TileGeometry {
        self.tile
    }

    /// The tiles of C.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Dynamic shared memory of a block.
    pub fn dynamic_bytes(&self) -> Bytes {
        self.dynamic_bytes
    }

    /// Whether the launch needs `cuFuncSetAttribute` first: static + dynamic exceed the default limit.
    pub fn opt_in(&self) -> bool {
        self.opt_in
    }

    /// Why this tile, and why not the others; one line each.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// The same kernel and tile for another product.
    ///
    /// # Errors
    /// [`GridError`] when that has more tiles than a grid holds.
    pub fn for_shape(&self, shape: GemmShape) -> Result<Self, GridError> {
        Ok(Self {
            shape,
            grid: Grid::cover(shape.args(), self.tile.width())?,
            ..self.clone()
        })
    }

    /// How a kernel with dynamic shared memory carves it.
    pub fn parts(&self) -> TileParts {
        TilePair::new(self.tile, self.variant.dtype).parts()
    }

    /// The numbers, flat.
    pub fn summary(&self) -> PlanSummary {
        let side = self.tile.threads_per_side();
        let parts = match self.variant.shared {
            SharedMemory::None => [0, 0],
            SharedMemory::Static(_) | SharedMemory::Dynamic => [self.parts().a_part.get(), self.parts().b_part.get()],
        };
        PlanSummary {
            kernel: self.variant.symbol,
            tile: self.tile.width(),
            block: [side, side, 1],
            grid: [self.grid.blocks(), 1, 1],
            a_part_bytes: parts[0],
            b_part_bytes: parts[1],
            static_smem_bytes: self.variant.static_bytes().get(),
            dynamic_smem_bytes: self.dynamic_bytes.get(),
            limit_bytes: self.limit_bytes.get(),
            opt_in: self.opt_in,
        }
    }
}

/// A configuration that cannot work, with the nearest that can.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A tile that no kernel computes.
    Tile(TileError),
    /// More tiles than a grid holds.
    Grid(GridError),
    /// The kernel is not compiled for this tile width.
    NoSuchVariant {
        /// The kernel.
        rung: Rung,
        /// The width asked for, in elements.
        requested: u32,
        /// The nearest width that it has.
        nearest: u32,
    },
    /// The kernel needs more shared memory than a block may use.
    SharedMemory {
        /// The kernel.
        rung: Rung,
        /// Tile width in elements.
        tile: u32,
        /// Static bytes that it needs.
        static_bytes: Bytes,
        /// Dynamic bytes that it needs.
        dynamic_bytes: Bytes,
        /// What a block may use.
        limit: Bytes,
        /// The widest tile that fits and its bytes, if any does.
        nearest: Option<(u32, Bytes)>,
    },
    /// The block has more threads than the device allows.
    Threads {
        /// Threads of the block.
        requested: u32,
        /// Threads that the device allows.
        available: u32,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Tile(error) => error.fmt(f),
            PlanError::Grid(error) => error.fmt(f),
            PlanError::NoSuchVariant {
                rung,
                requested,
                nearest,
            } => write!(
                f,
                "{rung} has no kernel for tile width {requested}; nearest: {nearest}; {} takes any up to {}",
                Rung::TiledDynamic,
                TileGeometry::MAX_WIDTH
            ),
            PlanError::SharedMemory {
                rung,
                tile,
                static_bytes,
                dynamic_bytes,
                limit,
                nearest,
            } => {
                let needed = u64::from(static_bytes.get()) + u64::from(dynamic_bytes.get());
                write!(
                    f,
                    "{rung} with tile width {tile} needs {needed} B of shared memory ({static_bytes} static, {dynamic_bytes} \
                     dynamic), {limit} are available: {} B too many; ",
                    needed - u64::from(limit.get())
                )?;
                match nearest {
                    Some((width, bytes)) => write!(f, "nearest that fits: tile width {width} ({bytes})"),
                    None => write!(f, "no tile width fits"),
                }
            }
            PlanError::Threads { requested, available } => {
                write!(
                    f,
                    "the block has {requested} threads, the device allows {available}; take a narrower tile"
                )
            }
        }
    }
}

impl core::error::Error for PlanError {}

/// Tile widths that are tried when the user names none; below them the widest that fits is taken. Multiples of 16 keep loads
/// coalesced.
const CANDIDATES: [u32; 8] = [128, 112, 96, 80, 64, 48, 32, 16];

/// The widths that are tried where the architecture is not in the table, so that nothing is known of occupancy: the first that
/// fits. 64 is the fastest width of large products on the parts that were measured (`docs/results`).
const UNKNOWN_ARCHITECTURE: [u32; 3] = [64, 32, 16];

/// Chooses tile, block, grid and shared memory for one product on one device.
///
/// # Errors
/// [`PlanError`] with the numbers and the nearest configuration that works.
pub fn plan(shape: &GemmShape, dtype: DType, device: &DeviceProfile, policy: &Policy) -> Result<Plan, PlanError> {
    let rung = policy.rung.unwrap_or(Rung::TiledDynamic);
    let limit = device.block_limit(policy.smem_limit);
    let mut reasons = vec![format!(
        "limit {limit}: {}",
        if limit.get() < device.smem_per_block_optin {
            "asked for by the user"
        } else {
            "opt-in limit of the device"
        }
    )];
    let tile = match policy.tile {
        Some(width) => {
            reasons.push(format!("tile width {width}: asked for by the user"));
            TileGeometry::new(width).map_err(PlanError::Tile)?
        }
        None => choose_tile(rung, shape, dtype, device, limit, &mut reasons)?,
    };
    let variant = Variant::find(rung, dtype, tile.width()).ok_or_else(|| PlanError::NoSuchVariant {
        rung,
        requested: tile.width(),
        nearest: nearest_width(rung, dtype, tile.width()),
    })?;
    if tile.threads() > device.threads_per_block {
        return Err(PlanError::Threads {
            requested: tile.threads(),
            available: device.threads_per_block,
        });
    }
    let dynamic_bytes = variant.dynamic_bytes(tile);
    // Both summands are below 2^20.
    let total = Bytes(variant.static_bytes().get() + dynamic_bytes.get());
    if total > limit {
        return Err(too_large(variant, tile, limit));
    }
    let grid = Grid::cover(shape.args(), tile.width()).map_err(PlanError::Grid)?;
    let opt_in = total.get() > device.smem_per_block;
    if opt_in {
        reasons.push(format!(
            "{total} exceed the default limit of {} B: the launch opts in",
            device.smem_per_block
        ));
    }
    Ok(Plan {
        shape: *shape,
        variant,
        tile,
        grid,
        dynamic_bytes,
        limit_bytes: limit,
        opt_in,
        reasons,
    })
}

/// The candidate with the least estimated time among those that fit.
fn choose_tile(
    rung: Rung,
    shape: &GemmShape,
    dtype: DType,
    device: &DeviceProfile,
    limit: Bytes,
    reasons: &mut Vec<String>,
) -> Result<TileGeometry, PlanError> {
    let known = device.architecture().zip(device.product());
    let widths: &[u32] = if known.is_some() {
        &CANDIDATES
    } else {
        &UNKNOWN_ARCHITECTURE
    };
    let narrowest = widths[widths.len() - 1];
    let below = TilePair::widest_within(limit, dtype)
        .map(TileGeometry::width)
        .filter(|&width| width < narrowest);
    let mut best: Option<(f64, TileGeometry)> = None;
    for width in widths.iter().copied().chain(below) {
        let Some(variant) = Variant::find(rung, dtype, width) else {
            continue;
        };
        let tile = TileGeometry::new(width).map_err(PlanError::Tile)?;
        let needed = Bytes(variant.static_bytes().get() + variant.dynamic_bytes(tile).get());
        if needed > limit {
            reasons.push(format!("tile width {width}: needs {needed} of {limit}"));
            continue;
        }
        let Ok(grid) = Grid::cover(shape.args(), width) else {
            reasons.push(format!("tile width {width}: more tiles than a grid holds"));
            continue;
        };
        let fitting = format!("tile width {width}: {needed} fit, {} blocks", grid.blocks());
        let estimated = known
            .as_ref()
            .and_then(|(architecture, product)| estimate_us(variant, tile, shape, architecture, product));
        reasons.push(match (estimated, &known) {
            (Some(us), Some((_, product))) => format!("{fitting}, about {us:.1} us on {}", product.name),
            _ => format!("{fitting}, of unknown speed"),
        });
        // Without an estimate the order of the widths decides.
        let us = estimated.unwrap_or(f64::INFINITY);
        let narrower_and_as_fast = |least: f64| us <= least && us.is_finite();
        if best.is_none_or(|(least, _)| us < least || narrower_and_as_fast(least)) {
            best = Some((us, tile));
        }
    }
    if let Some((_, tile)) = best {
        reasons.push(format!("tile width {}: the best of these", tile.width()));
        return Ok(tile);
    }
    // Nothing fits: report the narrowest that the kernel has.
    let narrowest = VARIANTS
        .iter()
        .filter(|v| v.rung == rung && v.dtype == dtype)
        .min_by_key(|v| narrowest_width(v))
        .expect("every rung has a kernel for every element type");
    let tile = TileGeometry::new(narrowest_width(narrowest)).map_err(PlanError::Tile)?;
    // Where memory is not what is missing, the grid is.
    Grid::cover(shape.args(), widths[0]).map_err(PlanError::Grid)?;
    Err(too_large(narrowest, tile, limit))
}

fn narrowest_width(variant: &Variant) -> u32 {
    match variant.tile {
        Tile::Fixed(width) => width,
        Tile::Runtime { min, .. } => min,
    }
}

fn nearest_width(rung: Rung, dtype: DType, requested: u32) -> u32 {
    VARIANTS
        .iter()
        .filter(|v| v.rung == rung && v.dtype == dtype)
        .map(|v| match v.tile {
            Tile::Fixed(width) => width,
            Tile::Runtime { min, max } => requested.clamp(min, max),
        })
        .min_by_key(|width| width.abs_diff(requested))
        .expect("every rung has a kernel for every element type")
}

fn too_large(variant: &Variant, tile: TileGeometry, limit: Bytes) -> PlanError {
    let nearest = (TileGeometry::MIN_WIDTH..tile.width()).rev().find_map(|width| {
        let variant = Variant::find(variant.rung, variant.dtype, width)?;
        let bytes = Bytes(variant.static_bytes().get() + variant.dynamic_bytes(TileGeometry::new(width).ok()?).get());
        (bytes <= limit).then_some((width, bytes))
    });
    PlanError::SharedMemory {
        rung: variant.rung,
        tile: tile.width(),
        static_bytes: variant.static_bytes(),
        dynamic_bytes: variant.dynamic_bytes(tile),
        limit,
        nearest,
    }
}
