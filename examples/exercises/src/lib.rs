//! The exercises of the guide: kernels that are broken or unfinished, one file each, and their solutions.
//!
//! `cargo xtask exercise 3.1` runs the simulator on `src/ch03_limit.rs` and says what is wrong with it: the fault, its
//! line, the counts. [`course`] has the launches, and what each file does as it is handed out.

pub mod course;
pub mod support;

pub mod ch01_edges;
pub mod ch01_reuse;
pub mod ch02_drained;
pub mod ch02_filled;
pub mod ch02_offsets;
pub mod ch03_alignment;
pub mod ch03_limit;
pub mod ch04_halo;
pub mod ch04_lockstep;
pub mod ch04_return;
pub mod ch05_swizzle;
pub mod ch05_transpose;
pub mod ch05_tree;
pub mod ch06_column;
pub mod ch06_spread;
pub mod ch07_double;
pub mod ch07_vectors;
pub mod ch08_commit;
pub mod ch08_groups;
pub mod ch08_refill;
pub mod ch09_fence;
pub mod ch09_ldmatrix;
pub mod ch10_bytes;
pub mod ch10_parity;
pub mod ch10_store;
pub mod ch11_exit;
pub mod ch11_filled;
pub mod ch12_scales;
pub mod ch12_stages;
pub mod ch13_bounds;
pub mod ch13_slots;
pub mod ch14_fence;
pub mod ch14_scope;
pub mod ch15_init;
pub mod ch15_reuse;
pub mod ch16_lengths;
pub mod ch16_order;
pub mod ch17_general;
pub mod ch17_layout;

/// The solutions, under the names of the exercises.
#[path = "../solutions"]
pub mod solutions {
    pub mod ch01_edges;
    pub mod ch01_reuse;
    pub mod ch02_drained;
    pub mod ch02_filled;
    pub mod ch02_offsets;
    pub mod ch03_alignment;
    pub mod ch03_limit;
    pub mod ch04_halo;
    pub mod ch04_lockstep;
    pub mod ch04_return;
    pub mod ch05_swizzle;
    pub mod ch05_transpose;
    pub mod ch05_tree;
    pub mod ch06_column;
    pub mod ch06_spread;
    pub mod ch07_double;
    pub mod ch07_vectors;
    pub mod ch08_commit;
    pub mod ch08_groups;
    pub mod ch08_refill;
    pub mod ch09_fence;
    pub mod ch09_ldmatrix;
    pub mod ch10_bytes;
    pub mod ch10_parity;
    pub mod ch10_store;
    pub mod ch11_exit;
    pub mod ch11_filled;
    pub mod ch12_scales;
    pub mod ch12_stages;
    pub mod ch13_bounds;
    pub mod ch13_slots;
    pub mod ch14_fence;
    pub mod ch14_scope;
    pub mod ch15_init;
    pub mod ch15_reuse;
    pub mod ch16_lengths;
    pub mod ch16_order;
    pub mod ch17_general;
    pub mod ch17_layout;
}
