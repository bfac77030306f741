//! Cost of one memory instruction of a warp: wavefronts of shared memory, sectors of global memory.
//!
//! # Shared memory
//!
//! Shared memory has 32 banks; successive words of 4 bytes are in successive banks, and each bank yields one word a
//! cycle. A *wavefront* is one pass through all banks, at most 128 bytes. Lanes that touch the same word share it, read
//! or written (CUDA Programming Guide, "Shared Memory" of compute capability 5.x and all later ones, which refer to it:
//! no conflict between threads that access the same 32-bit word; the word is broadcast, of several writes one wins).
//! The wavefronts of a warp's instruction:
//!
//! 1. The lanes are served in groups so that a group asks for at most 32 words: all 32 lanes up to 4 bytes a lane,
//!    half-warps (lanes 0-15, 16-31) for 8 bytes, quarter-warps (0-7, 8-15, 16-23, 24-31) for 16 bytes. Groups with no
//!    active lane cost nothing.
//! 2. A group takes as many wavefronts as the most distinct words of it in one bank.
//! 3. *Merging*, 8- and 16-byte loads only: if every active lane `n` has the same address as lane `n ^ 1` or that lane
//!    is inactive - or the same with `n ^ 2`, of one of the two for the whole warp - neighbouring groups are served as
//!    one, halves as the whole warp, quarters as halves. Stores never merge. A broadcast of 16 bytes thus takes 2
//!    wavefronts, not 4: a wavefront returns at most 64 bits a lane.
//! 4. Atomic read-modify-writes to one word cannot share it: every lane counts as a word of its own.
//!
//! [`Wavefronts::ideal`] is the number of groups with an active lane, after merging. The excess over it is `ncu`'s bank
//! conflicts: the wavefronts of each group less one, summed.
//!
//! In terms of `ncu`: `actual` is `memory_l1_wavefronts_shared` of one instruction (source counters), and in a kernel
//! that does nothing else, `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld` or `_op_st`; `actual - ideal` is
//! `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld` or `_op_st`, which the hardware also counts up when another
//! client of the data banks (cache fills, TMA) goes first.
//!
//! Sources:
//! - all four rules: counted by `ncu` for single instructions of one warp on an H200 (compute capability 9.0),
//!   `docs/results/h200-banks.json`, made by `benches/peers/banks.cu`; `tests/measured.rs` holds this module to it;
//! - merging: NVIDIA's answer for 7.0 - 7.5,
//!   <https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228/2> ("thread pairs Tn and Tn^1
//!   have the same addresses for all active threads, or Tn and Tn^2": 4 requests become 2);
//! - 16-byte loads: 4 wavefronts without and 32 with all conflicts, the difference reported as bank conflicts:
//!   <https://forums.developer.nvidia.com/t/clarification-bank-conflicts-metric-vs-wavefronts-for-shared-memory-lds-128/359822>.
//!
//! # Global memory
//!
//! The caches move *sectors* of 32 aligned bytes. A warp's instruction asks for each sector that an active lane touches
//! once, whatever the width of the access (`l1tex__t_sectors_pipe_lsu_mem_global_op_ld`, `_op_st`). Source: Nsight
//! Compute Profiling Guide, "Memory Tables" and the metrics decoder,
//! <https://docs.nvidia.com/nsight-compute/ProfilingGuide/>.

use super::LANES;

const BANKS: usize = 32;
const WORD_BYTES: u64 = 4;
const SECTOR_BYTES: u64 = 32;
/// A lane touches at most this many words: 16 bytes, and one more where it is not aligned.
const WORDS_OF_LANE: usize = 5;

/// The operation of an instruction on shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedAccess {
    /// Reads: `ld.shared`, and atomic loads.
    Load,
    /// Writes: `st.shared`, and atomic stores.
    Store,
    /// Reads and writes at once: `atom.shared`.
    Atomic,
}

/// Passes through the banks of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wavefronts {
    /// How many the instruction takes.
    pub actual: u32,
    /// How many it would take if no two words were in the same bank.
    pub ideal: u32,
}

/// Units of 32 aligned bytes of global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sectors {
    /// How many the instruction touches.
    pub actual: u32,
    /// How many would hold the bytes that it touches: a thirty-second of the distinct bytes, rounded up.
    pub ideal: u32,
}

/// The wavefronts of one instruction of a warp on shared memory; the rules are the [module's](self).
///
/// `addresses` are byte offsets by lane, `None` for lanes that do not take part; `bytes` is the width of each lane's
/// access: 1, 2, 4, 8 or 16.
#[must_use]
pub fn shared_wavefronts(addresses: &[Option<u32>; 32], bytes: u32, access: SharedAccess) -> Wavefronts {
    let (addresses, active) = split(addresses);
    wavefronts(&addresses, active, bytes, access)
}

/// The sectors of one instruction of a warp on global memory.
///
/// `addresses` are by lane, `None` for lanes that do not take part; `bytes` is the width of each lane's access: 1, 2,
/// 4, 8 or 16.
#[must_use]
pub fn global_sectors(addresses: &[Option<u64>; 32], bytes: u32) -> Sectors {
    let (addresses, active) = split(addresses);
    sectors(&addresses, active, bytes)
}

fn split<A: Copy + Into<u64>>(addresses: &[Option<A>; LANES]) -> ([u64; LANES], u32) {
    let mut plain = [0; LANES];
    let mut active = 0;
    for (lane, address) in addresses.iter().enumerate() {
        if let Some(address) = *address {
            plain[lane] = address.into();
            active |= 1 << lane;
        }
    }
    (plain, active)
}

/// [`shared_wavefronts`], with the lanes that take part as a mask.
pub(super) fn wavefronts(addresses: &[u64; LANES], active: u32, bytes: u32, access: SharedAccess) -> Wavefronts {
    let lanes = match bytes {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let merged = access == SharedAccess::Load && lanes < 32 && returns_merge(addresses, active);
    let lanes = if merged { 2 * lanes } else { lanes };
    let mut sum = Wavefronts::default();
    for group in groups(active, lanes) {
        sum.actual += passes(addresses, group, bytes, access);
        sum.ideal += 1;
    }
    sum
}

/// The active lanes of each group of `lanes` lanes, where there are any.
fn groups(active: u32, lanes: u32) -> impl Iterator<Item = u32> {
    let first = u32::MAX >> (32 - lanes);
    (0..32 / lanes)
        .map(move |group| active & first << (group * lanes))
        .filter(|&group| group != 0)
}

/// Whether lanes pair up by address, as merging asks (rule 3).
fn returns_merge(addresses: &[u64; LANES], active: u32) -> bool {
    let pairs = |distance: usize| {
        (0..LANES).all(|lane| {
            let other = lane ^ distance;
            let both = active >> lane & active >> other & 1 == 1;
            !both || addresses[lane] == addresses[other]
        })
    };
    pairs(1) || pairs(2)
}

/// Passes that serve the lanes of `group`, which is not empty: the most words of one bank.
fn passes(addresses: &[u64; LANES], group: u32, bytes: u32, access: SharedAccess) -> u32 {
    if access == SharedAccess::Atomic {
        return requests_of_hottest_bank(addresses, group, bytes);
    }
    let free = match bytes {
        0..=4 => is_conflict_free::<1>(addresses, group, bytes),
        8 => is_conflict_free::<2>(addresses, group, bytes),
        16 => is_conflict_free::<4>(addresses, group, bytes),
        _ => false,
    };
    if free {
        1
    } else {
        words_of_hottest_bank(addresses, group, bytes)
    }
}

/// Whether each bank is asked for one word at most, by lanes that access `N` words each. False where one is not aligned
/// to them.
fn is_conflict_free<const N: usize>(addresses: &[u64; LANES], group: u32, bytes: u32) -> bool {
    /// No word: addresses of shared memory are smaller by far.
    const NONE: u32 = u32::MAX;
    let unit = N as u64 * WORD_BYTES;
    if group == u32::MAX {
        // Most accesses are within 128 aligned bytes: no two words of them share a bank.
        let (set, differing) = addresses.iter().fold((0, 0), |(set, differing), &address| {
            (set | address, differing | (address ^ addresses[0]))
        });
        let is_aligned = bytes.is_power_of_two() && set % u64::from(bytes) == 0;
        if is_aligned && differing < BANKS as u64 * WORD_BYTES {
            return true;
        }
    }
    let mut asked = [NONE; BANKS];
    let mut conflict = false;
    for lane in lanes_of(group) {
        conflict |= addresses[lane] % unit + u64::from(bytes) > unit;
        let first = (addresses[lane] / WORD_BYTES) as u32;
        for word in first..first + N as u32 {
            let before = std::mem::replace(&mut asked[word as usize % BANKS], word);
            conflict |= before != NONE && before != word;
        }
    }
    !conflict
}

#[inline]
fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// The words of `bytes` bytes from `address` on. Offsets into shared memory fit 32 bits by far.
#[inline]
fn words(address: u64, bytes: u32) -> std::ops::RangeInclusive<u32> {
    let last = address.saturating_add(u64::from(bytes.max(1) - 1));
    (address / WORD_BYTES) as u32..=(last / WORD_BYTES) as u32
}

/// The most distinct words in one bank.
fn words_of_hottest_bank(addresses: &[u64; LANES], group: u32, bytes: u32) -> u32 {
    let mut asked = [0_u32; LANES * WORDS_OF_LANE];
    let mut count = 0;
    for lane in lanes_of(group) {
        for word in words(addresses[lane], bytes) {
            // The bank comes first: words of one bank become neighbours.
            asked[count] = word.rotate_right(BANKS.trailing_zeros());
            count += 1;
        }
    }
    let asked = &mut asked[..count];
    asked.sort_unstable();
    let (mut most, mut run) = (1, 1);
    for pair in asked.windows(2) {
        if pair[0] == pair[1] {
            continue;
        }
        let same_bank = (pair[0] ^ pair[1]).leading_zeros() >= BANKS.trailing_zeros();
        run = if same_bank { run + 1 } else { 1 };
        most = most.max(run);
    }
    most
}

/// The most words in one bank where lanes do not share words.
fn requests_of_hottest_bank(addresses: &[u64; LANES], group: u32, bytes: u32) -> u32 {
    let mut requests = [0_u32; BANKS];
    for lane in lanes_of(group) {
        for word in words(addresses[lane], bytes) {
            requests[word as usize % BANKS] += 1;
        }
    }
    requests.into_iter().max().unwrap_or(0)
}

/// [`global_sectors`], with the lanes that take part as a mask.
pub(super) fn sectors(addresses: &[u64; LANES], active: u32, bytes: u32) -> Sectors {
    let mut sorted = *addresses;
    let mut count = LANES;
    if active != u32::MAX {
        count = 0;
        for lane in lanes_of(active) {
            sorted[count] = addresses[lane];
            count += 1;
        }
    }
    let sorted = &mut sorted[..count];
    if !sorted.is_sorted() {
        sorted.sort_unstable();
    }
    let bytes = u64::from(bytes.max(1));
    let (mut touched, mut distinct) = (0, 0);
    // All addresses below `end` and all sectors below `next` are counted.
    let (mut end, mut next) = (0, 0);
    for &address in &*sorted {
        let after = address.saturating_add(bytes);
        let after_sector = after.div_ceil(SECTOR_BYTES);
        touched += after_sector.saturating_sub(next.max(address / SECTOR_BYTES));
        next = next.max(after_sector);
        distinct += after.saturating_sub(end.max(address));
        end = end.max(after);
    }
    Sectors {
        actual: touched as u32,
        ideal: distinct.div_ceil(SECTOR_BYTES) as u32,
    }
}
