#![doc = include_str!("../README.md")]

mod expressions;

pub mod compare;
pub mod device;
pub mod error;
pub mod findings;
pub mod generator;
pub mod host;
pub mod inputs;
pub mod reduce;
pub mod shapes;
pub mod source;
pub mod tree;
