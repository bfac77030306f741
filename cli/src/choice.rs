//! What the user leaves open about a product and what not: arguments that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tilewright::dispatch::{Policy, Tuning};
use tilewright::{Backend, Bytes, Options, Precision, Verify};

use crate::failure::{Failure, Result};
use crate::{kernels, tune};

/// Backend, kernel, tile and shared-memory limit.
#[derive(Args)]
pub struct Choice {
    /// Where to compute; auto takes the GPU if there is one
    #[arg(long, value_enum, default_value_t = On::Auto)]
    backend: On,
    #[command(flatten)]
    device: OnDevice,
    /// The kernel, by the name of its family
    #[arg(long, value_name = "NAME", default_value = kernels::AUTO)]
    kernel: String,
    /// Tile width in elements; without it, the best that fits
    #[arg(long, value_name = "W")]
    tile: Option<u32>,
    /// The least precise arithmetic of f32 that is allowed: ieee, emulated-f32 by bf16 tensor cores, or tf32
    #[arg(long, value_name = "NAME", default_value_t = Precision::Ieee)]
    precision: Precision,
    /// Shared memory that a block must not exceed
    #[arg(long, value_name = "BYTES")]
    smem_limit: Option<u32>,
    /// What `tilewright tune` measured to be fastest on this GPU; on another one it is passed over
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
    /// Run even if that takes more memory than there is, or in the simulator more than ten minutes
    #[arg(long)]
    pub yes: bool,
}

impl Choice {
    /// The library's form.
    pub fn options(&self, verify: Verify) -> Result<Options> {
        let policy = Policy {
            family: kernels::family(&self.kernel)?,
            tile: self.tile,
            smem_limit: self.smem_limit.map(Bytes),
            precision: self.precision,
            tuning: self.tuning.as_deref().map(tune::read).transpose()?.map(Tuning::new),
            ..Policy::default()
        };
        Ok(Options {
            backend: self.device.settle(self.backend)?.into(),
            device: self.device.ordinal(),
            policy,
            verify,
        })
    }
}

/// Which GPU.
#[derive(Args)]
pub struct OnDevice {
    /// The GPU, counted from 0 as the driver counts (CUDA_VISIBLE_DEVICES applies); without it, the first
    #[arg(long, value_name = "N")]
    device: Option<u32>,
}

impl OnDevice {
    /// Its number.
    pub fn ordinal(&self) -> u32 {
        self.device.unwrap_or_default()
    }

    /// The number that was named, if one was.
    pub fn named(&self) -> Option<u32> {
        self.device
    }

    /// Where to compute: whoever names a GPU wants it.
    ///
    /// # Errors
    /// For a GPU beside another place.
    pub fn settle(&self, on: On) -> Result<On> {
        match (self.device, on) {
            (Some(device), On::Cpu | On::Sim) => Err(Failure::input(format!(
                "--device {device} names a GPU, and this backend computes on the CPU"
            ))),
            (Some(_), On::Auto | On::Gpu) => Ok(On::Gpu),
            (None, on) => Ok(on),
        }
    }
}

/// Where to compute.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// The GPU, or the CPU where there is none
    Auto,
    /// The GPU, or an error where there is none
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
