//! A picture in SVG: one style for all, for light and dark, as wide as a telephone.

use std::fmt::Write as _;

/// The width of every picture, in its own units.
pub const WIDTH: f64 = 400.0;
/// What is free at the left and the right.
pub const MARGIN: f64 = 14.0;
/// The height of a line of text.
pub const LINE: f64 = 18.0;

/// The look. Classes of areas: `a` to `e` are the series, `bad` a fault, `idle` what waits, `line` a limit.
const STYLE: &str = "\
.card{fill:#fff;stroke:#d8dee6}\
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1d2733}\
.title{font-weight:600;font-size:14px}\
.soft{fill:#5a6775}\
.small{font-size:11px}\
.in{fill:#fff}\
.on-light{fill:#1d2733}\
.end{text-anchor:end}\
.mid{text-anchor:middle}\
.a{fill:#2f6fd0}.b{fill:#d9762b}.c{fill:#2f9165}.d{fill:#8558c9}.e{fill:#b8860b}\
.bad{fill:#c8344a}.idle{fill:#e7ebf0}.cell{fill:#f2f4f7;stroke:#d8dee6;stroke-width:.5}\
.line{stroke:#c8344a;stroke-width:1.5;stroke-dasharray:4 3;fill:none}\
.rule{stroke:#5a6775;stroke-width:1;fill:none}\
.arrow{stroke:#1d2733;stroke-width:1.5;fill:none}\
@media(prefers-color-scheme:dark){\
.card{fill:#141b24;stroke:#303b48}\
text{fill:#e4eaf1}.soft{fill:#9fb0c2}.in{fill:#fff}.on-light{fill:#e4eaf1}\
.a{fill:#3f7fe0}.b{fill:#c9691f}.c{fill:#2f9165}.d{fill:#8f66d0}.e{fill:#a97c10}\
.idle{fill:#2a3440}.cell{fill:#1d2631;stroke:#303b48}\
.rule{stroke:#9fb0c2}.arrow{stroke:#e4eaf1}}";

/// A picture under construction, from top to bottom.
pub struct Canvas {
    body: String,
    /// Where the next thing is drawn.
    pub y: f64,
}

impl Canvas {
    /// A picture with a title, which may take several lines.
    pub fn new(title: &str) -> Self {
        let mut canvas = Self {
            body: String::new(),
            y: 26.0,
        };
        for line in wrapped(title, 42) {
            canvas.text(MARGIN, canvas.y, "title", &line);
            canvas.y += LINE;
        }
        canvas
    }

    /// A text, its baseline at `y`.
    pub fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>"
        );
    }

    /// A paragraph in soft letters.
    pub fn note(&mut self, text: &str) {
        self.y += 4.0;
        for line in wrapped(text, 58) {
            self.text(MARGIN, self.y + 8.0, "soft small", &line);
            self.y += 15.0;
        }
    }

    /// A rectangle.
    pub fn area(&mut self, [x, y, width, height]: [f64; 4], class: &str) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\" class=\"{class}\"/>"
        );
    }

    /// A line.
    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str) {
        let _ = writeln!(
            self.body,
            "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" class=\"{class}\"/>"
        );
    }

    /// A legend: classes and what they stand for.
    pub fn legend(&mut self, entries: &[(&str, &str)]) {
        let mut x = MARGIN;
        self.y += 4.0;
        for (class, text) in entries {
            let width = 18.0 + 6.2 * text.chars().count() as f64 + 10.0;
            if x + width > WIDTH - MARGIN + 10.0 {
                x = MARGIN;
                self.y += LINE;
            }
            self.area([x, self.y, 12.0, 12.0], class);
            self.text(x + 17.0, self.y + 10.5, "small", text);
            x += width;
        }
        self.y += LINE + 4.0;
    }

    /// The picture, with a text for those who do not see it.
    pub fn svg(&self, text: &str) -> String {
        let height = self.y + 12.0;
        let (shown_width, shown_height) = (1.5 * WIDTH, 1.5 * height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{shown_width:.0}\" \
             height=\"{shown_height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
             <rect x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\" class=\"card\"/>\n{}</svg>\n",
            escaped(text),
            WIDTH - 1.0,
            height.round() - 1.0,
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Lines of at most so many characters.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > most {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[test]
fn a_picture_is_text_in_a_card() {
    let mut canvas = Canvas::new("a title that is so long that it must be broken into two lines");
    canvas.legend(&[("a", "one"), ("b", "two")]);
    canvas.note("x < y & z");
    let svg = canvas.svg("what it shows");
    assert_eq!(svg.matches("class=\"title\"").count(), 2);
    assert!(
        svg.contains("x &lt; y &amp; z") && svg.contains("<title>what it shows</title>"),
        "{svg}"
    );
}
