//! How long launches take: in turns, each between two events of the device, none waiting for the host.

use std::time::Duration;

use cust::event::{Event, EventFlags};
use tilewright::launch::{DeviceMatrix, Gpu};
use tilewright::{DriverCall, Result};

use super::operands::l2_bytes;

/// Launches that are shorter than this are timed several at once: events are half a microsecond apart, and the gap
/// between two launches is part of what a user waits for.
const SHORT_US: f64 = 50.0;
/// How long such a batch is at least, and the most launches of one.
const BATCH_US: f64 = 200.0;
const MOST_LAUNCHES: usize = 40;

/// What all rounds of a row take at most, and how many there are at least and at most.
const ROW_US: f64 = 1e6;
const LEAST_ROUNDS: usize = 9;
const MOST_ROUNDS: usize = 99;

/// What the lone launches of a row take at most, and how many of each candidate there are at least and at most.
const LONE_US: f64 = 3e5;
const LEAST_LONE: usize = 5;
const MOST_LONE: usize = 25;

/// How long a row is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long the device is kept busy before anything counts: clocks rise within it.
    pub warm_up: Duration,
    /// Rounds; without it as many as a second has room for.
    pub rounds: Option<usize>,
    /// Lone launches of each candidate, within 5 to 25; without it as many of these as 0.3 seconds have room for.
    pub lone: Option<usize>,
}

impl Pace {
    /// For rows that each count: clocks and power have settled, and quartiles are of up to 99 rounds.
    pub const FULL: Self = Self {
        warm_up: Duration::from_millis(200),
        rounds: None,
        lone: None,
    };

    /// For many rows that count together.
    pub const QUICK: Self = Self {
        warm_up: Duration::from_millis(50),
        rounds: Some(LEAST_ROUNDS),
        lone: Some(LEAST_LONE),
    };

    /// With so many rounds, where they are given, and as many lone launches.
    #[must_use]
    pub fn with_rounds(self, rounds: Option<usize>) -> Self {
        match rounds {
            None => self,
            Some(_) => Self {
                rounds,
                lone: rounds,
                ..self
            },
        }
    }
}

/// Bytes that are written to keep the device busy while launches are enqueued, at least, and how many launches one such
/// write covers. The host takes five microseconds for a launch, an H200 about eighty for the write.
const HEAD_START_BYTES: usize = 256 << 20;
const LAUNCHES_OF_A_HEAD_START: usize = 8;

/// Enqueues one product: of the candidate of this number, on this set of operands.
pub type Launch<'c, S> = &'c mut dyn FnMut(usize, &mut S) -> Result<()>;

/// How often each candidate runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Rounds; in each, every candidate has its turn.
    pub rounds: usize,
    /// Launches of one turn.
    pub launches: usize,
}

impl Schedule {
    /// For candidates that take so many microseconds; `rounds` where they are given.
    pub fn of(us: &[f64], rounds: Option<usize>) -> Self {
        let fastest = us.iter().copied().fold(f64::INFINITY, f64::min).max(0.1);
        let launches = if fastest < SHORT_US {
            ((BATCH_US / fastest).ceil() as usize).min(MOST_LAUNCHES)
        } else {
            1
        };
        let of_a_round = us.iter().sum::<f64>() * launches as f64;
        let affordable = (ROW_US / of_a_round) as usize;
        Self {
            rounds: rounds
                .unwrap_or_else(|| affordable.clamp(LEAST_ROUNDS, MOST_ROUNDS))
                .max(1),
            launches,
        }
    }

    /// Lone launches of each of such candidates; at most `lone`, where it is given.
    pub fn lone_rounds(us: &[f64], lone: Option<usize>) -> usize {
        let affordable = (LONE_US / us.iter().sum::<f64>().max(0.1)) as usize;
        lone.unwrap_or(MOST_LONE).min(affordable).clamp(LEAST_LONE, MOST_LONE)
    }
}

/// Times launches on one device.
pub struct Timer<'gpu> {
    gpu: &'gpu Gpu,
    scratch: DeviceMatrix<'gpu, f32>,
}

impl<'gpu> Timer<'gpu> {
    /// A timer with its scratch memory.
    ///
    /// # Errors
    /// [`Error::Driver`](tilewright::Error::Driver) without memory.
    pub fn new(gpu: &'gpu Gpu) -> Result<Self> {
        let bytes = scratch_bytes(l2_bytes(gpu));
        Ok(Self {
            gpu,
            scratch: gpu.uninitialized(bytes / size_of::<f32>())?,
        })
    }

    /// Bytes that are written before a lone launch.
    pub fn flushed_bytes(&self) -> u64 {
        (self.scratch.len() * size_of::<f32>()) as u64
    }

    /// Microseconds of a launch of each of so many candidates, for each round: A-B-A-B, through the sets in turns.
    ///
    /// Everything is enqueued before anything is waited for, behind a write that keeps the device busy meanwhile, so
    /// that no launch waits for the host.
    ///
    /// # Errors
    /// The candidates', or the device's.
    pub fn turns<S>(
        &mut self,
        sets: &mut [S],
        candidates: usize,
        schedule: Schedule,
        launch: Launch<'_, S>,
    ) -> Result<Vec<Vec<f64>>> {
        let turns = self.events(schedule.rounds * candidates)?;
        let mut next = 0;
        for (turn, (begin, end)) in turns.iter().enumerate() {
            // Long launches stay ahead of the host once the first has begun.
            if turn == 0 || schedule.launches > 1 {
                for _ in 0..schedule.launches.div_ceil(LAUNCHES_OF_A_HEAD_START) {
                    self.scratch.fill_bytes(0)?;
                }
            }
            begin.record(self.gpu.stream()).of_call("cuEventRecord")?;
            for _ in 0..schedule.launches {
                let at = next % sets.len();
                next += 1;
                launch(turn % candidates, &mut sets[at])?;
            }
            end.record(self.gpu.stream()).of_call("cuEventRecord")?;
        }
        self.times(&turns, candidates, schedule.launches)
    }

    /// Microseconds of a lone launch of each of so many candidates, for each round: A-B-A-B. Before each, more than the
    /// second-level cache holds is written, which takes the operands out of it and keeps the device busy until launch
    /// and events are enqueued.
    ///
    /// # Errors
    /// The candidates', or the device's.
    pub fn lone<S>(
        &mut self,
        sets: &mut [S],
        candidates: usize,
        rounds: usize,
        launch: Launch<'_, S>,
    ) -> Result<Vec<Vec<f64>>> {
        let turns = self.events(rounds * candidates)?;
        for (turn, (begin, end)) in turns.iter().enumerate() {
            let at = turn % sets.len();
            self.scratch.fill_bytes(0)?;
            begin.record(self.gpu.stream()).of_call("cuEventRecord")?;
            launch(turn % candidates, &mut sets[at])?;
            end.record(self.gpu.stream()).of_call("cuEventRecord")?;
        }
        self.times(&turns, candidates, 1)
    }

    /// The events around so many turns.
    fn events(&self, turns: usize) -> Result<Vec<(Event, Event)>> {
        let event = || Event::new(EventFlags::DEFAULT).of_call("cuEventCreate");
        (0..turns).map(|_| Ok((event()?, event()?))).collect()
    }

    /// Waits for the turns. Returns the microseconds of a launch, by candidate and round.
    fn times(&self, turns: &[(Event, Event)], candidates: usize, launches: usize) -> Result<Vec<Vec<f64>>> {
        self.gpu.synchronize()?;
        let mut times = vec![Vec::with_capacity(turns.len() / candidates.max(1)); candidates];
        for (turn, (begin, end)) in turns.iter().enumerate() {
            let ms = end.elapsed_time_f32(begin).of_call("cuEventElapsedTime")?;
            times[turn % candidates].push(f64::from(ms) * 1e3 / launches as f64);
        }
        Ok(times)
    }
}

/// Bytes to write so that nothing else is left in a second-level cache of this size: twice as many, and no fewer than a
/// head start takes.
fn scratch_bytes(l2_bytes: usize) -> usize {
    HEAD_START_BYTES.max(2 * l2_bytes)
}

#[cfg(test)]
mod tests {
    use super::{Pace, Schedule, scratch_bytes};

    #[test]
    fn short_launches_are_batched_and_long_ones_are_few() {
        let of = |us: &[f64]| Schedule::of(us, None);
        assert_eq!(
            of(&[5.0, 8.0]),
            Schedule {
                rounds: 99,
                launches: 40
            }
        );
        assert_eq!(
            of(&[40.0, 60.0]),
            Schedule {
                rounds: 99,
                launches: 5
            }
        );
        assert_eq!(
            of(&[2500.0, 2500.0]),
            Schedule {
                rounds: 99,
                launches: 1
            }
        );
        assert_eq!(
            of(&[20_000.0, 20_000.0]),
            Schedule {
                rounds: 25,
                launches: 1
            }
        );
        assert_eq!(of(&[170_000.0, 170_000.0]), Schedule { rounds: 9, launches: 1 });
        assert_eq!(Schedule::of(&[170_000.0], Some(3)).rounds, 3);
        assert_eq!(Schedule::of(&[1.0], Some(0)).rounds, 1);
    }

    #[test]
    fn lone_launches_are_few_where_one_takes_long() {
        let of = |us: &[f64]| Schedule::lone_rounds(us, None);
        assert_eq!(of(&[5.0, 8.0]), 25);
        assert_eq!(of(&[10_000.0, 20_000.0]), 10);
        assert_eq!(of(&[170_000.0, 170_000.0]), 5);
        assert_eq!(Schedule::lone_rounds(&[5.0], Some(9)), 9);
        assert_eq!(Schedule::lone_rounds(&[5.0], Some(1)), 5);
        assert_eq!(Schedule::lone_rounds(&[5.0], Some(10_000)), 25);
    }

    #[test]
    fn a_quick_row_takes_the_fewest_rounds_and_a_number_of_rounds_replaces_them() {
        let of = |pace: Pace| {
            let rounds = Schedule::of(&[20.0, 30.0], pace.rounds).rounds;
            (rounds, Schedule::lone_rounds(&[20.0, 30.0], pace.lone))
        };
        assert_eq!((of(Pace::FULL), of(Pace::QUICK)), ((99, 25), (9, 5)));
        assert_eq!(Pace::QUICK.with_rounds(None), Pace::QUICK);
        for pace in [Pace::FULL, Pace::QUICK] {
            let fifteen = pace.with_rounds(Some(15));
            assert_eq!((of(fifteen), fifteen.warm_up), ((15, 15), pace.warm_up));
        }
        assert!(4 * Pace::QUICK.warm_up <= Pace::FULL.warm_up);
    }

    #[test]
    fn the_flush_is_larger_than_the_cache() {
        const MIB: usize = 1 << 20;
        // An H200, and a cache larger than any of today.
        assert_eq!(scratch_bytes(50 * MIB), 256 * MIB);
        assert_eq!(scratch_bytes(200 * MIB), 400 * MIB);
    }
}
