//! The structures against definitions that are too slow to use.

mod banks;
mod global_shadow;
mod in_flight;
mod measured;
mod order;
mod shadow;
mod sync_vars;
mod traffic;
