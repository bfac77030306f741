//! The table under the bars: which pattern is what, and the bytes of every part of every bar.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::canvas::{Anchor, Area, Canvas, Type};
use super::frame::{Frame, MARGIN};
use super::text::{self, SIZE, SMALL};
use super::{Bar, bars, look};
use crate::worksheet::{Subject, Worksheet};

const ROW: f64 = 19.0;
const SWATCH: f64 = 26.0;
/// Between the swatches and the names.
const GAP: f64 = 8.0;
/// The name of the longest line.
const NAMES: f64 = 132.0;
/// A column of numbers is at least as wide as seven digits and the space before them.
const LEAST_COLUMN: f64 = 66.0;
/// How a number is made of stages: `4 × 16384 =`.
const STAGES: f64 = 82.0;
/// With more bars than these, the stages are left to the page's other tables.
const BARS_WITH_STAGES: usize = 3;

const INK: Type = Type::new("tw-ink", look::INK);
const MUTED: Type = Type::new("tw-muted", look::MUTED).size(SMALL);

/// The width that the table of these bars needs.
pub fn least_width(bars: &[Bar<'_>]) -> f64 {
    2.0 * MARGIN + SWATCH + GAP + NAMES + column(bars) * bars.len() as f64
}

/// The width of a column of numbers. No number of a worksheet is larger than its total or its limit.
fn column(bars: &[Bar<'_>]) -> f64 {
    let largest = bars
        .iter()
        .map(|bar| bar.sheet.total_bytes.max(bar.sheet.limit_bytes))
        .max();
    let digits = text::width(&largest.unwrap_or(0).to_string(), SIZE, true);
    LEAST_COLUMN.max(digits + 12.0)
}

/// A line below the parts.
struct Sum {
    name: &'static str,
    sign: Sign,
    number: fn(&Worksheet<dyn Subject>) -> Option<u64>,
    look: fn(Type) -> Type,
}

/// How the picture shows what a line speaks of.
enum Sign {
    None,
    Pattern(&'static str),
    Free,
    OwnLimit,
}

/// Those that are nothing everywhere are left out.
static SUMS: [Sum; 7] = [
    Sum {
        name: "total",
        sign: Sign::None,
        number: |sheet| Some(sheet.total_bytes),
        look: Type::bold,
    },
    Sum {
        name: "limit of a block",
        sign: Sign::OwnLimit,
        number: |sheet| Some(sheet.limit_bytes),
        look: |ty| ty,
    },
    Sum {
        name: "margin",
        sign: Sign::Pattern(look::MARGIN),
        number: |sheet| Some(sheet.margin_bytes).filter(|bytes| *bytes > 0),
        look: |ty| ty,
    },
    Sum {
        name: "left",
        sign: Sign::Free,
        number: |sheet| sheet.fits.then_some(sheet.left_bytes),
        look: |ty| ty,
    },
    Sum {
        name: "over by",
        sign: Sign::Pattern(look::TOO_MUCH),
        number: |sheet| (!sheet.fits).then_some(sheet.over_by_bytes),
        look: |_| Type::new("tw-over-text", look::OVER).bold(),
    },
    Sum {
        name: "reserved besides",
        sign: Sign::Pattern(look::RESERVE),
        number: |sheet| Some(sheet.reserved_bytes),
        look: |ty| ty,
    },
    Sum {
        name: "blocks per SM",
        sign: Sign::None,
        number: |sheet| Some(sheet.occupancy.blocks_per_sm.into()),
        look: |ty| ty,
    },
];

/// The columns of numbers.
struct Columns {
    /// Right ends, one a bar.
    ends: Vec<f64>,
    /// The width of the numbers.
    width: f64,
    with_stages: bool,
}

impl Columns {
    fn new(frame: &Frame, bars: &[Bar<'_>]) -> Self {
        let begin = MARGIN + SWATCH + GAP + NAMES;
        let width = column(bars);
        let with_stages =
            bars.len() <= BARS_WITH_STAGES && begin + (width + STAGES) * bars.len() as f64 <= frame.right();
        let column = if with_stages { width + STAGES } else { width };
        // Columns stand close to the names: an eye that has to cross a page loses the line.
        Self {
            ends: (1..=bars.len()).map(|bar| begin + column * bar as f64).collect(),
            width,
            with_stages,
        }
    }
}

/// Draws the table. Returns where it ends.
pub fn draw(canvas: &mut Canvas, frame: &Frame, bars: &[Bar<'_>], y: f64) -> f64 {
    let columns = Columns::new(frame, bars);
    let mut base = y + 16.0;
    canvas.write((MARGIN + SWATCH + GAP, base), MUTED, "bytes");
    for (index, end) in columns.ends.iter().enumerate() {
        bars::draw_badge(canvas, (end - 8.0, base - 4.0), index);
    }
    for (name, fill) in frame.parts.iter() {
        base += ROW;
        draw_swatch(canvas, base, &fill);
        write_name(canvas, base, name, INK);
        for (bar, end) in bars.iter().zip(&columns.ends) {
            write_part(canvas, &columns, bar.sheet, name, (*end, base));
        }
    }
    draw_rule(canvas, &columns, base + 6.0);
    base += 3.0;
    for sum in &SUMS {
        if bars.iter().all(|bar| (sum.number)(bar.sheet).is_none()) {
            continue;
        }
        base += ROW;
        draw_sign(canvas, base, &sum.sign);
        let ty = (sum.look)(INK);
        write_name(canvas, base, sum.name, ty);
        for (bar, end) in bars.iter().zip(&columns.ends) {
            write_number(canvas, ty, (sum.number)(bar.sheet), (*end, base));
        }
    }
    base
}

fn swatch(base: f64) -> Area {
    Area {
        x: MARGIN,
        y: base - 10.5,
        width: SWATCH,
        height: 13.0,
    }
}

fn draw_swatch(canvas: &mut Canvas, base: f64, fill: &str) {
    let attributes = format_args!("fill=\"{fill}\" stroke=\"#8c959f\" stroke-width=\"0.7\"");
    canvas.rect("tw-swatch", swatch(base), attributes);
}

fn draw_sign(canvas: &mut Canvas, base: f64, sign: &Sign) {
    let area = swatch(base);
    match sign {
        Sign::None => {}
        Sign::Pattern(fill) => draw_swatch(canvas, base, fill),
        Sign::Free => canvas.rect("tw-free", area, format_args!("{}", look::FREE)),
        Sign::OwnLimit => {
            let from = (area.x + SWATCH / 2.0, area.y - 1.0);
            let to = (from.0, area.y + area.height + 1.0);
            let attributes = format_args!("stroke=\"{}\" stroke-width=\"2.5\"", look::INK);
            canvas.line("tw-own", from, to, attributes);
        }
    }
}

fn write_name(canvas: &mut Canvas, base: f64, name: &str, ty: Type) {
    let name = text::cut(name, NAMES - 4.0, SIZE, ty.bold);
    canvas.write((MARGIN + SWATCH + GAP, base), ty, &name);
}

fn write_part(canvas: &mut Canvas, columns: &Columns, sheet: &Worksheet<dyn Subject>, name: &str, at: (f64, f64)) {
    let Some(component) = sheet.component(name) else {
        return write_number(canvas, INK, None, at);
    };
    write_number(canvas, INK, Some(component.bytes), at);
    if !columns.with_stages {
        return;
    }
    let note: Option<String> = match (component.per_stage, component.overlaid_bytes) {
        (Some(stage), 0) if stage > 0 => Some(format!("{} × {stage} =", component.bytes / stage)),
        (_, overlaid) if overlaid > 0 => Some(format!("{overlaid} over")),
        _ => None,
    };
    if let Some(note) = note {
        let ty = MUTED.anchor(Anchor::End);
        let note = text::cut(&note, STAGES, SMALL, false);
        canvas.write((at.0 - columns.width + 8.0, at.1), ty, &note);
    }
}

/// A number that ends at `at`, or a dash.
fn write_number(canvas: &mut Canvas, ty: Type, number: Option<u64>, at: (f64, f64)) {
    let Some(number) = number else {
        return canvas.write(at, MUTED.anchor(Anchor::End), "–");
    };
    canvas.write(at, ty.anchor(Anchor::End), &number.to_string());
}

fn draw_rule(canvas: &mut Canvas, columns: &Columns, y: f64) {
    let end = columns.ends.last().copied().unwrap_or(MARGIN);
    canvas.line(
        "tw-rule",
        (MARGIN, y),
        (end, y),
        format_args!("stroke=\"{}\" stroke-width=\"1\"", look::RULE),
    );
}
