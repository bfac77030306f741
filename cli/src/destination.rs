//! Files that a command writes: whole or not at all.
//!
//! Until it is complete a file has no name, where the system can do that: whatever ends the process, a signal or the
//! lack of power, leaves nothing behind. Elsewhere it has a name of its own beside its target.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result};

/// A file that will be written. It is created before the work, so that a place that cannot be written to costs none.
#[derive(Debug)]
pub struct Destination {
    target: PathBuf,
    directory: PathBuf,
    file: Incomplete,
}

/// A file that is not yet what its target names.
#[derive(Debug)]
enum Incomplete {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

impl Destination {
    /// Creates the file: in a folder that exists, to appear over nothing or over a regular file.
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
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(fail(format!("{} is not a folder", directory.display()))),
            Err(error) => return Err(fail(format!("{}: {error}", directory.display()))),
        }
        let file = Incomplete::in_folder(&directory)
            .map_err(|error| fail(format!("no file can be made in {}: {error}", directory.display())))?;
        Ok(Self {
            target,
            directory,
            file,
        })
    }

    /// Something about this file that the user can mend.
    pub fn failure(&self, problem: impl Display) -> Failure {
        Failure::file(&self.target, problem)
    }

    /// Takes this much of the disk, where the system can say so before the work that there is none.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        #[cfg(target_os = "linux")]
        if bytes > 0 {
            use rustix::fs::{FallocateFlags, fallocate};
            use rustix::io::Errno;
            // Some file systems cannot reserve: then writing tells.
            if let Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) =
                fallocate(self.file.file(), FallocateFlags::KEEP_SIZE, 0, bytes)
            {
                return Err(self.unwritten(&format!("{bytes} B cannot be written: {}", io::Error::from(error))));
            }
        }
        let _ = bytes;
        Ok(())
    }

    /// Whether both would be one file.
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |of: &Self| {
            let directory = fs::canonicalize(&of.directory).unwrap_or_else(|_| of.directory.clone());
            (directory, of.target.file_name().map(ToOwned::to_owned))
        };
        place(self) == place(other)
    }

    /// Writes the file. It appears complete or not at all, with the permissions of the file that it replaces.
    pub fn write(self, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
        self.fill(content)?;
        self.appear()
    }

    /// Writes what the file holds when it [appears](Self::appear), and gives it the permissions of the file that it
    /// replaces.
    pub fn fill(&self, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
        let mut writer = BufWriter::new(self.file.file());
        let written = content(&mut writer).and_then(|()| writer.flush());
        drop(writer);
        let failure = |error: io::Error| self.unwritten(&format!("cannot be written: {error}"));
        written.map_err(failure)?;
        if let Ok(replaced) = fs::metadata(&self.target) {
            self.file
                .file()
                .set_permissions(replaced.permissions())
                .map_err(failure)?;
        }
        Ok(())
    }

    /// Gives the file its name, in place of whatever has it.
    pub fn appear(self) -> Result<()> {
        let Self {
            target,
            directory,
            file,
        } = self;
        file.appear(&target, &directory)
            .map_err(|error| Failure::environment(format!("{}: cannot be written: {error}", target.display())))
    }

    /// What is wrong with the disk is not wrong with the user's input.
    fn unwritten(&self, problem: &str) -> Failure {
        Failure::environment(format!("{}: {problem}", self.target.display()))
    }
}

impl Incomplete {
    fn in_folder(directory: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Mode, OFlags, open};
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            // The mode of a new file; the process's umask takes its bits away. Not every file system has unnamed files.
            if let Ok(file) = open(directory, flags, Mode::from_raw_mode(0o666)) {
                return Ok(Self::Unnamed(file.into()));
            }
        }
        builder().tempfile_in(directory).map(Self::Named)
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Gives the file its name, in place of whatever has it.
    fn appear(self, target: &Path, directory: &Path) -> io::Result<()> {
        let named = match self {
            Self::Named(file) => file.into_temp_path(),
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => {
                use rustix::fs::{AtFlags, CWD, linkat};
                use rustix::io::Errno;
                use std::os::fd::AsRawFd;
                let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
                let link = |name: &Path| linkat(CWD, &unnamed, CWD, name, AtFlags::SYMLINK_FOLLOW);
                match link(target) {
                    Ok(()) => return Ok(()),
                    // A file is replaced by renaming, for which there must be a name: for two calls of the system.
                    Err(Errno::EXIST) => builder().make_in(directory, |name| Ok(link(name)?))?.into_temp_path(),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        named.persist(target).map_err(|error| error.error)
    }
}

/// Of names beside the target.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tilewright-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}
