//! From a build script: what makes cargo run it again, and what does not.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{fixture, target};

/// A copy of `fixtures/build_script` that the test may edit.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "Cargo.toml",
            "build.rs",
            "src/main.rs",
            "kernels/Cargo.toml",
            "kernels/src/lib.rs",
            "kernels/src/part.rs",
            "helper/Cargo.toml",
            "helper/src/lib.rs",
        ] {
            let copy = folder.path().join(file);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            let text = fs::read_to_string(fixture("build_script").join(file)).unwrap();
            let here = env!("CARGO_MANIFEST_DIR");
            fs::write(copy, text.replace("../../..", here)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.path(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} in {file}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).current_dir(self.folder.path());
        // The target folder of these tests: it has the dependencies already, and `cuda-builder` in it the standard
        // library.
        cargo.env("CARGO_TARGET_DIR", target().parent().unwrap());
        // What a wrapper or the flags of the host build would do to a device build.
        cargo
            .env("RUSTFLAGS", "--cfg=of_the_host")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            .env("CARGO_INCREMENTAL", "1");
        cargo.output().unwrap()
    }

    /// Builds and runs; whether the build script ran.
    #[track_caller]
    fn build(&self) -> (bool, String) {
        let output = self.cargo(&["run", "-vv"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success(),
            "{stderr}\n{}",
            String::from_utf8_lossy(&output.stdout)
        );
        let all = stderr + &String::from_utf8_lossy(&output.stdout);
        (all.contains("the build script runs"), all)
    }
}

#[test]
fn build_script_runs_again_when_and_only_when_an_input_changes() {
    let project = Project::new();
    let (ran, said) = project.build();
    assert!(ran, "{said}");
    assert!(
        said.contains("entry points: marked, part"),
        "the PTX is included in the program\n{said}"
    );
    for line in [
        "rerun-if-changed=",
        "kernels/src/part.rs",
        "helper/src/lib.rs",
        "helper/Cargo.toml",
        "kernels/Cargo.toml",
    ] {
        assert!(said.contains(line), "no {line} in\n{said}");
    }
    // The first build wrote kernels/Cargo.lock, an input, while the script ran: cargo takes it for a change, once.
    project.build();
    assert!(!project.build().0, "nothing changed");

    let inputs = [
        ("kernels/src/part.rs", "part", "changed"),
        ("helper/src/lib.rs", "= 3", "= 4"),
        ("kernels/Cargo.toml", "codegen-units = 16", "codegen-units = 8"),
    ];
    for (file, from, to) in inputs {
        tick();
        project.edit(file, from, to);
        assert!(project.build().0, "{file} changed");
        assert!(!project.build().0, "nothing changed after {file}");
    }
    let (_, said) = project.build();
    assert!(said.contains("entry points: changed, marked"), "{said}");

    tick();
    fs::write(project.path("kernels/README.md"), "not an input").unwrap();
    fs::write(project.path("kernels/src/unused.rs"), "not a module").unwrap();
    assert!(!project.build().0, "neither file is an input");
}

#[test]
fn error_of_the_device_build_reaches_the_user() {
    let project = Project::new();
    project.edit("kernels/src/part.rs", "pub", "pub pub");
    let output = project.cargo(&["build"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        stderr.contains("part.rs:") && stderr.contains("does not compile"),
        "{stderr}"
    );
}

/// File times are compared: some file systems count whole seconds, most count milliseconds.
fn tick() {
    std::thread::sleep(std::time::Duration::from_millis(1100));
}

#[test]
fn fixture_is_a_workspace_of_its_own() {
    let manifest = fs::read_to_string(Path::new(&fixture("build_script")).join("Cargo.toml")).unwrap();
    assert!(manifest.contains("[workspace]"));
}
