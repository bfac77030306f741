//! How long launches take: in turns, each between two events of the device, none waiting for the host.

use std::time::{Duration, Instant};

use cust::event::{Event, EventFlags};

use super::operands::Set;
use crate::element::Element;
use crate::error::{DriverCall, Result};
use crate::launch::{DeviceMatrix, Gpu};

/// Launches that are shorter than this are timed several at once: events are half a microsecond apart, and the gap between two
/// launches is part of what a user waits for.
const SHORT_US: f64 = 50.0;
/// How long such a batch is at least, and the most launches of one.
const BATCH_US: f64 = 200.0;
const MOST_LAUNCHES: usize = 40;

/// What all rounds of a row take at most, and how many there are at least and at most.
const ROW_US: f64 = 1e6;
const LEAST_ROUNDS: usize = 9;
const MOST_ROUNDS: usize = 99;

/// How long the device is kept busy before anything counts: clocks rise within it.
const WARM_UP: Duration = Duration::from_millis(200);

/// Bytes that are written to keep the device busy while launches are enqueued, and how many launches one such write covers. The
/// host takes five microseconds for a launch, an H200 about eighty for the write.
const HEAD_START_BYTES: usize = 256 << 20;
const LAUNCHES_OF_A_HEAD_START: usize = 8;

/// What is timed: enqueues one product.
pub type Contender<'c, 'gpu, T> = &'c mut dyn FnMut(&mut Set<'gpu, T>) -> Result<()>;

/// How often each contender runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Rounds; in each, every contender has its turn.
    pub rounds: usize,
    /// Launches of one turn.
    pub launches: usize,
}

impl Schedule {
    /// For contenders that take so many microseconds; `rounds` where they are given.
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
    /// [`Error::Driver`](crate::Error::Driver) without memory.
    pub fn new(gpu: &'gpu Gpu) -> Result<Self> {
        Ok(Self {
            gpu,
            scratch: gpu.uninitialized(HEAD_START_BYTES / size_of::<f32>())?,
        })
    }

    /// Microseconds of one launch, the fastest of `rounds`. The first launch ever of a kernel loads it and is not counted.
    ///
    /// # Errors
    /// The contender's, or the device's.
    pub fn fastest_us<T: Element>(
        &mut self,
        sets: &mut [Set<'gpu, T>],
        contender: Contender<'_, 'gpu, T>,
        rounds: usize,
    ) -> Result<f64> {
        contender(&mut sets[0])?;
        let schedule = Schedule { rounds, launches: 1 };
        let times = self.interleave(sets, &mut [contender], schedule)?;
        Ok(times.iter().flatten().copied().fold(f64::INFINITY, f64::min))
    }

    /// Keeps the device busy with the contenders in turns for [`WARM_UP`]. Returns the microseconds of the fastest launch of each.
    ///
    /// # Errors
    /// The contenders', or the device's.
    pub fn warm_up<T: Element>(
        &mut self,
        sets: &mut [Set<'gpu, T>],
        contenders: &mut [Contender<'_, 'gpu, T>],
    ) -> Result<Vec<f64>> {
        let start = Instant::now();
        let mut fastest = vec![f64::INFINITY; contenders.len()];
        while start.elapsed() < WARM_UP {
            let schedule = Schedule { rounds: 3, launches: 1 };
            for (fastest, times) in fastest.iter_mut().zip(self.interleave(sets, contenders, schedule)?) {
                *fastest = times.into_iter().fold(*fastest, f64::min);
            }
        }
        Ok(fastest)
    }

    /// Microseconds of a launch of each contender, for each round: A-B-A-B, through the sets in turns.
    ///
    /// Everything is enqueued before anything is waited for, behind a write that keeps the device busy meanwhile, so that no launch
    /// waits for the host.
    ///
    /// # Errors
    /// The contenders', or the device's.
    pub fn interleave<T: Element>(
        &mut self,
        sets: &mut [Set<'gpu, T>],
        contenders: &mut [Contender<'_, 'gpu, T>],
        schedule: Schedule,
    ) -> Result<Vec<Vec<f64>>> {
        let event = || Event::new(EventFlags::DEFAULT).of_call("cuEventCreate");
        let mut turns = Vec::new();
        for _ in 0..schedule.rounds * contenders.len() {
            turns.push((event()?, event()?));
        }
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
                contenders[turn % contenders.len()](&mut sets[at])?;
            }
            end.record(self.gpu.stream()).of_call("cuEventRecord")?;
        }
        self.gpu.synchronize()?;
        let mut times = vec![Vec::with_capacity(schedule.rounds); contenders.len()];
        for (turn, (begin, end)) in turns.iter().enumerate() {
            let ms = end.elapsed_time_f32(begin).of_call("cuEventElapsedTime")?;
            times[turn % contenders.len()].push(f64::from(ms) * 1e3 / schedule.launches as f64);
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

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
}
