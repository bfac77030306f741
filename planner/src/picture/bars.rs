//! One bar: what a block takes, part by part.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::canvas::{Anchor, Area, Canvas, Type};
use super::frame::{Frame, MARGIN};
use super::text::{self, Kib, SIZE, SMALL};
use super::{Bar, look};
use crate::layout::Component;
use crate::worksheet::{Subject, Worksheet};
use look::Look;

const HEIGHT: f64 = 28.0;
/// Two lines of text above the bar.
const ABOVE: f64 = 38.0;
const BELOW: f64 = 18.0;
/// The strip at a bar's bottom for what lies over the operands' buffers.
const STRIP: f64 = 7.0;
const BADGE: f64 = 8.0;

/// Draws a bar and what stands above it. Returns where the next begins.
pub fn draw(canvas: &mut Canvas, frame: &Frame, index: usize, bar: &Bar<'_>, y: f64) -> f64 {
    let sheet = bar.sheet;
    write_above(canvas, frame, index, bar, y);
    let area = Area {
        x: MARGIN,
        y: y + ABOVE,
        width: frame.right() - MARGIN,
        height: HEIGHT,
    };
    let usable = sheet.limit_bytes.saturating_sub(sheet.margin_bytes);
    draw_free(canvas, frame, sheet, usable, area);
    let texts = draw_parts(canvas, frame, sheet, usable, area);
    frame.draw_limit_marks(canvas, sheet.total_bytes, area);
    draw_own_limit(canvas, frame.x(sheet.limit_bytes), area, sheet.limit_bytes);
    canvas.append(&texts);
    y + ABOVE + HEIGHT + BELOW
}

/// The limit of the bar's own architecture.
pub fn draw_own_limit(canvas: &mut Canvas, x: f64, bar: Area, limit_bytes: u64) {
    canvas.line(
        "tw-own",
        (x, bar.y - 5.0),
        (x, bar.y + bar.height + 5.0),
        format_args!(
            "data-bytes=\"{limit_bytes}\" stroke=\"{}\" stroke-width=\"2.5\"",
            look::INK
        ),
    );
}

/// Whether a worksheet fits, in one line: `181248 B of 101376 B: over by 79872 B`.
pub fn verdict<T: ?Sized>(sheet: &Worksheet<T>) -> String {
    let limit = match sheet.margin_bytes {
        0 => format!("{} B", sheet.limit_bytes),
        margin => format!("{} B less {margin} B", sheet.limit_bytes),
    };
    format!("{} B of {limit}: {}", sheet.total_bytes, short_verdict(sheet))
}

fn short_verdict<T: ?Sized>(sheet: &Worksheet<T>) -> String {
    if sheet.fits {
        format!("fits, {} B left", sheet.left_bytes)
    } else {
        format!("over by {} B", sheet.over_by_bytes)
    }
}

/// Number, label and verdict; below them what the bar is the worksheet of.
fn write_above(canvas: &mut Canvas, frame: &Frame, index: usize, bar: &Bar<'_>, y: f64) {
    let base = y + 14.0;
    draw_badge(canvas, (MARGIN + BADGE, base - 4.0), index);
    let begin = MARGIN + 2.0 * BADGE + 6.0;
    let room = frame.right() - begin;
    let label_width = text::width(bar.label, SIZE, true).min(room / 2.0);
    let verdict = [verdict(bar.sheet), short_verdict(bar.sheet)]
        .into_iter()
        .find(|words| text::width(words, SIZE, true) <= room - label_width - 10.0)
        .unwrap_or_else(|| text::cut(&short_verdict(bar.sheet), room / 2.0, SIZE, true));
    let verdict_type = match bar.sheet.fits {
        true => Type::new("tw-ink tw-haloed", look::INK),
        false => Type::new("tw-over-text tw-haloed", look::OVER).bold(),
    };
    let label_room = room - text::width(&verdict, SIZE, true) - 10.0;
    let label = text::cut(bar.label, label_room, SIZE, true);
    let label_type = Type::new("tw-ink tw-haloed", look::INK).bold();
    canvas.write((begin, base), label_type.halo(look::PAGE), &label);
    canvas.write(
        (frame.right(), base),
        verdict_type.anchor(Anchor::End).halo(look::PAGE),
        &verdict,
    );
    let details = text::cut(&details(bar.sheet), room, SMALL, false);
    let muted = Type::new("tw-muted tw-haloed", look::MUTED).size(SMALL);
    canvas.write((begin, base + 15.0), muted.halo(look::PAGE), &details);
}

/// The number of a bar, by which the table refers to it.
pub fn draw_badge(canvas: &mut Canvas, (x, y): (f64, f64), index: usize) {
    canvas.rect(
        "tw-badge",
        Area {
            x: x - BADGE,
            y: y - BADGE,
            width: 2.0 * BADGE,
            height: 2.0 * BADGE,
        },
        format_args!("rx=\"{BADGE}\" fill=\"{}\"", look::INK),
    );
    let ty = Type::new("tw-number", look::PAGE)
        .size(SMALL)
        .bold()
        .anchor(Anchor::Middle);
    canvas.write((x, y + 4.0), ty, &(index + 1).to_string());
}

fn details(sheet: &Worksheet<dyn Subject>) -> String {
    format!("{} · {}", sheet.arch, sheet.template.caption())
}

/// What there is, and of it the margin that the user wants.
fn draw_free(canvas: &mut Canvas, frame: &Frame, sheet: &Worksheet<dyn Subject>, usable: u64, area: Area) {
    let reserve = frame.reserve(sheet.reserved_bytes, area);
    canvas.titled_rect(
        "tw-reserve",
        reserve,
        format_args!("data-bytes=\"{}\" fill=\"{}\"", sheet.reserved_bytes, look::RESERVE),
        &format!("reserved by the system, besides the limit: {} B", sheet.reserved_bytes),
    );
    canvas.rect(
        "tw-free",
        frame.stretch(0, sheet.limit_bytes, area),
        format_args!("data-bytes=\"{}\" {}", sheet.limit_bytes, look::FREE),
    );
    if sheet.margin_bytes > 0 {
        canvas.titled_rect(
            "tw-margin",
            frame.stretch(usable, sheet.limit_bytes, area),
            format_args!("data-bytes=\"{}\" fill=\"{}\"", sheet.margin_bytes, look::MARGIN),
            &format!("margin: {} B", sheet.margin_bytes),
        );
    }
}

/// Draws what is taken. Returns the names, which go over everything else.
fn draw_parts(canvas: &mut Canvas, frame: &Frame, sheet: &Worksheet<dyn Subject>, usable: u64, area: Area) -> Canvas {
    let mut begin = 0;
    // Where parts are in memory, and where they are drawn: padding is drawn last.
    let mut drawn: Vec<(u64, u64)> = Vec::new();
    // A bar that goes on beyond the scale says so at its end.
    let going_on = frame
        .is_beyond(sheet.total_bytes)
        .then(|| format!("… up to {}", Kib(sheet.total_bytes)));
    let last = match &going_on {
        Some(words) => frame.right() - text::width(words, SMALL, true) - 16.0,
        None => frame.right(),
    };
    let mut texts = Canvas::default();
    let mut strips = Canvas::default();
    for component in &sheet.components {
        let (look, fill) = frame.parts.look(&component.name);
        let end = begin + component.bytes;
        let part = frame.stretch(begin, end, area);
        if component.bytes > 0 {
            canvas.titled_rect(
                "tw-part",
                part,
                format_args!(
                    "data-name=\"{}\" data-bytes=\"{}\" fill=\"{fill}\" stroke=\"#ffffff\" stroke-width=\"0.7\"",
                    text::Escaped(&component.name),
                    component.bytes
                ),
                &explain(component),
            );
            draw_stages(canvas, frame, component, begin, area);
            let pieces = [(begin, usable.min(end)), (usable.max(begin), end)];
            let pieces = pieces.map(|(from, to)| frame.stretch(from, to.max(from), area));
            write_on(&mut texts, component, look, pieces, last);
        }
        if component.overlaid_bytes > 0 {
            let below = drawn.iter().rev().find(|(offset, _)| *offset <= component.offset);
            let over = below.map_or(0, |(offset, begin)| begin + (component.offset - offset));
            let strip = Area {
                y: area.y + area.height - STRIP,
                height: STRIP,
                ..frame.stretch(over, over + component.overlaid_bytes, area)
            };
            strips.titled_rect(
                "tw-over-operands",
                strip,
                format_args!(
                    "data-name=\"{}\" data-bytes=\"{}\" fill=\"{fill}\" stroke=\"#1f2328\" stroke-width=\"1\"",
                    text::Escaped(&component.name),
                    component.overlaid_bytes
                ),
                &format!("{}: {} B over other parts", component.name, component.overlaid_bytes),
            );
        }
        drawn.push((component.offset, begin));
        begin = end;
    }
    canvas.append(&strips);
    if sheet.over_by_bytes > 0 {
        canvas.titled_rect(
            "tw-over",
            frame.stretch(usable, sheet.total_bytes, area),
            format_args!(
                "data-bytes=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"2\"",
                sheet.over_by_bytes,
                look::TOO_MUCH,
                look::OVER
            ),
            &format!("over by {} B", sheet.over_by_bytes),
        );
    }
    if let Some(words) = going_on {
        write_break(&mut texts, &words, last, area);
    }
    texts
}

/// Lines between stages, where they do not run together.
fn draw_stages(canvas: &mut Canvas, frame: &Frame, component: &Component, begin: u64, area: Area) {
    let Some(per_stage) = component.per_stage.filter(|bytes| frame.pixels(*bytes) >= 4.0) else {
        return;
    };
    let end = begin + component.bytes;
    let mut at = begin + per_stage;
    while at < end && !frame.is_beyond(at) {
        let x = frame.x(at);
        canvas.line(
            "tw-stage",
            (x, area.y),
            (x, area.y + area.height),
            format_args!("stroke=\"#1f2328\" stroke-width=\"0.8\" stroke-opacity=\"0.55\""),
        );
        at += per_stage;
    }
}

/// The name on the wider of two pieces, within and over the budget, with as much beside it as there is room for;
/// nothing reaches beyond `last`.
fn write_on(canvas: &mut Canvas, component: &Component, look: &Look, pieces: [Area; 2], last: f64) {
    let [within, over] = pieces.map(|piece| Area {
        width: (last - piece.x).clamp(0.0, piece.width),
        ..piece
    });
    let is_over = over.width > within.width;
    let part = if is_over { over } else { within };
    let candidates = [
        format!("{} {}", component.name, Kib(component.bytes)),
        component.name.to_string(),
        look.short.to_string(),
    ];
    let Some(words) = candidates
        .into_iter()
        .find(|words| !words.is_empty() && text::width(words, SMALL, true) + 8.0 <= part.width)
    else {
        return;
    };
    let width = text::width(&words, SMALL, true) + 4.0;
    let middle = part.x + part.width / 2.0;
    if is_over {
        // Letters over the heavy pattern need ground of their own.
        let plate = Area {
            x: middle - width / 2.0,
            width,
            y: part.y + 6.0,
            height: part.height - 12.0,
        };
        canvas.rect("tw-plate", plate, format_args!("rx=\"3\" fill=\"{}\"", look.colour));
    }
    let ty = on_part();
    let ty = if is_over { ty } else { ty.halo(look.colour) };
    canvas.write((middle, part.y + part.height / 2.0 + 4.0), ty, &words);
}

fn on_part() -> Type {
    Type::new("tw-on-part", look::INK_ON_PART)
        .size(SMALL)
        .bold()
        .anchor(Anchor::Middle)
}

fn write_break(canvas: &mut Canvas, words: &str, last: f64, area: Area) {
    let plate = Area {
        x: last + 4.0,
        width: area.x + area.width - last - 4.0,
        y: area.y + 5.0,
        height: area.height - 10.0,
    };
    let attributes = format_args!("rx=\"3\" fill=\"#ffffff\" stroke=\"{}\"", look::OVER);
    canvas.rect("tw-plate", plate, attributes);
    let at = (plate.x + plate.width / 2.0, area.y + area.height / 2.0 + 4.0);
    canvas.write(at, on_part(), words);
}

/// `operand A: 16384 B = 4 × 4096 B`.
fn explain(component: &Component) -> String {
    match component.per_stage {
        Some(stage) if stage > 0 && component.overlaid_bytes == 0 => format!(
            "{}: {} B = {} × {stage} B",
            component.name,
            component.bytes,
            component.bytes / stage
        ),
        _ => format!("{}: {} B", component.name, component.bytes),
    }
}
