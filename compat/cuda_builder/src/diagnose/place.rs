//! From the path of an item to the line that it is declared on.
//!
//! A release build has no line information, so the line is looked for in the sources: only an unambiguous answer is
//! given.

use std::fs;
use std::path::{Path, PathBuf};

/// The source files of the user's crates.
pub(super) struct Sources {
    /// Each with its name as messages show it.
    files: Vec<(String, String)>,
}

impl Sources {
    /// Reads the files that rustc read; those below `crate_path` are named relative to it.
    pub fn read(crate_path: &Path, files: &[PathBuf]) -> Self {
        let rust = files
            .iter()
            .filter(|file| file.extension().is_some_and(|kind| kind == "rs"));
        let read = |file: &PathBuf| {
            let name = file.strip_prefix(crate_path).unwrap_or(file);
            Some((name.display().to_string(), fs::read_to_string(file).ok()?))
        };
        Self {
            files: rust.filter_map(read).collect(),
        }
    }

    /// The `file:line` of an item's declaration, or of the innermost item around it that can be found.
    pub fn find(&self, path: &str) -> Option<String> {
        let segments = segments(path);
        // The first segment is the crate, unless it is all there is: a kernel's name.
        let first = usize::from(segments.len() > 1);
        (first..segments.len())
            .rev()
            .find_map(|index| {
                let module = index.checked_sub(1).filter(|outer| *outer >= first);
                self.declaration(segments[index], module.map(|outer| segments[outer]))
            })
            .or_else(|| self.line_with(&format!("export_name = \"{path}\"")))
    }

    /// All lines that declare something exported as `name`.
    pub fn all(&self, name: &str) -> Vec<String> {
        let lines = self
            .lines()
            .filter(|line| declares(line.text, name) && self.is_exported(line));
        lines.map(|line| line.place()).collect()
    }

    /// The only line of code that holds `text`.
    pub fn line_with(&self, text: &str) -> Option<String> {
        let mut lines = self
            .lines()
            .filter(|line| line.text.contains(text) && !line.text.trim_start().starts_with("//"));
        let line = lines.next()?;
        lines.next().is_none().then(|| line.place())
    }

    /// Whether the attributes above a declaration give it a name of its own.
    fn is_exported(&self, line: &Line<'_>) -> bool {
        const ATTRIBUTES: [&str; 4] = ["kernel", "no_mangle", "export_name", "externally_visible"];
        let text = self
            .files
            .iter()
            .find(|(file, _)| file == line.file)
            .map_or("", |(_, text)| text);
        let above: Vec<&str> = text.lines().take(line.number - 1).collect();
        let mut above = above
            .iter()
            .rev()
            .take_while(|line| !(line.trim().is_empty() || line.ends_with('}')));
        above.any(|line| line.trim_start().starts_with("#[") && ATTRIBUTES.iter().any(|name| line.contains(name)))
    }

    /// The lines that declare `name`: the only one, or the first after the head of `module` where that is the only
    /// one in its file.
    fn declaration(&self, name: &str, module: Option<&str>) -> Option<String> {
        let found: Vec<_> = self.lines().filter(|line| declares(line.text, name)).collect();
        if let [only] = found.as_slice() {
            return Some(only.place());
        }
        let Some(module) = module else {
            let exported: Vec<_> = found.iter().filter(|line| self.is_exported(line)).collect();
            return match exported.as_slice() {
                [only] => Some(only.place()),
                _ => None,
            };
        };
        let heads = self.lines().filter(|line| declares(line.text, module));
        let mut heads = heads.map(|line| (line.file, line.number));
        let (file, number) = heads.next().filter(|_| heads.next().is_none())?;
        let inside = found.iter().find(|line| line.file == file && line.number > number);
        inside.map(Line::place)
    }

    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.files.iter().flat_map(|(file, text)| {
            text.lines().enumerate().map(move |(index, text)| Line {
                file,
                number: index + 1,
                text,
            })
        })
    }
}

struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn place(&self) -> String {
        format!("{}:{}", self.file, self.number)
    }
}

/// Whether a line declares `name`: as a function, a static, a type or a module.
fn declares(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("//") {
        return false;
    }
    let mut words = line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '#'));
    let mut before = "";
    words.any(|word| {
        let declared = word == name && matches!(before, "fn" | "static" | "mut" | "mod" | "trait" | "struct" | "enum");
        // `static mut X`, but neither `let mut x` nor `&mut x`.
        let declared = declared && (before != "mut" || line.contains("static mut"));
        if !word.is_empty() {
            before = word;
        }
        declared
    })
}

/// The names of a demangled path, without type arguments, closures and impl blocks: `<a::B as c::D>::e` has `a`,
/// `B` and `e`.
fn segments(path: &str) -> Vec<&str> {
    let mut path = path;
    let mut tail = None;
    if let Some(inner) = path.strip_prefix('<') {
        let end = inner.rfind(">::").unwrap_or(inner.len());
        tail = inner.get(end + 3..);
        path = inner[..end].split(" as ").next().unwrap_or_default();
    }
    let named = |part: &&str| part.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    let parts = path.split("::").chain(tail.unwrap_or_default().split("::"));
    parts
        .map(|part| part.split('<').next().unwrap_or_default())
        .filter(named)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        let lib = "mod a {\n    pub fn step() {}\n}\nmod b {\n    // fn step\n    pub fn step() {}\n}\n\
                   #[kernel]\npub unsafe fn k(mut T: u32) {}\nstatic mut T: u32 = 0;\n#[kernel]\nfn twice() {}\n";
        Sources {
            files: vec![
                ("src/lib.rs".into(), lib.into()),
                ("src/c.rs".into(), "#[kernel]\nfn twice() {}\nfn k() {}\n".into()),
            ],
        }
    }

    #[test]
    fn only_an_unambiguous_line_is_named() {
        let sources = sources();
        let at = |path| sources.find(path);
        assert_eq!(at("k").as_deref(), Some("src/lib.rs:9"));
        assert_eq!(at("k::T").as_deref(), Some("src/lib.rs:10"));
        assert_eq!(at("wrong::a::step").as_deref(), Some("src/lib.rs:2"));
        assert_eq!(at("wrong::b::step::{closure#0}").as_deref(), Some("src/lib.rs:6"));
        assert_eq!(at("wrong::twice"), None);
        assert_eq!(at("core::fmt::write"), None);
        assert_eq!(sources.all("twice"), ["src/lib.rs:12", "src/c.rs:2"]);
    }

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!(segments("<wrong::A as wrong::Node>::depth"), ["wrong", "A", "depth"]);
        assert_eq!(segments("wrong::max::<u32>"), ["wrong", "max"]);
    }
}
