//! What the published crate's main branch has beyond 0.3.0.

use std::fs;
use std::path::Path;

use crate::CudaBuilder;
use crate::backend::OPTIMIZED_IR;
use crate::error::CudaBuilderError;

/// A memory that the published crate's main branch places statics in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySpace {
    /// Global memory.
    Global,
    /// Constant memory: 64 KiB, with a cache of its own.
    Constant,
}

/// Options of the published crate's main branch.
impl CudaBuilder {
    /// The approximations of nvcc's `--use_fast_math`: [`ftz`](Self::ftz), [`fast_sqrt`](Self::fast_sqrt),
    /// [`fast_div`](Self::fast_div), and [`fma_contraction`](Self::fma_contraction). `false` leaves all as they are.
    pub fn fast_math(mut self, fast_math: bool) -> Self {
        if fast_math {
            self.ftz = true;
            self.fast_sqrt = true;
            self.fast_div = true;
            self.fma_contraction = true;
        }
        self
    }

    /// Also write the optimised LLVM IR of the whole module to `path`, as text.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Accepted without effect: there it places statics without an attribute in constant memory, here they stay in
    /// global memory, which holds them all and gives the same results. `#[address_space(constant)]` places a static.
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.use_constant_memory_space = use_constant_memory_space;
        self
    }

    /// Accepted without effect, as [`use_constant_memory_space`](Self::use_constant_memory_space): the memory of the
    /// static at a path.
    pub fn place_static(mut self, path: &str, space: MemorySpace) -> Self {
        self.static_memory_overrides.push((path.to_owned(), space));
        self
    }

    /// Accepted without effect, as [`use_constant_memory_space`](Self::use_constant_memory_space): the memory of a
    /// crate's statics.
    pub fn crate_memory_space(mut self, crate_name: &str, space: MemorySpace) -> Self {
        self.crate_memory_overrides.push((crate_name.to_owned(), space));
        self
    }
}

/// Writes the module that the PTX was made of to `path`, as text.
pub(crate) fn write_module(scratch: &Path, path: &Path) -> Result<(), CudaBuilderError> {
    fs::copy(scratch.join(OPTIMIZED_IR), path).map_err(CudaBuilderError::io(path))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_math_sets_what_nvcc_sets_and_takes_nothing_back() {
        let fast = CudaBuilder::new("x").fma_contraction(false).fast_math(true);
        assert!(fast.ftz && fast.fast_sqrt && fast.fast_div && fast.fma_contraction);
        let kept = CudaBuilder::new("x").ftz(true).fast_math(false);
        assert!(kept.ftz && !kept.fast_sqrt && !kept.fast_div);
    }
}
