//! The table of coefficients of an element type.

use std::collections::BTreeMap;

use tilewright::dispatch::{KERNEL_TERMS, KernelTerms, SHARED_TERMS, Speeds, Terms};
use tilewright::{DType, Kernel, Result};

use super::fit::{Prior, Sample, fit};
use super::rows::{Choice, Machine, Quality, Row};

/// How much of the weight of its samples the coefficients that kernels of a tile have in common count for each of them.
const OF_COMMON: f64 = 0.3;

/// How much 0 counts: enough to decide between terms that the samples do not tell apart.
pub(super) const OF_ZERO: f64 = 1e-3;

/// Power of the least time over a launch's that is the launch's weight: a choice is between the fastest. Of 3, 3.5, 4
/// and 5 the one with the most choices within 5 % for products that the fit had not seen, over all types.
const OF_THE_FASTEST: f64 = 4.0;

/// Parts into which shapes are dealt to judge the fit on those that it has not seen.
pub(super) const FOLDS: usize = 6;

/// Coefficients of an element type.
pub struct Fitted {
    /// Lines without digests.
    lines: Vec<String>,
    /// Choices among the rows that it was fitted to.
    pub seen: Option<Quality>,
    /// Choices among rows that were left out, each part of them in its turn.
    pub unseen: Option<Quality>,
}

/// A kernel with one of its tiles, by symbol and width.
type Subject = (&'static str, u32);

/// Whether two kernels have coefficients in common.
type IsAlike = fn(&Kernel, &Kernel) -> bool;

/// A measured launch of a subject.
struct Launch {
    kernel: Kernel,
    terms: Terms,
    us: f64,
    weight: f64,
}

/// Fits the coefficients of an element type to its rows and those of its twin; `None` where there are none.
///
/// The kernels that differ in the layout and the loads of A and B alone are fitted together first, then those that
/// differ in the layout alone. What they have in common is the prior of each, since not every one is timed with every
/// shape. Types of one size that have the same kernels are fitted together all the way: f16 and bf16 take equally long,
/// and twice as many times say more of what is noise.
///
/// # Errors
/// Those of shapes and tables.
pub fn fitted(rows: &[Row], dtype: DType, machine: &Machine) -> Result<Option<Fitted>> {
    let is_judged = |row: &&&Row| row.is_of(dtype);
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| twins(dtype).iter().any(|twin| row.is_of(*twin)))
        .collect();
    let judged: Vec<&Row> = rows.iter().filter(is_judged).copied().collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let lines = lines(&rows, dtype, machine)?;
    let seen = Quality::of(&over_best(&judged, &lines, machine)?);
    let mut unseen = Vec::new();
    for fold in 0..FOLDS {
        let (left_out, kept): (Vec<&Row>, Vec<&Row>) =
            rows.iter().partition(|row| fold_of([row.m, row.n, row.k]) == fold);
        let left_out: Vec<&Row> = left_out.iter().filter(is_judged).copied().collect();
        unseen.extend(over_best(&left_out, &self::lines(&kept, dtype, machine)?, machine)?);
    }
    let unseen = Quality::of(&unseen);
    Ok(Some(Fitted { lines, seen, unseen }))
}

/// The types that are fitted together with one, itself among them.
fn twins(dtype: DType) -> &'static [DType] {
    match dtype {
        DType::F16 | DType::Bf16 => &[DType::F16, DType::Bf16],
        DType::F32 => &[DType::F32],
        DType::F64 => &[DType::F64],
    }
}

/// All layouts and types of a shape are in one part.
pub(super) fn fold_of(extents: [usize; 3]) -> usize {
    let mixed = extents.into_iter().fold(17_usize, |mixed, extent| {
        (mixed.rotate_left(5) ^ extent).wrapping_mul(0x9e37_79b9)
    });
    (mixed >> 16) % FOLDS
}

fn over_best(rows: &[&Row], lines: &[String], machine: &Machine) -> Result<Vec<f64>> {
    let text = format!(
        "arch {}\n{}\n",
        machine.arch.name,
        with_digests(lines, &BTreeMap::new()).join("\n")
    );
    let speeds = Speeds::read(text).map_err(|error| tilewright::Error::InvalidArgument(error.to_string()))?;
    let mut all = Vec::new();
    for row in rows {
        all.extend(Choice::of(row, machine, &speeds)?.map(|choice| choice.over_best()));
    }
    Ok(all)
}

/// A line of the shared coefficients and one for each subject, without digests.
fn lines(rows: &[&Row], dtype: DType, machine: &Machine) -> Result<Vec<String>> {
    let launches = launches(rows, machine)?;
    let own = KERNEL_TERMS.len();
    let levels: [(IsAlike, f64); 3] = [
        (is_of_tile, OF_ZERO),
        (
            |one, other| is_of_tile(one, other) && one.alignment == other.alignment,
            OF_COMMON,
        ),
        (
            |one, other| is_of_tile(one, other) && one.alignment == other.alignment && one.operands == other.operands,
            OF_COMMON,
        ),
    ];
    let mut each = BTreeMap::<Subject, usize>::new();
    let mut found = vec![0.0; SHARED_TERMS.len()];
    let mut count = 0;
    for (is_alike, strength) in levels {
        let unit_of;
        (unit_of, count) = units(&launches, is_alike);
        // What the level before has found of the unit that a subject was in.
        let mut prior = vec![0.0; count * own];
        for (subject, unit) in &unit_of {
            if let Some(before) = each.get(subject) {
                prior[unit * own..][..own].copy_from_slice(&found[before * own..][..own]);
            }
        }
        prior.extend_from_slice(&found[found.len() - SHARED_TERMS.len()..]);
        let prior = Prior {
            coefficients: &prior,
            strength,
        };
        found = fit(&samples(&launches, &unit_of, count), prior);
        each = unit_of;
    }
    let (of_each, shared) = found.split_at(count * own);
    // Cycles and microseconds alike are known to three digits.
    let numbers = |of: &[f64]| of.iter().map(|of| format!("{of:.4}")).collect::<Vec<_>>().join(" ");
    let mut lines = vec![format!("shared {dtype} {}", numbers(shared))];
    // Without steps a time would not depend on K: nothing was learned of such a kernel.
    let is_learned = |own: &&[f64]| {
        KernelTerms::try_from(*own).is_ok_and(|[_, latency, work, mean, ..]| latency + work + mean > 1e-3)
    };
    let own = |unit: usize| &of_each[unit * own..][..own];
    // A kernel and its twin are of one unit.
    let of_type: BTreeMap<Subject, usize> = each
        .iter()
        .filter_map(|((symbol, width), unit)| Some(((of_dtype(symbol, dtype)?.symbol, *width), *unit)))
        .collect();
    lines.extend(
        of_type
            .iter()
            .map(|(subject, &unit)| (subject, own(unit)))
            .filter(|(_, own)| is_learned(own))
            .map(|((symbol, width), own)| format!("{symbol} {width} {}", numbers(own))),
    );
    Ok(lines)
}

/// The kernel that is the same for an element type.
fn of_dtype(symbol: &str, dtype: DType) -> Option<&'static Kernel> {
    let kernel = Kernel::named(symbol)?;
    let name = symbol.strip_suffix(kernel.dtype.name())?;
    Kernel::named(&format!("{name}{dtype}")).filter(|kernel| kernel.dtype == dtype)
}

/// Whether two kernels differ in the layout and the loads of A and B alone.
fn is_of_tile(one: &Kernel, other: &Kernel) -> bool {
    one.family == other.family && one.has_same_tile(other)
}

/// The unit of each subject, and how many there are: subjects that are alike are one.
fn units(launches: &[Launch], is_alike: IsAlike) -> (BTreeMap<Subject, usize>, usize) {
    let mut firsts: Vec<Kernel> = Vec::new();
    let mut unit_of = BTreeMap::new();
    for Launch { kernel, .. } in launches {
        unit_of.entry(subject(kernel)).or_insert_with(|| {
            let known = firsts.iter().position(|first| is_alike(first, kernel));
            known.unwrap_or_else(|| {
                firsts.push(*kernel);
                firsts.len() - 1
            })
        });
    }
    (unit_of, firsts.len())
}

fn subject(kernel: &Kernel) -> Subject {
    (kernel.symbol, kernel.tile.n)
}

fn launches(rows: &[&Row], machine: &Machine) -> Result<Vec<Launch>> {
    let mut launches = Vec::new();
    for row in rows {
        let shape = row.shape()?;
        launches.extend(row.candidates.iter().filter_map(|timed| {
            let work = timed.work()?;
            let terms = Terms::of(&work, &shape, machine.arch, &machine.gpu, machine.arch)?;
            Some(Launch {
                kernel: work.kernel,
                terms,
                us: timed.us,
                weight: (row.least_us(work.kernel.precision) / timed.us).powf(OF_THE_FASTEST),
            })
        }));
    }
    Ok(launches)
}

/// Samples whose first coefficients are those of each unit, and the last the shared ones.
fn samples(launches: &[Launch], units: &BTreeMap<Subject, usize>, count: usize) -> Vec<Sample> {
    let own = KERNEL_TERMS.len();
    let of = |launch: &Launch| {
        let first = units[&subject(&launch.kernel)] * own;
        let terms = (first..).zip(launch.terms.kernel);
        let terms = terms.chain((count * own..).zip(launch.terms.shared));
        Sample {
            terms: terms.filter(|(_, term)| *term != 0.0).collect(),
            us: launch.us,
            weight: launch.weight,
        }
    };
    launches.iter().map(of).collect()
}

/// The lines with the digests of their kernels; zeros where none is known.
fn with_digests(lines: &[String], digests: &BTreeMap<String, String>) -> Vec<String> {
    let digest = |line: &str| {
        let symbol = line.split(' ').next().unwrap_or_default();
        digests.get(symbol).map_or("0000000000000000", String::as_str)
    };
    let of = |line: &String| match line.starts_with("shared ") {
        true => line.clone(),
        false => format!("{line} {}", digest(line)),
    };
    lines.iter().map(of).collect()
}

/// Writes the table of coefficients: for each element type the fitted ones, or the lines of `before` where nothing was
/// timed, and that of FP8.
pub fn speeds_text(
    fitted: &[(DType, Option<Fitted>)],
    digests: &BTreeMap<String, String>,
    machine: &Machine,
    before: &Speeds,
) -> String {
    let mut lines = vec![format!("arch {}", machine.arch.name)];
    lines.extend(before.fp8_line().map(str::to_owned));
    for (dtype, fitted) in fitted {
        match fitted {
            Some(fitted) => lines.extend(with_digests(&fitted.lines, digests)),
            None => lines.extend(before.lines(*dtype).map(|(_, line)| line.to_owned())),
        }
    }
    lines.join("\n") + "\n"
}
