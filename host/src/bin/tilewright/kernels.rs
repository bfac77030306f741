//! Kernels by the names that users type.

use tilewright::inspect::Kernel;
use tilewright::plan::Policy;
use tilewright::{DType, Rung};
use tilewright_contract::{Family, RowCopy, TWINS, VARIANTS, Variant};

use crate::failure::{Failure, Result};

/// What leaves the choice to the program.
pub const AUTO: &str = "auto";

/// The rung of this name, or `None` for [`AUTO`].
pub fn rung(name: &str) -> Result<Option<Rung>> {
    if name == AUTO {
        return Ok(None);
    }
    match Rung::ALL.into_iter().find(|rung| rung.name() == name) {
        Some(rung) => Ok(Some(rung)),
        None => Err(unknown(name)),
    }
}

/// The entry points of this name: all for [`AUTO`], those of a rung, or the one of a symbol.
pub fn entry_points(name: &str) -> Result<Vec<&'static Variant>> {
    let found: Vec<_> = VARIANTS
        .iter()
        .filter(|variant| name == AUTO || variant.rung.name() == name || variant.symbol == name)
        .collect();
    if found.is_empty() {
        Err(unknown(name))
    } else {
        Ok(found)
    }
}

/// What can be looked at but not always planned: as [`entry_points`], besides the twins of a family, the one twin of a
/// symbol, or the copy of rows.
pub fn inspectable(name: &str) -> Result<Vec<Kernel>> {
    if name == RowCopy::SYMBOL {
        return Ok(vec![Kernel::RowCopy]);
    }
    let twins: Vec<_> = TWINS
        .iter()
        .filter(|twin| twin.symbol == name || twin.family.name() == name)
        .map(Kernel::from)
        .collect();
    if !twins.is_empty() {
        return Ok(twins);
    }
    let families = Family::ALL.map(Family::name).join(", ");
    match entry_points(name) {
        Ok(variants) => Ok(variants.into_iter().map(Kernel::from).collect()),
        Err(error) => Err(Failure::input(format!(
            "{}, {families}, {}",
            error.message,
            RowCopy::SYMBOL
        ))),
    }
}

/// A kernel and an element type, as far as the user settled them.
pub struct Choice {
    /// `None` where the program chooses.
    rung: Option<Rung>,
    /// The one entry point that was named, if one was.
    entry_point: Option<&'static Variant>,
    /// The element type.
    pub dtype: DType,
}

impl Choice {
    /// Reads the name of a rung or an entry point, or [`AUTO`], and of an element type. Without one it is the entry
    /// point's, f32, or the first that the rung has.
    pub fn of(name: &str, dtype: Option<&str>) -> Result<Self> {
        let dtype = dtype.map(parse_dtype).transpose()?;
        let entry_point = VARIANTS.iter().find(|variant| variant.symbol == name);
        let rung = match entry_point {
            Some(variant) => Some(variant.rung),
            None => rung(name)?,
        };
        if let (Some(variant), Some(dtype)) = (entry_point, dtype)
            && variant.dtype != dtype
        {
            return Err(Failure::input(format!("{name} takes {}, not {dtype}", variant.dtype)));
        }
        Ok(Self {
            rung,
            entry_point,
            dtype: entry_point
                .map(|variant| variant.dtype)
                .or(dtype)
                .unwrap_or_else(|| usual(rung)),
        })
    }

    /// The policy for this choice.
    pub fn policy(&self, tile: Option<u32>) -> Policy {
        Policy {
            rung: self.rung,
            entry_point: self.entry_point,
            tile,
            ..Policy::default()
        }
    }
}

/// The element type of a rung where none is named.
fn usual(rung: Option<Rung>) -> DType {
    let has = |dtype: &DType| {
        rung.is_none_or(|rung| {
            let mut of_rung = VARIANTS.iter().filter(|variant| variant.rung == rung);
            of_rung.any(|variant| variant.dtype == *dtype)
        })
    };
    DType::ALL.into_iter().find(has).unwrap_or(DType::F32)
}

/// The element type of this name.
pub fn parse_dtype(name: &str) -> Result<DType> {
    name.parse()
        .map_err(|problem| Failure::input(format!("`{name}`: {problem}")))
}

fn unknown(name: &str) -> Failure {
    let known = Rung::ALL.map(Rung::name).join(", ");
    Failure::input(format!("unknown kernel `{name}`; known: {AUTO}, {known}"))
}
