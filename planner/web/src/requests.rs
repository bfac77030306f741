//! Requests and the templates that they come to.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use tilewright_plan::{Request, Template, Worksheet, report};

/// The request that asks for this template and leaves nothing open; `base` has what a template does not.
pub fn of_template(template: &Template, base: &Request) -> Request {
    Request {
        dtype: template.ty,
        tile: Some(template.tile),
        stages: Some(template.stages),
        path: Some(template.path),
        accumulator: Some(template.accumulator),
        accumulator_buffers: Some(template.accumulator_buffers),
        epilogue: Some(template.epilogue),
        warps: Some(template.warps),
        producer_warps: Some(template.producer_warps),
        frontend: Some(template.frontend),
        widening: Some(template.widening),
        output_bytes: Some(template.output_bytes),
        static_bytes: Some(template.static_bytes),
        scratch_per_warp_bytes: Some(template.scratch_per_warp_bytes),
        split_k: Some(template.split_k),
        cluster: Some(template.cluster),
        registers_per_thread: template.registers_per_thread,
        ..base.clone()
    }
}

/// The request that asks for what moves led to, with as much left open as `request` leaves.
pub fn after_moves(request: &Request, before: &Worksheet, after: &Worksheet) -> Request {
    let (from, to) = (
        of_template(&before.template, request),
        of_template(&after.template, request),
    );
    /// What moved, or what was asked for.
    fn moved<T: PartialEq>(from: Option<T>, to: Option<T>, asked: Option<T>) -> Option<T> {
        if from == to { asked } else { to }
    }
    let sparse = Request {
        tile: to.tile,
        stages: to.stages,
        accumulator: moved(from.accumulator, to.accumulator, request.accumulator),
        epilogue: moved(from.epilogue, to.epilogue, request.epilogue),
        widening: moved(from.widening, to.widening, request.widening),
        split_k: moved(from.split_k, to.split_k, request.split_k),
        warps: moved(from.warps, to.warps, request.warps),
        producer_warps: moved(from.producer_warps, to.producer_warps, request.producer_warps),
        ..request.clone()
    };
    // What is usual for one tile may not be for another.
    let same = report(&sparse).is_ok_and(|report| report.worksheet.template == after.template);
    if same { sparse } else { to }
}

/// The request with everything left open that may be illegal on another architecture.
pub fn as_usual(request: &Request) -> Request {
    Request {
        path: None,
        accumulator: None,
        accumulator_buffers: None,
        warps: None,
        producer_warps: None,
        cluster: None,
        registers_per_thread: None,
        ..request.clone()
    }
}

/// The arguments of `tilewright plan` that ask for a request; those without a value are left out.
fn arguments(request: &Request) -> [(&'static str, Option<String>); 23] {
    let text = |value: Option<u64>| value.map(|value| value.to_string());
    let bytes = |value: Option<u32>| value.map(|value| value.to_string());
    [
        ("-m", text(request.m)),
        ("-n", text(request.n)),
        ("-k", text(request.k)),
        ("--arch", Some(request.arch.clone())),
        ("--product", request.product.as_ref().map(|name| format!("\"{name}\""))),
        ("--dtype", Some(request.dtype.to_string())),
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
        (
            "--widening",
            request.widening.map(|when| crate::choices::widening(when).to_string()),
        ),
        ("--output-bytes", bytes(request.output_bytes)),
        ("--static-bytes", bytes(request.static_bytes)),
        ("--scratch-per-warp", bytes(request.scratch_per_warp_bytes)),
        ("--split-k", bytes(request.split_k)),
        ("--cluster", request.cluster.map(|(m, n)| format!("{m}x{n}"))),
        ("--registers", bytes(request.registers_per_thread)),
        (
            "--margin",
            text(Some(request.margin_bytes).filter(|margin| *margin > 0)),
        ),
    ]
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

/// What `after` has that `before` has not: `tile 128x128x64, warps 8`.
pub fn difference(before: &Request, after: &Request) -> String {
    let changed: Vec<String> = arguments(before)
        .into_iter()
        .zip(arguments(after))
        .filter(|(before, after)| before != after)
        .map(|(_, (flag, value))| {
            let value = value.as_deref().unwrap_or("as usual");
            format!("{} {value}", flag.trim_start_matches('-'))
        })
        .collect();
    changed.join(", ")
}
