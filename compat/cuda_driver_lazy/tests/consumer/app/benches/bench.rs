//! One kind of executable.

fn main() {
    app::check();
}
