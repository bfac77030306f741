//! The pages of the book: the chapters, and the reference pages that the summary names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::links::OUTSIDE;
use crate::{GUIDE, Options, PLANNER_PAGE, normal, write_file};

/// The table of contents.
const SUMMARY: &str = "SUMMARY.md";

/// A page: where it is in the repository, and where in the sources of the book.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Page {
    /// From the repository's root.
    pub file: PathBuf,
    /// From the folder of the book's sources.
    pub place: PathBuf,
}

/// The pages that the summary names, and the summary itself.
///
/// # Errors
/// The summary cannot be read, or names what is not in the repository.
pub fn collect(root: &Path) -> anyhow::Result<Vec<Page>> {
    let folder = Path::new(GUIDE).join("src");
    let summary = folder.join(SUMMARY);
    let text = fs::read_to_string(root.join(&summary)).with_context(|| format!("cannot read {}", summary.display()))?;
    let mut pages = vec![Page {
        file: summary,
        place: SUMMARY.into(),
    }];
    for link in links(&text) {
        let address = &text[link];
        let file = normal(&folder.join(address)).with_context(|| format!("{address} leads out of the repository"))?;
        let place = match file.strip_prefix(&folder) {
            Ok(place) => place.to_owned(),
            Err(_) => Path::new("reference").join(file.file_name().context("a page has a name")?),
        };
        pages.push(Page { file, place });
    }
    Ok(pages)
}

/// Writes the sources of the book: the pages with their links led anew, the pictures, and the settings.
///
/// # Errors
/// A file cannot be read or written, or a link leads to nothing.
pub fn write(options: &Options, pages: &[Page], work: &Path) -> anyhow::Result<()> {
    let places: BTreeMap<&Path, &Path> = pages
        .iter()
        .map(|page| (page.file.as_path(), page.place.as_path()))
        .collect();
    let guide = options.root.join(GUIDE);
    for file in ["book.toml", "theme/guide.css"] {
        let bytes = fs::read(guide.join(file)).with_context(|| format!("cannot read {GUIDE}/{file}"))?;
        write_file(&work.join(file), bytes)?;
    }
    let mut pictures = BTreeMap::new();
    for page in pages {
        let path = options.root.join(&page.file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", page.file.display()))?;
        let text = led_anew(options, &places, page, &text, &mut pictures)
            .with_context(|| format!("in {}", page.file.display()))?;
        write_file(&work.join("src").join(&page.place), text)?;
    }
    for (file, place) in pictures {
        let bytes = fs::read(options.root.join(&file)).with_context(|| format!("cannot read {}", file.display()))?;
        write_file(&work.join("src").join(place), bytes)?;
    }
    Ok(())
}

/// A page whose links lead to where things are in the book.
fn led_anew(
    options: &Options,
    places: &BTreeMap<&Path, &Path>,
    page: &Page,
    text: &str,
    pictures: &mut BTreeMap<PathBuf, PathBuf>,
) -> anyhow::Result<String> {
    let folder = page.file.parent().unwrap_or(Path::new(""));
    let up: PathBuf = page.place.components().skip(1).map(|_| "..").collect();
    let mut anew = String::with_capacity(text.len());
    let mut done = 0;
    for link in links(text) {
        anew.push_str(&text[done..link.start]);
        done = link.end;
        let address = &text[link];
        let (path, fragment) = address
            .split_once('#')
            .map_or((address, ""), |(path, rest)| (path, rest));
        // What `tilewright plan --html` makes has no file in the repository.
        if path.is_empty() || path.contains("://") || path.starts_with("mailto:") || path == PLANNER_PAGE {
            anew.push_str(address);
            continue;
        }
        let Some(file) = normal(&folder.join(path)) else {
            bail!("{address} leads out of the repository");
        };
        if !options.root.join(&file).exists() {
            bail!("{address} leads to nothing");
        }
        let with_fragment = |path: String| match fragment {
            "" => path,
            fragment => format!("{path}#{fragment}"),
        };
        if let Some(place) = places.get(file.as_path()) {
            anew.push_str(&with_fragment(text_of(&up.join(place))));
        } else if file.extension().is_some_and(|extension| extension == "svg") {
            let guide = Path::new(GUIDE).join("src");
            let place = match file.strip_prefix(guide) {
                Ok(place) => place.to_owned(),
                Err(_) => Path::new("reference").join(file.file_name().unwrap_or_default()),
            };
            anew.push_str(&text_of(&up.join(&place)));
            pictures.insert(file, place);
        } else {
            anew.push_str(&with_fragment(format!("{OUTSIDE}{}", text_of(&file))));
        }
    }
    anew.push_str(&text[done..]);
    Ok(anew)
}

/// A path with slashes.
fn text_of(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Where the addresses of inline links and pictures are in a page, outside of code.
pub fn links(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let mut from = 0;
            while let Some(begin) = line[from..].find("](").map(|found| from + found + 2) {
                // Text in backquotes is code.
                let is_code = line[..begin].matches('`').count() % 2 == 1 && line[begin..].contains('`');
                let length = line[begin..].find([')', ' ', '\n']).unwrap_or(0);
                if !is_code && length > 0 {
                    found.push(at + begin..at + begin + length);
                }
                from = begin + length;
            }
        }
        at += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "[a](b.md) `[c](d)` ![e](f.svg \"g\")\n```text\n[h](i)\n```\n[`j`](k#l), [m\nn](o)\n";
        let found: Vec<_> = links(text).into_iter().map(|link| &text[link]).collect();
        assert_eq!(found, ["b.md", "f.svg", "k#l", "o"]);
    }

    #[test]
    fn the_summary_names_chapters_and_reference_pages() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let pages = collect(&root).expect("readable");
        let place = |file: &str| {
            let page = pages.iter().find(|page| page.file == Path::new(file));
            page.map(|page| page.place.display().to_string())
        };
        assert_eq!(
            place("docs/guide/src/introduction.md").as_deref(),
            Some("introduction.md")
        );
        assert_eq!(place("docs/simulator.md").as_deref(), Some("reference/simulator.md"));
    }
}
