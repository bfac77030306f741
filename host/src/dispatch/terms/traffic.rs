//! What the CTAs of a launch load from global memory.

use tilewright_contract::{GemmShape, Grid, Kernel, Loads, Operand};

use super::{loaded_bytes, matrix_bytes};

/// A line of L2, and a row of a box of TMA.
const LINE_BYTES: u32 = 128;

/// Loads of all CTAs.
pub(super) struct Traffic {
    /// Bytes of A and B.
    pub(super) bytes: f64,
    /// Of them those that TMA loads in rows that begin within a line of L2, which is asked for two lines then.
    pub(super) straddling_bytes: f64,
    /// Rows of TMA's boxes that are outside of A or B, wholly or in part.
    pub(super) rows_out_of_bounds: f64,
    /// Whether threads load rows along M or N that are shorter than a line: then many rows, and all CTAs, ask for the
    /// same one.
    pub(super) is_narrow: bool,
}

impl Traffic {
    /// The loads of a launch with so many splits.
    pub(super) fn of(kernel: &Kernel, grid: &Grid, shape: &GemmShape, splits: u32) -> Self {
        if kernel.takes_vector() {
            // Each element once.
            let [a, b, _] = matrix_bytes(shape, kernel);
            return Self {
                bytes: a + b,
                straddling_bytes: 0.0,
                rows_out_of_bounds: 0.0,
                is_narrow: false,
            };
        }
        let element_bytes = kernel.operand_dtype().size_bytes();
        let taken = kernel.taken(shape).unwrap_or(*shape);
        let is_tma = kernel.loads == Loads::Tma;
        // The CTAs of a cluster load B once, of the transpose A.
        let ctas = match kernel.is_transposed {
            true => [kernel.cluster, 1],
            false => [1, kernel.cluster],
        };
        let [box_a, box_b, _] = kernel.box_rows([shape.m() as u32, shape.n() as u32]);
        let [a_is_k, b_is_k] = taken.majors().map(|major| major.is_k());
        let sides = [
            Side {
                extent: shape.m() as u32,
                tile: kernel.tile.m,
                tiles: grid.tiles_m,
                ctas: ctas[0],
                ld: taken.extents(Operand::A).2,
                is_k: a_is_k,
                box_rows: box_a,
            },
            Side {
                extent: shape.n() as u32,
                tile: kernel.tile.n,
                tiles: grid.tiles_n,
                ctas: ctas[1],
                ld: taken.extents(Operand::B).2,
                is_k: b_is_k,
                box_rows: box_b,
            },
        ];
        let tiles = f64::from(grid.tiles()) * f64::from(grid.products_per_launch());
        // All splits of a tile have the elements of K, and its k-tiles.
        let k = shape.args().k;
        let each_of = |all: u32| tiles * f64::from(all) / f64::from(splits);
        let k_tiles = each_of(k.div_ceil(kernel.tile.k));
        // Of the average tile, of which those at the edges are smaller.
        let bytes = |side: &Side| each_of(k) * side.mean_rows() * f64::from(loaded_bytes(kernel));
        let [of_a, of_b] = [bytes(&sides[0]), bytes(&sides[1])];
        let mut traffic = Self {
            bytes: of_a * tiles_that_load_a(kernel, grid, k) / tiles + of_b,
            straddling_bytes: 0.0,
            rows_out_of_bounds: 0.0,
            is_narrow: false,
        };
        for side in &sides {
            if !is_tma {
                traffic.is_narrow |= !side.is_k && side.extent < LINE_BYTES.div_ceil(element_bytes);
                continue;
            }
            // Each part has rows of its own.
            if !(side.ld * element_bytes as usize).is_multiple_of(LINE_BYTES as usize) {
                traffic.straddling_bytes += bytes(side);
            }
            let rows = side.rows_out_of_bounds(kernel.tile.k, LINE_BYTES / element_bytes);
            traffic.rows_out_of_bounds += k_tiles * rows * f64::from(kernel.parts());
        }
        traffic
    }
}

/// Work tiles that load A. In a strip of tiles A stays for a row of them, if there are stages for all of its k-tiles:
/// it is loaded once for each row that a CTA begins.
fn tiles_that_load_a(kernel: &Kernel, grid: &Grid, k: u32) -> f64 {
    let tiles = f64::from(grid.tiles()) * f64::from(grid.products_per_launch());
    let is_strip = kernel.overlap > 0 && kernel.is_persistent();
    if is_strip && k <= kernel.smem.stages * kernel.tile.k {
        tiles.min(grid.blocks() as f64 + f64::from(grid.tiles_m) - 1.0)
    } else {
        tiles
    }
}

/// What is loaded of A along M, or of B along N.
struct Side {
    /// Rows of A or columns of B.
    extent: u32,
    /// Of a tile.
    tile: u32,
    /// Tiles along it.
    tiles: u32,
    /// CTAs that load it together.
    ctas: u32,
    /// Elements from row to row in memory.
    ld: usize,
    /// Whether the operand is K-major.
    is_k: bool,
    /// Rows of a box.
    box_rows: u32,
}

impl Side {
    /// Rows of A or columns of B that a CTA loads for its tile, in the mean.
    fn mean_rows(&self) -> f64 {
        f64::from(self.extent) / self.loads()
    }

    /// Tiles that are loaded along it, each in parts by all CTAs that share it.
    fn loads(&self) -> f64 {
        f64::from(self.tiles) * f64::from(self.ctas)
    }

    /// Rows of boxes outside the operand that a CTA loads with a k-tile, in the mean of all tiles along the side. A box
    /// of a K-major operand has a row for each of M or N; one of an MN-major operand has a row for each of K, which is
    /// outside as soon as some of its `box_elems` elements are.
    fn rows_out_of_bounds(&self, tile_k: u32, box_elems: u32) -> f64 {
        let rows = if self.is_k {
            (self.loads() * f64::from(self.box_rows) - f64::from(self.extent)).max(0.0)
        } else {
            let boxes = (f64::from(self.tiles) * f64::from(self.tile) / f64::from(box_elems)).ceil();
            (boxes - f64::from(self.extent / box_elems)) * f64::from(tile_k)
        };
        rows / self.loads()
    }
}
