//! x
/// x
pub trait GpuFloat{}
