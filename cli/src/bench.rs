//! `tilewright bench`: how fast, against what a user would otherwise take.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use tilewright::dispatch::{Speeds, Tuning};
use tilewright_harness::bench::{self, Draw, Options, Pace, Progress, Results, Selection, Suite};
use tilewright_harness::shapes::BENCH_SEED;

use crate::choice::OnDevice;
use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::shapes::Shapes;
use crate::{files, kernels, output, resources, tune};

/// Time products against cuBLAS: your own shapes, random ones or a suite, every result checked first
///
/// Own shapes are -m, -n and -k, or the rows of a file. They and random ones need a GPU; without one a suite times the
/// CPU's product against the matrixmultiply crate, and the report says so.
#[derive(Args)]
pub struct Command {
    /// A suite of rows, where no shapes are given; --list shows all, without it squares
    #[arg(long, value_name = "NAME", conflicts_with_all = ["m", "n", "k", "file"])]
    suite: Option<String>,
    #[command(flatten)]
    shapes: Shapes,
    /// Time so many random shapes of each type of --dtype, extents log-uniform from 16 to 8192; the layouts of --layout
    /// (without it all four) by turns. Each row is timed for a shorter time than others
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    #[arg(conflicts_with_all = ["suite", "m", "n", "k", "file", "batch"])]
    random: Option<u32>,
    /// The seed of --random: the same seed gives the same shapes on every machine
    #[arg(long, value_name = "S", requires = "random", default_value_t = BENCH_SEED)]
    seed: u64,
    /// Time a batch of so many products of -m -n -k, one after the other in memory
    #[arg(long, value_name = "N", requires = "m", default_value_t = 1)]
    batch: usize,
    /// One family for every row, in place of the row's own choice
    #[arg(long, value_name = "NAME", default_value = kernels::AUTO)]
    kernel: String,
    /// Time every row on zeros too, in columns of their own: what it would take were power no limit
    #[arg(long)]
    zeros: bool,
    /// What the planner takes for the kernels' speed, as `gpu_pick --calibrate` writes it; without it what an H200 was
    /// measured to do
    #[arg(long, value_name = "FILE")]
    speeds: Option<PathBuf>,
    /// What `tilewright tune` measured to be fastest, for rows that name no kernel
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
    /// Rounds of each row; without it as many as a second has room for, with --random 9
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Also write bench-SUITE.json, .md and .svg into this folder; for own shapes SUITE is own, or own-FILE, for random
    /// ones random
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    device: OnDevice,
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
    #[arg(long, value_name = "YYYY-MM-DD", default_value = "unknown", value_parser = date)]
    date: String,
    /// List the suites with the numbers of their rows, or with --suite, --random, --file or -m -n -k the rows; time
    /// none
    #[arg(long)]
    list: bool,
}

/// A date as reports have it, or `unknown`.
fn date(text: &str) -> std::result::Result<String, String> {
    let is_date = || {
        let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] else {
            return false;
        };
        let number = |part: &str, digits: usize| {
            let plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| part.parse::<u32>().ok()).flatten()
        };
        number(year, 4).is_some()
            && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
            && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
    };
    match text == "unknown" || is_date() {
        true => Ok(text.to_owned()),
        false => Err("a date is written YYYY-MM-DD".to_owned()),
    }
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    // SAFETY: commands run on the program's first thread, before any other is started.
    unsafe { bench::settle_environment() };
    if command.list {
        return list(command, json);
    }
    resources::settle()?;
    let options = Options {
        suite: suite(command)?,
        family: kernels::family(&command.kernel)?,
        speeds: command.speeds.as_deref().map_or(Ok(Speeds::default()), speeds)?,
        tuning: command.tuning.as_deref().map(tune::read).transpose()?.map(Tuning::new),
        zeros: command.zeros,
        device: command.device.named(),
        pace: pace(command),
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
    });
    bar.finish_and_clear();
    let results = results?;

    let as_json = bench::json(&results).map_err(|error| Failure::environment(format!("cannot write JSON: {error}")))?;
    if let Some(folder) = &command.out {
        let plots = bench::plots(&results).map_err(|error| Failure::environment(format!("cannot draw: {error}")))?;
        let plots = plots.into_iter().map(|(name, text)| (format!("-{name}.svg"), text));
        let texts = [
            (".json".to_owned(), as_json.clone()),
            (".md".to_owned(), bench::markdown(&results)),
        ];
        for (end, text) in texts.into_iter().chain(plots) {
            let file = folder.join(format!("bench-{}{end}", results.suite));
            Destination::new(&file)?.write(|file| std::io::Write::write_all(file, text.as_bytes()))?;
        }
    }
    output::print(&if json { as_json } else { describe(&results) })?;
    match results.failures() {
        None => Ok(()),
        Some((failed, kind)) => {
            let message = format!("{failed} of {} rows could not be measured", results.rows.len());
            Err(Failure::new(kind.into(), message).reported())
        }
    }
}

/// The table in a file.
fn speeds(file: &Path) -> Result<Speeds> {
    let text = files::text(file)?;
    Speeds::read(text).map_err(|error| Failure::input(format!("{}: {error}", file.display())))
}

/// How long each row is measured.
fn pace(command: &Command) -> Pace {
    let pace = match command.random {
        Some(_) => Pace::QUICK,
        None => Pace::FULL,
    };
    pace.with_rounds(command.rounds.map(|rounds| rounds as usize))
}

/// What is to be timed: products of the user's own, random ones, or a suite.
fn suite(command: &Command) -> Result<Suite> {
    if let Some(count) = command.random {
        let draw = Draw {
            count: count as usize,
            seed: command.seed,
        };
        return Ok(Suite::random(draw, &command.shapes.selection()?)?);
    }
    if let Some(suite) = command.shapes.suite(command.batch)? {
        return Ok(suite);
    }
    let name = command.suite.as_deref().unwrap_or(Suite::DEFAULT);
    Ok(Suite::named(name, &command.shapes.selection()?)?)
}

/// The suites, or the rows of one.
fn list(command: &Command, json: bool) -> Result<()> {
    if command.random.is_some() {
        // Random numbers are drawn by several threads.
        resources::settle()?;
    }
    let of_one = command.suite.is_some() || command.random.is_some() || command.shapes.are_named();
    let suites = match of_one {
        true => vec![suite(command)?],
        false => Suite::names()
            .map(|name| Suite::named(name, &Selection::default()))
            .collect::<tilewright::Result<_>>()?,
    };
    if json {
        let suites: Vec<_> = suites
            .iter()
            .map(|suite| {
                let Suite {
                    name,
                    about,
                    random,
                    rows,
                    ..
                } = suite;
                serde_json::json!({ "suite": name, "about": about, "random": random, "rows": rows })
            })
            .collect();
        return output::print_json(&suites);
    }
    let mut table = output::table();
    let mut text = String::new();
    if let ([suite], true) = (suites.as_slice(), of_one) {
        text.push_str(&format!("{}: {}\n", suite.name, suite.about));
        for row in &suite.rows {
            table.add_row([
                row.name.clone(),
                bench::product_name([row.m, row.n, row.k], row.batch),
                row.elements(),
                row.layout.name().to_owned(),
            ]);
        }
    } else {
        table.add_row(["suite", "rows", "what"]);
        for suite in suites {
            table.add_row([suite.name, suite.rows.len().to_string(), suite.about]);
        }
        output::right_align(&mut table, [1]);
    }
    text.push_str(&output::render(table));
    output::print(&text)
}

/// The report for people.
fn describe(results: &Results) -> String {
    let about = &results.about;
    let mut text = format!("{}, suite {}", about.device, results.title());
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
    let table = bench::table(results);
    text.push_str(&format!("\n{}", rendered(&table)));
    let mut problems = table.problems;
    if let Some(summary) = bench::summary(results) {
        text.push_str("\nratio: peer time over ours, above 1 ours is faster\n");
        text.push_str(&rendered(&summary));
        problems.splice(0..0, summary.problems);
    }
    for problem in problems {
        text.push_str(&format!("{problem}\n"));
    }
    text
}

/// A table of results for the terminal.
fn rendered(bench::Table { columns, rows, .. }: &bench::Table) -> String {
    let mut table = output::table();
    table.add_row(columns.iter().map(|(title, _)| *title));
    for cells in rows {
        table.add_row(cells);
    }
    let of_numbers = |(at, (_, is_number)): (usize, &(&str, bool))| is_number.then_some(at);
    output::right_align(&mut table, columns.iter().enumerate().filter_map(of_numbers));
    output::render(table)
}
