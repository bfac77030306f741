//! The CPU's tiled nest against the plain f64 product, and against the lecture's loops written out.

use half::{bf16, f16};
use proptest::prelude::*;
use tilewright::reference::{DEFAULT_TILE_WIDTH, MAX_TILE_WIDTH, oracle, tiled, tiled_parallel};
use tilewright::{Element, Error, GemmShape, Operand, check, random::random_matrix};

/// What the gaps behind the rows of C hold before and must hold after: no sum of the products at hand.
const PADDING: f64 = 77.0;

/// A product to compute: a shape, a tile width, a seed.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: GemmShape,
    tile: usize,
    seed: u64,
}

impl Case {
    fn operand<T: Element>(&self, operand: Operand) -> Vec<T> {
        random_matrix(self.seed ^ operand as u64, self.shape.span_elems(operand))
    }

    /// A, B, and C full of padding with a tail behind its span.
    fn operands<T: Element>(&self) -> (Vec<T>, Vec<T>, Vec<T>) {
        let c = vec![T::from_f64(PADDING); self.shape.span_elems(Operand::C) + 3];
        (self.operand(Operand::A), self.operand(Operand::B), c)
    }

    /// Computes C in both ways, and holds it against the oracle and the padding against its value.
    fn holds<T: Element>(&self) -> Result<(), TestCaseError> {
        let (a, b, mut c) = self.operands::<T>();
        let mut parallel = c.clone();
        tiled(&self.shape, self.tile, &a, &b, &mut c).expect("lengths fit");
        tiled_parallel(&self.shape, self.tile, &a, &b, &mut parallel).expect("lengths fit");
        prop_assert_eq!(&c, &parallel, "threads change nothing");

        let verdict = check::full(&self.shape, &a, &b, &c).expect("lengths fit");
        prop_assert!(verdict.passed(), "{}: {verdict}", T::DTYPE);
        prop_assert_eq!(verdict.compared, self.shape.m() * self.shape.n());

        let (rows, columns, ld) = self.shape.extents(Operand::C);
        for (index, &c) in c.iter().enumerate() {
            let element = ld > 0 && index / ld < rows && index % ld < columns;
            prop_assert!(element || c == T::from_f64(PADDING), "padding at {index} is written");
        }
        Ok(())
    }
}

/// Extents around the edges of a tile: 0, 1, T - 1, T, T + 1, and what lies between two tiles.
fn extent(tile: usize) -> impl Strategy<Value = usize> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(tile - 1),
        Just(tile),
        Just(tile + 1),
        0..2 * tile + 3
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let tile = prop_oneof![Just(1_usize), Just(4), Just(16), Just(32), 2..40_usize];
    tile.prop_flat_map(|tile| {
        let padding = prop_oneof![Just(0), 1..9_usize];
        let extents = (extent(tile), extent(tile), extent(tile));
        (
            Just(tile),
            extents,
            (padding.clone(), padding.clone(), padding),
            any::<u64>(),
        )
    })
    .prop_map(|(tile, (m, n, k), (pa, pb, pc), seed)| {
        let shape = GemmShape::with_ld(m, n, k, k + pa, n + pb, n + pc).expect("small");
        Case { shape, tile, seed }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_shape_tile_and_type_is_within_the_bound(case in case()) {
        case.holds::<f32>()?;
        case.holds::<f64>()?;
        case.holds::<f16>()?;
        case.holds::<bf16>()?;
    }

    /// The lecture's loops, element by element, edges cut off: each result has the same bits.
    #[test]
    fn the_nest_is_the_lectures_to_the_bit(case in case()) {
        let (a, b, mut c) = case.operands::<f32>();
        let mut expected = c.clone();
        lecture(&case.shape, case.tile, &a, &b, &mut expected);
        tiled(&case.shape, case.tile, &a, &b, &mut c).expect("lengths fit");
        prop_assert_eq!(c.iter().map(|c| c.to_bits()).collect::<Vec<_>>(),
                        expected.iter().map(|c| c.to_bits()).collect::<Vec<_>>());
    }

    /// Integers up to 8 leave nothing to round: f32 sums must be exact, and 16-bit results the roundings of exact sums.
    #[test]
    fn integers_are_exact(case in case()) {
        fn exact<T: Element>(case: &Case) -> Result<(), TestCaseError> {
            let integers = |operand| -> Vec<T> {
                let uniform: Vec<f64> = case.operand(operand);
                uniform.into_iter().map(|x| T::from_f64((x * 8.0).round())).collect()
            };
            let (a, b, (_, _, mut c)) = (integers(Operand::A), integers(Operand::B), case.operands::<T>());
            tiled(&case.shape, case.tile, &a, &b, &mut c).expect("lengths fit");
            let expected = oracle(&case.shape, &a, &b).expect("lengths fit");
            let (_, columns, ld) = case.shape.extents(Operand::C);
            for (index, &value) in expected.iter().enumerate() {
                let got = c[index / columns * ld + index % columns];
                prop_assert_eq!(got, T::from_f64(value), "{} at {}", T::DTYPE, index);
            }
            Ok(())
        }
        exact::<f32>(&case)?;
        exact::<f64>(&case)?;
        exact::<f16>(&case)?;
        exact::<bf16>(&case)?;
    }
}

/// `for rowTile, colTile, iTile, row, col: sum over i; iTile == 0 ? C = sum : C += sum`.
fn lecture(shape: &GemmShape, tile: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    let (m, inner, lda) = shape.extents(Operand::A);
    let (_, n, ldb) = shape.extents(Operand::B);
    let (_, _, ldc) = shape.extents(Operand::C);
    for row_tile in 0..m.div_ceil(tile) {
        for column_tile in 0..n.div_ceil(tile) {
            // At least one inner tile, so that k = 0 stores its empty sums.
            for inner_tile in 0..inner.div_ceil(tile).max(1) {
                for row in row_tile * tile..m.min((row_tile + 1) * tile) {
                    for column in column_tile * tile..n.min((column_tile + 1) * tile) {
                        let mut sum = 0.0;
                        for i in inner_tile * tile..inner.min((inner_tile + 1) * tile) {
                            sum += a[row * lda + i] * b[i * ldb + column];
                        }
                        if inner_tile == 0 {
                            c[row * ldc + column] = sum;
                        } else {
                            c[row * ldc + column] += sum;
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_default_tile_crosses_its_edges() {
    let t = DEFAULT_TILE_WIDTH;
    for (m, n, k) in [(t + 1, t - 1, 2 * t + 1), (1, 2 * t + 5, t), (2 * t, 3, t + 1)] {
        let shape = GemmShape::with_ld(m, n, k, k + 1, n + 2, n + 3).expect("small");
        Case {
            shape,
            tile: t,
            seed: 5,
        }
        .holds::<f32>()
        .expect("within the bound");
    }
}

#[test]
fn empty_products_touch_only_their_elements() {
    for (m, n, k) in [(0, 0, 0), (0, 5, 3), (5, 0, 3), (5, 3, 0), (1, 1, 0)] {
        for padding in [0, 2] {
            let shape = GemmShape::with_ld(m, n, k, k + padding, n + padding, n + padding).expect("small");
            Case {
                shape,
                tile: 4,
                seed: 1,
            }
            .holds::<f32>()
            .expect("zeros");
        }
    }
}

#[test]
fn a_sixteen_bit_result_is_rounded_once() {
    // 2048 + 1 + 1 in f16 is 2050; adding into an f16 would lose both ones, each being half of 2048's last place.
    let shape = GemmShape::packed(1, 1, 3).expect("small");
    let a = [2048.0, 1.0, 1.0].map(f16::from_f32);
    let mut c = [f16::from_f32(0.0)];
    tiled(&shape, 1, &a, &[f16::from_f32(1.0); 3], &mut c).expect("lengths fit");
    assert_eq!(c[0].to_f32(), 2050.0);
}

#[test]
fn the_oracle_agrees_with_products_worked_out_by_hand() {
    let shape = GemmShape::with_ld(2, 2, 3, 4, 3, 2).expect("small");
    let a = [1.0_f32, 2.0, 3.0, 99.0, 4.0, 5.0, 6.0];
    let b = [7.0_f32, 8.0, 99.0, 9.0, 10.0, 99.0, 11.0, 12.0];
    assert_eq!(oracle(&shape, &a, &b).expect("lengths fit"), [58.0, 64.0, 139.0, 154.0]);
}

#[test]
fn the_oracle_is_as_good_as_exact_fractions() {
    // Thirds are rounded once an element; their products add up to 1/9 * k within f64's own bound.
    let k = 1000;
    let shape = GemmShape::packed(1, 1, k).expect("small");
    let third = vec![1.0 / 3.0; k];
    let got = oracle(&shape, &third, &third).expect("lengths fit");
    approx::assert_relative_eq!(got[0], k as f64 / 9.0, max_relative = k as f64 * f64::EPSILON);
}

#[test]
fn short_slices_and_impossible_tiles_are_refused_with_their_numbers() {
    let shape = GemmShape::with_ld(3, 4, 5, 6, 7, 8).expect("small");
    let slices = |operand| vec![0.0_f32; shape.span_elems(operand)];
    let (a, b, mut c) = (slices(Operand::A), slices(Operand::B), slices(Operand::C));
    let refusals = [
        (tiled(&shape, 2, &a[1..], &b, &mut c), ["A holds 16 ", "17"]),
        (tiled(&shape, 2, &a, &b[1..], &mut c), ["B holds 31 ", "32"]),
        (tiled(&shape, 2, &a, &b, &mut c.clone()[1..]), ["C holds 19 ", "20"]),
        (tiled_parallel(&shape, 2, &a[1..], &b, &mut c), ["A holds 16 ", "17"]),
        (oracle(&shape, &a, &b[1..]).map(|_| ()), ["B holds 31 ", "32"]),
        (check::full(&shape, &a, &b, &c[1..]).map(|_| ()), ["C holds 19 ", "20"]),
        (
            check::sampled(&shape, &a, &b, &c[1..], 0).map(|_| ()),
            ["C holds 19 ", "20"],
        ),
        (tiled(&shape, 0, &a, &b, &mut c), ["tile width 0 ", "nearest: 1"]),
        (
            tiled_parallel(&shape, MAX_TILE_WIDTH + 1, &a, &b, &mut c),
            ["tile width 1025 ", "nearest: 1024"],
        ),
    ];
    for (result, words) in refusals {
        let error = result.expect_err(words[0]);
        assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
        let text = error.to_string();
        assert!(
            words.iter().all(|word| text.contains(word)) && !text.contains('\n'),
            "{text}"
        );
    }
    assert!(c.iter().all(|&c| c == 0.0), "a refusal writes nothing");
}
