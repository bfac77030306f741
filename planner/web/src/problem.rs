//! What is wrong with a request, where on the page, and the request that is not.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;
use tilewright_plan::rules::{self, Violation};
use tilewright_plan::{Path, Refusal, Request, Value, difference, nearest};

#[cfg(test)]
mod tests;

/// Why a request is refused.
#[derive(Serialize)]
pub struct Problem {
    /// What of it: `tile m 100`.
    what: String,
    /// What is demanded.
    says: String,
    /// Who says so.
    source: Option<&'static str>,
    /// The field of the page that it is about.
    field: Option<&'static str>,
    /// The nearest value that keeps the rule.
    nearest: Option<String>,
    /// The request with that value.
    request: Option<Request>,
}

impl Problem {
    /// A question that is no JSON, or not of the form that is asked for.
    pub fn unreadable(error: &str) -> Self {
        Self {
            what: "the question".into(),
            says: error.into(),
            source: None,
            field: None,
            nearest: None,
            request: None,
        }
    }
}

/// What rules call a number, and the field of the page that it is in.
static FIELDS: [(&str, &str); 21] = [
    ("m", "m"),
    ("n", "n"),
    ("k", "k"),
    ("tile m", "tile.m"),
    ("tile n", "tile.n"),
    ("tile k", "tile.k"),
    ("stages", "stages"),
    ("warps", "warps"),
    ("producer warps", "producer_warps"),
    ("accumulator buffers", "accumulator_buffers"),
    ("output bytes", "output_bytes"),
    ("split k", "split_k"),
    ("scratch bytes per warp", "scratch_per_warp_bytes"),
    ("static bytes", "static_bytes"),
    ("groups", "groups"),
    ("margin of bytes", "margin_bytes"),
    ("epilogue m", "epilogue.m"),
    ("epilogue n", "epilogue.n"),
    ("epilogue buffers", "epilogue.buffers"),
    // Threads are not chosen by themselves: the math warps give way.
    ("threads", "warps"),
    ("registers per thread", "registers_per_thread"),
];

/// What is wrong with `request`, which was refused.
pub fn problem(request: &Request, refusal: &Refusal) -> Problem {
    let plain = |what: &str, field: Option<&'static str>| Problem {
        what: what.into(),
        says: refusal.to_string(),
        source: None,
        field,
        nearest: None,
        request: None,
    };
    match refusal {
        Refusal::Violation(violation) => of_rule(request, violation),
        Refusal::UnknownArchitecture(_) => plain("architecture", Some("arch")),
        Refusal::UnknownGpu(_) => plain("GPU", Some("product")),
        Refusal::Buffer { .. } => plain("buffers", Some("buffers")),
        Refusal::Kernel(_) => plain("the kernel", None),
        Refusal::Incomplete(_) => plain("more is needed", None),
        _ => plain("nothing fits", None),
    }
}

fn of_rule(request: &Request, violation: &Violation) -> Problem {
    let legal = nearest(request, violation);
    Problem {
        what: format!("{} {}", violation.what, violation.got),
        says: violation.rule.says.into(),
        source: Some(violation.rule.source),
        field: field_of(violation),
        nearest: legal.as_ref().map(|legal| said(request, legal)),
        request: legal,
    }
}

/// The field that a violation is about. What follows from several is shown at the first that can give.
fn field_of(violation: &Violation) -> Option<&'static str> {
    match violation.nearest {
        _ if violation.rule == &rules::CLUSTER => Some("cluster.m"),
        _ if violation.rule == &rules::ACCUMULATOR => Some("accumulator"),
        _ if violation.rule == &rules::TENSOR_MEMORY => Some("tile.n"),
        Some(Value::Name(name)) if name.parse::<Path>().is_ok() => Some("path"),
        Some(Value::Name(_)) => Some("dtype"),
        _ if violation.what == "registers per thread" => Some("warps"),
        _ => FIELDS
            .iter()
            .find(|(known, _)| *known == violation.what)
            .map(|(_, name)| *name),
    }
}

/// What another request has that this one has not: `tile 128x128x64, warps 8`.
fn said(request: &Request, other: &Request) -> String {
    let changed = difference(request, other).into_iter().map(|(flag, value)| {
        let value = value.as_deref().unwrap_or("as usual");
        format!("{} {value}", flag.trim_start_matches('-'))
    });
    changed.collect::<Vec<_>>().join(", ")
}
