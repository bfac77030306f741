//! Kernels by the names that users type.

use tilewright::Rung;
use tilewright_contract::{VARIANTS, Variant};

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

fn unknown(name: &str) -> Failure {
    let known = Rung::ALL.map(Rung::name).join(", ");
    Failure::input(format!("unknown kernel `{name}`; known: {AUTO}, {known}"))
}
