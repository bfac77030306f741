//! Tiles of the kernels with `wgmma` and TMA loads, and how their shared memory is laid out.

use crate::major::Major;
use crate::units::Bytes;

/// What one block of a warp-specialised kernel computes, with elements of 2 bytes.
///
/// A block computes `m x n` elements of C in steps of [`K`](Self::K). One warpgroup (4 warps) copies; each of the
/// others multiplies [64](Self::ROWS) rows, or with [`ping_pong`](Self::ping_pong) all rows of tiles of its own.
/// Dynamic shared memory, from an address that is a multiple of [`ALIGNMENT`](Self::ALIGNMENT):
///
/// ```text
/// | A_s: m * 64 | B_s: n * 64 |              elements; `stages` times
/// | C_s: 64 x 64 or 56 |                     elements of 2 bytes; `c_panels` times for each warpgroup that multiplies
/// | full: 8 bytes | empty: 8 bytes |         an mbarrier each; `stages` times full, then `stages` times empty
/// ```
///
/// Every part of A, B and C is made of panels: rows of 128 bytes, 64 elements, with the 128-byte swizzle of tensor
/// maps. A panel of a matrix that lies along K has the rows of the tile; of one that lies across it has 64 rows, one
/// for each element along K, and the tile is as many panels as it has 64s. Where n is no multiple of 64, C's panels
/// have [56 columns](Self::c_columns) and no swizzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WgmmaTile {
    /// Rows of C: 64 for each warpgroup that multiplies, or for each turn of one.
    pub m: u32,
    /// Columns of C: 64, 128, 168, 192 or 256, those of a `wgmma`.
    pub n: u32,
    /// Steps that are in shared memory at once.
    pub stages: u32,
    /// Blocks of a cluster, neighbours along M: each loads a part of their tile of B for all of them. 1 for no cluster.
    pub cluster: u32,
    /// Whether the warpgroups that multiply take turns, each with all rows of a tile: while one stores a tile the other
    /// multiplies the next.
    pub ping_pong: bool,
    /// Panels of C of a warpgroup that are in shared memory at once, on their way to global memory.
    pub c_panels: u32,
    /// CTAs that an SM holds at once.
    pub blocks: u32,
}

impl WgmmaTile {
    /// Elements along K of a step: a row of 128 bytes.
    pub const K: u32 = 64;

    /// Rows of C of a warpgroup: those of a `wgmma`.
    pub const ROWS: u32 = 64;

    /// Elements of a row of a panel.
    pub const PANEL: u32 = 64;

    /// Threads of a warpgroup.
    pub const WARPGROUP: u32 = 128;

    /// Bytes of an element of A and B.
    pub const ELEMENT_BYTES: u32 = 2;

    /// What the address of the allocation is a multiple of: the pattern of the 128-byte swizzle repeats after so many
    /// bytes (PTX ISA, "Swizzling modes").
    pub const ALIGNMENT: Bytes = Bytes(1024);

    /// Registers of a thread of the warpgroup that copies, where it [gives some away](Self::reallocates_registers).
    pub const COPY_REGISTERS: u32 = 24;

    /// Registers of a thread that multiplies, where it gets them.
    pub const MULTIPLY_REGISTERS: u32 = 240;

    /// Warpgroups that multiply.
    pub const fn consumers(self) -> u32 {
        if self.ping_pong { 2 } else { self.m / Self::ROWS }
    }

    /// Of these, those that read a stage.
    pub const fn readers(self) -> u32 {
        if self.ping_pong { 1 } else { self.consumers() }
    }

    /// 64-row MMA tiles of a warpgroup.
    pub const fn m_tiles_per_warpgroup(self) -> u32 {
        self.m / Self::ROWS / self.readers()
    }

    /// Threads of a block: those that multiply, then the warpgroup that copies.
    pub const fn threads(self) -> u32 {
        (self.consumers() + 1) * Self::WARPGROUP
    }

    /// Elements of `A_s` of one stage: `B_s` begins here.
    pub const fn a_elems(self) -> u32 {
        self.m * Self::K
    }

    /// Elements of `B_s` of one stage.
    pub const fn b_elems(self) -> u32 {
        self.n * Self::K
    }

    /// Elements of a stage.
    pub const fn stage_elems(self) -> u32 {
        self.a_elems() + self.b_elems()
    }

    /// Bytes of a stage: what the copies of a step bring.
    pub const fn stage_bytes(self) -> Bytes {
        Bytes(self.stage_elems() * Self::ELEMENT_BYTES)
    }

    /// Columns of a panel of C: 64, swizzled, or where n is no multiple of it 56, as they are: rows of 112 bytes lie in
    /// different banks by themselves.
    pub const fn c_columns(self) -> u32 {
        if self.n.is_multiple_of(Self::PANEL) {
            Self::PANEL
        } else {
            56
        }
    }

    /// Elements of a panel of C.
    pub const fn c_panel_elems(self) -> u32 {
        Self::ROWS * self.c_columns()
    }

    /// Elements of all stages: the first panel of C begins here.
    pub const fn ring_elems(self) -> u32 {
        self.stages * self.stage_elems()
    }

    /// Elements of all panels of C.
    pub const fn c_elems(self) -> u32 {
        self.consumers() * self.c_panels * self.c_panel_elems()
    }

    /// Where the barriers begin, in bytes.
    pub const fn barriers_at(self) -> Bytes {
        Bytes((self.ring_elems() + self.c_elems()) * Self::ELEMENT_BYTES)
    }

    /// Barriers: a full and an empty one a stage.
    pub const fn barriers(self) -> u32 {
        2 * self.stages
    }

    /// The block's dynamic shared memory.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.barriers_at().get() + 8 * self.barriers())
    }

    /// Rows of A and columns of B that the loads of a step bring, of a product with `extents` rows and columns: the
    /// tile's, or of a K-major operand (`lies_across` says which are not), where C has fewer than one tile, all that
    /// there are. Rows of a box that the matrix does not have cost TMA some 5 cycles each on an H200, more than those
    /// that it has. CTAs of a cluster load whole tiles.
    pub const fn copied_rows(self, lies_across: [bool; 2], extents: [u32; 2]) -> [u32; 2] {
        const fn fewer(rows: u32, all: bool, extent: u32) -> u32 {
            if all || extent >= rows { rows } else { extent }
        }
        let all = self.cluster > 1;
        [
            fewer(self.m, all || lies_across[0], extents[0]),
            fewer(self.n, all || lies_across[1], extents[1]),
        ]
    }

    /// Rows of the boxes of the tensor maps of A, B and C, for a product with `extents` rows and columns. Boxes of A
    /// and B have 64 columns, boxes of C [`c_columns`](Self::c_columns).
    pub const fn box_rows(self, majors: [Major; 2], extents: [u32; 2]) -> [u32; 3] {
        let [a, b] = self.copied_rows([!majors[0].is_k(), !majors[1].is_k()], extents);
        [
            if majors[0].is_k() { a } else { Self::K },
            if majors[1].is_k() { b / self.cluster } else { Self::K },
            Self::ROWS,
        ]
    }

    /// What `#[kernel(cluster = ..)]` says: 0 for none. A launch of clusters of one CTA is one of clusters, and up to a
    /// fourth slower (decision 20).
    pub const fn cluster_attribute(self) -> u32 {
        if self.cluster == 1 { 0 } else { self.cluster }
    }

    /// Whether the warpgroup that copies gives registers to those that multiply (`setmaxnreg`). All start with the same
    /// number, a multiprocessor's 65,536 divided by its threads: of two warpgroups each has all that a thread can
    /// address.
    pub const fn reallocates_registers(self) -> bool {
        self.consumers() > 1
    }

    /// Whether blocks can share a tile, each with a slice of K. The large tiles leave it to the small ones, of which
    /// there are more to begin with.
    pub const fn supports_split_k(self) -> bool {
        self.n <= 192 && !self.ping_pong
    }

    /// Fails to compile where the numbers do not fit each other.
    pub const fn checked(self) -> Self {
        assert!(matches!(self.n, 64 | 128 | 168 | 192 | 256), "a wgmma's columns");
        assert!(
            self.m.is_multiple_of(Self::ROWS) && self.m <= 2 * Self::ROWS,
            "one or two warpgroups multiply"
        );
        assert!(
            self.cluster.is_power_of_two() && self.n.is_multiple_of(self.cluster),
            "each block of a cluster loads as much of B"
        );
        assert!(self.n.is_multiple_of(self.c_columns()), "whole panels of C");
        let start = 65_536 / (self.blocks * self.threads()) / 8 * 8;
        assert!(
            !self.reallocates_registers()
                || Self::COPY_REGISTERS + self.consumers() * Self::MULTIPLY_REGISTERS <= start * (self.consumers() + 1),
            "a block has no more registers than it starts with"
        );
        assert!(self.stages > 1, "loads run ahead of what is multiplied");
        assert!(self.c_panels >= 1 && self.c_panels <= self.n / self.c_columns());
        assert!(
            self.blocks * (self.bytes().get() + 1024) <= 228 << 10,
            "a multiprocessor of sm_90 holds the blocks, with a kibibyte of the system's for each"
        );
        self
    }
}

/// The tiles of this family.
pub mod wgmma_tiles {
    use super::WgmmaTile;

    /// Two CTAs share B by multicast. 4 stages, and two panels of C under way for each warpgroup: 224 KiB, one CTA an
    /// SM, 128 accumulators a thread.
    pub const T128X256: WgmmaTile = WgmmaTile {
        m: 128,
        n: 256,
        stages: 4,
        cluster: 2,
        ping_pong: false,
        c_panels: 2,
        blocks: 1,
    }
    .checked();

    /// Two tiles under way, one multiplied and one stored: 168 sums a thread, 5 stages, two panels of C for each
    /// warpgroup. 168 columns divide the widths of many models with less of a rest than 256.
    pub const T128X168: WgmmaTile = WgmmaTile {
        n: 168,
        stages: 5,
        ping_pong: true,
        ..T128X256
    }
    .checked();

    /// For C of fewer tiles: 5 stages, a panel of C for each warpgroup.
    pub const T128X192: WgmmaTile = WgmmaTile {
        n: 192,
        stages: 5,
        cluster: 1,
        c_panels: 1,
        ..T128X256
    }
    .checked();

    /// For C of fewer tiles: 6 stages, all of a warpgroup's part of C.
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
        c_panels: 1,
        ..T128X128
    }
    .checked();

    /// For C of few rows. 8 stages for one block rather than 4 for each of two: where there are no more tiles than
    /// multiprocessors, as at 1024 cubed, half of the stages would never be used (6 % on an H200).
    pub const T64X128: WgmmaTile = WgmmaTile {
        m: 64,
        stages: 8,
        c_panels: 1,
        ..T128X128
    }
    .checked();

    /// For the smallest C, and for few rows with a long K: with 192 KiB under way in each of 64 blocks, 90 MB of B (64
    /// x 4096 x 11008) take 27 us on an H200.
    pub const T64X64: WgmmaTile = WgmmaTile {
        m: 64,
        n: 64,
        stages: 12,
        c_panels: 1,
        ..T128X128
    }
    .checked();
}
