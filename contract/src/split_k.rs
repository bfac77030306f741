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

/// Rounds of the tree for `splits` splits, and slots that the last CTA of each round loads one after the other, in all.
pub const fn rounds(splits: u32) -> (u32, u32) {
    let (mut levels, mut reads, mut left) = (0, 0, splits);
    while left > 1 {
        levels += 1;
        reads += if left < GROUP { left } else { GROUP };
        left = left.div_ceil(GROUP);
    }
    (levels, reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_those_of_a_tree() {
        for (splits, expected) in [
            (1, (0, 0)),
            (2, (1, 2)),
            (8, (1, 8)),
            (9, (2, 10)),
            (64, (2, 16)),
            (65, (3, 18)),
        ] {
            assert_eq!(rounds(splits), expected, "{splits}");
        }
    }
}
