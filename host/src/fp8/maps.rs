//! The tensor maps of a product, for the driver and for the simulator.

use kernels_gpu::ptx::tensor_map::{Planes, TensorElement, TensorMap, TensorMapParts, TensorSwizzle};
use tilewright_contract::{DType, Fp8Mode, Major, WgmmaTile};

use super::Plan;
use crate::error::{Error, Result};
use crate::scaled::Addresses;

/// What addresses and the distances of rows are multiples of, in bytes (CUDA driver API, `cuTensorMapEncodeTiled`).
const UNIT: u64 = 16;

/// The maps of A, B, C and the scales of A, each made by `encode`; `c` is the type of C. Where C is of f32, or not
/// aligned as a map asks for, the third is A's: the kernel sees so and stores without. Without scales in the stages the
/// fourth is, too.
///
/// # Errors
/// [`Error::InvalidArgument`] for an address that is no multiple of 16; those of `encode`.
pub(super) fn maps(
    plan: &Plan,
    addresses: Addresses,
    c: DType,
    encode: impl Fn(&TensorMapParts) -> Result<TensorMap>,
) -> Result<[TensorMap; 4]> {
    let tile = plan.kernel().tile;
    let args = plan.args();
    let [m, n, k] = plan.extents().map(|extent| extent as u64);
    let [a_rows, b_rows, c_rows] = tile.box_rows([Major::K; 2], [args.m, args.n]);
    let products = plan.problem().products;
    let [a_planes, b_planes] = [products.matrices(), products.count()];
    // A plane for each matrix. One is as far from the next, which is not there, as a row.
    let planes = |count: u32, rows: u64, row_bytes: u64| {
        let stride_bytes = if count > 1 { rows * row_bytes } else { row_bytes };
        Some(Planes {
            count: u64::from(count),
            stride_bytes,
        })
    };
    let of_data = |at: usize, [count, box_rows]: [u32; 2], rows: u64| TensorMapParts {
        address: addresses.data[at],
        extents: [k, rows],
        stride_bytes: k,
        planes: planes(count, rows, k),
        box_extents: [tile.k, box_rows],
        element: TensorElement::U8,
        swizzle: TensorSwizzle::Bytes128,
    };
    let map = |what: &str, parts: TensorMapParts| {
        let checked = parts.check();
        checked.map_err(|error| Error::InvalidArgument(format!("the tensor map of {what}: {error}")))?;
        encode(&parts)
    };
    let of_a = map("A", of_data(0, [a_planes, a_rows], m))?;
    let of_b = map("B", of_data(1, [b_planes, b_rows], n))?;
    let row_bytes = n * u64::from(plan.kernel().output.size_bytes());
    let is_aligned = addresses.c.is_multiple_of(UNIT) && row_bytes.is_multiple_of(UNIT);
    let of_c = if c == plan.kernel().output && is_aligned {
        let parts = TensorMapParts {
            address: addresses.c,
            extents: [n, m],
            stride_bytes: row_bytes,
            planes: planes(a_planes, m, row_bytes),
            box_extents: [tile.c_columns(), c_rows],
            element: match c {
                DType::F16 => TensorElement::F16,
                _ => TensorElement::Bf16,
            },
            swizzle: match tile.c_columns() {
                WgmmaTile::SWIZZLE_ATOM => TensorSwizzle::Bytes128,
                _ => TensorSwizzle::None,
            },
        };
        map("C", parts)?
    } else {
        of_a
    };
    let of_scales = if plan.kernel().mode == Fp8Mode::Blocks {
        let layout = plan.scale_layouts()[0];
        let parts = TensorMapParts {
            address: addresses.scales[0],
            extents: [layout.columns as u64, layout.lines as u64 * u64::from(a_planes)],
            stride_bytes: 4 * layout.ld as u64,
            planes: None,
            box_extents: [plan.kernel().mode.scale_rows(tile), 1],
            element: TensorElement::F32,
            swizzle: TensorSwizzle::None,
        };
        map("the scales of A", parts)?
    } else {
        of_a
    };
    Ok([of_a, of_b, of_c, of_scales])
}
