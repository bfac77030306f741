//! What to assemble for.

use cuda_arch::{ARCHITECTURES, Architecture};
use tilewright::ptx::{self, Level};
use tilewright::{Error, Result};

/// An architecture, and the PTX that it runs.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name for `ptxas`, such as `sm_120` or `sm_90a`.
    pub name: String,
    /// The limits.
    pub architecture: &'static Architecture,
    /// The general level that the kernels are compiled for.
    pub level: &'static Level,
}

impl Target {
    /// Every architecture of the table that runs one of the levels, the oldest first.
    pub fn all() -> Vec<Self> {
        ARCHITECTURES
            .iter()
            .filter_map(|architecture| Self::of(architecture, ""))
            .collect()
    }

    /// Reads `sm_120`, `compute_120` or `12.0`. The suffix of `sm_90a` or `sm_100f` is kept: `ptxas` then assembles for
    /// devices of just that architecture or family.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an architecture that the table does not have, one without this suffix, or one
    /// that is older than every level; [`Error::Unavailable`] where the [kernels are missing](ptx::ensure_embedded).
    pub fn parse(name: &str) -> Result<Self> {
        ptx::ensure_embedded()?;
        let architecture = cuda_arch::find(name).map_err(|error| Error::InvalidArgument(error.to_string()))?;
        let suffix = ["a", "f"]
            .into_iter()
            .find(|suffix| name.ends_with(suffix))
            .unwrap_or_default();
        // PTX ISA, ".target": architecture-specific targets begin with 9.0, family-specific ones with 10.0.
        let first = if suffix == "f" { 10 } else { 9 };
        if !suffix.is_empty() && architecture.compute_capability.major < first {
            return Err(Error::InvalidArgument(format!(
                "unknown architecture `{name}`: {} has no variant `{suffix}`",
                architecture.name
            )));
        }
        Self::of(architecture, suffix).ok_or_else(|| {
            let oldest = ptx::levels().first().map_or("", |level| level.arch);
            Error::InvalidArgument(format!(
                "architecture `{name}` is too old: the kernels need {oldest} or later"
            ))
        })
    }

    /// The modules that have the kernels, each kernel in one.
    pub fn modules(&self) -> impl Iterator<Item = &'static Level> {
        let capability = self.architecture.compute_capability;
        ptx::levels_for((capability.major, capability.minor))
    }

    /// The module that has this kernel; `None` where none has.
    pub fn level_of(&self, symbol: &str) -> Option<&'static Level> {
        self.modules().find(|level| ptx::entry(level, symbol).is_some())
    }

    /// What a module is assembled for: this target, or the only one that it can be assembled for.
    pub fn name_for<'a>(&'a self, level: &'a Level) -> &'a str {
        if level.is_architecture_specific() {
            level.arch
        } else {
            &self.name
        }
    }

    fn of(architecture: &'static Architecture, suffix: &str) -> Option<Self> {
        let capability = architecture.compute_capability;
        Some(Self {
            name: format!("{}{suffix}", architecture.name),
            architecture,
            level: ptx::for_compute_capability((capability.major, capability.minor))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use tilewright::ErrorKind;

    use super::*;

    #[test]
    fn every_architecture_of_the_table_runs_a_level() {
        let names: Vec<_> = Target::all().into_iter().map(|target| target.name).collect();
        assert_eq!(names, ARCHITECTURES.iter().map(|arch| arch.name).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_of_one_architecture_is_assembled_for_that_alone() {
        let modules = |name: &str| {
            let target = Target::parse(name).expect(name);
            let each = target
                .modules()
                .map(|level| (level.arch, target.name_for(level).to_owned()));
            each.collect::<Vec<_>>()
        };
        let of = |arch, name: &str| (arch, name.to_owned());
        assert_eq!(modules("sm_90"), [of("sm_80", "sm_90"), of("sm_90a", "sm_90a")]);
        assert_eq!(modules("sm_90a"), [of("sm_80", "sm_90a"), of("sm_90a", "sm_90a")]);
        assert_eq!(modules("sm_100a"), [of("sm_80", "sm_100a")]);
    }

    #[test]
    fn names_are_those_of_ptxas_and_keep_their_suffix() {
        for (name, expected, level) in [
            ("sm_120", "sm_120", "sm_80"),
            ("12.0", "sm_120", "sm_80"),
            ("compute_86", "sm_86", "sm_80"),
            ("sm_90a", "sm_90a", "sm_80"),
            ("sm_100f", "sm_100f", "sm_80"),
            // CUDA 13 renamed it.
            ("sm_101a", "sm_110a", "sm_80"),
        ] {
            let target = Target::parse(name).expect(name);
            assert_eq!((target.name.as_str(), target.level.arch), (expected, level), "{name}");
        }
        for name in ["sm_70", "sm_75a", "sm_90f", "sm_107", "ada", ""] {
            let error = Target::parse(name).expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Input);
            let start = format!("unknown architecture `{name}`");
            assert!(error.to_string().starts_with(&start), "{error}");
        }
    }
}
