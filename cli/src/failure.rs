//! How a command ends when it does not succeed, and the one route on which that is told.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use tilewright::Error;

use crate::exit::Exit;

/// What a command could not do.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// One line with the numbers.
    pub message: String,
    /// Whether standard output already holds a result that says so.
    is_reported: bool,
}

/// The result of a command or a step of one.
pub type Result<T> = std::result::Result<T, Failure>;

/// What `--json` prints of a failure.
#[derive(Serialize)]
struct Printed<'f> {
    error: PrintedError<'f>,
}

#[derive(Serialize)]
struct PrintedError<'f> {
    kind: Exit,
    message: &'f str,
    exit_code: u8,
}

impl Failure {
    /// A failure with this end.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            is_reported: false,
        }
    }

    /// An input that cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(Exit::Input, message)
    }

    /// Something that this machine or its system could not do.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(Exit::Environment, message)
    }

    /// Something about a file that the user named.
    pub fn file(path: &Path, problem: impl Display) -> Self {
        Self::input(format!("{}: {problem}", path.display()))
    }

    /// The same, of a command that has printed its result: JSON of its own does not follow.
    pub fn reported(self) -> Self {
        Self {
            is_reported: true,
            ..self
        }
    }

    /// Tells of it: one line on standard error, and with `json` an object on standard output.
    pub fn tell(&self, json: bool) -> ExitCode {
        let line = self.line();
        if json && !self.is_reported {
            print_error(self.exit, &line);
        }
        // Where standard error is closed, the exit code still tells.
        let _ = writeln!(std::io::stderr(), "error: {line}");
        ExitCode::from(self.exit.code())
    }

    /// The message on one line whatever it is made of: a file's name may contain a line break.
    fn line(&self) -> String {
        one_line(&self.message)
    }
}

/// Tells what clap says of arguments that it refuses, or of those that ask for help.
pub fn tell_usage(error: &clap::Error, json: bool) -> ExitCode {
    let exit = if error.use_stderr() { Exit::Input } else { Exit::Success };
    if json && exit != Exit::Success {
        let text = error.to_string();
        // Up to the hint on usage.
        let message = text.split("\n\n").next().unwrap_or_default();
        print_error(exit, &one_line(message.trim_start_matches("error: ")));
    }
    let _ = error.print();
    ExitCode::from(exit.code())
}

fn print_error(exit: Exit, message: &str) {
    let error = PrintedError {
        kind: exit,
        message,
        exit_code: exit.code(),
    };
    if let Ok(text) = serde_json::to_string_pretty(&Printed { error }) {
        // Where standard output is closed, the exit code still tells.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.kind().into(), error.to_string())
    }
}
