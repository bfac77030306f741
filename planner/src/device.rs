//! A device as its driver describes it, and what the table of architectures says of the same device.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cuda_arch::{Architecture, ComputeCapability};
use serde::Serialize;

use crate::gpu_models::GpuModel;

/// The limits of one device or of one architecture. Sizes of shared memory are in bytes; NVIDIA's "KB" of shared memory
/// is 1024 bytes.
///
/// Identity on every architecture since 8.0: `smem_per_sm = smem_per_block_optin + smem_reserved_per_block`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct DeviceProfile {
    /// The device's name.
    pub name: String,
    /// Compute capability, `(major, minor)`.
    pub compute_capability: (u32, u32),
    /// Shared memory of a CTA without opting in: 48 KiB on every architecture (attribute 8, `sharedMemPerBlock`).
    pub smem_per_block: u32,
    /// Shared memory of a CTA, static and dynamic together, after opting in (attribute 97).
    pub smem_per_block_optin: u32,
    /// Shared memory of an SM (attribute 81).
    pub smem_per_sm: u32,
    /// What the driver takes of the SM's shared memory for each resident CTA (attribute 111). The opt-in limit does not
    /// contain it: it must not be subtracted again.
    pub smem_reserved_per_block: u32,
    /// 32-bit registers of an SM (attribute 82).
    pub registers_per_sm: u32,
    /// 32-bit registers of a CTA (attribute 12).
    pub registers_per_block: u32,
    /// Threads of a CTA (attribute 1).
    pub threads_per_block: u32,
    /// Resident threads of an SM (attribute 39).
    pub threads_per_sm: u32,
    /// Resident CTAs of an SM (attribute 106).
    pub blocks_per_sm: u32,
    /// Threads of a warp (attribute 10).
    pub warp_size: u32,
    /// What the architecture leaves to the GPU model. `None` in a profile of an architecture: models differ by a factor
    /// of ten.
    #[serde(flatten)]
    pub installed: Option<Installed>,
}

/// What only a device itself tells: GPU models of one architecture differ in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Installed {
    /// SMs (attribute 16).
    pub sms: u32,
    /// L2 cache in bytes (attribute 38).
    pub l2_bytes: u32,
    /// The SMs' peak clock in kHz (attribute 13).
    pub clock_khz: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Bytes that device memory moves in a second at most: twice its clock (attribute 36) times its width (attribute
    /// 37); 0 where the driver does not say.
    pub dram_bytes_per_second: u64,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver: String,
}

/// A number of which driver and table say different things: virtual GPUs, partitions and new steppings may differ. The
/// driver's is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// The field of [`DeviceProfile`].
    pub field: &'static str,
    /// What the driver says.
    pub queried: u32,
    /// What the table of architectures says.
    pub table: u32,
}

impl DeviceProfile {
    /// What every device of an architecture offers.
    pub fn of_arch(architecture: &Architecture) -> Self {
        let capability = architecture.compute_capability;
        Self {
            name: format!("any {} device", architecture.name),
            compute_capability: (capability.major, capability.minor),
            smem_per_block: architecture.smem_per_block,
            smem_per_block_optin: architecture.smem_per_block_optin,
            smem_per_sm: architecture.smem_per_sm,
            smem_reserved_per_block: architecture.smem_reserved_per_block,
            registers_per_sm: architecture.registers_per_sm,
            registers_per_block: architecture.registers_per_block,
            threads_per_block: architecture.threads_per_block,
            threads_per_sm: architecture.threads_per_sm,
            blocks_per_sm: architecture.blocks_per_sm,
            warp_size: architecture.warp_size,
            installed: None,
        }
    }

    /// The compute capability as NVIDIA writes it, such as `9.0`.
    pub fn compute_capability_name(&self) -> String {
        format!("{}.{}", self.compute_capability.0, self.compute_capability.1)
    }

    /// Bytes that a CTA may use, static and dynamic together: the opt-in limit, or the user's own if that is lower.
    pub fn block_limit_bytes(&self, user_limit_bytes: Option<u32>) -> u32 {
        let optin = self.smem_per_block_optin;
        user_limit_bytes.map_or(optin, |user| user.min(optin))
    }

    /// The table's row for the device, with the driver's numbers wherever it has said one. `None` for an architecture
    /// that is not in the table: it is not guessed at.
    pub fn architecture(&self) -> Option<Architecture> {
        let (major, minor) = self.compute_capability;
        let row = Architecture::of(ComputeCapability::new(major, minor))?;
        Some(Architecture {
            smem_per_block: self.smem_per_block,
            smem_per_block_optin: self.smem_per_block_optin,
            smem_per_sm: self.smem_per_sm,
            smem_reserved_per_block: self.smem_reserved_per_block,
            registers_per_sm: self.registers_per_sm,
            registers_per_block: self.registers_per_block,
            threads_per_block: self.threads_per_block,
            threads_per_sm: self.threads_per_sm,
            warps_per_sm: self.threads_per_sm / self.warp_size.max(1),
            blocks_per_sm: self.blocks_per_sm,
            warp_size: self.warp_size,
            ..row.clone()
        })
    }

    /// Where the driver and the table of architectures disagree. `None` where the table has no such architecture.
    pub fn disagreements(&self) -> Option<Vec<Disagreement>> {
        let (major, minor) = self.compute_capability;
        let table = Self::of_arch(Architecture::of(ComputeCapability::new(major, minor))?);
        let pairs = self.numbers().into_iter().zip(table.numbers());
        Some(
            pairs
                .filter(|((_, queried), (_, table))| queried != table)
                .map(|((field, queried), (_, table))| Disagreement { field, queried, table })
                .collect(),
        )
    }

    fn numbers(&self) -> [(&'static str, u32); 10] {
        [
            ("smem_per_block", self.smem_per_block),
            ("smem_per_block_optin", self.smem_per_block_optin),
            ("smem_per_sm", self.smem_per_sm),
            ("smem_reserved_per_block", self.smem_reserved_per_block),
            ("registers_per_sm", self.registers_per_sm),
            ("registers_per_block", self.registers_per_block),
            ("threads_per_block", self.threads_per_block),
            ("threads_per_sm", self.threads_per_sm),
            ("blocks_per_sm", self.blocks_per_sm),
            ("warp_size", self.warp_size),
        ]
    }

    /// What a throughput estimate asks of the GPU: the device's own numbers, or where only the architecture is known
    /// the model that stands for it. `None` for an architecture that is not in the table.
    pub fn gpu_model(&self) -> Option<Cow<'static, GpuModel>> {
        let (major, minor) = self.compute_capability;
        let row = Architecture::of(ComputeCapability::new(major, minor))?;
        let Some(installed) = &self.installed else {
            return GpuModel::assumed(row).map(Cow::Borrowed);
        };
        let bandwidth = match installed.dram_bytes_per_second {
            0 => GpuModel::assumed(row)?.dram_bytes_per_second,
            queried => queried,
        };
        Some(Cow::Owned(GpuModel {
            name: Cow::Owned(self.name.clone()),
            arch: Cow::Borrowed(row.name),
            sms: installed.sms,
            clock_khz: installed.clock_khz,
            l2_bytes: installed.l2_bytes.into(),
            dram_bytes_per_second: bandwidth,
            geforce: self.name.contains("GeForce"),
            source: Cow::Borrowed("queried"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_an_architecture_agrees_with_the_table() {
        for row in &cuda_arch::ARCHITECTURES {
            let profile = DeviceProfile::of_arch(row);
            assert_eq!(profile.architecture().as_ref(), Some(row));
            assert_eq!(profile.disagreements(), Some(Vec::new()));
            assert!(profile.gpu_model().is_some(), "{}", row.name);
        }
    }

    #[test]
    fn a_partitioned_device_is_planned_with_its_own_numbers() {
        let row = cuda_arch::find("sm_90").expect("in the table");
        let profile = DeviceProfile {
            smem_per_block_optin: 100_000,
            blocks_per_sm: 16,
            ..DeviceProfile::of_arch(row)
        };
        let own = profile.architecture().expect("known");
        assert_eq!(
            (own.smem_per_block_optin, own.blocks_per_sm, own.name),
            (100_000, 16, "sm_90")
        );
        let disagreements = profile.disagreements().expect("known");
        let fields: Vec<_> = disagreements.iter().map(|d| (d.field, d.queried, d.table)).collect();
        assert_eq!(
            fields,
            [("smem_per_block_optin", 100_000, 232_448), ("blocks_per_sm", 16, 32)]
        );
    }

    #[test]
    fn an_architecture_that_is_not_in_the_table_is_not_guessed_at() {
        let row = cuda_arch::find("sm_90").expect("in the table");
        let profile = DeviceProfile {
            compute_capability: (10, 7),
            ..DeviceProfile::of_arch(row)
        };
        assert!(profile.architecture().is_none() && profile.disagreements().is_none() && profile.gpu_model().is_none());
    }
}
