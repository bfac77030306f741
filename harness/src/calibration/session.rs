//! Times the candidates of dispatch on a device.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use half::{bf16, f16};
use tilewright::check::Expected;
use tilewright::dispatch::{Plan, Policy, Speeds, estimate_us, plan};
use tilewright::launch::Gpu;
use tilewright::{
    DType, Element, Error, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Precision, Result, Transpose,
};

use super::PRUNED_ABOVE;
use super::rows::{Machine, Row, Timed};
use crate::bench::{Operands, Quartiles, Schedule, Set, Timer};

/// Split-K factors that are tried.
const SPLITS: [u32; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];

/// Most work tiles of a split-K launch for each SM; each split of a tile counts.
const TILES_PER_SM: u64 = 8;

/// A candidate that takes longer than the fastest by this factor says little of a choice.
const FAR: f64 = 3.0;

/// Rounds of such candidates.
const ROUNDS_OF_FAR: usize = 2;

/// The tiles that a plan may name of families that dispatch does not choose from, by family and width.
const NAMED: [(Family, u32); 12] = [
    (Family::TILED_STATIC, 16),
    (Family::TILED_STATIC, 32),
    (Family::TILED_DYNAMIC, 16),
    (Family::TILED_DYNAMIC, 24),
    (Family::TILED_DYNAMIC, 32),
    (Family::TILED_DYNAMIC, 48),
    (Family::TILED_DYNAMIC, 64),
    (Family::TILED_DYNAMIC, 80),
    (Family::TILED_DYNAMIC, 96),
    (Family::TILED_DYNAMIC, 112),
    (Family::TILED_DYNAMIC, 128),
    (Family::REGISTER_TILE, 128),
];

/// What is timed and with what.
pub struct Session<'g> {
    /// The device.
    pub gpu: &'g Gpu,
    /// Its numbers.
    pub machine: Machine,
    /// What dispatch takes for the kernels' speed.
    pub speeds: Speeds,
    /// The least precise arithmetic that is allowed.
    pub precision: Precision,
    /// Timed rounds; in each, every candidate runs in its turn.
    pub rounds: usize,
    /// Whether every candidate is timed, or those that dispatch may choose and does not expect to be slow.
    pub every: bool,
    /// The kernels that are not timed.
    pub known: BTreeSet<String>,
}

impl<'g> Session<'g> {
    /// A session on a device, with what dispatch knows.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a device that the planner does not know.
    pub fn on(gpu: &'g Gpu, speeds: Speeds) -> Result<Self> {
        let unknown = || Error::InvalidArgument(format!("the planner knows no `{}`", gpu.profile().name));
        let installed = gpu.profile().installed.as_ref().ok_or_else(unknown)?;
        Ok(Self {
            gpu,
            machine: Machine::of(&gpu.profile().name, installed.clock_khz)?,
            speeds,
            precision: Precision::default(),
            rounds: 7,
            every: false,
            known: BTreeSet::new(),
        })
    }

    /// Times the candidates of each product in an element type. First the results are checked of all that take less
    /// than three times as long as the fastest: the others decide nothing. `on_row` hears of each product that is done.
    ///
    /// # Errors
    /// Those of plans, the device and the check.
    pub fn rows(&self, shapes: &[GemmShape], dtype: DType, on_row: &mut dyn FnMut()) -> Result<Vec<Row>> {
        match dtype {
            DType::F32 => self.rows_of::<f32>(shapes, on_row),
            DType::F64 => self.rows_of::<f64>(shapes, on_row),
            DType::F16 => self.rows_of::<f16>(shapes, on_row),
            DType::Bf16 => self.rows_of::<bf16>(shapes, on_row),
        }
    }

    fn rows_of<T: Element>(&self, shapes: &[GemmShape], on_row: &mut dyn FnMut()) -> Result<Vec<Row>> {
        let mut timer = Timer::new(self.gpu)?;
        let mut rows = Vec::new();
        for shape in shapes {
            let plans = self.candidates(shape, T::DTYPE)?;
            // As many sets as the benchmarks take turns with: a kernel that finds its operands in the second-level
            // cache is fastest with fewer splits than one that waits for memory.
            let mut operands = Operands::<T>::random(self.gpu, *shape)?;
            let Operands { a, b, sets, .. } = &mut operands;
            let launch = |plan: &Plan, set: &mut Set<'_, T>| {
                self.gpu.launch(plan, &Gemm::new(*shape), &set.a, &set.b, &mut set.c)
            };
            let mut once_us = Vec::new();
            for plan in &plans {
                // The first launch of a kernel loads it.
                launch(plan, &mut sets[0])?;
                let once_ms = self.gpu.time_ms(|| launch(plan, &mut sets[0]))?;
                once_us.push(f64::from(once_ms) * 1e3);
            }
            let precision = |at: usize| plans[at].kernel().precision;
            let is_near = |&at: &usize| {
                let alike = (0..plans.len()).filter(|&other| precision(other) == precision(at));
                once_us[at] <= FAR * alike.map(|other| once_us[other]).fold(f64::INFINITY, f64::min)
            };
            let (near, far): (Vec<usize>, Vec<usize>) = (0..plans.len()).partition(is_near);
            let mut expected = BTreeMap::new();
            let mut c = vec![T::from_f64(0.0); shape.span_elems(Operand::C)];
            for plan in near.iter().map(|&at| &plans[at]) {
                let precision = plan.kernel().precision;
                if let Entry::Vacant(entry) = expected.entry(precision) {
                    entry.insert(Expected::product(shape, a, b)?.with_precision(precision)?);
                }
                sets[0].check(self.gpu, &expected[&precision], &mut c, |set| launch(plan, set))?;
            }
            let mut candidates = Vec::new();
            for (of, rounds) in [(near, self.rounds), (far, ROUNDS_OF_FAR)] {
                let schedule = Schedule::of(&of.iter().map(|&at| once_us[at]).collect::<Vec<_>>(), Some(rounds));
                let times = timer.turns(sets, of.len(), schedule, &mut |at, set| launch(&plans[of[at]], set))?;
                candidates.extend(of.iter().zip(times).filter_map(|(&at, times)| {
                    let us = Quartiles::of(&times)?.median;
                    Some(timed(&plans[at], us))
                }));
            }
            rows.push(Row {
                m: shape.m(),
                n: shape.n(),
                k: shape.k(),
                transpose: [Operand::A, Operand::B].map(|operand| shape.transpose(operand) == Transpose::Yes),
                batch: shape.batch().count as usize,
                dtype: T::DTYPE.into(),
                candidates,
            });
            on_row();
        }
        Ok(rows)
    }

    /// Every plan that the planner could make for a product, as far as it is to be timed.
    fn candidates(&self, shape: &GemmShape, dtype: DType) -> Result<Vec<Plan>> {
        let named = NAMED.map(|(family, tile)| Policy {
            family: Some(family),
            tile: Some(tile),
            ..Policy::default()
        });
        let has_own_tile = |kernel: &&Kernel| kernel.family.is_automatic() && kernel.widths.is_none();
        let tiles = KERNELS
            .iter()
            .filter(|kernel| {
                has_own_tile(kernel) && kernel.precision >= self.precision && kernel.taken(shape).is_some()
            })
            .flat_map(|kernel| {
                SPLITS.map(|splits| Policy {
                    kernel: Some(kernel),
                    splits: Some(splits),
                    ..Policy::default()
                })
            });
        // The planner tries more split-K factors than are timed here.
        let picked = plan(shape, dtype, self.gpu.profile(), &self.policy())?;
        let sms = self.machine.gpu.sms;
        let mut plans = vec![picked];
        for policy in named.into_iter().chain(tiles) {
            // A tile that does not fit this element type is no candidate.
            let Ok(plan) = plan(shape, dtype, self.gpu.profile(), &policy) else {
                continue;
            };
            let work = plan.work();
            let is_known = plans.iter().any(|other| {
                let other = other.work();
                other.splits == work.splits && other.kernel.stands_for(&work.kernel, shape)
            });
            // Work tiles, not CTAs: a persistent CTA computes several.
            let tiles = u64::from(plan.grid().tiles()) * u64::from(plan.grid().batch);
            if !is_known && (work.splits == 1 || tiles <= TILES_PER_SM * u64::from(sms)) {
                plans.push(plan);
            }
        }
        // What dispatch chooses is expected to take the least time.
        let least_us = self.expected_us(&plans[0]);
        plans.retain(|plan| !self.known.contains(plan.kernel().symbol));
        if !self.every {
            plans.retain(|plan| {
                plan.kernel().family.is_automatic() && self.expected_us(plan) <= PRUNED_ABOVE * least_us
            });
        }
        Ok(plans)
    }

    /// What dispatch chooses by.
    pub fn policy(&self) -> Policy {
        Policy {
            precision: self.precision,
            speeds: self.speeds,
            ..Policy::default()
        }
    }

    fn expected_us(&self, plan: &Plan) -> f64 {
        let Machine { arch, gpu } = &self.machine;
        estimate_us(&plan.work(), &plan.shape(), arch, gpu, &self.speeds).unwrap_or(f64::INFINITY)
    }
}

fn timed(plan: &Plan, us: f64) -> Timed {
    Timed {
        kernel: plan.kernel().symbol.to_owned(),
        tile: [plan.kernel().tile.m, plan.kernel().tile.n],
        splits: plan.work().splits,
        us,
    }
}
