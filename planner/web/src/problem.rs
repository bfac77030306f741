//! What is wrong with a request, where on the page, and the request that is not.

use alloc::format;
use alloc::string::{String, ToString};
use core::iter;

use serde::Serialize;
use tilewright_plan::rules::{self, Violation};
use tilewright_plan::{Epilogue, EpilogueTile, Path, Refusal, Request, TileShape, Value, report};

use crate::requests;

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

/// What rules call a number, the field of the page that it is in, and how a value gets into a request.
type Field = (&'static str, &'static str, fn(&mut Request, u32));

/// Every number that a rule speaks of and that is a field.
static FIELDS: [Field; 20] = [
    ("m", "m", |request, value| request.m = Some(value.into())),
    ("n", "n", |request, value| request.n = Some(value.into())),
    ("k", "k", |request, value| request.k = Some(value.into())),
    ("tile m", "tile.m", |request, value| {
        set_tile(request, |tile| tile.m = value)
    }),
    ("tile n", "tile.n", |request, value| {
        set_tile(request, |tile| tile.n = value)
    }),
    ("tile k", "tile.k", |request, value| {
        set_tile(request, |tile| tile.k = value)
    }),
    ("stages", "stages", |request, value| request.stages = Some(value)),
    ("warps", "warps", |request, value| request.warps = Some(value)),
    ("producer warps", "producer_warps", |request, value| {
        request.producer_warps = Some(value)
    }),
    ("accumulator buffers", "accumulator_buffers", |request, value| {
        request.accumulator_buffers = Some(value)
    }),
    ("output bytes", "output_bytes", |request, value| {
        request.output_bytes = Some(value)
    }),
    ("split k", "split_k", |request, value| request.split_k = Some(value)),
    ("scratch bytes per warp", "scratch_per_warp_bytes", |request, value| {
        request.scratch_per_warp_bytes = Some(value)
    }),
    ("static bytes", "static_bytes", |request, value| {
        request.static_bytes = Some(value)
    }),
    ("margin of bytes", "margin_bytes", |request, value| {
        request.margin_bytes = value.into()
    }),
    ("epilogue m", "epilogue.m", |request, value| {
        set_epilogue(request, |tile| tile.m = value)
    }),
    ("epilogue n", "epilogue.n", |request, value| {
        set_epilogue(request, |tile| tile.n = value)
    }),
    ("epilogue buffers", "epilogue.buffers", |request, value| {
        set_epilogue(request, |tile| tile.buffers = value)
    }),
    // Threads are not chosen by themselves: the warps that multiply give way.
    ("threads", "warps", |request, value| {
        let copying = request.producer_warps.unwrap_or(4).min(value / 32 - 1);
        request.producer_warps = request.producer_warps.map(|_| copying);
        request.warps = Some(value / 32 - copying);
    }),
    ("registers per thread", "registers_per_thread", |request, value| {
        request.registers_per_thread = request.registers_per_thread.map(|_| value);
    }),
];

fn set_tile(request: &mut Request, set: impl Fn(&mut TileShape)) {
    if let Some(tile) = &mut request.tile {
        set(tile);
    }
}

fn set_epilogue(request: &mut Request, set: impl Fn(&mut EpilogueTile)) {
    if let Some(Epilogue::Own(tile) | Epilogue::Reuse(tile)) = &mut request.epilogue {
        set(tile);
    }
}

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
        Refusal::UnknownProduct(_) => plain("product", Some("product")),
        Refusal::Incomplete(_) => plain("more is needed", None),
        _ => plain("nothing fits", None),
    }
}

fn of_rule(request: &Request, violation: &Violation) -> Problem {
    let legal = legal_near(request, violation);
    Problem {
        what: format!("{} {}", violation.what, violation.got),
        says: violation.rule.says.into(),
        source: Some(violation.rule.source),
        field: field_of(violation),
        nearest: legal.as_ref().map(|legal| requests::difference(request, legal)),
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
        _ => field(violation.what).map(|(_, name, _)| *name),
    }
}

/// The legal request that is nearest.
fn legal_near(request: &Request, violation: &Violation) -> Option<Request> {
    let usual_warps = Request {
        warps: None,
        producer_warps: None,
        ..request.clone()
    };
    // Two rules can send each other back and forth. What is usual keeps all of them.
    let usual = [usual_warps, requests::as_usual(request)];
    follow(request, violation).or_else(|| usual.into_iter().find(|usual| report(usual).is_ok()))
}

/// The request with the nearest value that keeps the rule, and where another rule forbids that, with what that one says.
fn follow(request: &Request, violation: &Violation) -> Option<Request> {
    const MOST_RULES: usize = 12;
    let mut at = request.clone();
    let mut broken = *violation;
    for _ in 0..MOST_RULES {
        at = with_nearest(&at, &broken).or_else(|| with_less(&at))?;
        match report(&at) {
            Ok(_) => return Some(at),
            Err(Refusal::Violation(next)) => broken = next,
            Err(_) => return None,
        }
    }
    None
}

/// The request with the value that a rule offers; `None` where it offers none, or none that is a field.
fn with_nearest(request: &Request, violation: &Violation) -> Option<Request> {
    let mut legal = request.clone();
    match violation.nearest? {
        Value::Number(nearest) => {
            let (.., set) = field(violation.what)?;
            set(&mut legal, u32::try_from(nearest).ok()?);
        }
        Value::Name(nearest) if violation.rule == &rules::ACCUMULATOR => legal.accumulator = nearest.parse().ok(),
        Value::Name(nearest) => match nearest.parse() {
            Ok(path) => legal.path = Some(path),
            Err(_) => legal.dtype = nearest.parse().ok()?,
        },
        Value::Pair(m, n) => legal.cluster = Some((m, n)),
    }
    (legal != *request).then_some(legal)
}

/// The nearest legal request where registers or tensor memory do not suffice: with one accumulator, else with more warps, else
/// with half the tile's longer side, as often as is needed.
fn with_less(request: &Request) -> Option<Request> {
    let tile = request.tile?;
    let one_accumulator = Request {
        accumulator_buffers: Some(1),
        ..request.clone()
    };
    let more_warps = (request.warps.unwrap_or(0) + 1..=32).map(|warps| Request {
        warps: Some(warps),
        ..request.clone()
    });
    let halves = iter::successors(Some(tile), |TileShape { m, n, k }| match (*m, *n) {
        (0..=8, 0..=8) => None,
        (m, n) if m > n => Some(TileShape::new(m / 2, n, *k)),
        (m, n) => Some(TileShape::new(m, n / 2, *k)),
    });
    let smaller = halves.skip(1).map(|tile| Request {
        tile: Some(tile),
        ..request.clone()
    });
    iter::once(one_accumulator)
        .chain(more_warps)
        .chain(smaller)
        .find(|candidate| report(candidate).is_ok())
}

fn field(what: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|(known, ..)| *known == what)
}
