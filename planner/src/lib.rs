#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arguments;
mod budget;
pub mod device;
mod enumerate;
pub mod estimate;
mod example;
mod fit;
mod footprint;
mod frontend;
mod gemm_type;
mod gpu_models;
mod kernel;
mod launchable;
mod layout;
mod moves;
mod nearest;
pub mod occupancy;
mod path;
pub mod picture;
mod rates;
mod registers;
mod report;
pub mod rules;
mod select;
mod template;
mod tensor_memory;
mod usual;
mod worksheet;

pub use arguments::{command, difference};
pub use estimate::{Bound, Estimate, estimate};
pub use example::{Example, Line, Statement, example};
pub use fit::{Fit, Outcome, Proof, Step, fit};
pub use footprint::dynamic_bytes;
pub use frontend::{Barriers, Frontend};
pub use gemm_type::{BlockScale, GemmType};
pub use gpu_models::{GPU_MODELS, GpuModel};
pub use kernel::{
    Attention, Buffer, Buffers, ElementType, Extent, Kernel, KernelFit, KernelMove, fit_kernel, kernel_moves,
};
pub use launchable::{Launchability, Verdict, launchable};
pub use layout::Component;
pub use moves::{Change, Cost, Move, MoveKind, moves, operand_bytes_per_flop, spill_budget_bytes};
pub use nearest::{as_usual, nearest};
pub use occupancy::{BlockUse, Limiter, Occupancy, occupancy};
pub use path::{Path, Support};
pub use rates::{RATES, Rate, rate};
pub use registers::Registers;
pub use report::{
    CandidateRow, KernelReport, Refusal, Report, Request, Sheet, TemplateName, kernel_report, kernel_report_for,
    report, report_for,
};
pub use rules::{Rule, Value, Violation};
pub use select::{Candidate, Policy, Reason, Rejected, Selection, select};
pub use template::{Accumulator, Epilogue, EpilogueTile, Shape, Template, TileShape, Widening};
pub use tensor_memory::{COLUMNS as TENSOR_MEMORY_COLUMNS, Columns};
pub use worksheet::{Subject, Worksheet, largest_stages, worksheet};
