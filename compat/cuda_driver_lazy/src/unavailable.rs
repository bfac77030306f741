//! The error of a process without a usable driver.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// There is no CUDA driver in this process: what was looked for and why each attempt failed.
///
/// Its `Display` is one line, meant for the user of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unavailable {
    /// The names or paths that were tried, in this order. Empty where this crate knows no driver for the target.
    pub looked_for: Vec<PathBuf>,
    /// What the system's loader (or the check of what it loaded) said about each of them, on one line.
    pub reason: String,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no CUDA driver")?;
        for (position, name) in self.looked_for.iter().enumerate() {
            let lead = if position == 0 { ": looked for" } else { "," };
            write!(f, "{lead} {}", name.display())?;
        }
        if self.looked_for.is_empty() {
            write!(f, ": {}", self.reason)
        } else {
            write!(f, " ({})", self.reason)
        }
    }
}

impl Error for Unavailable {}

#[cfg(test)]
mod tests {
    use super::Unavailable;

    #[test]
    fn display_is_one_line_with_names_and_reason() {
        let error = Unavailable {
            looked_for: vec!["libcuda.so.1".into(), "libcuda.so".into()],
            reason: "no such file".into(),
        };
        assert_eq!(
            error.to_string(),
            "no CUDA driver: looked for libcuda.so.1, libcuda.so (no such file)"
        );
    }

    #[test]
    fn display_without_names_gives_the_reason() {
        let error = Unavailable {
            looked_for: Vec::new(),
            reason: "unknown target".into(),
        };
        assert_eq!(error.to_string(), "no CUDA driver: unknown target");
    }
}
