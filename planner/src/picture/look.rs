//! Colours and patterns.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::Bar;

/// The background, the letters, what is less important, lines; what is over the budget. On a light page.
pub const PAGE: &str = "#ffffff";
pub const INK: &str = "#1f2328";
pub const MUTED: &str = "#57606a";
pub const RULE: &str = "#d0d7de";
pub const LIMIT: &str = "#57606a";
pub const OVER: &str = "#cf222e";
/// Letters on a part, whose colours are the same on light and dark pages.
pub const INK_ON_PART: &str = "#1f2328";

/// What changes on a dark page. Viewers without style sheets, and paper, have the light one.
pub const STYLE: &str = "@media screen and (prefers-color-scheme: dark) {\n\
    .tw .tw-page { fill: #0d1117; stroke: #3d444d }\n\
    .tw .tw-ink { fill: #e6edf3 }\n\
    .tw .tw-muted { fill: #9198a1 }\n\
    .tw .tw-haloed { stroke: #0d1117 }\n\
    .tw .tw-rule { stroke: #3d444d }\n\
    .tw .tw-grid { stroke: #262c36 }\n\
    .tw .tw-limit { stroke: #9198a1 }\n\
    .tw .tw-own { stroke: #e6edf3 }\n\
    .tw .tw-free { fill: #161b22; stroke: #57606a }\n\
    .tw .tw-badge { fill: #e6edf3 }\n\
    .tw .tw-number { fill: #0d1117 }\n\
    .tw .tw-over-text { fill: #ff7b72 }\n\
    .tw .tw-over { stroke: #ff7b72 }\n\
    .tw .tw-part, .tw .tw-reserve, .tw .tw-swatch { stroke: #0d1117 }\n\
    }";

/// How a kind of part looks.
pub struct Look {
    /// Its line of the worksheet.
    name: &'static str,
    /// What is written on it where the whole name is too long.
    pub short: &'static str,
    pub colour: &'static str,
    /// The pattern's lines.
    dark: &'static str,
    motif: Motif,
}

/// What a pattern repeats.
#[derive(Clone, Copy)]
enum Motif {
    Plain,
    Rising,
    Falling,
    Crossed,
    Dots,
    Rings,
    Horizontal,
    Vertical,
    Grid,
    Dashes,
    Zigzag,
}

const fn look(name: &'static str, short: &'static str, colour: &'static str, dark: &'static str, motif: Motif) -> Look {
    Look {
        name,
        short,
        colour,
        dark,
        motif,
    }
}

/// A and B have a colour each, and so have their scales, which differ by pattern.
static LOOKS: [Look; 11] = [
    look("operand A", "A", "#9ecbff", "#3b82d0", Motif::Plain),
    look("operand B", "B", "#ffc680", "#c46f00", Motif::Rising),
    look("scales of A", "sA", "#c9e2ff", "#1f6feb", Motif::Dots),
    look("scales of B", "sB", "#ffe1b8", "#b35900", Motif::Crossed),
    look("epilogue", "epi", "#a6dba0", "#3f8f46", Motif::Falling),
    look("accumulator", "acc", "#d2bff0", "#7a4fc4", Motif::Horizontal),
    look("barriers", "bar", "#f2e07a", "#8f7a00", Motif::Vertical),
    look("barriers, once", "bar", "#f7edb5", "#8f7a00", Motif::Dashes),
    look("scratch of warps", "scr", "#f6b8cf", "#b5386b", Motif::Grid),
    look("static part", "stat", "#c5ccd3", "#57606a", Motif::Rings),
    look("alignment padding", "pad", "#eceff2", "#8c959f", Motif::Zigzag),
];

/// For parts that the table does not know, one after the other: named buffers among them.
static OTHERS: [Look; 9] = [
    look("", "", "#b2e4e0", "#1b7f79", Motif::Rising),
    look("", "", "#e3d3bf", "#7d5a30", Motif::Dots),
    look("", "", "#cdd9a3", "#5e7313", Motif::Vertical),
    look("", "", "#9ecbff", "#3b82d0", Motif::Falling),
    look("", "", "#ffc680", "#c46f00", Motif::Grid),
    look("", "", "#d2bff0", "#7a4fc4", Motif::Rings),
    look("", "", "#f6b8cf", "#b5386b", Motif::Horizontal),
    look("", "", "#a6dba0", "#3f8f46", Motif::Crossed),
    look("", "", "#f2e07a", "#8f7a00", Motif::Zigzag),
];

/// The pattern for the system's own part.
pub const RESERVE: &str = "url(#tw-reserve)";
/// The pattern for what the user wants to be left free.
pub const MARGIN: &str = "url(#tw-margin)";
/// The attributes of what is free.
pub const FREE: &str = "fill=\"#f6f8fa\" stroke=\"#8c959f\" stroke-width=\"1\"";
/// The pattern over what is too much.
pub const TOO_MUCH: &str = "url(#tw-too-much)";

/// The parts of all bars in their order, each with its look.
pub struct Parts(Vec<(Cow<'static, str>, usize)>);

impl Parts {
    pub fn new(bars: &[Bar<'_>]) -> Self {
        let mut parts: Vec<(Cow<'static, str>, usize)> = Vec::new();
        let mut unknown = 0;
        for bar in bars {
            let mut after = 0;
            for component in &bar.sheet.components {
                let known = parts.iter().position(|(name, _)| *name == component.name);
                let at = known.unwrap_or(after);
                if known.is_none() {
                    let look = LOOKS.iter().position(|look| look.name == component.name);
                    let look = look.unwrap_or_else(|| {
                        unknown += 1;
                        LOOKS.len() + (unknown - 1) % OTHERS.len()
                    });
                    parts.insert(at, (component.name.clone(), look));
                }
                after = at + 1;
            }
        }
        Self(parts)
    }

    /// Every part and its [`fill`].
    pub fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.iter().map(|(name, look)| (&**name, fill(*look)))
    }

    /// How a part looks, and its [`fill`].
    pub fn look(&self, name: &str) -> (&'static Look, String) {
        let look = self
            .0
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(0, |(_, look)| *look);
        (LOOKS.iter().chain(&OTHERS).nth(look).unwrap_or(&LOOKS[0]), fill(look))
    }
}

/// The value of an attribute `fill`.
fn fill(look: usize) -> String {
    format!("url(#tw-p{look})")
}

/// The definitions of all patterns.
pub struct Patterns;

impl fmt::Display for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, look) in LOOKS.iter().chain(&OTHERS).enumerate() {
            let (size, drawing) = look.motif.drawing();
            write!(
                f,
                "<pattern id=\"tw-p{index}\" width=\"{size}\" height=\"{size}\" patternUnits=\"userSpaceOnUse\">\
                 <rect width=\"{size}\" height=\"{size}\" fill=\"{}\"/>",
                look.colour
            )?;
            if !drawing.is_empty() {
                write!(
                    f,
                    "<path d=\"{drawing}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1\" stroke-opacity=\"0.6\"/>",
                    look.dark
                )?;
            }
            f.write_str("</pattern>\n")?;
        }
        // Black or grey, so that they are what they are on any page.
        f.write_str(
            "<pattern id=\"tw-reserve\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"4\" height=\"4\" fill=\"#8c959f\"/><path d=\"M0 0L4 4M4 0L0 4\" stroke=\"#1f2328\" \
             stroke-width=\"0.8\"/></pattern>\n\
             <pattern id=\"tw-margin\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <path d=\"M-1 1L1 -1M0 6L6 0M5 7L7 5\" stroke=\"#8c959f\" stroke-width=\"1\"/></pattern>\n\
             <pattern id=\"tw-too-much\" width=\"10\" height=\"10\" patternUnits=\"userSpaceOnUse\">\
             <path d=\"M-1 1L1 -1M0 10L10 0M9 11L11 9\" stroke=\"#cf222e\" stroke-width=\"2.2\"/></pattern>\n",
        )
    }
}

impl Motif {
    /// The side of the square that repeats, and what is drawn in it.
    const fn drawing(self) -> (u32, &'static str) {
        match self {
            Motif::Plain => (8, ""),
            Motif::Rising => (7, "M-1 1L1 -1M0 7L7 0M6 8L8 6"),
            Motif::Falling => (7, "M-1 6L1 8M0 0L7 7M6 -1L8 1"),
            Motif::Crossed => (6, "M0 0L6 6M6 0L0 6"),
            Motif::Dots => (5, "M1.5 2.5h2M2.5 1.5v2"),
            Motif::Rings => (8, "M6 4A2 2 0 1 1 2 4A2 2 0 1 1 6 4"),
            Motif::Horizontal => (5, "M0 2.5H5"),
            Motif::Vertical => (5, "M2.5 0V5"),
            Motif::Grid => (6, "M0 3H6M3 0V6"),
            Motif::Dashes => (8, "M0 2H4M4 6H8"),
            Motif::Zigzag => (8, "M0 6L4 2L8 6"),
        }
    }
}
