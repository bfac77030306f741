//! What can go wrong, by who must act.

use cust::error::CudaError;
use serde::Serialize;
use tilewright_contract::{Operand, ShapeError};

use crate::check::Verdict;
use crate::dispatch::PlanError;
use crate::launch::OperandError;

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. Every message is one line with the numbers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to run on: no driver, no device, or a device that is too old or has gone.
    #[error("{0}")]
    Unavailable(String),
    /// A configuration that cannot work on this device, with the nearest that can.
    #[error("{0}")]
    InvalidPlan(#[from] PlanError),
    /// An input that cannot be used.
    #[error("{0}")]
    InvalidArgument(String),
    /// A device pointer, a workspace or a stream that an enqueued product cannot use. Nothing was enqueued.
    #[error("{0}")]
    Operand(#[from] OperandError),
    /// A driver call failed for a reason of its own.
    #[error("{call} failed: {code:?} ({})", *code as u32)]
    Driver {
        /// The call, by its name in the CUDA driver API.
        call: &'static str,
        /// The driver's code.
        code: CudaError,
    },
    /// The same with a code that `cust` has no name for, such as those of stream capture.
    #[error("{call} failed: {} ({code})", code_name(*code))]
    DriverCode {
        /// The call, by its name in the CUDA driver API.
        call: &'static str,
        /// The driver's code (`CUresult`).
        code: u32,
    },
    /// A program or library of NVIDIA's that this crate runs, `ptxas`, `nvdisasm` or cuBLAS, has failed.
    #[error("{tool}: {message}")]
    Tool {
        /// The program or library.
        tool: &'static str,
        /// What it says.
        message: String,
    },
    /// This machine has no memory or no threads for it. It says nothing of a kernel.
    #[error("not enough resources: {0}")]
    Resources(String),
    /// A kernel that the simulator finds fault with: its result may be right by chance only.
    #[error("{}", faults(.0))]
    Faults(Box<cuda_sim::Report>),
    /// A result that differs from the reference by more than rounding explains.
    #[error("{0}")]
    Mismatch(Box<Verdict>),
}

impl From<ShapeError> for Error {
    fn from(error: ShapeError) -> Self {
        Error::InvalidArgument(error.to_string())
    }
}

impl From<cuda_driver_lazy::Unavailable> for Error {
    fn from(error: cuda_driver_lazy::Unavailable) -> Self {
        Error::Unavailable(error.to_string())
    }
}

impl Error {
    /// A slice that is too short for its operand; both counts in elements.
    pub(crate) fn short_slice(operand: Operand, needed: usize, got: usize) -> Self {
        Error::InvalidArgument(format!("{operand} holds {got} elements, its shape needs {needed}"))
    }

    /// Who must act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::InvalidPlan(_) | Error::InvalidArgument(_) | Error::Operand(_) => ErrorKind::Input,
            Error::Unavailable(_) => ErrorKind::Unavailable,
            // The kernel does what it was asked for; what it was asked for does not fit.
            Error::Faults(report) if report.lacks_shared_memory_only() => ErrorKind::Input,
            Error::Mismatch(_) | Error::Faults(_) => ErrorKind::Wrong,
            Error::Driver { .. } | Error::DriverCode { .. } | Error::Tool { .. } | Error::Resources(_) => {
                ErrorKind::Environment
            }
        }
    }
}

/// Who must act on an error. Of several, the largest says what became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// Whoever runs the machine: a driver call, a tool, memory or threads failed.
    Environment,
    /// The caller: an input cannot be used, or no plan can do what is asked for.
    Input,
    /// Whoever wants a GPU or a tool: there is none to run on.
    Unavailable,
    /// The kernel's author: a result is wrong, or the simulator found a fault.
    Wrong,
}

/// The driver's name of a result code.
fn code_name(code: u32) -> &'static str {
    let names = cuda_driver_lazy::ERROR_NAMES;
    let found = names.binary_search_by_key(&code, |&(code, _)| code);
    found
        .ok()
        .and_then(|at| names[at].1.to_str().ok())
        .unwrap_or("an unknown result code")
}

/// The faults of a simulation, on one line: how many, and the first.
fn faults(report: &cuda_sim::Report) -> String {
    let count = report.faults.len() as u64 + report.faults_left_out;
    let first = report.faults.first().map(|fault| fault.to_string()).unwrap_or_default();
    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
    match count {
        1 => format!("the simulator found a fault: {first}"),
        _ => format!("the simulator found {count} faults, the first: {first}"),
    }
}

/// Names the driver call behind a `cust` result.
pub trait DriverCall<T> {
    /// Turns the code into an [`Error`]: [`Error::Unavailable`] where it says that there is no device (any more).
    fn of_call(self, call: &'static str) -> Result<T>;
}

impl<T> DriverCall<T> for std::result::Result<T, CudaError> {
    fn of_call(self, call: &'static str) -> Result<T> {
        self.map_err(|code| match code {
            CudaError::NoDevice
            | CudaError::InvalidDevice
            | CudaError::NotInitialized
            | CudaError::Deinitialized
            | CudaError::EccUncorrectable
            | CudaError::NvlinkUncorrectable => Error::Unavailable(format!(
                "no usable CUDA device: {call} returned {code:?} ({})",
                code as u32
            )),
            _ => Error::Driver { call, code },
        })
    }
}
