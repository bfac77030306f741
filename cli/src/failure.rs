//! How a command ends when it does not succeed.

use std::fmt::Display;
use std::path::Path;

use tilewright::Error;

/// What a command could not do, and the code that the program ends with.
#[derive(Debug)]
pub struct Failure {
    /// 2 bad input, 3 nothing available to run on, 4 mismatch or fault, 1 anything else.
    pub exit_code: u8,
    /// One line with the numbers.
    pub message: String,
}

/// The result of a command or a step of one.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// An input that cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self {
            exit_code: 2,
            message: message.into(),
        }
    }

    /// Something about a file that the user named.
    pub fn file(path: &Path, problem: impl Display) -> Self {
        Self::input(format!("{}: {problem}", path.display()))
    }

    /// The message on one line whatever it is made of: a file's name may contain a line break.
    pub fn line(&self) -> String {
        self.message
            .split(['\n', '\r'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            exit_code: error.exit_code(),
            message: error.to_string(),
        }
    }
}
