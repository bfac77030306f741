use cuda_std::kernel;

#[kernel]
pub unsafe fn hello() {
    println!("hello");
}
