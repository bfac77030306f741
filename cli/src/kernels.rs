//! Kernels by the names that users type.

use tilewright::dispatch::Policy;
use tilewright::{DType, Family};
use tilewright_contract::{CopyKind, KERNELS, Kernel};
use tilewright_harness::inspect::Subject;

use crate::failure::{Failure, Result};

/// What leaves the choice to the program.
pub const AUTO: &str = "auto";

/// The family of this name, or `None` for [`AUTO`].
pub fn family(name: &str) -> Result<Option<Family>> {
    if name == AUTO {
        return Ok(None);
    }
    name.parse().map(Some).map_err(|_| unknown(name))
}

/// The entry points of this name: all for [`AUTO`], those of a family, or the one of a symbol.
pub fn entry_points(name: &str) -> Result<Vec<&'static Kernel>> {
    let found: Vec<_> = KERNELS
        .iter()
        .filter(|kernel| name == AUTO || kernel.family.name() == name || kernel.symbol == name)
        .collect();
    if found.is_empty() {
        Err(unknown(name))
    } else {
        Ok(found)
    }
}

/// What can be looked at but not always planned: as [`entry_points`], or a copy of operands.
pub fn inspectable(name: &str) -> Result<Vec<Subject>> {
    if let Some(kind) = CopyKind::ALL.into_iter().find(|kind| kind.symbol() == name) {
        return Ok(vec![Subject::Copy(kind)]);
    }
    match entry_points(name) {
        Ok(kernels) => Ok(kernels.into_iter().map(Subject::from).collect()),
        Err(error) => {
            let copies = CopyKind::ALL.map(CopyKind::symbol).join(", ");
            Err(Failure::input(format!("{}, {copies}", error.message)))
        }
    }
}

/// A kernel and an element type, as far as the user settled them.
pub struct Choice {
    /// `None` where the program chooses.
    family: Option<Family>,
    /// The one entry point that was named, if one was.
    kernel: Option<&'static Kernel>,
    /// The element type.
    pub dtype: DType,
}

impl Choice {
    /// Reads the name of a family or an entry point, or [`AUTO`], and of an element type. Without one it is the entry
    /// point's, f32, or the first that the family has.
    pub fn of(name: &str, dtype: Option<&str>) -> Result<Self> {
        let dtype = dtype.map(parse_dtype).transpose()?;
        let kernel = Kernel::named(name);
        let family = match kernel {
            Some(kernel) => Some(kernel.family),
            None => family(name)?,
        };
        if let (Some(kernel), Some(dtype)) = (kernel, dtype)
            && kernel.dtype != dtype
        {
            return Err(Failure::input(format!("{name} takes {}, not {dtype}", kernel.dtype)));
        }
        Ok(Self {
            family,
            kernel,
            dtype: kernel
                .map(|kernel| kernel.dtype)
                .or(dtype)
                .unwrap_or_else(|| usual(family)),
        })
    }

    /// The policy for this choice.
    pub fn policy(&self, tile: Option<u32>) -> Policy {
        Policy {
            family: self.family,
            kernel: self.kernel,
            tile,
            ..Policy::default()
        }
    }
}

/// The element type of a family where none is named.
fn usual(family: Option<Family>) -> DType {
    let has = |dtype: &DType| family.is_none_or(|family| family.kernels().any(|kernel| kernel.dtype == *dtype));
    DType::ALL.into_iter().find(has).unwrap_or(DType::F32)
}

/// The element type of this name.
pub fn parse_dtype(name: &str) -> Result<DType> {
    name.parse()
        .map_err(|problem| Failure::input(format!("`{name}`: {problem}")))
}

fn unknown(name: &str) -> Failure {
    let known = Family::ALL.map(Family::name).join(", ");
    Failure::input(format!("unknown kernel `{name}`; known: {AUTO}, {known}"))
}
