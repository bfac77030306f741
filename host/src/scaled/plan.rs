//! What simulator and launch take from a plan.

use std::fmt;

use bytemuck::Pod;
use cuda_sim::GlobalBuffer;
use kernels_gpu::ptx::tensor_map::{TensorMap, TensorMapParts};
use tilewright_contract::{DType, GemmArgs};

use super::{ScaledGemm, ScaledMatrix, sealed};
use crate::element::Element;
use crate::error::{Error, Result};

/// A plan of a product of matrices with scales: [`block_scaled::Plan`](crate::block_scaled::Plan) or
/// [`fp8::Plan`](crate::fp8::Plan). Its kernels take [`GemmParams`](tilewright_contract::GemmParams), parameters of
/// their own, and four tensor maps.
pub trait ScaledPlan: Copy + Sync + fmt::Debug + sealed::Sealed {
    /// The operands.
    type Matrix: ScaledMatrix;
    /// An element of the array of scales, as the kernel loads it.
    type Scale: Pod;
    /// The kernel's own parameters.
    type Params: 'static;

    /// Whether every thread of the kernel waits for the launches before it, which so may end later (PDL).
    const WAITS: bool;

    /// Refuses a problem other than the one that the plan was made for.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with what both are.
    fn check<E: Element<Accumulator = f32>>(&self, gemm: &ScaledGemm<'_, Self::Matrix, E>) -> Result<()>;

    /// The launch in numbers.
    fn launch(&self) -> ScaledLaunch;

    /// The kernel's own parameters; `scales` are those of A and B.
    fn params(&self, scales: [*const Self::Scale; 2]) -> Self::Params;

    /// The tensor maps in the order of the entry point, each made by `encode`; `c` is the type of C.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an address that is no multiple of 16; those of `encode`.
    fn maps(
        &self,
        addresses: Addresses,
        c: DType,
        encode: impl Fn(&TensorMapParts) -> Result<TensorMap>,
    ) -> Result<[TensorMap; 4]>;

    /// The scales in the simulator's global memory.
    fn simulated_scales(matrix: &Self::Matrix) -> GlobalBuffer<Self::Scale>;
}

/// A launch in numbers.
#[derive(Clone, Copy, Debug)]
pub struct ScaledLaunch {
    /// The entry point.
    pub symbol: &'static str,
    /// The type of the bias, and of C where it is not of f32.
    pub output: DType,
    /// M, N and K.
    pub extents: [usize; 3],
    /// Extents and leading dimensions, in elements.
    pub args: GemmArgs,
    /// CTAs of the grid, along x.
    pub ctas: u32,
    /// CTAs of a cluster, along x.
    pub cluster: u32,
    /// Threads of a CTA.
    pub threads: u32,
    /// Dynamic shared memory of a CTA, in bytes.
    pub dynamic_bytes: u32,
    /// Bytes of a row of A or B.
    pub row_bytes: usize,
    /// Bytes of the scales of A and of B.
    pub scale_bytes: [usize; 2],
    /// What their addresses are multiples of, in bytes.
    pub scale_alignment_bytes: [usize; 2],
}

impl ScaledLaunch {
    /// Refuses a bias, and a C that is not f32, of another type than the kernel's.
    pub(crate) fn check_output(&self, output: DType) -> Result<()> {
        if self.output == output {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "{} has C and bias of {}, not {output}",
            self.symbol, self.output
        )))
    }
}

/// Where the operands are.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Elements of A and of B.
    pub data: [u64; 2],
    /// Their scales.
    pub scales: [u64; 2],
    /// C.
    pub c: u64,
}
