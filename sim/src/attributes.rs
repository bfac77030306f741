//! Launch bounds of a kernel, `#[kernel(max_threads = ..)]`, and the check of a launch against them.

use crate::dim::Dim3;

/// The options of a `#[kernel(..)]`.
///
/// [`kernels`](crate::device::kernels) lists those of the program. An option that was not written is `None`; an extent
/// that was not written is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelAttributes {
    /// The kernel's name in the PTX.
    pub name: &'static str,
    /// Its path in the source, which tells kernels of two crates apart.
    pub path: &'static str,
    /// `max_threads`, PTX's `.maxntid`: the product is the most threads that a block may have.
    pub max_threads: Option<[u32; 3]>,
    /// `min_blocks`, PTX's `.minnctapersm`: resident blocks that an SM must have registers for.
    pub min_blocks: Option<u32>,
    /// `max_registers`, PTX's `.maxnreg`: registers of a thread.
    pub max_registers: Option<u32>,
    /// `cluster`, PTX's `.reqnctapercluster`: blocks of a cluster along each axis.
    pub cluster: Option<[u32; 3]>,
    /// `smem_spilling`, PTX's `.pragma "enable_smem_spilling"`: registers are spilled into shared memory first.
    pub smem_spilling: bool,
    /// `assume_max_threads`: spills into shared memory although `max_threads` is not given.
    pub assume_max_threads: bool,
}

impl KernelAttributes {
    /// Checks whether a GPU of this compute capability (times a hundred: 900 for 9.0) accepts a launch of `grid` blocks
    /// of `block` threads.
    ///
    /// # Errors
    /// The reason for the refusal, with both numbers.
    pub fn check_launch(&self, grid: Dim3, block: Dim3, compute_capability: u32) -> Result<(), String> {
        let name = self.name;
        if let Some(most) = self.max_threads.map(Dim3::from) {
            // The product counts, not the single extent (PTX ISA, ".maxntid").
            let threads = block.count();
            if threads > most.count() {
                let most = most.count();
                return Err(format!(
                    "a block of {block} = {threads} threads, kernel `{name}` is compiled for at most {most} \
                     (max_threads)"
                ));
            }
        }
        if let Some(cluster) = self.cluster.map(Dim3::from) {
            if compute_capability < 900 {
                let (major, minor) = (compute_capability / 100, compute_capability / 10 % 10);
                return Err(format!(
                    "clusters of {cluster} blocks for kernel `{name}`, compute capability {major}.{minor} has none: \
                     9.0 is the first"
                ));
            }
            let axes = grid.to_array().into_iter().zip(cluster.to_array()).zip(["x", "y", "z"]);
            for ((blocks, extent), axis) in axes {
                if extent == 0 || !blocks.is_multiple_of(extent) {
                    return Err(format!(
                        "a grid of {blocks} blocks along {axis}, kernel `{name}` needs a multiple of {extent} (cluster)"
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: KernelAttributes = KernelAttributes {
        name: "k",
        path: "crate::k",
        max_threads: Some([16, 8, 1]),
        min_blocks: Some(2),
        max_registers: None,
        cluster: Some([2, 1, 4]),
        smem_spilling: false,
        assume_max_threads: false,
    };

    #[test]
    fn launches_outside_the_attributes_are_refused_with_both_numbers() {
        let check = |grid: [u32; 3], block: [u32; 3], capability| {
            KERNEL.check_launch(grid.into(), block.into(), capability).unwrap_err()
        };
        assert_eq!(
            check([2, 1, 4], [43, 3, 1], 900),
            "a block of 43 x 3 x 1 = 129 threads, kernel `k` is compiled for at most 128 (max_threads)"
        );
        assert_eq!(
            check([4, 7, 6], [1, 1, 1], 900),
            "a grid of 6 blocks along z, kernel `k` needs a multiple of 4 (cluster)"
        );
        assert_eq!(
            check([2, 1, 4], [1, 1, 1], 890),
            "clusters of 2 x 1 x 4 blocks for kernel `k`, compute capability 8.9 has none: 9.0 is the first"
        );
    }

    #[test]
    fn what_is_within_them_or_was_not_said_is_launched() {
        // 128 threads in another shape: only the product is promised.
        assert_eq!(KERNEL.check_launch([4, 7, 8].into(), [128, 1, 1].into(), 1210), Ok(()));
        let silent = KernelAttributes {
            max_threads: None,
            cluster: None,
            ..KERNEL
        };
        assert_eq!(silent.check_launch([5, 1, 1].into(), [1024, 1, 1].into(), 750), Ok(()));
    }
}
