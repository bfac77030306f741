//! Architectures by the names that people write.

use core::fmt;

use crate::table::{ARCHITECTURES, Architecture};

/// A compute capability, `major.minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The generation.
    pub major: u32,
    /// The member of the generation.
    pub minor: u32,
}

impl ComputeCapability {
    /// The compute capability `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Reads `sm_120`, `compute_120` or `12.0`. A suffix (`sm_90a`, `sm_100f`) selects instructions, no other limits,
    /// and is passed over. `None` for anything else.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some((major, minor)) = name.split_once('.') {
            return Some(Self::new(number(major)?, number(minor)?));
        }
        let digits = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        let digits = digits.strip_suffix(['a', 'f']).unwrap_or(digits);
        // The last digit is the minor number.
        let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
        Some(Self::new(number(major)?, number(minor)?))
    }
}

/// A plain decimal number of one or two digits.
fn number(digits: &str) -> Option<u32> {
    let plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

impl fmt::Display for ComputeCapability {
    /// Writes `9.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The architecture of this name: `sm_120`, `sm_90a`, `compute_90` or `12.0`.
///
/// # Errors
/// [`UnknownArchitecture`], whose text lists those that are known.
pub fn find(name: &str) -> Result<&'static Architecture, UnknownArchitecture<'_>> {
    ComputeCapability::parse(name)
        .and_then(Architecture::of)
        .ok_or(UnknownArchitecture { name })
}

/// A name for which the table has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownArchitecture<'a> {
    /// The name.
    pub name: &'a str,
}

impl fmt::Display for UnknownArchitecture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown architecture `{}`; known:", self.name)?;
        for (i, architecture) in ARCHITECTURES.iter().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, architecture.name)?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownArchitecture<'_> {}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn names_are_read_as_nvidia_writes_them() {
        for (name, expected) in [
            ("sm_75", Some((7, 5))),
            ("sm_90", Some((9, 0))),
            ("sm_90a", Some((9, 0))),
            ("sm_100f", Some((10, 0))),
            ("compute_103", Some((10, 3))),
            ("sm_120", Some((12, 0))),
            ("12.1", Some((12, 1))),
            ("7.5", Some((7, 5))),
            ("sm_9", None),
            ("sm_", None),
            ("sm_x0", None),
            ("sm_+90", None),
            ("sm_90b", None),
            ("sm_90aa", None),
            ("sm_1000", None),
            ("100.0", None),
            ("sm_9é", None),
            ("90", None),
            ("9.", None),
            (".5", None),
            ("9.0.1", None),
            ("", None),
        ] {
            let expected = expected.map(|(major, minor)| ComputeCapability::new(major, minor));
            assert_eq!(ComputeCapability::parse(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_not_in_the_table_is_an_error_that_lists_what_is() {
        for name in ["sm_70", "sm_107", "sm_130", "9.9", "pentium", ""] {
            let error = find(name).expect_err(name).to_string();
            assert!(error.starts_with(&std::format!("unknown architecture `{name}`; known: sm_75, sm_80, ")));
            assert!(error.ends_with("sm_120, sm_121"), "{error}");
        }
    }

    #[test]
    fn every_row_is_found_by_both_of_its_names() {
        for architecture in &ARCHITECTURES {
            let number = architecture.compute_capability.to_string();
            assert_eq!(find(architecture.name), Ok(architecture));
            assert_eq!(find(&number), Ok(architecture));
        }
    }
}
