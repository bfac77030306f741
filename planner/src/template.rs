//! A kernel template: everything about a tiled product that decides its shared memory.

use core::fmt;
use core::str::FromStr;

use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};

use crate::frontend::Frontend;
use crate::gemm_type::GemmType;
use crate::occupancy::{BlockUse, occupancy};
use crate::path::{Path, Support};
use crate::registers;
use crate::rules::{self, Value, Violation};
use crate::tensor_memory;

/// Extents of `C (m x n) = A (m x k) · B (k x n)` in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Rows of A and C.
    pub m: u64,
    /// Columns of B and C.
    pub n: u64,
    /// Columns of A, rows of B.
    pub k: u64,
}

/// What a block computes at a time, in elements: `m x n` of C, along `k` in one step of the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TileShape {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Depth of a stage.
    pub k: u32,
}

impl TileShape {
    /// `m x n x k`.
    pub const fn new(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k }
    }

    /// Elements of C.
    pub const fn outputs(self) -> u64 {
        self.m as u64 * self.n as u64
    }
}

impl fmt::Display for TileShape {
    /// Writes `128x256x64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

impl FromStr for TileShape {
    type Err = &'static str;

    /// Reads `128x256x64`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let message = "a tile is written MxNxK, three whole numbers, such as 128x256x64";
        let mut parts = text.split('x').map(|part| part.parse::<u32>().map_err(|_| message));
        let mut next = || parts.next().unwrap_or(Err(message));
        let tile = TileShape::new(next()?, next()?, next()?);
        match parts.next() {
            None => Ok(tile),
            Some(_) => Err(message),
        }
    }
}

/// Where the sums live during the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Accumulator {
    /// In registers: what `mma.sync` and `wgmma` kernels do.
    #[serde(rename = "registers")]
    Registers,
    /// In shared memory.
    #[serde(rename = "smem")]
    SharedMemory,
    /// In tensor memory: what `tcgen05` does.
    #[serde(rename = "tmem")]
    TensorMemory,
}

impl Accumulator {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Accumulator::Registers => "registers",
            Accumulator::SharedMemory => "smem",
            Accumulator::TensorMemory => "tmem",
        }
    }

    /// Where a path keeps its sums.
    pub const fn of_path(path: Path) -> Self {
        match path {
            Path::Tcgen05 => Accumulator::TensorMemory,
            Path::Simt | Path::MmaSync | Path::Wgmma => Accumulator::Registers,
        }
    }
}

impl fmt::Display for Accumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Accumulator {
    type Err = &'static str;

    /// Reads an [`Accumulator::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [
            Accumulator::Registers,
            Accumulator::SharedMemory,
            Accumulator::TensorMemory,
        ]
        .into_iter()
        .find(|home| home.name() == name)
        .ok_or("unknown home of the accumulator; known: registers, smem, tmem")
    }
}

/// How results leave: through a piece of shared memory, or straight from registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Epilogue {
    /// Each thread stores its own results.
    Direct,
    /// A piece of C at a time goes through shared memory of its own.
    Own(EpilogueTile),
    /// A piece of C at a time goes through the operands' buffers, after the main loop: it must be over, so that the
    /// next tile's loads cannot overlap the stores of this one.
    Reuse(EpilogueTile),
}

/// The piece of C that an epilogue moves at a time, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EpilogueTile {
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// Such pieces in shared memory at once.
    pub buffers: u32,
}

impl Epilogue {
    /// The piece, if shared memory takes part.
    pub const fn tile(self) -> Option<EpilogueTile> {
        match self {
            Epilogue::Direct => None,
            Epilogue::Own(tile) | Epilogue::Reuse(tile) => Some(tile),
        }
    }
}

impl fmt::Display for Epilogue {
    /// Writes `direct`, `64x32`, `64x32x2` (two buffers) or `reuse:64x32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EpilogueTile { m, n, buffers } = match self {
            Epilogue::Direct => return f.write_str("direct"),
            Epilogue::Own(tile) => *tile,
            Epilogue::Reuse(tile) => {
                f.write_str("reuse:")?;
                *tile
            }
        };
        write!(f, "{m}x{n}")?;
        if buffers == 1 { Ok(()) } else { write!(f, "x{buffers}") }
    }
}

impl FromStr for Epilogue {
    type Err = &'static str;

    /// Reads what [`Epilogue`] displays.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let message = "an epilogue is direct, MxN, MxNxBUFFERS or reuse:MxN";
        if text == "direct" {
            return Ok(Epilogue::Direct);
        }
        let (reuse, extents) = match text.strip_prefix("reuse:") {
            Some(extents) => (true, extents),
            None => (false, text),
        };
        let number = |part: &str| part.parse::<u32>().map_err(|_| message);
        let mut parts = extents.split('x');
        let tile = EpilogueTile {
            m: number(parts.next().unwrap_or_default())?,
            n: number(parts.next().unwrap_or_default())?,
            buffers: parts.next().map_or(Ok(1), number)?,
        };
        match (parts.next(), reuse) {
            (Some(_), _) => Err(message),
            (None, true) => Ok(Epilogue::Reuse(tile)),
            (None, false) => Ok(Epilogue::Own(tile)),
        }
    }
}

/// When narrow elements that the instructions cannot multiply are widened to 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Widening {
    /// On the way from shared memory to registers: shared memory holds elements as they are stored, and their scales.
    #[default]
    Loading,
    /// On the way into shared memory, which then holds 16-bit elements and no scales.
    Staging,
}

impl Widening {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Widening::Loading => "loading",
            Widening::Staging => "staging",
        }
    }
}

impl FromStr for Widening {
    type Err = &'static str;

    /// Reads a [`Widening::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [Widening::Loading, Widening::Staging]
            .into_iter()
            .find(|widening| widening.name() == name)
            .ok_or("unknown time of widening; known: loading, staging")
    }
}

/// Warps of a block on every architecture: 1024 threads.
const MOST_WARPS: u32 = 32;

/// Bytes of the widest element of C.
const MOST_OUTPUT_BYTES: u32 = 16;

/// A kernel template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Template {
    /// The types of A and B.
    pub ty: GemmType,
    /// The instructions.
    pub path: Path,
    /// The tile.
    pub tile: TileShape,
    /// Stages, in the frontend's meaning.
    pub stages: u32,
    /// Who makes the kernel.
    pub frontend: Frontend,
    /// Warps that multiply (`tcgen05`: that carry the results out).
    pub warps: u32,
    /// Warps that only copy or issue.
    pub producer_warps: u32,
    /// Where the sums live.
    pub accumulator: Accumulator,
    /// Accumulators in tensor memory at once: 2 let the main loop run on while results leave.
    pub accumulator_buffers: u32,
    /// How the results leave.
    pub epilogue: Epilogue,
    /// Bytes of an element of C.
    pub output_bytes: u32,
    /// When narrow elements are widened, where that is needed at all.
    pub widening: Widening,
    /// Elements by which the rows of A and of B are longer in shared memory than in the tile, so that they begin in
    /// different banks.
    #[serde(default)]
    pub row_padding: [u32; 2],
    /// Whether operands come by `cp.async` where the path could have bulk copies.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub cp_async: bool,
    /// Bytes that each warp has for itself.
    pub scratch_per_warp_bytes: u32,
    /// Static shared memory besides.
    pub static_bytes: u32,
    /// Whether the operands' tiles are static arrays too: then the static limit of 48 KiB holds for all.
    pub operands_static: bool,
    /// Parts of K that different blocks sum.
    pub split_k: u32,
    /// Blocks of a cluster along m and n.
    pub cluster: (u32, u32),
    /// Registers of a thread, where a compiler has said so; else they are estimated.
    pub registers_per_thread: Option<u32>,
    /// Barriers of a block by a compiler's count, as in [`BlockUse::barriers`].
    pub barriers: u32,
}

impl Template {
    /// The usual template for a tile: the architecture's best path, warps for the tile's size, results stored directly,
    /// no split, no cluster. `None` where the architecture has no instructions for the type.
    pub fn usual(arch: &Architecture, ty: GemmType, tile: TileShape, stages: u32) -> Option<Self> {
        Some(Self::on_path(arch, Path::best(arch, ty)?, ty, tile, stages))
    }

    /// The usual template on a given path.
    pub fn on_path(arch: &Architecture, path: Path, ty: GemmType, tile: TileShape, stages: u32) -> Self {
        let usual = Self {
            ty,
            path,
            tile,
            stages,
            frontend: Frontend::Tilewright,
            warps: usual_warps(path, ty, tile),
            producer_warps: usual_producers(arch, path),
            accumulator: Accumulator::of_path(path),
            accumulator_buffers: 1,
            epilogue: Epilogue::Direct,
            output_bytes: ty.output_bytes(),
            widening: Widening::Loading,
            row_padding: [0; 2],
            cp_async: false,
            scratch_per_warp_bytes: 0,
            static_bytes: 0,
            operands_static: false,
            split_k: 1,
            cluster: (1, 1),
            registers_per_thread: None,
            barriers: 1,
        };
        // What another number of warps can mend.
        let of_warps = [
            &rules::WARPS,
            &rules::WGMMA_N,
            &rules::ACCUMULATOR_REGISTERS,
            &rules::BLOCK_REGISTERS,
        ];
        if !matches!(usual.check(arch), Err(broken) if of_warps.contains(&broken.rule)) {
            return usual;
        }
        // Not every tile can be divided among the usual warps: the nearest number that the rules allow, if any is.
        let warps = |warps| Self { warps, ..usual };
        let others = (1..=MOST_WARPS).map(warps).filter(|other| other.check(arch).is_ok());
        others
            .min_by_key(|other| other.warps.abs_diff(usual.warps))
            .unwrap_or(usual)
    }

    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        (self.warps + self.producer_warps) * 32
    }

    /// Buffers of operands in shared memory.
    pub const fn buffers(&self) -> u32 {
        self.frontend.buffers(self.stages, self.path)
    }

    /// Whether operands come by bulk copies, which need barriers and wider alignment: as [`Path::copies_by_tma`] says,
    /// but Triton's `mma.sync` kernels use `cp.async` everywhere (they take 147456 bytes on 12.1, not a barrier more:
    /// sgl-project/sglang#28019).
    pub fn copies_by_tma(&self, arch: &Architecture) -> bool {
        self.path.copies_by_tma(arch)
            && !self.cp_async
            && !(self.frontend == Frontend::Triton && self.path == Path::MmaSync)
    }

    /// How `arch` computes this type on this path.
    ///
    /// # Errors
    /// [`rules::PATH`], with the architecture's best path for the type as the nearest.
    pub fn support(&self, arch: &Architecture) -> Result<Support, Violation> {
        self.path.support(arch, self.ty).ok_or_else(|| Violation {
            nearest: Path::best(arch, self.ty).map(|path| Value::Name(path.name())),
            ..Violation::name(&rules::PATH, path_of_type(self.path), self.ty.name(), None)
        })
    }

    /// Holds the template against every rule of the architecture; none of them is about how much shared memory there
    /// is.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self, arch: &Architecture) -> Result<Support, Violation> {
        self.check_extents()?;
        let support = self.support(arch)?;
        self.check_warps(arch)?;
        self.check_tile(arch, &support)?;
        self.check_scales(&support)?;
        if self.buffers() == 0 {
            let least = self.frontend.stages(1, self.path);
            return Err(Violation::number(
                &rules::STAGES,
                "stages",
                self.stages.into(),
                Some(least.into()),
            ));
        }
        self.check_accumulator(arch)?;
        self.check_epilogue()?;
        self.check_cluster(arch)?;
        if self.static_bytes > arch.smem_per_block {
            let limit = arch.smem_per_block.into();
            return Err(Violation::number(
                &rules::STATIC_BYTES,
                "static bytes",
                self.static_bytes.into(),
                Some(limit),
            ));
        }
        Ok(support)
    }

    /// Holds every number by itself against what the planner computes with.
    pub(crate) fn check_extents(&self) -> Result<(), Violation> {
        const MIB: u32 = 1 << 20;
        for (what, got, most) in [
            ("tile m", self.tile.m, 1 << 16),
            ("tile n", self.tile.n, 1 << 16),
            ("tile k", self.tile.k, 1 << 16),
            ("stages", self.stages, 1024),
            ("warps", self.warps, 1024),
            ("accumulator buffers", self.accumulator_buffers, 1024),
            ("split k", self.split_k, 1 << 16),
            ("output bytes", self.output_bytes, u32::MAX),
        ] {
            if got == 0 {
                return Err(Violation::number(&rules::POSITIVE, what, 0, Some(1)));
            }
            if got > most {
                return Err(Violation::number(&rules::EXTENT, what, got.into(), Some(most.into())));
            }
        }
        if self.output_bytes > MOST_OUTPUT_BYTES {
            let (got, most) = (self.output_bytes.into(), MOST_OUTPUT_BYTES.into());
            return Err(Violation::number(&rules::OUTPUT_BYTES, "output bytes", got, Some(most)));
        }
        for (what, got, most) in [
            ("producer warps", self.producer_warps, 1024),
            ("row padding of A", self.row_padding[0], 1 << 16),
            ("row padding of B", self.row_padding[1], 1 << 16),
            ("scratch bytes per warp", self.scratch_per_warp_bytes, MIB),
        ] {
            if got > most {
                return Err(Violation::number(&rules::EXTENT, what, got.into(), Some(most.into())));
            }
        }
        Ok(())
    }

    fn check_warps(&self, arch: &Architecture) -> Result<(), Violation> {
        let most = arch.threads_per_block;
        if self.threads() > most {
            return Err(Violation::number(
                &rules::THREADS,
                "threads",
                self.threads().into(),
                Some(most.into()),
            ));
        }
        if matches!(self.path, Path::Wgmma | Path::Tcgen05) && !self.warps.is_multiple_of(4) {
            let nearest = self.warps.next_multiple_of(4);
            return Err(Violation::number(
                &rules::WARPGROUPS,
                "warps",
                self.warps.into(),
                Some(nearest.into()),
            ));
        }
        Ok(())
    }

    fn check_tile(&self, arch: &Architecture, support: &Support) -> Result<(), Violation> {
        let [m, n, k] = self.path.instruction_tile(arch, support.multiplied);
        for (rule, what, got, multiple) in [
            (&rules::TILE_M, "tile m", self.tile.m, m),
            (&rules::TILE_N, "tile n", self.tile.n, n),
            (&rules::TILE_K, "tile k", self.tile.k, k),
        ] {
            if !got.is_multiple_of(multiple) {
                return Err(Violation::number(
                    rule,
                    what,
                    got.into(),
                    Some(nearest_multiple(got, multiple).into()),
                ));
            }
        }
        match self.path {
            Path::Tcgen05 => {
                let least = if support.multiplied.scale().is_some() { 128 } else { 64 };
                if self.tile.m < least || !matches!(self.tile.m, 64 | 128 | 256) {
                    let nearest = [64, 128, 256]
                        .into_iter()
                        .filter(|&rows| rows >= least)
                        .min_by_key(|rows| self.tile.m.abs_diff(*rows));
                    return Err(Violation::number(
                        &rules::TCGEN05_M,
                        "tile m",
                        self.tile.m.into(),
                        nearest.map(u64::from),
                    ));
                }
                if self.tile.n > 256 {
                    return Err(Violation::number(
                        &rules::TCGEN05_N,
                        "tile n",
                        self.tile.n.into(),
                        Some(256),
                    ));
                }
                Ok(())
            }
            Path::Wgmma => {
                // Columns of one group of warps, if they are to be shared evenly.
                let columns = |tile: TileShape| {
                    let (_, across) = warp_grid(tile, self.warps / 4, [64, n])?;
                    Some(tile.n / across)
                };
                match columns(self.tile) {
                    None => Err(self.uneven_warps(4, [64, n])),
                    Some(0..=256) => Ok(()),
                    Some(_) => {
                        // How warps divide a tile depends on its columns, so the next that one instruction can make is
                        // looked for.
                        let nearest =
                            (1..self.tile.n / n)
                                .rev()
                                .map(|instructions| instructions * n)
                                .find(|&narrower| {
                                    let tile = TileShape {
                                        n: narrower,
                                        ..self.tile
                                    };
                                    columns(tile).is_some_and(|columns| columns <= 256)
                                });
                        Err(Violation::number(
                            &rules::WGMMA_N,
                            "tile n",
                            self.tile.n.into(),
                            nearest.map(u64::from),
                        ))
                    }
                }
            }
            Path::MmaSync => match warp_grid(self.tile, self.warps, [m, n]) {
                None => Err(self.uneven_warps(1, [m, n])),
                Some(_) => Ok(()),
            },
            Path::Simt => {
                // The last warp may be partly idle.
                let most = self.tile.outputs().div_ceil(32);
                if u64::from(self.warps) <= most {
                    return Ok(());
                }
                Err(Violation::number(
                    &rules::SIMT_WARPS,
                    "warps",
                    self.warps.into(),
                    Some(most),
                ))
            }
        }
    }

    /// Warps that cannot share the tile; the nearest number that can.
    fn uneven_warps(&self, group: u32, instruction: [u32; 2]) -> Violation {
        let nearest = (1..=MOST_WARPS / group)
            .filter(|&groups| warp_grid(self.tile, groups, instruction).is_some())
            .map(|groups| groups * group)
            .min_by_key(|&warps| warps.abs_diff(self.warps));
        Violation::number(&rules::WARPS, "warps", self.warps.into(), nearest.map(u64::from))
    }

    fn check_scales(&self, support: &Support) -> Result<(), Violation> {
        let Some(scale) = self.ty.scale() else {
            return Ok(());
        };
        if support.widens(self.ty) {
            // Without instructions that take scales, their layout is the kernel's own; whole blocks must be in a stage.
            return whole_blocks(self.tile.k, scale.elements);
        }
        if !self.tile.m.is_multiple_of(128) {
            let nearest = nearest_multiple(self.tile.m, 128);
            return Err(Violation::number(
                &rules::SCALE_ATOM_ROWS,
                "tile m",
                self.tile.m.into(),
                Some(nearest.into()),
            ));
        }
        whole_blocks(self.tile.k, 4 * scale.elements)
    }

    fn check_accumulator(&self, arch: &Architecture) -> Result<(), Violation> {
        let legal = match self.path {
            Path::Simt | Path::MmaSync => self.accumulator != Accumulator::TensorMemory,
            Path::Wgmma => self.accumulator == Accumulator::Registers,
            Path::Tcgen05 => self.accumulator == Accumulator::TensorMemory,
        };
        if !legal {
            let nearest = Accumulator::of_path(self.path).name();
            return Err(Violation::name(
                &rules::ACCUMULATOR,
                accumulator_of_path(self.path),
                self.accumulator.name(),
                Some(nearest),
            ));
        }
        if let Some(columns) = tensor_memory::columns(self, arch)
            && columns.needed > tensor_memory::COLUMNS
        {
            return Err(Violation::number(
                &rules::TENSOR_MEMORY,
                "tensor-memory columns",
                columns.needed.into(),
                Some(tensor_memory::COLUMNS.into()),
            ));
        }
        let needed = registers::math_registers(self);
        if needed > arch.registers_per_thread {
            return Err(Violation::number(
                &rules::ACCUMULATOR_REGISTERS,
                "registers per thread",
                needed.into(),
                Some(arch.registers_per_thread.into()),
            ));
        }
        let allocated = registers::registers(self, arch).allocated;
        let block = BlockUse::new(self.threads(), allocated, 0, 0);
        if occupancy(arch, &block).by_registers == Some(0) {
            // Warps take registers in whole units and are counted in fours.
            let warps = (self.warps + self.producer_warps).next_multiple_of(arch.subpartitions_per_sm);
            let unit = arch.register_allocation_per_warp;
            let most = arch.registers_per_block / warps / unit * unit / arch.warp_size;
            return Err(Violation::number(
                &rules::BLOCK_REGISTERS,
                "registers per thread",
                allocated.into(),
                Some(most.into()),
            ));
        }
        Ok(())
    }

    fn check_epilogue(&self) -> Result<(), Violation> {
        let Some(EpilogueTile { m, n, buffers }) = self.epilogue.tile() else {
            return Ok(());
        };
        for (what, got, whole) in [("epilogue m", m, self.tile.m), ("epilogue n", n, self.tile.n)] {
            if got == 0 || !whole.is_multiple_of(got) {
                let nearest = (1..=whole)
                    .filter(|part| whole.is_multiple_of(*part))
                    .min_by_key(|part| part.abs_diff(got));
                return Err(Violation::number(
                    &rules::EPILOGUE,
                    what,
                    got.into(),
                    nearest.map(u64::from),
                ));
            }
        }
        if !(1..=1024).contains(&buffers) {
            let nearest = buffers.clamp(1, 1024);
            return Err(Violation::number(
                &rules::EPILOGUE,
                "epilogue buffers",
                buffers.into(),
                Some(nearest.into()),
            ));
        }
        Ok(())
    }

    fn check_cluster(&self, arch: &Architecture) -> Result<(), Violation> {
        let (m, n) = self.cluster;
        let blocks = u64::from(m) * u64::from(n);
        let most = match (arch.clusters, arch.compute_capability.major) {
            (false, _) | (true, 12) => 1,
            (true, _) => 8,
        };
        if blocks == 0 || blocks > most {
            return Err(Violation {
                rule: &rules::CLUSTER,
                what: "cluster",
                got: Value::Pair(m, n),
                nearest: Some(if most == 1 {
                    Value::Pair(1, 1)
                } else {
                    Value::Pair(m.clamp(1, 2), n.clamp(1, 4))
                }),
            });
        }
        Ok(())
    }
}

/// A stage must hold whole scale blocks.
fn whole_blocks(tile_k: u32, multiple: u32) -> Result<(), Violation> {
    if tile_k.is_multiple_of(multiple) {
        return Ok(());
    }
    let nearest = nearest_multiple(tile_k, multiple);
    Err(Violation::number(
        &rules::SCALE_ATOM_K,
        "tile k",
        tile_k.into(),
        Some(nearest.into()),
    ))
}

/// The multiple, at least one, that is nearest; the larger of two.
pub(crate) const fn nearest_multiple(got: u32, multiple: u32) -> u32 {
    let below = got / multiple * multiple;
    if below > 0 && got - below < multiple - (got - below) {
        below
    } else {
        below + multiple
    }
}

/// How `parts` warps (or groups of four) share a tile: along m and along n, as square as it goes. `None` where they
/// cannot.
pub(crate) fn warp_grid(tile: TileShape, parts: u32, [m, n]: [u32; 2]) -> Option<(u32, u32)> {
    (1..=parts)
        .filter(|along_m| parts.is_multiple_of(*along_m))
        .map(|along_m| (along_m, parts / along_m))
        .filter(|&(along_m, along_n)| tile.m.is_multiple_of(m * along_m) && tile.n.is_multiple_of(n * along_n))
        // Operand fragments of a warp grow with the sum of its sides.
        .min_by_key(|&(along_m, along_n)| (tile.m / along_m + tile.n / along_n, along_n))
}

/// Warps as the fast kernels of each path have them.
fn usual_warps(path: Path, ty: GemmType, tile: TileShape) -> u32 {
    match path {
        // 8 x 8 sums a thread, 256 threads at most: the configurations that win in f32.
        Path::Simt => (tile.outputs() / (32 * 64)).clamp(1, 8) as u32,
        // CUTLASS: 4 warps up to 128 x 128, 8 above; a warp's tile is at least 16 x 32. Sums of 8 bytes count twice.
        Path::MmaSync => match tile.outputs().saturating_mul((ty.accumulator_bytes() / 4).into()) {
            0..1024 => 1,
            1024..4096 => 2,
            4096..32768 => 4,
            _ => 8,
        },
        // A group of 4 warps for each 64 rows, two at most: more would leave a thread too few registers for its sums.
        Path::Wgmma => 4 * (tile.m / 64).clamp(1, 2),
        Path::Tcgen05 => 4,
    }
}

/// One warp group copies for `wgmma` and the TMA kernels of `mma.sync`; a warp copies and a warp issues for `tcgen05`.
fn usual_producers(arch: &Architecture, path: Path) -> u32 {
    match path {
        Path::Simt => 0,
        Path::MmaSync if !path.copies_by_tma(arch) => 0,
        Path::MmaSync | Path::Wgmma => 4,
        Path::Tcgen05 => 4,
    }
}

const fn path_of_type(path: Path) -> &'static str {
    match path {
        Path::Simt => "simt for",
        Path::MmaSync => "mma.sync for",
        Path::Wgmma => "wgmma for",
        Path::Tcgen05 => "tcgen05 for",
    }
}

const fn accumulator_of_path(path: Path) -> &'static str {
    match path {
        Path::Simt => "accumulator of simt in",
        Path::MmaSync => "accumulator of mma.sync in",
        Path::Wgmma => "accumulator of wgmma in",
        Path::Tcgen05 => "accumulator of tcgen05 in",
    }
}
