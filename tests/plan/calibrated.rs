//! The cost model against the times that it was fitted to.

use tilewright::dispatch::{Speeds, Work};
use tilewright::{DType, Precision, ptx};
use tilewright_harness::calibration::{Choice, Filed, Fp8Filed, PRUNED_ABOVE, Quality, Row};
use tilewright_harness::digest;

fn filed() -> Filed {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/results/h200-calibration.json");
    let text = std::fs::read_to_string(file).expect("it is filed");
    serde_json::from_str(&text).expect("a calibration")
}

/// `gpu_pick` leaves out what is expected to be slower by this factor. The margin is for shapes that were not timed.
#[test]
fn the_fastest_candidate_is_never_expected_to_be_near_the_factor_of_pruning() {
    let (filed, speeds) = (filed(), Speeds::default());
    let machine = filed.machine().expect("a known device");
    let limit = PRUNED_ABOVE.powf(0.75);
    for row in &filed.rows {
        let choice = Choice::of(row, &machine, &speeds).expect("valid").expect("priced");
        let over = choice.fastest_over_least;
        assert!(
            over < limit,
            "{} x {} x {}: {over}, {:?}",
            row.m,
            row.n,
            row.k,
            choice.fastest
        );
    }
}

/// Whether the kernels of a row that dispatch takes unasked are those that ship.
fn is_current(filed: &Filed, row: &Row) -> bool {
    let level = ptx::for_compute_capability((9, 0)).expect("a level");
    let is_taken = |work: Work| work.kernel.precision == Precision::default();
    let mut taken = row.candidates.iter().filter(|timed| timed.work().is_some_and(is_taken));
    taken.all(|timed| !filed.has_changed(&timed.kernel, |kernel| digest::of_kernel(kernel, level.arch)))
}

/// A type whose kernels have changed since is not judged: it has the coefficients of its twin.
#[test]
fn most_choices_are_within_a_twentieth_of_the_fastest() {
    let (filed, speeds) = (filed(), Speeds::default());
    let machine = filed.machine().expect("a known device");
    let is_judged = |dtype: &DType| {
        let mut rows = filed.rows.iter().filter(|row| row.is_of(*dtype));
        rows.all(|row| is_current(&filed, row))
    };
    let judged: Vec<_> = DType::ALL.into_iter().filter(is_judged).collect();
    assert!(
        judged.len() >= 3 && (judged.contains(&DType::F16) || judged.contains(&DType::Bf16)),
        "{judged:?}"
    );
    for dtype in judged {
        let rows = filed.rows.iter().filter(|row| row.is_of(dtype));
        let choice = |row| Choice::of(row, &machine, &speeds).expect("valid").expect("priced");
        let quality = Quality::of(&rows.map(|row| choice(row).over_best()).collect::<Vec<_>>()).expect("rows");
        let share = quality.within as f64 / quality.rows as f64;
        let (least, most) = match dtype {
            DType::F64 => (0.95, 1.007),
            DType::F32 | DType::F16 | DType::Bf16 => (0.94, 1.01),
        };
        assert!(share > least && quality.mean < most, "{dtype}: {quality}");
    }
}

/// The line of FP8 is what `gpu_pick --fit-fp8` finds, also where kernels have changed since.
#[test]
fn the_coefficients_of_fp8_are_fitted_to_what_is_filed() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/results/h200-fp8-choice.json");
    let text = std::fs::read_to_string(file).expect("it is filed");
    let filed: Fp8Filed = serde_json::from_str(&text).expect("results");
    let fitted = filed
        .fitted(|kernel| filed.digests.get(kernel).cloned())
        .expect("rows of kernels");
    let found = Speeds::read(fitted.speeds_text(&Speeds::default())).expect("a table");
    let [found, shipped] = [found, Speeds::default()].map(|speeds| speeds.fp8().expect("its line"));
    for (found, shipped) in found.iter().zip(shipped) {
        // Filed times are rounded.
        assert!((found - shipped).abs() <= 1e-3 * shipped, "{found} {shipped}");
    }
    let unseen = fitted.unseen.expect("rows with two kernels");
    assert!(
        unseen.within as f64 > 0.95 * unseen.rows as f64 && unseen.worst < 1.05,
        "{unseen}"
    );
}
