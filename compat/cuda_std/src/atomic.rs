//! Atomic floating-point numbers, and PTX's atomic instructions by name.
//!
//! The types add, subtract and combine the bits of `f32` and `f64` from many threads at once: in hardware on the GPU,
//! by the simulator or by compare-and-swap on the host, where everything here works outside a launch too. They differ
//! in the threads among which they are atomic, PTX's scope (PTX 8.5): those of a block, of the GPU, or of host and
//! GPUs. The memory itself has no scope; a smaller one is cheaper.
//!
//! For integers, `core::sync::atomic` works on the GPU too (32 and 64 bits, always at system scope); [`mid`] and
//! [`intrinsics`] offer the other scopes.
//!
//! An addition of floating-point numbers rounds, so its result depends on the order in which the threads come. In
//! global memory the GPU takes subnormal `f32` numbers for 0 in it (PTX 9.7.13.5); the host does not.

#[cfg(not(target_arch = "nvptx64"))]
mod host;
pub mod intrinsics;
pub mod mid;

use core::{cell::UnsafeCell, sync::atomic::Ordering};
use pastey::paste;

/// One read-modify-write method of an atomic float.
macro_rules! fetch_method {
    (
        $float:ident $scope:ident ($($unsafety:ident)?)
        $doc:literal $operation:ident
    ) => {
        paste! {
            #[doc = $doc]
            ///
            #[doc = safety!($($unsafety)?)]
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub $($unsafety)? fn [<fetch_ $operation>](&self, val: $float, order: Ordering) -> $float {
                // SAFETY: the pointer is to a live value, and the scope reaches all threads that may access it.
                unsafe { mid::[<atomic_fetch_ $operation _ $float _ $scope>](self.value.get(), order, val) }
            }
        }
    };
}

/// The section on safety of the types whose scope is smaller than the threads that a reference can reach.
macro_rules! safety {
    () => {
        ""
    };
    (unsafe) => {
        "# Safety\n\nOnly threads of one block may access the value at the same time: the operation is not atomic \
         towards other blocks."
    };
}

macro_rules! atomic_float {
    (
        $(#[$doc:meta])*
        $name:ident: $float:ident $width:literal aligned $align:literal, $scope:ident ($($unsafety:ident)?)
    ) => {
        $(#[$doc])*
        #[repr(C, align($align))]
        pub struct $name {
            value: UnsafeCell<$float>,
        }

        // SAFETY: every access through a shared reference is atomic, or the caller's promise.
        unsafe impl Sync for $name {}

        impl $name {
            /// An atomic that holds `v`.
            pub const fn new(v: $float) -> Self {
                Self { value: UnsafeCell::new(v) }
            }

            /// The value of an atomic that nobody else has.
            pub fn into_inner(self) -> $float {
                self.value.into_inner()
            }

            fetch_method! {
                $float $scope ($($unsafety)?)
                "Adds `val` and returns the value before." add
            }
            fetch_method! {
                $float $scope ($($unsafety)?)
                "Subtracts `val`, by adding its negative, and returns the value before." sub
            }
            fetch_method! {
                $float $scope ($($unsafety)?)
                "Combines the bits by \"and\" and returns the value before." and
            }
            fetch_method! {
                $float $scope ($($unsafety)?)
                "Combines the bits by \"or\" and returns the value before." or
            }
            fetch_method! {
                $float $scope ($($unsafety)?)
                "Combines the bits by \"exclusive or\" and returns the value before." xor
            }

            paste! {
                /// Loads the value.
                ///
                /// # Panics
                ///
                /// Panics if `order` is [`Ordering::Release`] or [`Ordering::AcqRel`].
                ///
                #[doc = safety!($($unsafety)?)]
                #[inline(always)]
                #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
                pub $($unsafety)? fn load(&self, order: Ordering) -> $float {
                    // SAFETY: the pointer is to a live value, and the scope reaches all threads that may access it.
                    $float::from_bits(unsafe { mid::[<atomic_load_ $width _ $scope>](self.value.get().cast(), order) })
                }

                /// Stores `val`.
                ///
                /// # Panics
                ///
                /// Panics if `order` is [`Ordering::Acquire`] or [`Ordering::AcqRel`].
                ///
                #[doc = safety!($($unsafety)?)]
                #[inline(always)]
                #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
                pub $($unsafety)? fn store(&self, val: $float, order: Ordering) {
                    // SAFETY: the pointer is to a live value, and the scope reaches all threads that may access it.
                    unsafe { mid::[<atomic_store_ $width _ $scope>](self.value.get().cast(), order, val.to_bits()) }
                }
            }
        }
    };
}

atomic_float! {
    /// An `f32` that is atomic among the threads of the GPU, with the size and alignment of an `f32`.
    AtomicF32: f32 32 aligned 4, device ()
}
atomic_float! {
    /// An `f64` that is atomic among the threads of the GPU, with the size and alignment of an `f64`.
    AtomicF64: f64 64 aligned 8, device ()
}
atomic_float! {
    /// An `f32` that is atomic among the threads of a block, with the size and alignment of an `f32`.
    BlockAtomicF32: f32 32 aligned 4, block (unsafe)
}
atomic_float! {
    /// An `f64` that is atomic among the threads of a block, with the size and alignment of an `f64`.
    BlockAtomicF64: f64 64 aligned 8, block (unsafe)
}
atomic_float! {
    /// An `f32` that is atomic among all threads of host and GPUs, with the size and alignment of an `f32`.
    SystemAtomicF32: f32 32 aligned 4, system ()
}
atomic_float! {
    /// An `f64` that is atomic among all threads of host and GPUs, with the size and alignment of an `f64`.
    SystemAtomicF64: f64 64 aligned 8, system ()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::*;

    #[test]
    fn every_operation_returns_the_old_value() {
        let number = AtomicF32::new(1.5);
        std::assert_eq!(number.fetch_add(2.0, Relaxed), 1.5);
        std::assert_eq!(number.fetch_sub(0.5, Release), 3.5);
        std::assert_eq!(number.fetch_xor(-0.0, AcqRel), 3.0);
        std::assert_eq!(number.fetch_and(f32::from_bits(0x7fff_ffff), SeqCst), -3.0);
        std::assert_eq!(number.fetch_or(-0.0, Acquire), 3.0);
        std::assert_eq!(number.load(SeqCst), -3.0);
        number.store(7.0, Release);
        std::assert_eq!(number.into_inner(), 7.0);
    }

    #[test]
    fn no_addition_is_lost_between_threads() {
        static SUM: SystemAtomicF64 = SystemAtomicF64::new(0.0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        SUM.fetch_add(1.0, Relaxed);
                    }
                });
            }
        });
        std::assert_eq!(SUM.load(Relaxed), 4000.0);
    }

    #[test]
    fn block_scope_is_the_caller_s_promise() {
        let number = BlockAtomicF64::new(1.0);
        // SAFETY: no other thread sees it.
        unsafe {
            std::assert_eq!(number.fetch_add(1.0, Relaxed), 1.0);
            std::assert_eq!(number.load(Acquire), 2.0);
        }
    }
}
