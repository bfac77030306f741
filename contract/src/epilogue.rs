//! Epilogue of the tensor-core kernels.

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
