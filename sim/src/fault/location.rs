//! Places in the source, and in a stream of launches.

use std::fmt;
use std::panic::Location;
use std::path::Path;

use serde::Serialize;

/// A source location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SourceLocation {
    /// The file's path, as passed to the compiler.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&'static Location<'static>> for SourceLocation {
    fn from(location: &'static Location<'static>) -> Self {
        Self {
            file: location.file(),
            line: location.line(),
            column: location.column(),
        }
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One of the launches of a [`Stream`](crate::Stream).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchName {
    /// Its number in the stream, from 1.
    pub number: u32,
    /// Its name ([`Launch::named`](crate::Launch::named)), if it has one.
    pub name: Option<String>,
}

impl fmt::Display for LaunchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch {}", self.number)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " `{name}`"))
    }
}

/// A function call in user code, from the program's debug information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackFrame {
    /// The function's path.
    pub function: String,
    /// The line of the call, or, in the innermost frame, of the fault.
    pub location: SourceLocation,
}

impl StackFrame {
    /// Makes the frames' paths relative like that of `location`, which one of them has in full.
    pub(crate) fn shorten_paths(frames: &mut [StackFrame], location: &SourceLocation) {
        let in_full = frames
            .iter()
            .find(|frame| Path::new(frame.location.file).ends_with(location.file));
        let Some(root) = in_full.and_then(|frame| frame.location.file.strip_suffix(location.file)) else {
            return;
        };
        for frame in frames {
            frame.location.file = frame.location.file.strip_prefix(root).unwrap_or(frame.location.file);
        }
    }
}
