//! Rules that a configuration must keep, each with its source, and what is said where one is broken.

use core::fmt;

use serde::Serialize;

/// Something that hardware, an instruction or a library demands.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// A short name, for machines.
    pub name: &'static str,
    /// What is demanded.
    pub says: &'static str,
    /// Who says so.
    pub source: &'static str,
}

/// A value of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count.
    Number(u64),
    /// A name out of a table.
    Name(&'static str),
    /// Two counts, such as a cluster's extents.
    Pair(u32, u32),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Name(name) => f.write_str(name),
            Value::Pair(x, y) => write!(f, "{x}x{y}"),
        }
    }
}

/// A broken rule: what broke it, and the nearest value that keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub rule: &'static Rule,
    /// What of the configuration breaks it.
    pub what: &'static str,
    /// Its value.
    pub got: Value,
    /// The nearest value that keeps the rule, where there is one.
    pub nearest: Option<Value>,
}

impl Violation {
    pub(crate) fn number(rule: &'static Rule, what: &'static str, got: u64, nearest: Option<u64>) -> Self {
        Self {
            rule,
            what,
            got: Value::Number(got),
            nearest: nearest.map(Value::Number),
        }
    }

    pub(crate) fn name(
        rule: &'static Rule,
        what: &'static str,
        got: &'static str,
        nearest: Option<&'static str>,
    ) -> Self {
        Self {
            rule,
            what,
            got: Value::Name(got),
            nearest: nearest.map(Value::Name),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            what,
            got,
            nearest,
        } = self;
        write!(f, "{what} {got}: {} ({})", rule.says, rule.source)?;
        match nearest {
            Some(nearest) => write!(f, "; nearest: {nearest}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Violation {}

/// Every rule, in the order in which a template is held against them; `tilewright plan --rules` prints them.
pub static RULES: [&Rule; 27] = [
    &EXTENT,
    &OUTPUT_BYTES,
    &INDEX,
    &POSITIVE,
    &PATH,
    &WARPS,
    &WARPGROUPS,
    &SIMT_WARPS,
    &THREADS,
    &TILE_M,
    &TILE_N,
    &TILE_K,
    &WGMMA_N,
    &TCGEN05_M,
    &TCGEN05_N,
    &SCALE_ATOM_ROWS,
    &SCALE_ATOM_K,
    &STAGES,
    &FEWEST_STAGES,
    &ACCUMULATOR,
    &ACCUMULATOR_REGISTERS,
    &BLOCK_REGISTERS,
    &TENSOR_MEMORY,
    &EPILOGUE,
    &CLUSTER,
    &STATIC_BYTES,
    &MARGIN,
];

macro_rules! rule {
    ($(#[$doc:meta])* $id:ident, $name:literal, $says:literal, $source:literal) => {
        $(#[$doc])*
        pub static $id: Rule = Rule { name: $name, says: $says, source: $source };
    };
}

rule!(
    /// The largest extent that the planner computes with.
    EXTENT, "extent", "tile extents and parts of K are at most 65536, stages at most 1024, warps and accumulators too, scratch at most 1 MiB a warp",
    "the planner; no multiprocessor holds more"
);
rule!(
    /// The widest element of C.
    OUTPUT_BYTES, "output-bytes", "an element of C has at most 16 bytes", "the planner; the widest are complex numbers of two f64"
);
rule!(
    /// The largest extent of a matrix.
    INDEX, "index", "extents of matrices are at most 2147483647 elements, the kernels' index type", "this project's kernels; CUTLASS and cuBLAS take 32-bit extents too"
);
rule!(
    /// Nothing is zero.
    POSITIVE, "positive", "must be at least 1", "the planner"
);
rule!(
    /// The architecture has the instructions for the type.
    PATH, "path", "the architecture has no such instructions for this element type",
    "PTX ISA 9.0, target notes of mma, wgmma.mma_async and tcgen05.mma"
);
rule!(
    /// A whole number of warps shares the tile.
    WARPS, "warps", "the warps must divide the tile into equal parts that the instruction can make",
    "PTX ISA 9.0, mma: shapes m16n8k*; m8n8k4 for f64"
);
rule!(
    /// No thread without work.
    SIMT_WARPS,
    "simt_warps",
    "a thread without an element of C has nothing to do",
    "the planner"
);
rule!(
    /// `wgmma` and the epilogue of `tcgen05` work in groups of four warps.
    WARPGROUPS, "warpgroups", "warps must come in groups of 4", "PTX ISA 9.0, wgmma.mma_async; tcgen05.ld: a warp reaches a quarter of the lanes"
);
rule!(
    /// The most threads of a block.
    THREADS, "threads", "a block has at most 1024 threads", "CUDA Programming Guide, table 30"
);
rule!(
    /// The rows of the tile.
    TILE_M, "tile_m", "rows must be a multiple of the instruction's", "PTX ISA 9.0, shapes of mma (16; 8 for f64), wgmma (64) and tcgen05 (64)"
);
rule!(
    /// The columns of the tile.
    TILE_N, "tile_n", "columns must be a multiple of the instruction's", "PTX ISA 9.0, shapes of mma (8), wgmma (8; 16 for int8) and tcgen05 (16)"
);
rule!(
    /// The depth of the tile.
    TILE_K, "tile_k", "depth must be a multiple of the instruction's", "PTX ISA 9.0, shapes of mma, wgmma (256 bits) and tcgen05 (256 bits)"
);
rule!(
    /// The columns of one `wgmma`.
    WGMMA_N, "wgmma_n", "one wgmma has at most 256 columns", "PTX ISA 9.0, wgmma.mma_async: m64nNk16, N up to 256"
);
rule!(
    /// The rows of one `tcgen05.mma`.
    TCGEN05_M, "tcgen05_m", "rows must be 64, 128 or 256 (128 or 256 with block scales)",
    "PTX ISA 9.0, tcgen05.mma: shapes; 256 as two of 128 or by two blocks"
);
rule!(
    /// The columns of one `tcgen05.mma`.
    TCGEN05_N, "tcgen05_n", "one tcgen05.mma has at most 256 columns", "PTX ISA 9.0, tcgen05.mma: shapes"
);
rule!(
    /// Rows of a scale atom.
    SCALE_ATOM_ROWS, "scale_atom_rows", "block scales come in atoms of 128 rows, so the tile has a multiple of 128 rows",
    "CUTLASS, detail/sm100_blockscaled_layout.hpp and the sm120 builder"
);
rule!(
    /// Elements along K of a scale atom.
    SCALE_ATOM_K, "scale_atom_k", "block scales come in atoms of 4 blocks along k: 64 elements for nvfp4, 128 for the MX types",
    "CUTLASS, detail/sm100_blockscaled_layout.hpp"
);
rule!(
    /// Buffers.
    STAGES, "stages", "the main loop needs a buffer: at least 1 stage, for Triton's mma.sync kernels 2, of which one lives in registers",
    "CUTLASS StageCount; Triton: num_stages - 1 buffers, (4 - 1) x (128 + 256) x 128 = 147456 B as users report"
);
rule!(
    /// Where sums can live.
    ACCUMULATOR, "accumulator", "wgmma sums in registers, tcgen05 in tensor memory; simt and mma.sync in registers or, added up there, in shared memory",
    "PTX ISA 9.0, wgmma.mma_async and tcgen05.mma"
);
rule!(
    /// Registers for sums.
    ACCUMULATOR_REGISTERS, "accumulator_registers", "a thread has 255 registers, its share of the sums and what the main loop needs besides must fit",
    "CUDA Programming Guide, table 31"
);
rule!(
    /// Registers of a block.
    BLOCK_REGISTERS, "block_registers", "a block has 65536 registers, and every group of 4 warps counts whole: more is a launch out of resources",
    "CUDA Programming Guide, table 31; cuda_occupancy.h of CUDA 13.0, cudaOccMaxBlocksPerSMRegsLimit"
);
rule!(
    /// Columns of tensor memory.
    TENSOR_MEMORY, "tensor_memory", "a multiprocessor has 512 columns of tensor memory", "PTX ISA 9.0, tensor memory; CUTLASS tmem_allocator_sm100.hpp"
);
rule!(
    /// The epilogue's tile.
    EPILOGUE, "epilogue", "the epilogue's tile must divide the tile", "CUTLASS, epilogue/collective/builders: EpilogueTile"
);
rule!(
    /// Blocks of a cluster.
    CLUSTER, "cluster", "clusters exist from 9.0 on, with at most 8 blocks, and kernels for 12.x are built for 1x1 alone",
    "CUDA Programming Guide, thread block clusters; CUTLASS sm120 builders: static_assert cluster shape 1x1x1"
);
rule!(
    /// Static shared memory.
    STATIC_BYTES, "static_bytes", "static shared memory is at most 49152 B on every architecture",
    "ptxas 13.0: `uses too much shared data (0x10000 bytes, 0xc000 max)`"
);
rule!(
    /// The safety margin.
    MARGIN, "margin", "the margin must leave some of the limit", "the planner"
);
rule!(
    /// The fewest stages that the selector considers.
    FEWEST_STAGES,
    "fewest_stages",
    "a pipeline needs 2 stages; wgmma kernels are built with at least 3, and with 4 of 128 bytes of k below 128 x 192",
    "DeepGEMM, csrc/jit_kernels/heuristics/sm90.hpp; double buffering elsewhere"
);
