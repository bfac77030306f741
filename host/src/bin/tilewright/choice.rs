//! What the user leaves open about a product and what not: arguments that several commands share.

use clap::{Args, ValueEnum};
use tilewright::plan::Policy;
use tilewright::{Backend, Bytes, Options, Verify};

use crate::failure::Result;
use crate::kernels;

/// Backend, kernel, tile and shared-memory limit.
#[derive(Args)]
pub struct Choice {
    /// Where to compute; auto takes the GPU if there is one
    #[arg(long, value_enum, default_value_t = On::Auto)]
    backend: On,
    /// The kernel, by the name of its rung
    #[arg(long, value_name = "NAME", default_value = kernels::AUTO)]
    kernel: String,
    /// Tile width in elements; without it, the best that fits
    #[arg(long, value_name = "W")]
    tile: Option<u32>,
    /// Shared memory that a block must not exceed
    #[arg(long, value_name = "BYTES")]
    smem_limit: Option<u32>,
    /// With the simulator: run even if that takes more than ten minutes, or more memory than there is
    #[arg(long)]
    pub yes: bool,
}

impl Choice {
    /// The library's form.
    pub fn options(&self, verify: Verify) -> Result<Options> {
        let policy = Policy {
            rung: kernels::rung(&self.kernel)?,
            tile: self.tile,
            smem_limit: self.smem_limit.map(Bytes),
            ..Policy::default()
        };
        Ok(Options {
            backend: self.backend.into(),
            policy,
            verify,
        })
    }
}

/// Where to compute.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// The GPU, or the CPU where there is none
    Auto,
    /// The first CUDA device
    Gpu,
    /// All cores
    Cpu,
    /// The GPU's kernels on the CPU, thread by thread, every access checked; slow
    Sim,
}

impl From<On> for Backend {
    fn from(on: On) -> Self {
        match on {
            On::Auto => Backend::Auto,
            On::Gpu => Backend::Gpu,
            On::Cpu => Backend::Cpu,
            On::Sim => Backend::Sim,
        }
    }
}
