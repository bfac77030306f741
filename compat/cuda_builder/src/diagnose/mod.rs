//! Errors in words: which Rust item, why it cannot become PTX, and what to write instead.
//!
//! The checks name items by their symbols. Only once a build has failed does [`explain`] turn symbols into paths
//! and look for the lines.

mod asm;
mod features;
mod linked;
mod opcodes;
pub(crate) mod package;
mod place;
mod ptx_text;
mod ptxas;
mod rustc;
mod tool;

pub(crate) use self::ptxas::PTXAS_VARIABLE;

use std::fmt;
use std::path::Path;

use crate::backend::demangle;
use crate::compile::Compiled;
use crate::error::CudaBuilderError;
use crate::toolchain::Toolchain;

pub(crate) use linked::check as check_linked;
pub(crate) use ptx_text::check as check_ptx;
pub(crate) use ptxas::assemble;
pub(crate) use rustc::{Hints, in_color, message_format};

/// What is wrong with a GPU crate, with the items that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// What is wrong and why the GPU or PTX does not allow it.
    pub reason: String,
    /// The Rust items, most important first.
    pub items: Vec<RustItem>,
    /// What to write or do instead.
    pub remedy: String,
    /// What stands on the line that is to blame, and what that line is called.
    sought: Option<(&'static str, String)>,
}

/// A function or static of a GPU crate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RustItem {
    /// The path, such as `kernels::solver::step`; a kernel's is its name.
    pub path: String,
    /// `src/solver.rs:12`, where the sources hold exactly one item that it can be.
    pub place: Option<String>,
}

impl RustItem {
    /// An item by its symbol; [`explain`] adds the place.
    pub(crate) fn new(symbol: &str) -> Self {
        Self {
            path: demangle(symbol),
            place: None,
        }
    }
}

impl Diagnosis {
    /// A diagnosis of the items with these symbols.
    pub(crate) fn new<'a>(
        symbols: impl IntoIterator<Item = &'a str>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            reason: reason.into(),
            items: symbols.into_iter().map(RustItem::new).collect(),
            remedy: remedy.into(),
            sought: None,
        }
    }

    /// Names the line of the sources that holds `text`, if only one does, as `item`.
    pub(crate) fn written_as(mut self, item: &'static str, text: impl Into<String>) -> Self {
        self.sought = Some((item, text.into()));
        self
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        for item in &self.items {
            write!(f, "\n  --> {}", item.path)?;
            if let Some(place) = &item.place {
                write!(f, " ({place})")?;
            }
        }
        write!(f, "\n  = help: {}", self.remedy)
    }
}

impl From<Diagnosis> for CudaBuilderError {
    fn from(diagnosis: Diagnosis) -> Self {
        Self::Diagnosed(diagnosis)
    }
}

/// Turns a failure of the back end into words: a tool's message into a diagnosis, symbols into places.
///
/// `scratch` is the folder of the intermediate files.
pub(crate) fn explain(
    error: CudaBuilderError,
    crate_path: &Path,
    tools: &Toolchain,
    compiled: &Compiled,
    scratch: &Path,
) -> CudaBuilderError {
    let sources = place::Sources::read(crate_path, &compiled.sources);
    let mut diagnosis = match error {
        CudaBuilderError::Diagnosed(diagnosis) => diagnosis,
        CudaBuilderError::ToolFailed { tool, output } => tool::translate(&tool, &output, tools, scratch, &sources),
        other => return other,
    };
    for item in diagnosis.items.iter_mut().filter(|item| item.place.is_none()) {
        item.place = sources.find(&item.path);
    }
    let line = diagnosis
        .sought
        .take()
        .and_then(|(item, text)| Some((item, sources.line_with(&text)?)));
    if let Some((item, place)) = line {
        let path = item.to_owned();
        diagnosis.items.insert(
            0,
            RustItem {
                path,
                place: Some(place),
            },
        );
    }
    diagnosis.into()
}
