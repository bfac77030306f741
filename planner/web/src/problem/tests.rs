use super::*;
use tilewright_plan::{Accumulator, Epilogue, EpilogueTile, GemmType, TileShape, report};

/// A request that is legal everywhere, and so is every type on its best path.
fn request(arch: &str, dtype: GemmType) -> Request {
    Request {
        arch: arch.into(),
        dtype,
        tile: Some(TileShape::new(128, 128, 128)),
        ..Request::default()
    }
}

fn set_tile(request: &mut Request, set: impl Fn(&mut TileShape)) {
    request.tile.as_mut().map(set);
}

fn refused(request: &Request) -> Problem {
    problem(request, &report(request).expect_err("illegal"))
}

/// Makes a legal request illegal.
type Break = fn(&mut Request);

#[test]
fn the_nearest_value_is_legal() {
    let breaks: [(&str, Break); 13] = [
        ("tile.m", |request| set_tile(request, |tile| tile.m = 100)),
        ("tile.n", |request| set_tile(request, |tile| tile.n = 0)),
        ("tile.k", |request| set_tile(request, |tile| tile.k = 100)),
        ("tile.k", |request| set_tile(request, |tile| tile.k = 70_000)),
        ("stages", |request| request.stages = Some(0)),
        ("stages", |request| request.stages = Some(5000)),
        ("margin_bytes", |request| request.margin_bytes = 1 << 20),
        ("static_bytes", |request| request.static_bytes = Some(50_000)),
        ("epilogue.m", |request| {
            request.epilogue = Some(Epilogue::Own(EpilogueTile {
                m: 100,
                n: 32,
                buffers: 1,
            }))
        }),
        ("split_k", |request| request.split_k = Some(0)),
        ("cluster.m", |request| request.cluster = Some((9, 9))),
        ("warps", |request| request.warps = Some(64)),
        ("output_bytes", |request| request.output_bytes = Some(99)),
    ];
    for arch in ["sm_75", "sm_86", "sm_90", "sm_100", "sm_120"] {
        for dtype in [GemmType::F16, GemmType::Int8] {
            for (name, break_it) in &breaks {
                let mut wrong = request(arch, dtype);
                break_it(&mut wrong);
                let Problem {
                    field,
                    nearest,
                    request,
                    ..
                } = refused(&wrong);
                assert_eq!(field, Some(*name), "{arch} {dtype}");
                let legal = request.unwrap_or_else(|| panic!("{arch} {dtype} {name}"));
                assert!(report(&legal).is_ok() && legal != wrong);
                assert!(nearest.is_some_and(|text| text.contains(' ')));
            }
        }
    }
}

#[test]
fn what_follows_from_others_is_relieved_by_them() {
    // 128 x 256 accumulators of 4 warps are 256 registers each.
    let wrong = Request {
        tile: Some(TileShape::new(128, 256, 64)),
        warps: Some(4),
        ..request("sm_80", GemmType::F16)
    };
    let offered = refused(&wrong);
    assert_eq!(
        (offered.field, offered.nearest.as_deref()),
        (Some("warps"), Some("warps 8"))
    );
    let wrong = Request {
        tile: Some(TileShape::new(256, 256, 64)),
        accumulator_buffers: Some(2),
        ..request("sm_100", GemmType::F16)
    };
    let offered = refused(&wrong);
    assert_eq!(offered.nearest.as_deref(), Some("accumulator-buffers 1"));
}

#[test]
fn names_are_offered_too() {
    let wrong = Request {
        path: Some(Path::Wgmma),
        ..request("sm_120", GemmType::F16)
    };
    let offered = refused(&wrong);
    assert_eq!(
        (offered.field, offered.nearest.as_deref()),
        (Some("path"), Some("path mma.sync"))
    );
    let wrong = Request {
        accumulator: Some(Accumulator::SharedMemory),
        ..request("sm_90", GemmType::F16)
    };
    let offered = refused(&wrong);
    assert_eq!(
        (offered.field, offered.nearest.as_deref()),
        (Some("accumulator"), Some("accumulator registers"))
    );
    let offered = refused(&Request {
        arch: "sm_1".into(),
        ..Request::default()
    });
    assert!(offered.field == Some("arch") && offered.says.contains("sm_120") && offered.request.is_none());
}

#[test]
fn a_chain_of_rules_is_followed_to_its_end() {
    // 100 rows: 96 would do for mma.sync, but scales come in atoms of 128.
    let mut wrong = request("sm_120", GemmType::Nvfp4);
    set_tile(&mut wrong, |tile| tile.m = 100);
    assert_eq!(refused(&wrong).nearest.as_deref(), Some("tile 128x128x128"));
}
