//! Links of the rendered pages: each leads to a file, and to a place in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::{Options, PLANNER_PAGE, normal};

/// How a link begins, until the book is rendered, that leads to a file of the repository outside of the book.
pub const OUTSIDE: &str = "repository://";

/// Leads the links of the rendered pages that leave the book: to the address of the source, or to the files here, whose
/// places nobody renders.
///
/// # Errors
/// A page cannot be read or written.
pub fn lead_outside(options: &Options) -> anyhow::Result<()> {
    let mut pages = BTreeMap::new();
    collect(options.out, Path::new(""), &mut pages)?;
    for (page, text) in pages.iter().filter(|(_, text)| text.contains(OUTSIDE)) {
        let mut parts = text.split(OUTSIDE);
        let mut led = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match options.source {
                Some(source) => led.push_str(&format!("{source}/{part}")),
                None => {
                    let (address, rest) = part.split_at(part.find('"').unwrap_or(part.len()));
                    led.push_str(&to_root(options, page));
                    led.push_str(address.split('#').next().unwrap_or_default());
                    led.push_str(rest);
                }
            }
        }
        let path = options.out.join(page);
        fs::write(&path, led).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The way from a page to the repository's root; absolute where the book is elsewhere.
fn to_root(options: &Options, page: &Path) -> String {
    match options.out.strip_prefix(options.root) {
        Ok(below) => "../".repeat(below.components().count() + page.components().count() - 1),
        Err(_) => format!("{}/", options.root.display()),
    }
}

/// The links of the pages below a folder that lead to nothing, a line each. Addresses on the network are not looked up.
///
/// # Errors
/// A page cannot be read.
pub fn broken(book: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    collect(book, Path::new(""), &mut pages)?;
    let places: BTreeMap<&PathBuf, BTreeSet<&str>> = pages
        .iter()
        .map(|(page, text)| (page, attributes(text, " id=\"").collect()))
        .collect();
    let mut broken = Vec::new();
    for (page, text) in &pages {
        // One page with everything, whose links are those of the others.
        if page == Path::new("print.html") || page == Path::new(PLANNER_PAGE) || page == Path::new("toc.html") {
            continue;
        }
        for address in attributes(text, " href=\"").chain(attributes(text, " src=\"")) {
            let (path, fragment) = address.split_once('#').unwrap_or((address, ""));
            if path.contains("://") || path.starts_with("data:") || path.starts_with("mailto:") {
                continue;
            }
            let folder = page.parent().unwrap_or(Path::new(""));
            let absolute = normal(&book.join(folder).join(path.split('?').next().unwrap_or_default()));
            let target = match path {
                "" => Some(page.clone()),
                _ => normal(&folder.join(path)),
            };
            if path.is_empty() || absolute.as_deref().is_some_and(Path::exists) {
                // The page of the planner takes a configuration after the `#`.
                let is_page = target.as_deref().filter(|target| *target != Path::new(PLANNER_PAGE));
                let ids = is_page.and_then(|target| places.get(&target.to_owned()));
                if fragment.is_empty() || ids.is_none_or(|ids| ids.contains(fragment)) {
                    continue;
                }
            }
            broken.push(format!("{}: {address}", page.display()));
        }
    }
    Ok(broken)
}

/// The HTML pages below a folder, by their paths within the book.
fn collect(book: &Path, below: &Path, pages: &mut BTreeMap<PathBuf, String>) -> anyhow::Result<()> {
    let folder = book.join(below);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let place = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(book, &place, pages)?;
        } else if place.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(entry.path()).with_context(|| format!("cannot read {}", place.display()))?;
            pages.insert(place, text);
        }
    }
    Ok(())
}

/// The values of an attribute in HTML.
fn attributes<'a>(html: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    html.split(attribute)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_nothing_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let page = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        page(
            "a.html",
            "<h1 id=\"x\"></h1><a href=\"b.html#y\"><a href=\"#x\"><a href=\"https://example.org/#z\">",
        );
        page(
            "b.html",
            "<p id=\"y\"><a href=\"a.html#w\"><img src=\"c.svg\"><a href=\"planner.html#arch=sm_120\">",
        );
        page(PLANNER_PAGE, "");
        assert_eq!(
            broken(folder.path()).expect("readable"),
            ["b.html: a.html#w", "b.html: c.svg"]
        );
    }
}
