//! The tables of the guide.

use cuda_sim::{Schedule, SimFault};
use simulator_corpus::patterns::PATTERNS;
use simulator_corpus::{find, first, run};

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
        "hopper bugs" => Some(hopper_bugs()),
        "hopper bugs on a GPU" => hopper_bugs_on_a_gpu(),
        _ => None,
    }
}

/// The bugs of published kernels, with what the simulator says of the kernel of each pair that has the mistake.
fn hopper_bugs() -> String {
    let mut text =
        String::from("| | mistake, and where it was seen | pairs, and what the simulator says |\n|--:|---|---|\n");
    for (pattern, number) in PATTERNS.iter().zip(1..) {
        let links = pattern.reported.iter().map(|(name, url)| format!("[{name}]({url})"));
        let said = pattern.pairs.iter().map(|name| {
            let (_, pair) = find(name).expect("the corpus has it");
            let [wrong, right] = [true, false].map(|wrong| run(pair, wrong, Schedule::default()));
            assert!(first(&right).is_none(), "{name}: a false alarm");
            format!("`{name}`: {}", in_short(first(&wrong).expect("it is found")))
        });
        text.push_str(&format!(
            "| {number} | {} ({}) | {} |\n",
            pattern.mistake,
            links.collect::<Vec<_>>().join(", "),
            said.collect::<Vec<_>>().join("<br>")
        ));
    }
    text
}

/// What is found and where, in a line, without the path of the folder.
fn in_short(fault: &SimFault) -> String {
    const FOLDER: &str = "sim/corpus/src/";
    let kind = fault.kind.to_string().replace(FOLDER, "");
    let Some(location) = fault.location.as_ref().filter(|_| !kind.contains(".rs:")) else {
        return kind;
    };
    let file = location.file.rsplit_once('/').map_or(location.file, |(_, file)| file);
    let place = format!(
        "[`{file}:{line}`](../../../{FOLDER}{file}#L{line})",
        line = location.line
    );
    match &fault.other {
        Some(other) => format!("{kind}, at {place} against line {}", other.location.line),
        None => format!("{kind}, at {place}"),
    }
}

/// The same mistakes in our own kernels on a GPU, as the page of the corpus has them.
fn hopper_bugs_on_a_gpu() -> Option<String> {
    let page = std::fs::read_to_string(crate::root().join("docs/simulator-corpus.md")).ok()?;
    let (_, section) = page.split_once("## Bugs of published Hopper kernels\n")?;
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2).zip(1..);
    let mut text = String::from("| bug | mutant | alone | `compute-sanitizer` |\n|--:|---|---|---|\n");
    for (row, number) in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [.., mutants, alone, tools] = cells[..] else {
            return None;
        };
        if mutants == "-" {
            continue;
        }
        let mut bug = number.to_string();
        for ((mutant, alone), tools) in mutants.split("; ").zip(alone.split("; ")).zip(tools.split("; ")) {
            text.push_str(&format!(
                "| {} | {mutant} | {alone} | {tools} |\n",
                std::mem::take(&mut bug)
            ));
        }
    }
    Some(text)
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
