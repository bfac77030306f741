//! From a shape and a device to a launch: the slides' `calculate_appropriate_SM_usage`, done right.
//!
//! Against the slides: the limit is the opt-in one (`sharedMemPerBlock` is 48 KiB everywhere), static and dynamic
//! shared memory count together, the tile is chosen first and its size follows, and what the kernel gets are parts in
//! bytes, not `size / 2` used as an element offset.
//!
//! A pure function: no driver, no device. Every candidate that was passed over has its reason.

mod candidates;
mod error;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;
use tilewright_contract::{
    Bytes, DType, GemmCall, GemmShape, Grid, GridError, Operand, OutputTile, RowCopy, Rung, SharedMemory, TileParts,
    Variant, line_args,
};

use crate::device::DeviceProfile;
use crate::kernels::estimate::Work;
use crate::kernels::speeds::Speeds;
pub use candidates::AUTOMATIC;
use candidates::{Candidate, Open};
pub use error::PlanError;

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
    /// Parts of K with blocks of their own, or `None` for the number that is expected to be fastest.
    pub slices: Option<u32>,
    /// Whether the product is scaled and added to what C holds (alpha and beta).
    pub factors: bool,
    /// Whether a bias, an activation or a C of another type follows the sums: only kernels that have these.
    pub epilogue: bool,
    /// How fast the kernels are: measured on an H200, or on the device at hand.
    pub speeds: Speeds,
}

/// A launch: which entry point, with which geometry and how much shared memory. Only [`plan`] makes one, so that a
/// launch may rely on its numbers belonging together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The product.
    shape: GemmShape,
    /// The same as the entry point takes it, with the leading dimensions of copies of A and B where it does not take
    /// theirs.
    taken: GemmShape,
    /// The entry point.
    variant: &'static Variant,
    /// The tile and the block that computes it.
    tile: OutputTile,
    /// Parts of K with blocks of their own.
    slices: u32,
    /// The tiles of C, once for each slice.
    grid: Grid,
    /// Blocks that the device holds at once, where that is known.
    held_at_once: Option<u32>,
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
    /// Rows and columns of a tile, in elements.
    pub tile: [u32; 2],
    /// Parts of K with blocks of their own.
    pub slices: u32,
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Blocks of the grid along x, y, z.
    pub grid: [u32; 3],
    /// Bytes of the part of A_s (0 without shared memory).
    pub a_part_bytes: u32,
    /// Bytes of the part of B_s (0 without shared memory).
    pub b_part_bytes: u32,
    /// Bytes of the panels of C on their way to global memory (0 where C goes from registers).
    pub c_part_bytes: u32,
    /// Bytes of the mbarriers (0 without bulk copies).
    pub barrier_bytes: u32,
    /// Static shared memory of a block.
    pub static_smem_bytes: u32,
    /// Dynamic shared memory of a block.
    pub dynamic_smem_bytes: u32,
    /// What a block may use.
    pub limit_bytes: u32,
    /// Whether the launch opts in above the default limit.
    pub opt_in: bool,
    /// Elements from row to row of the copies of A and B that are made before the launch; `None` for an operand that
    /// the kernel takes as it lies.
    pub copied_ld: [Option<u32>; 2],
    /// Bytes of device memory that these copies take.
    pub copied_bytes: u64,
}

impl Plan {
    /// The product.
    pub fn shape(&self) -> GemmShape {
        self.shape
    }

    /// The product as the entry point takes it: the same, but for the leading dimensions of A and B that are copied
    /// first.
    pub fn taken(&self) -> GemmShape {
        self.taken
    }

    /// What of A and of B has to be copied before the launch, where the entry point does not take it as it lies.
    pub fn copies(&self) -> [Option<RowCopy>; 2] {
        [Operand::A, Operand::B].map(|operand| RowCopy::between(&self.shape, &self.taken, operand))
    }

    /// The entry point.
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// The tile and the block that computes it.
    pub fn tile(&self) -> OutputTile {
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

    /// The same kernel and tile for another product, whose operands lie as the kernel takes them or can be copied.
    ///
    /// # Errors
    /// [`GridError`] when that has more tiles than a grid holds.
    pub fn for_shape(&self, shape: GemmShape) -> Result<Self, GridError> {
        Ok(Self {
            shape,
            taken: self.variant.taken(&shape).unwrap_or(shape),
            grid: Grid::of_tile(shape.args(), self.tile, self.slices, self.held_at_once)?,
            ..self.clone()
        })
    }

    /// The same kernel and tile for alpha 0: nothing along K, so that A and B are not read.
    pub fn without_k(&self) -> Self {
        let shape = self.shape.without_k();
        Self {
            shape,
            taken: self.variant.taken(&shape).unwrap_or(shape),
            slices: 1,
            grid: Grid::of_tile(shape.args(), self.tile, 1, self.held_at_once)
                .expect("one slice has no more tiles than several"),
            ..self.clone()
        }
    }

    /// What is launched, for an estimate.
    pub fn work(&self) -> Work {
        Work {
            variant: self.variant,
            tile: self.tile,
            slices: self.slices,
        }
    }

    /// How a kernel with dynamic shared memory carves it.
    pub fn parts(&self) -> TileParts {
        self.variant.parts(self.tile)
    }

    /// The numbers that a kernel of [`Rung::takes_call`] gets.
    pub fn call(&self, alpha: f32, beta: f32) -> GemmCall {
        let args = match self.tile {
            OutputTile::Lines(_) => line_args(&self.taken),
            OutputTile::Square(_) | OutputTile::Block(_) | OutputTile::Tensor(_) | OutputTile::Wgmma(_) => {
                self.taken.args()
            }
        };
        GemmCall {
            args,
            alpha,
            beta,
            group_m: (GROUP_ROWS / self.tile.m()).max(1),
            slices: self.slices,
            slice_k: candidates::slice_k(&self.shape, self.variant.depth(self.tile), self.slices),
        }
    }

    /// Elements of the workspace that a launch needs, each of the type that is summed in: the sums of all slices.
    pub fn workspace_elems(&self) -> usize {
        if self.slices == 1 {
            return 0;
        }
        self.grid.tiles() as usize * self.tile.sums() as usize
    }

    /// Counters that a launch needs, all 0: one for each slice of each tile; where warpgroups meet each for itself, of
    /// each warpgroup's part of it.
    pub fn counters(&self) -> usize {
        let parties = match self.tile {
            OutputTile::Wgmma(tile) => tile.consumers(),
            OutputTile::Lines(_) | OutputTile::Square(_) | OutputTile::Block(_) | OutputTile::Tensor(_) => 1,
        };
        if self.slices == 1 {
            0
        } else {
            (self.grid.tiles() * parties) as usize
        }
    }

    /// The numbers, flat.
    pub fn summary(&self) -> PlanSummary {
        let parts = match self.variant.shared {
            SharedMemory::None => [0, 0],
            SharedMemory::Static(_) | SharedMemory::Dynamic => [self.parts().a_part.get(), self.parts().b_part.get()],
        };
        let [c_part_bytes, barrier_bytes] = match self.tile {
            OutputTile::Wgmma(tile) => {
                let barriers_at = tile.barriers_at().get();
                [barriers_at - parts[0] - parts[1], tile.bytes().get() - barriers_at]
            }
            OutputTile::Square(_) | OutputTile::Block(_) | OutputTile::Tensor(_) | OutputTile::Lines(_) => [0, 0],
        };
        PlanSummary {
            kernel: self.variant.symbol,
            tile: [self.tile.m(), self.tile.n()],
            slices: self.slices,
            block: self.tile.block(),
            grid: [self.grid.blocks(), 1, 1],
            a_part_bytes: parts[0],
            b_part_bytes: parts[1],
            c_part_bytes,
            barrier_bytes,
            static_smem_bytes: self.variant.static_bytes().get(),
            dynamic_smem_bytes: self.dynamic_bytes.get(),
            limit_bytes: self.limit_bytes.get(),
            opt_in: self.opt_in,
            copied_ld: self.copies().map(|copy| copy.map(|copy| copy.to_ld)),
            copied_bytes: self.copies().iter().flatten().map(RowCopy::to_bytes).sum(),
        }
    }
}

/// Rows of C that neighbouring blocks go through before the next column of tiles (see
/// [`GroupedTile`](tilewright_contract::GroupedTile)).
const GROUP_ROWS: u32 = 2048;

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
    let open = Open::of(policy, dtype, shape, device)?;
    let candidate = match policy.tile {
        Some(width) => {
            reasons.push(format!("tile width {width}: asked for by the user"));
            open.of_width(width, device)?
        }
        None => open.choose(device, limit, &mut reasons)?,
    };
    let Candidate { variant, tile, slices } = candidate;
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
    if candidate.bytes() > limit {
        return Err(open.too_large(&candidate, limit));
    }
    let grid = candidate.grid(shape, device).map_err(PlanError::Grid)?;
    let opt_in = candidate.bytes().get() > device.smem_per_block;
    if opt_in {
        reasons.push(format!(
            "{} exceed the default limit of {} B: the launch opts in",
            candidate.bytes(),
            device.smem_per_block
        ));
    }
    // The conditions have left no entry point that does not take the shape.
    let taken = variant.taken(shape).unwrap_or(*shape);
    for operand in [Operand::A, Operand::B] {
        if let Some(copy) = RowCopy::between(shape, &taken, operand) {
            reasons.push(format!(
                "{operand} is copied first: its rows are {} elements apart, {} takes multiples of {}; {} B with rows of {}",
                copy.from_ld,
                variant.rung,
                RowCopy::CHUNK,
                copy.to_bytes(),
                copy.to_ld
            ));
        }
    }
    Ok(Plan {
        shape: *shape,
        taken,
        variant,
        tile,
        slices,
        grid,
        held_at_once: candidate.held_at_once(device),
        dynamic_bytes: variant.dynamic_bytes(tile),
        limit_bytes: limit,
        opt_in,
        reasons,
    })
}
