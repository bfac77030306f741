//! The planner's occupancy and limits against the driver's.

use libtest_mimic::Failed;
use tilewright::launch::Gpu;
use tilewright::plan::{KernelUsage, kernel_sheet, usage};
use tilewright::{Bytes, Error};
use tilewright_contract::{OutputTile, Tile, TileGeometry, Variant};
use tilewright_plan::{BlockUse, occupancy};

use crate::Outcome;
use crate::trial::Trial;

pub fn trials(variants: &[&'static Variant]) -> Vec<Trial> {
    let all = variants.to_vec();
    let (of_limit, of_table) = (all.clone(), all);
    variants
        .iter()
        .map(|&variant| {
            Trial::test(format!("occupancy::{}", variant.symbol), move || {
                blocks_are_as_the_driver_counts_them(variant)
            })
        })
        .chain([
            Trial::test("occupancy::the_limit_is_exact", move || the_limit_is_exact(&of_limit)),
            Trial::test("occupancy::the_table_agrees_with_the_driver", move || {
                the_table_agrees_with_the_driver(&of_table)
            }),
        ])
        .collect()
}

/// The device and its row of the table.
fn open() -> Result<(Gpu, cuda_arch::Architecture), Failed> {
    let gpu = Gpu::open(0)?;
    let architecture = gpu
        .profile()
        .architecture()
        .ok_or("this architecture is not in the table")?;
    Ok((gpu, architecture))
}

/// Every tile width of an entry point, and a sweep of dynamic sizes beyond what it needs.
fn blocks_are_as_the_driver_counts_them(variant: &'static Variant) -> Outcome {
    let (gpu, architecture) = open()?;
    let loaded = gpu.usage(variant)?;
    let used = KernelUsage {
        registers: loaded.registers,
        static_bytes: loaded.static_smem_bytes,
    };
    let mut compared = 0;
    let tiles: Vec<OutputTile> = match variant.tile {
        Tile::Block(_) | Tile::Lines(_) | Tile::Tensor(_) | Tile::Wgmma(_) => variant.tile.only().into_iter().collect(),
        Tile::Fixed(_) | Tile::Runtime { .. } => (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
            .filter(|&width| variant.computes(width))
            .map(|width| variant.tile_of_width(width))
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())?,
    };
    for tile in tiles {
        let sheet = kernel_sheet(variant, tile, used, &architecture).map_err(|error| error.to_string())?;
        if sheet.static_bytes + sheet.dynamic_bytes > architecture.smem_per_block_optin {
            continue;
        }
        let counted = gpu.blocks_per_multiprocessor(variant, tile.threads(), Bytes(sheet.dynamic_bytes))?;
        if counted != sheet.occupancy.blocks_per_sm {
            return Err(format!("{tile}: {counted} blocks, predicted {:?}", sheet.occupancy).into());
        }
        compared += 1;
    }
    let most = architecture.smem_per_block_optin - used.static_bytes;
    for dynamic in (0..=most).step_by(1777).chain([most - 1, most]) {
        for threads in [32, 64, 96, 256, 1000] {
            // A launch outside of the kernel's attributes is refused whatever the occupancy.
            if variant.attributes.max_threads.is_some_and(|most| threads > most) {
                continue;
            }
            let block = BlockUse::new(threads, used.registers, used.static_bytes.into(), dynamic.into());
            let predicted = occupancy(&architecture, &block);
            let counted = gpu.blocks_per_multiprocessor(variant, threads, Bytes(dynamic))?;
            if counted != predicted.blocks_per_sm {
                return Err(format!("{block:?}: {counted} blocks, predicted {predicted:?}").into());
            }
            compared += 1;
        }
    }
    if compared < 250 {
        return Err(format!("only {compared} comparisons").into());
    }
    Ok(())
}

/// The driver takes static + dynamic = limit and refuses one byte more.
fn the_limit_is_exact(variants: &[&'static Variant]) -> Outcome {
    let (gpu, architecture) = open()?;
    for variant in variants {
        let most = architecture.smem_per_block_optin - gpu.usage(variant)?.static_smem_bytes;
        gpu.blocks_per_multiprocessor(variant, 32, Bytes(most))?;
        match gpu.blocks_per_multiprocessor(variant, 32, Bytes(most + 1)) {
            Err(Error::Driver {
                code: cust::error::CudaError::InvalidValue,
                ..
            }) => {}
            other => return Err(format!("{}: one byte more than the limit: {other:?}", variant.symbol).into()),
        }
    }
    Ok(())
}

fn the_table_agrees_with_the_driver(variants: &[&'static Variant]) -> Outcome {
    let (gpu, architecture) = open()?;
    let disagreements = gpu.profile().disagreements().ok_or("not in the table")?;
    if !disagreements.is_empty() {
        return Err(format!("{disagreements:?}").into());
    }
    // Registers decide occupancy, and the driver's compiler is not the one that made the table.
    for variant in variants {
        let (driver, table) = (gpu.usage(variant)?.registers, usage(variant.symbol, &architecture));
        if table.is_none_or(|table| table.registers.abs_diff(driver) > 8) {
            return Err(format!("{}: {driver} registers, the table says {table:?}", variant.symbol).into());
        }
    }
    Ok(())
}
