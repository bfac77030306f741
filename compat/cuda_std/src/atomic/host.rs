//! Atomic operations of the host: the simulator's in a launch, `core`'s outside of one.

use core::sync::atomic::Ordering;
use cuda_sim::device::{self, AtomicWord, Scope};

/// A number as the word that holds its bits, and the operations on it.
pub trait Number: Copy {
    /// The unsigned integer of the same size.
    type Word: AtomicWord;
    /// The bits.
    fn to_word(self) -> Self::Word;
    /// The number of these bits.
    fn from_word(word: Self::Word) -> Self;
    /// The bits that both have.
    fn and(self, val: Self) -> Self;
    /// The bits that either has.
    fn or(self, val: Self) -> Self;
    /// The bits that one of them has.
    fn xor(self, val: Self) -> Self;
    /// The sum, wrapping.
    fn add(self, val: Self) -> Self;
    /// The difference, wrapping.
    fn sub(self, val: Self) -> Self;
    /// The second.
    fn exch(self, val: Self) -> Self {
        val
    }
}

/// The operations that only integers have.
pub trait Integer: Number {
    /// The smaller one.
    fn min(self, val: Self) -> Self;
    /// The larger one.
    fn max(self, val: Self) -> Self;
    /// The next number, wrapping.
    fn inc(self) -> Self;
    /// The number before, wrapping.
    fn dec(self) -> Self;
}

macro_rules! integers {
    ($($type:ident as $word:ident;)*) => {$(
        impl Number for $type {
            type Word = $word;
            fn to_word(self) -> $word {
                self as $word
            }
            fn from_word(word: $word) -> Self {
                word as $type
            }
            fn and(self, val: Self) -> Self {
                self & val
            }
            fn or(self, val: Self) -> Self {
                self | val
            }
            fn xor(self, val: Self) -> Self {
                self ^ val
            }
            fn add(self, val: Self) -> Self {
                self.wrapping_add(val)
            }
            fn sub(self, val: Self) -> Self {
                self.wrapping_sub(val)
            }
        }

        impl Integer for $type {
            fn min(self, val: Self) -> Self {
                Ord::min(self, val)
            }
            fn max(self, val: Self) -> Self {
                Ord::max(self, val)
            }
            fn inc(self) -> Self {
                self.wrapping_add(1)
            }
            fn dec(self) -> Self {
                self.wrapping_sub(1)
            }
        }
    )*};
}

integers! {
    u32 as u32;
    u64 as u64;
    i32 as u32;
    i64 as u64;
}

macro_rules! floats {
    ($($type:ident as $word:ident;)*) => {$(
        impl Number for $type {
            type Word = $word;
            fn to_word(self) -> $word {
                self.to_bits()
            }
            fn from_word(word: $word) -> Self {
                $type::from_bits(word)
            }
            fn and(self, val: Self) -> Self {
                $type::from_bits(self.to_bits() & val.to_bits())
            }
            fn or(self, val: Self) -> Self {
                $type::from_bits(self.to_bits() | val.to_bits())
            }
            fn xor(self, val: Self) -> Self {
                $type::from_bits(self.to_bits() ^ val.to_bits())
            }
            fn add(self, val: Self) -> Self {
                self + val
            }
            fn sub(self, val: Self) -> Self {
                self - val
            }
        }
    )*};
}

floats! {
    f32 as u32;
    f64 as u64;
}

/// Replaces a number by `operation` of it and returns the old one.
///
/// # Safety
///
/// `ptr` must be valid for the access and aligned to its size, and all threads that access it at the same time must do
/// so atomically.
#[track_caller]
pub unsafe fn update<T: Number>(ptr: *mut T, order: Ordering, scope: Scope, operation: impl Fn(T) -> T) -> T {
    let operation = |old| operation(T::from_word(old)).to_word();
    // SAFETY: as the caller promises; the word has the number's size.
    T::from_word(unsafe { device::atomic_update(ptr.cast::<T::Word>(), order, scope, operation) })
}

/// Stores `new` where the bits are those of `expected`, and returns the old number.
///
/// # Safety
///
/// As for [`update`].
#[track_caller]
pub unsafe fn compare_and_swap<T: Number>(ptr: *mut T, order: Ordering, scope: Scope, expected: T, new: T) -> T
where
    T::Word: PartialEq,
{
    let (expected, new) = (expected.to_word(), new.to_word());
    let operation = |old| if old == expected { new } else { old };
    // SAFETY: as the caller promises; the word has the number's size.
    T::from_word(unsafe { device::atomic_update(ptr.cast::<T::Word>(), order, scope, operation) })
}

/// Loads a word.
///
/// # Safety
///
/// As for [`update`].
#[track_caller]
pub unsafe fn load<W: AtomicWord>(ptr: *const W, order: Ordering, scope: Scope) -> W {
    // A simulator and `core` may word it differently; this is what the GPU's form says.
    if let Ordering::Release | Ordering::AcqRel = order {
        panic!("an atomic load cannot release");
    }
    // SAFETY: as the caller promises.
    unsafe { device::atomic_load(ptr, order, scope) }
}

/// Stores a word.
///
/// # Safety
///
/// As for [`update`].
#[track_caller]
pub unsafe fn store<W: AtomicWord>(ptr: *mut W, order: Ordering, scope: Scope, val: W) {
    if let Ordering::Acquire | Ordering::AcqRel = order {
        panic!("an atomic store cannot acquire");
    }
    // SAFETY: as the caller promises.
    unsafe { device::atomic_store(ptr, val, order, scope) }
}

/// A fence, which `Relaxed` is not.
#[track_caller]
pub fn fence(order: Ordering, scope: Scope) {
    if order != Ordering::Relaxed {
        device::fence(order, scope);
    }
}

/// PTX's qualifiers by the names that the functions carry.
macro_rules! scope {
    (block) => {
        ::cuda_sim::device::Scope::Block
    };
    (device) => {
        ::cuda_sim::device::Scope::Device
    };
    (system) => {
        ::cuda_sim::device::Scope::System
    };
}

/// The orderings by the names that the functions carry.
macro_rules! order {
    (relaxed) => {
        ::core::sync::atomic::Ordering::Relaxed
    };
    (acquire) => {
        ::core::sync::atomic::Ordering::Acquire
    };
    (release) => {
        ::core::sync::atomic::Ordering::Release
    };
    (acqrel) => {
        ::core::sync::atomic::Ordering::AcqRel
    };
    // A volatile access names no ordering and so is relaxed.
    (volatile) => {
        ::core::sync::atomic::Ordering::Relaxed
    };
}

pub(crate) use {order, scope};
