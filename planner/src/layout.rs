//! Where the parts of a CTA's shared memory are, and how many bytes they take.
//!
//! The parts are those of a struct as a compiler would lay it out, with its padding, and not a sum: a stage count taken
//! from a sum has made kernels that do not launch (NVIDIA/cutlass#3096).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use cuda_arch::Architecture;
use serde::Serialize;

use crate::path::{Path, Support};
use crate::template::{Accumulator, Epilogue, EpilogueTile, Template, Widening};

/// One line: a part of the shared memory of a CTA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Component {
    /// What it is.
    pub name: Cow<'static, str>,
    /// Bytes in all. Where the part lies over another, only what sticks out: the lines add up to the total.
    pub bytes: u64,
    /// Bytes a stage, for what each stage has its own of.
    pub per_stage: Option<u64>,
    /// Where it begins, in bytes from the CTA's first.
    pub offset: u64,
    /// Bytes that lie over other parts, such as the operands' buffers, and so cost nothing.
    pub overlaid_bytes: u64,
    /// Copies, rows, columns and type of a named buffer: `2 x 128 x 128 bf16`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
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

/// Lays out the shared memory of a CTA. `support`: how the architecture computes the template's type, which
/// [`Template::check`] says.
pub(crate) fn layout(template: &Template, arch: &Architecture, support: &Support) -> Layout {
    let tma = template.loads_by_tma(arch);
    let widened_before = support.widens(template.ty) && template.widening == Widening::Staging;
    let native_scales = template.ty.scale().is_some() && !support.widens(template.ty);
    let barriers = template.frontend.barriers(tma, native_scales, template.path);
    let stage = StageBytes {
        barriers: barriers.per_stage_bytes.into(),
        ..per_stage(template, tma, widened_before, native_scales)
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
    // The end of each group's rows, of 32 bits.
    layout.once("table of groups", 4 * u64::from(template.groups), 16);
    let maps = template
        .frontend
        .tensor_maps(template.groups, tma, native_scales, template.epilogue.tile().is_some());
    layout.once("tensor maps", 128 * u64::from(maps), 128);
    layout.padding();
    layout
}

/// Bytes of a stage's operands and scales.
fn per_stage(template: &Template, tma: bool, widened_before: bool, native_scales: bool) -> StageBytes {
    let tile = template.tile;
    let [a_bits, b_bits] = if widened_before {
        [16; 2]
    } else if native_scales || template.ty.scale().is_none() {
        template.ty.staged_bits()
    } else {
        // Widened in registers: nothing makes the kernel pad 4-bit elements.
        template.ty.stored_bits()
    };
    // A stage begins where a TMA load (128 B) or a vector (16 B) can be written.
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

/// The parts of a CTA's shared memory, one after the other.
#[derive(Default)]
pub(crate) struct Layout {
    components: Vec<Component>,
    end: u64,
}

impl Layout {
    /// Bytes in all.
    pub fn total_bytes(&self) -> u64 {
        self.end
    }

    /// Bytes of everything that each stage has its own of.
    pub fn stage_bytes(&self) -> u64 {
        self.components.iter().filter_map(|component| component.per_stage).sum()
    }

    /// The lines of a worksheet.
    pub fn into_components(self) -> Vec<Component> {
        self.components
    }

    fn push(&mut self, name: &'static str, bytes: u64, per_stage: Option<u64>, align: u64) {
        if bytes == 0 {
            return;
        }
        let offset = self.end.next_multiple_of(align);
        self.end = offset + bytes;
        self.components.push(Component {
            name: Cow::Borrowed(name),
            bytes,
            per_stage,
            offset,
            overlaid_bytes: 0,
            shape: None,
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
            name: Cow::Borrowed(name),
            bytes: sticks_out,
            per_stage: None,
            offset: begin,
            overlaid_bytes: bytes - sticks_out,
            shape: None,
        });
    }

    fn padding(&mut self) {
        self.components.extend(padding(&self.components, self.end));
    }
}

/// What alignment has cost, as a line of its own: what parts that end at `end` leave of it. `None` where that is
/// nothing.
pub(crate) fn padding(components: &[Component], end: u64) -> Option<Component> {
    let used: u64 = components.iter().map(|component| component.bytes).sum();
    let bytes = end - used;
    (bytes > 0).then_some(Component {
        name: Cow::Borrowed("alignment padding"),
        bytes,
        per_stage: None,
        offset: 0,
        overlaid_bytes: 0,
        shape: None,
    })
}
