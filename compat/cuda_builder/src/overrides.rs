//! Settings for single packages that the user's manifest has: `[profile.release.package.half]`.
//!
//! Cargo refuses two settings for one package under two names, so ours go under the user's.

use std::fs;
use std::path::Path;

use toml::Table;

/// What the user's settings would do to a device build is undone: they are about the host.
const UNDONE: &[&str] = &["debug=0", "codegen-units=1", "strip=false"];

/// The names under which a workspace's manifest has settings for packages.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    specs: Vec<String>,
}

impl Overrides {
    /// Reads the manifest of a workspace. One that cannot be read is cargo's to complain about.
    pub fn read(workspace: &Path, profile: &str) -> Self {
        let text = fs::read_to_string(workspace.join("Cargo.toml")).unwrap_or_default();
        let manifest: Table = text.parse().unwrap_or_default();
        let packages = manifest
            .get("profile")
            .and_then(|profiles| profiles.get(profile)?.get("package")?.as_table());
        Self {
            specs: packages.into_iter().flat_map(Table::keys).cloned().collect(),
        }
    }

    /// The name under which settings for `package` (`name@version`) go, and the settings that undo the user's.
    pub fn spec_for<'a>(&'a self, package: &'a str) -> (&'a str, &'static [&'static str]) {
        match self.specs.iter().find(|spec| names(spec, package)) {
            Some(spec) => (spec, UNDONE),
            None => (package, &[]),
        }
    }
}

/// Whether a package id specification (`half`, `half@1`, `half:1.8.3`, `file:///..#half@1.8.3`) means a package.
fn names(spec: &str, package: &str) -> bool {
    let spec = spec.rsplit('#').next().unwrap_or_default();
    let (name, version) = package.split_once('@').unwrap_or((package, ""));
    match spec.split_once(['@', ':']) {
        None => spec == name,
        Some((of_name, of_version)) => {
            let rest = version.strip_prefix(of_version);
            of_name == name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_name_packages() {
        for spec in [
            "half",
            "half@1",
            "half@1.8",
            "half:1.8.3",
            "https://host/index#half@1.8.3",
        ] {
            assert!(names(spec, "half@1.8.3"), "{spec}");
        }
        for spec in ["hal", "half@1.8.31", "half@2", "*", "other"] {
            assert!(!names(spec, "half@1.8.3"), "{spec}");
        }
    }

    #[test]
    fn the_users_name_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "[profile.release.package.half]\nopt-level = 1\n[profile.release.package.'*']\ndebug = 1\n";
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let overrides = Overrides::read(folder.path(), "release");
        assert_eq!(overrides.spec_for("half@1.8.3"), ("half", UNDONE));
        assert_eq!(overrides.spec_for("vek@0.15.1"), ("vek@0.15.1", &[][..]));
        assert_eq!(
            Overrides::read(folder.path(), "dev").spec_for("half@1.8.3").0,
            "half@1.8.3"
        );
    }
}
