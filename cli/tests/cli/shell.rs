//! What the program says of itself, of this machine, and to a shell.

use super::*;

#[test]
fn the_doctor_finds_no_device_and_says_how_to_get_one() {
    let place = Place::new();
    let text = place.succeeds("doctor");
    assert!(
        text.starts_with(&format!("tilewright {} (", env!("CARGO_PKG_VERSION"))),
        "{text}"
    );
    let driver = text.lines().find(|line| line.starts_with("NVIDIA driver"));
    assert!(driver.is_some_and(|row| row.contains("missing")), "{text}");
    assert!(text.contains("\nNVIDIA driver, needed to compute on a GPU"), "{text}");

    let report = place.json("doctor");
    let findings = report["findings"].as_array().expect("a list");
    let names: Vec<_> = findings
        .iter()
        .map(|finding| finding["what"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        ["kernels", "NVIDIA driver", "ptxas", "nvdisasm", "Rust toolchain"]
    );
    for finding in findings {
        // Whatever is missing here, what to do about it is said.
        let is_missing = finding["state"] == "missing";
        assert!(
            is_missing == finding["mend"].is_string() && finding["state"] != "broken",
            "{finding}"
        );
    }
}

#[test]
fn a_version_names_the_commit_and_the_digest_of_the_kernels() {
    let place = Place::new();
    let version = place.succeeds("--version");
    let mut lines = version.lines();
    let first = lines.next().expect("a line");
    assert!(
        first.starts_with(&format!("tilewright {} (", env!("CARGO_PKG_VERSION"))),
        "{version}"
    );
    assert!(
        lines.next().is_some_and(|line| line.starts_with("kernels: ")),
        "{version}"
    );
    assert_eq!(place.succeeds("-V").trim_end(), first);
}

#[test]
fn shells_complete_every_command_and_man_has_a_page_for_each() {
    let place = Place::new();
    let commands = [
        "device", "plan", "matmul", "verify", "sim", "ptx", "inspect", "bench", "lessons", "demo", "doctor",
    ];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.succeeds(&format!("completions {shell}"));
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
    }
    let page = place.succeeds("man");
    assert!(
        page.contains(".TH tilewright 1") && page.contains("Exit codes"),
        "{page}"
    );
    place.succeeds("man --out pages");
    for command in commands {
        let page = fs::read_to_string(place.path(&format!("pages/tilewright-{command}.1")));
        assert!(page.is_ok_and(|page| page.contains(".TH")), "{command}");
    }
    // A folder that cannot be made.
    fs::write(place.path("file"), "").expect("the folder is ours");
    let line = place.fails(1, "man --out file/pages");
    assert!(line.starts_with("error: cannot write into file/pages: "), "{line}");
}
