//! What the model needs of a device.

use cuda_arch::Architecture;

use super::{DRAM_EFFICIENCY, PORT_BYTES};
use crate::gpu_models::GpuModel;
use crate::path::Support;

/// What the model needs of a device for one path and type.
pub(crate) struct Machine<'a> {
    pub(super) arch: &'a Architecture,
    sms: f64,
    pub(super) clock_hz: f64,
    /// Operations of an SM in a clock.
    pub(super) flops: f64,
    pub(super) support: Support,
    /// Bytes a clock that the L2 cache gives out in all.
    pub(super) l2_bytes_per_clock: f64,
    pub(super) dram_bytes_per_clock: f64,
    pub(super) l2_bytes: f64,
    /// Groups of SMs that a cluster cannot straddle.
    cluster_groups: f64,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(arch: &'a Architecture, gpu: &GpuModel, support: Support) -> Self {
        let clock_hz = gpu.clock_hz();
        let sms = f64::from(gpu.sms);
        Self {
            arch,
            sms,
            clock_hz,
            flops: gpu.flops_per_clock(support.rate),
            support,
            l2_bytes_per_clock: sms * l2_bytes_per_clock(arch),
            dram_bytes_per_clock: gpu.dram_bytes_per_second as f64 * DRAM_EFFICIENCY / clock_hz,
            l2_bytes: gpu.l2_bytes as f64,
            cluster_groups: if arch.compute_capability.major == 11 { 3.0 } else { 8.0 },
        }
    }

    /// SMs that clusters of so many CTAs reach. A cluster stays within a GPC, whose SMs come in pairs: up to two CTAs
    /// always fit, of larger clusters each GPC leaves `(CTAs - 2) / 2` SMs idle on average.
    pub(super) fn reach(&self, cluster: u32) -> f64 {
        let idle = self.cluster_groups * f64::from(cluster.saturating_sub(2)) / 2.0;
        (self.sms - idle).max(f64::from(cluster)).min(self.sms)
    }
}

/// Bytes that the L2 cache gives each SM in a clock when all ask: 46 on 8.0 and 9.0 (DeepGEMM's heuristics: 8 TB/s at
/// 1.3 GHz for 132); all that the port takes on 10.x (derived: cuBLASLt's 2147 TFLOPS at 8192^3 on B200 need it with
/// tiles of 256 x 256 for two SMs); about 20 on the others (measured by third parties: T4 1.27 TB/s, RTX 4090 5 TB/s).
fn l2_bytes_per_clock(arch: &Architecture) -> f64 {
    match (arch.compute_capability.major, arch.compute_capability.minor) {
        (8, 0) | (9, _) => 46.0,
        (10, _) => PORT_BYTES,
        _ => 20.0,
    }
}
