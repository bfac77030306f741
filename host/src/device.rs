//! What a device offers, asked of the driver or, where there is none, read from the table of architectures.
//!
//! `cust`'s attribute list stops before the shared-memory attributes that matter here (opt-in limit, reserve, blocks per
//! multiprocessor), so those are read by number through `cuDeviceGetAttribute`.

use cuda_arch::Architecture;
use cust::device::Device;
use cust_raw::CUdevice_attribute as Attribute;
use serde::Serialize;
use tilewright_contract::Bytes;

use crate::error::{DriverCall, Error, Result};

/// The limits of one device or of one architecture. Sizes of shared memory are in bytes; NVIDIA's "KB" of shared memory is 1024 bytes.
///
/// Identity on every architecture since 8.0: `smem_per_sm = smem_per_block_optin + smem_reserved_per_block`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceProfile {
    /// The device's name.
    pub name: String,
    /// Compute capability, `(major, minor)`.
    pub compute_capability: (u32, u32),
    /// Shared memory of a block without opting in: 48 KiB on every architecture (attribute 8, `sharedMemPerBlock`).
    pub smem_per_block: u32,
    /// Shared memory of a block, static and dynamic together, after opting in (attribute 97).
    pub smem_per_block_optin: u32,
    /// Shared memory of a multiprocessor (attribute 81).
    pub smem_per_sm: u32,
    /// What the driver takes of the multiprocessor's shared memory for each resident block (attribute 111). The opt-in limit
    /// does not contain it: it must not be subtracted again.
    pub smem_reserved_per_block: u32,
    /// 32-bit registers of a multiprocessor (attribute 82).
    pub registers_per_sm: u32,
    /// 32-bit registers of a block (attribute 12).
    pub registers_per_block: u32,
    /// Threads of a block (attribute 1).
    pub threads_per_block: u32,
    /// Resident threads of a multiprocessor (attribute 39).
    pub threads_per_sm: u32,
    /// Resident blocks of a multiprocessor (attribute 106).
    pub blocks_per_sm: u32,
    /// Threads of a warp (attribute 10).
    pub warp_size: u32,
    /// What the architecture leaves to the product. `None` in a profile of an architecture: products differ by a factor of ten.
    #[serde(flatten)]
    pub installed: Option<Installed>,
}

/// What only a device itself tells: products of one architecture differ in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// Multiprocessors (attribute 16).
    pub multiprocessors: u32,
    /// L2 cache in bytes (attribute 38).
    pub l2_bytes: u32,
    /// The multiprocessors' peak clock in kHz (attribute 13).
    pub clock_khz: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver: String,
}

impl DeviceProfile {
    /// Asks the driver about device `ordinal`, counted from 0.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a driver, without a device or when there is no device of that number.
    pub fn query(ordinal: u32) -> Result<Self> {
        cuda_driver_lazy::load()?;
        cust::init(cust::CudaFlags::empty()).of_call("cuInit")?;
        let devices = Device::num_devices().of_call("cuDeviceGetCount")?;
        if ordinal >= devices {
            return Err(Error::Unavailable(format!(
                "no CUDA device {ordinal}: this machine has {devices}"
            )));
        }
        let device = Device::get_device(ordinal).of_call("cuDeviceGet")?;
        let get = |attribute| attribute_of(&device, attribute);
        let version = cust::CudaApiVersion::get().of_call("cuDriverGetVersion")?;
        Ok(Self {
            name: device.name().of_call("cuDeviceGetName")?,
            compute_capability: (
                get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            smem_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
            smem_per_block_optin: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            smem_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            smem_reserved_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
            registers_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            registers_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
            threads_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            threads_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            warp_size: get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            installed: Some(Installed {
                multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
                l2_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
                clock_khz: get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
                memory_bytes: device.total_memory().of_call("cuDeviceTotalMem")? as u64,
                driver: format!("{}.{}", version.major(), version.minor()),
            }),
        })
    }

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

    /// What a block may use, static and dynamic together: the opt-in limit, or the user's own if that is lower.
    pub fn block_limit(&self, user_limit: Option<Bytes>) -> Bytes {
        let optin = Bytes(self.smem_per_block_optin);
        user_limit.map_or(optin, |user| user.min(optin))
    }
}

/// One attribute of a device. A driver that does not know it answers with an error, never with a guess.
fn attribute_of(device: &Device, attribute: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: `value` outlives the call; the handle is the driver's own.
    let code = unsafe { cust_raw::cuDeviceGetAttribute(&raw mut value, attribute, device.as_raw()) };
    let number = attribute as u32;
    if code != cust_raw::CUresult::CUDA_SUCCESS {
        return Err(Error::Unavailable(format!(
            "cuDeviceGetAttribute({number}) returned {code:?}"
        )));
    }
    u32::try_from(value).map_err(|_| Error::Unavailable(format!("the driver reports {value} for attribute {number}")))
}
