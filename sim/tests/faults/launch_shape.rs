//! A block of more threads than the architecture allows.

use cuda_sim::{Launch, Report};

pub fn run() -> Report {
    Launch::new(1, (64, 32)).run(|| {})
}
