//! Worksheets as a picture: what each CTA takes, part by part, against the limits of the architectures.
//!
//! The picture is an SVG that stands alone: in a page, in a README, on paper. Parts differ by colour and by pattern, so
//! that it can be read in black and white too, and the bytes stand in a table below the bars. Colours of the page's
//! text and background follow the reader's light or dark setting where the viewer knows about it, and are those of a
//! light page elsewhere.

mod bars;
mod canvas;
mod frame;
mod look;
mod table;
#[cfg(test)]
mod tests;
mod text;

use alloc::string::String;
use core::fmt::Write;

use crate::worksheet::{Subject, Worksheet};
pub use bars::verdict;
use canvas::Canvas;
use frame::Frame;

/// One bar of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Bar<'a> {
    /// What it shows, in a few words: "as asked". What does not fit beside the verdict is cut off.
    pub label: &'a str,
    /// The worksheet, of whatever kernel.
    pub sheet: &'a Worksheet<dyn Subject>,
}

/// The width of a picture where nothing is said about it, in pixels: an A4 page or a README.
pub const USUAL_WIDTH: u32 = 960;

/// Draws a picture of [`USUAL_WIDTH`].
pub fn svg(bars: &[Bar<'_>]) -> String {
    svg_of_width(bars, USUAL_WIDTH)
}

/// Draws a picture that is `width` pixels wide, or as wide as the table of its bytes needs.
///
/// The bars are numbered from 1, from top to bottom. The picture is made for eight at most; more are drawn too, on a
/// picture that is wider than a page.
pub fn svg_of_width(bars: &[Bar<'_>], width: u32) -> String {
    let frame = Frame::new(bars, width);
    let mut canvas = Canvas::default();
    let mut y = frame.draw_limits(&mut canvas);
    let bars_begin = y;
    let mut rows = Canvas::default();
    for (index, bar) in bars.iter().enumerate() {
        y = bars::draw(&mut rows, &frame, index, bar, y);
    }
    // Lines first: the bars lie over them.
    frame.draw_grid(&mut canvas, bars_begin, y);
    canvas.append(&rows);
    y = frame.draw_axis(&mut canvas, y);
    y = table::draw(&mut canvas, &frame, bars, y);
    whole(bars, &frame, y, canvas.text())
}

/// The document around what was drawn.
fn whole(bars: &[Bar<'_>], frame: &Frame, height: f64, content: &str) -> String {
    let (width, height) = (frame.width, height + frame::MARGIN);
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tw\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"tw-title tw-desc\" \
         font-family=\"ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"{size}\">\n\
         <title id=\"tw-title\">Shared memory of a block against the limits of the architectures</title>\n<desc \
         id=\"tw-desc\">",
        size = text::SIZE,
    );
    for (index, Bar { label, sheet }) in bars.iter().enumerate() {
        let _ = write!(
            out,
            "{}{}. {}, {}: {}.",
            if index == 0 { "" } else { " " },
            index + 1,
            text::Escaped(label),
            sheet.arch,
            bars::verdict(sheet)
        );
    }
    let _ = write!(
        out,
        "</desc>\n<style>{style}</style>\n<defs>\n{patterns}</defs>\n\
         <rect class=\"tw-page\" x=\"0.5\" y=\"0.5\" width=\"{w:.0}\" height=\"{h:.0}\" rx=\"8\" fill=\"{page}\" \
         stroke=\"{rule}\"/>\n\
         {content}</svg>\n",
        style = look::STYLE,
        patterns = look::Patterns,
        w = width - 1.0,
        h = height - 1.0,
        page = look::PAGE,
        rule = look::RULE,
    );
    out
}
