//! How fast each kernel is: a table of measured numbers.

use std::fmt;

use cuda_arch::Architecture;
use tilewright_contract::{KERNELS, Kernel};

/// A line of the table: cycles of an SM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    /// Columns of the tile.
    width: u32,
    /// Of a step along k, however many blocks are resident.
    pub(super) latency: f64,
    /// Of a step along k, for each resident block.
    pub(super) work: f64,
    /// Of a block, besides its steps.
    pub(super) block: f64,
}

/// What the planner knows of the kernels' speed, measured on one device.
///
/// A text: `arch sm_90`, then for each kernel and tile a line `symbol width latency work block digest`, the last of the
/// PTX that was measured. `gpu_pick
/// --calibrate` writes it. Lines that are older than digests end before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speeds {
    text: &'static str,
    arch: &'static Architecture,
}

/// A line that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedsError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for SpeedsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for SpeedsError {}

impl Default for Speeds {
    /// Those of an H200.
    fn default() -> Self {
        Self {
            text: BUILT_IN,
            arch: cuda_arch::find("sm_90").expect("in the table"),
        }
    }
}

static BUILT_IN: &str = include_str!("speed.txt");

impl Speeds {
    /// Reads a table. It stays in memory for good.
    ///
    /// # Errors
    /// [`SpeedsError`] with the first line that is wrong.
    pub fn read(text: String) -> Result<Self, SpeedsError> {
        let wrong = |line, problem| SpeedsError { line, problem };
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let first = lines.next().and_then(|(_, line)| line.strip_prefix("arch "));
        let arch = first.ok_or_else(|| wrong(1, "must be `arch` and an architecture, such as `arch sm_90`".into()))?;
        let arch = cuda_arch::find(arch).map_err(|error| wrong(1, format!("{error}")))?;
        for (number, line) in lines {
            let (symbol, numbers) = line.split_once(' ').unwrap_or((line, ""));
            if Kernel::named(symbol).is_none() {
                return Err(wrong(number, format!("no kernel `{symbol}`")));
            }
            if parse(numbers).is_none() {
                return Err(wrong(
                    number,
                    format!("`{numbers}` is not width, latency, work and block cycles, and a digest"),
                ));
            }
        }
        Ok(Self {
            text: text.leak(),
            arch,
        })
    }

    /// The architecture that was measured.
    pub fn arch(&self) -> &'static Architecture {
        self.arch
    }

    /// Every line of a kernel, with the kernel's symbol.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.text
            .lines()
            .skip(1)
            .filter_map(|line| Some((line.split_once(' ')?.0, line)))
    }

    /// The line of a kernel whose tile width is nearest. Kernels of one tile that differ in the layout of A and B alone
    /// share the line of the first.
    pub(super) fn of(&self, kernel: &Kernel) -> Option<Speed> {
        let of = |symbol: &str| {
            self.lines()
                .filter(|(of, _)| *of == symbol)
                .filter_map(|(symbol, line)| parse(line.strip_prefix(symbol)?.trim_start()))
                .min_by_key(|speed| speed.width.abs_diff(kernel.tile.n))
        };
        of(self.priced_by(kernel)?)
    }

    /// The kernel whose lines price another: its own, or where it has none those of the first that differs from it in
    /// the layout of A and B alone.
    pub fn priced_by(&self, kernel: &Kernel) -> Option<&'static str> {
        let has = |symbol: &str| self.lines().any(|(of, _)| of == symbol);
        let is_alike = |other: &&Kernel| other.supports.alpha_beta && other.has_same_tile(kernel);
        let own = Kernel::named(kernel.symbol).into_iter();
        own.chain(KERNELS.iter().filter(is_alike))
            .map(|other| other.symbol)
            .find(|symbol| has(symbol))
    }
}

fn parse(numbers: &str) -> Option<Speed> {
    let mut numbers = numbers.split(' ');
    let width = numbers.next()?.parse().ok()?;
    let mut cycles = || numbers.next()?.parse().ok().filter(|cycles| *cycles >= 0.0);
    let speed = Speed {
        width,
        latency: cycles()?,
        work: cycles()?,
        block: cycles()?,
    };
    let digest = numbers.next().unwrap_or("0");
    let is_digest = digest.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some(speed).filter(|speed| speed.latency + speed.work > 0.0 && is_digest && numbers.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_of_a_kernel_and_every_tiled_kernel_has_a_line() {
        let built_in = Speeds::read(BUILT_IN.into()).expect("valid");
        assert_eq!(built_in, Speeds::default());
        for (symbol, line) in built_in.lines() {
            let kernel = Kernel::named(symbol).expect("checked");
            let width = parse(&line[symbol.len() + 1..]).expect("checked").width;
            let has = match kernel.widths {
                Some([min, max]) => (min..=max).contains(&width),
                None => kernel.tile.n == width,
            };
            assert!(has, "{line}");
        }
        for kernel in KERNELS.iter().filter(|kernel| kernel.family.is_automatic()) {
            assert!(built_in.of(kernel).is_some(), "{}", kernel.symbol);
        }
    }

    #[test]
    fn a_line_with_a_digest_says_what_it_says_without() {
        let of = |line: &str| Speeds::read(format!("arch sm_90\ntiled_static_16_f32 {line}")).expect("valid");
        let kernel = Kernel::named("tiled_static_16_f32").expect("there");
        let (without, with) = (of("16 48.62 10.34 43.0"), of("16 48.62 10.34 43.0 0123456789abcdef"));
        assert_eq!(without.of(kernel), with.of(kernel));
        assert_eq!(with.priced_by(kernel), Some("tiled_static_16_f32"));
        assert_eq!(with.priced_by(KERNELS.last().expect("not empty")), None);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        for (text, error) in [
            ("", "line 1: must be `arch` and an architecture, such as `arch sm_90`"),
            ("arch sm_90\nr99_f32 16 1 1 1", "line 2: no kernel `r99_f32`"),
            (
                "arch sm_90\ntiled_static_16_f32 16 48.62 10.34 43.0\ntiled_static_16_f32 16 1 1",
                "line 3: `16 1 1` is not width, latency, work and block cycles, and a digest",
            ),
            (
                "arch sm_90\ntiled_static_16_f32 16 48.62 10.34 43.0 what",
                "line 2: `16 48.62 10.34 43.0 what` is not width, latency, work and block cycles, and a digest",
            ),
            (
                "arch sm_90\ntiled_static_16_f32 16 -1 1 1",
                "line 2: `16 -1 1 1` is not width, latency, work and block cycles, and a digest",
            ),
        ] {
            assert_eq!(Speeds::read(text.into()).expect_err(text).to_string(), error);
        }
        assert!(Speeds::read("arch sm_1".into()).is_err());
    }
}
