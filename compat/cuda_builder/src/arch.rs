//! The architectures: one table row each.

use std::fmt;
use std::str::FromStr;

/// Declares [`NvvmArch`] and its table from one list, so that neither can miss a row.
macro_rules! architectures {
    ($($variant:ident $suffix:literal $number:literal $ptx:literal $doc:literal,)*) => {
        /// A virtual architecture (a compute capability) that PTX is made for.
        ///
        /// PTX for a plain architecture runs on every later GPU. An `f` variant runs on its family of GPUs, an `a`
        /// variant on exactly one architecture; in exchange they may use instructions that others lack (`wgmma` needs
        /// `90a`).
        ///
        /// Printed as `compute_90a`; parsed from `compute_90a`, `sm_90a`, `90a` or `9.0a`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NvvmArch {
            $(#[doc = $doc] $variant,)*
        }

        impl NvvmArch {
            /// Every architecture, oldest first.
            pub const ALL: &'static [NvvmArch] = &[$(NvvmArch::$variant,)*];

            fn row(self) -> Row {
                match self {
                    $(Self::$variant => Row {
                        suffix: $suffix,
                        feature: concat!("compute_", $suffix),
                        number: $number,
                        ptx: $ptx,
                    },)*
                }
            }
        }
    };
}

/// What the table says about an architecture.
struct Row {
    /// The name after `sm_` and `compute_`.
    suffix: &'static str,
    /// The name with `compute_`.
    feature: &'static str,
    /// The compute capability times ten: 75 for 7.5.
    number: u32,
    /// The PTX version times ten: 78 for 7.8.
    ptx: u32,
}

// The PTX version is the lowest one that knows the architecture and all its instructions, because a driver refuses PTX
// newer than itself. PTX 7.8 came with CUDA 11.8 and covers everything up to sm_89; 8.0 (CUDA 12.0) brings wgmma and
// bulk copies; 8.6, 8.7, 8.8 and 9.0 (CUDA 12.7, 12.8, 12.9 and 13.0) each introduce the architectures in their rows.
architectures! {
    Compute35 "35" 35 78 "Kepler: Tesla K40.",
    Compute37 "37" 37 78 "Kepler: Tesla K80.",
    Compute50 "50" 50 78 "Maxwell: GTX 750.",
    Compute52 "52" 52 78 "Maxwell: GTX 980, Tesla M40.",
    Compute53 "53" 53 78 "Maxwell: Jetson TX1.",
    Compute60 "60" 60 78 "Pascal: Tesla P100.",
    Compute61 "61" 61 78 "Pascal: GTX 1080, Tesla P40.",
    Compute62 "62" 62 78 "Pascal: Jetson TX2.",
    Compute70 "70" 70 78 "Volta: V100.",
    Compute72 "72" 72 78 "Volta: Jetson Xavier.",
    Compute73 "73" 73 78 "A number of the published crate's main branch that no GPU has: compiled as 7.2.",
    Compute75 "75" 75 78 "Turing: T4, RTX 2080.",
    Compute80 "80" 80 78 "Ampere: A100.",
    Compute86 "86" 86 78 "Ampere: A10, A40, RTX 3090.",
    Compute87 "87" 87 78 "Ampere: Jetson Orin.",
    Compute88 "88" 88 90 "Ampere: a Jetson variant that only PTX 9.0 knows.",
    Compute89 "89" 89 78 "Ada: L4, L40, RTX 4090.",
    Compute90 "90" 90 80 "Hopper: H100, H200.",
    Compute90a "90a" 90 80 "Hopper with its own instructions (wgmma, setmaxnreg).",
    Compute100 "100" 100 86 "Blackwell: B200, GB200.",
    Compute100f "100f" 100 88 "Blackwell: the family of 10.0.",
    Compute100a "100a" 100 86 "Blackwell with the instructions of 10.0 alone.",
    Compute101 "101" 101 86 "Blackwell: Jetson Thor as CUDA 12 calls it; CUDA 13 says 11.0.",
    Compute101f "101f" 101 88 "Blackwell: the family of 10.1.",
    Compute101a "101a" 101 86 "Blackwell with the instructions of 10.1 alone.",
    Compute103 "103" 103 88 "Blackwell: B300, GB300.",
    Compute103f "103f" 103 88 "Blackwell: the family of 10.3.",
    Compute103a "103a" 103 88 "Blackwell with the instructions of 10.3 alone.",
    Compute110 "110" 110 90 "Blackwell: Jetson Thor.",
    Compute110f "110f" 110 90 "Blackwell: the family of 11.0.",
    Compute110a "110a" 110 90 "Blackwell with the instructions of 11.0 alone.",
    Compute120 "120" 120 87 "Blackwell: RTX 5090, RTX PRO 6000.",
    Compute120f "120f" 120 88 "Blackwell: the family of 12.0.",
    Compute120a "120a" 120 87 "Blackwell with the instructions of 12.0 alone.",
    Compute121 "121" 121 88 "Blackwell: GB10 (DGX Spark).",
    Compute121f "121f" 121 88 "Blackwell: the family of 12.1.",
    Compute121a "121a" 121 88 "Blackwell with the instructions of 12.1 alone.",
}

impl NvvmArch {
    /// The compute capability as (major, minor): (9, 0) for `90a`.
    pub fn capability(self) -> (u32, u32) {
        (self.row().number / 10, self.row().number % 10)
    }

    /// The name of the matching real architecture, as `ptxas` and LLVM write it: `sm_90a`.
    pub fn sm_name(self) -> String {
        // Neither LLVM nor `ptxas` knows an sm_73.
        let known = if self == Self::Compute73 { Self::Compute72 } else { self };
        format!("sm_{}", known.row().suffix)
    }

    /// The PTX version as (major, minor) that PTX for this architecture is written in, unless
    /// [`CudaBuilder::ptx_version`](crate::CudaBuilder::ptx_version) says otherwise.
    ///
    /// A driver refuses PTX that is newer than itself, so this is the lowest version that has all the instructions of
    /// the architecture.
    pub fn ptx_version(self) -> (u32, u32) {
        (self.row().ptx / 10, self.row().ptx % 10)
    }

    /// What `CUDA_ARCH` is set to for the device build: `750` for 7.5, `900` for 9.0 and 9.0a.
    pub(crate) fn cuda_arch(self) -> u32 {
        self.row().number * 10
    }
}

impl Default for NvvmArch {
    /// `Compute52`, as published. A [`CudaBuilder`](crate::CudaBuilder) starts with `Compute61`.
    fn default() -> Self {
        Self::Compute52
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compute_{}", self.row().suffix)
    }
}

/// What the published crate's main branch has.
impl NvvmArch {
    /// Every architecture, oldest first.
    pub fn iter() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        Self::ALL.iter().copied()
    }

    /// The architectures up to this one's capability, with their variants.
    pub fn iter_up_to(&self) -> impl Iterator<Item = Self> + use<> {
        let capability = self.capability_value();
        Self::iter().filter(move |arch| arch.capability_value() <= capability)
    }

    /// The compute capability times ten: 90 for `90` and `90a`.
    pub fn capability_value(&self) -> u32 {
        self.row().number
    }

    /// The number before the dot of the compute capability.
    pub fn major_version(&self) -> u32 {
        self.capability().0
    }

    /// The number after the dot of the compute capability.
    pub fn minor_version(&self) -> u32 {
        self.capability().1
    }

    /// The name as a target feature: `compute_90a`.
    pub fn target_feature(&self) -> &'static str {
        self.row().feature
    }

    /// The architectures whose features code for this one may use: the plain ones up to it; for an `f` or `a` variant
    /// also the families of its major version up to it; for an `a` variant itself too.
    pub fn all_target_features(&self) -> Vec<Self> {
        let family = |arch: &Self| {
            !self.is_base_variant() && arch.is_family_variant() && arch.major_version() == self.major_version()
        };
        self.iter_up_to()
            .filter(|arch| arch.is_base_variant() || family(arch) || arch == self)
            .collect()
    }

    /// Whether this is a plain architecture, without `f` or `a`.
    pub fn is_base_variant(&self) -> bool {
        !self.is_family_variant() && !self.is_architecture_variant()
    }

    /// Whether this is an `f` variant.
    pub fn is_family_variant(&self) -> bool {
        self.row().suffix.ends_with('f')
    }

    /// Whether this is an `a` variant.
    pub fn is_architecture_variant(&self) -> bool {
        self.row().suffix.ends_with('a')
    }

    /// The plain architecture of the same capability.
    pub fn base_architecture(&self) -> Self {
        self.get_variants()[0]
    }

    /// The architectures of the same capability, the plain one first.
    pub fn get_variants(&self) -> Vec<Self> {
        Self::variants_for_capability(self.capability_value())
    }

    /// The architectures of a capability times ten, the plain one first; none if there is no such.
    pub fn variants_for_capability(capability: u32) -> Vec<Self> {
        Self::iter()
            .filter(|arch| arch.capability_value() == capability)
            .collect()
    }
}

/// A name that is no architecture of [`NvvmArch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownArch(pub String);

impl fmt::Display for UnknownArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown architecture `{}`; known are", self.0)?;
        for (index, arch) in NvvmArch::ALL.iter().enumerate() {
            write!(f, "{} {}", if index == 0 { "" } else { "," }, arch.row().suffix)?;
        }
        write!(f, " (write 90a, sm_90a, compute_90a or 9.0a)")
    }
}

impl std::error::Error for UnknownArch {}

impl FromStr for NvvmArch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        let name = text.trim().to_ascii_lowercase();
        let name = name
            .strip_prefix("compute_")
            .or_else(|| name.strip_prefix("sm_"))
            .unwrap_or(&name);
        Self::ALL
            .iter()
            .copied()
            .find(|arch| {
                let row = arch.row();
                let letter = row.suffix.trim_start_matches(|digit: char| digit.is_ascii_digit());
                name == row.suffix || name == format!("{}.{}{letter}", row.number / 10, row.number % 10)
            })
            .ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &arch in NvvmArch::ALL {
            let (major, minor) = arch.capability();
            let letter = arch
                .row()
                .suffix
                .trim_start_matches(|digit: char| digit.is_ascii_digit());
            for name in [arch.to_string(), format!("{major}.{minor}{letter}")] {
                assert_eq!(name.parse(), Ok(arch), "{name}");
            }
            let compiled_for = if arch == NvvmArch::Compute73 {
                NvvmArch::Compute72
            } else {
                arch
            };
            assert_eq!(arch.sm_name().parse(), Ok(compiled_for));
            assert_eq!(format!("Compute{}", arch.row().suffix), format!("{arch:?}"));
        }
    }

    #[test]
    fn unknown_name_lists_the_known_ones() {
        let message = "sm_99".parse::<NvvmArch>().unwrap_err().to_string();
        assert!(
            message.contains("`sm_99`") && message.contains(" 75,") && message.contains("121a"),
            "{message}"
        );
        assert!("".parse::<NvvmArch>().is_err());
        assert!("compute_".parse::<NvvmArch>().is_err());
    }

    #[test]
    fn cuda_arch_is_ten_times_the_number() {
        assert_eq!(NvvmArch::Compute75.cuda_arch(), 750);
        assert_eq!(NvvmArch::Compute90a.cuda_arch(), 900);
        assert_eq!(NvvmArch::Compute121f.cuda_arch(), 1210);
    }

    #[test]
    fn variants_belong_to_their_base() {
        use NvvmArch::*;
        assert_eq!(Compute100a.get_variants(), [Compute100, Compute100f, Compute100a]);
        assert_eq!(
            (Compute100a.base_architecture(), Compute75.base_architecture()),
            (Compute100, Compute75)
        );
        assert_eq!(NvvmArch::variants_for_capability(91), []);
        for arch in NvvmArch::iter() {
            let kinds = [
                arch.is_base_variant(),
                arch.is_family_variant(),
                arch.is_architecture_variant(),
            ];
            assert_eq!(kinds.iter().filter(|&&kind| kind).count(), 1, "{arch}");
            assert!(arch.base_architecture().is_base_variant(), "{arch}");
            assert_eq!(
                (arch.target_feature(), 10 * arch.major_version() + arch.minor_version()),
                (&*arch.to_string(), arch.capability_value())
            );
        }
    }

    #[test]
    fn features_of_later_and_of_other_families_are_left_out() {
        use NvvmArch::*;
        assert_eq!(
            Compute53.all_target_features(),
            [Compute35, Compute37, Compute50, Compute52, Compute53]
        );
        let with = |arch: NvvmArch, other: NvvmArch| arch.all_target_features().contains(&other);
        assert!(with(Compute90a, Compute90a) && with(Compute90a, Compute90) && !with(Compute90, Compute90a));
        assert!(with(Compute103f, Compute100f) && !with(Compute103, Compute100f) && !with(Compute103f, Compute100a));
        assert!(with(Compute121a, Compute120f) && !with(Compute121a, Compute100f) && !with(Compute120f, Compute121));
    }

    #[test]
    fn families_need_ptx_8_8() {
        for &arch in NvvmArch::ALL.iter().filter(|arch| arch.row().suffix.ends_with('f')) {
            assert!(arch.ptx_version() >= (8, 8), "{arch}");
        }
    }
}
