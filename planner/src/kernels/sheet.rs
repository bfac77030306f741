//! Worksheets of this project's kernels.

use cuda_arch::Architecture;
use serde::Serialize;
use tilewright_contract::{Family, OutputTile, RegisterTile, Rung, SharedMemory, Twin, Variant, WgmmaTile};

use super::KernelUsage;
use crate::occupancy::{Occupancy, occupancy};
use crate::path::Path;
use crate::template::{Epilogue, EpilogueTile, Template, TileShape};
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
    /// The worksheet; `None` for a kernel that has no tiles in shared memory.
    pub worksheet: Option<Worksheet>,
}

/// The sheet of an entry point with a tile. `used`: what a compiler made it take, from the driver or from
/// [`usage`](super::usage()).
///
/// # Errors
/// A [`Violation`] where no device of the architecture can hold such a block at all, however much shared memory it had.
pub fn kernel_sheet(
    variant: &Variant,
    tile: OutputTile,
    used: KernelUsage,
    arch: &Architecture,
) -> Result<KernelSheet, Violation> {
    let dynamic_bytes = variant.dynamic_bytes(tile).get();
    let worksheet = match (variant.shared, tile) {
        (SharedMemory::None, _) | (_, OutputTile::Lines(_)) => None,
        (SharedMemory::Static(_) | SharedMemory::Dynamic, _) => {
            Some(worksheet(&template(variant, tile, used, arch), arch, 0)?)
        }
    };
    Ok(KernelSheet {
        symbol: variant.symbol,
        static_bytes: used.static_bytes,
        dynamic_bytes,
        registers_per_thread: used.registers,
        occupancy: occupancy(arch, &used.block(tile.threads(), dynamic_bytes)),
        worksheet,
    })
}

/// The sheet of a twin with its own block. `used` as for [`kernel_sheet`]. It has no dynamic shared memory: `ptxas`
/// spills into shared memory beside none.
///
/// # Errors
/// As for [`kernel_sheet`].
pub fn twin_sheet(twin: &Twin, used: KernelUsage, arch: &Architecture) -> Result<KernelSheet, Violation> {
    let tiled = match twin.family {
        Family::RegisterTile => Variant::find(Rung::RegisterTile, twin.dtype, RegisterTile::WIDTH),
        Family::Inverse8 => None,
    };
    let template = tiled.and_then(|variant| {
        let tile = variant.tile_of_width(RegisterTile::WIDTH).ok()?;
        Some(template(variant, tile, used, arch))
    });
    Ok(KernelSheet {
        symbol: twin.symbol,
        static_bytes: used.static_bytes,
        dynamic_bytes: 0,
        registers_per_thread: used.registers,
        occupancy: occupancy(arch, &used.block(twin.threads, 0)),
        worksheet: template.map(|template| worksheet(&template, arch, 0)).transpose()?,
    })
}

/// The kernel as a template: stages of two tiles, sums in registers.
fn template(variant: &Variant, tile: OutputTile, used: KernelUsage, arch: &Architecture) -> Template {
    let warps = tile.threads().div_ceil(arch.warp_size);
    // With bulk copies one warpgroup does nothing else, and C leaves through panels of its own.
    let (producer_warps, epilogue) = match tile {
        OutputTile::Wgmma(tile) => {
            let piece = EpilogueTile {
                m: tile.m,
                n: tile.c_columns(),
                buffers: tile.c_panels,
            };
            (WgmmaTile::WARPGROUP / arch.warp_size, Epilogue::Own(piece))
        }
        OutputTile::Square(_) | OutputTile::Block(_) | OutputTile::Lines(_) | OutputTile::Tensor(_) => {
            (0, Epilogue::Direct)
        }
    };
    Template {
        warps: warps - producer_warps,
        producer_warps,
        epilogue,
        cluster: (tile.cluster(), 1),
        // Of our kernels only those with `wgmma` have bulk copies.
        cp_async: !variant.rung.multiplies_by_wgmma(),
        operands_static: matches!(variant.shared, SharedMemory::Static(_)),
        output_bytes: variant.dtype.size_bytes(),
        row_padding: match (variant.rung, tile) {
            (Rung::RegisterTile, _) => [RegisterTile::A_PITCH - RegisterTile::WIDTH, 0],
            (_, OutputTile::Block(tile)) => [tile.a_pitch() - tile.m, tile.b_pitch() - tile.n],
            // What keeps bank conflicts away from the tensor cores' tiles is no padding.
            (_, OutputTile::Square(_) | OutputTile::Lines(_) | OutputTile::Tensor(_) | OutputTile::Wgmma(_)) => [0; 2],
        },
        // Static memory besides the tiles holds spilled registers.
        static_bytes: used.static_bytes.saturating_sub(variant.static_bytes().get()),
        registers_per_thread: Some(used.registers),
        barriers: used.barriers,
        ..Template::on_path(
            arch,
            path(variant),
            GemmType::from(variant.dtype),
            TileShape::new(tile.m(), tile.n(), variant.depth(tile)),
            match tile {
                OutputTile::Block(tile) => tile.stages,
                OutputTile::Tensor(tile) => tile.stages,
                OutputTile::Wgmma(tile) => tile.stages,
                OutputTile::Square(_) | OutputTile::Lines(_) => 1,
            },
        )
    }
}

/// The instructions that multiply.
pub(super) fn path(variant: &Variant) -> Path {
    match variant.rung {
        Rung::MmaSync => Path::MmaSync,
        _ if variant.rung.multiplies_by_wgmma() => Path::Wgmma,
        _ => Path::Simt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;
    use tilewright_contract::{DType, TWINS, Tile, TileGeometry, TilePair, VARIANTS};

    /// Every tile of every entry point.
    fn launches() -> impl Iterator<Item = (&'static Variant, OutputTile)> {
        VARIANTS.iter().flat_map(|variant| match variant.tile {
            Tile::Block(_) | Tile::Lines(_) | Tile::Tensor(_) | Tile::Wgmma(_) => variant
                .tile
                .only()
                .map(|tile| (variant, tile))
                .into_iter()
                .collect::<Vec<_>>(),
            Tile::Fixed(_) | Tile::Runtime { .. } => (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
                .filter(|&width| variant.computes(width))
                .map(|width| (variant, variant.tile_of_width(width).expect("in range")))
                .collect(),
        })
    }

    #[test]
    fn the_worksheet_says_what_the_contract_lays_out() {
        for arch in &cuda_arch::ARCHITECTURES {
            let capability = (arch.compute_capability.major, arch.compute_capability.minor);
            let runs = |(variant, _): &(&Variant, _)| variant.rung.runs_on(capability);
            for (variant, tile) in launches().filter(runs) {
                let used = super::super::usage(variant.symbol, arch).expect("tested beside the table");
                let sheet = kernel_sheet(variant, tile, used, arch).expect("legal on every architecture");
                let Some(worksheet) = &sheet.worksheet else {
                    assert!(matches!(variant.rung, Rung::Naive | Rung::MatrixVector));
                    continue;
                };
                assert_eq!(
                    worksheet.total_bytes,
                    u64::from(used.static_bytes + variant.dynamic_bytes(tile).get()),
                    "{} {tile:?}",
                    variant.symbol
                );
                assert_eq!(
                    worksheet.total_bytes,
                    u64::from(sheet.static_bytes + sheet.dynamic_bytes)
                );
                assert_eq!(worksheet.static_bytes, u64::from(sheet.static_bytes));
                if variant.rung == Rung::RegisterTile {
                    continue;
                }
                assert_eq!(
                    used.static_bytes,
                    variant.static_bytes().get(),
                    "only twins spill into shared memory"
                );
                let parts = variant.parts(tile);
                for (name, part) in [("operand A", parts.a_part), ("operand B", parts.b_part)] {
                    let line = worksheet.component(name).expect("has operands");
                    assert_eq!(line.bytes, u64::from(part.get()), "{} {tile:?} {name}", variant.symbol);
                }
                if let OutputTile::Square(square) = tile {
                    let b = worksheet.component("operand B").expect("has operands");
                    let pair = TilePair::new(square, variant.dtype);
                    assert_eq!(b.offset, u64::from(pair.b_offset().get()));
                }
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

    #[test]
    fn twins_fit_with_what_is_spilled_on_every_architecture() {
        for arch in &cuda_arch::ARCHITECTURES {
            for twin in TWINS {
                let case = || format!("{} for {}", twin.symbol, arch.name);
                let used = super::super::usage(twin.symbol, arch).unwrap_or_else(|| panic!("no line: {}", case()));
                let sheet = twin_sheet(twin, used, arch).expect("legal on every architecture");
                let total_bytes = sheet.static_bytes + sheet.dynamic_bytes;
                assert!(total_bytes <= arch.smem_per_block_optin, "{}", case());
                assert!(
                    sheet.static_bytes <= arch.smem_per_block,
                    "{}: static memory has no opt-in",
                    case()
                );
                assert!(sheet.occupancy.blocks_per_sm >= 1, "{}", case());
                let own = twin.static_bytes().get();
                assert_eq!(sheet.static_bytes > own, twin.spills.into_shared(), "{}", case());
                let Some(worksheet) = sheet.worksheet else {
                    assert_eq!(twin.family, Family::Inverse8);
                    continue;
                };
                assert!(worksheet.fits, "{}", case());
                assert_eq!(worksheet.total_bytes, u64::from(total_bytes), "{}", case());
                assert_eq!(worksheet.occupancy, sheet.occupancy, "{}", case());
            }
        }
    }
}
