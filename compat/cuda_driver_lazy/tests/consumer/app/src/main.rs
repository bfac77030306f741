//! An executable that names both crates itself, in the order in which they would be missed.

use bindings::codes;
use cuda_driver_lazy as _;

fn main() {
    assert_eq!(codes(), [303, 303]);
    println!("checked");
}
