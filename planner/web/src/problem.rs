//! What is wrong with a request, where on the page, and the request that is not.

use alloc::format;
use alloc::string::{String, ToString};

use serde::Serialize;
use tilewright_plan::rules::{self, Violation};
use tilewright_plan::{Epilogue, EpilogueTile, Refusal, Request, TileShape, Value};

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
    let mut legal = request.clone();
    let field = match violation.nearest {
        Some(Value::Number(nearest)) => set_number(&mut legal, violation.what, nearest),
        Some(Value::Name(nearest)) => set_name(&mut legal, violation.rule.name, nearest),
        Some(Value::Pair(m, n)) => {
            legal.cluster = Some((m, n));
            Some("cluster.m")
        }
        None => field(violation.what).map(|(_, name, _)| *name),
    };
    let offered = legal != *request;
    Problem {
        what: format!("{} {}", violation.what, violation.got),
        says: violation.rule.says.into(),
        source: Some(violation.rule.source),
        field,
        nearest: violation.nearest.map(|nearest| nearest.to_string()).filter(|_| offered),
        request: offered.then_some(legal),
    }
}

fn field(what: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|(known, ..)| *known == what)
}

fn set_number(request: &mut Request, what: &str, nearest: u64) -> Option<&'static str> {
    let (_, name, set) = field(what)?;
    if let Ok(nearest) = u32::try_from(nearest) {
        set(request, nearest);
    }
    Some(name)
}

/// Names that rules offer: of a path, of a place for the sums, of a type.
fn set_name(request: &mut Request, rule: &str, nearest: &str) -> Option<&'static str> {
    if rule == rules::ACCUMULATOR.name {
        request.accumulator = nearest.parse().ok().or(request.accumulator);
        return Some("accumulator");
    }
    if let Ok(path) = nearest.parse() {
        request.path = Some(path);
        return Some("path");
    }
    if let Ok(dtype) = nearest.parse() {
        request.dtype = dtype;
    }
    Some("dtype")
}
