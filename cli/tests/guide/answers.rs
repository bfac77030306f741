//! The tables of the guide.

use crate::sizing::{Usage, appropriate_usage};

/// Bytes as KiB, with one decimal where there is a fraction.
pub fn kib(bytes: u64) -> String {
    match bytes % 1024 {
        0 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} KiB", bytes as f64 / 1024.0),
    }
}

/// A table by its name.
pub fn table(name: &str) -> Option<String> {
    match name {
        "limits" => Some(limits()),
        "tile widths" => Some(tile_widths()),
        "hopper bugs" => hopper_bugs(),
        _ => None,
    }
}

/// The bugs of published kernels, as the page of the corpus lists them.
fn hopper_bugs() -> Option<String> {
    let page = std::fs::read_to_string(crate::root().join("docs/simulator-corpus.md")).ok()?;
    let (_, section) = page.split_once("## Bugs of published Hopper kernels\n")?;
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    Some(
        rows.take_while(|line| line.starts_with('|'))
            .map(|line| format!("{line}\n"))
            .collect(),
    )
}

/// The shared memory of each architecture.
fn limits() -> String {
    let mut text = String::from(
        "| architecture | parts | SM | CTA, opted in | CTA, else | reserved per CTA |\n|---|---|--:|--:|--:|--:|\n",
    );
    for arch in &cuda_arch::ARCHITECTURES {
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {} | {} |\n",
            arch.name,
            arch.parts,
            kib(arch.smem_per_sm.into()),
            kib(arch.smem_per_block_optin.into()),
            kib(arch.smem_per_block.into()),
            kib(arch.smem_reserved_per_block.into())
        ));
    }
    text
}

/// The widest pair of tiles for one, two and four CTAs per SM.
fn tile_widths() -> String {
    let mut text = String::from("| architecture | 1 CTA per SM | 2 CTAs per SM | 4 CTAs per SM |\n|---|---|---|---|\n");
    for arch in ["sm_75", "sm_80", "sm_90", "sm_120"].map(|name| cuda_arch::find(name).expect("known")) {
        let cells = [1, 2, 4].map(|ctas| match appropriate_usage(arch, 0, ctas) {
            Some(Usage {
                tile_width,
                dynamic_bytes,
                opt_in,
                ..
            }) => format!(
                "{tile_width} x {tile_width}, {dynamic_bytes} B{}",
                if opt_in { ", opted in" } else { "" }
            ),
            None => "none".to_owned(),
        });
        text.push_str(&format!("| `{}` | {} |\n", arch.name, cells.join(" | ")));
    }
    text
}
