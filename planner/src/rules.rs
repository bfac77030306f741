//! Rules that a template must keep, each with its source, and what is said where one is broken.
//!
//! A module holds rules of one kind and the check that applies them.

use core::fmt;

use cuda_arch::Architecture;
use serde::Serialize;

use crate::path::Support;
use crate::template::Template;

/// Something that hardware, an instruction or a library demands.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// A short name, for machines.
    pub name: &'static str,
    /// What is demanded.
    pub says: &'static str,
    /// Who says so.
    pub source: &'static str,
}

/// A value of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count.
    Number(u64),
    /// A name out of a table.
    Name(&'static str),
    /// Two counts, such as a cluster's extents.
    Pair(u32, u32),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Name(name) => f.write_str(name),
            Value::Pair(x, y) => write!(f, "{x}x{y}"),
        }
    }
}

/// A broken rule: what broke it, and the nearest value that keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub rule: &'static Rule,
    /// What of the configuration breaks it.
    pub what: &'static str,
    /// Its value.
    pub got: Value,
    /// The nearest value that keeps the rule, where there is one.
    pub nearest: Option<Value>,
}

impl Violation {
    pub(crate) fn number(rule: &'static Rule, what: &'static str, got: u64, nearest: Option<u64>) -> Self {
        Self {
            rule,
            what,
            got: Value::Number(got),
            nearest: nearest.map(Value::Number),
        }
    }

    /// [`number`](Self::number) of a count that 32 bits hold.
    pub(crate) fn count(rule: &'static Rule, what: &'static str, got: u32, nearest: impl Into<Option<u32>>) -> Self {
        Self::number(rule, what, got.into(), nearest.into().map(u64::from))
    }

    pub(crate) fn name(
        rule: &'static Rule,
        what: &'static str,
        got: &'static str,
        nearest: Option<&'static str>,
    ) -> Self {
        Self {
            rule,
            what,
            got: Value::Name(got),
            nearest: nearest.map(Value::Name),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            what,
            got,
            nearest,
        } = self;
        write!(f, "{what} {got}: {} ({})", rule.says, rule.source)?;
        match nearest {
            Some(nearest) => write!(f, "; nearest: {nearest}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Violation {}

/// Every rule, in the order in which a template is held against them; `tilewright plan --rules` prints them.
pub static RULES: [&Rule; 27] = [
    &EXTENT,
    &OUTPUT_BYTES,
    &INDEX,
    &POSITIVE,
    &PATH,
    &WARPS,
    &WARPGROUPS,
    &SIMT_WARPS,
    &THREADS,
    &TILE_M,
    &TILE_N,
    &TILE_K,
    &WGMMA_N,
    &TCGEN05_M,
    &TCGEN05_N,
    &SCALE_ATOM_ROWS,
    &SCALE_ATOM_K,
    &STAGES,
    &FEWEST_STAGES,
    &ACCUMULATOR,
    &ACCUMULATOR_REGISTERS,
    &BLOCK_REGISTERS,
    &TENSOR_MEMORY,
    &EPILOGUE,
    &CLUSTER,
    &STATIC_BYTES,
    &MARGIN,
];

/// Declares a rule: its name for machines, what it demands, and its source.
macro_rules! rule {
    ($(#[$doc:meta])* $id:ident, $name:literal, $says:literal, $source:literal) => {
        $(#[$doc])*
        pub static $id: Rule = Rule { name: $name, says: $says, source: $source };
    };
}

mod accumulator;
mod extent;
mod instruction;
mod memory;
mod warps;

pub use accumulator::{ACCUMULATOR, ACCUMULATOR_REGISTERS, BLOCK_REGISTERS, TENSOR_MEMORY};
pub use extent::{EXTENT, INDEX, OUTPUT_BYTES, POSITIVE};
pub(crate) use extent::{check as check_extents, check_not_empty, check_shape};
pub use instruction::{PATH, SCALE_ATOM_K, SCALE_ATOM_ROWS, TCGEN05_M, TCGEN05_N, TILE_K, TILE_M, TILE_N, WGMMA_N};
pub(crate) use memory::with_margin;
pub use memory::{EPILOGUE, FEWEST_STAGES, MARGIN, STAGES, STATIC_BYTES};
pub(crate) use warps::MOST_WARPS;
pub use warps::{CLUSTER, SIMT_WARPS, THREADS, WARPGROUPS, WARPS};

impl Template {
    /// How `arch` computes this type on this path.
    ///
    /// # Errors
    /// [`PATH`], with the architecture's best path for the type as the nearest.
    pub fn support(&self, arch: &Architecture) -> Result<Support, Violation> {
        instruction::support(self, arch)
    }

    /// Holds the template against every rule of the architecture; none of them is about how much shared memory there
    /// is in all.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self, arch: &Architecture) -> Result<Support, Violation> {
        extent::check(self)?;
        let support = self.support(arch)?;
        warps::check_warps(self, arch)?;
        instruction::check_tile(self, arch, &support)?;
        instruction::check_scales(self, &support)?;
        memory::check_stages(self)?;
        accumulator::check(self, arch)?;
        memory::check_epilogue(self)?;
        warps::check_cluster(self, arch)?;
        memory::check_static_bytes(self, arch)?;
        Ok(support)
    }
}

/// The multiple, at least one, that is nearest; the larger of two.
const fn nearest_multiple(got: u32, multiple: u32) -> u32 {
    let below = got / multiple * multiple;
    if below > 0 && got - below < multiple - (got - below) {
        below
    } else {
        below + multiple
    }
}
