//! Ranks templates for many shapes, one JSON object a line: what comparisons with other selectors read.
//!
//! ```text
//! printf '4096 4096 4096\n16 4096 4096\n' | cargo run --release --example rank -- H200 bf16
//! ```
//!
//! Each line of the input is `m n k`, each line of the output `{m, n, k, rejected, ranked: [{tile_m, tile_n, tile_k,
//! split_k, cluster_m, cluster_n, stages, us, bound}]}`, the fastest first.

use std::error::Error;
use std::io::{BufRead, stdin};

use serde_json::json;
use tilewright_plan::{Frontend, GemmType, GpuModel, Policy, Shape, select};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(gpu), Some(ty)) = (arguments.next(), arguments.next()) else {
        return Err("usage: rank PRODUCT TYPE < shapes".into());
    };
    let gpu = GpuModel::find(&gpu).ok_or("unknown GPU")?;
    let arch = gpu.architecture()?;
    let ty: GemmType = ty.parse()?;
    // The comparison is with CUTLASS's kernels.
    let policy = Policy {
        frontend: Frontend::Cutlass,
        ..Policy::default()
    };
    for line in stdin().lock().lines() {
        let line = line?;
        let extents = line
            .split_whitespace()
            .map(str::parse::<u64>)
            .collect::<Result<Vec<_>, _>>()?;
        let &[m, n, k] = extents.as_slice() else {
            return Err("a shape is three numbers: m n k".into());
        };
        let selection = select(arch, gpu, &Shape { m, n, k }, ty, &policy);
        let ranked: Vec<_> = selection
            .ranked
            .iter()
            .map(|candidate| {
                let template = &candidate.sheet.template;
                let estimate = &candidate.estimate;
                json!({
                    "tile_m": template.tile.m,
                    "tile_n": template.tile.n,
                    "tile_k": template.tile.k,
                    "split_k": template.split_k,
                    "cluster_m": template.cluster.0,
                    "cluster_n": template.cluster.1,
                    "stages": template.stages,
                    "us": estimate.us,
                    "bound": estimate.bound,
                    "estimate": estimate,
                })
            })
            .collect();
        println!(
            "{}",
            json!({ "m": m, "n": n, "k": k, "rejected": selection.rejected.len(), "ranked": ranked })
        );
    }
    Ok(())
}
