//! Headless Chromium, with a driver in the page that says what it has seen.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

const DRIVER: &str = include_str!("driver.js");

/// Names that the browser goes by; `xtask/src/browser.rs` installs the first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The longest that a page may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the driver has seen.
#[derive(Debug, Deserialize)]
pub struct Seen {
    /// Errors of scripts, of the console, and of what could not be loaded.
    pub errors: Vec<String>,
    /// The width of the window, in pixels.
    pub window: u32,
    /// The width of the page.
    pub page: u32,
    /// What ends beyond the window and does not scroll.
    pub wide: Vec<String>,
    /// The pictures.
    pub pictures: Vec<Picture>,
}

/// A picture of the page.
#[derive(Debug, Deserialize)]
pub struct Picture {
    /// Its address. Shown where it is at fault.
    #[allow(dead_code)]
    pub name: String,
    /// Whether it could be loaded.
    pub loaded: bool,
    /// Its width, in pixels.
    pub width: f64,
    /// Whether it is inside the window.
    pub inside: bool,
}

/// The first browser that is there.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(["/usr/bin".into()]).collect();
    let programs = NAMES
        .into_iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|program| program.is_file())
}

/// Opens a page of the book in a window of this width.
///
/// # Errors
/// The browser does not start or end, or the driver says nothing.
pub fn open(browser: &Path, book: &Path, page: &str, width: u32) -> Result<Seen, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let io = |error: std::io::Error| format!("{page}: {error}");
    let text = fs::read_to_string(book.join(page)).map_err(io)?;
    let (before, after) = text.split_once("<head>").ok_or("the page has no head")?;
    // Beside the page, so that its addresses hold. A window has a least width, a frame in it has none.
    let driven = book.join(format!("driven-{width}.html"));
    fs::write(&driven, format!("{before}<head><script>{DRIVER}</script>{after}")).map_err(io)?;
    let around = book.join(format!("around-{width}.html"));
    fs::write(&around, around_of(width)).map_err(io)?;
    let dom = folder.path().join("dom.html");
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        // Whatever the page asked for, it would not get it.
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--allow-file-access-from-files",
            "--dump-dom",
        ])
        .args(["--virtual-time-budget=20000", "--window-size=1400,1000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", around.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&dom).map_err(io)?)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", browser.display()))?;
    let begin = Instant::now();
    while child.try_wait().map_err(io)?.is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill().map_err(io)?;
            child.wait().map_err(io)?;
            return Err(format!("{} did not end in {PATIENCE:?}", browser.display()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let dom = fs::read_to_string(&dom).map_err(io)?;
    let seen = dom
        .rsplit_once("<pre id=\"seen\">")
        .and_then(|(_, rest)| Some(rest.split_once("</pre>")?.0));
    let seen = seen.ok_or("the driver said nothing")?;
    let seen = seen.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&seen).map_err(|error| format!("what the driver wrote is not what was expected: {error}"))
}

/// A page with a frame of this width, which writes down what the page in it tells.
fn around_of(width: u32) -> String {
    format!(
        "<!doctype html><title>around</title><iframe src=\"driven-{width}.html\" width=\"{width}\" height=\"900\" \
         style=\"border:0\"></iframe><script>addEventListener(\"message\", (event) => {{ const text = \
         document.createElement(\"pre\"); text.id = \"seen\"; text.textContent = event.data; \
         document.body.append(text); }});</script>"
    )
}
