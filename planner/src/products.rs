//! What differs between products of one architecture: multiprocessors, clocks, caches, memory.
//!
//! The table serves those who plan without the device. A queried device fills the same struct, and its numbers go
//! first.

use alloc::borrow::Cow;

use cuda_arch::{Architecture, UnknownArchitecture};
use serde::{Deserialize, Serialize};

use crate::rates::Rate;

/// A product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// Its name, such as `H200`.
    pub name: Cow<'static, str>,
    /// Its architecture, such as `sm_90`.
    pub arch: Cow<'static, str>,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The clock of the multiprocessors in kHz: the one that the published peak of the tensor cores is computed with.
    pub clock_khz: u32,
    /// The second-level cache.
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

const fn product(
    name: &'static str,
    arch: &'static str,
    multiprocessors: u32,
    clock_mhz: u32,
    l2_kib: u64,
    dram_gb_per_second: u64,
    source: &'static str,
) -> Product {
    Product {
        name: Cow::Borrowed(name),
        arch: Cow::Borrowed(arch),
        multiprocessors,
        clock_khz: clock_mhz * 1000,
        l2_bytes: l2_kib * 1024,
        dram_bytes_per_second: dram_gb_per_second * 1_000_000_000,
        geforce: false,
        source: Cow::Borrowed(source),
    }
}

const fn geforce(product: Product) -> Product {
    // Struct update would have to drop the rest of `product`, which a const function cannot.
    let mut product = product;
    product.geforce = true;
    product
}

const MIB: u64 = 1024;

/// Every product that the planner knows by name. The first of an architecture stands for it where nothing else is said.
pub static PRODUCTS: [Product; 26] = [
    product("T4", "sm_75", 40, 1590, 4 * MIB, 320, SHEET),
    geforce(product("RTX 2080 Ti", "sm_75", 68, 1545, 5632, 616, WHITE_PAPER)),
    product("A100 80GB", "sm_80", 108, 1410, 40 * MIB, 2039, SHEET),
    product("A30", "sm_80", 56, 1440, 24 * MIB, 933, SHEET),
    product("A10", "sm_86", 72, 1695, 6 * MIB, 600, SHEET),
    product("A40", "sm_86", 84, 1740, 6 * MIB, 696, SHEET),
    geforce(product("RTX 3090", "sm_86", 82, 1695, 6 * MIB, 936, WHITE_PAPER)),
    product(
        "Jetson AGX Orin 64GB",
        "sm_87",
        16,
        1300,
        4 * MIB,
        204,
        SHEET_L2_RECALLED,
    ),
    product("L40S", "sm_89", 142, 2520, 96 * MIB, 864, SHEET_L2_RECALLED),
    product("L4", "sm_89", 58, 2040, 48 * MIB, 300, SHEET_L2_RECALLED),
    geforce(product("RTX 4090", "sm_89", 128, 2520, 72 * MIB, 1008, WHITE_PAPER)),
    product(
        "H200",
        "sm_90",
        132,
        1830,
        60 * MIB,
        4800,
        "NVIDIA data sheet; multiprocessors and L2 as the driver reports them",
    ),
    product("H100 SXM", "sm_90", 132, 1830, 50 * MIB, 3350, SHEET),
    product(
        "H100 PCIe",
        "sm_90",
        114,
        1620,
        50 * MIB,
        2039,
        "NVIDIA data sheet; the clock derived from 756 TFLOPS f16",
    ),
    product("GH200", "sm_90", 132, 1830, 50 * MIB, 4000, SHEET),
    product(
        "B200",
        "sm_100",
        148,
        1860,
        126 * MIB,
        7700,
        "Blackwell technical brief (HGX B200); L2: Blackwell Tuning Guide; multiprocessors and clock derived from 2.25 PFLOPS f16",
    ),
    product(
        "B300",
        "sm_103",
        148,
        1920,
        126 * MIB,
        8000,
        "Blackwell Ultra data sheet (HGX B300); multiprocessors, clock and L2 from third-party device queries",
    ),
    product(
        "Jetson Thor T5000",
        "sm_110",
        20,
        1575,
        32 * MIB,
        273,
        "NVIDIA data sheet; multiprocessors and L2 from a device query in NVIDIA's forum (topic 356355)",
    ),
    product(
        "RTX PRO 6000",
        "sm_120",
        188,
        2600,
        128 * MIB,
        1792,
        "NVIDIA data sheet; the clock derived from 125 TFLOPS f32",
    ),
    geforce(product("RTX 5090", "sm_120", 170, 2407, 96 * MIB, 1792, WHITE_PAPER)),
    geforce(product("RTX 5080", "sm_120", 84, 2617, 64 * MIB, 960, WHITE_PAPER)),
    geforce(product("RTX 5070 Ti", "sm_120", 70, 2452, 48 * MIB, 896, WHITE_PAPER)),
    geforce(product("RTX 5070", "sm_120", 48, 2512, 48 * MIB, 672, WHITE_PAPER)),
    geforce(product(
        "RTX 5060 Ti",
        "sm_120",
        36,
        2572,
        32 * MIB,
        448,
        "NVIDIA product page; L2 from third parties",
    )),
    product(
        "RTX PRO 5000",
        "sm_120",
        110,
        2600,
        96 * MIB,
        1344,
        "NVIDIA data sheet; the clock as of the RTX PRO 6000",
    ),
    product(
        "GB10",
        "sm_121",
        48,
        2520,
        24 * MIB,
        273,
        "Hot Chips 2025: 31 TFLOPS f32, from which the clock is derived; L2 from memory, to be queried",
    ),
];

impl Product {
    /// The product of this name, whatever the case, blanks and dashes.
    pub fn find(name: &str) -> Option<&'static Product> {
        let letters = |name: &'static str| plain(name);
        PRODUCTS.iter().find(|product| match &product.name {
            Cow::Borrowed(known) => letters(known).eq(plain(name)),
            Cow::Owned(_) => false,
        })
    }

    /// The product that stands for an architecture where only the architecture is named.
    pub fn assumed(arch: &Architecture) -> Option<&'static Product> {
        Self::of_architecture(arch).next()
    }

    /// The products of an architecture, the assumed one first.
    pub fn of_architecture(arch: &Architecture) -> impl Iterator<Item = &'static Product> {
        PRODUCTS.iter().filter(move |product| product.arch == arch.name)
    }

    /// The architecture.
    ///
    /// # Errors
    /// [`UnknownArchitecture`] where the struct was filled with a name that is not in the table.
    pub fn architecture(&self) -> Result<&'static Architecture, UnknownArchitecture<'_>> {
        cuda_arch::find(&self.arch)
    }

    /// Operations in a second on a path, all multiprocessors together.
    pub fn flops_per_second(&self, rate: &Rate) -> f64 {
        self.flops_per_clock(rate) * f64::from(self.multiprocessors) * self.clock_hz()
    }

    /// Operations of one multiprocessor in a clock, which for GeForce is half of what the architecture's table says for
    /// some types.
    pub fn flops_per_clock(&self, rate: &Rate) -> f64 {
        let factor = if self.geforce && rate.halved_by_geforce() {
            0.5
        } else {
            1.0
        };
        factor * f64::from(rate.flops_per_clock)
    }

    /// Clocks of a multiprocessor in a second.
    pub fn clock_hz(&self) -> f64 {
        f64::from(self.clock_khz) * 1e3
    }
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
    fn every_architecture_has_a_product_and_every_product_an_architecture() {
        for architecture in &ARCHITECTURES {
            assert!(Product::assumed(architecture).is_some(), "{}", architecture.name);
        }
        for product in &PRODUCTS {
            let architecture = product.architecture().expect("in the table");
            assert_eq!(architecture.name, product.arch);
            assert!(product.multiprocessors > 0 && product.clock_khz > 1_000_000);
            assert!(product.l2_bytes >= 4 << 20 && product.dram_bytes_per_second >= 204_000_000_000);
        }
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        for name in ["RTX PRO 6000", "rtx-pro-6000", "RtxPro6000"] {
            assert_eq!(Product::find(name).map(|product| product.multiprocessors), Some(188));
        }
        assert_eq!(Product::find("H300"), None);
        for (i, product) in PRODUCTS.iter().enumerate() {
            assert_eq!(Product::find(&product.name), Some(&PRODUCTS[i]));
        }
    }

    #[test]
    fn geforce_halves_sums_in_f32_and_nothing_else() {
        let product = Product::find("RTX 5090").expect("in the table");
        let capability = product.architecture().expect("in the table").compute_capability;
        // TFLOPS of the white paper, dense, sums in f32 where they are floats.
        for (ty, tflops) in [
            (GemmType::Bf16, 209.5),
            (GemmType::Tf32, 104.8),
            (GemmType::E4m3, 419.0),
            (GemmType::Int8, 838.0),
            (GemmType::Nvfp4, 1676.0),
        ] {
            let rate = rate(capability, Path::MmaSync, ty).expect("in the table");
            let computed = product.flops_per_second(rate) / 1e12;
            assert!((computed / tflops - 1.0).abs() < 0.01, "{ty}: {computed}");
        }
    }

    #[test]
    fn a_product_survives_json() {
        let text = serde_json::to_string(&PRODUCTS[0]).expect("plain data");
        assert_eq!(
            serde_json::from_str::<Product>(&text).expect("its own text"),
            PRODUCTS[0]
        );
    }
}
