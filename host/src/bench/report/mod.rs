//! Results as text: JSON for programs, Markdown and pictures for people.

mod json;
mod markdown;
mod plot;

pub use json::{json, rows_on_lines};
pub use markdown::markdown;
pub use plot::plots;
