//! The structures against definitions that are too slow to use.

mod agents;
mod banks;
mod global_shadow;
mod in_flight;
mod mbarrier;
mod measured;
mod order;
mod shadow;
mod sync_vars;
mod traffic;
