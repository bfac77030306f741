//! The guide's pages show what the tree produces: listings, outputs of program and simulator, tables, figures.
//!
//! A block of a page begins with a comment that says what stands in it, and ends with another:
//!
//! ```text
//! <!-- listing: PATH // FIRST LINE // LAST LINE -->     lines of a file, by the beginnings of the first and the last
//! <!-- run: tilewright ARGUMENTS // FIRST // LAST -->   what the program prints, or a part of it
//! <!-- run: exercise ARGUMENTS -->                      the same of `cargo xtask exercise`
//! <!-- run: corpus PAIR -->                             the same of a pair of the simulator's corpus
//! <!-- said: NAME -->                                   what the simulator says of a kernel of the guide
//! <!-- table: NAME -->                                  a table
//! <!-- figure: NAME -->                                 a picture, and its text
//! <!-- exercises: CHAPTER -->                           the exercises of a chapter
//! <!-- end -->
//! ```
//!
//! `BLESS=1 cargo test -p tilewright-cli --test guide` writes blocks and pictures, and so does `cargo xtask book
//! --write`.

mod answers;
mod blocks;
mod canvas;
mod charts;
mod figures;
mod said;

#[path = "../../../docs/guide/listings/sizing.rs"]
mod sizing;
#[path = "../../../docs/guide/listings/slides.rs"]
mod slides;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use exercises::course::EXERCISES;

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of the pages.
fn pages() -> PathBuf {
    root().join("docs/guide/src")
}

/// What the program prints, its errors left out.
fn program(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    let output = command
        .args(arguments)
        .current_dir(root())
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .expect("the program starts");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(
        !said.is_empty(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// Holds a file to what it should be, or writes it where `BLESS` is set. Returns whether it differed.
fn hold(path: &Path, expected: &str) -> bool {
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == expected {
        return false;
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, expected).expect("written");
        return false;
    }
    true
}

/// The pages of the guide, by name.
fn chapters() -> Vec<PathBuf> {
    let entries = fs::read_dir(pages()).expect("in the repository");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    found.sort();
    found
}

#[test]
fn every_block_of_a_page_is_what_the_tree_produces() {
    let mut differing = Vec::new();
    for path in chapters() {
        let text = fs::read_to_string(&path).expect("readable");
        let anew = blocks::renew(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if hold(&path, &anew) {
            differing.push(format!("{}:\n{}", path.display(), first_difference(&text, &anew)));
        }
    }
    assert!(
        differing.is_empty(),
        "`cargo xtask book --write` writes these:\n{}",
        differing.join("\n")
    );
}

fn first_difference(found: &str, expected: &str) -> String {
    let mut lines = found.lines().zip(expected.lines()).zip(1..);
    match lines.find(|((one, other), _)| one != other) {
        Some(((one, other), line)) => format!("  line {line} is\n    {one}\n  and should be\n    {other}"),
        None => "  one ends where the other goes on".to_owned(),
    }
}

#[test]
fn every_figure_is_what_the_tree_produces() {
    let folder = pages().join("figures");
    let mut names = BTreeSet::new();
    let mut differing = Vec::new();
    for figure in figures::ALL {
        let svg = (figure.draw)().svg(figure.text);
        names.insert(format!("{}.svg", figure.name));
        if hold(&folder.join(format!("{}.svg", figure.name)), &svg) {
            differing.push(figure.name);
        }
    }
    let entries = fs::read_dir(&folder).expect("in the repository");
    let files: BTreeSet<String> = entries
        .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"))
        .collect();
    assert_eq!(files, names, "the folder has these pictures and no other");
    assert!(differing.is_empty(), "`cargo xtask book --write` writes {differing:?}");
}

#[test]
fn every_figure_is_shown_and_every_chapter_has_its_exercises() {
    let text: String = chapters()
        .iter()
        .map(|path| fs::read_to_string(path).expect("readable"))
        .collect();
    for figure in figures::ALL {
        assert!(
            text.contains(&format!("<!-- figure: {} -->", figure.name)),
            "{}",
            figure.name
        );
    }
    let readme = fs::read_to_string(root().join("README.md")).expect("readable");
    assert!(readme.contains(&format!("{} broken kernels", EXERCISES.len())));
    for chapter in 1..=17 {
        assert_eq!(
            text.matches(&format!("<!-- exercises: {chapter} -->")).count(),
            1,
            "{chapter}"
        );
    }
}

#[test]
fn the_chapters_that_the_program_names_are_there() {
    let course: serde_json::Value = serde_json::from_str(&program(&["lessons", "--json"])).expect("JSON");
    let lessons = course["lessons"].as_array().expect("a list").iter();
    let mut named: Vec<String> = lessons
        .map(|lesson| lesson["chapter"].as_str().expect("each has one").to_owned())
        .collect();
    assert_eq!(named.len(), 15);
    for command in [
        &["lessons"][..],
        &["sim", "tiled_static", "-m", "1", "-n", "1", "-k", "1"],
        &["plan", "--help"],
    ] {
        let said = program(command);
        let words = said
            .split([' ', '(', ')', '\n', '.'])
            .filter(|word| word.starts_with("docs/guide/src/"));
        let found: Vec<String> = words.map(|word| format!("{word}.md")).collect();
        assert!(!found.is_empty(), "{command:?}");
        named.extend(found);
    }
    for chapter in named {
        assert!(root().join(&chapter).is_file(), "{chapter}");
    }
}

/// Each link to the planner's page names fields of its form, with values that `tilewright plan` answers.
#[test]
fn links_to_the_planners_page_carry_what_it_takes() {
    let form = fs::read_to_string(root().join("planner/web/page.html")).expect("in the repository");
    let page = fs::read_to_string(pages().join("planner-page.md")).expect("in the repository");
    let mut links = 0;
    for link in page.split("](planner.html#").skip(1) {
        let (fields, _) = link.split_once(')').expect("a link ends");
        let mut arguments = vec!["plan".to_owned()];
        let mut tile = Vec::new();
        for field in fields.split('&') {
            let (name, value) = field.split_once('=').expect("a name and a value");
            match name {
                // Marks below the picture, not a field.
                "compare" => value
                    .split('+')
                    .for_each(|arch| assert!(cuda_arch::find(arch).is_ok(), "{arch}")),
                _ => assert!(form.contains(&format!("name=\"{name}\"")), "{name}"),
            }
            match name {
                "compare" => {}
                "m" | "n" | "k" => arguments.extend([format!("-{name}"), value.to_owned()]),
                _ if name.starts_with("tile.") => tile.push(value),
                _ => arguments.extend([format!("--{name}"), value.to_owned()]),
            }
        }
        if !tile.is_empty() {
            arguments.extend(["--tile".to_owned(), tile.join("x")]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert!(program(&arguments).contains("limit of a block"), "{fields}");
        links += 1;
    }
    assert!(links >= 6, "{links} links");
}

#[test]
fn the_sizes_of_chapter_3_are_those_of_the_table() {
    let usage = |arch: &str, ctas| sizing::appropriate_usage(cuda_arch::find(arch).expect("known"), 0, ctas);
    let width = |arch, ctas| usage(arch, ctas).map(|usage| usage.tile_width);
    assert_eq!(
        [width("sm_75", 1), width("sm_120", 1), width("sm_90", 1)],
        [Some(80), Some(112), Some(160)]
    );
    assert_eq!([width("sm_120", 2), width("sm_90", 2)], [Some(64), Some(112)]);
    let small = usage("sm_90", 32).expect("32 CTAs have a tile each");
    assert!(!small.opt_in && small.dynamic_bytes == 2 * small.a_bytes, "{small:?}");
    assert_eq!(usage("sm_90", 1000), None);
}

#[test]
fn the_mended_kernel_of_the_slides_is_right_under_every_schedule() {
    let (report, wrong) = said::run_slides(slides::mended);
    report.assert_clean();
    assert_eq!(wrong, None);
    let (report, _) = said::run_slides(slides::of_the_slides);
    assert_eq!(report.faults[0].kind.name(), "DynamicSharedTooSmall");
}
