//! The mention of the crate in the library serves every executable that uses the library.

use cuda_driver_lazy as _;

/// Panics unless calls end in our stand-ins.
///
/// ```
/// app::check();
/// ```
pub fn check() {
    assert_eq!(bindings::codes(), [303, 303]);
    println!("checked");
}

#[cfg(test)]
mod tests {
    #[test]
    fn unit() {
        super::check();
    }
}
