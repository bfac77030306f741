//! `.pragma "enable_smem_spilling"` as NVIDIA's `ptxas` has it: how many bytes it takes
//! (`cuda_arch::spill_budget_bytes`), and what it refuses, ignores or accepts in silence. What it is silent about,
//! `cuda_builder` refuses.
//!
//! No GPU is needed. `cargo xtask setup` fetches `ptxas` 13.0.88, from which the numbers and words are; where it is
//! missing these tests fail.
//!
//! - `kernel`: PTX with any number of live registers, and `ptxas` on it. `law`: bytes. `diagnostics`: words.

mod diagnostics;
mod kernel;
mod law;
