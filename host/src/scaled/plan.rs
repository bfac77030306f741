//! What simulator and launch take from a plan.

use std::fmt;
use std::ptr::null;

use bytemuck::Pod;
use cuda_sim::GlobalBuffer;
use kernels_gpu::ptx::tensor_map::{TensorMap, TensorMapParts};
use tilewright_contract::{Batch, DType, GemmArgs, GemmParams};

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

/// Whether a launch reads an array of `u32`, one for each product: where each group of rows ends, or how many rows of
/// each product count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupEnds {
    /// It does not.
    None,
    /// It does where there is one; without, all rows count.
    Optional,
    /// It does.
    Needed,
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
    /// The products, and elements from the operands of one to those of the next.
    pub batch: Batch,
    /// Whether it reads where groups end, or how many rows of each product count.
    pub group_ends: GroupEnds,
    /// Rows of A and C, and columns of B, of all products.
    pub rows: [usize; 2],
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
    /// Bytes of the scales of A and of B, of all products.
    pub scale_bytes: [usize; 2],
    /// What their addresses are multiples of, in bytes.
    pub scale_alignment_bytes: [usize; 2],
}

impl ScaledLaunch {
    /// Parameters with C at this address, alpha 1 and beta 0; A and B are read by their maps.
    pub(crate) fn params<E>(&self, c: *mut E, group_ends: *const u32) -> GemmParams<E> {
        let [stride_a, stride_b, stride_c] = self.batch.strides;
        GemmParams {
            group_ends,
            stride_a,
            stride_b,
            stride_c,
            batch: self.batch.count,
            ..GemmParams::product(null(), null(), c, self.args)
        }
    }

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
