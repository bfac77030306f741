//! Files that a command writes: whole or not at all.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// Where a file will be written. Made before the work, so that a place that cannot be written to costs no work.
#[derive(Debug)]
pub struct Destination {
    target: PathBuf,
    directory: PathBuf,
}

impl Destination {
    /// Checks that a file can be put there: in a folder that exists, over nothing or over a regular file.
    pub fn new(path: &Path) -> Result<Self> {
        let fail = |problem: String| Failure::file(path, problem);
        // A link is followed: what it names is replaced, not the link.
        let target = match fs::symlink_metadata(path) {
            Ok(_) => fs::canonicalize(path).map_err(|error| fail(error.to_string()))?,
            Err(_) => path.to_owned(),
        };
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(fail("is not a regular file, which could be replaced".into()));
        }
        if target.file_name().is_none() {
            return Err(fail("does not name a file".into()));
        }
        let directory = match target.parent() {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => PathBuf::from("."),
        };
        match fs::metadata(&directory) {
            Ok(metadata) if metadata.is_dir() => Ok(Self { target, directory }),
            Ok(_) => Err(fail(format!("{} is not a folder", directory.display()))),
            Err(error) => Err(fail(format!("{}: {error}", directory.display()))),
        }
    }

    /// Something about this file.
    pub fn failure(&self, problem: impl Display) -> Failure {
        Failure::file(&self.target, problem)
    }

    /// Writes the file. It appears complete, by renaming, or not at all.
    pub fn write(&self, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
        let fail = |error: io::Error| self.failure(format!("cannot be written: {error}"));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tilewright-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The mode of a new file; the process's umask takes its bits away.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(&self.directory).map_err(fail)?;
        let mut writer = BufWriter::new(temporary.as_file());
        content(&mut writer).and_then(|()| writer.flush()).map_err(fail)?;
        drop(writer);
        temporary.persist(&self.target).map_err(|error| fail(error.error))?;
        Ok(())
    }
}
