//! Moves after which a kernel of buffers fits, or the reason why there are none.
//!
//! The cheapest move that frees bytes is made until the kernel fits; where none frees any by itself, as with two
//! buffers of one size over each other, the cheapest of all. Then each move that turns out not to be needed is taken
//! back, the last first. None of those that are left can be left out; whether another sequence has fewer points is not
//! looked at. Extents, stages and marks only become fewer: the search ends.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cuda_arch::Architecture;

use super::Kernel;
use super::moves::{KernelMove, kernel_moves};
use crate::moves::Move;
use crate::worksheet::Worksheet;

/// How a kernel came to fit.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFit {
    /// The moves, in order; none where it fits as it is, or where none make it fit.
    pub moves: Vec<Move<Kernel, KernelMove>>,
    /// The worksheet after the moves; `None` where there are none.
    pub after: Option<Worksheet<Kernel>>,
    /// Why no moves make it fit, where none do.
    pub impossible: Option<String>,
}

/// Finds moves after which the kernel of a worksheet fits, the cheapest first.
///
/// # Errors
/// As [`Kernel::worksheet`].
pub fn fit_kernel(start: &Worksheet<Kernel>, arch: &Architecture) -> Result<KernelFit, String> {
    let mut fit = KernelFit {
        moves: Vec::new(),
        after: None,
        impossible: None,
    };
    if start.fits {
        return Ok(fit);
    }
    let (mut kinds, last) = make_until_it_fits(start, arch)?;
    if !last.fits {
        fit.impossible = Some(format!(
            "after all {} moves that can be made it takes {} B, {} B over the limit of {} B{}",
            kinds.len(),
            last.total_bytes,
            last.over_by_bytes,
            last.limit_bytes,
            match last.margin_bytes {
                0 => String::new(),
                bytes => format!(" less a margin of {bytes} B"),
            }
        ));
        return Ok(fit);
    }
    for index in (0..kinds.len()).rev() {
        let mut fewer = kinds.clone();
        fewer.remove(index);
        if replay(start, arch, &fewer)?.is_some_and(|(_, sheet)| sheet.fits) {
            kinds = fewer;
        }
    }
    if let Some((moves, sheet)) = replay(start, arch, &kinds)? {
        fit.moves = moves;
        fit.after = Some(sheet);
    }
    Ok(fit)
}

/// Makes the cheapest move that frees bytes, or else the cheapest of all, again and again.
fn make_until_it_fits(
    start: &Worksheet<Kernel>,
    arch: &Architecture,
) -> Result<(Vec<KernelMove>, Worksheet<Kernel>), String> {
    let mut kinds = Vec::new();
    let mut sheet = start.clone();
    while !sheet.fits {
        let tried = kernel_moves(&sheet, arch);
        let mut possible = Vec::new();
        for step in tried.into_iter().filter(|step| step.legal) {
            let after = step.template.worksheet(arch, sheet.margin_bytes)?;
            possible.push((after.over_by_bytes >= sheet.over_by_bytes, step, after));
        }
        // Of equal ones the first, which is the less invasive.
        let cheapest = possible
            .into_iter()
            .min_by_key(|(idle, step, _)| (*idle, step.cost.points));
        let Some((_, step, after)) = cheapest else { break };
        kinds.push(step.kind);
        sheet = after;
    }
    Ok((kinds, sheet))
}

/// Moves that were made, and the worksheet after them.
type Made = (Vec<Move<Kernel, KernelMove>>, Worksheet<Kernel>);

/// Makes the moves in their order; `None` where one of them cannot be made.
fn replay(start: &Worksheet<Kernel>, arch: &Architecture, kinds: &[KernelMove]) -> Result<Option<Made>, String> {
    let mut moves = Vec::with_capacity(kinds.len());
    let mut sheet = start.clone();
    for kind in kinds {
        let step = kind.attempt(&sheet, arch);
        if !step.legal {
            return Ok(None);
        }
        sheet = step.template.worksheet(arch, sheet.margin_bytes)?;
        moves.push(step);
    }
    Ok(Some((moves, sheet)))
}
