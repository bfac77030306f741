//! Makes the mutants' sources: a copy of each kernel's files for every row of the table, with the row's change, and a module
//! around them. Also one copy of each kernel without a change, which every tool must find nothing in.
//!
//! A text that is not found exactly once stops the build: the table then describes a kernel that is no more.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::exit;

#[path = "src/table/mod.rs"]
#[allow(dead_code)]
mod table;

use table::{Device, Kernel, Row};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/table");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts"));
    let repository = folder.join("../..").canonicalize().expect("two folders above this one");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it for build scripts"));
    let on_device = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "nvptx64");

    let mut generator = Generator {
        repository,
        out: out.clone(),
        modules: String::new(),
        calls: String::new(),
    };
    for kernel in table::KERNELS {
        generator.module(&format!("{}_original", kernel.name), kernel, None);
    }
    for row in table::rows() {
        let kernel = table::kernel(row.kernel)
            .unwrap_or_else(|| fail(&format!("{}: the table has no kernel `{}`", row.id, row.kernel)));
        let compiles = !on_device || !matches!(row.device, Device::Refused(_));
        // A row that only changes the launch runs the unchanged kernel.
        if compiles && !row.edits.is_empty() {
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
    /// Copies the kernel's files with the row's changes and adds a module, named `id`, around them. The entry point is named so too.
    fn module(&mut self, id: &str, kernel: &Kernel, row: Option<&Row>) {
        let folder = self.out.join(id);
        fs::create_dir_all(&folder).unwrap_or_else(|error| fail(&format!("{}: {error}", folder.display())));
        let edits = row.map_or(&[][..], |row| row.edits);
        if let Some(edit) = edits
            .iter()
            .find(|edit| !kernel.files.iter().any(|file| stem(file) == stem(edit.file)))
        {
            fail(&format!("{id}: {} is no file of {}", edit.file, kernel.name));
        }
        let mut submodules = String::new();
        for path in kernel.files {
            let source = self.repository.join(path);
            println!("cargo::rerun-if-changed={}", source.display());
            let mut text =
                fs::read_to_string(&source).unwrap_or_else(|error| fail(&format!("{}: {error}", source.display())));
            for edit in edits.iter().filter(|edit| stem(edit.file) == stem(path)) {
                text = replace_once(&text, edit.find, edit.replace).unwrap_or_else(|problem| {
                    fail(&format!(
                        "{id}: the text to replace in {path} {problem}:\n{}",
                        edit.find
                    ))
                });
            }
            let text = one_entry_point(&text, kernel.name);
            // Beside the copies of the row's own files stands whatever else they use, once for all mutants.
            let text = text.replace("crate::tiled::", "super::tiled::");
            // The entry point has the mutant's name: one may occur once in a PTX module.
            let text = replace_word(&one_kernel(&text, kernel.name), kernel.name, id);
            let file = format!("{}.rs", stem(path));
            write(&folder.join(&file), &text);
            writeln!(
                submodules,
                "    #[path = {:?}]\n    pub mod {};",
                folder.join(&file),
                stem(path)
            )
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
}

/// `sim/classics/src/scan.rs` is `scan`.
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

/// Leaves only one line in the table of entry points that ends a rung's file: compiling the others would take time for nothing.
fn one_entry_point(text: &str, symbol: &str) -> String {
    let Some(start) = text.rfind("\nentry_points! {\n") else {
        return text.to_owned();
    };
    let (before, table) = text.split_at(start + "\nentry_points! {\n".len());
    let row = table
        .lines()
        .find(|line| {
            line.trim_start()
                .strip_prefix(symbol)
                .is_some_and(|rest| rest.starts_with(':'))
        })
        .unwrap_or_else(|| fail(&format!("no entry point {symbol}")));
    let end = table
        .find("\n}\n")
        .unwrap_or_else(|| fail("the table of entry points does not end"));
    format!("{before}{row}{}", &table[end..])
}

/// Blanks the other kernels of the file, line by line, so that places keep their numbers: compiling them would take time for nothing.
fn one_kernel(text: &str, name: &str) -> String {
    const HEAD: &str = "#[kernel]\npub unsafe fn ";
    let mut text = text.to_owned();
    let is_other = |text: &str, at: usize| {
        let found = text[at + HEAD.len()..].split('(').next().unwrap_or_default();
        found != name && !found.starts_with('$')
    };
    while let Some((at, _)) = text.match_indices(HEAD).find(|&(at, _)| is_other(&text, at)) {
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
    // An unchanged file keeps its time, so that nothing is compiled again.
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
