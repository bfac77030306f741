//! The order in which the threads of a block and the blocks of a grid run.

use std::fmt;
use std::str::FromStr;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The order of blocks in the grid, of warps in a block and of lanes in a warp. A turn lasts until the thread waits, or
/// is pre-empted.
///
/// One schedule always gives the same run. The result of a correct kernel does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Forward, and, if that is without a fault, `Preempt(1)`, without counting traffic; different results are a fault,
    /// as for [`Schedule::All`]. Only forward where nothing can be compared: without checks ([`Checks::Off`]), for
    /// [one block](crate::Launch::only_block), and if the kernel accesses buffers of another thread of the program.
    ///
    /// [`Checks::Off`]: crate::Checks::Off
    #[default]
    Standard,
    /// Ascending indices.
    Forward,
    /// Descending indices.
    Reverse,
    /// Shuffled, anew between any two barriers, from this seed.
    Random(u64),
    /// Descending indices, and threads are pre-empted at atomics, from this seed: in favor of other lanes, of other
    /// warps, or, at an atomic on global memory, of other blocks.
    Preempt(u64),
    /// [`Schedule::EVERY`], one after the other from the same contents of the [buffers](crate::GlobalBuffer); different
    /// results are a fault.
    All,
}

impl Schedule {
    /// The schedules of [`Schedule::All`].
    pub const EVERY: [Schedule; 6] = [
        Schedule::Forward,
        Schedule::Reverse,
        Schedule::Random(1),
        Schedule::Random(2),
        Schedule::Preempt(1),
        Schedule::Preempt(2),
    ];

    /// The schedules to run.
    pub(crate) fn each(self) -> Vec<Schedule> {
        match self {
            Schedule::All => Self::EVERY.to_vec(),
            Schedule::Standard => vec![Schedule::Forward, Schedule::Preempt(1)],
            one => vec![one],
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Standard => f.write_str("standard"),
            Schedule::Forward => f.write_str("forward"),
            Schedule::Reverse => f.write_str("reverse"),
            Schedule::Random(seed) => write!(f, "random:{seed}"),
            Schedule::Preempt(seed) => write!(f, "preempt:{seed}"),
            Schedule::All => f.write_str("all"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of_seed = |name: &str| -> Option<u64> {
            match text.strip_prefix(name)? {
                "" => Some(0),
                rest => rest.strip_prefix(':')?.parse().ok(),
            }
        };
        match text {
            "standard" => Ok(Schedule::Standard),
            "forward" => Ok(Schedule::Forward),
            "reverse" => Ok(Schedule::Reverse),
            "all" => Ok(Schedule::All),
            _ => (of_seed("random").map(Schedule::Random))
                .or_else(|| of_seed("preempt").map(Schedule::Preempt))
                .ok_or_else(|| {
                    format!(
                        "unknown schedule `{text}`: it is one of standard, forward, reverse, random, random:SEED, \
                         preempt, preempt:SEED, all"
                    )
                }),
        }
    }
}

/// A generator for one block.
fn generator(seed: u64, block: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15))
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
            Schedule::Random(seed) => Some(generator(seed, block)),
            _ => None,
        };
        Self { schedule, rng }
    }

    /// Puts `items` (ascending) into the order of their turns.
    pub(crate) fn arrange<T>(&mut self, items: &mut [T]) {
        if matches!(self.schedule, Schedule::Reverse | Schedule::Preempt(_)) {
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

/// Whom an atomic lets run before its thread continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preempted {
    /// Other lanes of the warp.
    Lane,
    /// Other warps of the block.
    Warp,
    /// Other blocks.
    Block,
}

/// The pre-emptions of one block's threads.
///
/// Each thread is pre-empted at its first atomic, so that the second of no thread comes before the first of another:
/// that is where most updates are lost and most locks are crossed. The other atomics are drawn.
#[derive(Default)]
pub(crate) struct Preemption {
    rng: Option<ChaCha8Rng>,
    atomics: u32,
    /// How often other blocks may still run first.
    blocks: u32,
}

impl Preemption {
    /// Atomics of a block half of which are pre-empted; of the later ones a sixteenth is, for the sake of time.
    const FREQUENT: u32 = 1024;
    /// Blocks that let others run first, and how often each does. A block that waits takes memory.
    const BLOCKS: u64 = 8;
    const TURNS: u32 = 16;

    /// Those of the block with this linear index, at `position` in the order of blocks.
    pub(crate) fn of_block(schedule: Schedule, block: u64, position: u64) -> Self {
        let rng = match schedule {
            Schedule::Preempt(seed) => Some(generator(seed, block)),
            _ => None,
        };
        Self {
            rng,
            atomics: 0,
            blocks: if position < Self::BLOCKS { Self::TURNS } else { 0 },
        }
    }

    /// Whether threads are pre-empted at all.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.rng.is_some()
    }

    /// Whether the block lets those of the next launch run first, having allowed it to start.
    pub(crate) fn next_launch(&mut self) -> bool {
        let is_due = self.is_on() && self.blocks > 0;
        self.blocks -= u32::from(is_due);
        is_due
    }

    /// Whether the block's next atomic is pre-empted. `is_global`: on global memory; `is_first`: its thread's first.
    pub(crate) fn next(&mut self, is_global: bool, is_first: bool) -> Option<Preempted> {
        let number = self.rng.as_mut()?.next_u32();
        self.atomics = self.atomics.saturating_add(1);
        let rare = if self.atomics > Self::FREQUENT { 15 } else { 1 };
        if !is_first && number & rare != 0 {
            return None;
        }
        let others = if is_first { 1 } else { number >> 4 & 3 };
        match others {
            0 => Some(Preempted::Lane),
            1 if is_global && self.blocks > 0 => {
                self.blocks -= 1;
                Some(Preempted::Block)
            }
            _ => Some(Preempted::Warp),
        }
    }
}

/// The linear index of the block at `position` in the order of `blocks` blocks.
pub(crate) fn block_at(schedule: Schedule, position: u64, blocks: u64) -> u64 {
    match schedule {
        Schedule::Standard | Schedule::Forward | Schedule::All => position,
        Schedule::Reverse | Schedule::Preempt(_) => blocks - 1 - position,
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
    fn all_schedules_begin_with_the_first_of_the_default_and_have_the_others() {
        let (default, all) = (Schedule::default().each(), Schedule::All.each());
        assert_eq!(default.first(), all.first());
        assert!(default.iter().all(|schedule| all.contains(schedule)));
        // No more than twice the time of one.
        assert!(default.len() <= 2);
    }

    #[test]
    fn few_of_many_atomics_are_preempted() {
        const THREADS: u32 = 128;
        let of_block = |position| {
            let mut preemption = Preemption::of_block(Schedule::Preempt(1), position, position);
            let atomics = 0..20 * THREADS;
            let preempted: Vec<_> = atomics.filter_map(|at| preemption.next(true, at < THREADS)).collect();
            let blocks = preempted.iter().filter(|others| **others == Preempted::Block);
            (preempted.len(), blocks.count())
        };
        // Each thread's first, half of the further ones up to 1024, and a sixteenth of 1536.
        let expected = 128 + 448 + 96;
        for position in 0..16 {
            let (preempted, blocks) = of_block(position);
            assert!(preempted.abs_diff(expected) < 100, "{preempted}, {expected} expected");
            assert_eq!(blocks, if position < 8 { 16 } else { 0 }, "of block {position}");
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
            Schedule::Standard,
            Schedule::Preempt(7),
        ] {
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        assert_eq!("preempt".parse(), Ok(Schedule::Preempt(0)));
        assert!("randomly".parse::<Schedule>().is_err());
        assert!(
            "sideways"
                .parse::<Schedule>()
                .is_err_and(|error| error.contains("random:SEED"))
        );
    }
}
