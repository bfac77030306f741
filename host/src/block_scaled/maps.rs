//! The tensor maps of a product, for the driver and for the simulator.

use kernels_gpu::ptx::tensor_map::{TensorElement, TensorMap, TensorMapParts, TensorSwizzle};
use tilewright_contract::{BlockScaledTile, ScaleLayout};

use super::Plan;
use crate::error::{Error, Result};
use crate::scaled::Addresses;

/// The maps of A, B, the scales of A and those of B, each made by `encode`.
///
/// # Errors
/// [`Error::InvalidArgument`] for an address that is no multiple of 16; those of `encode`.
pub(super) fn maps(
    plan: &Plan,
    addresses: Addresses,
    encode: impl Fn(&TensorMapParts) -> Result<TensorMap>,
) -> Result<[TensorMap; 4]> {
    let tile = plan.kernel().tile;
    let [m, n, k] = plan.extents();
    let swizzle = match tile.k_bytes() {
        128 => TensorSwizzle::Bytes128,
        64 => TensorSwizzle::Bytes64,
        _ => TensorSwizzle::Bytes32,
    };
    let of_data = |at: usize, rows: usize, box_rows: u32| {
        let row_bytes = tile.format.bytes(k) as u64;
        TensorMapParts {
            address: addresses.data[at],
            extents: [row_bytes, rows as u64],
            stride_bytes: row_bytes,
            planes: None,
            box_extents: [tile.k_bytes(), box_rows],
            element: TensorElement::U8,
            swizzle,
        }
    };
    // Words, a row for each row of tiles: a box is the tiles of a k-tile, which are neighbors.
    let of_scales = |at: usize, rows: usize, box_rows: u32| {
        let layout = ScaleLayout::of(tile.format, rows, k);
        let row_words = layout.k_tiles as u64 * u64::from(ScaleLayout::TILE_BYTES / 4);
        TensorMapParts {
            address: addresses.scales[at],
            extents: [row_words, layout.row_tiles as u64],
            stride_bytes: 4 * row_words,
            planes: None,
            box_extents: [
                tile.scale_k_tiles() * ScaleLayout::TILE_BYTES / 4,
                BlockScaledTile::scale_row_tiles(box_rows),
            ],
            element: TensorElement::U32,
            swizzle: TensorSwizzle::None,
        }
    };
    let map = |what: &str, parts: TensorMapParts| {
        let checked = parts.check();
        checked.map_err(|error| Error::InvalidArgument(format!("the tensor map of {what}: {error}")))?;
        encode(&parts)
    };
    Ok([
        map("A", of_data(0, m, tile.m))?,
        map("B", of_data(1, n, tile.n))?,
        map("the scales of A", of_scales(0, m, tile.m))?,
        map("the scales of B", of_scales(1, n, tile.n))?,
    ])
}
