//! Accumulators of `wgmma` that a thread has not waited for.
//!
//! Until it has, its registers hold signaling NaNs that name them. A thread that computes with one gets a NaN, and the
//! arithmetic makes it a quiet one or changes its sign: who finds that knows that the accumulator was used too early.

use std::collections::HashMap;

use crate::analysis::agents::Operation;

/// Bits of a NaN that are the number of an accumulator in its thread, at most 128 of them.
const INDEX_BITS: u32 = 7;
/// Bits that are the number of the `wgmma`: all others of the fraction but the one of quiet NaNs.
const NUMBER_BITS: u32 = 22 - INDEX_BITS;
/// The exponent of infinities and NaNs.
const EXPONENT: u32 = 0x7f80_0000;
/// What arithmetic sets, and negation.
const USED: u32 = 1 << 31 | 1 << 22;

/// What a NaN names.
struct Name {
    number: u32,
    index: usize,
    is_used: bool,
}

impl Name {
    fn of(value: f32) -> Option<Self> {
        let bits = value.to_bits();
        let number = bits >> INDEX_BITS & ((1 << NUMBER_BITS) - 1);
        (bits & EXPONENT == EXPONENT && number > 0).then_some(Self {
            number,
            index: (bits & ((1 << INDEX_BITS) - 1)) as usize,
            is_used: bits & USED != 0,
        })
    }
}

/// An accumulator was used before the thread has waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsedTooEarly;

/// What a `wgmma` has left in a thread's accumulators.
struct Sums {
    values: Vec<f32>,
    operation: Operation,
    is_complete: bool,
}

/// Those of one thread.
#[derive(Default)]
pub(super) struct Unwaited {
    of: HashMap<u32, Sums>,
    last: u32,
}

impl Unwaited {
    /// The values of accumulators: what a `wgmma` has left, or what is in the registers.
    pub(super) fn values(&self, registers: &[f32]) -> Result<Vec<f32>, UsedTooEarly> {
        // All of them are usually of one.
        let mut latest: Option<(u32, &Sums)> = None;
        let value = |(index, &register): (usize, &f32)| {
            let Some(name) = Name::of(register) else {
                return Ok(register);
            };
            let sums = match latest {
                Some((number, sums)) if number == name.number => Some(sums),
                _ => self.of.get(&name.number),
            };
            let Some(sums) = sums else { return Ok(register) };
            latest = Some((name.number, sums));
            // Used, or copied to the place of another.
            match name.is_used || name.index != index {
                true => Err(UsedTooEarly),
                false => Ok(sums.values[index]),
            }
        };
        registers.iter().enumerate().map(value).collect()
    }

    /// Takes the place of the accumulators, in which an operation leaves `values`.
    pub(super) fn start(&mut self, accumulators: &mut [f32], values: Vec<f32>, operation: Operation) {
        if let Some(name) = Name::of(accumulators[0]) {
            self.of.remove(&name.number);
        }
        self.last = self.last % ((1 << NUMBER_BITS) - 1) + 1;
        for (index, accumulator) in accumulators.iter_mut().enumerate() {
            *accumulator = f32::from_bits(EXPONENT | self.last << INDEX_BITS | index as u32);
        }
        let sums = Sums {
            values,
            operation,
            is_complete: false,
        };
        self.of.insert(self.last, sums);
    }

    /// The thread has waited for operations.
    pub(super) fn complete(&mut self, operations: &[Operation]) {
        for sums in self.of.values_mut() {
            sums.is_complete |= operations.contains(&sums.operation);
        }
    }

    /// Puts the values of a complete operation into the registers.
    pub(super) fn reveal(&mut self, accumulators: &mut [f32]) -> Result<(), UsedTooEarly> {
        let mut names = accumulators.iter().filter_map(|&accumulator| Name::of(accumulator));
        let is_complete = |name: &Name| self.of.get(&name.number).is_some_and(|sums| sums.is_complete);
        if let Some(name) = names.find(is_complete) {
            accumulators.copy_from_slice(&self.values(accumulators)?);
            self.of.remove(&name.number);
        }
        Ok(())
    }

    /// Whether a word that is stored is an accumulator, or was computed of one.
    pub(super) fn has_named(&self, word: f32) -> bool {
        Name::of(word).is_some_and(|name| {
            let sums = self.of.get(&name.number);
            sums.is_some_and(|sums| name.index < sums.values.len())
        })
    }
}
