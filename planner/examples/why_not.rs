//! Why a kernel does not launch: `cargo run -p tilewright-plan --example why_not [ARCH DYNAMIC_BYTES [STATIC_BYTES]]`,
//! and for one whose tile is known, what must give.

use std::error::Error;

use tilewright_plan::{GemmType, Template, TileShape, fit, launchable};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("sm_120", String::as_str);
    let arch = cuda_arch::find(name).map_err(|unknown| unknown.to_string())?;
    let bytes = |i: usize, default| arguments.get(i).map_or(Ok(default), |text| text.parse::<u64>());
    println!("{}\n", launchable(arch, bytes(2, 0)?, bytes(1, 102_400)?));

    // A kernel made for 227 KiB: 128 x 256 x 64 bf16 with 4 stages.
    let tile = TileShape::new(128, 256, 64);
    match Template::usual(arch, GemmType::Bf16, tile, 4) {
        Some(template) => println!("{}", fit(&template, arch, 0, None)?),
        None => println!("{name} has no instructions for bf16"),
    }
    Ok(())
}
