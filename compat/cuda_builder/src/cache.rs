//! PTX that was made before, so that the same bitcode is not optimized twice: by the dev and the release profile of the
//! host, by two build scripts, or after an edit that leaves the device code as it was.

use std::env;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use xxhash_rust::xxh3::Xxh3;

use crate::CudaBuilder;
use crate::compile::Compiled;
use crate::diagnose::PTXAS_VARIABLE;
use crate::files::{KEEP_VARIABLE, write_if_changed};

/// The folder inside the target folder of the device build.
const FOLDER: &str = "ptx-cache";
/// How many bytes are kept: what was used last.
const CAPACITY: u64 = 256 << 20;
/// A digest of this crate's sources, by its build script: another pipeline makes other PTX.
const PIPELINE: &str = env!("CUDA_BUILDER_PIPELINE");

/// Where the PTX of one set of inputs is kept.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
}

impl Entry {
    /// The entry of a build by `tools` in the folder `target`, or none where more than PTX is wanted of it:
    /// intermediate files, or what `ptxas` says.
    pub fn of(builder: &CudaBuilder, tools: &impl Debug, target: &Path, compiled: &Compiled) -> Option<Self> {
        let wants_more = builder.emit.is_some()
            || builder.final_module_path.is_some()
            || [KEEP_VARIABLE, PTXAS_VARIABLE]
                .iter()
                .any(|name| env::var_os(name).is_some());
        if wants_more {
            return None;
        }
        let digest = digest(&builder.that_changes_ptx(), tools, compiled);
        Some(Self {
            path: target.join(FOLDER).join(format!("{digest:032x}.ptx")),
        })
    }

    /// The PTX, if it was made before.
    pub fn read(&self) -> Option<String> {
        let ptx = fs::read_to_string(&self.path).ok()?;
        // What is used stays.
        if let Ok(file) = fs::File::options().append(true).open(&self.path) {
            _ = file.set_modified(SystemTime::now());
        }
        Some(ptx)
    }

    /// Keeps PTX. A cache that cannot be written costs time later and nothing now.
    pub fn write(&self, ptx: &str) {
        let folder = self.path.parent().expect("an entry lies in the cache's folder");
        if fs::create_dir_all(folder).is_ok() && write_if_changed(&self.path, ptx.as_bytes()).is_ok() {
            evict(folder, CAPACITY);
        }
    }
}

/// A digest of all that the PTX depends on.
fn digest(builder: &CudaBuilder, tools: &impl Debug, compiled: &Compiled) -> u128 {
    let mut hasher = Xxh3::new();
    let mut feed = |bytes: &[u8]| {
        hasher.update(&bytes.len().to_le_bytes());
        hasher.update(bytes);
    };
    feed(PIPELINE.as_bytes());
    feed(format!("{builder:?}").as_bytes());
    feed(format!("{tools:?}").as_bytes());
    for member in &compiled.std_members {
        feed(member.as_bytes());
    }
    feed(&compiled.archive);
    hasher.digest128()
}

/// Removes what was not used for longest until `capacity` bytes are left.
fn evict(folder: &Path, capacity: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort_by(|left, right| right.cmp(left));
    let mut kept = 0;
    for (_, bytes, path) in files {
        kept += bytes;
        if kept > capacity {
            // Another build may have removed it already.
            _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::NvvmArch;

    fn compiled(archive: &[u8]) -> Compiled {
        Compiled {
            archive: archive.to_vec(),
            name: "kernels".to_owned(),
            std_members: ["core-1".to_owned()].into(),
            sources: Vec::new(),
        }
    }

    #[test]
    fn whatever_changes_ptx_changes_the_digest() {
        let builder = CudaBuilder::new("k").arch(NvvmArch::Compute80);
        let of = |builder: &CudaBuilder, llvm, archive: &[u8]| {
            digest(&builder.that_changes_ptx(), &llvm, &compiled(archive))
        };
        let same = of(&builder, 23, b"bitcode");
        assert_eq!(same, of(&builder.clone().copy_to("elsewhere.ptx"), 23, b"bitcode"));
        for other in [
            of(&builder, 22, b"bitcode"),
            of(&builder, 23, b"bitcodes"),
            of(&builder.clone().arch(NvvmArch::Compute75), 23, b"bitcode"),
            of(&builder.clone().ftz(true), 23, b"bitcode"),
            of(&builder.clone().ptx_version(8, 7), 23, b"bitcode"),
        ] {
            assert_ne!(same, other);
        }
    }

    #[test]
    fn ptx_is_found_again_until_it_is_pushed_out() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |name: &str| Entry {
            path: folder.path().join(FOLDER).join(name),
        };
        assert_eq!(entry("a").read(), None);
        for name in ["a", "b", "c"] {
            entry(name).write(&name.repeat(100));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(entry("a").read().as_deref(), Some("a".repeat(100).as_str()));
        evict(&folder.path().join(FOLDER), 250);
        // `b` was used before the others.
        assert!(entry("a").read().is_some() && entry("b").read().is_none() && entry("c").read().is_some());
    }

    #[test]
    fn builds_that_want_more_than_ptx_have_no_entry() {
        let of = |builder: CudaBuilder| Entry::of(&builder, &23, Path::new("/t"), &compiled(b"x"));
        assert!(of(CudaBuilder::new("k")).is_some_and(|entry| entry.path.starts_with("/t/ptx-cache")));
        assert!(of(CudaBuilder::new("k").emit_llvm_ir(true)).is_none());
        assert!(of(CudaBuilder::new("k").final_module_path("m.ll")).is_none());
    }
}
