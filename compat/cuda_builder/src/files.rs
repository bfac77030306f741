//! Intermediate files and results.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::CudaBuilderError;

/// Names a folder in which all intermediate files are kept, for reports about wrong code.
pub(crate) const KEEP_VARIABLE: &str = "CUDA_BUILDER_KEEP";

/// Whether the user wants to see the intermediate files.
pub(crate) fn keeps() -> bool {
    env::var_os(KEEP_VARIABLE).is_some()
}

/// The folder of the intermediate files: removed at the end, unless the user wants to see them.
pub(crate) enum Scratch {
    Removed(tempfile::TempDir),
    Kept(PathBuf),
}

impl Scratch {
    pub fn new() -> Result<Self, CudaBuilderError> {
        match env::var_os(KEEP_VARIABLE).map(PathBuf::from) {
            Some(folder) => {
                fs::create_dir_all(&folder).map_err(CudaBuilderError::io(&folder))?;
                Ok(Self::Kept(folder))
            }
            None => tempfile::tempdir()
                .map(Self::Removed)
                .map_err(CudaBuilderError::io(env::temp_dir())),
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Removed(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

/// Replaces a file in one step, and only when its content changes: whoever includes it is then not built again.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.flush()?;
    #[cfg(unix)]
    {
        // A temporary file is private to its user; this one is a build product like any other.
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_replaced_only_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.ptx");
        write_if_changed(&path, b"one").unwrap();
        let first = fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        write_if_changed(&path, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), first);
        write_if_changed(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(write_if_changed(&folder.path().join("absent/k.ptx"), b"x").is_err());
    }
}
