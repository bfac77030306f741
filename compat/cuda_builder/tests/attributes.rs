//! `#[kernel(max_threads = .., ..)]` from the source to `ptxas`: the directives that arrive in PTX, and what is refused
//! on the way.

mod common;

use common::{body, builder, ptx_of, ptxas};
use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch, SpillingRule};
use std::path::Path;
use std::process::Command;

const PRAGMA: &str = ".pragma \"enable_smem_spilling\";";

fn with(features: &str) -> CudaBuilder {
    builder("attributes").build_args(&["--features", features])
}

/// The directives between the parameters of a kernel and its body.
fn directives<'a>(ptx: &'a str, kernel: &str) -> Vec<&'a str> {
    let head = body(ptx, kernel);
    let head = &head[head.find("\n)").expect("parameters")..head.find("\n{").expect("a body")];
    head.lines()
        .filter(|line| line.starts_with('.'))
        .map(without_comment)
        .collect()
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// Assembles; the program's words about each kernel. Without `ptxas` there are none, and that is said.
fn assemble(ptx: &Path, arch: &str) -> Option<String> {
    let Some(ptxas) = ptxas() else {
        eprintln!("skipped assembling: no ptxas; set PTXAS or run `cargo xtask setup`");
        return None;
    };
    let output = Command::new(ptxas)
        .args(["--verbose", "--gpu-name", arch, "--output-file", "/dev/null"])
        .arg(ptx)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("warning"), "{said}");
    Some(said)
}

#[test]
fn each_option_has_its_directive() {
    let builder = with("").arch(NvvmArch::Compute75);
    let path = builder.clone().build().unwrap_or_else(|error| panic!("{error}"));
    let ptx = std::fs::read_to_string(&path).unwrap();
    assert_eq!(directives(&ptx, "plain"), [""; 0]);
    assert_eq!(directives(&ptx, "threads"), [".maxntid 256"]);
    assert_eq!(directives(&ptx, "square"), [".maxntid 16, 16", ".minnctapersm 4"]);
    assert_eq!(directives(&ptx, "cube"), [".maxntid 8, 4, 2", ".maxnreg 64"]);
    assert_eq!(directives(&ptx, "under_another_name"), [".maxnreg 40"]);
    for absent in ["__cuda_std_kernel", "absent", "pragma", "cluster"] {
        assert!(!ptx.contains(absent), "{absent} in\n{ptx}");
    }
    // What asks for no pragma keeps the version that old drivers read.
    assert!(ptx.contains(".version 7.8\n"), "{ptx}");
    assemble(&path, "sm_75");
}

/// The launch that the simulator accepts must be one that LLVM has provided for.
#[test]
fn the_optimiser_takes_only_the_product_for_granted() {
    let ptx = ptx_of(with("").arch(NvvmArch::Compute75));
    let body = body(&ptx, "which_extents");
    for (number, stays) in [("1111", true), ("2222", true), ("3333", true), ("4444", false)] {
        assert_eq!(body.contains(number), stays, "{number} in\n{body}");
    }
}

#[test]
fn clusters_arrive_from_hopper_on() {
    let path = with("cluster")
        .arch(NvvmArch::Compute90)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let ptx = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        directives(&ptx, "pairs"),
        [".explicitcluster", ".reqnctapercluster 2, 1, 1"]
    );
    assert!(ptx.contains(".version 8.0\n"), "{ptx}");
    assemble(&path, "sm_90");

    let error = with("cluster").arch(NvvmArch::Compute80).build().unwrap_err();
    assert!(
        matches!(&error, CudaBuilderError::ClusterUnsupported { kernel, .. } if kernel == "pairs"),
        "{error}"
    );
}

#[test]
fn spilling_differs_from_its_twin_by_one_line() {
    let path = with("spilling")
        .arch(NvvmArch::Compute75)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let ptx = std::fs::read_to_string(&path).unwrap();
    assert!(ptx.contains(".version 8.7\n.target sm_75\n"), "{ptx}");
    assert_eq!(ptx.matches(PRAGMA).count(), 1);
    let [local, shared] = ["spills_to_local", "spills_to_shared"].map(|kernel| {
        let body = body(&ptx, kernel).replace(kernel, "k");
        // Labels are numbered by the kernel's place in the module.
        let plain = |line| {
            without_comment(line)
                .split("$L__BB")
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        body.lines().map(plain).collect::<Vec<_>>()
    });
    let pragma = shared.iter().position(|line| line == PRAGMA).expect("the pragma");
    assert_eq!(shared[pragma - 1], "{", "the first statement of the body");
    let mut without = shared.clone();
    without.remove(pragma);
    assert_eq!(without, local);

    if let Some(said) = assemble(&path, "sm_75") {
        let of = |kernel: &str| {
            said.split(&format!("'{kernel}'"))
                .nth(1)
                .expect("the kernel")
                .to_owned()
        };
        assert!(of("spills_to_shared").contains("16384 bytes smem"), "{said}");
        let first = of("spills_to_local");
        let first = first.split("Compiling entry").next().unwrap();
        assert!(
            !first.contains("bytes smem") && !first.contains(" 0 bytes spill stores"),
            "{said}"
        );
    }
}

#[test]
fn without_max_threads_it_must_be_said() {
    let ptx = ptx_of(with("assumed").arch(NvvmArch::Compute90));
    assert!(body(&ptx, "assumes").contains(PRAGMA), "{ptx}");
    assert_eq!(directives(&ptx, "assumes"), [".maxnreg 32"]);

    let error = with("unbounded").arch(NvvmArch::Compute90).build().unwrap_err();
    assert_refused(
        &error,
        "unbounded",
        &["40320 bytes", "registers for", "max_threads = ..", "assume_max_threads"],
    );
}

#[track_caller]
fn assert_refused(error: &CudaBuilderError, name: &str, parts: &[&str]) {
    let CudaBuilderError::SpillingRefused { kernel, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(kernel, name);
    let message = error.to_string();
    for part in parts
        .iter()
        .chain(&[&*format!("kernel `{name}`"), "smem_spilling", "PTX ISA 12.3"])
    {
        assert!(message.contains(part), "no `{part}` in: {message}");
    }
}

/// What `features` bring is refused with these words.
#[track_caller]
fn refused(features: &str, kernel: &str, parts: &[&str]) {
    let error = with(features).arch(NvvmArch::Compute90a).build().unwrap_err();
    assert_refused(&error, kernel, parts);
}

#[test]
fn what_the_isa_disallows_is_refused() {
    refused(
        "dynamic",
        "dynamic",
        &["kernels utilizing dynamically allocated shared memory"],
    );
    refused(
        "dynamic_behind_a_call",
        "dynamic_behind_a_call",
        &["dynamically allocated shared memory"],
    );
    refused(
        "setmaxnreg",
        "hands_registers_over",
        &["kernels using setmaxnreg instruction"],
    );
    refused(
        "calls",
        "calls",
        &["per-function compilation mode", "collatz", "#[inline(always)]"],
    );
    refused(
        "recursion",
        "recursion",
        &["recursive function calls", "ackermann", "a loop"],
    );
}

#[test]
fn what_the_build_excludes_is_refused() {
    for (builder, part) in [
        (with("spilling").arch(NvvmArch::Compute70), "sm_75 or higher"),
        (
            with("spilling").arch(NvvmArch::Compute80).ptx_version(8, 6),
            "asks for 8.6",
        ),
        (
            with("spilling").arch(NvvmArch::Compute80).release(false),
            "device-debug",
        ),
    ] {
        assert_refused(&builder.build().unwrap_err(), "spills_to_shared", &[part]);
    }
    // A debug build of kernels that do not ask for it is one.
    with("")
        .arch(NvvmArch::Compute80)
        .release(false)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
}

/// What rustc says of the fixture with this feature: it goes to the terminal, so another process must build.
fn rustc_says(feature: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build_in_child", "--ignored", "--nocapture"])
        .env("CHILD_FEATURE", feature)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn build_in_child() {
    let feature = std::env::var("CHILD_FEATURE").unwrap_or_default();
    match with(&feature).arch(NvvmArch::Compute90).build() {
        Ok(path) => println!("built {}", path.display()),
        Err(error) => eprintln!("{error}"),
    }
}

#[test]
fn numbers_out_of_range_do_not_compile() {
    for (feature, parts) in [
        (
            "literal_out_of_range",
            &[
                "`max_registers` is 24 to 255",
                "`cluster` is 1 to 8",
                "src/lib.rs:",
                "max_registers = 300",
            ][..],
        ),
        // The macro cannot compute these: the compiler does, and says the same.
        (
            "constant_out_of_range",
            &["error[E0080]", "`max_threads` is 1 to 1024", "5 * TILE"],
        ),
        (
            "constant_of_another_type",
            &["error[E0308]", "expected `u32`, found `usize`"],
        ),
    ] {
        let said = rustc_says(feature);
        for part in parts.iter().chain(&["does not compile"]) {
            assert!(said.contains(part), "{feature}: no `{part}` in\n{said}");
        }
    }
}

#[test]
fn full_debug_information_excludes_it_too() {
    let debug = [
        "--config",
        "profile.release.package.'fixture_attributes@0.1.0'.debug='full'",
    ];
    let error = with("spilling")
        .arch(NvvmArch::Compute80)
        .build_args(&debug)
        .build()
        .unwrap_err();
    match error {
        CudaBuilderError::SpillingRefused { rule, .. } => assert_eq!(rule, SpillingRule::DebugBuild),
        other => panic!("{other}"),
    }
}
