//! The order in which the threads of a block and the blocks of a grid run.

use std::fmt;
use std::str::FromStr;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The order of blocks in the grid, of warps in a block and of lanes in a warp. A turn lasts until the thread waits.
///
/// One schedule always gives the same run. The result of a correct kernel does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Ascending indices.
    #[default]
    Forward,
    /// Descending indices.
    Reverse,
    /// Shuffled, anew between any two barriers, from this seed.
    Random(u64),
    /// [`Schedule::EVERY`], one after the other from the same contents of the [buffers](crate::GlobalBuffer); different
    /// results are a fault.
    All,
}

impl Schedule {
    /// The schedules of [`Schedule::All`].
    pub const EVERY: [Schedule; 5] = [
        Schedule::Forward,
        Schedule::Reverse,
        Schedule::Random(1),
        Schedule::Random(2),
        Schedule::Random(3),
    ];

    /// The schedules to run.
    pub(crate) fn each(self) -> Vec<Schedule> {
        match self {
            Schedule::All => Self::EVERY.to_vec(),
            one => vec![one],
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Forward => f.write_str("forward"),
            Schedule::Reverse => f.write_str("reverse"),
            Schedule::Random(seed) => write!(f, "random:{seed}"),
            Schedule::All => f.write_str("all"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "forward" => Ok(Schedule::Forward),
            "reverse" => Ok(Schedule::Reverse),
            "random" => Ok(Schedule::Random(0)),
            "all" => Ok(Schedule::All),
            _ => text
                .strip_prefix("random:")
                .and_then(|seed| seed.parse().ok())
                .map(Schedule::Random)
                .ok_or_else(|| {
                    format!("unknown schedule `{text}`: it is one of forward, reverse, random, random:SEED, all")
                }),
        }
    }
}

/// The turns of one block's threads.
pub(crate) struct Turns {
    schedule: Schedule,
    rng: Option<ChaCha8Rng>,
}

impl Turns {
    /// The turns of the block with this linear index.
    pub(crate) fn of_block(schedule: Schedule, block: u64) -> Self {
        let rng = match schedule {
            Schedule::Random(seed) => Some(ChaCha8Rng::seed_from_u64(
                seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            )),
            _ => None,
        };
        Self { schedule, rng }
    }

    /// Puts `items` (ascending) into the order of their turns.
    pub(crate) fn arrange<T>(&mut self, items: &mut [T]) {
        if self.schedule == Schedule::Reverse {
            items.reverse();
        }
        if let Some(rng) = &mut self.rng {
            // Fisher-Yates. The bias of the remainder is negligible here.
            for i in (1..items.len()).rev() {
                items.swap(i, rng.next_u32() as usize % (i + 1));
            }
        }
    }

    /// Whether the order is the same between all barriers.
    pub(crate) fn is_fixed(&self) -> bool {
        self.rng.is_none()
    }
}

/// The linear index of the block at `position` in the order of `blocks` blocks.
pub(crate) fn block_at(schedule: Schedule, position: u64, blocks: u64) -> u64 {
    match schedule {
        Schedule::Forward | Schedule::All => position,
        Schedule::Reverse => blocks - 1 - position,
        // No table: a grid may have 2^31 blocks. A step coprime to the number of blocks visits each once.
        Schedule::Random(seed) => {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let start = rng.next_u64() % blocks;
            let mut step = rng.next_u64() % blocks.max(2);
            while gcd(step, blocks) != 1 {
                step = step % blocks + 1;
            }
            ((u128::from(start) + u128::from(step) * u128::from(position)) % u128::from(blocks)) as u64
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_visits_every_block_once() {
        for schedule in Schedule::EVERY {
            for blocks in [1, 2, 3, 10, 97, 1000] {
                let mut visited: Vec<u64> = (0..blocks).map(|at| block_at(schedule, at, blocks)).collect();
                visited.sort_unstable();
                assert!(visited.into_iter().eq(0..blocks), "{schedule}, {blocks}");
            }
        }
    }

    #[test]
    fn turns_are_permutations_and_repeat_with_the_seed() {
        let turns = |schedule, block| {
            let mut turns = Turns::of_block(schedule, block);
            let mut items: Vec<u32> = (0..32).collect();
            turns.arrange(&mut items);
            items
        };
        assert_eq!(turns(Schedule::Reverse, 0)[0], 31);
        assert_eq!(turns(Schedule::Random(7), 3), turns(Schedule::Random(7), 3));
        assert_ne!(turns(Schedule::Random(7), 3), turns(Schedule::Random(7), 4));
        let mut sorted = turns(Schedule::Random(7), 3);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..32));
    }

    #[test]
    fn names_are_read_back() {
        for schedule in [
            Schedule::All,
            Schedule::Forward,
            Schedule::Reverse,
            Schedule::Random(42),
        ] {
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        assert!(
            "sideways"
                .parse::<Schedule>()
                .is_err_and(|error| error.contains("random:SEED"))
        );
    }
}
