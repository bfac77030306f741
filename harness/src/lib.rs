//! What checks and measures the kernels of `tilewright`: used by the tests, the benchmarks and the program.
//!
//! - [`verify`]: every kernel against the reference, over shapes that reach every edge of a tile;
//! - [`bench`](mod@bench): suites of products, timed against cuBLAS or the CPU's BLAS;
//! - [`calibration`]: the coefficients of the cost model, from measured times;
//! - [`shapes`]: random shapes, which both draw from;
//! - [`inspect`]: what NVIDIA's assembler makes of the kernels;
//! - [`digest`]: what ties a result to the code that gave it;
//! - [`page`]: the planner as a web page.

pub mod bench;
pub mod calibration;
pub mod digest;
pub mod inspect;
pub mod page;
pub mod shapes;
pub mod verify;
