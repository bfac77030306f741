//! What the instructions demand of element type and tile.

use cuda_arch::Architecture;

use super::warps::uneven_warps;
use super::{Rule, SIMT_WARPS, Value, Violation, nearest_multiple};
use crate::frontend::Frontend;
use crate::path::{Path, Support};
use crate::template::{Template, TileShape, warp_grid};

rule!(
    /// The architecture has the instructions for the type.
    PATH,
    "path",
    "the architecture has no such instructions for this element type",
    "PTX ISA 9.0, target notes of mma, wgmma.mma_async and tcgen05.mma"
);

rule!(
    /// The rows of the tile.
    TILE_M,
    "tile_m",
    "rows must be a multiple of the instruction's",
    "PTX ISA 9.0, shapes of mma (16; 8 for f64), wgmma (64) and tcgen05 (64)"
);

rule!(
    /// The columns of the tile.
    TILE_N,
    "tile_n",
    "columns must be a multiple of the instruction's",
    "PTX ISA 9.0, shapes of mma (8), wgmma (8; 16 for int8) and tcgen05 (16)"
);

rule!(
    /// The depth of the tile.
    TILE_K,
    "tile_k",
    "depth must be a multiple of the instruction's",
    "PTX ISA 9.0, shapes of mma, wgmma (256 bits) and tcgen05 (256 bits)"
);

rule!(
    /// The columns of one `wgmma`.
    WGMMA_N,
    "wgmma_n",
    "one wgmma has at most 256 columns",
    "PTX ISA 9.0, wgmma.mma_async: m64nNk16, N up to 256"
);

rule!(
    /// The rows of one `tcgen05.mma`.
    TCGEN05_M,
    "tcgen05_m",
    "rows must be 64, 128 or 256 (128 or 256 with block scales)",
    "PTX ISA 9.0, tcgen05.mma: shapes; 256 as two of 128 or by two blocks"
);

rule!(
    /// The columns of one `tcgen05.mma`.
    TCGEN05_N,
    "tcgen05_n",
    "one tcgen05.mma has at most 256 columns",
    "PTX ISA 9.0, tcgen05.mma: shapes"
);

rule!(
    /// Rows of a scale atom.
    SCALE_ATOM_ROWS,
    "scale_atom_rows",
    "block scales come in atoms of 128 rows, so the tile has a multiple of 128 rows (of this project's kernels of 64: \
     they load a whole atom for half of it)",
    "CUTLASS, detail/sm100_blockscaled_layout.hpp and the sm120 builder"
);

rule!(
    /// Elements along K of a scale atom.
    SCALE_ATOM_K,
    "scale_atom_k",
    "block scales come in atoms of 4 blocks along k: 64 elements for nvfp4, 128 for the MX types",
    "CUTLASS, detail/sm100_blockscaled_layout.hpp"
);

/// How an architecture computes the template's type on its path.
pub(super) fn support(template: &Template, arch: &Architecture) -> Result<Support, Violation> {
    let Template { path, ty, .. } = *template;
    path.support(arch, ty).ok_or_else(|| Violation {
        nearest: Path::best(arch, ty).map(|path| Value::Name(path.name())),
        ..Violation::name(&PATH, path_of_type(path), ty.name(), None)
    })
}

/// Whether instructions can make up the tile.
pub(super) fn check_tile(template: &Template, arch: &Architecture, support: &Support) -> Result<(), Violation> {
    let [m, n, k] = template.path.instruction_tile(arch, support.multiplied);
    for (rule, what, got, multiple) in [
        (&TILE_M, "tile m", template.tile.m, m),
        (&TILE_N, "tile n", template.tile.n, n),
        (&TILE_K, "tile k", template.tile.k, k),
    ] {
        if !got.is_multiple_of(multiple) {
            return Err(Violation::count(rule, what, got, nearest_multiple(got, multiple)));
        }
    }
    match template.path {
        Path::Simt => {
            // The last warp may be partly idle.
            let most = template.tile.outputs().div_ceil(32);
            if u64::from(template.warps) <= most {
                return Ok(());
            }
            Err(Violation::number(
                &SIMT_WARPS,
                "warps",
                template.warps.into(),
                Some(most),
            ))
        }
        Path::MmaSync => match warp_grid(template.tile, template.warps, [m, n]) {
            None => Err(uneven_warps(template, 1, [m, n])),
            Some(_) => Ok(()),
        },
        Path::Wgmma => check_wgmma(template, n),
        Path::Tcgen05 => check_tcgen05(template.tile, support),
    }
}

/// The columns of each warpgroup's `wgmma`, which are multiples of `n`.
fn check_wgmma(template: &Template, n: u32) -> Result<(), Violation> {
    const MOST: u32 = 256;
    // Columns of one warpgroup, if they are to be shared evenly.
    let columns = |tile: TileShape| {
        let (_, across) = warp_grid(tile, template.warps / 4, [64, n])?;
        Some(tile.n / across)
    };
    match columns(template.tile) {
        None => Err(uneven_warps(template, 4, [64, n])),
        Some(0..=MOST) => Ok(()),
        Some(_) => {
            // How warps divide a tile depends on its columns, so the next that one instruction can make is looked for.
            let narrower = (1..template.tile.n / n).rev().map(|instructions| instructions * n);
            let nearest = narrower.into_iter().find(|&n| {
                let tile = TileShape { n, ..template.tile };
                columns(tile).is_some_and(|columns| columns <= MOST)
            });
            Err(Violation::count(&WGMMA_N, "tile n", template.tile.n, nearest))
        }
    }
}

/// The rows and columns of one `tcgen05.mma`.
fn check_tcgen05(tile: TileShape, support: &Support) -> Result<(), Violation> {
    const ROWS: [u32; 3] = [64, 128, 256];
    const MOST_COLUMNS: u32 = 256;
    let least = if support.multiplied.scale().is_some() { 128 } else { 64 };
    if tile.m < least || !ROWS.contains(&tile.m) {
        let nearest = ROWS
            .into_iter()
            .filter(|&rows| rows >= least)
            .min_by_key(|rows| tile.m.abs_diff(*rows));
        return Err(Violation::count(&TCGEN05_M, "tile m", tile.m, nearest));
    }
    if tile.n > MOST_COLUMNS {
        return Err(Violation::count(&TCGEN05_N, "tile n", tile.n, MOST_COLUMNS));
    }
    Ok(())
}

/// Whether a stage holds whole atoms, or at least whole blocks, of block scales.
pub(super) fn check_scales(template: &Template, support: &Support) -> Result<(), Violation> {
    let Some(scale) = template.ty.scale() else {
        return Ok(());
    };
    if support.widens(template.ty) {
        // Without instructions that take scales, their layout is the kernel's own; whole blocks must be in a stage.
        return whole_blocks(template.tile.k, scale.elements);
    }
    // The tile then begins at a half of an atom at most, and 64 more rows never need a further one.
    let rows = match (template.path, template.frontend) {
        (Path::MmaSync, Frontend::Tilewright) => 64,
        _ => 128,
    };
    if !template.tile.m.is_multiple_of(rows) {
        let nearest = nearest_multiple(template.tile.m, rows);
        return Err(Violation::count(&SCALE_ATOM_ROWS, "tile m", template.tile.m, nearest));
    }
    whole_blocks(template.tile.k, 4 * scale.elements)
}

/// A stage must hold whole scale blocks.
fn whole_blocks(tile_k: u32, multiple: u32) -> Result<(), Violation> {
    if tile_k.is_multiple_of(multiple) {
        return Ok(());
    }
    let nearest = nearest_multiple(tile_k, multiple);
    Err(Violation::count(&SCALE_ATOM_K, "tile k", tile_k, nearest))
}

const fn path_of_type(path: Path) -> &'static str {
    match path {
        Path::Simt => "simt for",
        Path::MmaSync => "mma.sync for",
        Path::Wgmma => "wgmma for",
        Path::Tcgen05 => "tcgen05 for",
    }
}
