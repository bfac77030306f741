//! From a request that is refused to the nearest that is not.

use alloc::vec::Vec;
use core::iter;

use crate::report::{Refusal, Request, report};
use crate::rules::{self, Value, Violation};
use crate::template::{Epilogue, EpilogueTile, TileShape};

/// The legal request that is nearest to `request`, which breaks the rule of `violation`; `None` where none is found.
pub fn nearest(request: &Request, violation: &Violation) -> Option<Request> {
    let usual_warps = Request {
        warps: None,
        producer_warps: None,
        ..request.clone()
    };
    let of_a_tile = Request {
        arch: request.arch.clone(),
        gpu: request.gpu.clone(),
        dtype: request.dtype,
        tile: request.tile,
        m: request.m,
        n: request.n,
        k: request.k,
        template: request.template,
        groups: request.groups,
        explain: request.explain,
        ..Request::default()
    };
    // Two rules can send each other back and forth. Then more and more is left to what is usual, which keeps all of
    // them.
    let usual = [usual_warps, as_usual(request), of_a_tile];
    follow(request, violation).or_else(|| {
        usual.into_iter().find_map(|usual| match report(&usual) {
            Ok(_) => Some(usual),
            Err(Refusal::Violation(violation)) => follow(&usual, &violation),
            Err(_) => None,
        })
    })
}

/// The request with the nearest value that keeps the rule, and where another rule forbids that, with what that one
/// says.
fn follow(request: &Request, violation: &Violation) -> Option<Request> {
    const MOST_RULES: usize = 12;
    let mut at = request.clone();
    let mut broken = *violation;
    for _ in 0..MOST_RULES {
        at = with_nearest(&at, &broken).or_else(|| with_less(&at, &broken))?;
        match report(&at) {
            Ok(_) => return Some(at),
            Err(Refusal::Violation(next)) => broken = next,
            Err(_) => return None,
        }
    }
    None
}

/// The request with the value that a rule offers; `None` where it offers none, or none that can be asked for.
fn with_nearest(request: &Request, violation: &Violation) -> Option<Request> {
    let mut legal = request.clone();
    match violation.nearest? {
        Value::Number(nearest) => {
            let (_, set) = field(violation.what)?;
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

/// The nearest legal request where registers or tensor memory do not suffice: with one accumulator, else with more
/// warps, else with the smaller tile that is nearest, by the sum of its sides, else with less depth.
fn with_less(request: &Request, violation: &Violation) -> Option<Request> {
    /// The widest tile that any path has room for.
    const MOST: u32 = 512;
    /// Every extent of an instruction is a multiple.
    const STEP: usize = 8;
    /// The depth of the largest atom of scales.
    const ATOM: u32 = 128;
    let tile = request.tile?;
    let one_accumulator = Request {
        accumulator_buffers: Some(1),
        ..request.clone()
    };
    let more_warps = (request.warps.unwrap_or(0) + 1..=32).map(|warps| Request {
        warps: Some(warps),
        ..request.clone()
    });
    let of_tiles = [
        &rules::WARPS,
        &rules::ACCUMULATOR_REGISTERS,
        &rules::BLOCK_REGISTERS,
        &rules::TENSOR_MEMORY,
    ];
    if !of_tiles.contains(&violation.rule) {
        return None;
    }
    let sides = |side: u32| {
        let most = side.min(MOST);
        (STEP as u32..most).step_by(STEP).chain([most])
    };
    let mut smaller: Vec<TileShape> = sides(tile.m)
        .flat_map(|m| sides(tile.n).map(move |n| TileShape::new(m, n, tile.k)))
        .collect();
    smaller.sort_by_key(|other| (tile.m - other.m) + (tile.n - other.n));
    // Scales take tensor memory by the depth. Halves, as whole blocks of scales where there can be any.
    let halves = iter::successors(Some(tile.k), |k| (*k > STEP as u32).then_some(k / 2));
    let halves = halves.filter(|_| violation.rule == &rules::TENSOR_MEMORY);
    let depths = halves.map(|k| if k > ATOM { k / ATOM * ATOM } else { k });
    let smaller = iter::once(tile.k)
        .chain(depths)
        .flat_map(|k| smaller.iter().map(move |tile| TileShape { k, ..*tile }))
        .map(|tile| Request {
            tile: Some(tile),
            ..request.clone()
        });
    iter::once(one_accumulator)
        .chain(more_warps)
        .chain(smaller)
        .find(|candidate| candidate.keeps_rules() && report(candidate).is_ok())
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

/// What rules call a number, and how a value gets into a request.
type Field = (&'static str, fn(&mut Request, u32));

/// Every number that a rule speaks of and that can be asked for.
static FIELDS: [Field; 21] = [
    ("m", |request, value| request.m = Some(value.into())),
    ("n", |request, value| request.n = Some(value.into())),
    ("k", |request, value| request.k = Some(value.into())),
    ("tile m", |request, value| set_tile(request, |tile| tile.m = value)),
    ("tile n", |request, value| set_tile(request, |tile| tile.n = value)),
    ("tile k", |request, value| set_tile(request, |tile| tile.k = value)),
    ("stages", |request, value| request.stages = Some(value)),
    ("warps", |request, value| request.warps = Some(value)),
    ("producer warps", |request, value| request.producer_warps = Some(value)),
    ("accumulator buffers", |request, value| {
        request.accumulator_buffers = Some(value)
    }),
    ("output bytes", |request, value| request.output_bytes = Some(value)),
    ("split k", |request, value| request.split_k = Some(value)),
    ("scratch bytes per warp", |request, value| {
        request.scratch_per_warp_bytes = Some(value)
    }),
    ("groups", |request, value| request.groups = Some(value)),
    ("static bytes", |request, value| request.static_bytes = Some(value)),
    ("margin of bytes", |request, value| request.margin_bytes = value.into()),
    ("epilogue m", |request, value| {
        set_epilogue(request, |tile| tile.m = value)
    }),
    ("epilogue n", |request, value| {
        set_epilogue(request, |tile| tile.n = value)
    }),
    ("epilogue buffers", |request, value| {
        set_epilogue(request, |tile| tile.buffers = value)
    }),
    // Threads are not chosen by themselves: the math warps give way.
    ("threads", |request, value| {
        let copying = request.producer_warps.unwrap_or(4).min(value / 32 - 1);
        request.producer_warps = request.producer_warps.map(|_| copying);
        request.warps = Some(value / 32 - copying);
    }),
    ("registers per thread", |request, value| {
        request.registers_per_thread = request.registers_per_thread.map(|_| value);
    }),
];

fn field(what: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|(known, _)| *known == what)
}

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
