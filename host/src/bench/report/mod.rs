//! Results as text: JSON for programs, Markdown for people.

mod json;
mod markdown;

pub use json::json;
pub use markdown::markdown;
