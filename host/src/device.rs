//! What a device offers, asked of the driver.
//!
//! `cust`'s attribute list stops before the shared-memory attributes that matter here (opt-in limit, reserve, blocks
//! per SM), so those are read by number through `cuDeviceGetAttribute`.

use cust::device::Device;
use cust_raw::CUdevice_attribute as Attribute;
pub use tilewright_plan::device::{DeviceProfile, Disagreement, Installed};

use crate::error::{DriverCall, Error, Result};

/// Asks the driver about device `ordinal`, counted from 0.
///
/// # Errors
/// [`Error::Unavailable`] without a driver, without a device or when there is no device of that number.
pub fn query(ordinal: u32) -> Result<DeviceProfile> {
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
    Ok(DeviceProfile {
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
            sms: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            l2_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            clock_khz: get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            memory_bytes: device.total_memory().of_call("cuDeviceTotalMem")? as u64,
            dram_bytes_per_second: memory_rate(&device),
            driver: format!("{}.{}", version.major(), version.minor()),
        }),
    })
}

/// Bytes of device memory in a second at most: two transfers a clock. 0 where the driver does not say, as newer drivers
/// of integrated parts do not.
fn memory_rate(device: &Device) -> u64 {
    let of = |attribute| u64::from(attribute_of(device, attribute).unwrap_or(0));
    let hz = of(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1000;
    2 * hz * of(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8
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
