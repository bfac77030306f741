//! `tilewright bench`: how fast, against what a user would otherwise take.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use tilewright::bench::{self, Options, Outcome, Progress, Results, Suite};
use tilewright::plan::Speeds;

use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::{kernels, output};

/// Time this project's products against cuBLAS, every result checked first
///
/// Without a GPU the CPU's product is timed against the matrixmultiply crate, and the report says so.
#[derive(Args)]
pub struct Command {
    /// What to time; --list shows all
    #[arg(long, value_name = "NAME", default_value = Suite::Squares.name())]
    suite: String,
    /// One rung for every row, in place of the row's own choice
    #[arg(long, value_name = "NAME", default_value = kernels::AUTO)]
    kernel: String,
    /// Rows of one element type only: f32, f64, f16 or bf16
    #[arg(long)]
    dtype: Option<String>,
    /// What the planner takes for the kernels' speed, as `gpu_pick --calibrate` writes it; without it what an H200 was measured to do
    #[arg(long, value_name = "FILE")]
    speeds: Option<PathBuf>,
    /// Rounds of each row; without it as many as a second has room for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Also write bench-SUITE.json and bench-SUITE.md into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The folder of libcublas and libcublasLt, where the system's loader does not find them
    #[arg(long, value_name = "DIR")]
    cublas: Option<PathBuf>,
    /// CUDA C++ twins for suite twins: benches/peers/tiled.cu, compiled by `nvcc -O3 -cubin` for this GPU
    #[arg(long, value_name = "FILE")]
    twins: Option<PathBuf>,
    /// The commit that was built, for the report
    #[arg(long, value_name = "ID", default_value = "unknown")]
    commit: String,
    /// The date of the run, for the report
    #[arg(long, value_name = "YYYY-MM-DD", default_value = "unknown")]
    date: String,
    /// List the suites and their rows, and run none
    #[arg(long)]
    list: bool,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    // SAFETY: commands run on the program's first thread, before any other is started.
    unsafe { bench::settle_environment() };
    if command.list {
        return list(json);
    }
    let options = Options {
        suite: suite(&command.suite)?,
        rung: kernels::rung(&command.kernel)?,
        speeds: command.speeds.as_deref().map_or(Ok(Speeds::default()), speeds)?,
        dtype: command.dtype.as_deref().map(kernels::parse_dtype).transpose()?,
        rounds: command.rounds.map(|rounds| rounds as usize),
        cublas: command.cublas.clone(),
        twins: command.twins.clone(),
        date: command.date.clone(),
        commit: command.commit.clone(),
    };
    if let Some(folder) = &command.out {
        fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    }
    let bar = output::progress_bar(0);
    let results = bench::run(&options, |Progress { done, total, row }| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(row.to_owned());
    })?;
    bar.finish_and_clear();

    let as_json = bench::json(&results).map_err(|error| Failure {
        exit_code: 1,
        message: format!("cannot write JSON: {error}"),
    })?;
    if let Some(folder) = &command.out {
        let plots = bench::plots(&results).map_err(|error| Failure {
            exit_code: 1,
            message: format!("cannot draw: {error}"),
        })?;
        let plots = plots.into_iter().map(|(name, text)| (format!("-{name}.svg"), text));
        let texts = [
            (".json".to_owned(), as_json.clone()),
            (".md".to_owned(), bench::markdown(&results)),
        ];
        for (end, text) in texts.into_iter().chain(plots) {
            let file = folder.join(format!("bench-{}{end}", results.suite.name()));
            Destination::new(&file)?.write(|file| std::io::Write::write_all(file, text.as_bytes()))?;
        }
    }
    output::print(&if json { as_json } else { describe(&results) })?;
    match results.failures() {
        None => Ok(()),
        Some((failed, exit_code)) => Err(Failure {
            exit_code,
            message: format!("{failed} of {} rows could not be measured", results.rows.len()),
        }),
    }
}

/// The table in a file.
fn speeds(file: &Path) -> Result<Speeds> {
    let text = fs::read_to_string(file).map_err(|error| Failure::file(file, error))?;
    Speeds::read(text).map_err(|error| Failure::input(format!("{}: {error}", file.display())))
}

/// The suite of this name.
fn suite(name: &str) -> Result<Suite> {
    Suite::ALL
        .into_iter()
        .find(|suite| suite.name() == name)
        .ok_or_else(|| {
            let known = Suite::ALL.map(Suite::name).join(", ");
            Failure::input(format!("unknown suite `{name}`; known: {known}"))
        })
}

/// Every suite with its rows.
fn list(json: bool) -> Result<()> {
    if json {
        let suites: Vec<_> = Suite::ALL
            .into_iter()
            .map(|suite| serde_json::json!({ "suite": suite, "about": suite.about(), "rows": suite.rows() }))
            .collect();
        return output::print_json(&suites);
    }
    let mut text = String::new();
    for suite in Suite::ALL {
        text.push_str(&format!("{}: {}\n", suite.name(), suite.about()));
        let mut table = output::table();
        for row in suite.rows() {
            table.add_row([
                format!("  {}", row.name),
                format!("{} x {} x {}", row.m, row.n, row.k),
                row.dtype.name().to_owned(),
                row.layout.name().to_owned(),
            ]);
        }
        text.push_str(&output::render(table));
        text.push('\n');
    }
    output::print(text.trim_end_matches('\n'))?;
    output::print("\n")
}

fn describe(results: &Results) -> String {
    let about = &results.about;
    let mut text = format!("{}, suite {}", about.device, results.suite.name());
    text.push_str(
        &about
            .peer
            .as_ref()
            .map_or(String::new(), |peer| format!(", against {peer}")),
    );
    text.push('\n');
    for note in &about.notes {
        text.push_str(&format!("{note}\n"));
    }
    let mut table = output::table();
    table.add_row([
        "row",
        "ours",
        "us",
        "TFLOP/s",
        "peer",
        "us",
        "TFLOP/s",
        "ratio",
        "quartiles",
        "MHz",
        "W",
    ]);
    for result in &results.rows {
        let mut cells = vec![result.row.name.clone()];
        match &result.outcome {
            Outcome::Failed { .. } => cells.push("not measured".to_owned()),
            Outcome::Measured(measured) => {
                for side in [Some(&measured.ours), measured.peer.as_ref()] {
                    cells.extend(side.map_or_else(Default::default, |side| {
                        [side.name.clone(), format!("{:.1}", side.us.median), tflops(side.tflops)]
                    }));
                }
                cells.extend(measured.ratio.map_or_else(Default::default, |ratio| {
                    [
                        format!("{:.3}", ratio.median),
                        format!("{:.3} - {:.3}", ratio.q1, ratio.q3),
                    ]
                }));
                let telemetry = measured.telemetry.clone().unwrap_or_default();
                let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.0}"));
                cells.extend([telemetry.clock_mhz, telemetry.power_w].map(number));
            }
        }
        table.add_row(cells);
    }
    output::right_align(&mut table, [2, 3, 5, 6, 7, 9, 10]);
    text.push_str(&format!("\n{}", output::render(table)));
    if let Some(summary) = results.summary() {
        text.push_str(&format!(
            "\nratio: peer time over ours, above 1 ours is faster; geometric mean {:.3}, least {:.3} ({})\n",
            summary.geometric_mean, summary.least, summary.least_row.name
        ));
    }
    for result in &results.rows {
        if let Outcome::Failed { problem, .. } = &result.outcome {
            text.push_str(&format!("{}: {problem}\n", result.row.name));
        }
    }
    text
}

/// Two decimals, or more for what a CPU or a skinny product does.
fn tflops(value: f64) -> String {
    if value < 1.0 {
        format!("{value:.4}")
    } else {
        format!("{value:.2}")
    }
}
