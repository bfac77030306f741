//! Requests as arguments of `tilewright plan`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::report::Request;

/// The arguments of `tilewright plan` that ask for a request; those without a value are left out.
pub(crate) fn arguments(request: &Request) -> [(&'static str, Option<String>); 29] {
    let text = |value: Option<u64>| value.map(|value| value.to_string());
    let bytes = |value: Option<u32>| value.map(|value| value.to_string());
    [
        ("-m", text(request.m)),
        ("-n", text(request.n)),
        ("-k", text(request.k)),
        ("--arch", Some(request.arch.clone()).filter(|arch| !arch.is_empty())),
        ("--gpu", request.gpu.as_ref().map(|name| format!("\"{name}\""))),
        (
            "--dtype",
            request.buffers.trim().is_empty().then(|| request.dtype.to_string()),
        ),
        ("--tile", request.tile.map(|tile| tile.to_string())),
        ("--stages", bytes(request.stages)),
        ("--path", request.path.map(|path| path.to_string())),
        ("--accumulator", request.accumulator.map(|home| home.to_string())),
        ("--accumulator-buffers", bytes(request.accumulator_buffers)),
        ("--epilogue", request.epilogue.map(|epilogue| epilogue.to_string())),
        ("--warps", bytes(request.warps)),
        ("--producer-warps", bytes(request.producer_warps)),
        (
            "--frontend",
            request.frontend.map(|frontend| frontend.name().to_string()),
        ),
        ("--widening", request.widening.map(|when| when.name().to_string())),
        ("--output-bytes", bytes(request.output_bytes)),
        ("--static-bytes", bytes(request.static_bytes)),
        ("--scratch-per-warp", bytes(request.scratch_per_warp_bytes)),
        ("--split-k", bytes(request.split_k)),
        ("--cluster", request.cluster.map(|(m, n)| format!("{m}x{n}"))),
        ("--registers", bytes(request.registers_per_thread)),
        (
            "--template",
            request.template.map(|template| template.name().to_string()),
        ),
        ("--buffer", named_buffers(&request.buffers)),
        ("--threads", bytes(request.threads)),
        ("--queries", request.queries.map(|home| home.to_string())),
        ("--passes", bytes(request.passes)),
        ("--groups", bytes(request.groups)),
        (
            "--margin",
            text(Some(request.margin_bytes).filter(|margin| *margin > 0)),
        ),
    ]
}

/// The lines of buffers as values of one option, which is written before each; `None` where there are none.
fn named_buffers(text: &str) -> Option<String> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(" --buffer "))
}

/// The command that answers this request.
pub fn command(request: &Request) -> String {
    let mut command = String::from("tilewright plan");
    for (flag, value) in arguments(request) {
        if let Some(value) = value {
            command.push_str(&format!(" {flag} {value}"));
        }
    }
    command
}

/// The arguments in which `after` differs from `before`: the flag, and its value where there is one.
pub fn difference(before: &Request, after: &Request) -> Vec<(&'static str, Option<String>)> {
    let pairs = arguments(before).into_iter().zip(arguments(after));
    pairs
        .filter(|(before, after)| before != after)
        .map(|(_, after)| after)
        .collect()
}
