//! x
/// x
pub trait FloatExt{}
