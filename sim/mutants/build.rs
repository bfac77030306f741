//! Generates the mutants' sources: a copy of each kernel's files for every row of the table, with the row's edits, and
//! a module around them. Also one unchanged copy of each kernel, which every tool must find clean.
//!
//! A text that does not occur exactly once stops the build: the table is out of date.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::exit;

#[path = "src/table/mod.rs"]
#[allow(dead_code)]
mod table;

use table::{Device, Edit, Kernel, Module, Row};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/table");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts"));
    let repository = folder.join("../..").canonicalize().expect("two folders above this one");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it for build scripts"));
    let on_device = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "nvptx64");
    // For a device one PTX module, for the host all kernels.
    let module = match env::var_os("CARGO_FEATURE_WGMMA") {
        Some(_) => Module::Wgmma,
        None => Module::General,
    };
    let is_compiled = |kernel: &Kernel| !on_device || kernel.module == module;

    let mut generator = Generator {
        repository,
        out: out.clone(),
        modules: String::new(),
        calls: String::new(),
    };
    for kernel in table::KERNELS.iter().filter(|kernel| is_compiled(kernel)) {
        generator.module(&format!("{}_original", kernel.name), kernel, None);
    }
    for row in table::rows() {
        let kernel = table::kernel(row.kernel)
            .unwrap_or_else(|| fail(&format!("{}: the table has no kernel `{}`", row.id, row.kernel)));
        let compiles = !on_device || !matches!(row.device, Device::Refused(_));
        // A row that only changes the launch runs the unchanged kernel.
        if compiles && is_compiled(kernel) && !row.edits.is_empty() {
            generator.module(row.id, kernel, Some(row));
        }
    }
    let mut text = generator.modules;
    if !on_device {
        writeln!(
            text,
            "/// How to call each of them.\npub(crate) const CALLS: &[(&str, crate::call::Call)] = &[\n{}];",
            generator.calls
        )
        .expect("a String takes all text");
    }
    write(&out.join("mutants.rs"), &text);
}

struct Generator {
    repository: PathBuf,
    out: PathBuf,
    /// The modules' text.
    modules: String,
    /// The rows of the table of calls.
    calls: String,
}

impl Generator {
    /// Copies the kernel's files with the row's changes and adds a module, named `id`, around them. The entry point is
    /// named so too.
    fn module(&mut self, id: &str, kernel: &Kernel, row: Option<&Row>) {
        let edits = row.map_or(&[][..], |row| row.edits);
        let files: Vec<String> = kernel.files.iter().flat_map(|path| self.files_of(path)).collect();
        for edit in edits {
            let edited = files.iter().filter(|path| is_of(edit, path)).count();
            if edited != 1 {
                fail(&format!("{id}: {edited} files of {} are {}", kernel.name, edit.file));
            }
        }
        for path in &files {
            self.copy(path, id, kernel, edits);
        }
        let mut submodules = String::new();
        for path in kernel.files {
            let copy = self.out.join(id).join(name_of_copy(path));
            // A folder's own file.
            let copy = if is_file(path) { copy } else { copy.join("mod.rs") };
            writeln!(submodules, "    #[path = {copy:?}]\n    pub mod {};", stem(path))
                .expect("a String takes all text");
        }
        writeln!(self.modules, "pub mod {id} {{\n{submodules}}}").expect("a String takes all text");
        let entry = stem(kernel.files.last().expect("a kernel has a file"));
        let arguments: String = (0..kernel.parameters).map(|i| format!("values[{i}].get(), ")).collect();
        writeln!(
            self.calls,
            "    (\"{id}\", |values| unsafe {{ {id}::{entry}::{id}({arguments}) }}),"
        )
        .expect("a String takes all text");
    }

    /// The file, or the files of the folder, relative to the repository.
    fn files_of(&self, path: &str) -> Vec<String> {
        if is_file(path) {
            return vec![path.to_owned()];
        }
        let folder = self.repository.join(path);
        println!("cargo::rerun-if-changed={}", folder.display());
        let entries = fs::read_dir(&folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.unwrap_or_else(|error| fail(&format!("{}: {error}", folder.display())));
        let mut files: Vec<String> = entries
            .iter()
            .map(|entry| format!("{path}/{}", entry.file_name().to_string_lossy()))
            .collect();
        files.sort();
        files
    }

    /// Copies one file, with the changes that are its own.
    fn copy(&self, path: &str, id: &str, kernel: &Kernel, edits: &[Edit]) {
        let source = self.repository.join(path);
        println!("cargo::rerun-if-changed={}", source.display());
        let mut text =
            fs::read_to_string(&source).unwrap_or_else(|error| fail(&format!("{}: {error}", source.display())));
        for edit in edits.iter().filter(|edit| is_of(edit, path)) {
            text = replace_once(&text, edit.find, edit.replace).unwrap_or_else(|problem| {
                fail(&format!(
                    "{id}: the text to replace in {path} {problem}:\n{}",
                    edit.find
                ))
            });
        }
        let mut text = one_kernel(&self.one_entry_point(&text, kernel.symbol), kernel.symbol);
        // Copies use the copied modules. All other modules are shared by all mutants.
        for module in kernel
            .files
            .iter()
            .filter_map(|path| path.strip_prefix("kernels-gpu/src/"))
        {
            let original = format!("crate::{}", module.trim_end_matches(".rs").replace('/', "::"));
            text = replace_word(&text, &original, &format!("crate::copies::{id}::{}", stem(module)));
        }
        // The entry point has the mutant's name, which is unique in a PTX module.
        let text = replace_word(&text, kernel.symbol, id);
        let folder = kernel
            .files
            .iter()
            .find(|folder| !is_file(folder) && path.starts_with(**folder));
        let copy = match folder {
            Some(folder) => format!("{}{}", name_of_copy(folder), &path[folder.len()..]),
            None => name_of_copy(path),
        };
        write(&self.out.join(id).join(copy), &text);
    }
}

/// Whether the edit applies to the file at `path`.
fn is_of(edit: &Edit, path: &str) -> bool {
    path.strip_suffix(edit.file).is_some_and(|folder| folder.ends_with('/'))
}

fn is_file(path: &str) -> bool {
    path.ends_with(".rs")
}

/// The file or folder beside the other copies of its mutant.
fn name_of_copy(path: &str) -> String {
    let extension = if is_file(path) { ".rs" } else { "" };
    format!("{}{extension}", stem(path))
}

/// `sim/sample-kernels/src/scan.rs` is `scan`, and so is `src/scan`.
fn stem(path: &str) -> &str {
    Path::new(path)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_else(|| fail(&format!("{path} names no file")))
}

fn replace_once(text: &str, find: &str, replace: &str) -> Result<String, String> {
    match text.matches(find).count() {
        1 => Ok(text.replacen(find, replace, 1)),
        0 => Err("is not there".to_owned()),
        n => Err(format!("is there {n} times")),
    }
}

impl Generator {
    /// Replaces the instance list at the end of a file by the kernel's row alone, to save compile time. A file without
    /// a list is unchanged.
    fn one_entry_point(&self, text: &str, symbol: &str) -> String {
        const LIST: &str = "_kernels!(entry_points);";
        let line = |line: &&str| line.starts_with("tilewright_contract::") && line.ends_with(LIST);
        let Some(list) = text.lines().find(line) else {
            return text.to_owned();
        };
        let folders = ["contract/src/family", "contract/src/family/wgmma"];
        let families: Vec<String> = folders.iter().flat_map(|folder| self.files_of(folder)).collect();
        let row = families.iter().find_map(|family| {
            let text = fs::read_to_string(self.repository.join(family)).unwrap_or_default();
            println!("cargo::rerun-if-changed={}", self.repository.join(family).display());
            let mut rows = text.lines().map(str::trim);
            rows.find(|row| row.strip_prefix(symbol).is_some_and(|rest| rest.starts_with(": ")))
                .map(str::to_owned)
        });
        let row = row.unwrap_or_else(|| fail(&format!("no instance {symbol}")));
        text.replace(list, &format!("entry_points! {{ {row} }}"))
    }
}

/// Blanks the other kernels of the file, line by line, so that line numbers stay, to save compile time.
fn one_kernel(text: &str, name: &str) -> String {
    const ATTRIBUTE: &str = "#[kernel";
    const HEAD: &str = "\npub unsafe fn ";
    let mut text = text.to_owned();
    let is_other = |text: &str, at: usize| {
        let starts_line = at == 0 || text[..at].ends_with('\n');
        let line = text[at..].find('\n').map_or(text.len(), |end| at + end);
        let found = text[line..].strip_prefix(HEAD).and_then(|rest| rest.split('(').next());
        starts_line && found.is_some_and(|found| found != name)
    };
    while let Some((at, _)) = text.match_indices(ATTRIBUTE).find(|&(at, _)| is_other(&text, at)) {
        let length = text[at..]
            .find("\n}\n")
            .unwrap_or_else(|| fail("a kernel does not end"));
        // Its documentation stands above it.
        let mut start = at;
        while let Some(line) = text[..start].lines().next_back().filter(|line| line.starts_with("///")) {
            start -= line.len() + 1;
        }
        let end = at + length + "\n}".len();
        let blank = "\n".repeat(text[start..end].matches('\n').count());
        text.replace_range(start..end, &blank);
    }
    text
}

/// Replaces `from` wherever it is a whole word.
fn replace_word(text: &str, from: &str, to: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        result.push_str(before);
        let whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        result.push_str(if whole { to } else { from });
        rest = after;
    }
    result + rest
}

fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).unwrap_or_else(|error| fail(&format!("{}: {error}", folder.display())));
    // An unchanged file keeps its modification time, so it is not compiled again.
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    if let Err(error) = fs::write(path, text) {
        fail(&format!("{}: {error}", path.display()));
    }
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    exit(1);
}
