// What all programs use. The same text is compiled for the host and for the device.

/// A value as a word to compare.
pub trait Word {
    fn word(self) -> u64;
}

macro_rules! integer_words {
    ($($ty:ty)*) => {
        $(impl Word for $ty {
            #[inline]
            fn word(self) -> u64 {
                self as u64
            }
        })*
    };
}
integer_words!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize bool char);

impl Word for u128 {
    #[inline]
    fn word(self) -> u64 {
        (self as u64) ^ ((self >> 64) as u64).rotate_left(17)
    }
}

impl Word for i128 {
    #[inline]
    fn word(self) -> u64 {
        (self as u128).word()
    }
}

// The sign and the payload of a NaN are the hardware's choice.
impl Word for f32 {
    #[inline]
    fn word(self) -> u64 {
        if self.is_nan() { 0x7fc0_0000 } else { self.to_bits() as u64 }
    }
}

impl Word for f64 {
    #[inline]
    fn word(self) -> u64 {
        if self.is_nan() { 0x7ff8_0000_0000_0000 } else { self.to_bits() }
    }
}

/// Operations of floats that `core` does not have.
pub trait Float: Copy {
    fn root(self) -> Self;
    fn fused(self, b: Self, c: Self) -> Self;
}

macro_rules! floats {
    ($($ty:ty)*) => {
        $(impl Float for $ty {
            #[inline]
            fn root(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return cuda_std::GpuFloat::sqrt(self);
                #[cfg(not(target_arch = "nvptx64"))]
                return self.sqrt();
            }
            #[inline]
            fn fused(self, b: Self, c: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return cuda_std::GpuFloat::mul_add(self, b, c);
                #[cfg(not(target_arch = "nvptx64"))]
                return self.mul_add(b, c);
            }
        })*
    };
}
floats!(f32 f64);

/// Threads of a block, each with its own part of a shared array.
pub const BLOCK: usize = 32;

/// `shared!(name: [T; N])`: a `&mut [T; N]` into shared memory on the device, into a local array on the host.
#[cfg(target_arch = "nvptx64")]
macro_rules! shared {
    ($name:ident: [$ty:ty; $len:expr]) => {
        let $name: &mut [$ty; $len] = unsafe {
            let base: *mut $ty = cuda_std::shared_array![$ty; $len * $crate::BLOCK];
            let mine = base.add($len * cuda_std::thread::thread_idx_x() as usize) as *mut [$ty; $len];
            *mine = [<$ty>::default(); $len];
            &mut *mine
        };
    };
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! shared {
    ($name:ident: [$ty:ty; $len:expr]) => {
        let mut memory = [<$ty>::default(); $len];
        let $name: &mut [$ty; $len] = &mut memory;
    };
}

/// `constant!(NAME: T = value)`: a static in constant memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! constant {
    ($name:ident: $ty:ty = $value:expr) => {
        #[cuda_std::address_space(constant)]
        static $name: $ty = $value;
    };
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! constant {
    ($name:ident: $ty:ty = $value:expr) => {
        static $name: $ty = $value;
    };
}
