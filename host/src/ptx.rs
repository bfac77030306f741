//! The kernels' PTX, embedded at build time: one text for each architecture level.
//!
//! A general level runs on its architecture and all later ones, and has every kernel that its architecture runs. An
//! architecture-specific one, such as `sm_90a`, runs on its architecture alone, and has the kernels that no other level
//! can have.
//!
//! Embedded compressed, eight times shorter; unpacked when it is used first, in a few hundredths of a second.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;
use tilewright_contract::{BlockScaledKernel, Family, Fp8Kernel};

use crate::{Error, Result};

/// The kernels compiled for one architecture level.
#[derive(Debug)]
pub struct Level {
    /// The compute capability that the PTX asks for, `(major, minor)`: at least, or exactly where the level is
    /// architecture-specific.
    pub compute_capability: (u32, u32),
    /// The target's name in PTX and for `ptxas`, such as `sm_75`.
    pub arch: &'static str,
    /// The PTX text; it ends with a newline.
    pub ptx: LazyLock<String>,
}

impl Level {
    /// Whether it runs on its compute capability alone (PTX ISA, ".target": the suffix `a`).
    pub fn is_architecture_specific(&self) -> bool {
        self.arch.ends_with('a')
    }

    /// Whether it has the kernels of a family.
    pub fn has(&self, family: Family) -> bool {
        let target = family.target();
        target.is_architecture_specific == self.is_architecture_specific() && target.runs_on(self.compute_capability)
    }
}

/// The text that `build.rs` has compressed into a file of this name.
macro_rules! embedded {
    ($name:literal) => {
        LazyLock::new(|| {
            unpacked(include_bytes!(concat!(
                env!("OUT_DIR"),
                "/kernels_",
                $name,
                ".ptx.zlib"
            )))
        })
    };
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    ZlibDecoder::new(bytes)
        .read_to_string(&mut text)
        .expect("what build.rs has compressed");
    text
}

/// Oldest first. Must name what `build.rs` builds.
static LEVELS: [Level; 3] = [
    Level {
        compute_capability: (7, 5),
        arch: "sm_75",
        ptx: embedded!("sm_75"),
    },
    Level {
        compute_capability: (8, 0),
        arch: "sm_80",
        ptx: embedded!("sm_80"),
    },
    Level {
        compute_capability: (9, 0),
        arch: "sm_90a",
        ptx: embedded!("sm_90a"),
    },
];

/// The block-scaled kernels, for the family of 12.0: devices of 12.0 and 12.1 (PTX ISA, ".target": the suffix `f`).
/// It is none of [`levels`], since its kernels are none of the table.
static BLOCK_SCALED: Level = Level {
    compute_capability: (12, 0),
    arch: BlockScaledKernel::TARGET,
    ptx: embedded!("sm_120f"),
};

/// The PTX of the [block-scaled kernels](crate::block_scaled).
pub fn block_scaled() -> &'static Level {
    &BLOCK_SCALED
}

static FP8: Level = Level {
    compute_capability: (9, 0),
    arch: Fp8Kernel::TARGET,
    ptx: embedded!("sm_90a_fp8"),
};

/// The PTX of the [FP8 kernels](crate::fp8).
pub fn fp8() -> &'static Level {
    &FP8
}

/// Every embedded level, oldest architecture first.
pub fn levels() -> &'static [Level] {
    &LEVELS
}

/// Says where the kernels are missing: in a program that was built with `TILEWRIGHT_WITHOUT_PTX`, as the first demo of
/// a machine without a GPU is. Everything that needs no GPU's code works there.
///
/// # Errors
/// [`Error::Unavailable`].
pub fn ensure_embedded() -> Result<()> {
    if LEVELS[0].ptx.is_empty() {
        return Err(Error::Unavailable(
            "built without the kernels' PTX; build again without the variable TILEWRIGHT_WITHOUT_PTX".to_owned(),
        ));
    }
    Ok(())
}

/// The newest general level that a device of this compute capability runs, or `None` for a device older than all of
/// them.
pub fn for_compute_capability(compute_capability: (u32, u32)) -> Option<&'static Level> {
    LEVELS
        .iter()
        .rev()
        .find(|level| !level.is_architecture_specific() && level.compute_capability <= compute_capability)
}

/// The levels that a device of this compute capability takes its kernels from, each kernel from one: the newest general
/// one and that of just its architecture, where there is one. None for a device older than all.
pub fn levels_for(compute_capability: (u32, u32)) -> impl Iterator<Item = &'static Level> {
    let own = move |level: &&Level| level.is_architecture_specific() && level.compute_capability == compute_capability;
    for_compute_capability(compute_capability)
        .into_iter()
        .chain(LEVELS.iter().filter(own))
}

/// What an entry point begins with; its name follows.
const HEAD: &str = ".visible .entry ";

/// The text of one entry point, from its directive to its closing brace, or `None` where the level has none of that
/// name.
pub fn entry<'level>(level: &'level Level, symbol: &str) -> Option<&'level str> {
    let head = format!("{HEAD}{symbol}(");
    let start = level.ptx.find(&head)?;
    let end = start + len(&level.ptx[start..])?;
    Some(&level.ptx[start..end])
}

/// How long the entry point is that a text begins with: up to the brace that closes its body, and the end of that line.
/// Bodies have braces of their own, around vectors and where an `asm` has a scope.
fn len(text: &str) -> Option<usize> {
    let mut open = 0_u32;
    let close = text.bytes().position(|byte| {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        byte == b'}' && open == 0
    })?;
    let line = text[close..].find('\n')?;
    Some(close + line + 1)
}

/// A module with these entry points only, or `None` where the level lacks one of them. The driver compiles a module as
/// a whole when it is loaded, as `ptxas` reads it as a whole, and all kernels together take them many seconds.
pub fn module(level: &Level, symbols: &[&str]) -> Option<String> {
    let mut text = String::new();
    let mut missing = symbols.to_vec();
    let mut rest = &level.ptx[..];
    while let Some(start) = rest.find(HEAD) {
        let end = start + len(&rest[start..])?;
        text.push_str(&rest[..start]);
        let (symbol, _) = rest[start + HEAD.len()..end].split_once('(')?;
        if symbols.contains(&symbol) {
            text.push_str(&rest[start..end]);
            missing.retain(|other| *other != symbol);
        }
        rest = &rest[end..];
    }
    text.push_str(rest);
    missing.is_empty().then_some(text)
}

/// The threads of a block that the text of an entry point declares as its most (`.maxntid`), or `None` where it
/// declares none.
pub fn max_threads(entry: &str) -> Option<u32> {
    let (head, _) = entry.split_once('{')?;
    let (_, extents) = head.split_once(".maxntid ")?;
    // LLVM writes the kernel's name behind its last directive, as a comment.
    let extents = extents.lines().next()?.split("//").next()?;
    extents
        .split(',')
        .map(|extent| extent.trim().parse::<u32>().ok())
        .product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_threads_are_the_product_of_the_extents() {
        let entry =
            |directive| format!(".visible .entry k(\n\t.param .u64 k_param_0\n)\n{directive}\n{{\n\tret;\n}}\n");
        for (directive, threads) in [
            (".maxntid 256                            // @k", Some(256)),
            (".maxntid 16, 16, 1\n.minnctapersm 2", Some(256)),
            (".maxnreg 64", None),
        ] {
            assert_eq!(max_threads(&entry(directive)), threads, "{directive}");
        }
    }

    #[test]
    fn a_module_has_the_entry_points_asked_for_and_everything_else() {
        for level in levels() {
            let all = tilewright_contract::KERNELS.iter().map(|kernel| kernel.symbol);
            let symbols: Vec<_> = all.filter(|symbol| entry(level, symbol).is_some()).step_by(7).collect();
            for asked in symbols.windows(2) {
                let text = module(level, asked).expect("it has both");
                assert_eq!(text.matches(".visible .entry ").count(), 2, "{asked:?}");
                assert!(
                    asked
                        .iter()
                        .all(|symbol| text.contains(entry(level, symbol).expect("it has it")))
                );
                assert!(text.contains(".version ") && text.contains(".extern .shared "));
            }
            assert_eq!(module(level, &["r99"]), None);
            assert_eq!(module(level, &[symbols[0], "r99"]), None);
            assert_eq!(module(level, &[symbols[0]; 2]), module(level, &symbols[..1]));
        }
    }

    #[test]
    fn an_entry_point_goes_to_the_brace_that_closes_it() {
        let first = ".visible .entry a(\n\t.param .u32 p\n)\n{\n\tld.v2.b32 {%r1, %r2}, [%rd1];\n{\n.reg .pred p;\n}\n\
                     \tret;\n}\n";
        assert_eq!(
            len(&format!("{first}\n.visible .entry b()\n{{\n}}\n")),
            Some(first.len())
        );
        assert_eq!(len(".visible .entry a()\n{\n"), None);
    }

    #[test]
    fn a_device_gets_the_newest_level_it_runs() {
        assert!(for_compute_capability((7, 0)).is_none());
        for (device, arch) in [
            ((7, 5), "sm_75"),
            ((8, 0), "sm_80"),
            ((9, 0), "sm_80"),
            ((12, 0), "sm_80"),
        ] {
            assert_eq!(for_compute_capability(device).map(|level| level.arch), Some(arch));
        }
    }

    #[test]
    fn a_level_of_one_architecture_is_taken_there_besides_the_general_one() {
        for (device, archs) in [
            ((7, 0), &[][..]),
            ((8, 9), &["sm_80"]),
            ((9, 0), &["sm_80", "sm_90a"]),
            ((10, 0), &["sm_80"]),
        ] {
            let taken: Vec<_> = levels_for(device).map(|level| level.arch).collect();
            assert_eq!(taken, archs, "{device:?}");
            for family in Family::ALL {
                let of = levels_for(device).filter(|level| level.has(family)).count();
                let runs = !archs.is_empty() && family.target().runs_on(device);
                assert_eq!(of, usize::from(runs), "{family} on {device:?}");
            }
        }
    }
}
