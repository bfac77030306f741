//! The worked example of the budget guide, line by line: its figures beside those that the worksheet computes.
//!
//! The guide ("SMEM budget management", on fitting kernels into sm_120) works through an NVFP4 product with tiles of
//! 128 x 256 x 64 and four stages on sm_100 and sm_120. Where its figures differ from the worksheet's, the line says
//! why and who says so.

use alloc::vec::Vec;

use serde::Serialize;

use crate::fit::{Fit, fit};
use crate::gemm_type::GemmType;
use crate::rules::Violation;
use crate::template::{Accumulator, Template, TileShape};
use crate::worksheet::{Worksheet, worksheet};

/// The example.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Example {
    /// sm_100: accumulators in tensor memory.
    pub sm_100: Worksheet,
    /// sm_120 as the guide has it: accumulators in shared memory.
    pub sm_120_as_guided: Worksheet,
    /// sm_120 as kernels are built: accumulators in registers.
    pub sm_120: Worksheet,
    /// How the guide's version is made to fit.
    pub moves: Fit,
    /// The guide's table, line by line.
    pub lines: Vec<Line>,
    /// What else the guide says, with what is so.
    pub statements: &'static [Statement],
}

/// A line of the guide's table; bytes for sm_100 and for sm_120.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it is.
    pub item: &'static str,
    /// The guide's figures.
    pub guide_bytes: [u64; 2],
    /// The worksheet's, with sm_120's accumulators in shared memory as in the guide.
    pub bytes: [u64; 2],
    /// Why they differ, or how they come about.
    pub why: &'static str,
    /// Who says so.
    pub source: &'static str,
}

/// A statement of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// What the guide says.
    pub guide: &'static str,
    /// What is so.
    pub corrected: &'static str,
    /// Who says so.
    pub source: &'static str,
}

const KIB: u64 = 1024;

/// Computes the example.
///
/// # Errors
/// None in practice: the template keeps every rule, which a test holds.
pub fn example() -> Result<Example, Violation> {
    let (sm_100, sm_120) = (known("sm_100")?, known("sm_120")?);
    let template = |arch| {
        let tile = TileShape::new(128, 256, 64);
        Template::usual(arch, GemmType::Nvfp4, tile, 4).ok_or_else(no_such_type)
    };
    let on_sm_100 = worksheet(&template(sm_100)?, sm_100, 0)?;
    let on_sm_120 = worksheet(&template(sm_120)?, sm_120, 0)?;
    let guided = Template {
        accumulator: Accumulator::SharedMemory,
        ..template(sm_120)?
    };
    let as_guided = worksheet(&guided, sm_120, 0)?;
    Ok(Example {
        lines: lines(&on_sm_100, &as_guided),
        moves: fit(&guided, sm_120, 0, None)?,
        sm_100: on_sm_100,
        sm_120_as_guided: as_guided,
        sm_120: on_sm_120,
        statements: &STATEMENTS,
    })
}

fn known(name: &'static str) -> Result<&'static cuda_arch::Architecture, Violation> {
    cuda_arch::find(name).map_err(|_| no_such_type())
}

fn no_such_type() -> Violation {
    Violation::name(&crate::rules::PATH, "the example", "nvfp4", None)
}

fn lines(sm_100: &Worksheet, sm_120: &Worksheet) -> Vec<Line> {
    let of = |names: &[&str]| {
        [sm_100, sm_120].map(|sheet| {
            names
                .iter()
                .filter_map(|name| sheet.component(name))
                .map(|line| line.bytes)
                .sum()
        })
    };
    let line = |item, guide_bytes, bytes, why, source| Line {
        item,
        guide_bytes,
        bytes,
        why,
        source,
    };
    [
        line(
            "operand A: 128 x 64 x 0.5 B x 4 stages",
            [16 * KIB; 2],
            of(&["operand A"]),
            "as the guide has it",
            "arithmetic",
        ),
        line(
            "operand B: 64 x 256 x 0.5 B x 4 stages",
            [32 * KIB; 2],
            of(&["operand B"]),
            "as the guide has it",
            "arithmetic",
        ),
        line(
            "scales of A and B",
            [4 * KIB; 2],
            of(&["scales of A", "scales of B"]),
            "512 + 1024 B a stage, and each of the 4 stages has its own: the guide multiplies operands by stages, not \
             scales",
            "CUTLASS, detail/sm100_blockscaled_layout.hpp: atoms of 128 rows x 4 scales",
        ),
        line(
            "accumulator: 128 x 256 x 4 B",
            [0, 128 * KIB],
            of(&["accumulator"]),
            "tensor memory on sm_100: 256 of 512 columns; on sm_120 no kernel of CUTLASS has it in shared memory: 128 \
             registers of each of 256 threads hold it",
            "PTX ISA 9.0, mma: accumulators are registers; CUTLASS sm120 collectives, 4 x 2 warps",
        ),
        line(
            "barriers",
            [KIB; 2],
            of(&["barriers", "barriers, once"]),
            "2 mbarriers of 8 B a stage (and on sm_100 four for the accumulators and an address): 1 KiB is an \
             allowance, not a size; CUTLASS takes 128 B a stage",
            "PTX ISA 9.0, mbarrier",
        ),
        line(
            "total",
            [53 * KIB, 181 * KIB],
            [sm_100.total_bytes, sm_120.total_bytes],
            "the sum, alignment included; no epilogue, which in practice is the largest part after the operands (8 to \
             32 KiB)",
            "the worksheet",
        ),
        line(
            "limit of a block",
            [225 * KIB, 97 * KIB],
            [sm_100.limit_bytes, sm_120.limit_bytes],
            "1 KiB of each block is reserved everywhere, so 228 - 1 and 100 - 1; 97 KiB would refuse kernels that run",
            "CUDA Programming Guide, table 31; CUTLASS arch.h",
        ),
    ]
    .into()
}

static STATEMENTS: [Statement; 8] = [
    Statement {
        guide: "the driver reserves about 3 KiB on SM100, so that 225 KiB are available",
        corrected: "1 KiB for each resident block, not for the SM; 227 KiB are available",
        source: "cccl arch_traits.h; cuda_occupancy.h adds it to each block",
    },
    Statement {
        guide: "a kernel that uses 100 to 225 KiB cannot be launched on SM120",
        corrected: "one that uses more than 101376 B (99 KiB) cannot; more than 48 KiB of static memory cannot even be \
                    assembled",
        source: "CUDA Programming Guide, table 31; ptxas 13.0",
    },
    Statement {
        guide: "m128n256 -> m64n256 costs about what m128n128 does",
        corrected: "for the same accumulator it loads 1.25 times as many bytes a FLOP: halve the longer side first",
        source: "arithmetic: (64 + 256) / (64 x 256) against (128 + 128) / (128 x 128)",
    },
    Statement {
        guide: "an m64n64 accumulator, 32 registers a thread, is tight but feasible",
        corrected: "32 of 255 is easy; CUTLASS's kernels use 128 and more",
        source: "CUDA Programming Guide, table 31",
    },
    Statement {
        guide: "above about 96 registers a thread, occupancy drops sharply",
        corrected: "a staircase without a cliff at 96: on sm_120 full occupancy ends above 40, 96 registers leave 20 \
                    of 48 warps, 128 leave 16",
        source: "cuda_occupancy.h: 256 registers a warp at a time, 16384 for each quarter",
    },
    Statement {
        guide: "L2 is 96 MB on workstation Blackwell and much more on B200, with about 150 cycles",
        corrected: "128 MiB on the RTX PRO 6000, 96 on the RTX 5090, 126 on B200; 250 to 350 cycles",
        source: "data sheets; arXiv 2606.22588 (L40: 222 to 339 cycles); chipsandcheese.com (B200, GB202)",
    },
    Statement {
        guide: "read shared memory from ptxas -v and confirm 99 KiB",
        corrected: "ptxas reports static memory alone, which ends at 48 KiB: static + dynamic must be held against the \
                    limit",
        source: "ptxas 13.0: `uses too much shared data (0x10000 bytes, 0xc000 max)`",
    },
    Statement {
        guide: "too much shared memory fails with an \"out of resources\" error",
        corrected: "with CUDA_ERROR_INVALID_VALUE, from cuFuncSetAttribute or the launch",
        source: "cuda.h 13.0; LAUNCH_OUT_OF_RESOURCES is about registers, threads and arguments",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_add_up_as_the_guides_do() {
        let example = example().expect("keeps every rule");
        let (parts, [total, limit]) = example.lines.split_at(5) else {
            panic!("five parts, a total and a limit")
        };
        for column in 0..2 {
            let guide: u64 = parts.iter().map(|line| line.guide_bytes[column]).sum();
            let ours: u64 = parts.iter().map(|line| line.bytes[column]).sum();
            assert_eq!((guide, ours), (total.guide_bytes[column], total.bytes[column]));
        }
        assert_eq!(total.bytes, [54 * KIB + 104, 182 * KIB + 64]);
        assert_eq!(limit.bytes, [232_448, 101_376]);
        assert!(example.sm_100.fits && example.sm_120.fits && !example.sm_120_as_guided.fits);
        assert!(example.moves.end().fits);
    }

    #[test]
    fn the_statement_about_traffic_is_arithmetic() {
        let bytes = |m: f64, n: f64| (m + n) / (m * n);
        assert!((bytes(64.0, 256.0) / bytes(128.0, 128.0) - 1.25).abs() < 1e-12);
    }
}
