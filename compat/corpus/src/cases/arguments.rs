//! The arguments of a launch as a kernel on the host takes them.

use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use cuda_std::vek::{Vec2, Vec3};

/// The arguments of a launch, in order, each as the bytes that the GPU would get: a value's own, an address, a number
/// of elements.
#[derive(Debug)]
pub struct Arguments<'a> {
    rest: &'a [Vec<u8>],
}

impl<'a> Arguments<'a> {
    /// All of a launch's.
    pub fn new(bytes: &'a [Vec<u8>]) -> Self {
        Self { rest: bytes }
    }

    /// The next parameter of the kernel, which may be two arguments.
    ///
    /// # Panics
    ///
    /// Panics if there is none, or of another size.
    ///
    /// # Safety
    ///
    /// It must be one of that type: a valid value, or the address of something that lives as long as the kernel uses
    /// it.
    pub unsafe fn next<T: FromArguments>(&mut self) -> T {
        T::take(self)
    }

    /// The next argument, copied.
    unsafe fn value<T: Copy>(&mut self) -> T {
        let (bytes, rest) = self
            .rest
            .split_first()
            .expect("as many arguments as the kernel has parameters");
        self.rest = rest;
        assert_eq!(bytes.len(), size_of::<T>(), "an argument of the parameter's size");
        bytes.as_ptr().cast::<T>().read_unaligned()
    }

    /// The next two arguments, as the start of a slice and its length.
    unsafe fn start_and_length<T>(&mut self) -> (*const T, usize) {
        let (address, length) = (self.value(), self.value());
        // An empty slice may have any address on the GPU, 0 too.
        match length {
            0 => (core::ptr::dangling(), 0),
            _ => (with_exposed_provenance(address), length),
        }
    }
}

/// A type that a kernel's parameter may have.
pub trait FromArguments {
    /// Takes it.
    ///
    /// # Safety
    ///
    /// As for [`Arguments::next`].
    unsafe fn take(arguments: &mut Arguments<'_>) -> Self;
}

/// Values whose bytes are those of the argument.
macro_rules! by_value {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::cases::FromArguments for $type {
            unsafe fn take(arguments: &mut $crate::cases::Arguments<'_>) -> Self {
                arguments.value()
            }
        }
    )*};
}

by_value! {
    bool, char, u8, u16, i16, u32, i32, u64, i64, f32, f64,
    [f32; 3], Vec2<u32>, Vec3<f32>, crate::parameters::Nested, crate::parameters::Settings,
}

#[cfg(feature = "main")]
by_value! { cuda_std::glam::Vec2, cuda_std::glam::Vec3 }

impl<T> FromArguments for *const T {
    unsafe fn take(arguments: &mut Arguments<'_>) -> Self {
        with_exposed_provenance(arguments.value())
    }
}

impl<T> FromArguments for *mut T {
    unsafe fn take(arguments: &mut Arguments<'_>) -> Self {
        with_exposed_provenance_mut(arguments.value())
    }
}

impl<T> FromArguments for &T {
    unsafe fn take(arguments: &mut Arguments<'_>) -> Self {
        &*with_exposed_provenance(arguments.value())
    }
}

impl<T> FromArguments for &[T] {
    unsafe fn take(arguments: &mut Arguments<'_>) -> Self {
        let (start, length) = arguments.start_and_length();
        core::slice::from_raw_parts(start, length)
    }
}

impl FromArguments for &str {
    unsafe fn take(arguments: &mut Arguments<'_>) -> Self {
        core::str::from_utf8_unchecked(<&[u8]>::take(arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_in_order_and_slices_are_two_arguments() {
        let numbers = [5u32, 6, 7];
        let bytes = [
            numbers.as_ptr().expose_provenance().to_ne_bytes().to_vec(),
            3usize.to_ne_bytes().to_vec(),
            (-2i16).to_ne_bytes().to_vec(),
            0usize.to_ne_bytes().to_vec(),
            0usize.to_ne_bytes().to_vec(),
        ];
        let mut arguments = Arguments::new(&bytes);
        let (slice, number, empty): (&[u32], i16, &[f64]) =
            unsafe { (arguments.next(), arguments.next(), arguments.next()) };
        assert_eq!((slice, number, empty), (&numbers[..], -2, &[][..]));
    }

    #[test]
    #[should_panic(expected = "an argument of the parameter's size")]
    fn a_value_of_another_size_is_refused() {
        let bytes = [vec![0; 4]];
        unsafe { Arguments::new(&bytes).next::<u64>() };
    }
}
