//! Each way to fail says what to do.

mod common;

use std::process::Command;

use common::builder;
use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};

/// This test binary again, to run [`build_in_child`] alone.
fn child(feature: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "build_in_child", "--ignored", "--nocapture"])
        .env("CHILD_FEATURE", feature);
    command
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn build_in_child() {
    let feature = std::env::var("CHILD_FEATURE").unwrap_or_default();
    match builder("kernels")
        .arch(NvvmArch::Compute80)
        .build_args(&["--features", &feature])
        .build()
    {
        Ok(path) => println!("built {}", path.display()),
        Err(error) => eprintln!("{error}"),
    }
}

#[track_caller]
fn fails(feature: &str) -> CudaBuilderError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, "what was there before").unwrap();
    let builder = builder("kernels")
        .arch(NvvmArch::Compute80)
        .build_args(&["--features", feature]);
    let error = builder.copy_to(&path).build().unwrap_err();
    // Half a result is worse than none.
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "what was there before");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file stays"
    );
    error
}

#[test]
fn shared_static_with_a_value_is_named() {
    let error = fails("initialized_shared");
    match &error {
        CudaBuilderError::SharedInitializer { statics } => assert_eq!(statics, &["fixture_kernels::INITIALIZED"]),
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains("MaybeUninit::uninit()"), "{error}");
}

#[test]
fn too_much_static_shared_memory_is_counted() {
    let error = fails("large_shared");
    match &error {
        CudaBuilderError::StaticSharedTooLarge {
            kernel,
            bytes,
            limit,
            statics,
        } => {
            assert_eq!((kernel.as_str(), *bytes, *limit), ("large", 50_000, 49_152));
            assert_eq!(statics, &[("fixture_kernels::LARGE".to_owned(), 50_000)]);
        }
        other => panic!("{other:?}"),
    }
    assert!(
        error.to_string().contains("`large`") && error.to_string().contains("dynamic"),
        "{error}"
    );
}

#[test]
fn crate_without_kernels_is_told_so() {
    assert!(matches!(fails("no_kernels"), CudaBuilderError::NoKernels(_)));
}

#[test]
fn compile_error_is_rustcs_own() {
    assert!(matches!(fails("type_error"), CudaBuilderError::BuildFailed));
    // The message goes to the terminal, not into the error: look at it from another process.
    let output = child("type_error").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    for part in [
        "error[E0308]: mismatched types",
        "src/lib.rs:",
        "a message of rustc's own",
        "does not compile",
    ] {
        assert!(stderr.contains(part), "no `{part}` in\n{stderr}");
    }
}

#[test]
#[cfg(unix)]
fn missing_components_give_the_command() {
    // A compiler without sources and tools, in place of the one in use.
    let folder = tempfile::tempdir().unwrap();
    let sysroot = folder.path().join("toolchains/9.9.9-host");
    std::fs::create_dir_all(&sysroot).unwrap();
    let rustc = folder.path().join("rustc");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n\
         -vV) printf 'rustc 9.9.9\\nhost: host\\nrelease: 9.9.9\\nLLVM version: 22.0.0\\n' ;;\n\
         *) echo '{}' ;;\nesac\n",
        sysroot.display()
    );
    std::fs::write(&rustc, script).unwrap();
    let executable = Command::new("chmod").arg("+x").arg(&rustc).status();
    assert!(executable.unwrap().success());
    let output = child("")
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .env("CUDA_BUILDER_TOOLCHAIN", "rustup")
        .env_remove("RUSTC")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    for part in [
        "the sources of its standard library are missing",
        "rustup component add --toolchain 9.9.9-host rust-src llvm-tools",
    ] {
        assert!(stderr.contains(part), "no `{part}` in\n{stderr}");
    }
}

#[test]
fn architecture_is_checked_by_name() {
    let error = CudaBuilderError::from("sm_99".parse::<NvvmArch>().unwrap_err());
    assert!(
        error
            .to_string()
            .starts_with("unknown architecture `sm_99`; known are 35, "),
        "{error}"
    );
}

#[test]
fn bad_argument_for_cargo_is_an_error() {
    let builder: CudaBuilder = builder("kernels").build_args(&["--no-such-option"]);
    assert!(matches!(builder.build(), Err(CudaBuilderError::BuildFailed)));
}
