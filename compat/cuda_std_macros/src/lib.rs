//! Drop-in `cuda_std_macros` 0.2.0 for the NVPTX back end of stock rustc: the attributes that `cuda_std` re-exports.
//!
//! A stock compiler knows no attribute for a GPU kernel's slices or for an address space. Each macro therefore leaves a
//! mark that any compiler carries through (an ABI, a link section, a marker static), and `cuda_builder` makes of it
//! what PTX needs. `docs/device-abi.md` in the repository is the agreement between the two.
//!
//! All output is written for every edition from 2018 on. On the GPU it names nothing but `::core`. On the host,
//! `#[address_space]` and `#[kernel]` also name `::cuda_std`, through which they register a static or a kernel with the
//! simulator: a crate that uses them depends on `cuda_std` by that name.

// A kernel is `extern "ptx-kernel"`, which is unstable. The crate that uses `#[kernel]` was written without knowing
// that and cannot be asked to enable it: the macro's own expansion is allowed it instead. Only where the compiler
// accepts unstable features at all.
#![cfg_attr(unstable_features, feature(allow_internal_unstable), allow(internal_features))]

use proc_macro::TokenStream;

mod functions;
mod grid_constant;
mod kernel;
mod mark;
mod options;
mod parameters;
mod register;
mod statics;

/// Makes a function a GPU kernel: an entry point that the host launches by its name.
///
/// ```ignore
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub unsafe fn axpy(alpha: f32, x: &[f32], y: *mut f32) {
///     let i = thread::index_1d() as usize;
///     if i < x.len() {
///         unsafe { *y.add(i) += alpha * x[i] };
///     }
/// }
/// ```
///
/// # Parameters on the GPU
///
/// The host passes, in order, for each parameter of type
/// - `&[T]`, `*const [T]`, `*mut [T]`, `&str`: two arguments, the address and the number of elements (of bytes for
///   `str`) as a `usize`. An address of 0 is accepted together with a length of 0 (what an empty device buffer gives);
/// - anything else, structs included: one argument by value. Structs should be `#[repr(C)]`.
///
/// A parameter `#[grid_constant] x: &T` is one argument too, a `T` by value, and `x` refers to the argument itself,
/// without a copy, as `const __grid_constant__ T` does in CUDA C++. `T` may be aligned to more than 16 bytes, which a
/// `T` by value may not. Tensor maps are passed so.
///
/// The slice must be written as such: behind a type alias the macro cannot see it.
///
/// # What is checked
///
/// The function must be `unsafe`, return nothing, be neither generic (lifetimes are fine) nor `async` nor a method, and
/// all its parameters must be [`Copy`]. That excludes `&mut [T]`: every thread of the grid would hold the same
/// exclusive borrow. Take `*mut T` instead.
///
/// ```compile_fail,E0277
/// struct NotCopy(u32);
///
/// #[cuda_std_macros::kernel]
/// pub unsafe fn k(argument: NotCopy) {}
/// ```
///
/// # On the host
///
/// The function keeps its signature and has Rust's ABI, whatever ABI was written: `kernel as unsafe fn(*mut f32, u32)`.
/// So a panic in it unwinds, which the simulator (`cuda_sim`) makes a fault of that thread; out of an `extern "C"`
/// function, as the published macro makes, it would end the process. It is not `no_mangle` there, so that two kernel
/// crates may use the same name. `cuda_sim::device::find_kernel` finds it by that name and its type, in any crate that
/// the program links.
///
/// # Options
///
/// | option | PTX | what it says |
/// |---|---|---|
/// | `max_threads = 256`, `(16, 16)`, `(8, 8, 4)` | `.maxntid` | no block has more threads than the product, at most 1024. A larger launch fails |
/// | `min_blocks = 2` | `.minnctapersm` | number of blocks that must fit on an SM: registers are limited to that. Needs `max_threads`; together at most 2048 threads |
/// | `max_registers = 64` | `.maxnreg` | registers of a thread, 24 to 255; what does not fit is spilled |
/// | `cluster = (2, 1, 1)` | `.explicitcluster`, `.reqnctapercluster` | the grid is made of clusters of these extents, at most 8 blocks; an expression that is 0 asks for none. From 9.0 on |
/// | `smem_spilling` | `.pragma "enable_smem_spilling"` | registers are spilled into shared memory first. From 7.5 on, in PTX 8.7; needs `max_threads` |
/// | `assume_max_threads` | | `smem_spilling` without `max_threads`: as much shared memory as a block of as many threads as an SM has registers for would need |
/// | `grid_dim = 2d`, `block_dim = 1d` | | the dimensions that the kernel is meant for; as in the published crate they have no effect |
///
/// Each at most once. A number is a literal or a constant expression of type `u32`; the compiler checks either.
///
/// Where `smem_spilling` is not allowed (dynamic shared memory, `setmaxnreg`, functions that are not inlined),
/// `cuda_builder` refuses the kernel and names the rule. On the host the options are data: `cuda_sim::device::kernels`
/// lists them, and the simulator refuses a launch outside of them.
#[proc_macro_attribute]
#[cfg_attr(unstable_features, allow_internal_unstable(abi_ptx))]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(options.into(), item.into()).into()
}

/// Marks a function that makes sense on the GPU only. On the host its body is replaced by a panic that names the
/// function.
///
/// The signature and the attributes stay on both sides, except that a foreign ABI is dropped on the host.
///
/// # The option `sim`
///
/// `cuda_std` itself says with it what the simulator does; the published macro has no such option.
/// `#[gpu_only(sim = path)]` calls the function at `path` with the same arguments, `#[gpu_only(sim = { .. })]` runs the
/// block, in which the parameters have their names. Either way the host form is `#[track_caller]`, so that a fault
/// names the line of the kernel, and the GPU's form is not.
///
/// ```
/// #[cuda_std_macros::gpu_only(sim = { value.count_ones() })]
/// fn population_count(value: u32) -> u32 {
///     let count: u32;
///     unsafe { core::arch::asm!("popc.b32 {}, {};", out(reg32) count, in(reg32) value) };
///     count
/// }
/// assert_eq!(population_count(0b1011), 3);
/// ```
///
/// ```should_panic
/// #[cuda_std_macros::gpu_only]
/// fn nowhere_else() {}
/// nowhere_else(); // `nowhere_else` can only be called on the GPU
/// ```
#[proc_macro_attribute]
pub fn gpu_only(options: TokenStream, item: TokenStream) -> TokenStream {
    functions::gpu_only(options.into(), item.into()).into()
}

/// Keeps a function in the PTX although no kernel calls it, usually so that other PTX or cubin files can link to it.
///
/// The function must also be `#[no_mangle]` (or `#[unsafe(no_mangle)]`).
#[proc_macro_attribute]
pub fn externally_visible(_options: TokenStream, item: TokenStream) -> TokenStream {
    functions::externally_visible(item.into()).into()
}

/// Places a `static` or `static mut` in a memory of the GPU: `global`, `shared` or `constant`.
///
/// On the host it stays an ordinary static. A shared or constant one is registered with the simulator, by way of the
/// crate `cuda_std`, which the crate that uses this must have under that name: one shared static is then every block's,
/// so blocks of a program that has any run one after the other.
///
/// A shared static has no initial value on a GPU, whatever its initialiser says; use `MaybeUninit::uninit()` or zeros.
/// `cuda_std::shared_array!` is the easier way to it. `local`, which the published crate also parses, is refused on the
/// GPU: LLVM has no static local memory.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    statics::address_space(space.into(), item.into()).into()
}
