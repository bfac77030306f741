//! From a shape and a device to a launch: the slides' `calculate_appropriate_SM_usage`, done right.
//!
//! Against the slides: the limit is the opt-in one (`sharedMemPerBlock` is 48 KiB everywhere), static and dynamic
//! shared memory count together, the tile is chosen first and its size follows, and what the kernel gets are parts in
//! bytes, not `size / 2` used as an element offset.
//!
//! A pure function: no driver, no device. Every candidate that was passed over has its reason.

use std::sync::Arc;

use serde::Serialize;
use tilewright_contract::{
    Bytes, CopyKind, DType, Family, GemmParams, GemmShape, Grid, GridError, Kernel, Operand, OperandCopy, Precision,
    SplitK, Transpose,
};
use tilewright_plan::device::DeviceProfile;

use super::cache::Question;
use super::candidates::{Candidate, CandidateSet};
use super::speeds::Speeds;
use super::terms::{Work, gains_from_overlap, k_tiles_per_split};
use super::tuning::Tuning;
use super::{Named, PlanError};

/// What the user leaves open and what not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The kernel family, or `None` for the best that fits.
    pub family: Option<Family>,
    /// One kernel, or `None` for the first of the family that computes the tile. It need not be in the table
    /// ([`KERNELS`](tilewright_contract::KERNELS)): the simulator finds any `#[kernel]` of the program by its symbol,
    /// [`Gpu::add_module`](crate::launch::Gpu::add_module) brings its PTX.
    pub kernel: Option<&'static Kernel>,
    /// The tile width in elements, or `None` for the best that fits.
    pub tile: Option<u32>,
    /// Shared memory of a block in bytes that must not be exceeded, below the device's own limit.
    pub smem_limit: Option<Bytes>,
    /// Split-K: CTAs that share a tile, each with a part of K, or `None` for the number that is expected to be fastest.
    pub splits: Option<u32>,
    /// Whether the product is scaled and added to what C holds (alpha and beta).
    pub factors: bool,
    /// The least precise arithmetic that is allowed for f32, where neither family nor kernel is named: the fastest is
    /// taken of this one and all that are more precise.
    pub precision: Precision,
    /// Whether a bias, an activation or a C of another type follows the sums: only kernels that have these.
    pub epilogue: bool,
    /// How fast the kernels are: measured on an H200, or on the device at hand.
    pub speeds: Speeds,
    /// What was measured to be fastest on the device at hand, for products for which no family, kernel, tile or split-K
    /// is named; the estimate decides where it says nothing.
    pub tuning: Option<Tuning>,
}

impl Policy {
    /// The family that it names, by itself or by a kernel.
    pub(crate) fn named_family(&self) -> Option<Family> {
        self.kernel.map(|kernel| kernel.family).or(self.family)
    }

    /// What it names; where the choice is open, a family.
    pub(super) fn named(&self, open: Family) -> Named {
        match self.kernel {
            Some(kernel) => Named::Kernel(kernel.symbol),
            None => Named::Family(self.family.unwrap_or(open)),
        }
    }
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
    /// The kernel, with its tile.
    kernel: Kernel,
    /// Splits of K.
    splits: u32,
    /// The tiles of C, once for each split.
    grid: Grid,
    /// CTAs that the device holds at once, where that is known.
    max_resident: Option<u32>,
    /// What a block may use, static and dynamic together.
    limit_bytes: Bytes,
    /// Whether the launch needs `cuFuncSetAttribute` first: static + dynamic exceed the default limit.
    opt_in: bool,
    /// Why this tile, and why not the others; one line each.
    reasons: Arc<[String]>,
}

/// Geometry and memory of a plan, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanSummary {
    /// The entry point's symbol.
    pub kernel: &'static str,
    /// Rows and columns of a tile, in elements.
    pub tile: [u32; 2],
    /// Splits of K.
    pub splits: u32,
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Blocks of the grid along x, y, z.
    pub grid: [u32; 3],
    /// Products of the batch.
    pub batch: u32,
    /// Launches of the kernel: 1, unless a grid does not hold all products of a batch, and 0 for an empty C.
    pub launches: u32,
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
    pub padded_ld: [Option<u32>; 2],
    /// Bytes of device memory that these copies take.
    pub padded_bytes: u64,
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
    pub fn copies(&self) -> [Option<OperandCopy>; 2] {
        let copy = |operand| OperandCopy::between(&self.kernel, &self.shape, &self.taken, operand);
        [copy(Operand::A), copy(Operand::B)]
    }

    /// The kernel, with its tile.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The tiles of C.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Dynamic shared memory of a block.
    pub fn dynamic_bytes(&self) -> Bytes {
        self.kernel.dynamic_bytes()
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
            taken: self.kernel.taken(&shape).unwrap_or(shape),
            grid: Grid::of_kernel(&shape, &self.kernel, self.splits, self.max_resident)?,
            ..self.clone()
        })
    }

    /// The same kernel and tile for alpha 0: nothing along K, so that A and B are not read.
    pub fn without_k(&self) -> Self {
        let shape = self.shape.without_k();
        Self {
            shape,
            taken: self.kernel.taken(&shape).unwrap_or(shape),
            splits: 1,
            grid: Grid::of_kernel(&shape, &self.kernel, 1, self.max_resident)
                .expect("one split has no more tiles than several"),
            ..self.clone()
        }
    }

    /// Whether a launch on so many SMs gains from beginning while the grid before it ends.
    pub(crate) fn gains_from_overlap(&self, sms: u32) -> bool {
        gains_from_overlap(&self.kernel, &self.grid, self.max_resident, sms)
    }

    /// What is launched, for an estimate.
    pub fn work(&self) -> Work {
        Work {
            kernel: self.kernel,
            splits: self.splits,
        }
    }

    /// The parameters of a launch of so many products, without addresses and epilogue. With groups of rows a launch has
    /// all of them.
    pub fn params<E>(&self, products: u32, factors: [f64; 2]) -> GemmParams<E> {
        let null = core::ptr::null_mut();
        let [stride_a, stride_b, stride_c] = self.taken.batch().strides;
        GemmParams {
            stride_a,
            stride_b,
            stride_c,
            batch: if self.shape.batch().groups {
                self.shape.batch().count
            } else {
                products
            },
            alpha: factors[0] as f32,
            beta: factors[1] as f32,
            factors_f64: factors,
            splits: self.splits,
            k_per_split: k_tiles_per_split(&self.shape, &self.kernel, self.splits) * self.kernel.tile.k,
            tile_width: self.kernel.tile.n,
            a_part: self.kernel.smem.a(),
            b_part: self.kernel.smem.b(),
            ..GemmParams::product(null, null, null, self.kernel.args(&self.taken))
        }
    }

    /// Elements of the split-K workspace that a launch needs, each of the accumulator's type.
    pub fn workspace_elems(&self) -> usize {
        self.for_splits(|split_k| split_k.elems_per_tile)
    }

    /// Counters that a launch needs, all 0: one for each split of each part of a tile that is reduced alone.
    pub fn counters(&self) -> usize {
        self.for_splits(|split_k| split_k.counters_per_tile)
    }

    fn for_splits(&self, per_tile: impl FnOnce(SplitK) -> u32) -> usize {
        match self.kernel.split_k {
            Some(split_k) if self.splits > 1 => {
                let tiles = self.grid.tiles() as usize * self.grid.products_per_launch() as usize;
                tiles * per_tile(split_k) as usize
            }
            _ => 0,
        }
    }

    /// The numbers, flat.
    pub fn summary(&self) -> PlanSummary {
        let Kernel { tile, block, smem, .. } = self.kernel;
        PlanSummary {
            kernel: self.kernel.symbol,
            tile: [tile.m, tile.n],
            splits: self.splits,
            block: [block[0], block[1], 1],
            grid: self.grid.extents(self.grid.products_per_launch()),
            batch: self.shape.batch().count,
            launches: self.grid.launches(),
            a_part_bytes: smem.a().get(),
            b_part_bytes: smem.b().get(),
            c_part_bytes: smem.c.get(),
            barrier_bytes: smem.barriers.get(),
            static_smem_bytes: smem.static_bytes().get(),
            dynamic_smem_bytes: smem.dynamic_bytes().get(),
            limit_bytes: self.limit_bytes.get(),
            opt_in: self.opt_in,
            padded_ld: [Operand::A, Operand::B].map(|operand| {
                let is_copied = self.copies()[operand as usize].is_some();
                is_copied.then_some(self.taken.extents(operand).2 as u32)
            }),
            padded_bytes: self.copies().iter().flatten().map(OperandCopy::to_bytes).sum(),
        }
    }
}

/// Chooses tile, block, grid and shared memory for one product on one device. Plans are kept: the same question is
/// answered from memory.
///
/// # Errors
/// [`PlanError`] with the numbers and the nearest configuration that works.
pub fn plan(shape: &GemmShape, dtype: DType, device: &DeviceProfile, policy: &Policy) -> Result<Plan, PlanError> {
    let question = Question {
        shape,
        dtype,
        device,
        policy,
    };
    question.answer(|| planned(shape, dtype, device, policy))
}

fn planned(shape: &GemmShape, dtype: DType, device: &DeviceProfile, policy: &Policy) -> Result<Plan, PlanError> {
    let limit = Bytes(device.block_limit_bytes(policy.smem_limit.map(Bytes::get)));
    let mut reasons = vec![format!(
        "limit {limit}: {}",
        if limit.get() < device.smem_per_block_optin {
            "asked for by the user"
        } else {
            "opt-in limit of the device"
        }
    )];
    let open = CandidateSet::of(policy, dtype, shape, device)?;
    let candidate = match policy.tile {
        Some(width) => {
            reasons.push(format!("tile width {width}: asked for by the user"));
            open.with_width(width, limit)?
        }
        None => match open.tuned(policy, dtype, device, limit, &mut reasons) {
            Some(candidate) => candidate,
            None => open.choose(limit, &mut reasons)?,
        },
    };
    let Candidate {
        kernel,
        splits,
        max_resident,
    } = candidate;
    // What the device allows, and what the kernel was compiled for.
    let available = kernel
        .max_threads
        .map_or(device.threads_per_block, |most| most.min(device.threads_per_block));
    if kernel.threads() > available {
        return Err(PlanError::Threads {
            requested: kernel.threads(),
            available,
        });
    }
    if candidate.bytes() > limit {
        return Err(open.too_large(&kernel, limit));
    }
    let grid = candidate.grid(shape).map_err(PlanError::Grid)?;
    let opt_in = candidate.bytes().get() > device.smem_per_block;
    if opt_in {
        reasons.push(format!(
            "{} exceed the default limit of {} B: the launch opts in",
            candidate.bytes(),
            device.smem_per_block
        ));
    }
    if grid.launches() > 1 {
        reasons.push(format!(
            "{} launches, of at most {} of the {} products each: a grid holds no more",
            grid.launches(),
            grid.products_per_launch(),
            shape.batch().count
        ));
    }
    // The conditions have left no entry point that does not take the shape.
    let taken = kernel.taken(shape).unwrap_or(*shape);
    for (operand, copy) in
        [Operand::A, Operand::B].map(|operand| (operand, OperandCopy::between(&kernel, shape, &taken, operand)))
    {
        let Some(copy) = copy else { continue };
        let (bytes, to_ld) = (copy.to_bytes(), taken.extents(operand).2);
        let elems = kernel.alignment.elems[operand as usize];
        reasons.push(match copy.kind {
            CopyKind::Pad => {
                let (_, columns, ld) = shape.extents(operand);
                let matrices = match copy.rows.matrices {
                    1 => String::new(),
                    _ => format!(" and its matrices {}", shape.batch().stride(operand)),
                };
                let takes = match kernel.is_near(shape, operand) {
                    true => format!("multiples of {elems}"),
                    false => format!("at most {}", Kernel::MAX_LD),
                };
                format!(
                    "{operand} is padded first: its rows of {columns} are {ld} elements apart{matrices}, {} takes \
                     {takes}; {bytes} B with rows of {to_ld}",
                    kernel.family,
                )
            }
            CopyKind::Transpose => format!(
                "{operand} is transposed first: {} takes it {}; {bytes} B with rows of {to_ld}",
                kernel.symbol,
                match taken.transpose(operand) {
                    Transpose::No => "not transposed",
                    Transpose::Yes => "transposed",
                },
            ),
            CopyKind::Split => format!(
                "{operand} is split first: each f32 into {} bf16, {bytes} B with rows of {to_ld}",
                copy.kind.parts(),
            ),
        });
    }
    Ok(Plan {
        shape: *shape,
        taken,
        kernel,
        splits,
        grid,
        max_resident,
        limit_bytes: limit,
        opt_in,
        reasons: reasons.into(),
    })
}
