//! Every entry point: results over the shape table, and resources.

use libtest_mimic::{Failed, Trial};
use tilewright::launch::Gpu;
use tilewright::verify;
use tilewright_contract::{Tile, TileGeometry, VARIANTS, Variant};

use crate::Outcome;

pub fn trials() -> Vec<Trial> {
    VARIANTS
        .iter()
        .flat_map(|variant| {
            [
                Trial::test(format!("kernels::{}", variant.symbol), move || {
                    agrees_with_the_reference(variant)
                }),
                Trial::test(format!("usage::{}", variant.symbol), move || {
                    uses_what_the_contract_says(variant)
                }),
            ]
        })
        .collect()
}

fn agrees_with_the_reference(variant: &'static Variant) -> Outcome {
    let gpu = Gpu::open(0)?;
    let results = verify::run(&gpu, |other| other.symbol == variant.symbol, |_| {});
    if results.is_empty() {
        return Err(Failed::from("no case was run"));
    }
    let problems: Vec<String> = results
        .iter()
        .filter_map(|r| {
            Some(format!(
                "{} tile {}, {} {}: {}",
                r.kernel,
                r.tile,
                r.case,
                r.shape,
                r.problem.problem()?
            ))
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n").into())
    }
}

fn uses_what_the_contract_says(variant: &'static Variant) -> Outcome {
    let gpu = Gpu::open(0)?;
    let usage = gpu.usage(variant)?;
    if usage.static_smem_bytes != variant.static_bytes().get() {
        return Err(format!(
            "{} static bytes, the contract says {}",
            usage.static_smem_bytes,
            variant.static_bytes()
        )
        .into());
    }
    if usage.local_bytes != 0 {
        return Err(format!("{} bytes of local memory a thread", usage.local_bytes).into());
    }
    let widths = match variant.tile {
        Tile::Fixed(width) => width..=width,
        Tile::Runtime { min, max } => min..=max,
    };
    for width in widths {
        let threads = TileGeometry::new(width)?.threads();
        if threads > usage.max_threads_per_block {
            return Err(format!(
                "tile width {width} needs {threads} threads, {} registers allow {}",
                usage.registers, usage.max_threads_per_block
            )
            .into());
        }
    }
    Ok(())
}
