//! Programmatic dependent launch in the simulator: the host side of `griddepcontrol`.

pub use cuda_sim::griddepcontrol::{launch_dependents, wait};
