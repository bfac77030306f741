//! [`proptest`] strategies for launches: extents, lengths, matrices and schedules. Needs the feature `proptest`.
//!
//! ```
//! use cuda_sim::strategies::{extents, launches, lengths};
//! use cuda_sim::{GlobalBuffer, device};
//! use cuda_views::GlobalMut;
//! use proptest::prelude::*;
//!
//! /// Numbers the elements; any grid takes any length.
//! unsafe fn number(to: *mut u32, len: usize) {
//!     let (block, threads) = (device::block_idx()[0], device::block_dim()[0]);
//!     let first = (block * threads + device::thread_idx()[0]) as usize;
//!     let stride = (device::grid_dim()[0] * threads) as usize;
//!     // SAFETY: the buffer has `len` elements; no two threads have one in common.
//!     let to = unsafe { GlobalMut::new(to, len) };
//!     (first..len).step_by(stride).for_each(|i| unsafe { to.set(i, i as u32) });
//! }
//!
//! proptest!(|(launch in launches(extents([4, 1, 1], 4), extents([64, 1, 1], 64)), len in lengths(32, 200))| {
//!     let to = GlobalBuffer::uninit(len);
//!     let report = launch.launch().run(|| unsafe { number(to.as_mut_ptr(), len) });
//!     prop_assert!(report.is_clean(), "{report}");
//!     prop_assert_eq!(to.to_vec(), (0..len as u32).collect::<Vec<_>>());
//! });
//! ```
//!
//! A failing case shrinks in its extents and lengths and keeps its schedule, seed included: another schedule might hide
//! the mistake. The value that proptest prints repeats the run.

use proptest::prelude::*;

use crate::{Dim3, Launch, Schedule};

/// Grid, block and schedule of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchCase {
    /// Blocks of the grid.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// The schedule.
    pub schedule: Schedule,
}

impl LaunchCase {
    /// The launch, whose other options are still the default.
    pub fn launch(&self) -> Launch {
        Launch::new(self.grid, self.block).schedule(self.schedule)
    }
}

/// A matrix in a buffer: the arguments of [`GlobalBuffer::matrix`](crate::GlobalBuffer::matrix).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixCase {
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Leading dimension: elements from one row to the next.
    pub ld: usize,
}

/// Launches of these grids and blocks under [`schedules`].
pub fn launches(
    grid: impl Strategy<Value = Dim3>,
    block: impl Strategy<Value = Dim3>,
) -> impl Strategy<Value = LaunchCase> {
    (grid, block, schedules()).prop_map(|(grid, block, schedule)| LaunchCase { grid, block, schedule })
}

/// One schedule: forward, reverse, or random with any seed. It does not shrink.
pub fn schedules() -> impl Strategy<Value = Schedule> {
    prop_oneof![
        1 => Just(Schedule::Forward),
        1 => Just(Schedule::Reverse),
        2 => any::<u64>().prop_map(Schedule::Random),
    ]
    .no_shrink()
}

/// Extents from 1 to `most` along x, y and z, whose product is at most `count`. They shrink towards 1.
///
/// # Panics
/// If an extent of `most`, or `count`, is 0.
pub fn extents(most: [u32; 3], count: u32) -> impl Strategy<Value = Dim3> {
    assert!(
        count > 0 && !most.contains(&0),
        "no extent is within {most:?} and {count}"
    );
    most.map(|most| 1..=most.min(count)).prop_map(move |[x, y, z]| {
        let y = y.min(count / x);
        Dim3::from((x, y, z.min(count / (x * y))))
    })
}

/// Lengths from 0 to `most`, many of them one less than a multiple of `tile`, a multiple, or one more. They shrink
/// towards 0.
///
/// # Panics
/// If `tile` is 0.
pub fn lengths(tile: usize, most: usize) -> impl Strategy<Value = usize> {
    assert!(tile > 0, "a tile of no elements");
    let near = (0..=most / tile, 0..3_usize).prop_map(move |(tiles, more)| (tiles * tile + more).saturating_sub(1));
    prop_oneof![0..=most, near.prop_map(move |len| len.min(most))]
}

/// Matrices of [`lengths`] near multiples of `tile`, some with padding of up to 8 elements between their rows.
///
/// # Panics
/// If `tile` is 0.
pub fn matrices(tile: usize, most_rows: usize, most_columns: usize) -> impl Strategy<Value = MatrixCase> {
    (lengths(tile, most_rows), lengths(tile, most_columns), 0..=8_usize).prop_map(|(rows, columns, padding)| {
        let ld = columns + padding;
        MatrixCase { rows, columns, ld }
    })
}
