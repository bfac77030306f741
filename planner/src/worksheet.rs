//! The worksheet: what a template takes of a multiprocessor, line by line.
//!
//! The lines are those of a struct as a compiler would lay it out, with its padding, and not a sum of parts: a stage
//! count taken from a sum has made kernels that do not launch (NVIDIA/cutlass#3096).

use arrayvec::ArrayVec;
use cuda_arch::Architecture;
use serde::Serialize;

use crate::occupancy::{BlockUse, Occupancy, occupancy};
use crate::path::Path;
use crate::registers::{Registers, registers};
use crate::rules::{self, Violation};
use crate::template::{Accumulator, Epilogue, EpilogueTile, Template, Widening};
use crate::tensor_memory::{Columns, columns};

/// Lines of a worksheet, at most.
pub const MAX_COMPONENTS: usize = 12;

/// One line: a part of the shared memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Component {
    /// What it is.
    pub name: &'static str,
    /// Bytes in all. Where the part lies over another, only what sticks out: the lines add up to the total.
    pub bytes: u64,
    /// Bytes a stage, for what each stage has its own of.
    pub per_stage: Option<u64>,
    /// Where it begins, in bytes from the block's first.
    pub offset: u64,
    /// Bytes that lie over the operands' buffers and so cost nothing.
    pub overlaid_bytes: u64,
}

/// What a template takes and what there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worksheet {
    /// The template.
    pub template: Template,
    /// The architecture's name, such as `sm_120`.
    pub arch: &'static str,
    /// What a block may have: the opt-in limit, or 48 KiB where all of it is static.
    pub limit_bytes: u64,
    /// What the system takes for each resident block, besides the limit.
    pub reserved_bytes: u64,
    /// What the user wants to be left free.
    pub margin_bytes: u64,
    /// Buffers of operands, which the frontend's stages come to.
    pub buffers: u32,
    /// The lines. Their bytes add up to `total_bytes`.
    pub components: ArrayVec<Component, MAX_COMPONENTS>,
    /// Static and dynamic shared memory of a block.
    pub total_bytes: u64,
    /// Of it static.
    pub static_bytes: u64,
    /// Whether total and margin are within the limit.
    pub fits: bool,
    /// Bytes above limit less margin.
    pub over_by_bytes: u64,
    /// Bytes below limit less margin.
    pub left_bytes: u64,
    /// Registers of a thread.
    pub registers: Registers,
    /// Columns of tensor memory, where the sums are there.
    pub tensor_memory: Option<Columns>,
    /// Blocks that a multiprocessor holds, and what limits them.
    pub occupancy: Occupancy,
}

/// Bytes of one stage, part by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StageBytes {
    a: u64,
    b: u64,
    scales_a: u64,
    scales_b: u64,
    barriers: u64,
}

impl Worksheet {
    /// Bytes of everything that each stage has its own of.
    pub fn stage_bytes(&self) -> u64 {
        self.components.iter().filter_map(|component| component.per_stage).sum()
    }

    /// The line of this name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name == name)
    }
}

/// Computes the worksheet of a template.
///
/// # Errors
/// A [`Violation`] where the template breaks a rule other than the amount of shared memory: that is what the worksheet
/// shows.
pub fn worksheet(template: &Template, arch: &Architecture, margin_bytes: u64) -> Result<Worksheet, Violation> {
    let support = template.check(arch)?;
    let limit_bytes = u64::from(if template.operands_static {
        arch.smem_per_block
    } else {
        arch.smem_per_block_optin
    });
    if margin_bytes >= limit_bytes {
        return Err(Violation::number(
            &rules::MARGIN,
            "margin of bytes",
            margin_bytes,
            Some(limit_bytes - 1),
        ));
    }
    let tma = template.copies_by_tma(arch);
    let widened_before = support.widens(template.ty) && template.widening == Widening::Staging;
    let native_scales = template.ty.scale().is_some() && !support.widens(template.ty);
    let barriers = template.frontend.barriers(tma, native_scales, template.path);
    let stage = StageBytes {
        barriers: barriers.per_stage_bytes.into(),
        ..stage_bytes(template, tma, widened_before, native_scales)
    };
    let mut layout = Layout::default();
    let buffers = u64::from(template.buffers());

    layout.once("static part", template.static_bytes.into(), 1);
    let align = array_alignment(template.path, tma);
    let operands_begin = layout.end.next_multiple_of(align);
    layout.staged("operand A", stage.a, buffers, align);
    layout.staged("operand B", stage.b, buffers, align);
    // TMA writes to multiples of 128 bytes (PTX ISA 9.0, cp.async.bulk.tensor).
    layout.staged("scales of A", stage.scales_a, buffers, 128);
    layout.staged("scales of B", stage.scales_b, buffers, 128);
    if let Some(tile) = template.epilogue.tile() {
        let bytes = epilogue_bytes(template, tile);
        // 128 bytes for a TMA store, 16 for a vector store.
        let align = if tma { 128 } else { 16 };
        match template.epilogue {
            Epilogue::Reuse(_) => layout.over("epilogue", bytes, operands_begin),
            Epilogue::Own(_) | Epilogue::Direct => layout.once("epilogue", bytes, align),
        }
    }
    if template.accumulator == Accumulator::SharedMemory {
        let bytes = template.tile.outputs() * u64::from(template.ty.accumulator_bytes());
        layout.once("accumulator", bytes, 128);
    }
    layout.staged("barriers", stage.barriers, buffers, 8);
    layout.once("barriers, once", barriers.fixed_bytes.into(), 8);
    layout.once(
        "scratch of warps",
        u64::from(template.scratch_per_warp_bytes) * u64::from(template.warps + template.producer_warps),
        16,
    );
    layout.padding();

    let total_bytes = layout.end;
    let usable = limit_bytes - margin_bytes;
    let registers = registers(template, arch);
    let static_bytes = if template.operands_static {
        total_bytes
    } else {
        template.static_bytes.into()
    };
    Ok(Worksheet {
        template: *template,
        arch: arch.name,
        limit_bytes,
        reserved_bytes: arch.smem_reserved_per_block.into(),
        margin_bytes,
        buffers: template.buffers(),
        components: layout.components,
        total_bytes,
        static_bytes,
        fits: total_bytes <= usable,
        over_by_bytes: total_bytes.saturating_sub(usable),
        left_bytes: usable.saturating_sub(total_bytes),
        registers,
        tensor_memory: columns(template, arch),
        occupancy: occupancy(
            arch,
            &BlockUse {
                barriers: template.barriers,
                ..BlockUse::new(
                    template.threads(),
                    registers.allocated,
                    static_bytes,
                    total_bytes - static_bytes,
                )
            },
        ),
    })
}

/// The most stages, in the frontend's meaning, with which a template fits, and the worksheet with them; `None` where
/// not even the fewest do. The template's own stages do not matter.
///
/// # Errors
/// As [`worksheet`].
pub fn largest_stages(
    template: &Template,
    arch: &Architecture,
    margin_bytes: u64,
) -> Result<Option<(u32, Worksheet)>, Violation> {
    let with = |buffers| {
        let stages = template.frontend.stages(buffers, template.path);
        worksheet(&Template { stages, ..*template }, arch, margin_bytes)
    };
    let first = with(1)?;
    if !first.fits {
        return Ok(None);
    }
    // Each further buffer costs a stage's bytes; padding can make it a little more, never less.
    let mut buffers = match first.stage_bytes() {
        0 => 1,
        stage => (1 + first.left_bytes / stage).min(512) as u32,
    };
    loop {
        let sheet = with(buffers)?;
        if sheet.fits {
            return Ok(Some((sheet.template.stages, sheet)));
        }
        buffers -= 1;
    }
}

/// Bytes of a stage's operands and scales.
fn stage_bytes(template: &Template, tma: bool, widened_before: bool, native_scales: bool) -> StageBytes {
    let tile = template.tile;
    let [a_bits, b_bits] = if widened_before {
        [16; 2]
    } else if native_scales || template.ty.scale().is_none() {
        template.ty.staged_bits()
    } else {
        // Widened in registers: nothing makes the kernel pad 4-bit elements.
        template.ty.stored_bits()
    };
    // A stage begins where a bulk copy (128 B) or a vector (16 B) can be written.
    let align = if tma { 128 } else { 16 };
    let operand = |rows: u32, bits: u32| {
        (u64::from(rows) * u64::from(tile.k) * u64::from(bits))
            .div_ceil(8)
            .next_multiple_of(align)
    };
    let scales = |rows: u32| match template.ty.scale() {
        None => 0,
        Some(_) if widened_before => 0,
        Some(scale) if native_scales => {
            // Atoms of 128 rows x 4 scales, indivisible.
            let atoms = u64::from(rows.div_ceil(128)) * u64::from(tile.k.div_ceil(4 * scale.elements));
            atoms * 512 * u64::from(scale.bytes)
        }
        Some(scale) => {
            (u64::from(rows) * u64::from(tile.k / scale.elements) * u64::from(scale.bytes)).next_multiple_of(align)
        }
    };
    StageBytes {
        a: operand(tile.m + template.row_padding[0], a_bits),
        b: operand(tile.n + template.row_padding[1], b_bits),
        scales_a: scales(tile.m),
        scales_b: scales(tile.n),
        barriers: 0,
    }
}

/// Alignment of the arrays of operands, in bytes: a 16-byte vector (`simt`); a row of 128 bytes without bank conflicts
/// (`cp.async`); an atom of the 128-byte swizzle, 8 rows of 128 bytes (PTX ISA 9.0, tensor-map swizzle modes; CUTLASS's
/// `alignas(1024)`).
const fn array_alignment(path: Path, tma: bool) -> u64 {
    match path {
        Path::Simt => 16,
        Path::MmaSync | Path::Wgmma | Path::Tcgen05 => {
            if tma {
                1024
            } else {
                128
            }
        }
    }
}

fn epilogue_bytes(template: &Template, tile: EpilogueTile) -> u64 {
    u64::from(tile.m) * u64::from(tile.n) * u64::from(template.output_bytes) * u64::from(tile.buffers)
}

/// A struct in the making.
#[derive(Default)]
struct Layout {
    components: ArrayVec<Component, MAX_COMPONENTS>,
    end: u64,
}

impl Layout {
    fn push(&mut self, name: &'static str, bytes: u64, per_stage: Option<u64>, align: u64) {
        if bytes == 0 {
            return;
        }
        let offset = self.end.next_multiple_of(align);
        self.end = offset + bytes;
        self.components.push(Component {
            name,
            bytes,
            per_stage,
            offset,
            overlaid_bytes: 0,
        });
    }

    fn once(&mut self, name: &'static str, bytes: u64, align: u64) {
        self.push(name, bytes, None, align);
    }

    fn staged(&mut self, name: &'static str, per_stage: u64, buffers: u64, align: u64) {
        self.push(name, per_stage * buffers, Some(per_stage), align);
    }

    /// A part that lies over everything from `begin` on.
    fn over(&mut self, name: &'static str, bytes: u64, begin: u64) {
        let end = self.end.max(begin + bytes);
        let sticks_out = end - self.end;
        self.end = end;
        self.components.push(Component {
            name,
            bytes: sticks_out,
            per_stage: None,
            offset: begin,
            overlaid_bytes: bytes - sticks_out,
        });
    }

    /// What alignment has cost, as a line of its own.
    fn padding(&mut self) {
        let used: u64 = self.components.iter().map(|component| component.bytes).sum();
        let bytes = self.end - used;
        if bytes > 0 {
            self.components.push(Component {
                name: "alignment padding",
                bytes,
                per_stage: None,
                offset: 0,
                overlaid_bytes: 0,
            });
        }
    }
}
