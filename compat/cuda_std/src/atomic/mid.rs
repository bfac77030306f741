//! Atomic functions that take their [`Ordering`] as a parameter. Where it is a constant, one instruction remains, or a
//! fence and one.
//!
//! The names are those of [`intrinsics`](super::intrinsics) without the ordering: `atomic_load_{32, 64}_{scope}`,
//! `atomic_store_{32, 64}_{scope}`, `atomic_fetch_{operation}_{type}_{scope}` with `and`, `or`, `xor`, `add`, `sub`,
//! `exch` on `u32`, `u64`, `i32`, `i64`, `f32`, `f64` and `min`, `max` on the integers, and `{scope}_thread_fence`.
//! Beyond 0.2.2 there are `atomic_compare_and_swap_{type}_{scope}` and the bounded increment and decrement of CUDA C++.
//!
//! Sequential consistency is a fence in front of the access, the usual mapping of the C++ memory model to PTX ("A
//! Formal Analysis of the NVIDIA PTX Memory Consistency Model", Lustig, Sahasrabuddhe, Giroux, 2019).

#[cfg(not(target_arch = "nvptx64"))]
use super::host::{self, Integer, Number, scope};
#[cfg(target_arch = "nvptx64")]
use super::intrinsics;
use crate::gpu_only;
use core::sync::atomic::Ordering;
#[cfg(target_arch = "nvptx64")]
use core::sync::atomic::Ordering::*;
use pastey::paste;

/// Calls `$make!` once for each scope.
macro_rules! every_scope {
    ($make:ident! { $($arguments:tt)* }) => {
        $make! { block $($arguments)* }
        $make! { device $($arguments)* }
        $make! { system $($arguments)* }
    };
}

/// The `# Safety` section of an access.
macro_rules! access_safety {
    () => {
        "\n\n# Safety\n\n- `ptr` must be valid for the access and aligned to its size.\n\
         - Threads outside the scope must not access the memory at the same time."
    };
}

macro_rules! fence {
    ($scope:ident) => {
        paste! {
            #[doc = concat!(
                "A fence of ", stringify!($scope), " scope: the memory accesses before and after it are ordered as ",
                "`ordering` says."
            )]
            /// `Relaxed` is no fence at all.
            #[gpu_only(sim = { host::fence(ordering, scope!($scope)) })]
            #[inline(always)]
            pub fn [<$scope _thread_fence>](ordering: Ordering) {
                match ordering {
                    Relaxed => {}
                    // SAFETY: a fence has no precondition.
                    SeqCst => unsafe { intrinsics::[<fence_sc_ $scope>]() },
                    // SAFETY: as above.
                    _ => unsafe { intrinsics::[<fence_acqrel_ $scope>]() },
                }
            }
        }
    };
}

every_scope! { fence! {} }

macro_rules! load_store {
    ($scope:ident $width:literal) => {
        paste! {
            #[doc = concat!("Loads ", $width, " bits, ", stringify!($scope), " scope.")]
            ///
            /// # Panics
            ///
            /// Panics if `ordering` is `Release` or `AcqRel`: a load releases nothing.
            #[doc = access_safety!()]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe { host::load(ptr, ordering, scope!($scope)) }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_load_ $width _ $scope>](ptr: *mut [<u $width>], ordering: Ordering) -> [<u $width>] {
                // SAFETY: as the caller promises.
                unsafe {
                    match ordering {
                        SeqCst => {
                            intrinsics::[<fence_sc_ $scope>]();
                            intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr)
                        }
                        Acquire => intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr),
                        Relaxed => intrinsics::[<atomic_load_relaxed_ $width _ $scope>](ptr),
                        _ => panic!("an atomic load cannot release"),
                    }
                }
            }

            #[doc = concat!("Stores ", $width, " bits, ", stringify!($scope), " scope.")]
            ///
            /// # Panics
            ///
            /// Panics if `ordering` is `Acquire` or `AcqRel`: a store acquires nothing.
            #[doc = access_safety!()]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe { host::store(ptr, ordering, scope!($scope), val) }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_store_ $width _ $scope>](
                ptr: *mut [<u $width>],
                ordering: Ordering,
                val: [<u $width>],
            ) {
                // SAFETY: as the caller promises.
                unsafe {
                    match ordering {
                        SeqCst => {
                            intrinsics::[<fence_sc_ $scope>]();
                            intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val)
                        }
                        Release => intrinsics::[<atomic_store_release_ $width _ $scope>](ptr, val),
                        Relaxed => intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val),
                        _ => panic!("an atomic store cannot acquire"),
                    }
                }
            }
        }
    };
}

every_scope! { load_store! { 32 } }
every_scope! { load_store! { 64 } }

macro_rules! fetch {
    ($scope:ident $operation:ident $number:ident $type:ident) => {
        paste! {
            #[doc = concat!(
                "Performs `", stringify!($operation), "` on an `", stringify!($type), "`, ",
                stringify!($scope), " scope, and returns the old value."
            )]
            #[doc = access_safety!()]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe { host::update(ptr, ordering, scope!($scope), |old| $number::$operation(old, val)) }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_ $operation _ $type _ $scope>](
                ptr: *mut $type,
                ordering: Ordering,
                val: $type,
            ) -> $type {
                // SAFETY: as the caller promises.
                unsafe {
                    match ordering {
                        Acquire => intrinsics::[<atomic_fetch_ $operation _acquire_ $type _ $scope>](ptr, val),
                        Release => intrinsics::[<atomic_fetch_ $operation _release_ $type _ $scope>](ptr, val),
                        AcqRel => intrinsics::[<atomic_fetch_ $operation _acqrel_ $type _ $scope>](ptr, val),
                        Relaxed => intrinsics::[<atomic_fetch_ $operation _relaxed_ $type _ $scope>](ptr, val),
                        // And whatever stronger ordering `core` may add.
                        _ => {
                            intrinsics::[<fence_sc_ $scope>]();
                            intrinsics::[<atomic_fetch_ $operation _acquire_ $type _ $scope>](ptr, val)
                        }
                    }
                }
            }
        }
    };
}

macro_rules! operations {
    ($($operation:ident of $number:ident: $($type:ident)*;)*) => {$($(
        every_scope! { fetch! { $operation $number $type } }
    )*)*};
}

operations! {
    and of Number: u32 u64 i32 i64 f32 f64;
    or of Number: u32 u64 i32 i64 f32 f64;
    xor of Number: u32 u64 i32 i64 f32 f64;
    add of Number: u32 u64 i32 i64 f32 f64;
    sub of Number: u32 u64 i32 i64 f32 f64;
    exch of Number: u32 u64 i32 i64 f32 f64;
    min of Integer: u32 u64 i32 i64;
    max of Integer: u32 u64 i32 i64;
}

macro_rules! compare_and_swap {
    ($scope:ident $type:ident) => {
        paste! {
            #[doc = concat!(
                "Stores `new` if the bits of the `", stringify!($type), "` are those of `current`, ",
                stringify!($scope), " scope, and returns the old value."
            )]
            #[doc = access_safety!()]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe { host::compare_and_swap(ptr, ordering, scope!($scope), current, new) }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_compare_and_swap_ $type _ $scope>](
                ptr: *mut $type,
                current: $type,
                new: $type,
                ordering: Ordering,
            ) -> $type {
                // SAFETY: as the caller promises.
                unsafe {
                    match ordering {
                        Acquire => intrinsics::[<atomic_fetch_cas_acquire_ $type _ $scope>](ptr, current, new),
                        Release => intrinsics::[<atomic_fetch_cas_release_ $type _ $scope>](ptr, current, new),
                        AcqRel => intrinsics::[<atomic_fetch_cas_acqrel_ $type _ $scope>](ptr, current, new),
                        Relaxed => intrinsics::[<atomic_fetch_cas_relaxed_ $type _ $scope>](ptr, current, new),
                        // And whatever stronger ordering `core` may add.
                        _ => {
                            intrinsics::[<fence_sc_ $scope>]();
                            intrinsics::[<atomic_fetch_cas_acquire_ $type _ $scope>](ptr, current, new)
                        }
                    }
                }
            }
        }
    };
}

every_scope! { compare_and_swap! { u32 } }
every_scope! { compare_and_swap! { u64 } }
every_scope! { compare_and_swap! { i32 } }
every_scope! { compare_and_swap! { i64 } }
every_scope! { compare_and_swap! { f32 } }
every_scope! { compare_and_swap! { f64 } }

/// A bounded step: one instruction on the GPU, `$next` of the old value and the bound on the host.
macro_rules! bounded {
    ($(#[$doc:meta])* $name:ident, $instruction:literal, |$old:ident, $bound:ident| $next:expr) => {
        $(#[$doc])*
        #[doc = access_safety!()]
        #[gpu_only(sim = {
            // SAFETY: as the caller promises.
            unsafe { host::update(ptr, Ordering::Relaxed, scope!(device), |$old: u32| $next) }
        })]
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut u32, $bound: u32) -> u32 {
            let old;
            // SAFETY: as the caller promises.
            unsafe {
                core::arch::asm!(
                    concat!("atom.relaxed.gpu.", $instruction, ".u32 {}, [{}], {};"),
                    out(reg32) old,
                    in(reg64) ptr,
                    in(reg32) $bound,
                    options(nostack, preserves_flags),
                );
            }
            old
        }
    };
}

bounded! {
    /// Adds 1, or stores 0 where the value is `bound` or more, and returns the old value: relaxed, device scope (CUDA's
    /// `atomicInc`).
    atomic_inc_bounded_relaxed_u32_device, "inc", |old, bound| if old >= bound { 0 } else { old + 1 }
}
bounded! {
    /// Subtracts 1, or stores `bound` where the value is 0 or more than `bound`, and returns the old value: relaxed,
    /// device scope (CUDA's `atomicDec`).
    atomic_dec_bounded_relaxed_u32_device, "dec", |old, bound| if old == 0 || old > bound { bound } else { old - 1 }
}
