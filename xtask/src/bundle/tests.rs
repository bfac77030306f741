//! `run.sh` with programs that stand for those of a bundle and of a GPU machine.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use xshell::{Shell, TempDir};

use crate::root;

/// A GPU, two tools, and kernels: `k_bad` is reported by memcheck, `simt_slow` keeps racecheck busy.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "bin/nvidia-smi",
        r#"case "$*" in *name,driver*) echo "NVIDIA H200, 580.1" ;; *compute_cap*) echo 9.0 ;; esac"#,
    ),
    (
        "bin/compute-sanitizer",
        r#"[ "$1" = --version ] && { echo "Version 2025.3, build 1"; exit; }
tool=$2
while [ "$1" != --print-limit ]; do shift; done
shift 2
"$@" || exit
case "$tool $TILEWRIGHT_TESTS" in
*memcheck*k_bad*) echo "========= Invalid __global__ read, of 4 bytes"; exit 99 ;;
*racecheck*simt_slow*) sleep 60 ;;
esac"#,
    ),
    (
        "tilewright",
        r#"case "$*" in
*--digests*) printf '%s\n' "k_a sm_80 aa" "k_bad sm_80 bb" "simt_slow sm_80 cc" ;;
*) echo "ran $*" ;;
esac"#,
    ),
    (
        "tests/gpu",
        r#"for test in $TILEWRIGHT_TESTS; do
    kernel=${test#kernels::}
    digest=$(awk -v kernel="$kernel" '$1 == kernel { print $2 }' "$TILEWRIGHT_WORK/kernels.txt")
    row="${TILEWRIGHT_CHECK:-test},$kernel,$digest,passed,$TILEWRIGHT_DATE,$TILEWRIGHT_COMMIT"
    echo "$row,NVIDIA H200,$TILEWRIGHT_DRIVER,0.1 s" >>"$TILEWRIGHT_ROWS"
done
echo "test result: ok. 1 passed; 0 failed""#,
    ),
];

/// A bundle of such programs.
struct Bundle {
    folder: TempDir,
}

impl Bundle {
    fn new() -> Self {
        let sh = Shell::new().expect("a shell");
        let folder = sh.create_temp_dir().expect("a folder");
        let bundle = Self { folder };
        for (name, text) in PROGRAMS {
            let path = bundle.path(name);
            std::fs::create_dir_all(path.parent().expect("within the bundle")).expect("writable");
            std::fs::write(&path, format!("#!/usr/bin/env bash\n{text}\n")).expect("writable");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("ours");
        }
        bundle.write("COMMIT", "0123456789abcdef\n");
        bundle.write(
            "digests.txt",
            "k_a sm_80 aa -\nk_bad sm_80 bb -\nsimt_slow sm_80 cc -\nmutant:quick - ee -\nmutant:slow - ff -\n",
        );
        bundle.write("filed.txt", "");
        let scripts = root().join("xtask/bundle");
        std::fs::copy(scripts.join("run.sh"), bundle.path("run.sh")).expect("readable");
        std::fs::create_dir(bundle.path("parts")).expect("writable");
        for script in std::fs::read_dir(scripts.join("parts")).expect("readable") {
            let script = script.expect("a file");
            std::fs::copy(script.path(), bundle.path("parts").join(script.file_name())).expect("readable");
        }
        bundle
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("writable");
    }

    /// Runs `run.sh`: its exit code and what it says.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.run_with(arguments, ("RACECHECK_LIMIT", "1"))
    }

    fn run_with(&self, arguments: &[&str], (variable, value): (&str, &str)) -> (Option<i32>, String) {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .arg(self.path("run.sh"))
            .args(arguments)
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("OUT", self.path("out"))
            .env(variable, value)
            .output()
            .expect("bash is there");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    /// The state of a part by `--list`.
    fn state(&self, part: &str) -> String {
        let (_, list) = self.run(&["--list"]);
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(part));
        let words: Vec<_> = line
            .unwrap_or_else(|| panic!("{part} is not listed:\n{list}"))
            .split_whitespace()
            .collect();
        words[2].trim_start_matches("to").to_owned() + if words[2] == "to" { "do" } else { "" }
    }

    /// A file of the results.
    fn result(&self, name: &str) -> String {
        let tar = Command::new("tar")
            .arg("-xOf")
            .arg(self.path("out/results.tar"))
            .arg(format!("./{name}"))
            .output();
        String::from_utf8(tar.expect("tar is there").stdout).expect("text")
    }
}

fn rows<'t>(checks: &'t str, check: &str) -> Vec<(&'t str, &'t str)> {
    let rows = checks.lines().filter(|line| line.split(',').next() == Some(check));
    let mut rows: Vec<_> = rows
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|cells| (cells[1], cells[3]))
        .collect();
    rows.sort_unstable();
    rows
}

#[test]
fn each_kernel_gets_a_row_of_its_own() {
    let bundle = Bundle::new();
    let (code, said) = bundle.run(&["kernels", "memcheck", "race"]);
    assert_eq!(code, Some(1), "memcheck reports one:\n{said}");
    let checks = bundle.result("checks.csv");
    assert_eq!(
        rows(&checks, "test"),
        [("k_a", "passed"), ("k_bad", "passed"), ("simt_slow", "passed")]
    );
    assert_eq!(
        rows(&checks, "memcheck"),
        [("k_a", "passed"), ("k_bad", "failed"), ("simt_slow", "passed")]
    );
    assert_eq!(
        rows(&checks, "racecheck"),
        [("k_a", "passed"), ("k_bad", "passed"), ("simt_slow", "no end")]
    );
    let parsed = crate::evidence::data::checks(&checks).expect("what `cargo xtask results` reads");
    let slow = parsed.iter().find(|row| row.outcome == "no end").expect("it is there");
    assert_eq!(
        (slow.digest.as_str(), slow.about.commit.as_str()),
        ("cc", "0123456789abcdef")
    );
    assert!(
        slow.note.contains("after 1 s") && slow.note.contains("2025.3"),
        "{}",
        slow.note
    );
}

#[test]
fn processes_are_spread_over_the_gpus_of_the_kind() {
    let bundle = Bundle::new();
    let program = std::fs::read_to_string(bundle.path("tests/gpu")).expect("readable");
    let seen = "${CUDA_VISIBLE_DEVICES:-none} s";
    bundle.write("tests/gpu", &program.replace("0.1 s", seen));
    let device = std::fs::read_to_string(bundle.path("bin/nvidia-smi")).expect("readable");
    let three = r#"*index,name*) printf '%s\n' "0, NVIDIA H200" "1, NVIDIA A2" "2, NVIDIA H200" ;; *name,driver*)"#;
    bundle.write("bin/nvidia-smi", &device.replace("*name,driver*)", three));
    let (_, said) = bundle.run(&["racecheck-tiled", "kernels"]);
    let checks = bundle.result("checks.csv");
    let on = |check: &str| -> Vec<&str> {
        let rows = checks.lines().filter(|line| line.starts_with(&format!("{check},")));
        let mut gpus: Vec<_> = rows.filter_map(|row| row.rsplit(',').next()).collect();
        gpus.sort_unstable();
        gpus
    };
    assert_eq!(on("racecheck"), ["0 s", "2 s"], "{said}");
    // The tests spread themselves.
    assert_eq!(on("test"), ["none s"; 3], "{said}");
}

#[test]
fn what_is_done_or_filed_is_not_run_again() {
    let bundle = Bundle::new();
    bundle.write(
        "filed.txt",
        "NVIDIA H200\tsquares\tk_a\taa\nNVIDIA H200\tshapes\tk_a\tchanged\nNVIDIA H100\thalf\tk_a\taa\n\
         NVIDIA H200\tmutants\tmutant:quick\tee\nNVIDIA H200\tmutants\tmutant:slow\tff\n\
         NVIDIA H200\tinitcheck\tk_a\taa\nNVIDIA H200\tinitcheck\tk_bad\tbb\nNVIDIA H200\tinitcheck\tsimt_slow\tcc\n\
         NVIDIA H200\tsynccheck\tk_a\taa\n",
    );
    for (part, state) in [
        ("squares", "filed"),
        ("shapes", "do"),
        ("half", "do"),
        ("mutants", "filed"),
        ("initcheck", "filed"),
        ("synccheck", "do"),
    ] {
        assert_eq!(bundle.state(part), state, "{part}");
    }
    let (code, said) = bundle.run(&["shapes"]);
    assert_eq!(
        (code, said.contains("ran bench --suite shapes")),
        (Some(0), true),
        "{said}"
    );
    assert_eq!(bundle.state("shapes"), "done");
    let (_, said) = bundle.run(&["shapes"]);
    assert!(said.contains("nothing to do"), "{said}");
    let (_, said) = bundle.run(&["--again", "shapes", "squares"]);
    assert!(
        said.contains("--suite shapes") && said.contains("--suite squares"),
        "{said}"
    );
    // Nothing is left to do of a part: it does not count as run.
    let (code, said) = bundle.run(&["--again", "--changed", "squares", "initcheck"]);
    assert_eq!((code, said.contains("nothing to do")), (Some(0), true), "{said}");
    assert!(!said.contains("== "), "{said}");
    // One kernel of three is filed.
    let (_, said) = bundle.run(&["--changed", "initcheck", "synccheck"]);
    assert!(
        said.contains("synccheck: 2 kernels, ") && !said.contains("initcheck"),
        "{said}"
    );
    // Another bundle does not add to these results.
    bundle.write("COMMIT", "fedcba9876543210\n");
    let (code, said) = bundle.run(&["layouts"]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn only_what_came_to_no_end_is_given_more_time() {
    let bundle = Bundle::new();
    bundle.write(
        "filed.txt",
        "NVIDIA H200\tno end\tsimt_slow\tcc\nNVIDIA H200\tno end\tk_a\tchanged\nNVIDIA H100\tno end\tk_bad\tbb\n",
    );
    assert_eq!(bundle.state("racecheck-slow"), "filed");
    let (code, said) = bundle.run(&["racecheck-slow"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        rows(&bundle.result("checks.csv"), "racecheck"),
        [("simt_slow", "no end")]
    );
}

#[test]
fn random_shapes_are_timed_where_they_are_asked_for() {
    let bundle = Bundle::new();
    let program = r#"#!/usr/bin/env bash
case "$*" in
*--digests*) echo "k_a sm_80 aa" ;;
*" --out "*) echo "ran $*"; all=$* out=${all#* --out }; echo {} >"${out%% *}/bench-random.json" ;;
esac"#;
    bundle.write("tilewright", program);
    assert_eq!(bundle.state("random-f16"), "filed");
    let (code, said) = bundle.run(&["random-f16"]);
    assert_eq!(code, Some(0), "{said}");
    let ran = "ran bench --random 400 --dtype f16 --layout nn,nt,tn,tt --out ";
    assert!(said.contains(ran), "{said}");
    assert_eq!(bundle.state("random-f16"), "done");
    assert_eq!(bundle.result("bench-random-f16.json"), "{}\n");
}

#[test]
fn f16_and_bf16_are_fitted_together_once_both_are_timed() {
    let bundle = Bundle::new();
    let program = r#"#!/usr/bin/env bash
all=$* out=${all#* --out }
out=${out%% *}
echo "ran ${all//"$out/"/}"
case $all in *--calibrate*) echo {} >"$out/calibration.json" ;; esac"#;
    std::fs::create_dir(bundle.path("benches")).expect("writable");
    bundle.write("benches/gpu_pick", program);
    std::fs::set_permissions(bundle.path("benches/gpu_pick"), PermissionsExt::from_mode(0o755)).expect("ours");
    let joint = " --fit calibration-f16.json calibration-bf16.json\n";
    for (part, is_joint) in [("f32", false), ("bf16", false), ("f64", false), ("f16", true)] {
        let (code, said) = bundle.run(&[&format!("calibrate-{part}")]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!(" --dtype {part} --calibrate ")), "{said}");
        assert_eq!(said.contains(joint), is_joint, "{said}");
        assert_eq!(bundle.result(&format!("calibration-{part}.json")), "{}\n");
    }
    // Also where the other one is timed last.
    let (_, said) = bundle.run(&["--again", "calibrate-bf16"]);
    assert!(said.contains(joint), "{said}");
}

#[test]
fn mutants_go_on_where_they_were_cut_off() {
    let bundle = Bundle::new();
    let program = bundle.path("tests/gpu");
    let calls = bundle.path("calls");
    bundle.write(
        "tests/gpu",
        &format!(
            "#!/usr/bin/env bash\n[ $TILEWRIGHT_MUTANT = list ] && {{ echo quick runs; echo slow runs; exit; }}\n\
             echo $TILEWRIGHT_MUTANT >>{0}\n[ $TILEWRIGHT_MUTANT = quick ] || {{ sleep 3; echo end >>{0}; }}\n",
            calls.display()
        ),
    );
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("ours");
    // What another run of the same bundle is at.
    let mut neighbor = std::process::Command::new("bash")
        .args(["-c", "exec -a \"$0\" sleep 60", &program.display().to_string()])
        .spawn()
        .expect("it starts");
    let (code, said) = bundle.run_with(&["mutants"], ("PART_LIMIT", "1"));
    assert_eq!(code, Some(1), "{said}");
    assert!(neighbor.try_wait().expect("ours").is_none(), "only the part is ended");
    neighbor.kill().and_then(|()| neighbor.wait()).expect("ours");
    let (code, said) = bundle.run(&["mutants"]);
    assert_eq!(code, Some(0), "{said}");
    let calls = std::fs::read_to_string(calls).expect("written");
    let of = |name: &str| calls.lines().filter(|line| *line == name).count();
    // Alone and under four tools; the slow one twice.
    assert_eq!((of("quick"), of("slow")), (5, 10));
    // Those that were cut off did not go on unseen.
    assert_eq!(of("end"), 5);
    for tool in ["alone", "memcheck", "racecheck", "initcheck", "synccheck"] {
        assert_eq!(
            bundle.result(&format!("mutants/slow.{tool}")),
            format!("== slow {tool} 0\n\n")
        );
    }
}

#[test]
fn only_mutants_that_are_not_filed_are_run() {
    let bundle = Bundle::new();
    let program = bundle.path("tests/gpu");
    bundle.write(
        "tests/gpu",
        "#!/usr/bin/env bash\n[ $TILEWRIGHT_MUTANT = list ] && { echo quick runs; echo slow hangs; }\nexit 0\n",
    );
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("ours");
    let quick = "NVIDIA H200\tmutants\tmutant:quick\tee\n";
    bundle.write(
        "filed.txt",
        &format!("{quick}NVIDIA H200\tmutants\tmutant:slow\tchanged\n"),
    );
    assert_eq!(bundle.state("mutants"), "do");
    let (code, said) = bundle.run(&["--changed", "mutants"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(bundle.result("mutants/quick.alone"), "");
    assert_eq!(bundle.result("mutants/slow.alone"), "== slow alone 0\n\n");
}

#[test]
fn a_part_that_is_unknown_or_does_not_end_is_said() {
    let bundle = Bundle::new();
    let (code, said) = bundle.run(&["squares", "nonsense"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("unknown part 'nonsense'; known: all test"), "{said}");
    let every: Vec<_> = said
        .split_whitespace()
        .filter(|word| word.starts_with("racecheck-"))
        .collect();
    assert_eq!(every.len(), 5, "{said}");
    // The list of digests is asked for first.
    bundle.write(
        "tilewright",
        "#!/usr/bin/env bash\n[[ $* == *digests* ]] && exit\nsleep 30\n",
    );
    let (code, said) = bundle.run_with(&["squares"], ("PART_LIMIT", "1"));
    assert_eq!(
        (code, said.contains("squares did not end within 1 s")),
        (Some(1), true),
        "{said}"
    );
    assert_eq!(bundle.state("squares"), "do");
}

#[test]
fn a_packed_bundle_is_unpacked_before_anything_is_run() {
    let bundle = Bundle::new();
    let sh = Shell::new().expect("a shell");
    super::pack(&sh, bundle.folder.path(), &["tilewright", "tests"]).expect("tar and xz are there");
    assert!(!bundle.path("tilewright").exists() && bundle.path("packed.tar.xz").exists());
    for _ in 0..2 {
        let (code, text) = bundle.run(&["--again", "device"]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("ran device"), "{text}");
        assert!(bundle.path("tests/gpu").exists() && !bundle.path("packed.tar.xz").exists());
    }
    bundle.write("packed.tar.xz", "cut off");
    let (code, text) = bundle.run(&["device"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(bundle.path("packed.tar.xz").exists(), "{text}");
}

#[test]
fn checks_go_on_where_they_were_cut_off() {
    let bundle = Bundle::new();
    let sanitizer = bundle.path("bin/compute-sanitizer");
    let slow = std::fs::read_to_string(&sanitizer)
        .expect("readable")
        .replace("*racecheck*simt_slow*", "*racecheck*k_bad*");
    std::fs::write(&sanitizer, &slow).expect("writable");
    let (code, said) = bundle.run_with(&["racecheck-tiled"], ("PART_LIMIT", "3"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("racecheck-tiled did not end within 3 s"), "{said}");
    assert_eq!(rows(&bundle.result("checks.csv"), "racecheck"), [("k_a", "passed")]);
    std::fs::write(&sanitizer, slow.replace("sleep 60", "true")).expect("writable");
    let (code, said) = bundle.run(&["racecheck-tiled"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("status 0: k_bad") && !said.contains("status 0: k_a"),
        "{said}"
    );
    let both = [("k_a", "passed"), ("k_bad", "passed")];
    assert_eq!(rows(&bundle.result("checks.csv"), "racecheck"), both);
    // Once it has come to its end, it is done with all of them again.
    let (_, said) = bundle.run(&["--again", "racecheck-tiled"]);
    assert!(said.contains("status 0: k_a"), "{said}");
    assert_eq!(rows(&bundle.result("checks.csv"), "racecheck"), both);
}
