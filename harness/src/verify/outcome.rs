//! How a case ends, and how far a run is.

use serde::{Serialize, Serializer};
use tilewright::{Error, ErrorKind};

/// How a case ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every element agrees with the reference, nothing else was written.
    Passed,
    /// A wrong or a stray element; one line.
    Wrong(String),
    /// No result at all.
    Failed(Error),
}

impl Outcome {
    /// What went wrong, on one line; `None` for [`Outcome::Passed`].
    pub fn problem(&self) -> Option<String> {
        match self {
            Outcome::Passed => None,
            Outcome::Wrong(problem) => Some(problem.clone()),
            Outcome::Failed(error) => Some(error.to_string()),
        }
    }

    /// Who must act; `None` for [`Outcome::Passed`].
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            Outcome::Passed => None,
            Outcome::Wrong(_) => Some(ErrorKind::Wrong),
            Outcome::Failed(error) => Some(error.kind()),
        }
    }
}

impl Serialize for Outcome {
    /// `null`, or what went wrong.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.problem().serialize(serializer)
    }
}

/// One case of one kernel.
#[derive(Debug, Serialize)]
pub struct CaseResult {
    /// The entry point's symbol, or `cpu_tiled`.
    pub kernel: &'static str,
    /// Element type.
    pub dtype: &'static str,
    /// Rows and columns of a tile, in elements.
    pub tile: [u32; 2],
    /// The limit on shared memory that led to the tile; `None` where the tile was named.
    pub smem_limit_bytes: Option<u32>,
    /// What the shape reaches.
    pub case: &'static str,
    /// `m x n x k (lda, ldb, ldc)`, and the strides of a batch.
    pub shape: String,
    /// What went wrong; `null` in JSON when nothing did.
    pub problem: Outcome,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Cases done.
    pub done: usize,
    /// Cases in all.
    pub total: usize,
    /// The kernel at work.
    pub kernel: &'static str,
}
