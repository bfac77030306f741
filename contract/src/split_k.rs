//! Split-K reduction tree.
//!
//! CTAs that share a tile of C store their accumulators in the workspace, one slot per split. In groups of [`GROUP`]
//! neighbors the CTA that arrives last adds up its group's slots; groups of groups follow, until one CTA holds the
//! total. A CTA loads some 0.1 TB/s from L2, so one CTA that adds up 64 splits alone takes longer than the splits
//! themselves; 8 and 8 take a quarter of the time. The order of additions is the same whichever CTA arrives last.

/// Slots that one CTA adds up at a time, a power of two.
pub const GROUP: u32 = 1 << GROUP_SHIFT;

/// Binary logarithm of [`GROUP`].
pub const GROUP_SHIFT: u32 = 3;

/// Slots that a thread loads before it adds the first, so that the latency of L2 counts once for them: as many as
/// kernels with so many accumulators have registers for. `elems_per_thread`: partial accumulators of a thread in a
/// slot, in f32.
pub const fn slots_at_once(elems_per_thread: u32) -> u32 {
    match elems_per_thread {
        0..=8 => GROUP,
        9..=16 => 3,
        17..=32 => 2,
        _ => 1,
    }
}

/// What the last CTAs of each round of the tree do, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// How many rounds there are.
    pub levels: u32,
    /// Slots that are added up.
    pub slots: u32,
    /// Times that a thread waits for slots, of which it loads [several at once](slots_at_once).
    pub waits: u32,
}

/// The rounds of the tree for `splits` splits.
pub const fn rounds(splits: u32, slots_at_once: u32) -> Rounds {
    let mut rounds = Rounds {
        levels: 0,
        slots: 0,
        waits: 0,
    };
    let mut left = splits;
    while left > 1 {
        let slots = if left < GROUP { left } else { GROUP };
        rounds.levels += 1;
        rounds.slots += slots;
        rounds.waits += slots.div_ceil(slots_at_once);
        left = left.div_ceil(GROUP);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_those_of_a_tree() {
        for (splits, expected) in [
            (1, [0, 0, 0]),
            (2, [1, 2, 1]),
            (8, [1, 8, 2]),
            (9, [2, 10, 3]),
            (64, [2, 16, 4]),
            (65, [3, 18, 5]),
        ] {
            let Rounds { levels, slots, waits } = rounds(splits, 4);
            assert_eq!([levels, slots, waits], expected, "{splits}");
        }
    }

    #[test]
    fn slots_fit_into_registers() {
        assert_eq!([1, 8, 16, 24, 32, 64, 96].map(slots_at_once), [8, 8, 3, 2, 2, 1, 1]);
    }
}
