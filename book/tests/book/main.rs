//! The book, built, and opened in headless Chromium as wide as a telephone and as a desk: no errors, nothing wider than
//! its page, every picture there.

mod browser;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use browser::Seen;
use libtest_mimic::{Arguments, Failed, Trial};
use tilewright_book::{Options, build};

/// The widths of a telephone and of a desk.
const WIDTHS: [u32; 2] = [360, 1280];

/// The book, built once: with a page in place of the planner's, which the program makes and `tests/page` checks.
fn built() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize();
        let root = root.map_err(|error| error.to_string())?;
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
        build(&Options {
            root: &root,
            out: &out,
            source: None,
            planner: "<!doctype html><title>The planner</title>",
        })
        .map_err(|error| format!("{error:#}"))?;
        Ok(out)
    };
    BUILT.get_or_init(build).clone()
}

/// Every chapter is in the book, with its pictures; `build` has checked the links.
fn is_whole() -> Result<(), Failed> {
    let book = built()?;
    for page in [
        "index.html",
        "print.html",
        "01-why-tiles.html",
        "17-adding-a-kernel.html",
        "answers.html",
    ] {
        let text = std::fs::read_to_string(book.join(page)).map_err(|error| format!("{page}: {error}"))?;
        if text.contains("<!-- listing: ") && !text.contains("language-rust") {
            return Err(format!("{page} has no listings").into());
        }
    }
    match book.join("figures/banks.svg").is_file() {
        true => Ok(()),
        false => Err("the pictures are not in the book".into()),
    }
}

/// A published book leads to the address of the source.
fn leads_to_the_source() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("published");
    build(&Options {
        root: &root,
        out: &out,
        source: Some("https://example.org/tilewright"),
        planner: "",
    })
    .map_err(|error| format!("{error:#}"))?;
    let text = std::fs::read_to_string(out.join("01-why-tiles.html"))?;
    let address = "https://example.org/tilewright/kernels-gpu/src/lessons/l01_naive.rs";
    match text.contains(address) {
        true => Ok(()),
        false => Err(format!("no link to {address}").into()),
    }
}

fn opened(browser: &Path, width: u32) -> Result<(), Failed> {
    // One page with all chapters.
    let seen = browser::open(browser, &built()?, "print.html", width)?;
    let Seen {
        errors,
        window,
        page,
        wide,
        pictures,
    } = &seen;
    let mut problems: Vec<String> = errors.clone();
    if *window > width {
        problems.push(format!("the window is {window} wide, not {width}"));
    }
    if page > window {
        problems.push(format!("the page is {page} wide in a window of {window}"));
    }
    problems.extend(wide.iter().map(|text| format!("wider than the page: {text}")));
    if pictures.len() < 20 {
        problems.push(format!("{} pictures", pictures.len()));
    }
    for picture in pictures {
        // Their text has 13 units of 400, and is to have 9 pixels at least.
        if !(picture.loaded && picture.inside && picture.width >= 280.0) {
            problems.push(format!("{picture:?}"));
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("\n").into()),
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let found = browser::find().map(Arc::new);
    if found.is_none() {
        println!(
            "book tests skipped: {} (no Chromium; `cargo xtask setup` installs it)",
            WIDTHS.len()
        );
    }
    let mut trials = vec![
        Trial::test("the book is whole and its links lead somewhere", is_whole),
        Trial::test("a published book leads to the source", leads_to_the_source),
    ];
    for width in WIDTHS {
        let browser = found.clone().unwrap_or_default();
        let trial = Trial::test(format!("the book is readable at {width} pixels"), move || {
            opened(&browser, width)
        });
        trials.push(trial.with_ignored_flag(found.is_none()));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
