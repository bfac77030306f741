//! One function for each atomic instruction of PTX, named by what it does: `atomic_fetch_add_relaxed_f32_device`.
//!
//! - Loads and stores (PTX 9.7.9.8 `ld`, 9.7.9.11 `st`): `atomic_load_{relaxed, acquire, volatile}_{32, 64}_{scope}`,
//!   `atomic_store_{relaxed, release, volatile}_{32, 64}_{scope}`.
//! - Read-modify-write (PTX 9.7.13.5 `atom`), each returning the old value:
//!   `atomic_fetch_{operation}_{ordering}_{type}_{scope}` with the operations `and`, `or`, `xor`, `add`, `sub`, `exch`,
//!   `cas` on `u32`, `u64`, `i32`, `i64`, `f32`, `f64` and `min`, `max`, `inc`, `dec` on the integers; with the
//!   orderings `relaxed`, `acquire`, `release`, `acqrel`, and `volatile`, which names no ordering and so is relaxed.
//! - Fences (PTX 9.7.13.4): `fence_sc_{scope}`, `fence_acqrel_{scope}`, `membar_{scope}`.
//!
//! The scope is the set of threads among which the access is atomic: `block`, `device` or `system` (the host and other
//! GPUs too). Orderings and scopes exist since compute capability 7.0.
//!
//! `and`, `or`, `xor`, `exch` and `cas` on floating-point numbers work on their bits. `inc` and `dec` add and subtract
//! 1, wrapping. `sub` adds the negative, for PTX has no subtraction.

#[cfg(not(target_arch = "nvptx64"))]
use super::host::{self, Integer, Number, order, scope};
use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic::Ordering;
use pastey::paste;

macro_rules! fences {
    ($($name:ident, $order:ident $scope:ident, $instruction:literal, $what:literal;)*) => {$(
        #[doc = concat!($what, " (PTX 9.7.13.4, `", $instruction, "`).")]
        ///
        /// # Safety
        ///
        /// None is needed: the function is unsafe as the published one is.
        #[gpu_only(sim = { host::fence(Ordering::$order, scope!($scope)) })]
        #[inline(always)]
        pub unsafe fn $name() {
            // SAFETY: a fence accesses no memory of its own.
            unsafe { asm!(concat!($instruction, ";"), options(nostack, preserves_flags)) };
        }
    )*};
}

fences! {
    membar_block, SeqCst block, "membar.cta", "A fence among the threads of the block";
    membar_device, SeqCst device, "membar.gl", "A fence among the threads of the GPU";
    membar_system, SeqCst system, "membar.sys", "A fence among all threads of host and GPUs";
    fence_sc_block, SeqCst block, "fence.sc.cta", "A sequentially consistent fence among the threads of the block";
    fence_sc_device, SeqCst device, "fence.sc.gpu", "A sequentially consistent fence among the threads of the GPU";
    fence_sc_system, SeqCst system, "fence.sc.sys",
        "A sequentially consistent fence among all threads of host and GPUs";
    fence_acqrel_block, AcqRel block, "fence.acq_rel.cta",
        "An acquire and release fence among the threads of the block";
    fence_acqrel_device, AcqRel device, "fence.acq_rel.gpu",
        "An acquire and release fence among the threads of the GPU";
    fence_acqrel_system, AcqRel system, "fence.acq_rel.sys",
        "An acquire and release fence among all threads of host and GPUs";
}

/// Calls `$make!` once for each scope, which it gets in front of its arguments: the name, and PTX's qualifier.
macro_rules! every_scope {
    ($make:ident! { $($arguments:tt)* }) => {
        $make! { block ".cta" $($arguments)* }
        $make! { device ".gpu" $($arguments)* }
        $make! { system ".sys" $($arguments)* }
    };
}

/// The `# Safety` section of an access.
macro_rules! access_safety {
    ($width:literal) => {
        concat!(
            "\n\n# Safety\n\n- `ptr` must be valid for the access and aligned to its ",
            $width,
            " bits.\n- Threads outside the scope must not access the memory at the same time."
        )
    };
}

macro_rules! load {
    ($scope:ident $scope_ptx:literal $order:ident $sem:literal $width:literal) => {
        paste! {
            #[doc = concat!(
                "Loads ", $width, " bits: ", stringify!($order), ", ", stringify!($scope), " scope.",
                access_safety!($width)
            )]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe { host::load(ptr, order!($order), access_scope!($order $scope)) }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_load_ $order _ $width _ $scope>](ptr: *const [<u $width>]) -> [<u $width>] {
                let value;
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("ld", qualified!($sem $scope_ptx), ".u", $width, " {}, [{}];"),
                        out([<reg $width>]) value,
                        in(reg64) ptr,
                        options(nostack, preserves_flags),
                    );
                }
                value
            }
        }
    };
}

macro_rules! store {
    ($scope:ident $scope_ptx:literal $order:ident $sem:literal $width:literal) => {
        paste! {
            #[doc = concat!(
                "Stores ", $width, " bits: ", stringify!($order), ", ", stringify!($scope), " scope.",
                access_safety!($width)
            )]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe { host::store(ptr, order!($order), access_scope!($order $scope), val) }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_store_ $order _ $width _ $scope>](ptr: *mut [<u $width>], val: [<u $width>]) {
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("st", qualified!($sem $scope_ptx), ".u", $width, " [{}], {};"),
                        in(reg64) ptr,
                        in([<reg $width>]) val,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    };
}

/// The ordering and scope of a load or store: a volatile one has no scope (PTX treats it as relaxed at system scope).
#[cfg(target_arch = "nvptx64")]
macro_rules! qualified {
    (".volatile" $scope_ptx:literal) => {
        ".volatile"
    };
    ($sem:literal $scope_ptx:literal) => {
        concat!($sem, $scope_ptx)
    };
}

/// The same on the host.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! access_scope {
    (volatile $scope:ident) => {
        scope!(system)
    };
    ($order:ident $scope:ident) => {
        scope!($scope)
    };
}

every_scope! { load! { relaxed ".relaxed" 32 } }
every_scope! { load! { relaxed ".relaxed" 64 } }
every_scope! { load! { acquire ".acquire" 32 } }
every_scope! { load! { acquire ".acquire" 64 } }
every_scope! { load! { volatile ".volatile" 32 } }
every_scope! { load! { volatile ".volatile" 64 } }
every_scope! { store! { relaxed ".relaxed" 32 } }
every_scope! { store! { relaxed ".relaxed" 64 } }
every_scope! { store! { release ".release" 32 } }
every_scope! { store! { release ".release" 64 } }
every_scope! { store! { volatile ".volatile" 32 } }
every_scope! { store! { volatile ".volatile" 64 } }

/// A read-modify-write function. `$operand` is its second parameter, if any; `$value` what the instruction gets.
/// `$number` is the trait of the host's operation.
macro_rules! fetch {
    (
        $scope:ident $scope_ptx:literal $order:ident $sem:literal
        $number:ident $operation:ident $type:ident $width:literal $ptx:literal ($($operand:ident)?) $value:expr
    ) => {
        paste! {
            #[doc = concat!(
                "Performs `", stringify!($operation), "` on an `", stringify!($type), "` and returns the old value: ",
                stringify!($order), ", ", stringify!($scope), " scope.", access_safety!($width)
            )]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe {
                    host::update(ptr, order!($order), scope!($scope), |old| $number::$operation(old $(, $operand)?))
                }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_ $operation _ $order _ $type _ $scope>](
                ptr: *mut $type
                $(, $operand: $type)?
            ) -> $type {
                let old;
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("atom", $sem, $scope_ptx, ".", $ptx, $width, " {}, [{}], {};"),
                        out([<reg $width>]) old,
                        in(reg64) ptr,
                        in([<reg $width>]) $value,
                        options(nostack, preserves_flags),
                    );
                }
                old
            }
        }
    };
}

macro_rules! compare_and_swap {
    ($scope:ident $scope_ptx:literal $order:ident $sem:literal $type:ident $width:literal) => {
        paste! {
            #[doc = concat!(
                "Stores `new` if the bits of the `", stringify!($type), "` are those of `expected`, and returns the \
old ",
                "value: ", stringify!($order), ", ", stringify!($scope), " scope.", access_safety!($width)
            )]
            #[gpu_only(sim = {
                // SAFETY: as the caller promises.
                unsafe { host::compare_and_swap(ptr, order!($order), scope!($scope), expected, new) }
            })]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_cas_ $order _ $type _ $scope>](
                ptr: *mut $type,
                expected: $type,
                new: $type,
            ) -> $type {
                let old;
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("atom", $sem, $scope_ptx, ".cas.b", $width, " {}, [{}], {}, {};"),
                        out([<reg $width>]) old,
                        in(reg64) ptr,
                        in([<reg $width>]) expected,
                        in([<reg $width>]) new,
                        options(nostack, preserves_flags),
                    );
                }
                old
            }
        }
    };
}

/// Calls `$make!` once for each scope and ordering of a read-modify-write.
macro_rules! every_scope_and_ordering {
    ($make:ident! { $($arguments:tt)* }) => {
        every_scope! { $make! { relaxed ".relaxed" $($arguments)* } }
        every_scope! { $make! { acquire ".acquire" $($arguments)* } }
        every_scope! { $make! { release ".release" $($arguments)* } }
        every_scope! { $make! { acqrel ".acq_rel" $($arguments)* } }
        every_scope! { $make! { volatile "" $($arguments)* } }
    };
}

/// The operations that every type has. The literals are operation and kind of type; the width completes them:
/// `add.u32`.
macro_rules! operations {
    ($($type:ident $width:literal, add $add:literal, |$val:ident| $negative:expr;)*) => {$(
        every_scope_and_ordering! { fetch! { Number and $type $width "and.b" (val) val } }
        every_scope_and_ordering! { fetch! { Number or $type $width "or.b" (val) val } }
        every_scope_and_ordering! { fetch! { Number xor $type $width "xor.b" (val) val } }
        every_scope_and_ordering! { fetch! { Number exch $type $width "exch.b" (val) val } }
        every_scope_and_ordering! { fetch! { Number add $type $width $add (val) val } }
        every_scope_and_ordering! { fetch! { Number sub $type $width $add ($val) $negative } }
        every_scope_and_ordering! { compare_and_swap! { $type $width } }
    )*};
}

operations! {
    // Two's complement: signed and unsigned addition are one instruction.
    u32 32, add "add.u", |val| val.wrapping_neg();
    u64 64, add "add.u", |val| val.wrapping_neg();
    i32 32, add "add.u", |val| val.wrapping_neg();
    i64 64, add "add.u", |val| val.wrapping_neg();
    f32 32, add "add.f", |val| -val;
    f64 64, add "add.f", |val| -val;
}

/// The operations that only integers have.
macro_rules! integer_operations {
    ($($type:ident $width:literal, $min:literal, $max:literal;)*) => {$(
        every_scope_and_ordering! { fetch! { Integer min $type $width $min (val) val } }
        every_scope_and_ordering! { fetch! { Integer max $type $width $max (val) val } }
        // PTX's own `inc` and `dec` wrap at a bound that these functions have no parameter for.
        every_scope_and_ordering! { fetch! { Integer inc $type $width "add.u" () 1 as $type } }
        every_scope_and_ordering! { fetch! { Integer dec $type $width "add.u" () (1 as $type).wrapping_neg() } }
    )*};
}

integer_operations! {
    u32 32, "min.u", "max.u";
    u64 64, "min.u", "max.u";
    i32 32, "min.s", "max.s";
    i64 64, "min.s", "max.s";
}
