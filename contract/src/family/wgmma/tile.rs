//! Tiles of the kernels with `wgmma` and TMA loads, and how their shared memory is laid out.

use crate::major::Major;
use crate::units::Bytes;

/// CTA tile of a warp-specialized kernel with elements of 1, 2 or 4 bytes in shared memory.
///
/// A CTA computes `m x n` elements of C in k-tiles of [`k`](Self::k). One warpgroup (4 warps) has the producer; each of
/// the others computes [64](Self::ROWS) rows, or with [`ping_pong`](Self::ping_pong) all rows of tiles of its own.
/// Dynamic shared memory, from an address that is a multiple of [`ALIGNMENT`](Self::ALIGNMENT):
///
/// ```text
/// | A_s: m * k | B_s: n * k |                elements, each `parts` times; `stages` times
/// | C_s: 64 x 64 or 56 |                     elements of 2 bytes; `c_subtiles` times for each consumer warpgroup
/// | full: 8 bytes | empty: 8 bytes |         an mbarrier each; `stages` times full, then `stages` times empty
/// | flag: 8 bytes |                          with split-K and no C_s: one for each warpgroup
/// ```
///
/// Rows of A, B and C have 128 bytes, [k](Self::k) elements, with the 128-byte swizzle of tensor maps. A K-major
/// operand tile has the rows of the tile; an MN-major one has k rows, one per element along K, for every k of M or N.
/// If n is not a multiple of 64, C's epilogue subtiles have [56 columns](Self::c_columns) and no swizzle.
///
/// A [transposed](Self::is_transposed) tile is one of C^T = B^T A^T: here and in the kernel's body M counts columns of
/// C, A is B^T, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WgmmaTile {
    /// Rows of C: 64 for each MMA tile of each consumer warpgroup.
    pub m: u32,
    /// Columns of C: 64, 128, 168, 192 or 256, those of a `wgmma`.
    pub n: u32,
    /// Stages of the pipeline: k-tiles in shared memory at once.
    pub stages: u32,
    /// CTAs of a cluster, neighbors along M: each multicasts a part of their tile of B to all. 1 for no cluster.
    pub cluster: u32,
    /// Ping-pong schedule: each consumer warpgroup has all rows of a tile, and stores it while the other computes the
    /// next.
    pub ping_pong: bool,
    /// Epilogue subtiles of a warpgroup that are in shared memory at once.
    pub c_subtiles: u32,
    /// CTAs that an SM holds at once.
    pub blocks: u32,
    /// Whether its kernels compute groups of rows.
    pub groups: bool,
    /// Parts of A and of B that a stage holds: 3 where an f32 is the sum of three bf16, else 1.
    pub parts: u32,
    /// BLOCK_K, elements along K of a k-tile, and elements of a row of a swizzle atom: a row of 128 bytes.
    pub k: u32,
    /// Bytes of an element of A and B in shared memory: 2, or 4 of tf32, or 1 of FP8.
    pub element_bytes: u32,
    /// Whether it is a tile of the transpose of C.
    pub is_transposed: bool,
}

impl WgmmaTile {
    /// BLOCK_K of elements of 2 bytes.
    pub const K: u32 = 64;

    /// Bytes of a row of a stage.
    pub const ROW_BYTES: u32 = 128;

    /// Rows of C of a warpgroup: those of a `wgmma`.
    pub const ROWS: u32 = 64;

    /// Elements of 2 bytes of a row of a swizzle atom: 128 bytes.
    pub const SWIZZLE_ATOM: u32 = 64;

    /// Threads of a warpgroup.
    pub const WARPGROUP: u32 = 128;

    /// Bytes of an element of an epilogue subtile.
    pub const ELEMENT_BYTES: u32 = 2;

    /// What the address of the allocation is a multiple of: the pattern of the 128-byte swizzle repeats after so many
    /// bytes (PTX ISA, "Swizzling modes").
    pub const ALIGNMENT: Bytes = Bytes(1024);

    /// Registers per thread of the producer warpgroup, if it [gives some away](Self::reallocates_registers).
    pub const PRODUCER_REGISTERS: u32 = 24;

    /// Registers per thread of a consumer warpgroup, if it gets them.
    pub const CONSUMER_REGISTERS: u32 = 240;

    /// The same of the producer warpgroup where operands are in parts: it has the addresses of six boxes.
    pub const PARTS_PRODUCER_REGISTERS: u32 = 40;

    /// The same of a consumer warpgroup.
    pub const PARTS_CONSUMER_REGISTERS: u32 = 232;

    /// Rows and columns of C: those of the tile, or exchanged.
    pub const fn of_c(self) -> [u32; 2] {
        if self.is_transposed {
            [self.n, self.m]
        } else {
            [self.m, self.n]
        }
    }

    /// Consumer warpgroups.
    pub const fn consumers(self) -> u32 {
        if self.ping_pong { 2 } else { self.m / Self::ROWS }
    }

    /// Consumer warpgroups that read one stage.
    pub const fn readers(self) -> u32 {
        if self.ping_pong { 1 } else { self.consumers() }
    }

    /// 64-row MMA tiles of a warpgroup.
    pub const fn m_tiles_per_warpgroup(self) -> u32 {
        self.m / Self::ROWS / self.readers()
    }

    /// Threads of a CTA: the consumer warpgroups, then the producer warpgroup.
    pub const fn threads(self) -> u32 {
        (self.consumers() + 1) * Self::WARPGROUP
    }

    /// Elements of `A_s` of one stage, all parts: `B_s` begins here.
    pub const fn a_elems(self) -> u32 {
        self.parts * self.m * self.k
    }

    /// Elements of `B_s` of one stage, all parts.
    pub const fn b_elems(self) -> u32 {
        self.parts * self.n * self.k
    }

    /// Elements of a stage.
    pub const fn stage_elems(self) -> u32 {
        self.a_elems() + self.b_elems()
    }

    /// Bytes of a stage: the loads of a k-tile.
    pub const fn stage_bytes(self) -> Bytes {
        Bytes(self.stage_elems() * self.element_bytes)
    }

    /// Columns of an epilogue subtile: 64, swizzled, or 56 without a swizzle if n is not a multiple of 64: rows of 112
    /// bytes are in different banks by themselves.
    pub const fn c_columns(self) -> u32 {
        if self.n.is_multiple_of(Self::SWIZZLE_ATOM) {
            Self::SWIZZLE_ATOM
        } else {
            56
        }
    }

    /// Elements of an epilogue subtile.
    pub const fn c_subtile_elems(self) -> u32 {
        Self::ROWS * self.c_columns()
    }

    /// Elements of all stages: the first epilogue subtile starts here.
    pub const fn pipeline_elems(self) -> u32 {
        self.stages * self.stage_elems()
    }

    /// Elements of all epilogue subtiles.
    pub const fn c_elems(self) -> u32 {
        self.consumers() * self.c_subtiles * self.c_subtile_elems()
    }

    /// Offset of the barriers, in bytes.
    pub const fn barriers_at(self) -> Bytes {
        Bytes(self.pipeline_elems() * self.element_bytes + self.c_elems() * Self::ELEMENT_BYTES)
    }

    /// Barriers: a full and an empty one per stage.
    pub const fn barriers(self) -> u32 {
        2 * self.stages
    }

    /// Flags by which the threads of a consumer warpgroup learn that it has the sum of all splits, one for each
    /// warpgroup; tiles with epilogue subtiles use these.
    pub const fn flags(self) -> u32 {
        if self.c_subtiles == 0 && self.supports_split_k() {
            self.threads() / Self::WARPGROUP
        } else {
            0
        }
    }

    /// The CTA's dynamic shared memory.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.barriers_at().get() + 8 * (self.barriers() + self.flags()))
    }

    /// Rows of A and columns of B that are loaded per k-tile, for a C of `extents` rows and columns: the tile's, or if
    /// a K-major operand (`is_mn_major` is false) has fewer than a tile, all that there are. Rows of a box outside the
    /// matrix cost TMA some 5 cycles each on an H200, more than those inside. CTAs of a cluster load whole tiles.
    pub const fn loaded_rows(self, is_mn_major: [bool; 2], extents: [u32; 2]) -> [u32; 2] {
        const fn fewer(rows: u32, all: bool, extent: u32) -> u32 {
            if all || extent >= rows { rows } else { extent }
        }
        let all = self.cluster > 1;
        [
            fewer(self.m, all || is_mn_major[0], extents[0]),
            fewer(self.n, all || is_mn_major[1], extents[1]),
        ]
    }

    /// Rows of the boxes of the tensor maps of A, B and C, for a product with `extents` rows and columns. Boxes of A
    /// and B have [k](Self::k) columns, boxes of C [`c_columns`](Self::c_columns).
    pub const fn box_rows(self, majors: [Major; 2], extents: [u32; 2]) -> [u32; 3] {
        let exchanged = self.is_transposed;
        // As the body has them, and back.
        let ([first, second], extents) = if exchanged {
            ([majors[1], majors[0]], [extents[1], extents[0]])
        } else {
            (majors, extents)
        };
        let [a, b] = self.loaded_rows([!first.is_k(), !second.is_k()], extents);
        let a = if first.is_k() { a } else { self.k };
        let b = if second.is_k() { b / self.cluster } else { self.k };
        if exchanged {
            [b, a, Self::ROWS]
        } else {
            [a, b, Self::ROWS]
        }
    }

    /// What `#[kernel(cluster = ..)]` says: 0 for none. A launch of clusters of one CTA is one of clusters, and up to a
    /// fourth slower (decision 20).
    pub const fn cluster_attribute(self) -> u32 {
        if self.cluster == 1 { 0 } else { self.cluster }
    }

    /// Whether the producer warpgroup gives registers to the consumers (`setmaxnreg`). All start with the same number,
    /// an SM's 65,536 divided by its threads: with two warpgroups each has all that a thread can address.
    pub const fn reallocates_registers(self) -> bool {
        self.consumers() > 1
    }

    /// Whether the kernels support split-K. The large tiles leave it to the small ones, of which there are more to
    /// begin with.
    pub const fn supports_split_k(self) -> bool {
        self.n <= 192 && !self.ping_pong && !self.groups && self.element_bytes > 1
    }

    /// The same tile in units of 2 bytes, in which the epilogue counts.
    pub const fn in_halves(self) -> Self {
        Self {
            k: self.k * self.element_bytes / Self::ELEMENT_BYTES,
            element_bytes: Self::ELEMENT_BYTES,
            ..self
        }
    }

    /// Fails to compile where the numbers do not fit each other.
    pub const fn checked(self) -> Self {
        assert!(matches!(self.n, 64 | 128 | 168 | 192 | 256), "a wgmma's columns");
        assert!(
            self.m.is_multiple_of(Self::ROWS) && self.m <= 2 * Self::ROWS,
            "one or two consumer warpgroups"
        );
        assert!(
            self.cluster.is_power_of_two() && self.n.is_multiple_of(self.cluster),
            "each CTA of a cluster loads as much of B"
        );
        assert!(self.n.is_multiple_of(self.c_columns()), "whole epilogue subtiles");
        let [producer, consumer] = match self.parts {
            1 => [Self::PRODUCER_REGISTERS, Self::CONSUMER_REGISTERS],
            _ => [Self::PARTS_PRODUCER_REGISTERS, Self::PARTS_CONSUMER_REGISTERS],
        };
        let start = 65_536 / (self.blocks * self.threads()) / 8 * 8;
        assert!(
            !self.reallocates_registers() || producer + self.consumers() * consumer <= start * (self.consumers() + 1),
            "a CTA has no more registers than it starts with"
        );
        assert!(self.stages > 1, "loads run ahead of the mma");
        assert!(
            !self.groups || self.cluster == 1 && !self.ping_pong,
            "neighboring tiles may be of different groups, and skipped ones have no turn"
        );
        assert!(
            self.parts == 1 || self.cluster > 1 && !self.ping_pong && !self.groups && self.m == 2 * Self::ROWS,
            "boxes of parts are whole; each warpgroup has one MMA tile"
        );
        assert!(
            matches!(self.element_bytes, 1 | 2 | 4) && self.k * self.element_bytes == Self::ROW_BYTES,
            "an element of a wgmma, a row of a swizzle atom"
        );
        assert!(
            !self.is_transposed || self.element_bytes == 4 && !self.groups,
            "only tf32 has tiles of the transpose"
        );
        assert!(
            self.element_bytes == 2 || !self.ping_pong && self.parts == 1,
            "each warpgroup has one MMA tile"
        );
        assert!(
            self.element_bytes != 4 || self.m == 2 * Self::ROWS,
            "two warpgroups store f32"
        );
        // f32 is stored from registers.
        assert!((self.c_subtiles == 0) == (self.element_bytes == 4) && self.c_subtiles <= self.n / self.c_columns());
        assert!(
            self.blocks * (self.bytes().get() + 1024) <= 228 << 10,
            "an SM of sm_90 holds the CTAs, with 1 KiB of reserved shared memory each"
        );
        self
    }
}

/// The tiles of this family.
pub mod wgmma_tiles {
    use super::WgmmaTile;

    /// Two CTAs share B by multicast. 4 stages, and two epilogue subtiles per warpgroup: 224 KiB, one CTA per SM, 128
    /// accumulators per thread.
    pub const T128X256: WgmmaTile = WgmmaTile {
        m: 128,
        n: 256,
        stages: 4,
        cluster: 2,
        ping_pong: false,
        c_subtiles: 2,
        blocks: 1,
        groups: false,
        parts: 1,
        k: WgmmaTile::K,
        element_bytes: 2,
        is_transposed: false,
    }
    .checked();

    /// Ping-pong schedule: 168 accumulators per thread, 5 stages, two epilogue subtiles per warpgroup. 168 columns
    /// divide the widths of many models with less residue than 256.
    pub const T128X168: WgmmaTile = WgmmaTile {
        n: 168,
        stages: 5,
        ping_pong: true,
        ..T128X256
    }
    .checked();

    /// For C of fewer tiles: 5 stages, one epilogue subtile per warpgroup.
    pub const T128X192: WgmmaTile = WgmmaTile {
        n: 192,
        stages: 5,
        cluster: 1,
        c_subtiles: 1,
        ..T128X256
    }
    .checked();

    /// For C of fewer tiles: 6 stages, epilogue subtiles for all of a warpgroup's rows.
    pub const T128X128: WgmmaTile = WgmmaTile {
        n: 128,
        stages: 6,
        cluster: 1,
        ..T128X256
    }
    .checked();

    /// For smaller C.
    pub const T128X64: WgmmaTile = WgmmaTile {
        n: 64,
        stages: 8,
        c_subtiles: 1,
        ..T128X128
    }
    .checked();

    /// For C of few rows. 8 stages for one CTA rather than 4 for each of two: with no more tiles than SMs, as at 1024
    /// cubed, half of the stages would never be used (6 % on an H200).
    pub const T64X128: WgmmaTile = WgmmaTile {
        m: 64,
        stages: 8,
        c_subtiles: 1,
        ..T128X128
    }
    .checked();

    /// For the smallest C, and for few rows with a long K: with 192 KiB in flight in each of 64 CTAs, 90 MB of B (64
    /// x 4096 x 11008) take 27 us on an H200.
    pub const T64X64: WgmmaTile = WgmmaTile {
        m: 64,
        n: 64,
        stages: 12,
        c_subtiles: 1,
        ..T128X128
    }
    .checked();

    /// For groups of many rows.
    pub const G128X192: WgmmaTile = of_groups(T128X192);

    /// For groups of fewer.
    pub const G128X128: WgmmaTile = of_groups(T128X128);

    /// For groups of few.
    pub const G64X128: WgmmaTile = of_groups(T64X128);

    /// For f32 in three parts of bf16: 2 stages of 96 KiB, each read six times, 64 accumulators per thread for a k-tile
    /// and as many for all of K.
    pub const E128X128: WgmmaTile = WgmmaTile {
        n: 128,
        stages: 2,
        c_subtiles: 1,
        parts: 3,
        ..T128X256
    }
    .checked();

    /// For tf32: two CTAs share B by multicast. 4 stages of 48 KiB, 128 accumulators per thread.
    pub const F128X256: WgmmaTile = WgmmaTile {
        c_subtiles: 0,
        k: 32,
        element_bytes: 4,
        ..T128X256
    }
    .checked();

    /// The same for the transpose of C.
    pub const F256X128: WgmmaTile = transposed(F128X256);

    /// For C of fewer tiles: 6 stages, split-K.
    pub const F128X128: WgmmaTile = WgmmaTile {
        n: 128,
        stages: 6,
        ..F128X256
    }
    .checked();

    /// The same for the transpose of C.
    pub const F128X128T: WgmmaTile = transposed(F128X128);

    /// For the smallest C: 8 stages, split-K.
    pub const F128X64: WgmmaTile = WgmmaTile {
        n: 64,
        stages: 8,
        ..F128X256
    }
    .checked();

    /// The same for the transpose of C.
    pub const F64X128: WgmmaTile = transposed(F128X64);

    const fn transposed(tile: WgmmaTile) -> WgmmaTile {
        WgmmaTile {
            is_transposed: true,
            ..tile
        }
        .checked()
    }

    pub(crate) const fn of_groups(tile: WgmmaTile) -> WgmmaTile {
        WgmmaTile { groups: true, ..tile }.checked()
    }
}
