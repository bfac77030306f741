//! What could be launched for a product, and which of it is expected to be fastest.

use std::borrow::Cow;

use cuda_arch::Architecture;
use tilewright_contract::{
    Batch, Bytes, DType, Family, GemmShape, Grid, GridError, KERNELS, Kernel, Operand, TileError, TileGeometry,
    matrix_of,
};
use tilewright_plan::GpuModel;
use tilewright_plan::device::DeviceProfile;

use super::estimate::Pricing;
use super::speeds::Speeds;
use super::terms::{k_tiles_per_split, resident_per_sm};
use super::tuning::Tuning;
use super::{Named, PlanError, Policy};

/// Tile widths that are tried of kernels that take any, when the user names none; below them the widest that fits is
/// taken. Multiples of 16 keep loads coalesced.
const WIDTHS: [u32; 8] = [128, 112, 96, 80, 64, 48, 32, 16];

/// The widths that are tried where the architecture is not in the table, so that nothing is known of occupancy: the
/// first that fits. 64 is the fastest width of large products on the parts that were measured (`docs/results`).
const WIDTHS_OF_UNKNOWN: [u32; 3] = [64, 32, 16];

/// Splits of K that are tried; where some of them would have no step, as many as have one.
const SPLITS: [u32; 19] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256];

/// Work tiles of a split-K launch for each SM, at most: more splits of a C that fills the device several times gain
/// nothing.
const TILES_PER_SM: u64 = 8;

/// One way to launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) kernel: Kernel,
    pub(super) splits: u32,
    /// CTAs that the device holds at once; `None` where nothing is known of it.
    pub(super) max_resident: Option<u32>,
}

impl Candidate {
    /// Shared memory of a CTA, static and dynamic.
    pub(super) fn bytes(&self) -> Bytes {
        self.kernel.smem.total()
    }

    pub(super) fn grid(&self, shape: &GemmShape) -> Result<Grid, GridError> {
        Grid::of_kernel(shape, &self.kernel, self.splits, self.max_resident)
    }

    fn name(&self, shape: &GemmShape) -> String {
        let Self { kernel, splits, .. } = self;
        let mut name = format!("{} with {}", kernel.family, kernel.tile_name());
        if *splits != 1 {
            name += &format!(", split-K {splits}");
        }
        match kernel.copies(shape).map(|copy| copy.map(|copy| copy.kind.participle())) {
            [None, None] => name,
            [Some(how), None] => format!("{name}, A {how} first"),
            [None, Some(how)] => format!("{name}, B {how} first"),
            [Some(of_a), Some(of_b)] if of_a == of_b => format!("{name}, A and B {of_a} first"),
            [Some(of_a), Some(of_b)] => format!("{name}, A {of_a} and B {of_b} first"),
        }
    }
}

/// The kernels that a policy, a type, a layout and a device leave open.
pub(super) struct CandidateSet<'a> {
    /// As errors name them.
    named: Named,
    /// In the order of the families that were asked for.
    kernels: Vec<&'static Kernel>,
    splits: Option<u32>,
    speeds: Speeds,
    shape: &'a GemmShape,
    /// `None` for an architecture that is not in the table.
    device: Option<(Architecture, Cow<'static, GpuModel>)>,
}

impl<'a> CandidateSet<'a> {
    pub(super) fn of(
        policy: &Policy,
        dtype: DType,
        shape: &'a GemmShape,
        device: &DeviceProfile,
    ) -> Result<Self, PlanError> {
        let family = policy.named_family().unwrap_or(Family::SIMT);
        let named = policy.named(family);
        let is_open = |kernel: &Kernel| kernel.family.is_automatic() && kernel.precision >= policy.precision;
        let is_named = |kernel: &&Kernel| policy.family.map_or(is_open(kernel), |family| kernel.family == family);
        let mut kernels: Vec<_> = match policy.kernel {
            Some(kernel) => vec![kernel],
            None => KERNELS.iter().filter(is_named).collect(),
        };
        let is_of = |dtype: &DType| kernels.iter().any(|kernel| kernel.dtype == *dtype);
        let nearest = DType::ALL.into_iter().find(is_of).unwrap_or(DType::F32);
        // One condition after the other: the first that leaves nothing is the reason.
        let mut keep = |condition: &dyn Fn(&Kernel) -> bool, error: PlanError| {
            kernels.retain(|kernel| condition(kernel));
            if kernels.is_empty() { Err(error) } else { Ok(()) }
        };
        keep(
            &|kernel| kernel.dtype == dtype,
            PlanError::NoSuchType {
                named,
                requested: dtype,
                nearest,
            },
        )?;
        keep(
            &|kernel| kernel.target.runs_on(device.compute_capability),
            PlanError::ComputeCapability {
                named,
                needed: policy.kernel.map_or(family.target(), |kernel| kernel.target),
                available: device.compute_capability,
            },
        )?;
        keep(
            &|kernel| !policy.factors || kernel.supports.alpha_beta,
            PlanError::NoFactors { named, dtype },
        )?;
        keep(
            &|kernel| !policy.epilogue || kernel.supports.epilogue,
            PlanError::NoEpilogue { named, dtype },
        )?;
        keep(
            &|kernel| !kernel.takes_vector() || matrix_of(shape).is_some(),
            PlanError::NoVector {
                named,
                c: [shape.m(), shape.n()],
            },
        )?;
        keep(
            &|kernel| kernel.supports.groups == shape.batch().groups,
            PlanError::NoGroups {
                named,
                dtype,
                groups: shape.batch().groups.then_some(shape.batch().count),
            },
        )?;
        keep(
            &|kernel| kernel.supports.batch || shape.batch() == Batch::ONE || shape.batch().groups,
            PlanError::NoBatch {
                named,
                count: shape.batch().count,
            },
        )?;
        keep(
            &|kernel| kernel.taken(shape).is_some(),
            PlanError::NoSuchLayout {
                named,
                dtype,
                transpose: [shape.transpose(Operand::A), shape.transpose(Operand::B)],
            },
        )?;
        if let Some(splits) = policy.splits.filter(|&splits| splits != 1) {
            keep(
                &|kernel| kernel.split_k.is_some() && splits > 0,
                PlanError::NoSplitK {
                    named,
                    requested: splits,
                },
            )?;
        }
        Ok(Self {
            named: policy.named(kernels[0].family),
            kernels,
            splits: policy.splits,
            speeds: policy.speeds,
            shape,
            device: device.architecture().zip(device.gpu_model()),
        })
    }

    /// The kernels with a tile of this width: the first of each family, where one whose width is a constant stands
    /// before the one that takes it at launch, and loads of vectors before those of single elements.
    fn of_width(&self, width: u32) -> impl Iterator<Item = Kernel> + '_ {
        let mut last = None;
        self.kernels
            .iter()
            .filter_map(move |kernel| kernel.with_width(width))
            .filter(move |kernel| last.replace(kernel.family) != Some(kernel.family))
    }

    /// What to launch with a width that the user asked for: of the first kernel's family the first that fits. Where
    /// none does, the first.
    pub(super) fn with_width(&self, width: u32, limit: Bytes) -> Result<Candidate, PlanError> {
        let open = || self.kernels.iter().filter_map(|kernel| kernel.with_width(width));
        let first = open().next().ok_or_else(|| PlanError::NoSuchWidth {
            named: self.named,
            requested: width,
            nearest: self
                .kernels
                .iter()
                .filter_map(|kernel| kernel.nearest_width(width))
                .min_by_key(|nearest| nearest.abs_diff(width)),
        })?;
        let fits = |kernel: &Kernel| kernel.family == first.family && kernel.smem.total() <= limit;
        Ok(self.fastest(open().find(fits).unwrap_or(first)).1)
    }

    /// A kernel with the whole of K.
    fn whole(&self, kernel: Kernel) -> Candidate {
        let of_device = |(arch, gpu): &(Architecture, Cow<'_, GpuModel>)| {
            Some(resident_per_sm(&kernel, arch)?.saturating_mul(gpu.sms))
        };
        Candidate {
            kernel,
            splits: 1,
            max_resident: self.device.as_ref().and_then(of_device),
        }
    }

    /// A kernel with the split-K factor of the least estimated time, and that time; without an estimate it is infinite.
    fn fastest(&self, kernel: Kernel) -> (f64, Candidate) {
        let pricing = self
            .device
            .as_ref()
            .and_then(|(arch, gpu)| Pricing::of(&kernel, arch, gpu, &self.speeds));
        let us = |splits| {
            pricing
                .as_ref()
                .and_then(|pricing| pricing.us(&kernel, splits, self.shape))
        };
        let whole = self.whole(kernel);
        let least = self
            .split(&whole)
            .map(|splits| (us(splits).unwrap_or(f64::INFINITY), splits))
            .min_by(|(a, _), (b, _)| a.total_cmp(b));
        let (us, splits) = least.unwrap_or((f64::INFINITY, 1));
        (us, Candidate { splits, ..whole })
    }

    /// All numbers of splits of a kernel that make sense: as many CTAs as a few waves of the device, and at least a
    /// step for each.
    fn split(&self, whole: &Candidate) -> impl Iterator<Item = u32> + use<> {
        let kernel = whole.kernel;
        let shape = *self.shape;
        let k_tiles = move |splits| k_tiles_per_split(&shape, &kernel, splits);
        let most = TILES_PER_SM * self.device.as_ref().map_or(0, |(_, gpu)| u64::from(gpu.sms));
        let tiles = whole
            .grid(self.shape)
            .map_or(0, |grid| u64::from(grid.tiles()) * u64::from(grid.batch));
        // As many as have a step each.
        let not_empty = move |splits: u32| k_tiles(1).div_ceil(k_tiles(splits).max(1)).max(1);
        let asked = self.splits.map(not_empty);
        let useful = move |&splits: &u32| splits == 1 || kernel.split_k.is_some() && tiles * u64::from(splits) <= most;
        let mut before = 0;
        let each_once = move |&splits: &u32| std::mem::replace(&mut before, splits) != splits;
        let open = SPLITS.into_iter().map(not_empty).filter(each_once).filter(useful);
        open.filter(move |_| asked.is_none()).chain(asked)
    }

    /// The candidate that was measured to be fastest, where the policy has measurements and names no candidate itself.
    pub(super) fn tuned(
        &self,
        policy: &Policy,
        dtype: DType,
        device: &DeviceProfile,
        limit: Bytes,
        reasons: &mut Vec<String>,
    ) -> Option<Candidate> {
        let is_open = policy.named_family().is_none() && policy.splits.is_none();
        let tuning = policy.tuning.filter(|_| is_open)?;
        if let Some(why) = tuning.passed_over(device) {
            reasons.push(why);
            return None;
        }
        let choice = match tuning.choice(self.shape, dtype, policy)? {
            Ok(choice) => choice,
            Err(why) => {
                reasons.push(why);
                return None;
            }
        };
        let named = self.kernels.iter().find(|kernel| kernel.symbol == choice.kernel);
        let candidate = named.and_then(|kernel| {
            let kernel = match kernel.widths {
                Some(_) => kernel.with_width(choice.width)?,
                None => **kernel,
            };
            let splits = choice.splits;
            Some(Candidate {
                splits,
                ..self.whole(kernel)
            })
        });
        let can_split = |candidate: &Candidate| candidate.splits == 1 || candidate.kernel.split_k.is_some();
        let candidate = candidate.filter(|candidate| {
            can_split(candidate) && candidate.bytes() <= limit && candidate.grid(self.shape).is_ok()
        });
        reasons.push(match &candidate {
            Some(candidate) => format!(
                "{}: the fastest on this device, {} us were measured",
                candidate.name(self.shape),
                choice.us
            ),
            None => format!("{}{} does not take this product", Tuning::PASSED_OVER, choice.kernel),
        });
        candidate
    }

    /// The candidate with the least estimated time among those that fit.
    pub(super) fn choose(&self, limit: Bytes, reasons: &mut Vec<String>) -> Result<Candidate, PlanError> {
        let widths: &[u32] = if self.device.is_some() {
            &WIDTHS
        } else {
            &WIDTHS_OF_UNKNOWN
        };
        let squares = widths
            .iter()
            .flat_map(|&width| self.of_width(width))
            .filter(|kernel| kernel.widths.is_some());
        let mut best: Option<(f64, Candidate)> = None;
        for kernel in self.fixed_tiles().chain(squares) {
            let (us, candidate) = self.fastest(kernel);
            let (name, needed) = (candidate.name(self.shape), candidate.bytes());
            if needed > limit {
                reasons.push(format!("{name}: needs {needed} of {limit}"));
                continue;
            }
            let Ok(grid) = candidate.grid(self.shape) else {
                reasons.push(format!("{name}: more tiles than a grid holds"));
                continue;
            };
            let fitting = format!("{name}: {needed} fit, {} blocks", grid.blocks());
            reasons.push(match &self.device {
                Some((_, gpu)) if us.is_finite() => format!("{fitting}, about {us:.1} us on {}", gpu.name),
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
        let widest = (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
            .rev()
            .flat_map(|width| self.of_width(width).map(|kernel| self.whole(kernel)))
            .find(|candidate| candidate.bytes() <= limit && candidate.grid(self.shape).is_ok());
        if let Some(candidate) = widest {
            reasons.push(format!("{}: the widest that fits", candidate.name(self.shape)));
            return Ok(candidate);
        }
        // Nothing fits: report the smallest that there is.
        let smallest = self
            .kernels
            .iter()
            .filter_map(|kernel| match kernel.widths {
                Some([min, _]) => kernel.with_width(min),
                None => Some(**kernel),
            })
            .map(|kernel| self.whole(kernel))
            .min_by_key(Candidate::bytes)
            .ok_or(PlanError::Tile(TileError { requested: 0 }))?;
        // Where memory is not what is missing, the grid is.
        smallest.grid(self.shape).map_err(PlanError::Grid)?;
        Err(self.too_large(&smallest.kernel, limit))
    }

    /// Kernels of one tile that is not chosen by its width: of each tile those that have operands copied, and the first
    /// that takes them as they lie, which loads vectors where it can.
    fn fixed_tiles(&self) -> impl Iterator<Item = Kernel> + '_ {
        self.kernels.iter().enumerate().filter_map(|(at, kernel)| {
            let is_open = !self.kernels[..at]
                .iter()
                .any(|other| other.stands_for(kernel, self.shape));
            (kernel.widths.is_none() && is_open).then_some(**kernel)
        })
    }

    /// The error for a kernel whose shared memory exceeds the limit.
    pub(super) fn too_large(&self, kernel: &Kernel, limit: Bytes) -> PlanError {
        let squares = (TileGeometry::MIN_WIDTH..kernel.tile.n)
            .rev()
            .flat_map(|width| self.of_width(width));
        let nearest = self
            .fixed_tiles()
            .chain(squares)
            .filter(|other| other.family == kernel.family)
            // A width asks for squares.
            .filter(|other| other.smem.total() <= limit && other.tile.m == other.tile.n)
            .max_by_key(|other| (other.smem.total(), other.tile.n));
        PlanError::SharedMemory {
            kernel: Box::new(*kernel),
            limit,
            nearest: nearest.map(Box::new),
        }
    }
}
