//! What all bars share: the scale, the limits of the architectures, the axis.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cuda_arch::ARCHITECTURES;

use super::canvas::{Anchor, Area, Canvas, Type};
use super::look::Parts;
use super::text::{self, Kib, SMALL};
use super::{Bar, look, table};

/// Space around everything, in pixels.
pub const MARGIN: f64 = 16.0;

/// The narrowest picture whose texts have room.
const LEAST_WIDTH: f64 = 320.0;
/// Below this, the names of architectures take more lines.
const NARROW: f64 = 640.0;
/// Space on the left for what the system reserves, which lies before zero: it is none of the CTA's own.
const BEFORE_ZERO: f64 = 12.0;
/// The longest scale: a bar beyond it is cut, or the others could not be read.
const LONGEST_BYTES: u64 = 512 << 10;
const LINE_HEIGHT: f64 = 13.0;

/// The scale, and the limits above it.
pub struct Frame {
    /// The picture's width in pixels.
    pub width: f64,
    zero: f64,
    /// What the scale ends with.
    bytes: u64,
    limits: Vec<Limit>,
    /// The parts of all bars.
    pub parts: Parts,
}

/// A limit that some architectures have, and where its name stands.
struct Limit {
    bytes: u64,
    /// How much, then who has it.
    lines: Vec<String>,
    anchor: Anchor,
    /// Steps below the topmost names.
    row: usize,
}

impl Frame {
    pub fn new(bars: &[Bar<'_>], width: u32) -> Self {
        let width = f64::from(width.min(4096))
            .max(LEAST_WIDTH)
            .max(libm::ceil(table::least_width(bars)));
        let mut limits = limits(if width < NARROW { 2 } else { 4 });
        let largest = bars.iter().map(|bar| bar.sheet.total_bytes.max(bar.sheet.limit_bytes));
        let largest = largest.chain(limits.iter().map(|limit| limit.bytes)).max().unwrap_or(1);
        let mut frame = Self {
            width,
            zero: MARGIN + BEFORE_ZERO,
            // A little more, so that the last limit is not the border.
            bytes: (largest + largest / 32).min(LONGEST_BYTES),
            limits: Vec::new(),
            parts: Parts::new(bars),
        };
        frame.place(&mut limits);
        frame.limits = limits;
        frame
    }

    /// Where the scale ends.
    pub fn right(&self) -> f64 {
        self.width - MARGIN
    }

    /// Pixels that so many bytes take; no more than the scale is long.
    pub fn pixels(&self, bytes: u64) -> f64 {
        bytes.min(self.bytes) as f64 * (self.right() - self.zero) / self.bytes as f64
    }

    /// The position of a byte on the scale.
    pub fn x(&self, bytes: u64) -> f64 {
        self.zero + self.pixels(bytes)
    }

    /// Whether the scale is too short for so many bytes.
    pub fn is_beyond(&self, bytes: u64) -> bool {
        bytes > self.bytes
    }

    /// Finds room for the limits' names: beside their lines, in steps downwards from left to right, so that no line
    /// goes through the name of another.
    fn place(&self, limits: &mut [Limit]) {
        let mut taken: Vec<([f64; 2], usize)> = Vec::new();
        let room = |taken: &[([f64; 2], usize)], [from, to]: [f64; 2]| {
            let over = taken.iter().filter(|([begin, end], _)| from < *end && *begin < to);
            over.map(|(_, row)| row + 1).max().unwrap_or(0)
        };
        let mut border = self.width - 4.0;
        for limit in limits.iter_mut().rev() {
            let (x, width) = (self.x(limit.bytes), limit.width());
            if x + width > border && x - width > 4.0 {
                limit.anchor = Anchor::End;
                limit.row = room(&taken, [x - width, x]);
                taken.push(([x - width, x], limit.row));
                border = x;
            }
        }
        for limit in limits.iter_mut().filter(|limit| limit.anchor == Anchor::Start) {
            let range = [self.x(limit.bytes) - 2.0, self.x(limit.bytes) + limit.width()];
            limit.row = room(&taken, range);
            taken.push((range, limit.row));
        }
    }

    /// Height of one step of names.
    fn step(&self) -> f64 {
        let lines = self.limits.iter().map(|limit| limit.lines.len()).max().unwrap_or(0);
        lines as f64 * LINE_HEIGHT + 4.0
    }

    /// The limits' names. Returns where the bars begin.
    pub fn draw_limits(&self, canvas: &mut Canvas) -> f64 {
        let steps = self.limits.iter().map(|limit| limit.row + 1).max().unwrap_or(0);
        for limit in &self.limits {
            let x = match limit.anchor {
                Anchor::End => self.x(limit.bytes) - 4.0,
                _ => self.x(limit.bytes) + 4.0,
            };
            for (index, line) in limit.lines.iter().enumerate() {
                let y = self.names_begin(limit) + LINE_HEIGHT * (index + 1) as f64 - 3.0;
                let ty = if index == 0 {
                    Type::new("tw-ink", look::INK).bold()
                } else {
                    Type::new("tw-muted", look::MUTED).size(SMALL)
                };
                canvas.write((x, y), ty.anchor(limit.anchor), line);
            }
        }
        MARGIN + steps as f64 * self.step() + 6.0
    }

    fn names_begin(&self, limit: &Limit) -> f64 {
        MARGIN - 6.0 + limit.row as f64 * self.step()
    }

    /// Lines of the scale and of the limits, from the names to `end`.
    pub fn draw_grid(&self, canvas: &mut Canvas, begin: f64, end: f64) {
        for bytes in self.ticks() {
            let x = self.x(bytes);
            canvas.line(
                "tw-grid",
                (x, begin),
                (x, end),
                format_args!("stroke=\"#eaeef2\" stroke-width=\"1\""),
            );
        }
        for limit in &self.limits {
            let x = self.x(limit.bytes);
            canvas.line(
                "tw-limit tw-named",
                (x, self.names_begin(limit)),
                (x, end),
                format_args!(
                    "data-bytes=\"{}\" stroke=\"{}\" stroke-width=\"1\" stroke-dasharray=\"2 3\"",
                    limit.bytes,
                    look::LIMIT
                ),
            );
        }
    }

    /// The limits once more, over a bar whose parts end at `parts_end`: dark on the parts, whatever the page.
    pub fn draw_limit_marks(&self, canvas: &mut Canvas, parts_end: u64, bar: Area) {
        for limit in &self.limits {
            let x = self.x(limit.bytes);
            let (class, colour) = if limit.bytes < parts_end {
                ("tw-limit-on-part", look::INK_ON_PART)
            } else {
                ("tw-limit", look::LIMIT)
            };
            canvas.line(
                class,
                (x, bar.y),
                (x, bar.y + bar.height),
                format_args!("stroke=\"{colour}\" stroke-width=\"1\" stroke-dasharray=\"2 3\""),
            );
        }
    }

    /// The scale's numbers under the bars. Returns where it ends.
    pub fn draw_axis(&self, canvas: &mut Canvas, y: f64) -> f64 {
        canvas.line(
            "tw-rule",
            (self.zero, y),
            (self.right(), y),
            format_args!("stroke=\"{}\" stroke-width=\"1\"", look::RULE),
        );
        let mut free_from = 0.0;
        for bytes in self.ticks() {
            let label = match bytes / 1024 {
                0 => "0 KiB".to_string(),
                kib => kib.to_string(),
            };
            let (x, half) = (self.x(bytes), text::width(&label, SMALL, false) / 2.0);
            if x - half < free_from || x + half > self.width - 2.0 {
                continue;
            }
            free_from = x + half + 6.0;
            let ty = Type::new("tw-muted", look::MUTED).size(SMALL).anchor(Anchor::Middle);
            canvas.write((x, y + 14.0), ty, &label);
        }
        y + 26.0
    }

    /// Round numbers of KiB, at least 40 pixels apart.
    fn ticks(&self) -> impl Iterator<Item = u64> + use<> {
        let step = [16_u64 << 10, 32 << 10, 64 << 10, 128 << 10]
            .into_iter()
            .find(|step| self.pixels(*step) >= 40.0)
            .unwrap_or(256 << 10);
        let bytes = self.bytes;
        (0..).map(move |tick| tick * step).take_while(move |at| *at <= bytes)
    }

    /// A stretch of the scale as an area of a bar's height.
    pub fn stretch(&self, from: u64, to: u64, bar: Area) -> Area {
        Area {
            x: self.x(from),
            width: self.x(to) - self.x(from),
            ..bar
        }
    }

    /// Where a bar begins: at the bytes that the system reserves, before zero.
    pub fn reserve(&self, reserved_bytes: u64, bar: Area) -> Area {
        let width = self.pixels(reserved_bytes).min(BEFORE_ZERO);
        Area {
            x: self.zero - width,
            width,
            ..bar
        }
    }
}

impl Limit {
    fn width(&self) -> f64 {
        let lines = self.lines.iter().enumerate();
        let widths = lines.map(|(index, line)| match index {
            0 => text::width(line, text::SIZE, true),
            _ => text::width(line, SMALL, false),
        });
        widths.fold(0.0, f64::max) + 8.0
    }
}

/// The limits of all architectures, ascending; `names` of architectures a line.
fn limits(names: usize) -> Vec<Limit> {
    let mut limits: Vec<u64> = ARCHITECTURES
        .iter()
        .map(|arch| u64::from(arch.smem_per_block_optin))
        .collect();
    limits.sort_unstable();
    limits.dedup();
    limits
        .into_iter()
        .map(|bytes| {
            let who: Vec<&str> = ARCHITECTURES
                .iter()
                .filter(|arch| u64::from(arch.smem_per_block_optin) == bytes)
                .map(|arch| arch.name.trim_start_matches("sm_"))
                .collect();
            let mut lines = Vec::from([Kib(bytes).to_string()]);
            for (index, some) in who.chunks(names).enumerate() {
                lines.push(format!("{}{}", if index == 0 { "sm_" } else { "" }, some.join(" · ")));
            }
            Limit {
                bytes,
                lines,
                anchor: Anchor::Start,
                row: 0,
            }
        })
        .collect()
}
