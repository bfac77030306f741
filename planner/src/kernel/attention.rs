//! FlashAttention forward: `S = Q · Kᵀ`, `P = softmax(S)`, `O = P · V`, with S and P never in global memory.
//!
//! A CTA has a tile of Q once and walks along the keys: a tile of K and one of V for each stage. S is a tile of queries
//! x keys, O one of queries x head dimension; the softmax keeps the maximum and the sum of each row and rescales O.
//!
//! Sources, by where they decide a number:
//!
//! - the buffers: FlashAttention-2 (arXiv 2307.08691), algorithm 1; `smem_q`, `smem_k`, `smem_v` and `smem_p` of
//!   FlashAttention-3's mainloop (Dao-AILab/flash-attention, `hopper/`);
//! - O is stored through the memory of V (`wgmma`) or Q (`mma.sync`): `hopper/flash_fwd_kernel_sm90.h` ("we only want
//!   smem_o to overlap with smem_v") and FlashAttention-2's `sO = sQ`;
//! - Q in registers, its place given to K and V: FlashAttention-2's `Share_Q_K_smem`, `Q_in_regs` of
//!   `hopper/tile_size.h`;
//! - registers: FlashAttention-3 (arXiv 2407.08608), section 3.2: S of the next tile is there while P of this one is
//!   multiplied;
//! - S once more for each part of O: the budget guide's strategy D, recompute instead of staging.
//!
//! Kernels of `tcgen05`, whose S, P and O are in tensor memory, are another template.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cuda_arch::Architecture;
use serde::Serialize;

use super::buffer::{Buffer, ElementType, Extent};
use super::{MOST_STAGES, within};
use crate::gemm_type::GemmType;
use crate::path::Path;
use crate::registers::{Registers, handed_over};
use crate::template::{Accumulator, TileShape};

/// Registers of a thread besides O, S, P, Q and the row statistics. With it, the tiles of FlashAttention-3's table for
/// 9.0 in `tests/kernels.rs` need no more than its warpgroups ask for: 240 where there are two, 160 where there are
/// three.
const BESIDES: u32 = 24;
/// Registers that a producer warpgroup keeps (`LoadRegisterRequirement`, `hopper/flash_fwd_kernel_sm90.h`).
const PRODUCER: u32 = 24;

/// The template of FlashAttention forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Attention {
    /// The types of Q, K, V and P. O leaves in 16 bits.
    pub ty: GemmType,
    /// The instructions: `mma.sync` or `wgmma`.
    pub path: Path,
    /// Queries (`m`), keys (`n`) and head dimension (`k`) of a tile: S is `m x n`, along `k`.
    pub tile: TileShape,
    /// Tiles of K, and as many of V, in shared memory.
    pub stages: u32,
    /// Math warps.
    pub warps: u32,
    /// Producer warps; with them, K and V come by TMA loads where the architecture has them.
    pub producer_warps: u32,
    /// Where P is between the two products.
    pub probabilities: Accumulator,
    /// Where Q is during the main loop.
    pub queries: Accumulator,
    /// Passes over the keys, each for an equal part of O's columns, with S computed anew.
    pub passes: u32,
    /// Registers of a thread, where a compiler has said so; else they are estimated.
    pub registers_per_thread: Option<u32>,
}

impl Attention {
    /// The usual template, on a given path or the best that there is: FlashAttention-3's for `wgmma`, a warpgroup for
    /// each 64 queries and one for loads; else FlashAttention-2's, with the fewest of 4, 8 and 16 warps whose threads
    /// hold O and S.
    pub fn usual(arch: &Architecture, path: Option<Path>, ty: GemmType, tile: TileShape, stages: u32) -> Self {
        let is_there = |path: &Path| path.support(arch, ty).is_some_and(|support| !support.widens(ty));
        let path = path.unwrap_or_else(|| Some(Path::Wgmma).filter(is_there).unwrap_or(Path::MmaSync));
        let usual = Self {
            ty,
            path,
            tile,
            stages,
            warps: 4,
            producer_warps: 0,
            probabilities: Accumulator::Registers,
            queries: Accumulator::SharedMemory,
            passes: 1,
            registers_per_thread: None,
        };
        match path {
            Path::Wgmma => Self {
                warps: 4 * (tile.m / 64).clamp(1, 3),
                producer_warps: 4,
                ..usual
            },
            _ => [4, 8, 16]
                .map(|warps| Self { warps, ..usual })
                .into_iter()
                .find(|usual| usual.check(arch).is_ok())
                .unwrap_or(usual),
        }
    }

    /// Threads of a CTA.
    pub const fn threads(&self) -> u32 {
        (self.warps + self.producer_warps) * 32
    }

    /// Columns of O and V that a pass computes, in elements.
    pub const fn value_columns(&self) -> u32 {
        self.tile.k / self.passes
    }

    /// Whether K and V come by TMA loads, which an mbarrier counts.
    fn loads_by_tma(&self, arch: &Architecture) -> bool {
        self.producer_warps > 0 && self.path.loads_by_tma(arch)
    }

    /// Holds every number against what the planner and the instructions ask for.
    ///
    /// # Errors
    /// One line with the number, the demand and the nearest number.
    pub fn check(&self, arch: &Architecture) -> Result<(), String> {
        let TileShape { m, n, k } = self.tile;
        for (what, got, most) in [
            ("queries of the tile", m, 1 << 12),
            ("keys of the tile", n, 1 << 12),
            ("head dimension", k, 1 << 12),
            ("stages", self.stages, MOST_STAGES),
            ("warps", self.warps, 32),
            ("passes", self.passes, 1 << 12),
        ] {
            within(what, got, most)?;
        }
        if self.producer_warps > 32 || self.threads() > arch.threads_per_block {
            let [math, producers] = [self.warps, self.producer_warps];
            return Err(format!(
                "{math} math warps and {producers} producer warps: a CTA has at most {} threads",
                arch.threads_per_block
            ));
        }
        if !matches!(self.ty.stored_bits()[0], 8 | 16) || self.ty.scale().is_some() || self.ty == GemmType::Int8 {
            return Err(format!(
                "flash-attention in {}: it is planned for f16, bf16, e4m3 and e5m2",
                self.ty
            ));
        }
        let of_path = matches!(self.path, Path::MmaSync | Path::Wgmma);
        let support = self.path.support(arch, self.ty);
        if !of_path || !support.is_some_and(|support| !support.widens(self.ty)) {
            return Err(format!(
                "flash-attention in {} by {} on {}: it is planned for mma.sync and wgmma, where the architecture has \
                 them for the type",
                self.ty, self.path, arch.name
            ));
        }
        for (what, home) in [("P", self.probabilities), ("Q", self.queries)] {
            if home == Accumulator::TensorMemory {
                return Err(format!("{what} in tmem: it is planned for registers and smem"));
            }
        }
        self.check_multiples(arch)?;
        self.check_registers(arch)
    }

    /// Whether the products divide into instructions, and the queries among the warps.
    fn check_multiples(&self, arch: &Architecture) -> Result<(), String> {
        let [rows, columns, depth] = self.path.instruction_tile(arch, self.ty);
        // wgmma's are those of four warps.
        let groups = match self.path {
            Path::Wgmma if self.warps.is_multiple_of(4) => self.warps / 4,
            Path::Wgmma => return Err(format!("{} warps of wgmma: they come in groups of 4", self.warps)),
            _ => self.warps,
        };
        let of_k = columns.max(depth);
        for (what, got, multiple) in [
            ("queries of the tile", self.tile.m, rows * groups),
            ("keys of the tile", self.tile.n, of_k),
            ("head dimension", self.tile.k, of_k),
        ] {
            if !got.is_multiple_of(multiple) {
                let nearest = (got + multiple / 2) / multiple * multiple;
                return Err(format!(
                    "{what} {got}: a multiple of {multiple} with {} by {} warps of {}; nearest: {}",
                    self.ty,
                    self.warps,
                    self.path,
                    nearest.max(multiple)
                ));
            }
        }
        if !self.tile.k.is_multiple_of(self.passes) || !self.value_columns().is_multiple_of(columns) {
            return Err(format!(
                "{} passes over a head dimension of {}: each is for equally many columns, a multiple of {columns}",
                self.passes, self.tile.k
            ));
        }
        Ok(())
    }

    fn check_registers(&self, arch: &Architecture) -> Result<(), String> {
        let registers = self.registers();
        if registers.math > arch.registers_per_thread {
            return Err(format!(
                "{} registers of a thread ({}): it has at most {}; more warps or a smaller tile",
                registers.math,
                self.holdings(),
                arch.registers_per_thread
            ));
        }
        Ok(())
    }

    /// The buffers of a CTA.
    pub fn buffers(&self, arch: &Architecture) -> Vec<Buffer> {
        let tma = self.loads_by_tma(arch);
        // An atom of the 128-byte swizzle for TMA and wgmma, else a row without bank conflicts.
        let align = if tma || self.path == Path::Wgmma { 1024 } else { 128 };
        let ty = ElementType {
            name: self.ty.name(),
            bits: self.ty.stored_bits()[0],
        };
        let of = |name: &str, rows: u32, columns: u32| Buffer {
            align,
            ..Buffer::new(name, Extent::fixed(rows), Extent::fixed(columns), ty)
        };
        let TileShape { m, n, k } = self.tile;
        let staged = |buffer: Buffer| Buffer { staged: true, ..buffer };
        let over = |buffer: Buffer, other: &str| Buffer {
            over: Some(other.into()),
            ..buffer
        };
        let q = of("Q", m, k);
        let key = staged(of("K", n, k));
        let value = staged(of("V", n, self.value_columns()));
        let o = Buffer {
            ty: if ty.bits == 16 { ty } else { ElementType::BF16 },
            ..of("O", m, self.value_columns())
        };
        let mut buffers = match (self.queries, self.path) {
            // K and V are stored where Q was, after every warp has read it; O through the memory of all three.
            (Accumulator::Registers, _) => Vec::from([over(q, "O"), over(key, "Q"), over(value, "Q"), o]),
            (_, Path::Wgmma) => Vec::from([q, key, value, over(o, "V")]),
            _ => Vec::from([q, key, value, over(o, "Q")]),
        };
        if self.probabilities == Accumulator::SharedMemory {
            buffers.push(of("P", m, n));
        }
        if tma {
            let barriers = |name, copies| Buffer {
                copies: Extent::fixed(copies),
                align: 8,
                ty: ElementType::MBARRIER,
                ..of(name, 1, 1)
            };
            // A full and an empty one for each stage of K and of V; Q is loaded once.
            buffers.push(staged(barriers("barriers", 4)));
            buffers.push(barriers("barrier of Q", 1));
        }
        buffers
    }

    /// Registers that each math thread has for O, S, P, Q and the row statistics.
    ///
    /// O: queries x columns, f32. S: queries x keys, f32. P: queries x keys in the type of the operands; with `wgmma`
    /// it is there beside the next S, with `mma.sync` it takes the place of this one. Statistics: a maximum and a sum
    /// of each row that a thread has a part of, two rows of each 16 of its warp.
    pub fn held(&self) -> [(&'static str, u64); 5] {
        let threads = u64::from(self.warps) * 32;
        let TileShape { m, n, k } = self.tile;
        let [m, n, k] = [m, n, k].map(u64::from);
        let bits = u64::from(self.ty.stored_bits()[0]);
        let share = |bits: u64| bits.div_ceil(32 * threads.max(1));
        let beside = self.path == Path::Wgmma && self.probabilities == Accumulator::Registers;
        let q_bits = if self.queries == Accumulator::Registers {
            bits
        } else {
            0
        };
        [
            ("O", share(m * u64::from(self.value_columns()) * 32)),
            ("S", share(m * n * 32)),
            ("P", share(m * n * if beside { bits } else { 0 })),
            ("Q", share(m * k * q_bits)),
            ("row statistics", (m / u64::from(self.warps.max(1))).div_ceil(8) * 2),
        ]
    }

    /// The same in words: `O 64, S 88, P 44, row statistics 4`.
    pub fn holdings(&self) -> String {
        let held = self.held().into_iter().filter(|(_, registers)| *registers > 0);
        let words: Vec<String> = held.map(|(name, registers)| format!("{name} {registers}")).collect();
        words.join(", ")
    }

    /// Registers of a thread. Exact for what it holds, an estimate for the rest.
    pub fn registers(&self) -> Registers {
        let held: u64 = self.held().into_iter().map(|(_, registers)| registers).sum();
        // At most 2^12 x 2^12 of each of five, 32 threads at least: 32 bits hold them.
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        let math = self.registers_per_thread.unwrap_or(held.saturating_add(BESIDES));
        Registers {
            accumulator: held,
            math,
            allocated: match self.registers_per_thread {
                None if self.producer_warps > 0 && self.path == Path::Wgmma => {
                    handed_over(math, self.warps, PRODUCER, self.producer_warps)
                }
                _ => math,
            },
            known: self.registers_per_thread.is_some(),
        }
    }

    /// What the kernel is, in names and values.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let TileShape { m, n, k } = self.tile;
        let mut facts = Vec::from([
            ("tile", format!("{m} queries x {n} keys, head dimension {k}")),
            ("type", format!("{}", self.ty)),
            ("stages", format!("{}", self.stages)),
            ("instructions", format!("{}", self.path)),
            ("Q, P", format!("in {}, in {}", self.queries, self.probabilities)),
            (
                "warps",
                match self.producer_warps {
                    0 => format!("{}", self.warps),
                    producers => format!("{} and {producers} producers", self.warps),
                },
            ),
        ]);
        if self.passes > 1 {
            facts.push((
                "passes",
                format!("{}, each for {} columns of O", self.passes, self.value_columns()),
            ));
        }
        facts
    }

    /// Operations for a tile of keys (a multiplication and its addition are two): S in each pass, and O.
    pub fn flops(&self) -> u64 {
        let TileShape { m, n, k } = self.tile;
        2 * u64::from(m) * u64::from(n) * u64::from(k) * u64::from(self.passes + 1)
    }

    /// Operations for a tile of keys that S costs beyond the first time.
    pub fn recomputed_flops(&self) -> u64 {
        let TileShape { m, n, k } = self.tile;
        2 * u64::from(m) * u64::from(n) * u64::from(k) * u64::from(self.passes - 1)
    }

    /// Bytes of K and V that are loaded for each operation of the result: K in each pass, V once, for the tile's
    /// queries.
    pub fn bytes_per_flop(&self) -> f64 {
        let bytes = f64::from(self.ty.stored_bits()[0]) / 8.0;
        bytes * f64::from(self.passes + 1) / (4.0 * f64::from(self.tile.m))
    }
}
