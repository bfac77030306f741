//! What could be launched for a product, and which of it is expected to be fastest.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use tilewright_contract::{
    Bytes, DType, GemmShape, Grid, GridError, Operand, OutputTile, RowCopy, Rung, Tile, TileError, TileGeometry,
    VARIANTS, Variant, lines_of,
};

use super::{PlanError, Policy};
use crate::device::DeviceProfile;
use crate::kernels::estimate::{Work, estimate_us};
use crate::kernels::speeds::Speeds;
use crate::kernels::{kernel_sheet, usage};

/// Tile widths that are tried of kernels that take any, when the user names none; below them the widest that fits is
/// taken. Multiples of 16 keep loads coalesced.
const WIDTHS: [u32; 8] = [128, 112, 96, 80, 64, 48, 32, 16];

/// The widths that are tried where the architecture is not in the table, so that nothing is known of occupancy: the
/// first that fits. 64 is the fastest width of large products on the parts that were measured (`docs/results`).
const WIDTHS_OF_UNKNOWN: [u32; 3] = [64, 32, 16];

/// Parts of K that are tried.
const SLICES: [u32; 19] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256];

/// Steps along K that a slice has at least: with fewer, filling the pipeline takes longer than using it.
const STEPS_OF_SLICE: u32 = 4;

/// Elements along K of each slice but the last: whole steps.
pub(super) fn slice_k(shape: &GemmShape, depth: u32, slices: u32) -> u32 {
    let steps = shape.args().k.div_ceil(depth);
    steps.div_ceil(slices) * depth
}

/// The rungs that are picked from where the user names none. Rung 2 is rung 3 with less choice, and as fast; rung 9 is
/// one case of rung 10; rungs 13 to 16 lead to rung 17; the others are for comparison, or for devices without rung 10.
pub const AUTOMATIC: &[Rung] = &[
    Rung::TiledDynamic,
    Rung::RegisterTile,
    Rung::Gemm,
    Rung::MatrixVector,
    Rung::MmaSync,
    Rung::WgmmaGemm,
];

/// One way to launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) variant: &'static Variant,
    pub(super) tile: OutputTile,
    pub(super) slices: u32,
}

impl Candidate {
    /// Shared memory of a block, static and dynamic.
    pub(super) fn bytes(&self) -> Bytes {
        // Both summands are below 2^20.
        Bytes(self.variant.static_bytes().get() + self.variant.dynamic_bytes(self.tile).get())
    }

    pub(super) fn grid(&self, shape: &GemmShape, device: &DeviceProfile) -> Result<Grid, GridError> {
        Grid::of_tile(shape.args(), self.tile, self.slices, self.held_at_once(device))
    }

    /// Blocks that the device holds at once; `None` where nothing is known of it.
    pub(super) fn held_at_once(&self, device: &DeviceProfile) -> Option<u32> {
        let (arch, product) = device.architecture().zip(device.product())?;
        let sheet = kernel_sheet(self.variant, self.tile, usage(self.variant.symbol, &arch)?, &arch).ok()?;
        Some(sheet.occupancy.blocks_per_sm * product.multiprocessors)
    }

    fn name(&self, shape: &GemmShape) -> String {
        let Self { variant, tile, slices } = self;
        let mut name = format!("{} with {tile}", variant.rung);
        if *slices != 1 {
            name += &format!(", {slices} slices of K");
        }
        let taken = variant.taken(shape).unwrap_or(*shape);
        let copied = |operand| RowCopy::between(shape, &taken, operand).is_some();
        name += match [Operand::A, Operand::B].map(copied) {
            [false, false] => "",
            [true, false] => ", A copied first",
            [false, true] => ", B copied first",
            [true, true] => ", A and B copied first",
        };
        name
    }
}

/// The kernels that a policy, a type, a layout and a device leave open.
pub(super) struct Open<'a> {
    /// In the order of the rungs that were asked for.
    variants: Vec<&'static Variant>,
    slices: Option<u32>,
    speeds: Speeds,
    shape: &'a GemmShape,
}

impl<'a> Open<'a> {
    pub(super) fn of(
        policy: &Policy,
        dtype: DType,
        shape: &'a GemmShape,
        device: &DeviceProfile,
    ) -> Result<Self, PlanError> {
        let named = policy.entry_point.map(|variant| variant.rung).or(policy.rung);
        let rungs = match &named {
            None => AUTOMATIC,
            Some(rung) => core::slice::from_ref(rung),
        };
        let rung = named.unwrap_or(Rung::Gemm);
        let mut variants: Vec<_> = rungs
            .iter()
            .flat_map(|&rung| VARIANTS.iter().filter(move |variant| variant.rung == rung))
            .filter(|variant| policy.entry_point.is_none_or(|named| named.symbol == variant.symbol))
            .collect();
        // One condition after the other: the first that leaves nothing is the reason.
        let mut keep = |condition: &dyn Fn(&Variant) -> bool, error: PlanError| {
            variants.retain(|variant| condition(variant));
            if variants.is_empty() { Err(error) } else { Ok(()) }
        };
        let of_rung = |&nearest: &DType| {
            VARIANTS
                .iter()
                .any(|variant| variant.rung == rung && variant.dtype == nearest)
        };
        keep(
            &|variant| variant.dtype == dtype,
            PlanError::NoSuchType {
                rung,
                requested: dtype,
                nearest: DType::ALL.into_iter().find(of_rung).unwrap_or(DType::F32),
            },
        )?;
        keep(
            &|variant| variant.rung.runs_on(device.compute_capability),
            PlanError::ComputeCapability {
                rung,
                needed: rung.compute_capability(),
                available: device.compute_capability,
            },
        )?;
        keep(
            &|variant| !policy.factors || variant.rung.takes_call(),
            PlanError::NoFactors { rung, dtype },
        )?;
        keep(
            &|variant| !policy.epilogue || variant.rung.takes_epilogue(),
            PlanError::NoEpilogue { rung, dtype },
        )?;
        keep(
            &|variant| !matches!(variant.tile, Tile::Lines(_)) || lines_of(shape).is_some(),
            PlanError::NoVector {
                rung,
                c: [shape.m(), shape.n()],
            },
        )?;
        keep(
            &|variant| variant.taken(shape).is_some(),
            PlanError::NoSuchLayout {
                rung,
                dtype,
                transpose: [shape.transpose(Operand::A), shape.transpose(Operand::B)],
            },
        )?;
        if let Some(slices) = policy.slices.filter(|&slices| slices != 1) {
            keep(
                &|variant| variant.takes_slices() && slices > 0,
                PlanError::NoSlices {
                    rung,
                    requested: slices,
                },
            )?;
        }
        Ok(Self {
            variants,
            slices: policy.slices,
            speeds: policy.speeds,
            shape,
        })
    }

    /// The entry points that compute a width, each with that tile: the first of each rung, where a width that the
    /// compiler knows stands before the range that holds it, and copies of vectors before those of single elements.
    fn tiles_of_width(&self, width: u32) -> impl Iterator<Item = (&'static Variant, OutputTile)> + '_ {
        let mut last = None;
        self.variants
            .iter()
            .filter(move |variant| variant.computes(width))
            .filter(move |variant| last.replace(variant.rung) != Some(variant.rung))
            .filter_map(move |variant| Some((*variant, variant.tile_of_width(width).ok()?)))
    }

    /// What to launch with a width that the user asked for.
    pub(super) fn of_width(&self, width: u32, device: &DeviceProfile) -> Result<Candidate, PlanError> {
        let (variant, tile) = self
            .tiles_of_width(width)
            .next()
            .ok_or_else(|| PlanError::NoSuchVariant {
                rung: self.variants[0].rung,
                requested: width,
                nearest: self
                    .variants
                    .iter()
                    .filter_map(|variant| variant.tile.nearest_width(width))
                    .min_by_key(|nearest| nearest.abs_diff(width)),
            })?;
        let best = self
            .sliced(variant, tile, device)
            .min_by(|a, b| self.estimate(a, device).total_cmp(&self.estimate(b, device)));
        Ok(best.unwrap_or(Candidate {
            variant,
            tile,
            slices: 1,
        }))
    }

    /// A tile with all numbers of slices that make sense: as many blocks as a few rounds of the device, and enough
    /// steps for each.
    fn sliced(
        &self,
        variant: &'static Variant,
        tile: OutputTile,
        device: &DeviceProfile,
    ) -> impl Iterator<Item = Candidate> + use<> {
        let whole = Candidate {
            variant,
            tile,
            slices: 1,
        };
        let steps = self.shape.args().k.div_ceil(variant.depth(tile));
        let multiprocessors = device.product().map_or(0, |product| product.multiprocessors);
        let tiles = whole.grid(self.shape, device).map_or(0, |grid| u64::from(grid.tiles()));
        // As many as have a step each.
        let not_empty = move |slices: u32| steps.div_ceil(steps.div_ceil(slices).max(1)).max(1);
        let takes_slices = variant.takes_slices();
        let asked = self.slices.map(not_empty);
        let useful = move |&slices: &u32| {
            slices == 1
                || takes_slices
                    && slices <= steps / STEPS_OF_SLICE
                    && not_empty(slices) == slices
                    && tiles * u64::from(slices) <= 8 * u64::from(multiprocessors)
        };
        let open = SLICES.into_iter().filter(useful).filter(move |_| asked.is_none());
        open.chain(asked).map(move |slices| Candidate { slices, ..whole })
    }

    fn estimate(&self, candidate: &Candidate, device: &DeviceProfile) -> f64 {
        let Some((architecture, product)) = device.architecture().zip(device.product()) else {
            return f64::INFINITY;
        };
        let work = Work {
            variant: candidate.variant,
            tile: candidate.tile,
            slices: candidate.slices,
        };
        estimate_us(&work, self.shape, &architecture, &product, &self.speeds).unwrap_or(f64::INFINITY)
    }

    /// The candidate with the least estimated time among those that fit.
    pub(super) fn choose(
        &self,
        device: &DeviceProfile,
        limit: Bytes,
        reasons: &mut Vec<String>,
    ) -> Result<Candidate, PlanError> {
        let known = device.architecture().zip(device.product());
        let widths: &[u32] = if known.is_some() { &WIDTHS } else { &WIDTHS_OF_UNKNOWN };
        let squares = widths
            .iter()
            .flat_map(|&width| self.tiles_of_width(width))
            .filter(|(variant, _)| variant.tile.only().is_none());
        let mut best: Option<(f64, Candidate)> = None;
        for (variant, tile) in self.blocks().chain(squares) {
            // Of all slicings of a tile the fastest stands for it.
            let least = self
                .sliced(variant, tile, device)
                .map(|candidate| (self.estimate(&candidate, device), candidate))
                .min_by(|(a, _), (b, _)| a.total_cmp(b));
            let Some((us, candidate)) = least else { continue };
            let (name, needed) = (candidate.name(self.shape), candidate.bytes());
            if needed > limit {
                reasons.push(format!("{name}: needs {needed} of {limit}"));
                continue;
            }
            let Ok(grid) = candidate.grid(self.shape, device) else {
                reasons.push(format!("{name}: more tiles than a grid holds"));
                continue;
            };
            let fitting = format!("{name}: {needed} fit, {} blocks", grid.blocks());
            reasons.push(match &known {
                Some((_, product)) if us.is_finite() => format!("{fitting}, about {us:.1} us on {}", product.name),
                _ => format!("{fitting}, of unknown speed"),
            });
            // Without an estimate the order decides; with equal ones the narrower tile.
            if best.is_none_or(|(least, _)| us < least || us <= least && us.is_finite()) {
                best = Some((us, candidate));
            }
        }
        if let Some((_, candidate)) = best {
            reasons.push(format!("{}: the best of these", candidate.name(self.shape)));
            return Ok(candidate);
        }
        // None of them: the widest that fits, whatever it is.
        let whole = |(variant, tile)| Candidate {
            variant,
            tile,
            slices: 1,
        };
        let widest = (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
            .rev()
            .flat_map(|width| self.tiles_of_width(width).map(whole))
            .find(|candidate| candidate.bytes() <= limit && candidate.grid(self.shape, device).is_ok());
        if let Some(candidate) = widest {
            reasons.push(format!("{}: the widest that fits", candidate.name(self.shape)));
            return Ok(candidate);
        }
        // Nothing fits: report the smallest that there is.
        let smallest = self
            .variants
            .iter()
            .filter_map(|variant| Some(whole((*variant, smallest_tile(variant)?))))
            .min_by_key(Candidate::bytes)
            .ok_or(PlanError::Tile(TileError { requested: 0 }))?;
        // Where memory is not what is missing, the grid is.
        smallest.grid(self.shape, device).map_err(PlanError::Grid)?;
        Err(self.too_large(&smallest, limit))
    }

    /// Tiles that are no squares: the first entry point of each, which copies vectors where it can.
    fn blocks(&self) -> impl Iterator<Item = (&'static Variant, OutputTile)> + '_ {
        self.variants.iter().enumerate().filter_map(|(at, variant)| {
            let tile = variant.tile.only()?;
            let earlier = |other: &&Variant| other.rung == variant.rung && other.tile == variant.tile;
            let first = !self.variants[..at].iter().copied().any(|other| earlier(&other));
            first.then_some((*variant, tile))
        })
    }

    /// The error for a candidate whose shared memory exceeds the limit.
    pub(super) fn too_large(&self, candidate: &Candidate, limit: Bytes) -> PlanError {
        let &Candidate { variant, tile, .. } = candidate;
        let squares = (TileGeometry::MIN_WIDTH..tile.n())
            .rev()
            .flat_map(|width| self.tiles_of_width(width));
        let nearest = self
            .blocks()
            .chain(squares)
            .filter(|(other, _)| other.rung == variant.rung)
            .map(|(variant, tile)| Candidate {
                variant,
                tile,
                slices: 1,
            })
            // A width asks for squares.
            .filter(|other| other.bytes() <= limit && other.tile.m() == other.tile.n())
            .max_by_key(|other| (other.bytes(), other.tile.n()));
        PlanError::SharedMemory {
            rung: variant.rung,
            tile,
            static_bytes: variant.static_bytes(),
            dynamic_bytes: variant.dynamic_bytes(tile),
            limit,
            nearest: nearest.map(|other| (other.tile, other.bytes())),
        }
    }
}

fn smallest_tile(variant: &Variant) -> Option<OutputTile> {
    match variant.tile {
        Tile::Fixed(width) | Tile::Runtime { min: width, .. } => variant.tile_of_width(width).ok(),
        Tile::Block(_) | Tile::Lines(_) | Tile::Tensor(_) | Tile::Wgmma(_) => variant.tile.only(),
    }
}
