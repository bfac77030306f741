//! The words of an opcode after its name.

use crate::types::{Rounding, Space, Type};

/// The modifiers not looked at yet. What is left in the end makes the instruction an unsupported one.
pub(crate) struct Modifiers<'a> {
    parts: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    /// Splits an opcode into its name and its modifiers.
    pub fn split(opcode: &'a str) -> (&'a str, Self) {
        let mut parts = opcode.split('.');
        let name = parts.next().unwrap_or_default();
        (name, Self { parts: parts.collect() })
    }

    /// Whether a modifier is there.
    pub fn take(&mut self, name: &str) -> bool {
        match self.parts.iter().position(|&part| part == name) {
            Some(at) => {
                self.parts.remove(at);
                true
            }
            None => false,
        }
    }

    /// The value of the first modifier that a table names.
    pub fn take_of<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        table.iter().find(|(name, _)| self.take(name)).map(|&(_, value)| value)
    }

    /// As [`Self::take_of`], where one of them must be there: the error lists their names.
    pub fn one_of<T: Copy>(&mut self, table: &[(&str, T)]) -> Result<T, String> {
        self.take_of(table).ok_or_else(|| {
            let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
            format!("none of {}", names.join(", "))
        })
    }

    /// The first type, left in place.
    pub fn peek_type(&self) -> Option<Type> {
        self.parts.iter().find_map(|part| Type::parse(part))
    }

    /// The first type.
    pub fn take_type(&mut self) -> Result<Type, String> {
        let found = self.parts.iter().position(|part| Type::parse(part).is_some());
        let at = found.ok_or("no type")?;
        Type::parse(self.parts.remove(at)).ok_or_else(|| "no type".to_owned())
    }

    /// The one modifier that is left, a type.
    pub fn last_type(&mut self) -> Result<Type, String> {
        let ty = self.take_type()?;
        self.finish()?;
        Ok(ty)
    }

    pub fn take_space(&mut self) -> Option<Space> {
        self.take_of(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("shared::cluster", Space::Shared),
            ("local", Space::Local),
            ("const", Space::Constant),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
        ])
    }

    pub fn take_rounding(&mut self) -> Option<Rounding> {
        self.take_of(&[
            ("rn", Rounding::Nearest),
            ("rna", Rounding::NearestAway),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
        ])
    }

    /// Drops modifiers that have no meaning where the threads run one after the other and there are no caches.
    pub fn drop_ordering(&mut self) {
        const NAMES: [&str; 22] = [
            "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio", "cta", "cluster", "gpu",
            "sys", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified", "noftz",
        ];
        self.parts.retain(|part| {
            !NAMES.contains(part)
                && !part.starts_with("L1::")
                && !(part.starts_with("L2::") && *part != "L2::cache_hint")
        });
    }

    /// Fails if anything is left.
    pub fn finish(&self) -> Result<(), String> {
        match self.parts.as_slice() {
            [] => Ok(()),
            parts => Err(format!("unknown modifiers .{}", parts.join("."))),
        }
    }
}
