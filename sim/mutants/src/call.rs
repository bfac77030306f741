//! Calling a kernel with arguments that are data.

use tilewright_contract::{Bytes, GemmArgs, TileParts};

/// An argument of a launch in the simulator.
#[derive(Clone, Debug)]
pub enum Value {
    /// A value of one or more 32-bit words.
    Words(Vec<u32>),
    /// The address of a buffer.
    Address(*mut u8),
}

// SAFETY: an address is given to kernels, which are unsafe to call.
unsafe impl Sync for Value {}

impl Value {
    /// The argument as the kernel's parameter has it.
    pub(crate) fn get<P: Parameter>(&self) -> P {
        P::from_value(self).unwrap_or_else(|| {
            panic!(
                "the case has {self:?} where the kernel takes a {}",
                std::any::type_name::<P>()
            )
        })
    }
}

/// A kernel, called with the arguments of its case.
///
/// Each is a closure over an unsafe call: whoever runs one answers for the arguments, as for a launch.
pub type Call = fn(&[Value]);

/// A type that kernels take.
pub(crate) trait Parameter: Sized {
    /// The parameter, if the value is of its form.
    fn from_value(value: &Value) -> Option<Self>;
}

impl<T> Parameter for *const T {
    fn from_value(value: &Value) -> Option<Self> {
        <*mut T>::from_value(value).map(<*mut T>::cast_const)
    }
}

impl<T> Parameter for *mut T {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Address(address) => Some(address.cast()),
            Value::Words(_) => None,
        }
    }
}

fn words<const N: usize>(value: &Value) -> Option<[u32; N]> {
    match value {
        Value::Words(words) => words.as_slice().try_into().ok(),
        Value::Address(_) => None,
    }
}

impl Parameter for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        words(value).map(|[word]| word)
    }
}

impl Parameter for GemmArgs {
    fn from_value(value: &Value) -> Option<Self> {
        words(value).map(|[m, n, k, lda, ldb, ldc]| GemmArgs { m, n, k, lda, ldb, ldc })
    }
}

impl Parameter for TileParts {
    fn from_value(value: &Value) -> Option<Self> {
        words(value).map(|[tile_width, a_part, b_part]| TileParts {
            tile_width,
            a_part: Bytes(a_part),
            b_part: Bytes(b_part),
        })
    }
}
