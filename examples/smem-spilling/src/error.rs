//! What can go wrong, by who must act.

use cust::error::CudaError;

/// Shorthand for results with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No driver, no GPU, or a driver that is too old.
    #[error("{0}")]
    Unavailable(String),
    /// An argument that is no valid launch or file.
    #[error("{0}")]
    InvalidArgument(String),
    /// A result that differs from the reference by more than rounding explains.
    #[error("{0}")]
    Wrong(String),
    /// The driver refuses.
    #[error("the driver: {0}")]
    Driver(#[from] CudaError),
}
