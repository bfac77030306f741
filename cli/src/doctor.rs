//! `tilewright doctor`: what of this machine the program can use, and how to get the rest.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use clap::Args;
use serde::Serialize;
use tilewright::device::{self, DeviceProfile};
use tilewright::launch::Gpu;
use tilewright::{Backend, Error, Gemm, GemmShape, Options, Verify, gemm, ptx, random};
use tilewright_harness::inspect::{Nvdisasm, Ptxas};

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::{output, version};

/// Check driver, devices, tools and toolchain, and say what is missing and how to get it
///
/// Nothing is needed beside the program itself: without a GPU the CPU computes. What is there and does not work ends
/// with exit code 1.
#[derive(Args)]
pub struct Command {}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// It is there and works.
    Ok,
    /// It is not there; what needs it says so.
    Missing,
    /// It is there and does not work.
    Broken,
}

/// One thing that was looked for.
#[derive(Debug, Serialize)]
struct Finding {
    what: String,
    state: State,
    /// What was found, or why not.
    detail: String,
    /// What needs it.
    needed_for: &'static str,
    /// What to do about it; null where nothing is to be done.
    mend: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    commit: &'static str,
    findings: Vec<Finding>,
}

/// Runs the command.
pub fn run(_: &Command, json: bool) -> Result<()> {
    let mut findings = vec![kernels()];
    findings.extend(devices());
    findings.extend([ptxas(), nvdisasm(), toolchain()]);
    let report = Report {
        version: version::NUMBER,
        commit: version::COMMIT,
        findings,
    };
    if json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(&report))?;
    }
    let broken = report.findings.iter().filter(|finding| finding.state == State::Broken);
    let broken: Vec<_> = broken.map(|finding| finding.what.as_str()).collect();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Environment, format!("does not work: {}", broken.join(", "))).reported())
}

fn describe(report: &Report) -> String {
    let mut table = output::table();
    for finding in &report.findings {
        let state = match finding.state {
            State::Ok => "ok",
            State::Missing => "missing",
            State::Broken => "BROKEN",
        };
        table.add_row([&finding.what, state, &finding.detail]);
    }
    let mut text = format!("tilewright {}\n\n{}", *version::SHORT, output::render(table));
    let to_mend = report
        .findings
        .iter()
        .filter_map(|finding| Some((finding, finding.mend.as_ref()?)));
    for (finding, mend) in to_mend {
        text.push_str(&format!(
            "\n{}, needed {}:\n  {mend}\n",
            finding.what, finding.needed_for
        ));
    }
    text
}

/// The kernels in this program.
fn kernels() -> Finding {
    let (state, detail, mend) = match ptx::ensure_embedded() {
        Ok(()) => {
            let levels: Vec<_> = ptx::levels().iter().map(|level| level.arch).collect();
            let (count, digest) = version::kernels();
            (
                State::Ok,
                format!("{count}, PTX for {}; digest {digest}", levels.join(", ")),
                None,
            )
        }
        Err(_) => (
            State::Missing,
            "built without their PTX".to_owned(),
            Some("build again without the variable TILEWRIGHT_WITHOUT_PTX".to_owned()),
        ),
    };
    Finding {
        what: "kernels".to_owned(),
        state,
        detail,
        needed_for: "to compute on a GPU, and by `ptx` and `inspect`",
        mend,
    }
}

/// The driver and each device.
fn devices() -> Vec<Finding> {
    let needed_for = "to compute on a GPU; without one the CPU computes";
    let mut findings = Vec::new();
    for ordinal in 0.. {
        match device::query(ordinal) {
            Ok(profile) => findings.push(of_device(ordinal, &profile)),
            Err(_) if ordinal > 0 => break,
            Err(error) => {
                let is_missing = matches!(error, Error::Unavailable(_));
                findings.push(Finding {
                    what: "NVIDIA driver".to_owned(),
                    state: if is_missing { State::Missing } else { State::Broken },
                    detail: error.to_string(),
                    needed_for,
                    mend: Some(match is_missing {
                        true => "install NVIDIA's driver for your GPU (https://www.nvidia.com/drivers); in a \
                                 container, start it with the GPU, such as `docker run --gpus all`"
                            .to_owned(),
                        false => "`nvidia-smi` says more; the driver may have to be loaded again".to_owned(),
                    }),
                });
                break;
            }
        }
    }
    findings
}

/// A device, by a small product that is checked in full.
fn of_device(ordinal: u32, profile: &DeviceProfile) -> Finding {
    let driver = profile.installed.as_ref().map_or("", |installed| &installed.driver);
    let of_device = format!(
        "{}, compute capability {}, driver for CUDA {driver}",
        profile.name,
        profile.compute_capability_name()
    );
    let finding = |state, detail, mend| Finding {
        what: format!("device {ordinal}"),
        state,
        detail,
        needed_for: "to compute on it",
        mend,
    };
    let opened = match Gpu::open(ordinal) {
        Ok(gpu) => gpu,
        Err(Error::Unavailable(reason)) => return finding(State::Missing, format!("{of_device}: {reason}"), None),
        Err(error) => return finding(State::Broken, format!("{of_device}: {error}"), None),
    };
    let level = opened.level().arch;
    drop(opened);
    match product_on(ordinal) {
        Ok(()) => {
            let differs = profile.disagreements().is_some_and(|found| !found.is_empty());
            let note = if differs {
                "; `tilewright device` shows limits that differ from the table"
            } else {
                ""
            };
            finding(State::Ok, format!("{of_device}, PTX {level}{note}"), None)
        }
        Err(error) => finding(
            State::Broken,
            format!("{of_device}: {error}"),
            Some("`tilewright verify` runs every kernel; `nvidia-smi -q` shows the state of the device".to_owned()),
        ),
    }
}

fn product_on(ordinal: u32) -> tilewright::Result<()> {
    let shape = GemmShape::packed(100, 70, 90)?;
    let operand = |seed, len| random::random_matrix::<f32>(seed, len);
    let (a, b) = (operand(1, 100 * 90), operand(2, 90 * 70));
    let options = Options {
        backend: Backend::Gpu,
        device: ordinal,
        verify: Verify::Full,
        ..Options::default()
    };
    gemm(&Gemm::new(shape), &a, &b, &mut vec![0.0; 100 * 70], &options).map(drop)
}

fn tool(what: &str, found: tilewright::Result<(PathBuf, Option<String>)>, needed_for: &'static str) -> Finding {
    let (state, detail, mend) = match found {
        Ok((path, version)) => {
            let version = version.map_or_else(String::new, |version| format!("{version}, "));
            (State::Ok, format!("{version}{}", path.display()), None)
        }
        Err(Error::Unavailable(reason)) => (
            State::Missing,
            reason,
            Some("in a clone of the repository: `cargo xtask setup`; or install the CUDA toolkit".to_owned()),
        ),
        Err(error) => (State::Broken, error.to_string(), None),
    };
    Finding {
        what: what.to_owned(),
        state,
        detail,
        needed_for,
        mend,
    }
}

fn ptxas() -> Finding {
    let found = Ptxas::find().and_then(|ptxas| Ok((ptxas.path().to_owned(), Some(ptxas.version()?))));
    tool("ptxas", found, "by `inspect`")
}

fn nvdisasm() -> Finding {
    let found = Nvdisasm::find().map(|nvdisasm| (nvdisasm.path().to_owned(), None));
    tool("nvdisasm", found, "by `inspect --sass`")
}

/// The channel that the kernels are built with.
fn channel() -> &'static str {
    let line = include_str!("../../rust-toolchain.toml")
        .lines()
        .find(|line| line.starts_with("channel"));
    line.and_then(|line| line.split('"').nth(1)).unwrap_or("stable")
}

/// The toolchain that builds kernels: of that version, with the components that a device build needs.
fn toolchain() -> Finding {
    let channel = channel();
    let finding = |state, detail, mend| Finding {
        what: "Rust toolchain".to_owned(),
        state,
        detail,
        needed_for: "to build kernels",
        mend,
    };
    let mend = format!("rustup toolchain install {channel} --profile minimal --component rust-src,llvm-tools");
    let Some(sysroot) = sysroot(channel) else {
        return finding(State::Missing, format!("no rustc {channel}"), Some(mend));
    };
    let missing: Vec<_> = [
        ("rust-src", sysroot.join("lib/rustlib/src/rust/library/core")),
        ("llvm-tools", llvm_tools(&sysroot)),
    ]
    .into_iter()
    .filter(|(_, place)| !place.exists())
    .map(|(component, _)| component)
    .collect();
    match missing[..] {
        [] => finding(State::Ok, format!("rustc {channel}, {}", sysroot.display()), None),
        _ => finding(
            State::Missing,
            format!("rustc {channel} without {}", missing.join(" and ")),
            Some(mend),
        ),
    }
}

/// Where `llc` is, a tool that device builds call.
fn llvm_tools(sysroot: &Path) -> PathBuf {
    let hosts = std::fs::read_dir(sysroot.join("lib/rustlib"))
        .into_iter()
        .flatten()
        .flatten();
    let places = hosts.map(|host| host.path().join("bin/llc"));
    let found = places.into_iter().find(|place| place.exists());
    found.unwrap_or_else(|| sysroot.join("lib/rustlib/llc"))
}

/// The folder of a toolchain: rustup's, or that of the `rustc` of this version in `PATH`.
fn sysroot(channel: &str) -> Option<PathBuf> {
    let ask = |rustc: &mut process::Command| {
        let output = rustc
            .stderr(Stdio::null())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Not installed by asking for it.
    let of_rustup = ask(process::Command::new("rustup").args(["run", channel, "rustc", "--print", "sysroot"]));
    let rustc = || env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let of_path = || {
        let version = ask(process::Command::new(rustc()).arg("--version"))?;
        let is_this = version.split(' ').nth(1) == Some(channel);
        if is_this {
            ask(process::Command::new(rustc()).args(["--print", "sysroot"]))
        } else {
            None
        }
    };
    of_rustup.or_else(of_path).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(state: State, mend: Option<&str>) -> Finding {
        Finding {
            what: "ptxas".to_owned(),
            state,
            detail: "of a test".to_owned(),
            needed_for: "by `inspect`",
            mend: mend.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_missing_comes_with_what_mends_it() {
        let report = |finding| Report {
            version: "1",
            commit: "c",
            findings: vec![finding],
        };
        let text = describe(&report(finding(State::Missing, Some("fetch it"))));
        assert!(text.contains("ptxas  missing  of a test"), "{text}");
        assert!(text.ends_with("\nptxas, needed by `inspect`:\n  fetch it\n"), "{text}");
        let text = describe(&report(finding(State::Ok, None)));
        assert!(text.contains("ptxas  ok") && !text.contains("needed"), "{text}");
    }

    #[test]
    fn the_channel_is_that_of_the_tree() {
        let version = channel()
            .split('.')
            .map(str::parse::<u32>)
            .collect::<std::result::Result<Vec<_>, _>>();
        assert_eq!(version.expect("numbers").len(), 3);
    }
}
