//! `tilewright demo`: nearest neighbors among 1797 handwritten digits, from one matrix product.
//!
//! With one image a row of X, the Gram matrix G = X · Xᵀ holds every inner product, and the squared distance of two
//! images is `G[i,i] + G[j,j] - 2 G[i,j]`. Pixels are integers in 0..=16, so every sum is an integer of at most 64 *
//! 256 = 16384: f32 holds all of them exactly, in whatever order a kernel adds.

use std::io::Read;

use clap::Args;
use flate2::read::GzDecoder;
use serde::Serialize;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Policy, plan};
use tilewright::simulate::SimOptions;
use tilewright::{Backend, DType, Family, Gemm, GemmShape, Report, Verify, check};

use crate::choice::Choice;
use crate::failure::{Failure, Result};
use crate::{matmul, output, sim, simulation};

/// One image a line: 64 pixels, then the digit. Origin and licence are in `data/README.md`.
static DIGITS: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits.csv.gz"));

const CREDIT: &str = "Data: E. Alpaydin, C. Kaynak (1998), Optical Recognition of Handwritten Digits, \
                      UCI Machine Learning\n\
                      Repository, https://doi.org/10.24432/C50P49, CC BY 4.0.\n";

/// Pixels along each side of an image.
const SIDE: usize = 8;
const PIXELS: usize = SIDE * SIDE;
const BRIGHTEST: u8 = 16;

/// Multiply real data: nearest neighbors among 1797 handwritten digits
#[derive(Args)]
pub struct Command {
    #[command(flatten)]
    choice: Choice,
}

/// Images, one after the other, and the digit that each shows.
struct Digits {
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing {
    /// Images in the data set.
    images: usize,
    /// Images whose nearest neighbor shows the same digit.
    neighbors_of_same_label: usize,
    #[serde(flatten)]
    report: Report,
    /// The GPU's kernel in the simulator, on a small product; null where the product itself was computed by it.
    simulated: Option<sim::Listing>,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let options = command.choice.options(Verify::Full)?;
    let digits = Digits::load()?;
    let images = digits.labels.len();
    let shape = GemmShape::packed(images, images, PIXELS).map_err(tilewright::Error::from)?;
    let x: Vec<f32> = digits.pixels.iter().copied().map(f32::from).collect();
    let x_transposed: Vec<f32> = (0..x.len()).map(|i| x[i % images * PIXELS + i / images]).collect();

    simulation::ensure_product_affordable::<f32>(&shape, &options, command.choice.yes)?;
    let spinner = output::spinner();
    spinner.set_message(format!("multiplying {shape} and checking every element"));
    let product = tilewright::product(&Gemm::new(shape), &x, &x_transposed, None::<&[f32]>, &options)?;
    spinner.finish_and_clear();

    let neighbors = nearest_neighbors(&product.c, images);
    let same = |&i: &usize| digits.labels[i] == digits.labels[neighbors[i]];
    let neighbors_of_same_label = (0..images).filter(same).count();
    // Without a GPU, its kernels can still be seen at work.
    let simulated = match product.report.backend {
        Backend::Cpu => Some(small_simulation()?),
        Backend::Auto | Backend::Gpu | Backend::Sim => None,
    };
    if json {
        return output::print_json(&Listing {
            images,
            neighbors_of_same_label,
            report: product.report,
            simulated,
        });
    }
    let mut text = format!(
        "{images} handwritten digits of {SIDE} x {SIDE} pixels, one a row of X; G = X · Xᵀ holds every inner \
         product.\n\n{}\n",
        matmul::describe(&product.report)
    );
    let pair = |i: usize| (i, neighbors[i]);
    let examples = [(0..images).find(same), (0..images).find(|i| !same(i))].map(|found| found.map(pair));
    text.push_str(&digits.picture(examples.into_iter().flatten()));
    text.push_str(&format!(
        "\n{neighbors_of_same_label} of {images} digits ({:.1} %) have a nearest neighbor of the same label.\n",
        100.0 * neighbors_of_same_label as f64 / images as f64
    ));
    if let Some(simulated) = simulated {
        text.push_str(&format!("\n{}", simulated.in_short()));
    }
    text.push_str(&format!("\n{CREDIT}"));
    output::print(&text)
}

/// What a GPU would have run, simulated on a product that is small enough to be done in no time.
fn small_simulation() -> Result<sim::Listing> {
    const EXTENT: usize = 64;
    const TILE: u32 = 16;
    let options = SimOptions::default();
    let shape = GemmShape::packed(EXTENT, EXTENT, EXTENT).map_err(tilewright::Error::from)?;
    let policy = Policy {
        family: Some(Family::TILED_DYNAMIC),
        tile: Some(TILE),
        ..Policy::default()
    };
    let profile = DeviceProfile::of_arch(options.architecture);
    let plan = plan(&shape, DType::F32, &profile, &policy).map_err(tilewright::Error::from)?;
    sim::listing::<f32>(&plan, &options, check::DEFAULT_SEED, false)
}

/// For each image, the other one at the smallest squared distance; of several, the first.
fn nearest_neighbors(gram: &[f32], images: usize) -> Vec<usize> {
    // Exact: see the head of this file.
    let gram = |i: usize, j: usize| gram[i * images + j] as i32;
    let distance = |i: usize, j: usize| gram(i, i) + gram(j, j) - 2 * gram(i, j);
    let nearest = |i: usize| {
        (0..images)
            .filter(|&j| j != i)
            .min_by_key(|&j| distance(i, j))
            .unwrap_or(i)
    };
    (0..images).map(nearest).collect()
}

impl Digits {
    fn load() -> Result<Self> {
        Self::parse().ok_or_else(|| Failure::environment("the digits within this program are damaged"))
    }

    fn parse() -> Option<Self> {
        let mut text = String::new();
        GzDecoder::new(DIGITS).read_to_string(&mut text).ok()?;
        let mut digits = Self {
            pixels: Vec::new(),
            labels: Vec::new(),
        };
        for line in text.lines() {
            let mut numbers = line.split(',').map(|number| number.parse::<u8>().ok());
            for _ in 0..PIXELS {
                digits.pixels.push(numbers.next()??.min(BRIGHTEST));
            }
            digits.labels.push(numbers.next()??);
        }
        Some(digits)
    }

    /// Pairs of images beside each other.
    fn picture(&self, pairs: impl IntoIterator<Item = (usize, usize)>) -> String {
        const GAP: &str = "   ";
        let images: Vec<usize> = pairs.into_iter().flat_map(|(i, j)| [i, j]).collect();
        let captions = images.iter().enumerate().map(|(position, &i)| {
            let role = if position % 2 == 0 { "" } else { "-> " };
            format!(
                "{:<width$}",
                format!("{role}{} (#{i})", self.labels[i]),
                width = 2 * SIDE
            )
        });
        let mut text = captions.collect::<Vec<_>>().join(GAP).trim_end().to_owned() + "\n";
        for row in 0..SIDE {
            let rows = images.iter().map(|&i| self.row(i, row));
            text.push_str(rows.collect::<Vec<_>>().join(GAP).trim_end());
            text.push('\n');
        }
        text
    }

    /// A row of an image, two characters a pixel: characters are about twice as high as wide.
    fn row(&self, image: usize, row: usize) -> String {
        const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];
        let start = image * PIXELS + row * SIDE;
        let shade = |&pixel: &u8| SHADES[usize::from(pixel) * (SHADES.len() - 1) / usize::from(BRIGHTEST)];
        self.pixels[start..start + SIDE].iter().map(shade).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_set_is_the_known_one() {
        let digits = Digits::load().expect("embedded");
        assert_eq!(digits.labels.len(), 1797);
        assert_eq!(digits.pixels.len(), 1797 * PIXELS);
        let of_digit = |digit| digits.labels.iter().filter(|&&label| label == digit).count();
        // The counts that the repository publishes for its test set.
        assert_eq!(
            (0..10).map(of_digit).collect::<Vec<_>>(),
            [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
        );
    }

    #[test]
    fn the_nearest_other_image_is_found() {
        // Points 0, 1, 5, 6 on a line: G[i,j] = x[i] * x[j].
        let points = [0.0_f32, 1.0, 5.0, 6.0];
        let gram: Vec<f32> = points.iter().flat_map(|a| points.map(|b| a * b)).collect();
        assert_eq!(nearest_neighbors(&gram, 4), [1, 0, 3, 2]);
    }
}
