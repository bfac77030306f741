//! Every entry point: results over the shape table, and resources.

use libtest_mimic::Failed;
use tilewright::launch::Gpu;
use tilewright::verify::{self, Case};
use tilewright_contract::{OutputTile, Tile, Variant};

use crate::Outcome;
use crate::trial::Trial;

/// Whether only small shapes are asked for (`TILEWRIGHT_SHAPES=small`).
pub fn small() -> bool {
    std::env::var("TILEWRIGHT_SHAPES").is_ok_and(|shapes| shapes == "small")
}

/// The cases that are run where only small shapes are, for tools that take very long: an edge of every kind, and more
/// steps along K than a kernel has stages, so that each is used again.
const SMALL: [&str; 2] = ["above one tile", "deep"];

pub fn trials(variants: &[&'static Variant]) -> Vec<Trial> {
    variants
        .iter()
        .flat_map(|&variant| {
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
    let small = small();
    let wanted = |case: &Case| !small || SMALL.contains(&case.name);
    let results = verify::run(&gpu, |other| other.symbol == variant.symbol, wanted, |_| {});
    if results.is_empty() {
        return Err(Failed::from("no case was run"));
    }
    let problems: Vec<String> = results
        .iter()
        .filter_map(|r| {
            Some(format!(
                "{} tile {:?}, {} {}: {}",
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
    let tiles: Vec<OutputTile> = match variant.tile {
        Tile::Fixed(width) => vec![variant.tile_of_width(width)?],
        Tile::Runtime { min, max } => (min..=max)
            .map(|width| variant.tile_of_width(width))
            .collect::<Result<_, _>>()?,
        Tile::Block(_) | Tile::Lines(_) | Tile::Tensor(_) | Tile::Wgmma(_) => variant.tile.only().into_iter().collect(),
    };
    for tile in tiles {
        let threads = tile.threads();
        if threads > usage.max_threads_per_block {
            return Err(format!(
                "{tile} needs {threads} threads, {} registers allow {}",
                usage.registers, usage.max_threads_per_block
            )
            .into());
        }
    }
    Ok(())
}
