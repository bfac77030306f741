//! Where the device memory of a launch besides its operands is: counters and accumulators of split-K, padded operands.

use crate::dispatch::Plan;

/// What the address of a workspace is a multiple of, and each region in it: a row of a padded operand then starts at a
/// line of L2.
pub const WORKSPACE_ALIGNMENT_BYTES: usize = 256;

/// Bytes of the counters' region at least, so that products of different plans find their zeros in the same place.
/// A split-K product with more than 16384 counters is rare.
const COUNTERS_BYTES: usize = 64 << 10;

/// Offsets from the workspace's address, in bytes:
///
/// ```text
/// | counters | accumulators | padded A | padded B |
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkspaceLayout {
    /// The counters' region; 0 only where there is no workspace at all.
    pub(super) counters_bytes: usize,
    /// The partial accumulators of split-K.
    pub(super) accumulators: usize,
    /// The padded A and B.
    pub(super) copies: [usize; 2],
    /// The whole.
    pub(super) bytes: usize,
    /// Whether the kernel counts.
    pub(super) has_counters: bool,
}

impl WorkspaceLayout {
    pub(super) fn of(plan: &Plan) -> Self {
        let aligned = |bytes: usize| bytes.next_multiple_of(WORKSPACE_ALIGNMENT_BYTES);
        let accumulator_bytes = aligned(plan.workspace_elems() * size_of::<f32>());
        let copy_bytes = plan
            .copies()
            .map(|copy| aligned(copy.map_or(0, |copy| copy.to_bytes() as usize)));
        let has_counters = plan.counters() > 0;
        if !has_counters && accumulator_bytes + copy_bytes[0] + copy_bytes[1] == 0 {
            return Self::default();
        }
        let counters_bytes = aligned(plan.counters() * size_of::<u32>()).max(COUNTERS_BYTES);
        let first_copy = counters_bytes + accumulator_bytes;
        let second_copy = first_copy + copy_bytes[0];
        Self {
            counters_bytes,
            accumulators: counters_bytes,
            copies: [first_copy, second_copy],
            bytes: second_copy + copy_bytes[1],
            has_counters,
        }
    }
}

#[cfg(test)]
mod tests {
    use tilewright_contract::{DType, Family, GemmShape};

    use super::*;
    use crate::device::DeviceProfile;
    use crate::dispatch::{Policy, plan};

    fn layout(shape: GemmShape, family: Family, splits: u32) -> (Plan, WorkspaceLayout) {
        let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
        let policy = Policy {
            family: Some(family),
            splits: Some(splits),
            ..Policy::default()
        };
        let plan = plan(&shape, DType::F16, &device, &policy).expect("it fits");
        let layout = WorkspaceLayout::of(&plan);
        (plan, layout)
    }

    #[test]
    fn a_plain_product_has_no_workspace() {
        let (_, layout) = layout(GemmShape::packed(256, 256, 256).expect("valid"), Family::WGMMA, 1);
        assert_eq!(layout, WorkspaceLayout::default());
    }

    #[test]
    fn regions_follow_one_another_aligned() {
        let shape = GemmShape::with_ld(301, 263, 515, 515, 263, 263).expect("valid");
        for splits in [1, 3] {
            let (plan, layout) = layout(shape, Family::WGMMA, splits);
            let [a, b] = plan.copies().map(|copy| copy.expect("odd rows").to_bytes() as usize);
            assert_eq!(layout.has_counters, splits > 1);
            assert_eq!(layout.counters_bytes, COUNTERS_BYTES);
            assert!(layout.accumulators >= plan.counters() * 4);
            assert!(layout.copies[0] >= layout.accumulators + plan.workspace_elems() * 4);
            assert!(layout.copies[1] >= layout.copies[0] + a && layout.bytes >= layout.copies[1] + b);
            let starts = [layout.accumulators, layout.copies[0], layout.copies[1], layout.bytes];
            assert!(
                starts
                    .iter()
                    .all(|start| start.is_multiple_of(WORKSPACE_ALIGNMENT_BYTES))
            );
            // No more than alignment wastes.
            let held = COUNTERS_BYTES + plan.workspace_elems() * 4 + a + b;
            assert!(layout.bytes < held + 3 * WORKSPACE_ALIGNMENT_BYTES);
        }
    }
}
