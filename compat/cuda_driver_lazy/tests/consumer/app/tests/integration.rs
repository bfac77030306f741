//! One kind of executable.

#[test]
fn integration() {
    app::check();
}
