//! A browser without a window: opens a copy of the page, lets the driver do its steps, reads what it has seen.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Names that the browser goes by; `cargo xtask setup` installs Debian's where it can.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// The browser needs a second or two.
const PATIENCE: Duration = Duration::from_secs(60);
const DRIVER: &str = include_str!("driver.js");

/// What the driver does before it looks.
#[derive(Serialize)]
pub struct Step {
    /// A name for messages.
    pub name: &'static str,
    /// Whether the form begins as the page was made.
    pub afresh: bool,
    /// Fields and what is entered, one after the other.
    pub fields: Vec<(&'static str, &'static str)>,
    /// Architectures to compare with that are marked, or unmarked.
    pub marks: Vec<&'static str>,
    /// What is clicked.
    pub click: Option<&'static str>,
    /// What is put into the address.
    pub fragment: Option<&'static str>,
}

/// What the driver saw in one run.
#[derive(Deserialize)]
pub struct Seen {
    /// Errors, warnings, refused requests.
    pub errors: Vec<String>,
    /// What the page has loaded besides itself.
    #[serde(default)]
    pub fetched: Vec<String>,
    /// The page at its beginning and after each step.
    pub steps: Vec<Sight>,
}

/// The page at one time.
#[derive(Deserialize)]
pub struct Sight {
    /// The step's name.
    pub name: String,
    /// The last question to the planner, and its answer.
    pub question: String,
    pub answer: String,
    /// The part of the address after `#`, with it.
    pub fragment: String,
    pub verdict: String,
    /// The box that says what is wrong, and in it the button.
    pub problem: String,
    pub nearest: String,
    /// Names of fields that are marked as wrong.
    pub invalid: Vec<String>,
    pub facts: Vec<String>,
    pub moves: Vec<String>,
    pub impossible: String,
    pub command: String,
    /// Tables: texts of cells, row by row.
    pub sheet: Vec<Vec<String>>,
    pub resources: Vec<Vec<String>>,
    pub candidates: Vec<Vec<String>>,
    /// Names and bytes of the parts in the picture.
    pub parts: Vec<(String, u64)>,
    pub others: Vec<String>,
    /// The form: fields and their values.
    pub values: std::collections::BTreeMap<String, String>,
    /// Texts of the picture that lie over each other.
    pub overlaps: Vec<String>,
    /// Widths of the picture, of its place and of the window, in pixels.
    pub picture_width: u32,
    pub frame_width: u32,
    pub window_width: u32,
    /// What is wider than its place.
    pub too_wide: Vec<String>,
}

/// The first browser that is there.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(["/usr/bin".into()]).collect();
    NAMES
        .into_iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
}

/// Opens `page` with `fragment` behind its address in a window of this width, and goes through `steps`.
pub fn open(browser: &Path, page: &str, fragment: &str, width: u32, steps: &[Step]) -> Result<Seen, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{}-{width}", std::process::id()));
    let seen = fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))
        .and_then(|()| open_in(&folder, browser, page, fragment, width, steps));
    // What cannot be removed lies in the target folder and does no harm.
    let _ = fs::remove_dir_all(&folder);
    seen
}

fn open_in(
    folder: &Path,
    browser: &Path,
    page: &str,
    fragment: &str,
    width: u32,
    steps: &[Step],
) -> Result<Seen, String> {
    let io = |error: std::io::Error| format!("in {}: {error}", folder.display());
    let copy = folder.join("page.html");
    fs::write(&copy, with_driver(page, steps)).map_err(io)?;
    let (dom, log) = (folder.join("dom.html"), folder.join("log.txt"));
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
        ])
        // Whatever the page asked for, it would not get it.
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--dump-dom",
            "--virtual-time-budget=30000",
        ])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}{fragment}", copy.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&dom).map_err(io)?)
        .stderr(File::create(&log).map_err(io)?)
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", browser.display()))?;
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().map_err(io)? {
            Some(status) => break status,
            None if begin.elapsed() > PATIENCE => {
                child.kill().map_err(io)?;
                child.wait().map_err(io)?;
                return Err(format!("{} did not end in {PATIENCE:?}", browser.display()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let dom = fs::read_to_string(&dom).map_err(io)?;
    let json = dom
        .split_once("<pre id=\"seen\">")
        .and_then(|(_, rest)| Some(rest.split_once("</pre>")?.0))
        .ok_or_else(|| {
            let log = fs::read_to_string(&log).unwrap_or_default();
            format!(
                "{} ended with {status} and no word of the driver: {log}",
                browser.display()
            )
        })?;
    serde_json::from_str(json).map_err(|error| format!("what the driver wrote is not what was expected: {error}"))
}

/// The page with the driver before its own script, so that the driver hears of every error.
fn with_driver(page: &str, steps: &[Step]) -> String {
    let steps = serde_json::to_string(steps)
        .expect("plain data")
        .replace('<', "\\u003c");
    let (before, after) = page.split_once("</title>").expect("the page has a title");
    format!(
        "{before}</title>\n<script>{DRIVER}</script>\n<script id=\"steps\" \
         type=\"application/json\">{steps}</script>{after}"
    )
}
