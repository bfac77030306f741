//! Limits of an architecture on launches.

use cuda_arch::Architecture;

use crate::dim::Dim3;

/// Limits that launches are checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The architecture, such as `sm_90`.
    pub name: String,
    /// The compute capability times a hundred, as in `CUDA_ARCH`: 900 for 9.0.
    pub compute_capability: u32,
    /// Static shared memory of a block, in bytes.
    pub static_shared_bytes: u32,
    /// Shared memory of a block, static and dynamic together, after opting in, in bytes.
    pub shared_bytes: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Extents of a block, in threads.
    pub block: Dim3,
    /// Extents of a grid, in blocks.
    pub grid: Dim3,
}

impl Limits {
    /// The limits of an architecture by its name (`sm_120`, `sm_90a`, `12.0`); `None` if it is not known.
    pub fn of_arch(name: &str) -> Option<Self> {
        cuda_arch::find(name).ok().map(Self::from)
    }

    pub(crate) fn shared_limit_name(&self) -> String {
        format!("the most that {} gives a block", self.name)
    }
}

impl Default for Limits {
    /// The limits of `sm_90`.
    fn default() -> Self {
        Self::of_arch("sm_90").expect("in the table")
    }
}

impl From<&Architecture> for Limits {
    fn from(arch: &Architecture) -> Self {
        let (major, minor) = (arch.compute_capability.major, arch.compute_capability.minor);
        Self {
            name: arch.name.to_owned(),
            compute_capability: major * 100 + minor * 10,
            static_shared_bytes: arch.smem_per_block,
            shared_bytes: arch.smem_per_block_optin,
            threads_per_block: arch.threads_per_block,
            block: arch.block_extents.into(),
            grid: arch.grid_extents.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_found_by_name() {
        let limits = Limits::of_arch("sm_120").expect("known");
        assert_eq!((limits.shared_bytes, limits.compute_capability), (101_376, 1200));
        assert_eq!(Limits::default().shared_bytes, 232_448);
        assert_eq!(Limits::of_arch("sm_77"), None);
    }
}
