//! Printing and assertions from the GPU.
//!
//! Text goes into a buffer of the device, 1 MiB unless the host sets `CU_LIMIT_PRINTF_FIFO_SIZE`, and reaches the
//! host's standard output when it synchronises with the device (CUDA guide, "Formatted Output"). One call's text stays
//! together. Where the buffer is full, the oldest text is lost.
//!
//! The text is formatted on the GPU into a string on the device heap: convenient, and slow. Formatting calls through
//! pointers, so the compiler cannot know the stack that a kernel needs: the launch has `CU_LIMIT_STACK_SIZE` bytes for
//! each thread, 1024 unless the host raises it. Printing floating-point numbers takes more than that; 4096 bytes are
//! enough.
//!
//! On the host, what a simulated launch prints is in its report, and a failed assertion is a fault with the thread and
//! block. Outside a launch the macros print to standard output and panic, as those of `std` do.

#[cfg(not(target_arch = "nvptx64"))]
mod printf;

use crate::gpu_only;
use core::{ffi::c_void, fmt};

/// The device's `vprintf`: prints `format` with the arguments that lie, each aligned as its type, at `valist`. Returns
/// the number of arguments, or a negative number.
///
/// # Safety
///
/// - `format` must point to a string that ends with a NUL.
/// - `valist` must point to what its conversions ask for; it may be null if there are none.
#[doc(hidden)]
#[gpu_only(sim = {
    // SAFETY: as the caller promises.
    let (text, arguments) = unsafe { printf::formatted(format, valist) };
    cuda_sim::device::print(format_args!("{text}"));
    arguments
})]
pub unsafe fn vprintf(format: *const u8, valist: *const c_void) -> i32 {
    unsafe extern "C" {
        fn vprintf(format: *const u8, valist: *const c_void) -> i32;
    }
    // SAFETY: as the caller promises.
    unsafe { vprintf(format, valist) }
}

/// The device's handler of a failed assertion: prints all it is told, with block and thread, and fails the launch with
/// `CUDA_ERROR_ASSERT`.
///
/// # Safety
///
/// `message`, `file` and `function` must each point to a string that ends with a NUL, of characters of `char_size`
/// bytes.
#[doc(hidden)]
#[gpu_only(sim = {
    let [message, file, function] = [message, file, function].map(|text| match char_size {
        // SAFETY: as the caller promises.
        1 => unsafe { core::ffi::CStr::from_ptr(text.cast()) }.to_string_lossy(),
        // No text of wider characters is read.
        _ => "".into(),
    });
    panic!("{file}:{line}: {function}: {message}")
})]
pub unsafe fn __assertfail(message: *const u8, file: *const u8, line: u32, function: *const u8, char_size: usize) {
    unsafe extern "C" {
        fn __assertfail(message: *const u8, file: *const u8, line: u32, function: *const u8, char_size: usize);
    }
    // SAFETY: as the caller promises.
    unsafe { __assertfail(message, file, line, function, char_size) }
}

/// Prints formatted text; what [`print!`](crate::print) expands to.
#[doc(hidden)]
#[inline(never)]
pub fn __print(text: fmt::Arguments<'_>) {
    #[cfg(target_arch = "nvptx64")]
    {
        let text = alloc::format!("{text}\0");
        // The text is an argument and not the format itself, in which a `%` of the user's would start a conversion.
        let arguments = [text.as_ptr()];
        // SAFETY: both strings end with a NUL, and the arguments hold the one pointer that `%s` asks for.
        unsafe { vprintf(c"%s".as_ptr().cast(), (&raw const arguments).cast()) };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_sim::device::print(text);
}

/// Prints `text` and a line break; what [`println!`](crate::println) expands to.
#[doc(hidden)]
pub fn __println(text: fmt::Arguments<'_>) {
    // One call of `__print`, so that the line stays together.
    __print(format_args!("{text}\n"));
}

/// Where an assertion stands. All strings end with a NUL.
#[doc(hidden)]
pub struct __Place {
    /// `file!()`
    pub file: &'static str,
    /// `line!()`
    pub line: u32,
    /// `module_path!()`: there is no macro for the function's name.
    pub module: &'static str,
}

/// Reports a failed assertion; what [`assert_eq!`](crate::assert_eq) and [`assert_ne!`](crate::assert_ne) expand to
/// where it fails.
#[doc(hidden)]
#[inline(never)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn __assertion_failed(condition: &str, left: &dyn fmt::Debug, right: &dyn fmt::Debug, place: &__Place) {
    #[cfg(target_arch = "nvptx64")]
    {
        let message = alloc::format!("\nassertion failed: ({condition})\nleft : {left:?}\nright: {right:?}\0");
        // SAFETY: all three strings end with a NUL and have characters of one byte.
        unsafe {
            __assertfail(
                message.as_ptr(),
                place.file.as_ptr(),
                place.line,
                place.module.as_ptr(),
                1,
            )
        };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = place;
        panic!("assertion failed: ({condition})\nleft : {left:?}\nright: {right:?}");
    }
}

/// `std`'s `print!` from the GPU; see [`io`](crate::io).
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::io::__print(::core::format_args!($($arg)*)) };
}

/// `std`'s `println!` from the GPU; see [`io`](crate::io).
#[macro_export]
macro_rules! println {
    () => { $crate::io::__print(::core::format_args!("\n")) };
    ($($arg:tt)*) => { $crate::io::__println(::core::format_args!($($arg)*)) };
}

/// Fails the launch with `CUDA_ERROR_ASSERT`, printing both values, the place and the thread, if the two expressions
/// are not equal.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => { $crate::__assert_compare!($left, ==, $right) };
}

/// Fails the launch with `CUDA_ERROR_ASSERT`, printing both values, the place and the thread, if the two expressions
/// are equal.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => { $crate::__assert_compare!($left, !=, $right) };
}

/// The common part of the assertions.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_compare {
    ($left:expr, $operator:tt, $right:expr) => {
        // `match`, so that temporaries of the two expressions live through the comparison.
        match (&$left, &$right) {
            (left, right) => {
                if !(*left $operator *right) {
                    $crate::io::__assertion_failed(
                        ::core::concat!(
                            ::core::stringify!($left), " ", ::core::stringify!($operator), " ",
                            ::core::stringify!($right)
                        ),
                        left,
                        right,
                        &$crate::io::__Place {
                            file: ::core::concat!(::core::file!(), "\0"),
                            line: ::core::line!(),
                            module: ::core::concat!(::core::module_path!(), "\0"),
                        },
                    )
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn macros_are_expressions_and_leave_percent_signs_alone() {
        let unit: () = crate::println!("{}% of {what}", 100, what = "it");
        crate::print!("100%\n");
        crate::println!();
        crate::assert_eq!(unit, ());
        crate::assert_ne!(1, 2,);
    }

    #[test]
    #[should_panic(expected = "assertion failed: (1 + 1 == three)\nleft : 2\nright: 3")]
    fn a_failed_assertion_shows_condition_and_values() {
        let three = 3;
        crate::assert_eq!(1 + 1, three);
    }
}
