//! What the device did meanwhile: clock, power, and why it was slower than it could be. Asked of NVML, where that is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cust::device::{Device, DeviceAttribute};
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use serde::Serialize;

use super::stats::Quartiles;

/// Between two questions.
const INTERVAL: Duration = Duration::from_millis(10);

/// Energy is counted in steps of up to a tenth of a second: what is shorter than this has no power of its own.
const LEAST_FOR_POWER: Duration = Duration::from_millis(300);

/// A device while it was timed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Telemetry {
    /// Clock of the SMs in MHz, median.
    pub clock_mhz: Option<f64>,
    /// Mean power in watts.
    pub power_w: Option<f64>,
    /// Reasons for which the clock was held down at some time, by NVML's names.
    pub held_down_by: Vec<String>,
}

/// Asks about one device.
pub struct Observer {
    nvml: Nvml,
    /// As NVML takes it: `0000:ab:00.0`.
    bus_id: String,
}

impl Observer {
    /// For the CUDA device of this number; `None` where NVML does not know it.
    pub fn of_device(ordinal: u32) -> Option<Self> {
        let device = Device::get_device(ordinal).ok()?;
        let part = |attribute| device.get_attribute(attribute).ok();
        let bus_id = format!(
            "{:04x}:{:02x}:{:02x}.0",
            part(DeviceAttribute::PciDomainId)?,
            part(DeviceAttribute::PciBusId)?,
            part(DeviceAttribute::PciDeviceId)?
        );
        let nvml = Nvml::init().ok()?;
        nvml.device_by_pci_bus_id(bus_id.as_str()).ok()?;
        Some(Self { nvml, bus_id })
    }

    /// Runs `work`, and says how the device fared.
    pub fn during<R>(&self, work: impl FnOnce() -> R) -> (R, Telemetry) {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let samples = scope.spawn(|| self.sample_until(&done));
            let result = work();
            done.store(true, Ordering::Relaxed);
            (result, samples.join().unwrap_or_default())
        })
    }

    fn sample_until(&self, done: &AtomicBool) -> Telemetry {
        let Ok(device) = self.nvml.device_by_pci_bus_id(self.bus_id.as_str()) else {
            return Telemetry::default();
        };
        let millijoules = || device.total_energy_consumption().ok();
        let (begin, before) = (Instant::now(), millijoules());
        let mut clocks = Vec::new();
        let mut reasons = ThrottleReasons::empty();
        while !done.load(Ordering::Relaxed) {
            clocks.extend(device.clock_info(Clock::SM).ok().map(f64::from));
            reasons |= device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
            thread::sleep(INTERVAL);
        }
        let (elapsed, after) = (begin.elapsed(), millijoules());
        let energy = before
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before) as f64 / 1e3);
        let reasons = reasons - ThrottleReasons::GPU_IDLE - ThrottleReasons::NONE;
        Telemetry {
            clock_mhz: Quartiles::of(&clocks).map(|clocks| clocks.median),
            power_w: energy
                .filter(|_| elapsed >= LEAST_FOR_POWER)
                .map(|joules| joules / elapsed.as_secs_f64()),
            held_down_by: reasons.iter_names().map(|(name, _)| name.to_owned()).collect(),
        }
    }
}
