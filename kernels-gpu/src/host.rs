//! The kernels as functions of the host, for the simulator: found by their symbol, as the driver finds them in PTX.

use cuda_sim::device::find_kernel;
use tilewright_contract::GemmParams;

use crate::ptx::tensor_map::TensorMap;

/// A kernel with elements of `E`: one of the two signatures that there are.
#[derive(Clone, Copy, Debug)]
pub enum EntryPoint<E> {
    /// The parameters alone.
    Params(unsafe fn(&GemmParams<E>)),
    /// The parameters and tensor maps of A, B and C.
    ParamsAndMaps(unsafe fn(&GemmParams<E>, &TensorMap, &TensorMap, &TensorMap)),
}

impl<E> EntryPoint<E> {
    /// Calls the kernel as one thread.
    ///
    /// # Panics
    /// If it takes tensor maps and there are none.
    ///
    /// # Safety
    /// As for the kernel. The caller is a thread of a simulated launch.
    #[inline(always)]
    pub unsafe fn call(self, params: &GemmParams<E>, maps: Option<&[TensorMap; 3]>) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Params(kernel) => kernel(params),
                Self::ParamsAndMaps(kernel) => {
                    let [a, b, c] = maps.expect("the kernel takes tensor maps");
                    kernel(params, a, b, c);
                }
            }
        }
    }
}

/// The kernel of this symbol with elements of `E`, of this crate or any other that the program links; `None` where
/// there is none.
pub fn find<E: 'static>(symbol: &str) -> Option<EntryPoint<E>> {
    let with_maps = || find_kernel(symbol).map(EntryPoint::ParamsAndMaps);
    find_kernel(symbol).map(EntryPoint::Params).or_else(with_maps)
}
