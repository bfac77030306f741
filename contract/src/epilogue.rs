//! What a tensor-core kernel does with its sums before it stores them.

/// A function of each element, applied last.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// The element itself.
    #[default]
    None = 0,
    /// `max(x, 0)`, NaN for NaN.
    Relu = 1,
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`: the approximation by tanh of Hendrycks and Gimpel,
    /// "Gaussian Error Linear Units", which is also cuBLASLt's.
    Gelu = 2,
}

/// The type of C's elements.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Output {
    /// That of A and B.
    #[default]
    Same = 0,
    /// f32.
    F32 = 1,
}

/// `C = activation(alpha * A * B + beta * C + bias)`, all in f32, then rounded once: the bias, the activation and the
/// type of C.
///
/// A kernel parameter; `bias` is an address in global memory, of n elements of the type of A and B, one for each column
/// of C, or null for none.
#[repr(C)]
#[derive(Debug, PartialEq, Eq)]
pub struct Epilogue<E> {
    /// One element for each column of C, or null.
    pub bias: *const E,
    /// Applied to each element at last.
    pub activation: Activation,
    /// What C consists of.
    pub output: Output,
}

impl<E> Epilogue<E> {
    /// No bias, no activation, C of the type of A and B.
    pub const PLAIN: Self = Self {
        bias: core::ptr::null(),
        activation: Activation::None,
        output: Output::Same,
    };
}

impl<E> Clone for Epilogue<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Epilogue<E> {}
