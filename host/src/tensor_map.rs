//! The tensor maps of a product: what they say of its matrices, for the driver and for the simulator.

use kernels_gpu::ptx::tensor_map::{Planes, TensorElement, TensorMap, TensorMapParts, TensorSwizzle};
use tilewright_contract::{DType, GemmShape, Kernel, Operand, Precision, WgmmaTile};

use crate::error::{Error, Result};

/// What addresses and the distances of rows are multiples of, in bytes (CUDA driver API, `cuTensorMapEncodeTiled`).
const UNIT: u64 = 16;

/// The tensor maps of A, B and C for a kernel and `products` products of a batch, each made by `encode`. `addresses`:
/// of A, B and C of the first of them. Maps for kernels that take batches or groups have a third dimension, that of the
/// products, or of the one matrix that all of them share.
///
/// Where C is not aligned as a map asks for, or is stored without, the third is A's: the kernel sees from C and its
/// leading dimension that it has to store without. Of operands that are split, A and B are the parts, which count as
/// matrices.
///
/// # Errors
/// [`Error::InvalidArgument`] for an address or a leading dimension of A or B that no tensor map can have, with the
/// numbers, or for elements that these kernels do not take; those of `encode`.
pub(crate) fn maps(
    kernel: &Kernel,
    shape: &GemmShape,
    products: u32,
    addresses: [u64; 3],
    encode: impl Fn(&TensorMapParts) -> Result<TensorMap>,
) -> Result<[TensorMap; 3]> {
    let element = match kernel.operand_dtype() {
        DType::F16 => TensorElement::F16,
        DType::Bf16 => TensorElement::Bf16,
        DType::F32 if kernel.precision == Precision::Tf32 => TensorElement::Tf32,
        DType::F32 | DType::F64 => {
            return Err(Error::InvalidArgument(format!(
                "kernels with tensor maps of this precision take f16 and bf16, not {}",
                kernel.dtype
            )));
        }
    };
    let parts = kernel.parts();
    let args = shape.args();
    let rows = kernel.box_rows([args.m, args.n]);
    let c_columns = kernel
        .smem
        .epilogue
        .map_or(WgmmaTile::SWIZZLE_ATOM, |buffers| buffers.n);
    let of_operand = |operand, box_rows: u32| {
        let box_columns = match operand {
            Operand::A | Operand::B => WgmmaTile::ROW_BYTES / element.bytes() as u32,
            Operand::C => c_columns,
        };
        let (rows, columns, ld) = shape.extents(operand);
        let [a, b, c] = addresses;
        let address = match operand {
            // There is nothing to copy, but a map has a place and an element.
            _ if rows == 0 || columns == 0 => c / UNIT * UNIT,
            Operand::A => a,
            Operand::B => b,
            Operand::C => c,
        };
        let stride_bytes = (ld as u64 * element.bytes()).max(UNIT);
        let planes = match shape.batch().stride(operand) {
            // Parts of matrices are as far from one another as matrices of parts are.
            stride if parts > 1 => Planes {
                count: u64::from(parts * if stride == 0 { 1 } else { products }),
                stride_bytes: rows.max(1) as u64 * stride_bytes,
            },
            // Whatever the distance to the next, which there is not.
            0 => Planes {
                count: 1,
                stride_bytes: stride_bytes.next_multiple_of(UNIT),
            },
            stride => Planes {
                count: u64::from(if shape.batch().groups {
                    shape.batch().count
                } else {
                    products
                }),
                stride_bytes: stride * element.bytes(),
            },
        };
        TensorMapParts {
            address,
            extents: [columns.max(1) as u64, rows.max(1) as u64],
            stride_bytes,
            planes: (kernel.supports.batch || kernel.supports.groups).then_some(planes),
            box_extents: [box_columns, box_rows.max(1)],
            element,
            swizzle: if box_columns * element.bytes() as u32 == WgmmaTile::ROW_BYTES {
                TensorSwizzle::Bytes128
            } else {
                TensorSwizzle::None
            },
        }
    };
    let map = |operand, box_rows| {
        let parts = of_operand(operand, box_rows);
        let checked = parts.check();
        checked.map_err(|error| Error::InvalidArgument(format!("the tensor map of {operand}: {error}")))?;
        encode(&parts)
    };
    let a = map(Operand::A, rows[0])?;
    let of_c = of_operand(Operand::C, rows[2]);
    let strides = [of_c.stride_bytes, of_c.planes.map_or(0, |planes| planes.stride_bytes)];
    let is_aligned = of_c.address.is_multiple_of(UNIT) && strides.iter().all(|stride| stride.is_multiple_of(UNIT));
    let c = if is_aligned && kernel.supports.tma_store {
        map(Operand::C, rows[2])?
    } else {
        a
    };
    Ok([a, map(Operand::B, rows[1])?, c])
}

/// The simulator's map.
///
/// # Errors
/// [`Error::InvalidArgument`] with the rule that it breaks.
pub(crate) fn simulated(parts: &TensorMapParts) -> Result<TensorMap> {
    TensorMap::simulated(parts).map_err(|error| Error::InvalidArgument(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tilewright_contract::{Family, Operands, Transpose};

    use super::*;

    const ADDRESSES: [u64; 3] = [0x1000, 0x2000, 0x3000];

    /// What is encoded for a product, in the order A, C if it has a map, B; or why nothing is.
    fn encoded(
        dtype: DType,
        shape: GemmShape,
        addresses: [u64; 3],
    ) -> std::result::Result<Vec<TensorMapParts>, String> {
        let seen = RefCell::new(Vec::new());
        let encode = |parts: &TensorMapParts| {
            seen.borrow_mut().push(*parts);
            simulated(parts)
        };
        let with_majors = |kernel: &&Kernel| kernel.operands == Operands::Matrices(shape.majors());
        let kernel = Family::WGMMA.kernels().find(with_majors).expect("one for each layout");
        assert_eq!((kernel.tile.m, kernel.tile.n, kernel.cluster), (128, 256, 2));
        let kernel = Kernel { dtype, ..*kernel };
        let maps = maps(&kernel, &shape, shape.batch().count, addresses, encode).map_err(|error| error.to_string())?;
        let seen = seen.into_inner();
        assert_eq!(
            seen.len() == 2,
            maps[0].words() == maps[2].words(),
            "without a map of its own C has A's"
        );
        Ok(seen)
    }

    #[test]
    fn maps_have_the_extents_of_memory_and_the_boxes_of_the_tile() {
        use Transpose::{No, Yes};
        let summary = |parts: &TensorMapParts| (parts.address, parts.extents, parts.stride_bytes, parts.box_extents);
        let shape = GemmShape::with_transposes(100, 70, 33, [No, No], [40, 72, 80]).expect("valid");
        let parts = encoded(DType::F16, shape, ADDRESSES).expect("aligned");
        assert_eq!(
            parts.iter().map(summary).collect::<Vec<_>>(),
            [
                (0x1000, [33, 100], 80, [64, 128]),
                (0x3000, [70, 100], 160, [64, 64]),
                (0x2000, [70, 33], 144, [64, 64]),
            ]
        );
        let shape = GemmShape::with_transposes(100, 70, 33, [Yes, Yes], [104, 40, 70]).expect("valid");
        let parts = encoded(DType::Bf16, shape, ADDRESSES).expect("aligned");
        // Rows of C are 140 bytes apart: no map of it. Each block of a cluster of two loads half of B's 256 columns.
        assert_eq!(
            parts.iter().map(summary).collect::<Vec<_>>(),
            [(0x1000, [100, 33], 208, [64, 64]), (0x2000, [33, 70], 80, [64, 128]),]
        );
        assert!(parts.iter().all(|parts| parts.element == TensorElement::Bf16));
    }

    #[test]
    fn a_product_without_k_has_maps_of_one_element() {
        let shape = GemmShape::packed(3, 8, 0).expect("valid");
        let parts = encoded(DType::F16, shape, [0, 0, 0x3008]).expect("nothing is copied");
        assert_eq!(parts.len(), 2);
        assert_eq!(
            (parts[0].address, parts[0].extents, parts[0].stride_bytes),
            (0x3000, [1, 3], 16)
        );
        assert_eq!(
            (parts[1].address, parts[1].extents, parts[1].stride_bytes),
            (0x3000, [8, 1], 16)
        );
    }

    #[test]
    fn what_no_map_can_say_is_refused_with_the_numbers() {
        let shape = |lda| GemmShape::with_ld(8, 8, 8, lda, 8, 8).expect("valid");
        for (dtype, shape, addresses, message) in [
            (
                DType::F16,
                shape(9),
                ADDRESSES,
                "the tensor map of A: 18 bytes from row to row",
            ),
            (
                DType::F16,
                shape(8),
                [0x1000, 0x2008, 0x3000],
                "the tensor map of B: the matrix begins at address 0x2008, which is 8 modulo 16",
            ),
            (
                DType::F32,
                shape(8),
                ADDRESSES,
                "kernels with tensor maps of this precision take f16 and bf16, not f32",
            ),
        ] {
            let error = encoded(dtype, shape, addresses).expect_err(message);
            assert!(error.starts_with(message), "{error}");
        }
    }
}
