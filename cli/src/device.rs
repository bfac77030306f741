//! `tilewright device`: what a CUDA device offers, and what the kernels take of it.

use clap::Args;
use serde::Serialize;
use tilewright::device::{self, DeviceProfile, Disagreement};
use tilewright::launch::{FunctionUsage, Gpu};
use tilewright_contract::{KERNELS, Kernel};
use tilewright_harness::digest;

use crate::choice::OnDevice;
use crate::failure::Result;
use crate::output;

/// Show what a CUDA device offers, and what each kernel takes of it
#[derive(Args)]
pub struct Command {
    #[command(flatten)]
    device: OnDevice,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing {
    #[serde(flatten)]
    profile: DeviceProfile,
    /// Whether `smem_per_sm = smem_per_block_optin + smem_reserved_per_block`.
    smem_identity_holds: bool,
    /// Where the driver and the table of architectures disagree; null where the table has no such architecture.
    disagreements: Option<Vec<Disagreement>>,
    /// The PTX level that was loaded.
    level: Option<&'static str>,
    kernels: Vec<KernelRow>,
}

/// An entry point as the driver loaded it.
#[derive(Serialize)]
struct KernelRow {
    kernel: &'static str,
    /// The digest of its PTX.
    digest: Option<String>,
    #[serde(flatten)]
    usage: FunctionUsage,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let profile = device::query(command.device.ordinal())?;
    // A device that is too old for the kernels still has limits worth showing.
    let opened = Gpu::open(command.device.ordinal());
    let mut kernels = Vec::new();
    if let Ok(gpu) = &opened {
        let runs = |kernel: &&Kernel| kernel.target.runs_on(profile.compute_capability);
        for kernel in KERNELS.iter().filter(runs) {
            kernels.push(KernelRow {
                kernel: kernel.symbol,
                digest: digest::of_kernel(kernel.symbol, gpu.level().arch),
                usage: gpu.usage(kernel)?,
            });
        }
    }
    let listing = Listing {
        smem_identity_holds: u64::from(profile.smem_per_sm)
            == u64::from(profile.smem_per_block_optin) + u64::from(profile.smem_reserved_per_block),
        disagreements: profile.disagreements(),
        level: opened.as_ref().ok().map(|gpu| gpu.level().arch),
        profile,
        kernels,
    };
    if json {
        output::print_json(&listing)?;
    } else {
        output::print(&describe(&listing))?;
    }
    opened?;
    Ok(())
}

fn describe(listing: &Listing) -> String {
    let profile = &listing.profile;
    let bytes = |size: u32| output::bytes(size.into());
    let mut rows = vec![
        ("device", profile.name.clone()),
        ("compute capability", profile.compute_capability_name()),
    ];
    if let Some(installed) = &profile.installed {
        rows.extend([
            ("driver supports CUDA", installed.driver.clone()),
            ("memory", output::bytes(installed.memory_bytes)),
            ("SMs", installed.sms.to_string()),
            ("clock", format!("{} MHz", installed.clock_khz / 1000)),
            ("L2 cache", bytes(installed.l2_bytes)),
        ]);
    }
    rows.extend([
        ("", String::new()),
        ("shared memory of a block, default", bytes(profile.smem_per_block)),
        (
            "shared memory of a block, opted in",
            bytes(profile.smem_per_block_optin),
        ),
        ("shared memory of an SM", bytes(profile.smem_per_sm)),
        (
            "  taken by the driver for each block",
            bytes(profile.smem_reserved_per_block),
        ),
        (
            "  opt-in limit + taken = SM's",
            if listing.smem_identity_holds { "yes" } else { "NO" }.into(),
        ),
        ("", String::new()),
        (
            "registers of an SM, a block",
            format!("{}, {}", profile.registers_per_sm, profile.registers_per_block),
        ),
        (
            "threads of an SM, a block",
            format!("{}, {}", profile.threads_per_sm, profile.threads_per_block),
        ),
        ("threads of a warp", profile.warp_size.to_string()),
        ("blocks of an SM", profile.blocks_per_sm.to_string()),
    ]);
    let mut text = output::render(output::pairs(rows));
    if !listing.smem_identity_holds {
        text.push_str(
            "\nOn every known architecture since 8.0 an SM's shared memory is the opt-in limit of a block \
             plus what the\n\
             driver takes for it. Here it is not: trust the limit of a block.\n",
        );
    }
    text.push_str(&against_the_table(listing));
    if let Some(level) = listing.level {
        text.push_str(&format!("\nKernels, loaded from the PTX for {level}:\n"));
        let mut table = output::table();
        table.add_row(["kernel", "registers", "static shared", "local", "max threads"]);
        for KernelRow { kernel, usage, .. } in &listing.kernels {
            table.add_row([
                (*kernel).to_owned(),
                usage.registers.to_string(),
                format!("{} B", usage.static_smem_bytes),
                format!("{} B", usage.local_bytes),
                usage.max_threads_per_block.to_string(),
            ]);
        }
        output::right_align(&mut table, 1..5);
        text.push_str(&output::render(table));
    }
    text
}

/// The driver's numbers against those of the table of architectures.
fn against_the_table(listing: &Listing) -> String {
    let architecture = listing.profile.compute_capability_name();
    match listing.disagreements.as_deref() {
        None => format!(
            "\nCompute capability {architecture} is not in the planner's table: `plan` and estimates know nothing \
             of it.\n"
        ),
        Some([]) => format!("\nThe driver's numbers are those of the planner's table for {architecture}.\n"),
        Some(disagreements) => {
            let mut table = output::table();
            table.add_row(["", "driver", "table"]);
            for Disagreement {
                field,
                queried,
                table: known,
            } in disagreements
            {
                table.add_row([(*field).to_owned(), queried.to_string(), known.to_string()]);
            }
            output::right_align(&mut table, 1..3);
            format!(
                "\nThe driver's numbers differ from the planner's table for {architecture}; the driver's are used:\n{}",
                output::render(table)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(change: impl FnOnce(&mut DeviceProfile)) -> Listing {
        let mut profile = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
        change(&mut profile);
        Listing {
            smem_identity_holds: true,
            disagreements: profile.disagreements(),
            level: None,
            profile,
            kernels: Vec::new(),
        }
    }

    #[test]
    fn disagreements_between_driver_and_table_are_shown() {
        assert!(describe(&listing(|_| {})).contains("are those of the planner's table for 9.0"));
        let smaller = describe(&listing(|profile| profile.smem_per_block_optin = 100_000));
        let row = smaller.lines().find(|line| line.starts_with("smem_per_block_optin"));
        let words: Vec<_> = row.expect("a row").split_whitespace().collect();
        assert_eq!(words, ["smem_per_block_optin", "100000", "232448"]);
        let unknown = describe(&listing(|profile| profile.compute_capability = (10, 7)));
        assert!(unknown.contains("10.7 is not in the planner's table"), "{unknown}");
    }
}
