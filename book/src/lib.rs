//! The guide as a book: [`build`] renders `docs/guide` and the reference pages to HTML, and checks every link.
//!
//! The pages are read where they are, in the repository, and their links lead to files of the repository. In the book
//! a link to a page leads to the page's HTML, and a link to any other file to the file.

mod links;
mod pages;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use mdbook_driver::MDBook;

pub use links::broken;
pub use pages::Page;

/// The folder of the guide, from the repository's root.
pub const GUIDE: &str = "docs/guide";

/// The planner's page within the book.
pub const PLANNER_PAGE: &str = "planner.html";

/// How a book is built.
pub struct Options<'a> {
    /// The repository's root.
    pub root: &'a Path,
    /// The folder for the HTML, which is written anew.
    pub out: &'a Path,
    /// The address of the repository's files, for a book that is published; without one links lead to the files here.
    pub source: Option<&'a str>,
    /// The planner's page, made by `tilewright plan --html`.
    pub planner: &'a str,
}

/// Builds the book and checks its links.
///
/// # Errors
/// A page that cannot be read or written, a link to nothing.
pub fn build(options: &Options) -> anyhow::Result<()> {
    let work = options.out.with_extension("pages");
    for folder in [&work, options.out] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    let pages = pages::collect(options.root)?;
    pages::write(options, &pages, &work)?;
    let mut book = MDBook::load(&work).context("cannot read the guide")?;
    book.config.build.build_dir = options.out.to_owned();
    book.build().context("cannot build the guide")?;
    let planner = options.out.join(PLANNER_PAGE);
    fs::write(&planner, options.planner).with_context(|| format!("cannot write {}", planner.display()))?;
    fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    links::lead_outside(options)?;
    let broken = links::broken(options.out)?;
    ensure!(broken.is_empty(), "links to nothing:\n{}", broken.join("\n"));
    Ok(())
}

/// Writes a file and the folders above it.
fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

/// A path without `.` and `..`, which must not lead out of it.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut parts: Vec<&std::ffi::OsStr> = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                parts.pop()?;
            }
            part => parts.push(part.as_os_str()),
        }
    }
    Some(parts.iter().collect())
}
