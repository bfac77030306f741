//! mbarriers, bulk copies, clusters and `wgmma`: results, and faults where they are used wrongly.

mod bulk_copies;
mod clusters;
mod common;
mod mbarriers;
mod planes;
mod products;
mod ring;
mod traffic;
