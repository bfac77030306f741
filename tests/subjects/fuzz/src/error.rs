//! What keeps a comparison from being made.

use std::path::{Path, PathBuf};

/// A comparison could not be made. A program that fails is no error but a finding.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a process.
    #[error("{path}: {source}")]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// rustc refuses the text around the programs.
    #[error("rustc refuses the reference:\n{0}")]
    Rustc(String),
    /// The executable of the reference ended in the middle.
    #[error("the reference failed:\n{0}")]
    Reference(String),
    /// An option that is not known.
    #[error("{0}")]
    Option(String),
}

/// For `map_err`: an error about a path.
pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |source| Error::Io {
        path: path.to_owned(),
        source,
    }
}
