//! How much shared memory a CTA may have. Whoever asks whether something fits asks a [`Budget`].

use cuda_arch::Architecture;

/// What a CTA may have of shared memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// The architecture's limit.
    pub limit_bytes: u64,
    /// What of it is to stay free; less than the limit.
    pub margin_bytes: u64,
}

impl Budget {
    /// The limit without opting in, and of static shared memory: 48 KiB on every architecture.
    pub fn by_default(arch: &Architecture) -> Self {
        Self {
            limit_bytes: arch.smem_per_block.into(),
            margin_bytes: 0,
        }
    }

    /// The opt-in limit of static and dynamic shared memory together.
    pub fn opted_in(arch: &Architecture) -> Self {
        Self {
            limit_bytes: arch.smem_per_block_optin.into(),
            margin_bytes: 0,
        }
    }

    /// The same limit with a margin that is to stay free; `None` where that leaves nothing.
    pub fn less(self, margin_bytes: u64) -> Option<Self> {
        (margin_bytes < self.limit_bytes).then_some(Self { margin_bytes, ..self })
    }

    /// What may be used.
    pub fn usable_bytes(self) -> u64 {
        self.limit_bytes - self.margin_bytes
    }

    /// Whether so many bytes fit.
    pub fn fits(self, bytes: u64) -> bool {
        bytes <= self.usable_bytes()
    }

    /// How many of so many bytes are too many.
    pub fn over_by_bytes(self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.usable_bytes())
    }

    /// What so many bytes leave.
    pub fn left_bytes(self, bytes: u64) -> u64 {
        self.usable_bytes().saturating_sub(bytes)
    }
}
