//! The check must pass what rounding explains and catch everything else.

use half::{bf16, f16};
use proptest::prelude::*;
use tilewright::check::{self, Method, Verdict};
use tilewright::reference::{oracle, tiled};
use tilewright::{Element, Error, ErrorKind, GemmShape, Operand, random::random_matrix};

/// A shape with gaps in every operand, several tiles, and none of its extents a multiple of anything.
fn shape() -> GemmShape {
    GemmShape::with_ld(37, 45, 61, 64, 47, 50).expect("small")
}

struct Product<T> {
    shape: GemmShape,
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
}

impl<T: Element> Product<T> {
    fn new(shape: GemmShape) -> Self {
        let random = |seed, operand| random_matrix(seed, shape.span_elems(operand));
        let (a, b) = (random(11, Operand::A), random(12, Operand::B));
        let mut c = vec![T::from_f64(f64::NAN); shape.span_elems(Operand::C)];
        tiled(&shape, 16, &a, &b, &mut c).expect("lengths fit");
        Self { shape, a, b, c }
    }

    fn at(&mut self, row: usize, column: usize) -> &mut T {
        let (_, _, ld) = self.shape.extents(Operand::C);
        &mut self.c[row * ld + column]
    }

    /// The verdicts of both checks.
    fn verdicts(&self) -> [Verdict; 2] {
        [
            check::full(&self.shape, &self.a, &self.b, &self.c).expect("lengths fit"),
            check::sampled(&self.shape, &self.a, &self.b, &self.c, 1).expect("finite inputs"),
        ]
    }

    /// Both checks find something, and first at the given place.
    fn is_caught_at(&self, row: usize, column: usize) {
        for verdict in self.verdicts() {
            let first = verdict
                .first
                .unwrap_or_else(|| panic!("{}: nothing found: {verdict}", T::DTYPE));
            assert_eq!((first.row, first.column), (row, column), "{}: {verdict}", T::DTYPE);
            assert!(
                verdict.mismatches > 0 && !verdict.passed() && verdict.max_error_over_bound >= 1.0,
                "{verdict:?}"
            );
            let error = verdict.into_result().expect_err("a mismatch");
            assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
            let text = error.to_string();
            assert!(
                text.contains(&format!("row {row}, column {column}")) && !text.contains('\n'),
                "{text}"
            );
        }
    }
}

/// Runs a generic test for each element type.
macro_rules! for_every_type {
    ($test:ident) => {
        $test::<f32>();
        $test::<f64>();
        $test::<f16>();
        $test::<bf16>();
    };
}

#[test]
fn rows_that_are_far_apart_and_hold_nothing_are_checked() {
    let shape = GemmShape::with_ld(8, 8, 0, 5, 9, 8).expect("small");
    let verdicts = Product::<f32>::new(shape).verdicts();
    assert!(verdicts.iter().all(Verdict::passed), "{verdicts:?}");
}

#[test]
fn a_right_product_passes_both_checks() {
    fn passes<T: Element>() {
        for shape in [
            shape(),
            GemmShape::packed(1, 1, 1).expect("small"),
            GemmShape::packed(200, 3, 5).expect("small"),
        ] {
            let [full, sampled] = Product::<T>::new(shape).verdicts();
            assert!(
                full.passed() && full.first.is_none() && full.max_error_over_bound <= 1.0,
                "{full:?}"
            );
            assert_eq!(full.compared, shape.m() * shape.n());
            assert!(sampled.passed() && sampled.max_error_over_bound <= 1.0, "{sampled:?}");
            assert!(
                sampled.compared <= full.compared && sampled.compared >= full.compared.min(100),
                "{sampled:?}"
            );
            assert!(
                matches!(sampled.method, Method::Sampled { failing_rows: 0, .. }),
                "{sampled:?}"
            );
            assert!(full.into_result().is_ok());
        }
    }
    for_every_type!(passes);
}

#[test]
fn one_wrong_element_is_caught_wherever_it_is() {
    fn caught<T: Element>() {
        for (row, column) in [(0, 0), (36, 44), (17, 31), (20, 7)] {
            let mut product = Product::<T>::new(shape());
            let element = product.at(row, column);
            *element = T::from_f64(element.to_f64() + 1.0);
            product.is_caught_at(row, column);
            let [full, _] = product.verdicts();
            assert_eq!(full.mismatches, 1, "only the changed element differs: {full}");
        }
    }
    for_every_type!(caught);
}

#[test]
fn one_wrong_element_of_a_quarter_million_is_caught_by_freivalds_check() {
    // Not a corner, not at an edge of a tile; a random sample of 256 would hold it once in a thousand times.
    let mut product = Product::<f32>::new(GemmShape::packed(512, 512, 64).expect("small"));
    let [_, sampled] = product.verdicts();
    assert!(sampled.passed() && sampled.compared < 512 * 512 / 20, "{sampled:?}");
    for error in [1.0, 0.01] {
        let right = *product.at(301, 77);
        *product.at(301, 77) += error;
        product.is_caught_at(301, 77);
        *product.at(301, 77) = right;
    }
}

#[test]
fn nan_and_infinities_never_pass() {
    fn caught<T: Element>() {
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut product = Product::<T>::new(shape());
            *product.at(20, 9) = T::from_f64(wrong);
            product.is_caught_at(20, 9);
        }
        let mut product = Product::<T>::new(shape());
        product.c.fill(T::from_f64(f64::NAN));
        product.is_caught_at(0, 0);
        let [full, sampled] = product.verdicts();
        assert_eq!(full.mismatches, 37 * 45);
        assert!(
            matches!(sampled.method, Method::Sampled { failing_rows: 37, .. }),
            "{sampled:?}"
        );
        assert_eq!(full.max_error_over_bound, f64::INFINITY);
    }
    for_every_type!(caught);
}

#[test]
fn swapped_rows_are_caught() {
    fn caught<T: Element>() {
        let mut product = Product::<T>::new(shape());
        for column in 0..45 {
            let (upper, lower) = (*product.at(5, column), *product.at(30, column));
            (*product.at(5, column), *product.at(30, column)) = (lower, upper);
        }
        product.is_caught_at(5, 0);
    }
    for_every_type!(caught);
}

#[test]
fn a_missing_last_k_is_caught() {
    fn caught<T: Element>() {
        let mut product = Product::<T>::new(shape());
        let (_, _, lda) = shape().extents(Operand::A);
        let short = GemmShape::with_ld(37, 45, 60, lda, 47, 50).expect("small");
        tiled(&short, 16, &product.a, &product.b, &mut product.c).expect("lengths fit");
        for verdict in product.verdicts() {
            // Where the missing product is below the result's own rounding it cannot be seen; in most places it can.
            assert!(verdict.mismatches > verdict.compared / 2, "{}: {verdict}", T::DTYPE);
        }
    }
    for_every_type!(caught);
}

#[test]
fn a_transposed_b_and_a_row_pitch_of_n_are_caught() {
    let mut product = Product::<f32>::new(GemmShape::with_ld(20, 20, 20, 20, 24, 20).expect("small"));
    let packed = GemmShape::packed(20, 20, 20).expect("small");
    tiled(&packed, 16, &product.a, &product.b, &mut product.c).expect("lengths fit");
    product.is_caught_at(0, 0);
}

/// The forward error bound as the books give it, without the code under test.
fn book_bound(k: usize, roundoff: f64, magnitude: f64) -> f64 {
    let ku = k as f64 * roundoff;
    ku / (1.0 - ku) * magnitude
}

#[test]
fn the_bound_is_higham_s_to_a_hair() {
    // f32: everything up to the bound passes, a little more does not. The check's own f64 terms are 10⁻⁹ of the bound.
    let mut product = Product::<f32>::new(shape());
    let value = oracle(&shape(), &product.a, &product.b).expect("lengths fit")[20 * 45 + 9];
    let abs = |x: &[f32]| x.iter().map(|x| x.abs()).collect::<Vec<_>>();
    let magnitude = oracle(&shape(), &abs(&product.a), &abs(&product.b)).expect("lengths fit")[20 * 45 + 9];
    let bound = book_bound(61, 2f64.powi(-24), magnitude);
    for sign in [1.0, -1.0] {
        // One number of f32 inside and one outside of the bound.
        let edge = (value + sign * bound) as f32;
        let outwards = if (sign > 0.0) == (value > 0.0) { 1 } else { -1_i32 };
        let step = |n: i32| f32::from_bits(edge.to_bits().wrapping_add_signed(n * outwards));
        *product.at(20, 9) = step(-1);
        let [full, _] = product.verdicts();
        assert!(full.passed() && full.max_error_over_bound > 0.99, "{full}");
        *product.at(20, 9) = step(2);
        let [full, _] = product.verdicts();
        assert_eq!(full.mismatches, 1, "{full}");
        let bound_of_check = full.first.expect("a mismatch").bound;
        assert!(
            (bound_of_check / bound - 1.0).abs() < 0.05,
            "{bound_of_check:e} against {bound:e}"
        );
    }
}

#[test]
fn an_f16_overflow_must_be_where_the_product_overflows() {
    let product = |x: f64| Product {
        shape: GemmShape::packed(1, 1, 1).expect("small"),
        a: vec![f16::from_f32(256.0)],
        b: vec![Element::from_f64(x)],
        c: vec![f16::INFINITY],
    };
    // 256 * 256 = 65536 rounds to infinity; 256 * 255 = 65280 is an f16.
    assert!(product(256.0).verdicts().iter().all(Verdict::passed));
    product(255.0).is_caught_at(0, 0);
    let mut wrong_sign = product(256.0);
    wrong_sign.c[0] = f16::NEG_INFINITY;
    wrong_sign.is_caught_at(0, 0);
    let mut saturated = product(256.0);
    saturated.c[0] = f16::MAX;
    saturated.is_caught_at(0, 0);
}

#[test]
fn many_rightful_overflows_pass_the_sampled_check() {
    let shape = GemmShape::packed(40, 40, 4).expect("small");
    let mut product = Product::<f16>::new(shape);
    product
        .a
        .iter_mut()
        .chain(&mut product.b)
        .for_each(|x| *x = f16::from_f32(f32::from(*x) * 300.0));
    tiled(&shape, 16, &product.a, &product.b, &mut product.c).expect("lengths fit");
    assert!(
        product.c.iter().filter(|c| c.is_infinite()).count() > 100,
        "the test needs overflows"
    );
    assert!(
        product.verdicts().iter().all(Verdict::passed),
        "{:?}",
        product.verdicts()
    );
}

#[test]
fn a_defect_among_rightful_overflows_is_caught_by_the_sampled_check() {
    let shape = GemmShape::packed(150, 150, 4).expect("small");
    let mut product = Product::<f16>::new(shape);
    let scale = |x: &mut f16| *x = f16::from_f32(f32::from(*x) * 300.0);
    product.a.iter_mut().chain(&mut product.b).for_each(scale);
    tiled(&shape, 16, &product.a, &product.b, &mut product.c).expect("lengths fit");
    // A large element with its sign turned, far from the edges of tiles, in a matrix of which most rows overflow
    // somewhere.
    let large = |c: &f16| c.is_finite() && f32::from(*c).abs() > 40_000.0;
    let inner = 75 * 150 + 70;
    let index = inner + product.c[inner..].iter().position(large).expect("large elements");
    product.c[index] = -product.c[index];
    product.is_caught_at(index / 150, index % 150);
}

#[test]
fn products_that_underflow_may_be_off_by_a_smallest_number_each() {
    // Two products of 0.6 of the smallest f32 become one whole each; the sum, 2, is 0.8 from the right one.
    let shape = GemmShape::packed(1, 1, 2).expect("small");
    let (a, b) = (vec![0.6 * 2f32.powi(-74); 2], vec![2f32.powi(-75); 2]);
    let product = |c: u32| Product {
        shape,
        a: a.clone(),
        b: b.clone(),
        c: vec![f32::from_bits(c)],
    };
    let mut computed = [0.0];
    tiled(&shape, 1, &a, &b, &mut computed).expect("lengths fit");
    assert_eq!(computed[0].to_bits(), 2);
    assert!(product(2).verdicts().iter().all(Verdict::passed));
    assert!(product(9).verdicts().iter().all(|verdict| !verdict.passed()));
}

#[test]
fn more_wrong_rows_than_are_compared_are_counted() {
    let mut product = Product::<f32>::new(GemmShape::packed(60, 400, 5).expect("small"));
    for row in 0..60 {
        *product.at(row, 100 + row) = f32::NAN;
    }
    let [full, sampled] = product.verdicts();
    assert_eq!(full.mismatches, 60);
    assert_eq!(sampled.mismatches, 60, "{sampled}");
    assert!(
        matches!(
            sampled.method,
            Method::Sampled {
                failing_rows: 60,
                compared_rows: 8,
                ..
            }
        ),
        "{sampled:?}"
    );
}

#[test]
fn f16_subnormals_are_compared_to_the_last_place() {
    // 2^-12 * 2^-12 = 2^-24, the smallest f16; twice as much is wrong, and so is nothing.
    let shape = GemmShape::packed(1, 1, 1).expect("small");
    let small = vec![<f16 as Element>::from_f64(2f64.powi(-12))];
    for (bits, right) in [(1, true), (0, false), (2, false)] {
        let product = Product {
            shape,
            a: small.clone(),
            b: small.clone(),
            c: vec![f16::from_bits(bits)],
        };
        assert!(
            product.verdicts().iter().all(|verdict| verdict.passed() == right),
            "{bits}"
        );
    }
}

#[test]
fn special_inputs_ask_for_special_results() {
    let shape = GemmShape::packed(2, 2, 2).expect("small");
    let a = [1.0_f32, f32::INFINITY, 1.0, 1.0];
    let b = [1.0_f32, 1.0, 1.0, -1.0];
    let verdict = |c: [f32; 4]| check::full(&shape, &a, &b, &c).expect("lengths fit");
    assert!(verdict([f32::INFINITY, f32::NEG_INFINITY, 2.0, 0.0]).passed());
    assert_eq!(verdict([f32::NAN, f32::NEG_INFINITY, 2.0, 0.0]).mismatches, 1);
    assert_eq!(verdict([f32::INFINITY, f32::INFINITY, 2.0, 0.0]).mismatches, 1);
    assert_eq!(verdict([f32::MAX, f32::MIN, 2.0, f32::NAN]).mismatches, 3);

    let nan = [f32::NAN, 0.0, 1.0, 1.0];
    assert!(
        check::full(&shape, &nan, &b, &[f32::NAN, f32::NAN, 2.0, 0.0])
            .expect("lengths fit")
            .passed()
    );
    assert_eq!(
        check::full(&shape, &nan, &b, &[1.0, f32::NAN, 2.0, 0.0])
            .expect("lengths fit")
            .mismatches,
        1
    );
    for (a, b, operand) in [(&nan, &b, "A holds"), (&b, &nan, "B holds")] {
        let error = check::sampled(&shape, a, b, &[0.0; 4], 0).expect_err("blind");
        assert!(
            matches!(&error, Error::InvalidArgument(text) if text.starts_with(operand)),
            "{error}"
        );
    }
}

#[test]
fn sums_that_leave_the_range_are_neither_right_nor_wrong() {
    let shape = GemmShape::packed(1, 1, 2).expect("small");
    let problem = check::full(&shape, &[1e300, 1e300], &[1e300, -1e300], &[f64::NAN]).expect_err("nobody knows");
    assert!(
        problem.kind() == ErrorKind::Input && problem.to_string().contains("range of f64 (1.7976931348623157e308)"),
        "{problem}"
    );
    // In f32 the value is known, but a sum may overflow before it is reached.
    let (a, b) = ([3e38_f32, 3e38], [2.0, -2.0]);
    for got in [f32::NAN, f32::INFINITY] {
        let problem = check::full(&shape, &a, &b, &[got]).expect_err("nobody knows");
        assert!(problem.to_string().contains("range of f32"), "{problem}");
    }
    assert!(check::full(&shape, &a, &b, &[0.0]).expect("comes out even").passed());
    // Next to it an element that is wrong without doubt.
    let shape = GemmShape::packed(1, 2, 2).expect("small");
    let verdict = check::full(&shape, &a, &[2.0, 0.0, -2.0, 1e-30], &[f32::NAN, 7.0]).expect("one is wrong");
    assert_eq!(
        (verdict.mismatches, verdict.first.map(|first| first.column)),
        (1, Some(1)),
        "{verdict}"
    );
}

#[test]
fn a_k_without_a_bound_is_refused() {
    let k = 1 << 24;
    let shape = GemmShape::packed(0, 0, k).expect("fits the index type");
    for result in [
        check::full::<f32>(&shape, &[], &[], &[]),
        check::sampled::<bf16>(&shape, &[], &[], &[], 0),
    ] {
        let text = result.expect_err("no bound").to_string();
        assert!(text.contains("16777216") && text.contains("f32"), "{text}");
    }
    assert!(
        check::full::<f64>(&shape, &[], &[], &[])
            .expect("f64 goes further")
            .passed()
    );
}

#[test]
fn empty_products_pass_with_nothing_compared() {
    for (m, n, k) in [(0, 3, 3), (3, 0, 3), (0, 0, 0)] {
        let [full, sampled] = Product::<f32>::new(GemmShape::packed(m, n, k).expect("small")).verdicts();
        assert!(full.passed() && full.compared == 0 && sampled.passed() && sampled.compared == 0);
    }
    let mut zeros = Product::<f32>::new(GemmShape::packed(3, 3, 0).expect("small"));
    assert!(zeros.verdicts().iter().all(Verdict::passed));
    *zeros.at(1, 2) = f32::MIN_POSITIVE;
    zeros.is_caught_at(1, 2);
}

#[test]
fn the_same_seed_gives_the_same_verdict() {
    let mut product = Product::<bf16>::new(shape());
    *product.at(3, 4) = bf16::from_f32(9.0);
    let verdict = |seed| check::sampled(&product.shape, &product.a, &product.b, &product.c, seed).expect("finite");
    assert_eq!(verdict(1), verdict(1));
}

#[test]
fn verify_takes_the_full_check_while_it_is_affordable() {
    let product = Product::<f32>::new(shape());
    let verdict = check::verify(&product.shape, &product.a, &product.b, &product.c, 1).expect("lengths fit");
    assert_eq!(verdict.method, Method::Full);
    // Long and thin: few elements, too many products to compute again in f64.
    let k = (1 << 24) - 1;
    let long = GemmShape::packed(12, 11, k).expect("fits the index type");
    let error = check::verify::<f32>(&long, &[], &[], &[], 1).expect_err("no operands");
    assert!(matches!(error, Error::InvalidArgument(_)));
    assert!(long.flops() / 2.0 > check::FULL_LIMIT_PRODUCTS as f64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// One changed element, anywhere, by anything that is clearly more than rounding.
    #[test]
    fn any_clear_defect_is_caught(row in 0..37_usize, column in 0..45_usize, error in 0.5..100.0_f64, negative: bool) {
        let mut product = Product::<f32>::new(shape());
        *product.at(row, column) += if negative { -error } else { error } as f32;
        product.is_caught_at(row, column);
    }
}
