//! The method on a device and a clock that are made up: candidates take the times that they are told to.

mod order;
mod report;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tilewright::Error;

use super::*;
use crate::bench::rows::Subject;
use crate::bench::{Pace, Selection, Suite};

/// What a candidate does on the made-up device.
#[derive(Clone, Debug)]
struct Made {
    name: &'static str,
    /// Microseconds of a launch among others, alone, and among others on zeros.
    us: [f64; 3],
    /// The largest error of its result; `None` for one that is wrong.
    error: Option<f64>,
    /// What becomes of its launches, where they fail.
    fails: Option<fn() -> Error>,
    plan: Option<PlanSummary>,
}

impl Candidate for Made {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn plan(&self) -> Option<PlanSummary> {
        self.plan.clone()
    }
}

/// One that is right, and takes three times as long alone and nine tenths on zeros.
fn made(name: &'static str, us: f64) -> Made {
    Made {
        name,
        us: [us, 3.0 * us, 0.9 * us],
        error: Some(0.25),
        fails: None,
        plan: None,
    }
}

/// A result that is wrong, as the check says it.
fn wrong() -> Error {
    let shape = tilewright_contract::GemmShape::packed(1, 1, 1).expect("small");
    let verdict = tilewright::check::full(&shape, &[1.0_f32], &[1.0], &[2.0]).expect("long enough");
    verdict.into_result().expect_err("1 is not 2")
}

fn refused() -> Error {
    Error::Tool {
        tool: "cuBLAS",
        message: "cublasLtMatmul returned 15 (CUBLAS_STATUS_NOT_SUPPORTED)".to_owned(),
    }
}

fn ours(us: f64) -> Made {
    let plan = PlanSummary {
        kernel: "simt_f32",
        tile: [128, 128],
        splits: 1,
        batch: 1,
        launches: 1,
        block: [256, 1, 1],
        grid: [64, 1, 1],
        a_part_bytes: 0,
        b_part_bytes: 0,
        c_part_bytes: 0,
        barrier_bytes: 0,
        static_smem_bytes: 0,
        dynamic_smem_bytes: 0,
        limit_bytes: 0,
        opt_in: false,
        padded_ld: [None, None],
        padded_bytes: 0,
    };
    Made {
        plan: Some(plan),
        ..made("ours", us)
    }
}

/// What happened on the device, in order.
type Log = Rc<RefCell<Vec<String>>>;

/// A device whose launches take what they are told to, in whose rounds the whole device is a hundredth slower each
/// time.
struct Device {
    peers: Vec<Made>,
    log: Log,
    inputs: Inputs,
    clock: Rc<Cell<Duration>>,
    can_flush: bool,
}

impl Device {
    fn new(peers: Vec<Made>, log: &Log) -> Self {
        Self {
            peers,
            log: Rc::clone(log),
            inputs: Inputs::Random,
            clock: Rc::default(),
            can_flush: true,
        }
    }

    fn spend(&mut self, of: [usize; 2], rounds: usize, candidates: &[&Made]) -> Result<Vec<Vec<f64>>> {
        if let Some(error) = candidates.iter().find_map(|candidate| candidate.fails) {
            return Err(error());
        }
        let at = if self.inputs == Inputs::Zeros { of[1] } else { of[0] };
        let of_round = |round: usize| 1.0 + 0.01 * round as f64;
        let times: Vec<Vec<f64>> = candidates
            .iter()
            .map(|candidate| (0..rounds).map(|round| candidate.us[at] * of_round(round)).collect())
            .collect();
        let took = Duration::from_secs_f64(times.iter().flatten().sum::<f64>() / 1e6);
        self.clock.set(self.clock.get() + took);
        Ok(times)
    }

    fn note(&self, what: &str, candidates: &[&Made]) {
        let names: Vec<_> = candidates.iter().map(|candidate| candidate.name).collect();
        self.log.borrow_mut().push(format!("{what} {}", names.join(" ")));
    }
}

impl Product for Device {
    type Candidate = Made;

    fn baselines(&mut self, row: &Row) -> Result<Baselines<Made>> {
        self.log.borrow_mut().push(format!("baselines of {}", row.name));
        Ok(match row.baseline {
            Baseline::Library => Baselines {
                candidates: self.peers.clone(),
                passed_over: Vec::new(),
            },
            Baseline::Twin => return Err(Error::InvalidArgument("no twins".to_owned())),
            Baseline::Kernel(_) | Baseline::Others => Baselines {
                candidates: vec![made("other kernel", 80.0)],
                passed_over: Vec::new(),
            },
        })
    }

    fn check(&mut self, candidate: &Made) -> Result<f64> {
        self.note("check", &[candidate]);
        candidate.error.ok_or_else(wrong)
    }

    fn fill(&mut self, inputs: Inputs) -> Result<()> {
        self.log.borrow_mut().push(format!("fill {inputs:?}"));
        self.inputs = inputs;
        Ok(())
    }

    fn turns(&mut self, candidates: &[&Made], schedule: Schedule) -> Result<Vec<Vec<f64>>> {
        if candidates.len() == 1 && candidates[0].name != "ours" {
            self.note("try", candidates);
        }
        self.spend([0, 2], schedule.rounds, candidates)
    }

    fn observed_turns(&mut self, candidates: &[&Made], schedule: Schedule) -> Result<Observed> {
        self.note("time", candidates);
        let (clock_mhz, power_w) = match self.inputs {
            Inputs::Random => (1500.0, Some(700.0)),
            Inputs::Zeros => (1980.0, None),
        };
        let telemetry = Telemetry {
            clock_mhz: Some(clock_mhz),
            power_w,
            ..Telemetry::default()
        };
        Ok((self.turns(candidates, schedule)?, Some(telemetry)))
    }

    fn lone(&mut self, candidates: &[&Made], rounds: usize) -> Result<Option<Vec<Vec<f64>>>> {
        if !self.can_flush {
            return Ok(None);
        }
        self.note("lone", candidates);
        self.spend([1, 1], rounds, candidates).map(Some)
    }

    fn now(&self) -> Duration {
        self.clock.get()
    }

    fn sets(&self) -> usize {
        7
    }
}

fn options() -> Options {
    let suite = Suite::of_product([256, 256, 256], 1, &Selection::default()).expect("fits");
    Options {
        device: None,
        suite,
        family: None,
        speeds: tilewright::dispatch::Speeds::default(),
        tuning: None,
        zeros: false,
        pace: Pace::FULL.with_rounds(Some(5)),
        cublas: None,
        twins: None,
        date: String::new(),
        commit: String::new(),
    }
}

fn row(name: &str) -> Row {
    Row {
        name: name.to_owned(),
        ..options().suite.rows.remove(0)
    }
}

/// Measures rows of one product on such a device.
fn measured(rows: &[Row], options: &Options, subject: &Made, device: Device) -> Vec<RowResult> {
    rows_of_product(rows, options, |_| Ok(subject.clone()), |_| Ok(device), &mut |_| {})
}

fn one(peers: Vec<Made>, options: &Options) -> Measurement {
    let results = measured(&[row("a")], options, &ours(100.0), Device::new(peers, &Log::default()));
    results[0]
        .measured()
        .cloned()
        .unwrap_or_else(|| panic!("{:?}", results[0].outcome))
}

fn peer_of(measured: &Measurement) -> Option<&str> {
    measured.peer.as_ref().map(|peer| peer.name.as_str())
}
