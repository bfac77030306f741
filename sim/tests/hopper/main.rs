//! Barriers in shared memory, bulk copies and matrix products: what they compute, and what is found where they are used
//! wrongly.

mod bulk_copies;
mod clusters;
mod common;
mod mbarriers;
mod products;
mod ring;
