//! The kinds of pictures: bars, budgets, banks, strips of memory, timelines.

use crate::canvas::{Canvas, LINE, MARGIN, WIDTH};

/// The width of a bar of the largest value.
const FULL: f64 = WIDTH - 2.0 * MARGIN;

/// A bar: its label, its value, the value as text, its class.
pub struct Bar {
    pub label: String,
    pub value: f64,
    pub shown: String,
    pub class: &'static str,
}

/// Bars below their labels, on a common scale.
pub fn bars(canvas: &mut Canvas, bars: &[Bar]) {
    let most = bars
        .iter()
        .map(|bar| bar.value)
        .fold(0.0, f64::max)
        .max(f64::MIN_POSITIVE);
    for bar in bars {
        canvas.text(MARGIN, canvas.y + 9.0, "", &bar.label);
        canvas.text(WIDTH - MARGIN, canvas.y + 9.0, "end soft", &bar.shown);
        canvas.area([MARGIN, canvas.y + 14.0, FULL, 11.0], "idle");
        canvas.area(
            [MARGIN, canvas.y + 14.0, (FULL * bar.value / most).max(1.0), 11.0],
            bar.class,
        );
        canvas.y += 37.0;
    }
    canvas.y -= 4.0;
}

/// A bar of parts: a label, the parts by class and bytes, and what is said of the sum.
pub struct Budget {
    pub label: String,
    pub parts: Vec<(&'static str, u64)>,
    pub shown: String,
}

/// Bars of bytes against a limit.
pub fn budgets(canvas: &mut Canvas, budgets: &[Budget], limit: (u64, &str), most: u64) {
    let scale = FULL / most as f64;
    let at = MARGIN + limit.0 as f64 * scale;
    let top = canvas.y + 2.0;
    canvas.text(at.min(WIDTH - 90.0), canvas.y + 9.0, "small soft", limit.1);
    canvas.y += 16.0;
    for budget in budgets {
        canvas.text(MARGIN, canvas.y + 9.0, "", &budget.label);
        canvas.text(WIDTH - MARGIN, canvas.y + 9.0, "end soft", &budget.shown);
        let mut x = MARGIN;
        for (class, bytes) in &budget.parts {
            let width = *bytes as f64 * scale;
            canvas.area([x, canvas.y + 14.0, width.max(0.6), 14.0], class);
            x += width;
        }
        canvas.y += 41.0;
    }
    canvas.line([at, top + 12.0, at, canvas.y - 8.0], "line");
}

/// One wavefront or several: the 32 banks of shared memory, and rows of 128 bytes. `word` is the class of a word and a
/// text, where it is accessed.
pub fn banks(canvas: &mut Canvas, rows: usize, word: impl Fn(usize) -> Option<(&'static str, String)>) {
    const SIDE: f64 = (WIDTH - 2.0 * MARGIN) / 32.0;
    for bank in [0, 8, 16, 24, 31] {
        let x = MARGIN + SIDE * (bank as f64 + 0.5);
        canvas.text(x, canvas.y + 9.0, "small soft mid", &bank.to_string());
    }
    canvas.y += 13.0;
    for row in 0..rows {
        for bank in 0..32 {
            let at = [MARGIN + SIDE * bank as f64, canvas.y, SIDE - 0.6, SIDE - 0.6];
            match word(row * 32 + bank) {
                Some((class, text)) => {
                    canvas.area(at, class);
                    if !text.is_empty() {
                        canvas.text(at[0] + SIDE / 2.0 - 0.3, at[1] + 8.8, "small in mid", &text);
                    }
                }
                None => canvas.area(at, "cell"),
            }
        }
        canvas.y += SIDE;
    }
    canvas.y += 8.0;
}

/// Something that a lane of a timeline does: from, to, class, text.
pub type Span = (f64, f64, &'static str, String);

/// Lanes over a common time.
pub fn timeline(canvas: &mut Canvas, lanes: &[(&str, Vec<Span>)], end: f64) {
    let scale = FULL / end;
    for (name, spans) in lanes {
        canvas.text(MARGIN, canvas.y + 10.0, "", name);
        canvas.y += 15.0;
        canvas.area([MARGIN, canvas.y, FULL, 20.0], "idle");
        for (from, to, class, text) in spans {
            let x = MARGIN + from * scale;
            let width = (to - from) * scale;
            canvas.area([x, canvas.y, (width - 1.0).max(1.0), 20.0], class);
            if 6.4 * text.chars().count() as f64 <= width {
                canvas.text(x + width / 2.0, canvas.y + 14.5, "small in mid", text);
            }
        }
        canvas.y += 30.0;
    }
}

/// A strip of memory of `bytes`, with marks below it: where, class of the mark, text.
pub fn strip(canvas: &mut Canvas, bytes: u64, areas: &[(u64, u64, &'static str, &str)], marks: &[(u64, &str)]) {
    let scale = FULL / bytes as f64;
    canvas.area([MARGIN, canvas.y, FULL, 26.0], "idle");
    for &(from, to, class, text) in areas {
        let (x, width) = (MARGIN + from as f64 * scale, (to - from) as f64 * scale);
        canvas.area([x, canvas.y, width, 26.0], class);
        let (class, at) = if class == "idle" {
            ("small mid on-light", 17.0)
        } else {
            ("small mid in", 17.0)
        };
        canvas.text(x + width / 2.0, canvas.y + at, class, text);
    }
    canvas.y += 26.0;
    for &(at, text) in marks {
        let x = MARGIN + at as f64 * scale;
        canvas.line([x, canvas.y, x, canvas.y + 8.0], "rule");
        let (class, x) = match at as f64 / bytes as f64 {
            share if share < 0.1 => ("small soft", x),
            share if share > 0.85 => ("small soft end", x),
            _ => ("small soft mid", x),
        };
        canvas.text(x, canvas.y + 19.0, class, text);
    }
    canvas.y += 26.0 + LINE / 2.0;
}
