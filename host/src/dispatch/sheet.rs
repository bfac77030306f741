//! Worksheets of this project's kernels.

use cuda_arch::Architecture;
use serde::Serialize;
use tilewright_contract::{DType, Kernel, Loads, MmaPath, Precision, Storage};
use tilewright_plan::occupancy::{Occupancy, occupancy};
use tilewright_plan::{Epilogue, EpilogueTile, GemmType, Path, Template, TileShape, Violation, Worksheet, worksheet};

use super::KernelUsage;

/// What an entry point takes with a tile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelSheet {
    /// The entry point's symbol.
    pub symbol: &'static str,
    /// Static shared memory of a block.
    pub static_bytes: u32,
    /// Dynamic shared memory of a block.
    pub dynamic_bytes: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Blocks that an SM holds.
    pub occupancy: Occupancy,
    /// The worksheet; `None` for a kernel that has no tiles in shared memory.
    pub worksheet: Option<Worksheet>,
}

/// The sheet of an entry point with a tile. `used`: what a compiler made it take, from the driver or from
/// [`usage`](super::usage()).
///
/// # Errors
/// A [`Violation`] where no device of the architecture can hold such a block at all, however much shared memory it had.
pub fn kernel_sheet(kernel: &Kernel, used: KernelUsage, arch: &Architecture) -> Result<KernelSheet, Violation> {
    let dynamic_bytes = kernel.dynamic_bytes().get();
    let worksheet = match kernel.smem.has_tiles() {
        true => Some(worksheet(&template(kernel, used, arch), arch, 0)?),
        false => None,
    };
    Ok(KernelSheet {
        symbol: kernel.symbol,
        static_bytes: used.static_bytes,
        dynamic_bytes,
        registers_per_thread: used.registers,
        occupancy: occupancy(arch, &used.block(kernel.threads(), dynamic_bytes)),
        worksheet,
    })
}

/// The kernel as a template: stages of two tiles, accumulators in registers.
fn template(kernel: &Kernel, used: KernelUsage, arch: &Architecture) -> Template {
    let &Kernel { tile, smem, .. } = kernel;
    Template {
        warps: kernel.threads().div_ceil(arch.warp_size) - kernel.producer_warps,
        producer_warps: kernel.producer_warps,
        epilogue: smem.epilogue.map_or(Epilogue::Direct, |buffers| {
            Epilogue::Own(EpilogueTile {
                m: buffers.m,
                n: buffers.n,
                buffers: buffers.buffers,
            })
        }),
        cluster: if kernel.is_transposed {
            (1, kernel.cluster)
        } else {
            (kernel.cluster, 1)
        },
        cp_async: kernel.loads != Loads::Tma,
        operands_static: smem.storage == Storage::Static,
        output_bytes: kernel.dtype.size_bytes(),
        row_padding: smem.row_padding,
        // Static memory besides the tiles holds spilled registers.
        static_bytes: used.static_bytes.saturating_sub(kernel.static_bytes().get()),
        scratch_per_warp_bytes: match smem.storage {
            Storage::Dynamic => smem.scratch.get() / kernel.threads().div_ceil(arch.warp_size),
            _ => 0,
        },
        registers_per_thread: Some(used.registers),
        barriers: used.barriers,
        ..Template::on_path(
            arch,
            path(kernel),
            gemm_type(kernel),
            // Parts of operands count as more of K.
            TileShape::new(tile.m, tile.n, tile.k * kernel.parts()),
            smem.stages,
        )
    }
}

/// The planner's name of the type of a kernel's operands in shared memory.
pub(super) fn gemm_type(kernel: &Kernel) -> GemmType {
    match kernel.operand_dtype() {
        DType::F32 if kernel.precision == Precision::Tf32 => GemmType::Tf32,
        DType::F32 => GemmType::F32,
        DType::F64 => GemmType::F64,
        DType::F16 => GemmType::F16,
        DType::Bf16 => GemmType::Bf16,
    }
}

/// The planner's name of the instructions that multiply.
pub(super) fn path(kernel: &Kernel) -> Path {
    match kernel.mma {
        MmaPath::Simt => Path::Simt,
        MmaPath::MmaSync => Path::MmaSync,
        MmaPath::Wgmma => Path::Wgmma,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_contract::{Bytes, DType, Family, KERNELS};

    /// Every kernel with each of its tiles.
    fn launches() -> impl Iterator<Item = Kernel> {
        KERNELS.iter().flat_map(|kernel| match kernel.widths {
            Some([min, max]) => (min..=max)
                .filter_map(|width| kernel.with_width(width))
                .collect::<Vec<_>>(),
            None => vec![*kernel],
        })
    }

    #[test]
    fn the_worksheet_says_what_the_contract_lays_out() {
        for arch in &cuda_arch::ARCHITECTURES {
            let capability = (arch.compute_capability.major, arch.compute_capability.minor);
            for kernel in launches().filter(|kernel| kernel.target.runs_on(capability)) {
                let case = || format!("{} {} {}", kernel.symbol, kernel.tile_name(), arch.name);
                let used = super::super::usage(kernel.symbol, arch).expect("tested beside the table");
                let sheet = kernel_sheet(&kernel, used, arch).expect("legal on every architecture");
                let Some(worksheet) = &sheet.worksheet else {
                    assert!(kernel.smem.total() == Bytes(0) || kernel.takes_vector(), "{}", case());
                    continue;
                };
                let total_bytes = used.static_bytes + kernel.dynamic_bytes().get();
                // The template charges an empty mbarrier beside each full one; whoever loads for himself needs none.
                let is_alone = kernel.loads == Loads::Tma && kernel.producer_warps == 0;
                let spare_bytes = if is_alone { 8 * kernel.smem.stages } else { 0 };
                assert_eq!(
                    worksheet.total_bytes,
                    u64::from(total_bytes + spare_bytes),
                    "{}",
                    case()
                );
                assert_eq!(total_bytes, sheet.static_bytes + sheet.dynamic_bytes);
                assert_eq!(worksheet.static_bytes, u64::from(sheet.static_bytes));
                if kernel.family == Family::REGISTER_TILE {
                    continue;
                }
                assert_eq!(
                    used.static_bytes,
                    kernel.static_bytes().get(),
                    "no kernel of the library spills"
                );
                for (name, part) in [("operand A", kernel.smem.a()), ("operand B", kernel.smem.b())] {
                    let line = worksheet.component(name).expect("has operands");
                    assert_eq!(line.bytes, u64::from(part.get()), "{} {name}", case());
                }
                if kernel.smem.stages == 1 {
                    let b = worksheet.component("operand B").expect("has operands");
                    assert_eq!(b.offset, u64::from(kernel.smem.a().get()), "{}", case());
                }
                assert_eq!(worksheet.occupancy, sheet.occupancy);
                assert_eq!(worksheet.fits, sheet.occupancy.blocks_per_sm > 0, "{}", case());
            }
        }
        assert!(launches().any(|kernel| kernel.dtype == DType::Bf16));
    }
}
