//! What tests of quantization to FP8 share, in the simulator and on a GPU.

use tilewright::Element;
use tilewright::fp8::{Fp8Matrix, Fp8Scaling};

/// A generator of numbers that is the same everywhere (Steele, Lea, Flood 2014: SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From 0 on, below `end`.
    fn below(&mut self, end: i32) -> i32 {
        (self.next() % end as u64) as i32
    }
}

/// Random elements, `rows x k`: all exponents of the type, those of one scale within 30 octaves, zeros of both signs,
/// subnormal numbers, and blocks of zeros alone.
pub fn matrix<T: Element>(seed: u64, scaling: Fp8Scaling, [rows, k]: [usize; 2]) -> Vec<T> {
    // Exponents of the smallest subnormal number and of the largest number, and the latter.
    let (least, most, largest) = match T::DTYPE.name() {
        "f16" => (-24, 15, 65504.0),
        "bf16" => (-133, 127, f64::from(f32::from_bits(0x7f7f_0000))),
        _ => (-149, 127, f64::from(f32::MAX)),
    };
    let mut noise = Noise(seed ^ (rows * k) as u64);
    let mut exponent = || least + noise.below(most - least + 1);
    let blocks = k.div_ceil(Fp8Scaling::BLOCK);
    let strips = rows.div_ceil(Fp8Scaling::BLOCK);
    // The largest exponent of each scale.
    let of_all = exponent();
    let of_rows: Vec<i32> = (0..rows).map(|_| exponent()).collect();
    let of_row_blocks: Vec<i32> = (0..rows * blocks).map(|_| exponent()).collect();
    let of_blocks: Vec<i32> = (0..strips * blocks).map(|_| exponent()).collect();
    let of = |at: usize| {
        let (row, block) = (at / k, at % k / Fp8Scaling::BLOCK);
        match scaling {
            Fp8Scaling::Tensor => of_all,
            Fp8Scaling::Rows => of_rows[row],
            Fp8Scaling::Rows128 => of_row_blocks[row * blocks + block],
            Fp8Scaling::Blocks128 => of_blocks[row / Fp8Scaling::BLOCK * blocks + block],
        }
    };
    let elements = (0..rows * k).map(|at| {
        let most = of(at);
        // 1 to 2, in steps of 2^-23.
        let fraction = 1.0 + f64::from(noise.below(1 << 23)) * f64::exp2(-23.0);
        let sign = [1.0, -1.0][noise.below(2) as usize];
        let is_zero = most % 16 == 5 || noise.below(8) == 0;
        let magnitude = if is_zero {
            0.0
        } else {
            fraction * f64::from(most - noise.below(30)).exp2()
        };
        T::from_f64(sign * magnitude.min(largest))
    });
    elements.collect()
}

/// The elements as a source has them: transposed or not, with `padding` elements between two lines, which are NaN.
pub fn laid_out<T: Element>(elements: &[T], [rows, k]: [usize; 2], is_transposed: bool, padding: usize) -> Vec<T> {
    let [lines, columns] = if is_transposed { [k, rows] } else { [rows, k] };
    let ld = columns + padding;
    let mut laid_out = vec![T::from_f64(f64::NAN); (lines * ld).saturating_sub(padding)];
    for line in 0..lines {
        for column in 0..columns {
            let at = if is_transposed {
                column * k + line
            } else {
                line * k + column
            };
            laid_out[line * ld + column] = elements[at];
        }
    }
    laid_out
}

/// Compares elements and scales with the CPU's, bit by bit.
///
/// # Errors
/// The first that differs, with its place.
pub fn assert_equal_bits(on_cpu: &Fp8Matrix, data: &[u8], scales: &[f32]) -> Result<(), String> {
    let layout = on_cpu.scale_layout();
    if (data.len(), scales.len()) != (on_cpu.data().len(), on_cpu.scales().len()) {
        return Err(format!("{} elements and {} scales", data.len(), scales.len()));
    }
    let differs = |at: &usize| scales[*at].to_bits() != on_cpu.scales()[*at].to_bits();
    if let Some(at) = (0..scales.len()).find(differs) {
        let (line, column) = (at / layout.ld, at % layout.ld);
        let (found, expected) = (scales[at], on_cpu.scales()[at]);
        return Err(format!(
            "scale {column} of line {line} is {found:e}, on the CPU {expected:e}"
        ));
    }
    if let Some(at) = (0..data.len()).find(|&at| data[at] != on_cpu.data()[at]) {
        let (row, column) = (at / on_cpu.k(), at % on_cpu.k());
        let (found, expected) = (data[at], on_cpu.data()[at]);
        return Err(format!(
            "element {column} of row {row} is {found:#04x}, on the CPU {expected:#04x}"
        ));
    }
    Ok(())
}
