//! Why a kernel with so many bytes of shared memory does not launch.
//!
//! ```
//! let launch = tilewright_plan::launchable(cuda_arch::find("sm_120")?, 0, 102_400);
//! assert_eq!(launch.over_by_bytes, 1024);
//! # Ok::<(), cuda_arch::UnknownArchitecture>(())
//! ```

use alloc::vec::Vec;
use core::fmt;

use cuda_arch::{ARCHITECTURES, Architecture};
use serde::Serialize;

use crate::budget::Budget;

/// Whether a CTA with some amount of shared memory can be launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Launchability {
    /// The architecture.
    pub arch: &'static str,
    /// Static shared memory, as `ptxas -v` or `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES` say.
    pub static_bytes: u64,
    /// Dynamic shared memory, as the launch asks for.
    pub dynamic_bytes: u64,
    /// Both.
    pub total_bytes: u64,
    /// What a CTA may have after opting in. The reserved part of each CTA is not in it, and must not be taken off
    /// again.
    pub limit_bytes: u64,
    /// What a CTA may have without opting in, and the most that can be static.
    pub default_limit_bytes: u64,
    /// Bytes beyond the limit that is broken: that of [`Verdict::StaticTooLarge`] is the default limit.
    pub over_by_bytes: u64,
    /// Bytes below the opt-in limit.
    pub left_bytes: u64,
    /// The answer.
    pub verdict: Verdict,
    /// The architectures of the table that would take it.
    pub taken_by: Vec<&'static str>,
}

/// What becomes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It launches.
    Launches,
    /// It launches once `cuFuncSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)` has been called for the
    /// function.
    NeedsOptIn,
    /// No attribute helps: attribute call and launch are answered with `CUDA_ERROR_INVALID_VALUE`.
    TooLarge,
    /// The kernel cannot be assembled: static shared memory ends at 48 KiB everywhere.
    StaticTooLarge,
}

impl Verdict {
    /// What the user gets to see who does not do what the verdict asks for; `None` where nothing is asked.
    ///
    /// Sources: `cuda.h` 13.0, `cuFuncSetAttribute` and `cuLaunchKernel`; `ptxas` 13.0. CUTLASS makes "Error Internal"
    /// of the driver's error, Triton raises its own `OutOfResources` before the launch.
    /// `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES` is about registers and threads, not about this.
    pub const fn error(self) -> Option<&'static str> {
        match self {
            Verdict::Launches => None,
            Verdict::NeedsOptIn | Verdict::TooLarge => Some("CUDA_ERROR_INVALID_VALUE"),
            Verdict::StaticTooLarge => Some("ptxas: uses too much shared data"),
        }
    }
}

/// Whether `arch` launches a CTA with so much static and dynamic shared memory.
pub fn launchable(arch: &Architecture, static_bytes: u64, dynamic_bytes: u64) -> Launchability {
    let total_bytes = static_bytes.saturating_add(dynamic_bytes);
    let (without, opted_in) = (Budget::by_default(arch), Budget::opted_in(arch));
    let verdict = verdict(arch, static_bytes, total_bytes);
    let taken = |other: &&Architecture| {
        let verdict = self::verdict(other, static_bytes, total_bytes);
        matches!(verdict, Verdict::Launches | Verdict::NeedsOptIn)
    };
    Launchability {
        arch: arch.name,
        static_bytes,
        dynamic_bytes,
        total_bytes,
        limit_bytes: opted_in.limit_bytes,
        default_limit_bytes: without.limit_bytes,
        over_by_bytes: match verdict {
            Verdict::StaticTooLarge => without.over_by_bytes(static_bytes),
            _ => opted_in.over_by_bytes(total_bytes),
        },
        left_bytes: opted_in.left_bytes(total_bytes),
        verdict,
        taken_by: ARCHITECTURES.iter().filter(taken).map(|other| other.name).collect(),
    }
}

fn verdict(arch: &Architecture, static_bytes: u64, total_bytes: u64) -> Verdict {
    let (without, opted_in) = (Budget::by_default(arch), Budget::opted_in(arch));
    if !without.fits(static_bytes) {
        Verdict::StaticTooLarge
    } else if !opted_in.fits(total_bytes) {
        Verdict::TooLarge
    } else if !without.fits(total_bytes) {
        Verdict::NeedsOptIn
    } else {
        Verdict::Launches
    }
}

impl fmt::Display for Launchability {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            arch,
            static_bytes,
            dynamic_bytes,
            total_bytes,
            limit_bytes,
            default_limit_bytes,
            over_by_bytes,
            left_bytes,
            verdict,
            taken_by,
        } = self;
        write!(f, "{total_bytes} B ({static_bytes} static, {dynamic_bytes} dynamic) ")?;
        match verdict {
            Verdict::Launches => write!(f, "launch on {arch}: {left_bytes} B are left of {limit_bytes} B"),
            Verdict::NeedsOptIn => write!(
                f,
                "launch on {arch} after cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES, {dynamic_bytes}): \
                 {left_bytes} B are left of {limit_bytes} B; without it the limit is {default_limit_bytes} B and the \
                 error CUDA_ERROR_INVALID_VALUE"
            ),
            Verdict::TooLarge => {
                write!(
                    f,
                    "do not launch on {arch}: {over_by_bytes} B over the {limit_bytes} B that a block may have; \
                     cuFuncSetAttribute and cuLaunchKernel answer CUDA_ERROR_INVALID_VALUE; "
                )?;
                match taken_by.split_first() {
                    None => f.write_str("no architecture takes it"),
                    Some((first, others)) => {
                        write!(f, "{first}")?;
                        others.iter().try_for_each(|other| write!(f, ", {other}"))?;
                        f.write_str(" would take it")
                    }
                }
            }
            Verdict::StaticTooLarge => write!(
                f,
                "cannot be assembled: {over_by_bytes} B over the {default_limit_bytes} B that can be static on any \
                 architecture (ptxas: uses too much shared data, 0x{static_bytes:x} bytes, 0x{default_limit_bytes:x} \
                 max); dynamic shared memory goes up to {limit_bytes} B on {arch}"
            ),
        }
    }
}
