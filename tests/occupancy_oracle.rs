//! Our occupancy model against NVIDIA's own, `cuda_occupancy.h`, question by question: no difference is allowed.
//!
//! No GPU is needed. `cargo xtask setup` fetches the header; where it or a C compiler is missing these tests fail.

mod oracle;

use cuda_arch::{ARCHITECTURES, Architecture, ComputeCapability};
use oracle::{LIMITERS, Question, compare};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tilewright_plan::occupancy::{BlockUse, carveout_percent, occupancy};

/// Every architecture, and Thor under the number that it had before CUDA 13.
fn architectures() -> Vec<Architecture> {
    let mut architectures = ARCHITECTURES.to_vec();
    let thor = cuda_arch::find("sm_110").expect("in the table").clone();
    architectures.push(Architecture {
        compute_capability: ComputeCapability::new(10, 1),
        ..thor
    });
    architectures
}

/// The same with half the registers a block, as a queried device may report: only there does it matter that a launch is
/// charged for whole rows of subpartitions.
fn halved(arch: &Architecture) -> Architecture {
    Architecture {
        registers_per_block: arch.registers_per_block / 2,
        ..arch.clone()
    }
}

/// A question about a block whose function has opted in to no more than it uses.
fn question(arch: &Architecture, block: BlockUse, blocks: u32) -> Question<'_> {
    Question {
        arch,
        block,
        opted_in_bytes: block.dynamic_bytes,
        blocks,
    }
}

#[test]
fn every_number_of_registers_by_every_number_of_warps() {
    let mut devices = architectures();
    devices.push(halved(&devices[0]));
    let mut questions = Vec::new();
    for arch in &devices {
        for registers in 0..=arch.registers_per_thread {
            for warps in 1..=arch.threads_per_block / arch.warp_size + 1 {
                let block = BlockUse::new(warps * arch.warp_size, registers, 0, 0);
                questions.push(question(arch, block, 1));
            }
        }
    }
    compare(&questions);
}

#[test]
fn every_share_of_every_configuration_and_the_bytes_beside_it() {
    let architectures = architectures();
    let mut questions = Vec::new();
    for arch in &architectures {
        let granularity = i64::from(arch.smem_allocation_granularity);
        for (share, blocks) in shares(arch) {
            for beside in [-granularity, -1, 0, 1, granularity] {
                let bytes = (share + beside).max(0).unsigned_abs();
                // Two more of the carve-outs are the one that suffices for this, and the one below.
                let sufficient = carveout_percent(arch, blocks, bytes);
                for carveout_percent in [0, 1, 50, 99, sufficient.saturating_sub(1), sufficient]
                    .map(Some)
                    .into_iter()
                    .chain([None])
                {
                    let static_bytes = bytes.min(u64::from(blocks) * 40);
                    let block = BlockUse {
                        carveout_percent,
                        ..BlockUse::new(32, 16, static_bytes, bytes - static_bytes)
                    };
                    questions.push(question(arch, block, blocks));
                }
            }
        }
    }
    compare(&questions);
}

/// Equal parts of every configuration, less what is reserved: bytes, of how many blocks each.
fn shares(arch: &Architecture) -> impl Iterator<Item = (i64, u32)> {
    arch.carveouts_kib.iter().flat_map(move |kib| {
        (1..=arch.blocks_per_sm + 1).map(move |blocks| {
            let granules = kib * 1024 / blocks / arch.smem_allocation_granularity;
            let share = granules * arch.smem_allocation_granularity;
            (i64::from(share) - i64::from(arch.smem_reserved_per_block), blocks)
        })
    })
}

#[test]
fn the_carve_out_to_ask_for_is_the_smallest_that_suffices() {
    for arch in &architectures() {
        for (share, blocks) in shares(arch).filter(|(share, _)| *share >= 0) {
            let bytes = share.unsigned_abs();
            let with = |percent| {
                let block = BlockUse {
                    carveout_percent: percent,
                    ..BlockUse::new(32, 16, 0, bytes)
                };
                occupancy(arch, &block)
            };
            let (asked, unasked) = (with(Some(carveout_percent(arch, blocks, bytes))), with(None));
            // No shared memory at all, on 7.5: no limit.
            let (Some(held), Some(most)) = (asked.by_shared_memory, unasked.by_shared_memory) else {
                assert_eq!(asked.allocated_bytes, 0);
                continue;
            };
            assert!(held >= blocks.min(most), "{}: {blocks} blocks of {bytes}", arch.name);
            let needed = asked.allocated_bytes * u64::from(blocks);
            let smaller = arch.carveouts_kib.iter().map(|kib| u64::from(kib * 1024));
            let smaller = smaller.filter(|bytes| *bytes < asked.carveout_bytes).max();
            assert!(
                smaller.is_none_or(|bytes| bytes < needed),
                "{}: {blocks} blocks of {bytes}",
                arch.name
            );
        }
    }
}

#[test]
fn random_blocks() {
    const QUESTIONS: usize = 120_000;
    let mut devices = architectures();
    devices.extend(architectures().iter().map(halved));
    let mut draw = Draw(ChaCha8Rng::from_seed(*b"resident blocks of any resources"));
    let questions: Vec<_> = (0..QUESTIONS).map(|_| draw.question(&devices)).collect();
    let limiters = compare(&questions);
    for (limiter, count) in LIMITERS.iter().zip(limiters) {
        println!("{count:>6} limited by {limiter:?}");
        assert!(count > QUESTIONS / 100, "{limiter:?} is hardly tested");
    }
}

/// Draws questions, most of them at an edge of some rule.
struct Draw(ChaCha8Rng);

impl Draw {
    /// A number from 0 to `below` - 1.
    fn below(&mut self, below: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(below)) >> 32) as u32
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    fn question<'a>(&mut self, devices: &'a [Architecture]) -> Question<'a> {
        let arch = &devices[self.below(devices.len() as u32) as usize];
        let (static_bytes, dynamic_bytes) = self.bytes(arch);
        let block = BlockUse {
            carveout_percent: self.carveout(arch),
            barriers: match self.below(4) {
                0 => self.below(18),
                1 => self.below(70),
                _ => 1,
            },
            virtual_resources: match self.below(8) {
                0 => self.below(132),
                1 => 128 / (1 + self.below(32)) + self.below(2),
                _ => 0,
            },
            ..BlockUse::new(self.threads(), self.registers(), static_bytes, dynamic_bytes)
        };
        Question {
            opted_in_bytes: dynamic_bytes.max(self.pick(&[0, 0, arch.smem_per_block_optin]).into()),
            ..question(arch, block, self.below(arch.blocks_per_sm + 2))
        }
    }

    fn threads(&mut self) -> u32 {
        match self.below(4) {
            0 => 1 + self.below(1100),
            1 => 32 * (1 + self.below(32)) - 1 + self.below(3),
            // Few enough that something else is the limit.
            _ => 1 + self.below(64),
        }
    }

    /// Up to 255: what lies above we refuse, while the header allows 256.
    fn registers(&mut self) -> u32 {
        match self.below(4) {
            0 => self.below(256),
            1 => 8 * self.below(32) + self.below(2),
            _ => self.below(41),
        }
    }

    /// Static and dynamic bytes.
    fn bytes(&mut self, arch: &Architecture) -> (u64, u64) {
        let granularity = i64::from(arch.smem_allocation_granularity);
        let optin = arch.smem_per_block_optin;
        let edge = match self.below(8) {
            0 => i64::from(self.below(optin + 2048)),
            1 => i64::from(optin),
            2 => i64::from(arch.smem_per_block),
            3 | 4 => 0,
            _ => {
                let configuration = self.pick(arch.carveouts_kib) * 1024;
                let blocks = 1 + self.below(arch.blocks_per_sm + 1);
                let share = i64::from(configuration / blocks);
                share / granularity * granularity - i64::from(arch.smem_reserved_per_block)
            }
        };
        let total = edge + self.pick(&[-granularity, -1, 0, 0, 1, granularity]);
        let total = total.max(0).unsigned_abs();
        let static_bytes = match self.below(4) {
            0 => u64::from(self.below(2048)),
            1 => u64::from(self.below(optin)).min(total),
            2 => total,
            _ => 0,
        };
        (static_bytes, total.saturating_sub(static_bytes))
    }

    fn carveout(&mut self, arch: &Architecture) -> Option<u32> {
        let configuration = self.pick(arch.carveouts_kib) * 1024;
        let percent = match self.below(4) {
            0 => self.below(101),
            1 => (configuration * 100 / arch.smem_per_sm + self.below(3))
                .saturating_sub(1)
                .min(100),
            _ => return None,
        };
        Some(percent)
    }
}
