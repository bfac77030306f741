//! Where the accumulators can live, and whether there is room for them.

use cuda_arch::Architecture;

use super::{Rule, Violation};
use crate::occupancy::{BlockUse, occupancy};
use crate::path::Path;
use crate::template::{Accumulator, Template};
use crate::{registers, tensor_memory};

rule!(
    /// Where accumulators can live.
    ACCUMULATOR,
    "accumulator",
    "wgmma accumulates in registers, tcgen05 in tensor memory; simt and mma.sync in registers or, added up there, in \
     shared memory",
    "PTX ISA 9.0, wgmma.mma_async and tcgen05.mma"
);

rule!(
    /// Registers for accumulators.
    ACCUMULATOR_REGISTERS,
    "accumulator_registers",
    "a thread has 255 registers, its share of the accumulators and what the main loop needs besides must fit",
    "CUDA Programming Guide, table 31"
);

rule!(
    /// Registers of a CTA.
    BLOCK_REGISTERS,
    "block_registers",
    "a block has 65536 registers, and every group of 4 warps counts whole: more is a launch out of resources",
    "CUDA Programming Guide, table 31; cuda_occupancy.h of CUDA 13.0, cudaOccMaxBlocksPerSMRegsLimit"
);

rule!(
    /// Columns of tensor memory.
    TENSOR_MEMORY,
    "tensor_memory",
    "an SM has 512 columns of tensor memory",
    "PTX ISA 9.0, tensor memory; CUTLASS tmem_allocator_sm100.hpp"
);

/// Whether the accumulators have a home that the path knows, and room there.
pub(super) fn check(template: &Template, arch: &Architecture) -> Result<(), Violation> {
    let legal = match template.path {
        Path::Simt | Path::MmaSync => template.accumulator != Accumulator::TensorMemory,
        Path::Wgmma => template.accumulator == Accumulator::Registers,
        Path::Tcgen05 => template.accumulator == Accumulator::TensorMemory,
    };
    if !legal {
        let nearest = Accumulator::of_path(template.path).name();
        return Err(Violation::name(
            &ACCUMULATOR,
            accumulator_of_path(template.path),
            template.accumulator.name(),
            Some(nearest),
        ));
    }
    if let Some(columns) = tensor_memory::columns(template, arch)
        && !columns.fit()
    {
        return Err(Violation::count(
            &TENSOR_MEMORY,
            "tensor-memory columns",
            columns.needed,
            tensor_memory::COLUMNS,
        ));
    }
    let needed = registers::math_registers(template);
    if needed > arch.registers_per_thread {
        return Err(Violation::count(
            &ACCUMULATOR_REGISTERS,
            "registers per thread",
            needed,
            arch.registers_per_thread,
        ));
    }
    let allocated = registers::registers(template, arch).allocated;
    let block = BlockUse::new(template.threads(), allocated, 0, 0);
    if occupancy(arch, &block).by_registers == Some(0) {
        // Warps take registers in whole units and are counted in fours.
        let warps = (template.warps + template.producer_warps).next_multiple_of(arch.subpartitions_per_sm);
        let unit = arch.register_allocation_per_warp;
        let most = arch.registers_per_block / warps / unit * unit / arch.warp_size;
        return Err(Violation::count(
            &BLOCK_REGISTERS,
            "registers per thread",
            allocated,
            most,
        ));
    }
    Ok(())
}

const fn accumulator_of_path(path: Path) -> &'static str {
    match path {
        Path::Simt => "accumulator of simt in",
        Path::MmaSync => "accumulator of mma.sync in",
        Path::Wgmma => "accumulator of wgmma in",
        Path::Tcgen05 => "accumulator of tcgen05 in",
    }
}
