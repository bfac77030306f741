//! Code that depends on the architecture it is compiled for.

use crate::gpu_only;

/// Declares the capabilities once: the variants, their numbers, and the parse of `CUDA_ARCH`.
macro_rules! capabilities {
    ($($variant:ident = $major:literal . $minor:literal, $arch:literal;)*) => {
        /// A compute capability: the generation of a GPU (CUDA guide, "Compute Capabilities"). Later ones compare
        /// greater.
        ///
        /// The published crate ends at 8.0. Stock rustc compiles for 7.5 and later; the older ones are here for
        /// comparisons.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ComputeCapability {
            $(
                #[doc = concat!("Compute capability ", $major, ".", $minor, ".")]
                $variant,
            )*
        }

        impl ComputeCapability {
            /// Reads the form of `CUDA_ARCH`: the capability times a hundred, `"750"` for 7.5.
            #[cfg(any(test, target_arch = "nvptx64"))]
            const fn parse(arch: &str) -> Option<Self> {
                match arch.as_bytes() {
                    $($arch => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// All, in rising order, each with that number.
            #[cfg(any(test, not(target_arch = "nvptx64")))]
            const ALL: &[(Self, u32)] = &[$((Self::$variant, 100 * $major + 10 * $minor)),*];
        }
    };
}

capabilities! {
    Compute35 = 3 . 5, b"350";
    Compute37 = 3 . 7, b"370";
    Compute50 = 5 . 0, b"500";
    Compute52 = 5 . 2, b"520";
    Compute53 = 5 . 3, b"530";
    Compute60 = 6 . 0, b"600";
    Compute61 = 6 . 1, b"610";
    Compute62 = 6 . 2, b"620";
    Compute70 = 7 . 0, b"700";
    Compute72 = 7 . 2, b"720";
    Compute75 = 7 . 5, b"750";
    Compute80 = 8 . 0, b"800";
    Compute86 = 8 . 6, b"860";
    Compute87 = 8 . 7, b"870";
    Compute89 = 8 . 9, b"890";
    Compute90 = 9 . 0, b"900";
    Compute100 = 10 . 0, b"1000";
    Compute103 = 10 . 3, b"1030";
    Compute110 = 11 . 0, b"1100";
    Compute120 = 12 . 0, b"1200";
    Compute121 = 12 . 1, b"1210";
}

impl ComputeCapability {
    /// The capability of this build.
    #[cfg(target_arch = "nvptx64")]
    const CURRENT: Self = match Self::parse(env!("CUDA_ARCH", "set by cuda_builder")) {
        Some(capability) => capability,
        None => panic!("CUDA_ARCH names no known compute capability"),
    };

    /// Whether this build is for `self` or later; a constant.
    #[cfg(target_arch = "nvptx64")]
    pub(crate) const fn is_there(self) -> bool {
        self as u32 <= Self::CURRENT as u32
    }

    /// The capability that this code is compiled for, from the variable `CUDA_ARCH` that `cuda_builder` sets.
    ///
    /// A constant of the build: a comparison with it leaves one branch. An unknown value is a compile error.
    ///
    /// # On the host
    ///
    /// That of the architecture whose limits the simulator holds the launch to; of an unknown one, the latest before
    /// it.
    #[gpu_only(sim = { Self::at_most(cuda_sim::device::compute_capability()) })]
    #[inline(always)]
    pub fn from_cuda_arch_env() -> Self {
        Self::CURRENT
    }

    /// The latest known capability whose number, as in `CUDA_ARCH`, is not above `number`; the first if there is none.
    #[cfg(not(target_arch = "nvptx64"))]
    fn at_most(number: u32) -> Self {
        let mut fitting = Self::ALL.iter().rev().filter(|&&(_, known)| known <= number);
        fitting.next().unwrap_or(&Self::ALL[0]).0
    }
}

#[cfg(test)]
mod tests {
    use super::ComputeCapability::{self, *};

    #[test]
    fn an_unknown_number_is_the_capability_before_it() {
        assert_eq!(ComputeCapability::at_most(1070), Compute103);
        assert_eq!(ComputeCapability::at_most(9990), Compute121);
        assert_eq!(ComputeCapability::at_most(0), Compute35);
    }

    #[test]
    fn parses_the_variable_and_orders_by_age() {
        assert_eq!(ComputeCapability::parse("750"), Some(Compute75));
        assert_eq!(ComputeCapability::parse("1210"), Some(Compute121));
        assert_eq!(ComputeCapability::parse("75"), None);
        for &(capability, number) in ComputeCapability::ALL {
            assert_eq!(ComputeCapability::parse(&number.to_string()), Some(capability));
            assert_eq!(ComputeCapability::at_most(number), capability);
        }
        assert!(Compute35 < Compute90 && Compute90 < Compute100 && Compute103 < Compute121);
    }
}
