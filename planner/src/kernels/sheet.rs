//! Worksheets of this project's kernels.

use cuda_arch::Architecture;
use serde::Serialize;
use tilewright_contract::{SharedMemory, TileGeometry, Variant};

use crate::occupancy::{BlockUse, Occupancy, occupancy};
use crate::path::Path;
use crate::template::{Template, TileShape};
use crate::worksheet::{Worksheet, worksheet};
use crate::{GemmType, Violation};

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
    /// Blocks that a multiprocessor holds.
    pub occupancy: Occupancy,
    /// The worksheet; `None` for a kernel that uses no shared memory.
    pub worksheet: Option<Worksheet>,
}

/// The sheet of an entry point with a tile. `registers`: of a thread, from the driver or from [`registers`](super::registers).
///
/// # Errors
/// A [`Violation`] where no device of the architecture can hold such a block at all, however much shared memory it had.
pub fn kernel_sheet(
    variant: &Variant,
    tile: TileGeometry,
    registers: u32,
    arch: &Architecture,
) -> Result<KernelSheet, Violation> {
    let (static_bytes, dynamic_bytes) = (variant.static_bytes().get(), variant.dynamic_bytes(tile).get());
    let worksheet = match variant.shared {
        SharedMemory::None => None,
        SharedMemory::Static(_) | SharedMemory::Dynamic => {
            Some(worksheet(&template(variant, tile, registers, arch), arch, 0)?)
        }
    };
    let block = BlockUse::new(tile.threads(), registers, static_bytes.into(), dynamic_bytes.into());
    Ok(KernelSheet {
        symbol: variant.symbol,
        static_bytes,
        dynamic_bytes,
        registers_per_thread: registers,
        occupancy: occupancy(arch, &block),
        worksheet,
    })
}

/// The kernel as a template: one stage of two square tiles, sums in registers, results stored directly.
fn template(variant: &Variant, tile: TileGeometry, registers: u32, arch: &Architecture) -> Template {
    let width = tile.width();
    Template {
        warps: tile.threads().div_ceil(arch.warp_size),
        operands_static: matches!(variant.shared, SharedMemory::Static(_)),
        output_bytes: variant.dtype.size_bytes(),
        registers_per_thread: Some(registers),
        ..Template::on_path(
            arch,
            Path::Simt,
            GemmType::from(variant.dtype),
            TileShape::new(width, width, width),
            1,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_contract::{DType, Rung, TilePair, VARIANTS};

    /// Every tile width of every entry point.
    fn launches() -> impl Iterator<Item = (&'static Variant, TileGeometry)> {
        VARIANTS.iter().flat_map(|variant| {
            (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
                .filter(|&width| variant.computes(width))
                .map(move |width| (variant, TileGeometry::new(width).expect("in range")))
        })
    }

    #[test]
    fn the_worksheet_says_what_the_contract_lays_out() {
        for arch in &cuda_arch::ARCHITECTURES {
            for (variant, tile) in launches() {
                let registers = super::super::registers(variant.symbol, arch).expect("tested beside the table");
                let sheet = kernel_sheet(variant, tile, registers, arch).expect("legal on every architecture");
                let Some(worksheet) = &sheet.worksheet else {
                    assert_eq!(variant.rung, Rung::Naive);
                    continue;
                };
                let pair = TilePair::new(tile, variant.dtype);
                assert_eq!(
                    worksheet.total_bytes,
                    u64::from(pair.total().get()),
                    "{} {tile:?}",
                    variant.symbol
                );
                assert_eq!(
                    worksheet.total_bytes,
                    u64::from(sheet.static_bytes + sheet.dynamic_bytes)
                );
                assert_eq!(worksheet.static_bytes, u64::from(sheet.static_bytes));
                for (name, part) in [("operand A", pair.a_part()), ("operand B", pair.b_part())] {
                    let line = worksheet.component(name).expect("has operands");
                    assert_eq!(line.bytes, u64::from(part.get()));
                }
                let b = worksheet.component("operand B").expect("has operands");
                assert_eq!(b.offset, u64::from(pair.b_offset().get()));
                assert_eq!(worksheet.occupancy, sheet.occupancy);
                assert_eq!(
                    worksheet.fits,
                    sheet.occupancy.blocks_per_sm > 0,
                    "{} {tile:?} {}",
                    variant.symbol,
                    arch.name
                );
            }
        }
        assert!(launches().any(|(variant, _)| variant.dtype == DType::Bf16));
    }
}
