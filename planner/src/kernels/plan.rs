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
    Bytes, DType, GemmShape, Grid, GridError, Rung, SharedMemory, Tile, TileError, TileGeometry, TileParts, VARIANTS,
    Variant,
};

use crate::device::DeviceProfile;
use crate::kernels::estimate_us;

/// What the user leaves open and what not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The kernel, or `None` for the best that fits.
    pub rung: Option<Rung>,
    /// One entry point of it, or `None` for the first that computes the tile.
    pub entry_point: Option<&'static Variant>,
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
        self.variant.parts(self.tile)
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
    /// The kernel is not compiled for these elements.
    NoSuchType {
        /// The kernel.
        rung: Rung,
        /// The type asked for.
        requested: DType,
        /// A type that it has.
        nearest: DType,
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
            PlanError::NoSuchType {
                rung,
                requested,
                nearest,
            } => write!(
                f,
                "{rung} has no kernel for {requested}; nearest: {nearest}; {} takes every type",
                Rung::TiledDynamic
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
                    needed.saturating_sub(limit.get().into())
                )?;
                match nearest {
                    Some((width, bytes)) => write!(f, "nearest that fits: tile width {width} ({bytes})"),
                    None => write!(f, "no tile width fits"),
                }
            }
            PlanError::Threads { requested, available } => {
                write!(
                    f,
                    "the block has {requested} threads, device and kernel allow {available}; take a narrower tile"
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
    let limit = device.block_limit(policy.smem_limit);
    let mut reasons = vec![format!(
        "limit {limit}: {}",
        if limit.get() < device.smem_per_block_optin {
            "asked for by the user"
        } else {
            "opt-in limit of the device"
        }
    )];
    let rungs = Rungs::of(policy, dtype)?;
    let (variant, tile) = match policy.tile {
        Some(width) => {
            reasons.push(format!("tile width {width}: asked for by the user"));
            let tile = TileGeometry::new(width).map_err(PlanError::Tile)?;
            (rungs.computing(width)?, tile)
        }
        None => choose(&rungs, shape, device, limit, &mut reasons)?,
    };
    // What the device allows, and what the kernel was compiled for.
    let available = variant
        .attributes
        .max_threads
        .map_or(device.threads_per_block, |most| most.min(device.threads_per_block));
    if tile.threads() > available {
        return Err(PlanError::Threads {
            requested: tile.threads(),
            available,
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

/// The kernels that a policy leaves open.
struct Rungs {
    /// Where two compute one width, the first is tried first.
    open: &'static [Rung],
    entry_point: Option<&'static Variant>,
    dtype: DType,
}

impl Rungs {
    fn of(policy: &Policy, dtype: DType) -> Result<Self, PlanError> {
        /// Rung 2 is rung 3 with less choice, and as fast; rung 1 is for comparison.
        const AUTOMATIC: &[Rung] = &[Rung::TiledDynamic, Rung::RegisterTile];
        let open = match policy.entry_point.map(|variant| variant.rung).or(policy.rung) {
            None => AUTOMATIC,
            Some(named) => {
                let all = &Rung::ALL;
                let at = all.iter().position(|&rung| rung == named).unwrap_or(0);
                &all[at..=at]
            }
        };
        let rungs = Self {
            open,
            entry_point: policy.entry_point,
            dtype,
        };
        if rungs.variants().next().is_some() {
            return Ok(rungs);
        }
        let rung = open[0];
        let has = |&nearest: &DType| {
            VARIANTS
                .iter()
                .any(|variant| variant.rung == rung && variant.dtype == nearest)
        };
        Err(PlanError::NoSuchType {
            rung,
            requested: dtype,
            nearest: DType::ALL.into_iter().find(has).unwrap_or(DType::F32),
        })
    }

    /// Every entry point that may be taken.
    fn variants(&self) -> impl Iterator<Item = &'static Variant> + '_ {
        VARIANTS.iter().filter(|variant| {
            variant.dtype == self.dtype
                && match self.entry_point {
                    Some(named) => named.symbol == variant.symbol,
                    None => self.open.contains(&variant.rung),
                }
        })
    }

    /// The entry points of one width: the first of each rung, where a width that the compiler knows stands before the range that holds it.
    fn of_width(&self, width: u32) -> impl Iterator<Item = &'static Variant> + '_ {
        self.open.iter().filter_map(move |&rung| {
            self.variants()
                .find(|variant| variant.rung == rung && variant.computes(width))
        })
    }

    fn computing(&self, width: u32) -> Result<&'static Variant, PlanError> {
        self.of_width(width).next().ok_or_else(|| PlanError::NoSuchVariant {
            rung: self.open[0],
            requested: width,
            nearest: self
                .variants()
                .map(|variant| match variant.tile {
                    Tile::Fixed(fixed) => fixed,
                    Tile::Runtime { min, max } => width.clamp(min, max),
                })
                .min_by_key(|nearest| nearest.abs_diff(width))
                .unwrap_or(width),
        })
    }
}

/// The candidate with the least estimated time among those that fit.
fn choose(
    rungs: &Rungs,
    shape: &GemmShape,
    device: &DeviceProfile,
    limit: Bytes,
    reasons: &mut Vec<String>,
) -> Result<(&'static Variant, TileGeometry), PlanError> {
    let known = device.architecture().zip(device.product());
    let widths: &[u32] = if known.is_some() {
        &CANDIDATES
    } else {
        &UNKNOWN_ARCHITECTURE
    };
    let mut best: Option<(f64, &'static Variant, TileGeometry)> = None;
    let of_widths = |width| rungs.of_width(width).map(move |variant| (width, variant));
    for (width, variant) in widths.iter().copied().flat_map(of_widths) {
        let tile = TileGeometry::new(width).map_err(PlanError::Tile)?;
        let name = format!("{} with tile width {width}", variant.rung);
        let needed = Bytes(variant.static_bytes().get() + variant.dynamic_bytes(tile).get());
        if needed > limit {
            reasons.push(format!("{name}: needs {needed} of {limit}"));
            continue;
        }
        let Ok(grid) = Grid::cover(shape.args(), width) else {
            reasons.push(format!("{name}: more tiles than a grid holds"));
            continue;
        };
        let fitting = format!("{name}: {needed} fit, {} blocks", grid.blocks());
        let estimated = known
            .as_ref()
            .and_then(|(architecture, product)| estimate_us(variant, tile, shape, architecture, product));
        reasons.push(match (estimated, &known) {
            (Some(us), Some((_, product))) => format!("{fitting}, about {us:.1} us on {}", product.name),
            _ => format!("{fitting}, of unknown speed"),
        });
        // Without an estimate the order of the widths decides; with equal ones the narrower tile.
        let us = estimated.unwrap_or(f64::INFINITY);
        let narrower_and_as_fast = |least: f64| us <= least && us.is_finite();
        if best.is_none_or(|(least, ..)| us < least || narrower_and_as_fast(least)) {
            best = Some((us, variant, tile));
        }
    }
    if let Some((_, variant, tile)) = best {
        reasons.push(format!(
            "{} with tile width {}: the best of these",
            variant.rung,
            tile.width()
        ));
        return Ok((variant, tile));
    }
    // None of them: the widest that fits, whatever it is.
    let widest = (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
        .rev()
        .flat_map(|width| rungs.of_width(width).map(move |variant| (width, variant)))
        .filter_map(|(width, variant)| Some((TileGeometry::new(width).ok()?, variant)))
        .find(|&(tile, variant)| {
            variant.static_bytes().get() + variant.dynamic_bytes(tile).get() <= limit.get()
                && Grid::cover(shape.args(), tile.width()).is_ok()
        });
    if let Some((tile, variant)) = widest {
        reasons.push(format!(
            "{} with tile width {}: the widest that fits",
            variant.rung,
            tile.width()
        ));
        return Ok((variant, tile));
    }
    // Nothing fits: report the narrowest that there is.
    let Some(narrowest) = rungs.variants().min_by_key(|variant| narrowest_width(variant)) else {
        return Err(PlanError::Tile(TileError { requested: 0 }));
    };
    let tile = TileGeometry::new(narrowest_width(narrowest)).map_err(PlanError::Tile)?;
    // Where memory is not what is missing, the grid is.
    Grid::cover(shape.args(), tile.width()).map_err(PlanError::Grid)?;
    Err(too_large(narrowest, tile, limit))
}

fn narrowest_width(variant: &Variant) -> u32 {
    match variant.tile {
        Tile::Fixed(width) => width,
        Tile::Runtime { min, .. } => min,
    }
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
