//! The largest stage count for a tile: `cargo run -p tilewright-plan --example largest_stages [ARCH DTYPE MxNxK]`.

use std::error::Error;

use tilewright_plan::{Template, TileShape, largest_stages};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, default: &'static str| arguments.get(i).cloned().unwrap_or(default.into());
    let name = argument(0, "sm_120");
    let arch = cuda_arch::find(&name).map_err(|unknown| unknown.to_string())?;
    let ty = argument(1, "nvfp4").parse()?;
    let tile: TileShape = argument(2, "128x128x128").parse()?;

    let template = Template::usual(arch, ty, tile, 1).ok_or_else(|| format!("{name} has no instructions for {ty}"))?;
    let Some((stages, sheet)) = largest_stages(&template, arch, 0)? else {
        println!("{ty} {tile} does not fit on {name} even with a single stage");
        return Ok(());
    };
    println!("{ty} {tile} on {name} by {}: {stages} stages", template.path);
    for line in &sheet.components {
        println!("{:>8} B  {}", line.bytes, line.name);
    }
    println!(
        "{:>8} B  of {} B, {} B are left",
        sheet.total_bytes, sheet.limit_bytes, sheet.left_bytes
    );
    Ok(())
}
