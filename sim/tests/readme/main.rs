//! The code and the report that `sim/README.md` shows: compiled, run, and compared with the page.

mod reverse;
mod wrong;

use std::path::{Path, PathBuf};
use std::process::Command;

use reverse::reverse;

// README: test
use cuda_sim::{GlobalBuffer, Launch, Schedule};

#[test]
fn each_block_is_reversed() {
    let values: Vec<u32> = (0..128).collect();
    let from = GlobalBuffer::from_slice(&values).named("from");
    let to = GlobalBuffer::uninit(values.len()).named("to");
    // SAFETY: 2 blocks of 64 threads, 128 elements.
    let kernel = || unsafe { reverse(from.as_ptr(), to.as_mut_ptr(), values.len()) };
    let report = Launch::new(2, 64).schedule(Schedule::All).run(kernel);
    report.assert_clean();
    assert_eq!(to.to_vec()[..3], [63, 62, 61]);
}
// README: end

mod strategies {
    use super::reverse::reverse;

    // README: proptest
    use cuda_sim::GlobalBuffer;
    use cuda_sim::strategies::{extents, launches};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_number_of_blocks(case in launches(extents([8, 1, 1], 8), Just(64.into()))) {
            let len = 64 * case.grid.count() as usize;
            let (from, to) = (GlobalBuffer::<u32>::zeroed(len), GlobalBuffer::<u32>::uninit(len));
            // SAFETY: an element for each thread of the grid.
            let report = case.launch().run(|| unsafe { reverse(from.as_ptr(), to.as_mut_ptr(), len) });
            prop_assert!(report.is_clean(), "{report}");
        }
    }
    // README: end
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

fn page() -> String {
    std::fs::read_to_string(path()).expect("the page is there")
}

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let page = page();
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    blocks
        .filter_map(|rest| Some(rest.split_once("```")?.0.to_owned()))
        .collect()
}

/// The part of this file with that name, without its indentation.
fn part(name: &str) -> String {
    let source = include_str!("main.rs");
    let (_, rest) = source.split_once(&format!("// README: {name}\n")).expect("a part");
    let (part, _) = rest.split_once("// README: end").expect("its end");
    let depth = part.len() - part.trim_start().len();
    let lines = part.trim_end().lines();
    lines
        .map(|line| format!("{}\n", line.get(depth..).unwrap_or_default()))
        .collect()
}

#[test]
fn the_page_shows_this_code() {
    let shown = [include_str!("reverse.rs").to_owned(), part("test"), part("proptest")];
    for part in shown {
        assert!(blocks("rust").contains(&part), "the page does not show\n{part}");
    }
    // The wrong kernel is the right one without its barrier.
    let code = |source: &str| -> Vec<String> {
        let lines = source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        lines.map(str::to_owned).collect()
    };
    let mut right = code(include_str!("reverse.rs"));
    right.retain(|line| line != "thread::sync_threads();");
    assert_eq!(right, code(include_str!("wrong.rs")));
}

/// `BLESS=1 cargo test -p cuda_sim --test readme` writes the report into the page.
#[test]
fn the_page_quotes_the_report() {
    let (from, to) = (GlobalBuffer::from_slice(&[7_u32; 128]), GlobalBuffer::uninit(128));
    // SAFETY: 2 blocks of 64 threads, 128 elements; the race is the subject.
    let report = Launch::new(2, 64).run(|| unsafe { wrong::reverse(from.as_ptr(), to.as_mut_ptr(), 128) });
    let error = report.into_clean().expect_err("a barrier is missing").to_string();
    let [quoted]: [String; 1] = blocks("text").try_into().expect("one report");
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path(), page().replace(&quoted, &error)).expect("the page can be written");
        return;
    }
    assert_eq!(quoted, error);
}

/// The page's manifest, in a project of its own, depends on no kernel of this project.
#[test]
fn the_page_s_manifest_resolves_without_the_kernel_crates() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .expect("the repository");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let [manifest]: [String; 1] = blocks("toml").try_into().expect("one manifest");
    let manifest = manifest.replace("\"tilewright/", &format!("\"{}/", root.display()));
    let package = "[package]\nname = \"yours\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n";
    std::fs::create_dir_all(folder.join("src")).expect("a folder for the project");
    std::fs::write(folder.join("src/lib.rs"), "").expect("an empty crate");
    std::fs::write(folder.join("Cargo.toml"), package.to_owned() + &manifest).expect("its manifest");
    // The versions of this workspace, which are there already.
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the versions");
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--prefix", "none", "--edges", "all"])
        .current_dir(&folder)
        .output()
        .expect("cargo runs");
    let (found, error) = (
        String::from_utf8_lossy(&tree.stdout),
        String::from_utf8_lossy(&tree.stderr),
    );
    assert!(tree.status.success(), "{error}");
    for package in ["cuda_sim v", "cuda_views v", "cuda_std v"] {
        assert!(found.contains(package), "no {package} in\n{found}");
    }
    for package in ["kernels-gpu v", "tilewright v", "tilewright-contract v"] {
        assert!(!found.contains(package), "{package} in\n{found}");
    }
}
