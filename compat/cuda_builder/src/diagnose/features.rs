//! Which architecture and which PTX version an instruction needs.
//!
//! One row for each group of instructions that is newer than sm_60 or PTX 6.5: PTX ISA 9.0, "Target ISA Notes" and "PTX
//! ISA Notes" of each. Each row was tried with `ptxas` 13.0.88.

use crate::arch::NvvmArch;

/// The architectures that have an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Targets {
    /// This compute capability (times ten) and all later ones.
    From(u32),
    /// For 8.9 only, which got it with a later PTX version than 9.0.
    Ada,
    /// `sm_90a` alone.
    Hopper,
    /// The `a` and `f` variants of 9.0 and later.
    Variants,
    /// The `a` and `f` variants of 10.0 and later.
    BlackwellVariants,
    /// The `a` and `f` variants of 10.x and 11.x: Blackwell with tensor memory.
    TensorMemory,
}

impl Targets {
    fn have(self, arch: NvvmArch) -> bool {
        let (major, minor) = arch.capability();
        let number = major * 10 + minor;
        let variant = arch.sm_name().ends_with(['a', 'f']);
        match self {
            Self::From(first) => number >= first,
            Self::Ada => true,
            Self::Hopper => arch == NvvmArch::Compute90a,
            Self::Variants => variant && number >= 90,
            Self::BlackwellVariants => variant && number >= 100,
            Self::TensorMemory => variant && (100..120).contains(&number),
        }
    }

    fn in_words(self) -> String {
        match self {
            Self::From(first) => format!("sm_{first} or later"),
            Self::Ada => "sm_89".to_owned(),
            Self::Hopper => "sm_90a and no other architecture".to_owned(),
            Self::Variants => "an architecture with `a` or `f` in its name, such as sm_90a".to_owned(),
            Self::BlackwellVariants => "sm_100a or another `a` or `f` variant of Blackwell".to_owned(),
            Self::TensorMemory => "sm_100a or another `a` or `f` variant of 10.x or 11.x".to_owned(),
        }
    }
}

use Targets::{Ada, BlackwellVariants, From, Hopper, TensorMemory, Variants};

/// The words of an opcode (the first in its place, the others anywhere), its architectures and its PTX version.
const ROWS: &[(&str, Targets, (u32, u32))] = &[
    ("nanosleep", From(70), (6, 3)),
    ("match", From(70), (6, 0)),
    ("wmma", From(70), (6, 0)),
    ("bmsk", From(70), (7, 6)),
    ("szext", From(70), (7, 6)),
    ("fence", From(70), (6, 0)),
    ("fence proxy", From(70), (7, 5)),
    ("ld relaxed", From(70), (6, 0)),
    ("ld acquire", From(70), (6, 0)),
    ("st relaxed", From(70), (6, 0)),
    ("st release", From(70), (6, 0)),
    ("atom relaxed", From(70), (6, 0)),
    ("atom acquire", From(70), (6, 0)),
    ("atom release", From(70), (6, 0)),
    ("atom acq_rel", From(70), (6, 0)),
    ("red relaxed", From(70), (6, 0)),
    ("red release", From(70), (6, 0)),
    ("ld b128", From(70), (8, 3)),
    ("st b128", From(70), (8, 3)),
    ("mma", From(70), (6, 4)),
    ("mma m8n8k16", From(75), (6, 5)),
    ("mma m8n8k32", From(75), (6, 5)),
    ("mma m8n8k128", From(75), (7, 0)),
    ("mma m16n8k8", From(75), (6, 5)),
    ("ldmatrix", From(75), (6, 5)),
    ("movmatrix", From(75), (7, 8)),
    ("tanh", From(75), (7, 0)),
    ("ex2 f16", From(75), (7, 0)),
    ("ex2 f16x2", From(75), (7, 0)),
    ("mma m16n8k4", From(80), (7, 0)),
    ("mma m16n8k16", From(80), (7, 0)),
    ("mma m16n8k32", From(80), (7, 0)),
    ("mma m16n8k64", From(80), (7, 0)),
    ("mma m16n8k128", From(80), (7, 0)),
    ("mma m16n8k256", From(80), (7, 0)),
    ("mma bf16", From(80), (7, 0)),
    ("mma tf32", From(80), (7, 0)),
    ("mma f64", From(80), (7, 0)),
    ("mma sp", From(80), (7, 1)),
    ("cp async", From(80), (7, 0)),
    ("mbarrier", From(80), (7, 0)),
    ("redux", From(80), (7, 0)),
    ("discard", From(80), (7, 4)),
    ("applypriority", From(80), (7, 4)),
    ("createpolicy", From(80), (7, 4)),
    ("fma bf16", From(80), (7, 0)),
    ("fma bf16x2", From(80), (7, 0)),
    ("min f16", From(80), (7, 0)),
    ("max f16", From(80), (7, 0)),
    ("min f16x2", From(80), (7, 0)),
    ("max f16x2", From(80), (7, 0)),
    ("min bf16x2", From(80), (7, 0)),
    ("max bf16x2", From(80), (7, 0)),
    ("cvt bf16", From(80), (7, 0)),
    ("cvt bf16x2", From(80), (7, 0)),
    ("cvt tf32", From(80), (7, 0)),
    ("cvt f16x2", From(80), (7, 0)),
    ("mma e4m3", From(89), (8, 4)),
    ("mma e5m2", From(89), (8, 4)),
    ("cvt e4m3x2", From(89), (7, 8)),
    ("cvt e5m2x2", From(89), (7, 8)),
    ("cvt e4m3x2", Ada, (8, 1)),
    ("cvt e5m2x2", Ada, (8, 1)),
    ("add bf16", From(90), (7, 8)),
    ("add bf16x2", From(90), (7, 8)),
    ("sub bf16", From(90), (7, 8)),
    ("sub bf16x2", From(90), (7, 8)),
    ("mul bf16", From(90), (7, 8)),
    ("mul bf16x2", From(90), (7, 8)),
    ("tanh bf16", From(90), (7, 8)),
    ("tanh bf16x2", From(90), (7, 8)),
    ("ex2 bf16", From(90), (7, 8)),
    ("ex2 bf16x2", From(90), (7, 8)),
    ("atom bf16", From(90), (7, 8)),
    ("atom bf16x2", From(90), (7, 8)),
    ("red bf16", From(90), (7, 8)),
    ("red bf16x2", From(90), (7, 8)),
    ("atom b128", From(90), (8, 3)),
    ("cp async bulk", From(90), (8, 0)),
    ("cp reduce async bulk", From(90), (8, 0)),
    ("mbarrier try_wait", From(90), (7, 8)),
    ("mbarrier expect_tx", From(90), (8, 0)),
    ("mbarrier complete_tx", From(90), (8, 0)),
    ("mbarrier cluster", From(90), (8, 0)),
    ("barrier cluster", From(90), (7, 8)),
    ("fence cluster", From(90), (7, 8)),
    ("fence mbarrier_init", From(90), (8, 0)),
    ("fence proxy async", From(90), (8, 0)),
    ("fence proxy tensormap::generic", From(90), (8, 3)),
    ("elect", From(90), (8, 0)),
    ("griddepcontrol", From(90), (7, 8)),
    ("st async", From(90), (8, 1)),
    ("red async", From(90), (8, 1)),
    ("multimem", From(90), (8, 1)),
    ("stmatrix", From(90), (7, 8)),
    ("mapa", From(90), (7, 8)),
    ("getctarank", From(90), (7, 8)),
    ("isspacep shared::cluster", From(90), (7, 8)),
    ("prefetch tensormap", From(90), (8, 0)),
    ("tensormap cp_fenceproxy", From(90), (8, 3)),
    ("tensormap replace", Variants, (8, 3)),
    ("setmaxnreg", Variants, (8, 0)),
    ("wgmma", Hopper, (8, 0)),
    ("clusterlaunchcontrol", From(100), (8, 6)),
    ("st bulk", From(100), (8, 6)),
    ("add f32x2", From(100), (8, 6)),
    ("sub f32x2", From(100), (8, 6)),
    ("mul f32x2", From(100), (8, 6)),
    ("fma f32x2", From(100), (8, 6)),
    ("redux f32", BlackwellVariants, (8, 6)),
    ("cvt e2m1x2", BlackwellVariants, (8, 6)),
    ("cvt ue8m0x2", BlackwellVariants, (8, 6)),
    ("tcgen05", TensorMemory, (8, 6)),
];

/// What an instruction lacks in a module for `arch` and PTX `version`: the reason and the remedy.
pub(super) fn missing(opcode: &str, arch: NvvmArch, version: (u32, u32)) -> Option<(String, String)> {
    let words: Vec<&str> = opcode.split('.').collect();
    let rows = ROWS.iter().filter(|(row, ..)| {
        let mut row = row.split(' ');
        row.next() == words.first().copied() && row.all(|word| words.contains(&word))
    });
    let rows: Vec<_> = rows.collect();
    if let Some((_, targets, _)) = rows.iter().rfind(|(_, targets, _)| !targets.have(arch)) {
        let needed = targets.in_words();
        return Some((
            format!("it needs {needed}, and this build is for {}", arch.sm_name()),
            "build for that architecture (CudaBuilder::arch), or choose the code by the environment variable CUDA_ARCH"
                .to_owned(),
        ));
    }
    let counted = rows
        .iter()
        .filter(|(_, targets, _)| *targets != Ada || arch == NvvmArch::Compute89);
    let newest = counted.map(|(_, _, version)| *version).max()?;
    let (major, minor) = version;
    (newest > version).then(|| {
        (
            format!(
                "it needs PTX {}.{}, and this build writes PTX {major}.{minor}",
                newest.0, newest.1
            ),
            format!(
                "call CudaBuilder::ptx_version({}, {}); drivers older than that PTX version cannot load it",
                newest.0, newest.1
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architecture_and_version_are_told_apart() {
        let of =
            |opcode, arch: &str, version| missing(opcode, arch.parse().unwrap(), version).map(|(reason, _)| reason);
        assert_eq!(of("add.u32", "50", (6, 0)), None);
        assert_eq!(of("wgmma.fence.sync.aligned", "90a", (8, 0)), None);
        assert!(
            of("wgmma.fence.sync.aligned", "90", (8, 0))
                .unwrap()
                .contains("sm_90a and no other")
        );
        assert!(of("wgmma.fence.sync.aligned", "100a", (8, 6)).is_some());
        assert!(
            of("cp.async.bulk.commit_group", "80", (8, 0))
                .unwrap()
                .contains("sm_90 or later")
        );
        assert_eq!(of("cp.async.commit_group", "80", (7, 8)), None);
        assert!(
            of("stmatrix.sync.aligned", "90", (7, 5))
                .unwrap()
                .contains("needs PTX 7.8")
        );
        assert!(of("redux.sync.min.f32", "100", (8, 6)).unwrap().contains("sm_100a"));
        let eight_bits = "cvt.rn.satfinite.e4m3x2.f32";
        assert_eq!(of(eight_bits, "90", (8, 0)), None);
        assert!(of(eight_bits, "89", (8, 0)).unwrap().contains("needs PTX 8.1"));
        assert!(of("tcgen05.alloc", "120a", (8, 7)).is_some());
    }

    #[test]
    fn rows_name_instructions_and_are_in_order() {
        for (row, ..) in ROWS {
            assert!(
                super::super::opcodes::is_instruction(row.split(' ').next().unwrap()),
                "{row}"
            );
        }
    }
}
