//! How the sums of slices of K meet.
//!
//! Blocks that share a tile of C leave their sums in a workspace, one slot a slice. In groups of [`GROUP`] neighbours
//! the block that comes last adds up its group's slots; groups of groups follow, until one block has all. A block moves
//! some 0.1 TB/s from L2, so that one block that adds up 64 slices alone takes longer than the slices themselves; 8 and
//! 8 are read in a quarter of the time. The order of additions is the same whichever block comes last.

/// Slots that one block adds up at a time, a power of two.
pub const GROUP: u32 = 1 << GROUP_SHIFT;

/// The power.
pub const GROUP_SHIFT: u32 = 3;

/// Times that a block waits for its group until all of `slices` have met, and slots that the last block of each group
/// reads one after the other, in all.
pub const fn rounds(slices: u32) -> (u32, u32) {
    let (mut levels, mut reads, mut left) = (0, 0, slices);
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
        for (slices, expected) in [
            (1, (0, 0)),
            (2, (1, 2)),
            (8, (1, 8)),
            (9, (2, 10)),
            (64, (2, 16)),
            (65, (3, 18)),
        ] {
            assert_eq!(rounds(slices), expected, "{slices}");
        }
    }
}
