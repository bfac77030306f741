//! Interface for `cuda_views`: programmatic dependent launch (PTX ISA, "griddepcontrol"), for the running simulated
//! thread. Launches overlap in a [`Stream`](crate::Stream) only; in a launch of its own both functions do nothing.

use std::panic::Location;

use crate::engine;

/// `griddepcontrol.launch_dependents`: the next launch may start when a thread of each block has executed this, or the
/// block has ended. It orders no memory.
///
/// # Panics
/// Outside a launch.
#[track_caller]
pub fn launch_dependents() {
    engine::current("griddepcontrol.launch_dependents").launch_dependents();
}

/// `griddepcontrol.wait`: waits for the end of the launch before this one, whose accesses are then ordered before the
/// later ones of this thread.
///
/// # Panics
/// Outside a launch.
#[track_caller]
pub fn wait() {
    engine::current("griddepcontrol.wait").wait_for_launches(Location::caller());
}
