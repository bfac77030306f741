//! The data: random, each case from a seed of its own.

use tilewright::random::random_matrix;

/// How elements are made.
#[derive(Clone, Copy)]
enum Kind {
    /// Between -1 and 1.
    Uniform,
    /// Between 0 and 1: sums grow with K.
    Positive,
    /// Of both signs, with exponents up to so many away from 0.
    Spread(i32),
    /// The second half of K takes away what the first has added, up to 2^-12 of it.
    Cancelling,
    /// Of A and of B, times these powers of two.
    Scaled([i32; 2]),
    /// Whole numbers up to 255: every sum is exact in f32.
    Whole,
    /// Uniform, with an infinity in each row of A.
    Infinite,
    /// Uniform, with a NaN in every eighth row of A.
    NotANumber,
}

/// A kind of data, and K.
pub struct Case {
    /// In words.
    pub about: &'static str,
    /// Terms of each sum.
    pub k: usize,
    kind: Kind,
}

const fn case(about: &'static str, kind: Kind, k: usize) -> Case {
    Case { about, k, kind }
}

/// Every case.
pub const CASES: [Case; 23] = [
    case("-1 to 1", Kind::Uniform, 16),
    case("-1 to 1", Kind::Uniform, 64),
    case("-1 to 1", Kind::Uniform, 256),
    case("-1 to 1", Kind::Uniform, 1024),
    case("-1 to 1", Kind::Uniform, 4096),
    case("-1 to 1", Kind::Uniform, 8192),
    case("-1 to 1", Kind::Uniform, 16_384),
    case("0 to 1", Kind::Positive, 64),
    case("0 to 1", Kind::Positive, 1024),
    case("0 to 1", Kind::Positive, 8192),
    case("exponents -8 to 8", Kind::Spread(8), 1024),
    case("exponents -30 to 30", Kind::Spread(30), 1024),
    case("exponents -60 to 60", Kind::Spread(60), 1024),
    case("cancelling to 2^-12", Kind::Cancelling, 1024),
    case("whole numbers to 255", Kind::Whole, 256),
    case("products near 2^120", Kind::Scaled([60, 60]), 64),
    case("A near the largest f32", Kind::Scaled([127, -20]), 64),
    case("products near 2^-100", Kind::Scaled([-50, -50]), 64),
    case("A near 2^-108", Kind::Scaled([-108, 0]), 64),
    case("A near 2^-120", Kind::Scaled([-120, 0]), 64),
    case("A denormal, near 2^-135", Kind::Scaled([-135, 20]), 64),
    case("an infinity in each row of A", Kind::Infinite, 64),
    case("a NaN in every eighth row of A", Kind::NotANumber, 64),
];

impl Case {
    /// A, `extent` x k, and B, k x `extent`, packed.
    pub fn operands(&self, extent: usize) -> (Vec<f32>, Vec<f32>) {
        let k = self.k;
        let elements = extent * k;
        let uniform = |seed| random_matrix::<f32>(seed, elements);
        let (mut a, mut b) = (uniform(1), uniform(2));
        let scale = |values: &mut [f32], exponents: &[f32], most: i32| {
            for (value, exponent) in values.iter_mut().zip(exponents) {
                // Times 1 to 2 with the sign kept, times a power of two.
                *value = (1.0 + value.abs()).copysign(*value) * (exponent * most as f32).round().exp2();
            }
        };
        match self.kind {
            Kind::Uniform => {}
            Kind::Positive => a.iter_mut().chain(&mut b).for_each(|value| *value = value.abs()),
            Kind::Spread(most) => {
                scale(&mut a, &uniform(3), most);
                scale(&mut b, &uniform(4), most);
            }
            Kind::Cancelling => {
                let half = k / 2;
                for row in a.chunks_mut(k) {
                    let (first, second) = row.split_at_mut(half);
                    second.copy_from_slice(first);
                }
                let (first, second) = b.split_at_mut(half * extent);
                for (second, (first, change)) in second.iter_mut().zip(first.iter().zip(uniform(3))) {
                    *second = -first * (1.0 + change * (-12.0_f32).exp2());
                }
            }
            Kind::Scaled(exponents) => {
                for (values, exponent) in [&mut a, &mut b].into_iter().zip(exponents) {
                    // In two steps: the power alone may be no normal number.
                    let half = exponent / 2;
                    let [first, second] = [half, exponent - half].map(|power| (power as f32).exp2());
                    values.iter_mut().for_each(|value| *value = *value * first * second);
                }
            }
            Kind::Whole => a
                .iter_mut()
                .chain(&mut b)
                .for_each(|value| *value = (*value * 255.0).round()),
            Kind::Infinite => {
                for (at, row) in a.chunks_mut(k).enumerate() {
                    row[at % k] = f32::INFINITY.copysign(row[at % k]);
                }
            }
            Kind::NotANumber => a.chunks_mut(k).step_by(8).for_each(|row| row[k / 2] = f32::NAN),
        }
        (a, b)
    }
}
