//! Elements of an SVG, written one after the other.

use alloc::string::String;
use core::fmt::{self, Write};

use super::text::{Escaped, SIZE};

/// What was drawn.
#[derive(Default)]
pub struct Canvas(String);

/// A rectangle; coordinates in pixels.
#[derive(Clone, Copy)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// How a text is set.
#[derive(Clone, Copy)]
pub struct Type {
    /// The class, by which the style sheet finds it.
    pub class: &'static str,
    /// The colour on a light page.
    pub fill: &'static str,
    /// The height of letters.
    pub size: f64,
    pub bold: bool,
    pub anchor: Anchor,
    /// The colour around the letters, where they lie over lines or patterns.
    pub halo: Option<&'static str>,
}

/// What of a text its position means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Type {
    pub const fn new(class: &'static str, fill: &'static str) -> Self {
        Self {
            class,
            fill,
            size: SIZE,
            bold: false,
            anchor: Anchor::Start,
            halo: None,
        }
    }

    pub const fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub const fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    pub const fn halo(self, colour: &'static str) -> Self {
        Self {
            halo: Some(colour),
            ..self
        }
    }
}

// Writing to a `String` cannot fail: results of `write!` are passed over.
impl Canvas {
    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn append(&mut self, other: &Canvas) {
        self.0.push_str(&other.0);
    }

    /// A rectangle. `attributes` go in as they are.
    pub fn rect(&mut self, class: &str, area: Area, attributes: fmt::Arguments<'_>) {
        self.open_rect(class, area, attributes);
        self.0.push_str("/>\n");
    }

    /// A rectangle that says what it is when it is pointed at.
    pub fn titled_rect(&mut self, class: &str, area: Area, attributes: fmt::Arguments<'_>, title: &str) {
        self.open_rect(class, area, attributes);
        let _ = writeln!(self.0, "><title>{}</title></rect>", Escaped(title));
    }

    fn open_rect(&mut self, class: &str, area: Area, attributes: fmt::Arguments<'_>) {
        let _ = write!(
            self.0,
            "<rect class=\"{class}\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" {attributes}",
            area.x, area.y, area.width, area.height
        );
    }

    /// A line from `from` to `to`.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64), attributes: fmt::Arguments<'_>) {
        let _ = writeln!(
            self.0,
            "<line class=\"{class}\" x1=\"{:.2}\" y1=\"{:.2}\" x2=\"{:.2}\" y2=\"{:.2}\" {attributes}/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// A text whose base line begins, ends or has its middle at `(x, y)`.
    pub fn write(&mut self, (x, y): (f64, f64), ty: Type, text: &str) {
        let _ = write!(
            self.0,
            "<text class=\"{}\" x=\"{x:.2}\" y=\"{y:.2}\" fill=\"{}\"",
            ty.class, ty.fill
        );
        if ty.size != SIZE {
            let _ = write!(self.0, " font-size=\"{}\"", ty.size);
        }
        if ty.bold {
            self.0.push_str(" font-weight=\"600\"");
        }
        self.0.push_str(match ty.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        });
        if let Some(halo) = ty.halo {
            let _ = write!(
                self.0,
                " paint-order=\"stroke\" stroke=\"{halo}\" stroke-width=\"3\" stroke-linejoin=\"round\""
            );
        }
        let _ = writeln!(self.0, ">{}</text>", Escaped(text));
    }
}
