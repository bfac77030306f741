// Builds: recursion through a vtable.
use cuda_std::kernel;

trait Node {
    fn depth(&self, n: u32) -> u32;
}
struct A;
struct B;
impl Node for A {
    #[inline(never)]
    fn depth(&self, n: u32) -> u32 {
        if n == 0 { 0 } else { pick(n).depth(n - 1) + 1 }
    }
}
impl Node for B {
    #[inline(never)]
    fn depth(&self, n: u32) -> u32 {
        if n == 0 { 1 } else { pick(n / 2).depth(n / 2) * 3 }
    }
}
fn pick(n: u32) -> &'static dyn Node {
    if n & 1 == 0 { &A } else { &B }
}

#[kernel]
pub unsafe fn deep(n: u32, out: *mut u32) {
    unsafe { *out = pick(n).depth(n) }
}
