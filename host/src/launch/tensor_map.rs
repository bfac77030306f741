//! Tensor maps of the driver.

use std::ffi::c_void;
use std::sync::OnceLock;

use kernels_gpu::ptx::tensor_map::{TensorElement, TensorMap, TensorMapParts, TensorSwizzle};

use super::newer;
use crate::error::Result;

/// `cuTensorMapEncodeTiled`, with its enumerations as the integers that they are: the map, the type of the elements,
/// the rank, the address, the extents, the distances but the first, the box, the steps within a box, the interleaving,
/// the swizzle, the promotion to L2, what lies outside.
///
/// Source: CUDA driver API, "Tensor Map Object Management"; the values are those of `cuda.h`. `cust_raw` is older than
/// the function.
type Encode = unsafe extern "C" fn(
    *mut TensorMap,
    u32,
    u32,
    *mut c_void,
    *const u64,
    *const u64,
    *const u32,
    *const u32,
    u32,
    u32,
    u32,
    u32,
) -> u32;

const NAME: &str = "cuTensorMapEncodeTiled";

/// `CU_TENSOR_MAP_INTERLEAVE_NONE`, `CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE`: what lies outside of the matrix is 0.
const NONE: u32 = 0;

/// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B`: what L2 fetches of a row at once: a row of a box. With 256 products whose rows
/// begin at no multiples of 128 bytes took 6 to 18 % longer on an H200 (4104 x 4120 x 4136), 8192 cubed 2 %, and none
/// was faster.
const L2_PROMOTION: u32 = 2;

/// Has the driver make a tensor map (`cuTensorMapEncodeTiled`), for a launch of a kernel that takes one. Needs no
/// context; the map holds the address, which has to stay valid for as long as kernels use it.
///
/// # Errors
/// [`Error::Unavailable`](crate::Error::Unavailable) without a driver, or with one that is older than tensor maps (CUDA
/// 12.0); [`Error::Driver`](crate::Error::Driver) where it refuses what [`TensorMapParts::check`] lets pass.
pub fn encode(parts: &TensorMapParts) -> Result<TensorMap> {
    let data_type = match parts.element {
        TensorElement::U8 => 0,
        TensorElement::U32 => 2,
        TensorElement::F16 => 6,
        TensorElement::F32 => 7,
        TensorElement::Bf16 => 9,
        TensorElement::Tf32 => 11,
    };
    let swizzle = match parts.swizzle {
        TensorSwizzle::None => 0,
        TensorSwizzle::Bytes32 => 1,
        TensorSwizzle::Bytes64 => 2,
        TensorSwizzle::Bytes128 => 3,
    };
    let address = std::ptr::with_exposed_provenance_mut(parts.address as usize);
    let mut map = TensorMap::from_words([0; 16]);
    let encode = function()?;
    let (planes, plane_stride) = parts
        .planes
        .map_or((1, 0), |planes| (planes.count, planes.stride_bytes));
    let [columns, rows] = parts.extents;
    let [box_columns, box_rows] = parts.box_extents;
    // SAFETY: the function has this type. The map is 128 bytes, aligned to 64; of rank 3 are three extents, two
    // distances, and a box and its steps of three, and rank 2 reads one less of each; all outlive the call. The driver
    // stores the address, it does not access what is there.
    let code = unsafe {
        encode(
            &raw mut map,
            data_type,
            parts.rank(),
            address,
            [columns, rows, planes].as_ptr(),
            [parts.stride_bytes, plane_stride].as_ptr(),
            [box_columns, box_rows, 1].as_ptr(),
            [1, 1, 1].as_ptr(),
            NONE,
            swizzle,
            L2_PROMOTION,
            NONE,
        )
    };
    newer::answer(NAME, code)?;
    Ok(map)
}

/// The driver's function, looked up once.
fn function() -> Result<Encode> {
    static FUNCTION: OnceLock<Option<Encode>> = OnceLock::new();
    newer::function(&FUNCTION, c"cuTensorMapEncodeTiled", "12.0", |address| {
        // SAFETY: what the driver exports under this name has this type.
        unsafe { std::mem::transmute::<*mut c_void, Encode>(address.as_ptr()) }
    })
}
