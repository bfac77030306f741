//! What differs between GPUs of one architecture: SMs, clocks, caches, memory.
//!
//! The table serves those who plan without the device. A queried device fills the same struct, and its numbers go
//! first.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cuda_arch::{Architecture, UnknownArchitecture};
use serde::{Deserialize, Serialize};

use crate::rates::Rate;

/// A GPU as it is sold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuModel {
    /// Its name, such as `H200`.
    pub name: Cow<'static, str>,
    /// Its architecture, such as `sm_90`.
    pub arch: Cow<'static, str>,
    /// SMs.
    pub sms: u32,
    /// The clock of the SMs in kHz: the one that the published peak of the tensor cores is computed with.
    pub clock_khz: u32,
    /// The L2 cache.
    pub l2_bytes: u64,
    /// Bytes that the device memory moves in a second, at most.
    pub dram_bytes_per_second: u64,
    /// Whether it runs some tensor instructions at half their rate ([`Rate::halved_by_geforce`]).
    pub geforce: bool,
    /// Where the numbers are from.
    pub source: Cow<'static, str>,
}

const SHEET: &str = "NVIDIA data sheet; L2 as deviceQuery reports it";
const SHEET_L2_RECALLED: &str = "NVIDIA data sheet; L2 from memory, to be queried";
const WHITE_PAPER: &str = "NVIDIA white paper of the generation";

const fn model(
    name: &'static str,
    arch: &'static str,
    sms: u32,
    clock_mhz: u32,
    l2_kib: u64,
    dram_gb_per_second: u64,
    source: &'static str,
) -> GpuModel {
    GpuModel {
        name: Cow::Borrowed(name),
        arch: Cow::Borrowed(arch),
        sms,
        clock_khz: clock_mhz * 1000,
        l2_bytes: l2_kib * 1024,
        dram_bytes_per_second: dram_gb_per_second * 1_000_000_000,
        geforce: false,
        source: Cow::Borrowed(source),
    }
}

const fn geforce(model: GpuModel) -> GpuModel {
    // Struct update would have to drop the rest of `model`, which a const function cannot.
    let mut model = model;
    model.geforce = true;
    model
}

const MIB: u64 = 1024;

/// Every GPU that the planner knows by name. The first of an architecture stands for it where nothing else is said.
pub static GPU_MODELS: [GpuModel; 26] = [
    model("T4", "sm_75", 40, 1590, 4 * MIB, 320, SHEET),
    geforce(model("RTX 2080 Ti", "sm_75", 68, 1545, 5632, 616, WHITE_PAPER)),
    model("A100 80GB", "sm_80", 108, 1410, 40 * MIB, 2039, SHEET),
    model("A30", "sm_80", 56, 1440, 24 * MIB, 933, SHEET),
    model("A10", "sm_86", 72, 1695, 6 * MIB, 600, SHEET),
    model("A40", "sm_86", 84, 1740, 6 * MIB, 696, SHEET),
    geforce(model("RTX 3090", "sm_86", 82, 1695, 6 * MIB, 936, WHITE_PAPER)),
    model(
        "Jetson AGX Orin 64GB",
        "sm_87",
        16,
        1300,
        4 * MIB,
        204,
        SHEET_L2_RECALLED,
    ),
    model("L40S", "sm_89", 142, 2520, 96 * MIB, 864, SHEET_L2_RECALLED),
    model("L4", "sm_89", 58, 2040, 48 * MIB, 300, SHEET_L2_RECALLED),
    geforce(model("RTX 4090", "sm_89", 128, 2520, 72 * MIB, 1008, WHITE_PAPER)),
    model(
        "H200",
        "sm_90",
        132,
        1830,
        60 * MIB,
        4800,
        "NVIDIA data sheet; SMs and L2 as the driver reports them",
    ),
    model("H100 SXM", "sm_90", 132, 1830, 50 * MIB, 3350, SHEET),
    model(
        "H100 PCIe",
        "sm_90",
        114,
        1620,
        50 * MIB,
        2039,
        "NVIDIA data sheet; the clock derived from 756 TFLOPS f16",
    ),
    model("GH200", "sm_90", 132, 1830, 50 * MIB, 4000, SHEET),
    model(
        "B200",
        "sm_100",
        148,
        1860,
        126 * MIB,
        7700,
        "Blackwell technical brief (HGX B200); L2: Blackwell Tuning Guide; SMs and clock derived from 2.25 \
         PFLOPS f16",
    ),
    model(
        "B300",
        "sm_103",
        148,
        1920,
        126 * MIB,
        8000,
        "Blackwell Ultra data sheet (HGX B300); SMs, clock and L2 from third-party device queries",
    ),
    model(
        "Jetson Thor T5000",
        "sm_110",
        20,
        1575,
        32 * MIB,
        273,
        "NVIDIA data sheet; SMs and L2 from a device query in NVIDIA's forum (topic 356355)",
    ),
    model(
        "RTX PRO 6000",
        "sm_120",
        188,
        2600,
        128 * MIB,
        1792,
        "NVIDIA data sheet; the clock derived from 125 TFLOPS f32",
    ),
    geforce(model("RTX 5090", "sm_120", 170, 2407, 96 * MIB, 1792, WHITE_PAPER)),
    geforce(model("RTX 5080", "sm_120", 84, 2617, 64 * MIB, 960, WHITE_PAPER)),
    geforce(model("RTX 5070 Ti", "sm_120", 70, 2452, 48 * MIB, 896, WHITE_PAPER)),
    geforce(model("RTX 5070", "sm_120", 48, 2512, 48 * MIB, 672, WHITE_PAPER)),
    geforce(model(
        "RTX 5060 Ti",
        "sm_120",
        36,
        2572,
        32 * MIB,
        448,
        "NVIDIA product page; L2 from third parties",
    )),
    model(
        "RTX PRO 5000",
        "sm_120",
        110,
        2600,
        96 * MIB,
        1344,
        "NVIDIA data sheet; the clock as of the RTX PRO 6000",
    ),
    model(
        "GB10",
        "sm_121",
        48,
        2520,
        24 * MIB,
        273,
        "Hot Chips 2025: 31 TFLOPS f32, from which the clock is derived; L2 from memory, to be queried",
    ),
];

/// What the driver calls some of them, after the vendor's name, where that is not the table's name.
const CALLED: [(&str, &str); 6] = [
    ("A100-SXM4-80GB", "A100 80GB"),
    ("A100 80GB PCIe", "A100 80GB"),
    ("H100 80GB HBM3", "H100 SXM"),
    ("GH200 480GB", "GH200"),
    ("GeForce RTX 4090", "RTX 4090"),
    ("GeForce RTX 5090", "RTX 5090"),
];

impl GpuModel {
    /// The GPU of this name, whatever the case, blanks and dashes.
    pub fn find(name: &str) -> Option<&'static GpuModel> {
        let letters = |name: &'static str| plain(name);
        GPU_MODELS.iter().find(|model| match &model.name {
            Cow::Borrowed(known) => letters(known).eq(plain(name)),
            Cow::Owned(_) => false,
        })
    }

    /// The GPU that the driver calls by this name, such as `NVIDIA H200` or `NVIDIA H100 80GB HBM3`.
    pub fn of_device(name: &str) -> Option<&'static GpuModel> {
        let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
        let sold_as = CALLED.iter().find(|(called, _)| *called == name);
        Self::find(sold_as.map_or(name, |(_, sold_as)| sold_as))
    }

    /// What is said of a name that no GPU has: the nearest one, and all others.
    pub(crate) fn unknown(name: &str) -> String {
        let asked: Vec<char> = plain(name).take(64).collect();
        let distance = |model: &&GpuModel| distance(&asked, &plain(&model.name).collect::<Vec<char>>());
        let nearest = GPU_MODELS.iter().min_by_key(distance).map_or("", |model| &*model.name);
        let known: Vec<&str> = GPU_MODELS.iter().map(|model| &*model.name).collect();
        let shown: String = name.chars().take(64).collect();
        format!(
            "unknown GPU `{}`; nearest: {nearest}; known: {}",
            shown.escape_debug(),
            known.join(", ")
        )
    }

    /// The GPU that stands for an architecture where only the architecture is named.
    pub fn assumed(arch: &Architecture) -> Option<&'static GpuModel> {
        Self::of_architecture(arch).next()
    }

    /// The GPUs of an architecture, the assumed one first.
    pub fn of_architecture(arch: &Architecture) -> impl Iterator<Item = &'static GpuModel> {
        GPU_MODELS.iter().filter(move |model| model.arch == arch.name)
    }

    /// The architecture.
    ///
    /// # Errors
    /// [`UnknownArchitecture`] where the struct was filled with a name that is not in the table.
    pub fn architecture(&self) -> Result<&'static Architecture, UnknownArchitecture<'_>> {
        cuda_arch::find(&self.arch)
    }

    /// Operations in a second on a path, all SMs together.
    pub fn flops_per_second(&self, rate: &Rate) -> f64 {
        self.flops_per_clock(rate) * f64::from(self.sms) * self.clock_hz()
    }

    /// Operations of one SM in a clock, which for GeForce is half of what the architecture's table says for some types.
    pub fn flops_per_clock(&self, rate: &Rate) -> f64 {
        let factor = if self.geforce && rate.halved_by_geforce() {
            0.5
        } else {
            1.0
        };
        factor * f64::from(rate.flops_per_clock)
    }

    /// Clocks of an SM in a second.
    pub fn clock_hz(&self) -> f64 {
        f64::from(self.clock_khz) * 1e3
    }
}

/// The fewest letters to insert, remove or replace that make one name of the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

/// The letters and digits of a name, in lower case.
fn plain(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    extern crate std;

    use cuda_arch::ARCHITECTURES;

    use super::*;
    use crate::gemm_type::GemmType;
    use crate::path::Path;
    use crate::rates::rate;

    #[test]
    fn every_architecture_has_a_gpu_and_every_gpu_an_architecture() {
        for architecture in &ARCHITECTURES {
            assert!(GpuModel::assumed(architecture).is_some(), "{}", architecture.name);
        }
        for model in &GPU_MODELS {
            let architecture = model.architecture().expect("in the table");
            assert_eq!(architecture.name, model.arch);
            assert!(model.sms > 0 && model.clock_khz > 1_000_000);
            assert!(model.l2_bytes >= 4 << 20 && model.dram_bytes_per_second >= 204_000_000_000);
        }
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        for name in ["RTX PRO 6000", "rtx-pro-6000", "RtxPro6000"] {
            assert_eq!(GpuModel::find(name).map(|model| model.sms), Some(188));
        }
        assert_eq!(GpuModel::find("H300"), None);
        for (i, model) in GPU_MODELS.iter().enumerate() {
            assert_eq!(GpuModel::find(&model.name), Some(&GPU_MODELS[i]));
        }
    }

    #[test]
    fn geforce_halves_accumulation_in_f32_and_nothing_else() {
        let model = GpuModel::find("RTX 5090").expect("in the table");
        let capability = model.architecture().expect("in the table").compute_capability;
        // TFLOPS of the white paper, dense, accumulated in f32 where they are floats.
        for (ty, tflops) in [
            (GemmType::Bf16, 209.5),
            (GemmType::Tf32, 104.8),
            (GemmType::E4m3, 419.0),
            (GemmType::Int8, 838.0),
            (GemmType::Nvfp4, 1676.0),
        ] {
            let rate = rate(capability, Path::MmaSync, ty).expect("in the table");
            let computed = model.flops_per_second(rate) / 1e12;
            assert!((computed / tflops - 1.0).abs() < 0.01, "{ty}: {computed}");
        }
    }

    #[test]
    fn a_gpu_survives_json() {
        let text = serde_json::to_string(&GPU_MODELS[0]).expect("plain data");
        assert_eq!(
            serde_json::from_str::<GpuModel>(&text).expect("its own text"),
            GPU_MODELS[0]
        );
    }
}
