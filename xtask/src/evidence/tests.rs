//! The rule, on a copy of the pages and results of this repository.

use xshell::{Shell, TempDir};

use super::*;

/// Which digit of a figure.
#[derive(Clone, Copy)]
enum Digit {
    First,
    Last,
}

/// A copy of what the command reads.
pub(crate) struct Copy(TempDir);

impl Copy {
    pub(crate) fn new() -> Self {
        let sh = Shell::new().expect("a shell");
        let copy = Self(sh.create_temp_dir().expect("a folder"));
        for folder in ["docs/guide/src", "docs/results", "host/src/dispatch"] {
            std::fs::create_dir_all(copy.path(folder)).expect("writable");
        }
        for folder in [".", "docs", "docs/guide/src", "docs/results", "host/src/dispatch"] {
            for entry in std::fs::read_dir(crate::root().join(folder)).expect("readable") {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("it has a name").to_owned();
                if path.is_file() {
                    std::fs::copy(&path, copy.path(folder).join(name)).expect("writable");
                }
            }
        }
        copy
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("readable")
    }

    fn change(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from}");
        std::fs::write(self.path(name), text.replacen(from, to, 1)).expect("writable");
    }

    /// Changes one digit of the first figure after `from`: that of a link to the results, or one with a decimal point;
    /// returns what it became.
    fn change_digit(&self, name: &str, from: &str, digit: Digit) -> String {
        let mut text = self.read(name);
        let after = text.find(from).unwrap_or_else(|| panic!("{name} has no {from}")) + from.len();
        let linked = text[after..].find("](docs/results").map(|end| after + end);
        let written = text[after..]
            .split(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .find(|word| word.contains('.') && word.parse::<f64>().is_ok() && !word.ends_with('.'))
            .map(|word| word.as_ptr() as usize - text.as_ptr() as usize + word.len());
        let end = [linked, written].into_iter().flatten().min();
        let end = end.unwrap_or_else(|| panic!("{name}: no figure after {from}"));
        let start = text[..end].rfind(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
        let start = start.expect("a page begins with a word") + 1;
        let at = match digit {
            Digit::First => start,
            Digit::Last => end - 1,
        };
        let other = if text[at..].starts_with('9') { "8" } else { "9" };
        text.replace_range(at..=at, other);
        let changed = text[start..end].to_owned();
        std::fs::write(self.path(name), text).expect("writable");
        changed
    }

    fn holds(&self) -> bool {
        run(self.0.path(), false).is_ok()
    }

    fn write(&self) -> anyhow::Result<()> {
        run(self.0.path(), true)
    }

    /// Says of suites that dispatch picks what was measured.
    pub fn settle(&self, suites: &[&str]) {
        let is_of = |line: &str| suites.iter().any(|suite| line.starts_with(&format!("suite:{suite} ")));
        let settled = |line: &str| match line.split_once('/') {
            Some((before, after)) if is_of(line) => {
                let moved = before.rfind(' ').map_or(0, |at| at + 1);
                format!("{}0/{after}\n", &before[..moved])
            }
            _ => format!("{line}\n"),
        };
        let digests: String = self.read("docs/results/digests.txt").lines().map(settled).collect();
        std::fs::write(self.path("docs/results/digests.txt"), digests).expect("writable");
    }

    /// Removes the checks of other devices than the one that tests change: they would stand for what is taken away.
    pub(crate) fn leave_checks_of_one_device(&self) {
        for entry in std::fs::read_dir(self.path("docs/results")).expect("readable") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("it has a name");
            if name.ends_with("-checks.csv") && !name.starts_with("h200-") {
                std::fs::remove_file(path).expect("it is ours");
            }
        }
    }

    /// Gives every result the digests that ship, as a run of everything would.
    fn measure(&self) {
        self.leave_checks_of_one_device();
        let shipped = shipped::Shipped::read(&self.path("docs/results/digests.txt")).expect("readable");
        for entry in std::fs::read_dir(self.path("docs/results")).expect("readable") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let mut value: serde_json::Value =
                    serde_json::from_str(&std::fs::read_to_string(&path).expect("readable")).expect("JSON");
                let digests = value["digests"].as_object_mut().expect("every file has them");
                // Some old results are of kernels that are gone.
                digests.retain(|kernel, _| shipped.digest(kernel).is_some());
                for (kernel, digest) in digests.iter_mut() {
                    *digest = shipped.digest(kernel).expect("only these are left").into();
                }
                if value["topic"] == shipped::MUTANTS {
                    let digests = shipped
                        .mutants()
                        .map(|(mutant, digest)| (mutant.clone(), digest.clone().into()));
                    value["digests"] = serde_json::Value::Object(digests.collect());
                }
                std::fs::write(&path, data::text(&value)).expect("writable");
            }
        }
        // A run of everything measures what dispatch picks.
        self.settle(&shipped.moved.keys().map(String::as_str).collect::<Vec<_>>());
        let mut checks = format!("{}\n", data::CHECKS_HEAD);
        for kernel in &shipped.kernels {
            for check in OF_EACH {
                checks += &format!(
                    "{check},{},{},passed,2030-01-01,0123456789abcdef,NVIDIA H200,1,\n",
                    kernel.symbol, kernel.digest
                );
            }
        }
        std::fs::write(self.path("docs/results/h200-checks.csv"), checks).expect("writable");
        let speeds = self.read("host/src/dispatch/speed.txt");
        let mut text = String::new();
        for line in speeds.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let numbers = &words[..words.len() - 1];
            text += &match shipped.digest(words[0]) {
                Some(digest) => format!("{} {digest}\n", numbers.join(" ")),
                // The architecture, and what an element type shares.
                None => format!("{line}\n"),
            };
        }
        std::fs::write(self.path("host/src/dispatch/speed.txt"), text).expect("writable");
    }
}

#[test]
fn the_repository_says_what_its_results_say() {
    assert!(judge(crate::root()).expect("readable").problems.is_empty());
    run(crate::root(), false).expect("`cargo xtask evidence --write` mends it");
}

#[test]
fn one_digit_of_a_quoted_figure_is_noticed() {
    for (page, from, digit) in [
        // In a sentence, in tables, on the results page.
        ("README.md", "seeded bugs in copies of the", Digit::Last),
        ("docs/guide/src/07-the-ladder.md", "<!-- lessons:begin -->", Digit::Last),
        ("README.md", "<!-- suites:begin -->", Digit::Last),
        ("docs/guide/src/13-spilling.md", "<!-- spilling:begin -->", Digit::Last),
        ("docs/results/README.md", "## wavefronts", Digit::Last),
        // In text about one topic, where another figure of the topic may have the last digit (decision 25).
        (
            "docs/guide/src/13-spilling.md",
            "<!-- figures spilling:begin -->",
            Digit::First,
        ),
    ] {
        let copy = Copy::new();
        let changed = copy.change_digit(page, from, digit);
        assert!(!copy.holds(), "{page}: {changed}");
    }
}

#[test]
fn a_suite_of_kernels_that_dispatch_no_longer_picks_is_stale() {
    let copy = Copy::new();
    copy.measure();
    copy.write().expect("everything has evidence");
    let digests = copy.read("docs/results/digests.txt");
    let line = digests
        .lines()
        .find(|line| line.starts_with("suite:half "))
        .expect("it has a line");
    let rows = line.split(['/', ' ']).nth(3).expect("so many");
    copy.change("docs/results/digests.txt", line, &format!("suite:half - 2/{rows} -"));
    assert!(!copy.holds(), "the pages do not say that it is stale");
    copy.write().expect("everything has evidence");
    let page = copy.read("docs/results/README.md");
    let why = format!("dispatch picks other kernels in 2 of {rows} rows");
    assert!(page.contains(&why), "{why}");
    assert!(copy.read("README.md").contains("`half`"), "README.md does not say it");
}

#[test]
fn a_figure_without_a_result_is_refused_and_cannot_be_written_away() {
    for text in [
        "\n\nIt runs at 812.5 TFLOP/s.\n",
        "\n\nThe mean is [1.004](docs/results/README.md \"squares: meen\").\n",
        "\n\n<!-- figures spilling:begin -->\n\n77.123 M sectors\n\n<!-- figures spilling:end -->\n",
    ] {
        let copy = Copy::new();
        std::fs::write(copy.path("README.md"), copy.read("README.md") + text).expect("writable");
        assert!(copy.write().is_err(), "{text}");
        assert!(!copy.holds(), "{text}");
    }
    let copy = Copy::new();
    let dated = "\n\n## Then\n\nAt commit 0123456789 it ran at 812.5 TFLOP/s.\n";
    std::fs::write(copy.path("README.md"), copy.read("README.md") + dated).expect("writable");
    assert!(copy.holds(), "history may be told");
}

#[test]
fn what_a_run_measures_is_no_longer_stale_until_a_kernel_changes() {
    let copy = Copy::new();
    copy.measure();
    assert!(!copy.holds(), "the pages still say that they are stale");
    copy.write().expect("everything has evidence");
    assert!(copy.holds());
    for page in ["README.md", "docs/guide/src/13-spilling.md", "docs/results/README.md"] {
        assert!(!copy.read(page).contains("tale since"), "{page}");
    }
    // One kernel changes: its checks, the suites that run it and what dispatch knows of it are stale, and nothing else.
    let digests = copy.read("docs/results/digests.txt");
    let line = digests
        .lines()
        .find(|line| line.starts_with("simt_nn4_256x128_f32 "))
        .expect("it ships");
    let digest = line.split(' ').nth(2).expect("a digest");
    copy.change(
        "docs/results/digests.txt",
        line,
        &line.replace(digest, "0000000000000000"),
    );
    assert!(!copy.holds(), "a kernel has changed");
    copy.write().expect("stale blocks are written");
    assert!(copy.holds());
    let lessons = copy.read("docs/guide/src/07-the-ladder.md");
    assert!(
        lessons.contains("`lessons`") && lessons.contains("tale since"),
        "{lessons}"
    );
    let page = copy.read("docs/results/README.md");
    let row = |kernel: &str| {
        let row = page.lines().find(|row| row.starts_with(&format!("| `{kernel}` |")));
        row.unwrap_or_else(|| panic!("{kernel} has no row")).to_owned()
    };
    assert_eq!(row("simt_nn4_256x128_f32").matches("stale").count(), OF_EACH.len() + 1);
    assert!(!row("tiled_static_16_f32").contains("stale"));
    assert!(
        !copy.read("docs/guide/src/13-spilling.md").contains("tale since"),
        "the register-budget variants have not changed"
    );
}

#[test]
fn a_check_that_failed_is_refused_and_a_stated_reason_is_not() {
    let copy = Copy::new();
    copy.measure();
    let row = "racecheck,tiled_static_16_f32,";
    let of = |checks: &str| {
        checks
            .lines()
            .find(|line| line.starts_with(row))
            .expect("it is there")
            .to_owned()
    };
    let passed = of(&copy.read("docs/results/h200-checks.csv"));
    copy.change(
        "docs/results/h200-checks.csv",
        &passed,
        &(passed.replace(",passed,", ",no end,") + "it had not ended after 60 s"),
    );
    copy.write().expect("a tool's limit is a reason");
    assert!(
        copy.read("docs/results/README.md")
            .contains("no end: it had not ended after 60 s")
    );
    let limit = of(&copy.read("docs/results/h200-checks.csv"));
    copy.change(
        "docs/results/h200-checks.csv",
        &limit,
        &limit.replace(",no end,", ",failed,"),
    );
    assert!(copy.write().is_err());
}
