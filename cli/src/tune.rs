//! `tilewright tune`: what is fastest on this GPU, measured, in a file that dispatch reads.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tilewright::dispatch::{Speeds, TunedChoice, TunedShape, Tuning, TuningTable, plan};
use tilewright::launch::Gpu;
use tilewright::{DType, GemmShape, Precision};
use tilewright_harness::bench::{self, Row, choice_name, geometric_mean};
use tilewright_harness::calibration::{self, Session, Timed};

use crate::choice::OnDevice;
use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::shapes::Shapes;
use crate::{files, output, resources};

/// Measure which launch is fastest for your products on this GPU, and write a file that dispatch reads
///
/// Every candidate that dispatch does not expect to take twice as long as its choice is checked, then timed in turns.
/// `matmul --tuning FILE` and `bench --tuning FILE` take the file, and the library's `Policy::tuning`; on another GPU,
/// with another driver, or where a kernel has changed it is passed over.
#[derive(Args)]
pub struct Command {
    #[command(flatten)]
    shapes: Shapes,
    /// The least precise arithmetic of f32 that is allowed: ieee, emulated-f32 by bf16 tensor cores, or tf32
    #[arg(long, value_name = "NAME", default_value_t = Precision::Ieee)]
    precision: Precision,
    /// Timed rounds; in each, every candidate runs in its turn
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// The file; what it has of this GPU stays
    #[arg(long, value_name = "FILE", default_value = "tuning.txt")]
    out: PathBuf,
    #[command(flatten)]
    device: OnDevice,
}

/// A choice that is no faster than that of the model by this factor is not worth another kernel: launches of one kernel
/// differ by as much.
const WORTH: f64 = 1.01;

/// What was found for one product.
#[derive(Serialize)]
struct Found {
    m: usize,
    n: usize,
    k: usize,
    dtype: &'static str,
    layout: &'static str,
    /// What dispatch takes by its model.
    by_model: String,
    by_model_us: f64,
    /// What it takes with the file.
    tuned: String,
    tuned_us: f64,
    /// Time by the model's choice over that of the file's.
    gain: f64,
    /// Number of candidates that were timed.
    timed: usize,
}

/// Reads a file that this command wrote.
pub fn read(file: &Path) -> Result<TuningTable> {
    let text = files::text(file)?;
    TuningTable::read(&text).map_err(|error| Failure::input(format!("{}: {error}", file.display())))
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    resources::settle()?;
    let Some(suite) = command.shapes.suite(1)? else {
        return Err(Failure::input("which products? Give -m, -n and -k, or --file"));
    };
    if let Some(row) = suite.rows.iter().find(|row| row.batch != 1) {
        return Err(Failure::input(format!(
            "{} is a batch of {}: only single products are tuned",
            row.name, row.batch
        )));
    }
    if let Some(row) = suite.rows.iter().find(|row| row.fp8.is_some()) {
        return Err(Failure::input(format!(
            "{} is of FP8, whose kernels no tuning file has",
            row.name
        )));
    }
    let before = command.out.exists().then(|| read(&command.out)).transpose()?;
    let gpu = Gpu::open(command.device.ordinal())?;
    let mut table = match before {
        None => TuningTable::of(gpu.profile()),
        Some(table) => match Tuning::new(table.clone()).passed_over(gpu.profile()) {
            None => table,
            Some(why) => {
                return Err(Failure::file(
                    &command.out,
                    format!("{why}; name another file by --out"),
                ));
            }
        },
    };
    let destination = Destination::new(&command.out)?;
    let session = Session {
        precision: command.precision,
        rounds: command.rounds as usize,
        ..Session::on(&gpu, Speeds::default())?
    };
    let bar = output::progress_bar(suite.rows.len());
    let mut found = Vec::new();
    for dtype in DType::ALL {
        let rows: Vec<&Row> = suite.rows.iter().filter(|row| row.dtype == dtype).collect();
        if rows.is_empty() {
            continue;
        }
        let shapes = rows
            .iter()
            .map(|row| row.shape())
            .collect::<tilewright::Result<Vec<_>>>()?;
        let timed = session.rows(&shapes, dtype, &mut || bar.inc(1))?;
        for ((row, shape), timed) in rows.iter().zip(&shapes).zip(&timed) {
            let (choice, of_row) = fastest(&session, row, shape, timed)?;
            let shape = TunedShape::of(shape, dtype, command.precision);
            table.choices.extend(shape.map(|shape| (shape, choice)));
            found.push(of_row);
        }
    }
    bar.finish_and_clear();
    destination.write(|file| file.write_all(table.text().as_bytes()))?;
    if json {
        let (device, driver) = (&table.device, &table.driver);
        return output::print_json(&serde_json::json!({
            "file": command.out, "device": device, "driver": driver, "products": found
        }));
    }
    output::print(&describe(&found, &table, &command.out))
}

/// The fastest of what was timed, unless dispatch's own choice is as fast.
fn fastest(
    session: &Session<'_>,
    row: &Row,
    shape: &GemmShape,
    timed: &calibration::Row,
) -> Result<(TunedChoice, Found)> {
    let none = || Failure::environment(format!("{}: nothing was timed", row.name));
    let summary = plan(shape, row.dtype, session.gpu.profile(), &session.policy())
        .map_err(tilewright::Error::from)?
        .summary();
    let is_picked = |timed: &&Timed| {
        (timed.kernel.as_str(), timed.tile, timed.splits) == (summary.kernel, summary.tile, summary.splits)
    };
    let picked = timed.candidates.iter().find(is_picked).ok_or_else(none)?;
    let with_digest = |timed: &&Timed| session.speeds.digest(&timed.kernel).is_some();
    let least = timed
        .candidates
        .iter()
        .filter(with_digest)
        .min_by(|a, b| a.us.total_cmp(&b.us));
    let tuned = least.filter(|least| least.us * WORTH < picked.us).unwrap_or(picked);
    let choice = TunedChoice {
        kernel: tuned.kernel.clone(),
        width: tuned.tile[1],
        splits: tuned.splits,
        digest: session.speeds.digest(&tuned.kernel).unwrap_or_default().to_owned(),
        us: tuned.us,
    };
    let name = |timed: &Timed| choice_name(&timed.kernel, timed.tile, timed.splits);
    let found = Found {
        m: row.m,
        n: row.n,
        k: row.k,
        dtype: row.dtype.name(),
        layout: row.layout.name(),
        by_model: name(picked),
        by_model_us: picked.us,
        tuned: name(tuned),
        tuned_us: tuned.us,
        gain: picked.us / tuned.us,
        timed: timed.candidates.len(),
    };
    Ok((choice, found))
}

/// The report for people.
fn describe(found: &[Found], table: &TuningTable, file: &Path) -> String {
    let mut rows = output::table();
    rows.add_row([
        "product",
        "type",
        "layout",
        "by the model",
        "us",
        "tuned",
        "us",
        "gain",
        "timed",
    ]);
    for of in found {
        rows.add_row([
            bench::product_name([of.m, of.n, of.k], 1),
            of.dtype.to_owned(),
            of.layout.to_owned(),
            of.by_model.clone(),
            format!("{:.1}", of.by_model_us),
            of.tuned.clone(),
            format!("{:.1}", of.tuned_us),
            format!("{:.3}", of.gain),
            of.timed.to_string(),
        ]);
    }
    output::right_align(&mut rows, [4, 6, 7, 8]);
    let gains: Vec<f64> = found.iter().map(|of| of.gain).collect();
    let faster = gains.iter().filter(|gain| **gain > 1.0).count();
    let mean = geometric_mean(&gains).unwrap_or(1.0);
    format!(
        "{}, driver {}\n\n{}\n{faster} of {} products have a faster launch than the model's choice; geometric mean of \
         all gains {mean:.3}\n{}: choices for {} products\n",
        table.device,
        table.driver,
        output::render(rows),
        found.len(),
        file.display(),
        table.choices.len()
    )
}
