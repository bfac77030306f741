//! Results as text: JSON for programs, tables, Markdown and pictures for people.

mod json;
mod markdown;
mod plot;
mod table;

pub use json::{json, rows_on_lines};
pub use markdown::markdown;
pub use plot::plots;
pub use table::{Table, summary, table};
