//! What passes and what does not.

use super::*;
use crate::random::random_matrix;
use crate::reference::oracle;

struct Scaled {
    shape: GemmShape,
    factors: Factors,
    a: Vec<f32>,
    b: Vec<f32>,
    before: Vec<f32>,
    c: Vec<f32>,
}

impl Scaled {
    /// A right result: scaled in f64, rounded once.
    fn new(alpha: f32, beta: f32) -> Self {
        let shape = GemmShape::with_ld(37, 45, 61, 64, 47, 50).expect("small");
        let random = |seed, operand| random_matrix::<f32>(seed, shape.span_elems(operand));
        let (a, b, before) = (random(1, Operand::A), random(2, Operand::B), random(3, Operand::C));
        let values = oracle(&shape, &a, &b).expect("lengths fit");
        let mut c = vec![f32::NAN; before.len()];
        for (at, value) in values.into_iter().enumerate() {
            let at = at / 45 * 50 + at % 45;
            c[at] = (f64::from(alpha) * value + f64::from(beta) * f64::from(before[at])) as f32;
        }
        Self {
            shape,
            factors: Factors { alpha, beta },
            a,
            b,
            before,
            c,
        }
    }

    fn verdicts(&self) -> [Verdict; 2] {
        let expected = Expected::product(&self.shape, &self.a, &self.b).expect("lengths fit");
        let expected = expected.scaled(self.factors, &self.before).expect("finite");
        [
            expected.full(&self.c).expect("lengths fit"),
            expected.sampled(&self.c, 1).expect("finite inputs"),
        ]
    }
}

const FACTORS: [(f32, f32); 6] = [
    (1.0, 0.0),
    (2.5, 0.0),
    (-1.0, 1.0),
    (0.5, -300.0),
    (0.0, 2.0),
    (1e-3, 1e3),
];

#[test]
fn a_right_result_passes_and_a_wrong_element_does_not() {
    for (alpha, beta) in FACTORS {
        let mut scaled = Scaled::new(alpha, beta);
        for verdict in scaled.verdicts() {
            assert!(
                verdict.passed() && verdict.max_error_over_bound <= 1.0,
                "{alpha} {beta}: {verdict}"
            );
        }
        for defect in [0.01 * (alpha.abs() + beta.abs()), f32::NAN] {
            let right = scaled.c[17 * 50 + 31];
            scaled.c[17 * 50 + 31] += defect;
            for verdict in scaled.verdicts() {
                let first = verdict.first.unwrap_or_else(|| panic!("{alpha} {beta}: {verdict}"));
                assert_eq!((first.row, first.column), (17, 31), "{alpha} {beta}");
            }
            scaled.c[17 * 50 + 31] = right;
        }
    }
}

#[test]
fn an_addition_forgotten_or_done_twice_is_found() {
    let right = Scaled::new(1.0, 1.0);
    for wrong in [0.0, 2.0] {
        let other = Scaled {
            c: Scaled::new(1.0, wrong).c,
            ..Scaled::new(1.0, 1.0)
        };
        for verdict in other.verdicts() {
            assert!(verdict.mismatches > right.shape.m(), "{wrong}: {verdict}");
        }
    }
}

#[test]
fn c_before_counts_only_where_beta_does() {
    let mut scaled = Scaled::new(2.0, 0.0);
    scaled.before.clear();
    assert!(scaled.verdicts().iter().all(Verdict::passed));
    let mut scaled = Scaled::new(2.0, 1.0);
    scaled.before[3] = f32::NAN;
    scaled.c[3] = f32::NAN;
    let expected = Expected::product(&scaled.shape, &scaled.a, &scaled.b).expect("lengths fit");
    let expected = expected.scaled(scaled.factors, &scaled.before).expect("finite");
    assert!(expected.full(&scaled.c).expect("lengths fit").passed());
    let blind = expected
        .sampled(&scaled.c, 1)
        .expect_err("cannot see past a NaN")
        .to_string();
    assert!(blind.starts_with("C holds"), "{blind}");
}

#[test]
fn what_cannot_be_checked_is_refused_with_its_numbers() {
    let shape = GemmShape::packed(2, 3, 1).expect("small");
    let (a, b) = ([1.0_f32; 2], [1.0_f32; 3]);
    let refused = |factors, before: &[f32]| {
        let expected = Expected::product(&shape, &a, &b).expect("lengths fit");
        expected
            .scaled(factors, before)
            .map(drop)
            .expect_err("refused")
            .to_string()
    };
    let of = |alpha, beta| Factors { alpha, beta };
    let text = refused(of(f32::INFINITY, 0.0), &[]);
    assert!(text.contains("alpha inf and beta 0"), "{text}");
    let text = refused(of(1.0, f32::NAN), &[0.0; 6]);
    assert!(text.contains("NaN"), "{text}");
    let text = refused(of(1.0, 1.0), &[0.0; 5]);
    assert!(text.contains('5') && text.contains('6'), "{text}");
}
