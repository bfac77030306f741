//! The planner's page in a real browser. Without one, each test is reported as ignored, with the reason, and counts as
//! neither passed nor failed.
//!
//! A copy of the page with a driver in it (`driver.js`) is opened from a file; the driver fills in fields and clicks,
//! and writes down what it sees. Two runs: a wide window, in which the steps below are done, and one as narrow as a
//! telephone, which opens the page on a request and on an address.

mod browser;
mod checks;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use browser::{Seen, Step};
use libtest_mimic::{Arguments, Failed, Trial};
use tilewright_plan::{Accumulator, GemmType, Request, TileShape};

type Outcome = Result<(), Failed>;
type Check = fn(&Runs) -> Outcome;

/// What the two runs saw.
struct Runs {
    wide: Seen,
    narrow: Seen,
}

/// The budget guide's example: accumulators in shared memory, 83 KiB over.
fn over_budget() -> Request {
    Request {
        arch: "sm_120".into(),
        dtype: GemmType::Nvfp4,
        tile: Some(TileShape::new(128, 256, 64)),
        stages: Some(4),
        accumulator: Some(Accumulator::SharedMemory),
        ..Request::default()
    }
}

/// Fields filled in from scratch: `name=value&name=value`.
fn afresh(name: &'static str, fields: &'static str) -> Step {
    Step {
        afresh: true,
        ..then(name, fields)
    }
}

/// Fields changed after the step before.
fn then(name: &'static str, fields: &'static str) -> Step {
    Step {
        name,
        afresh: false,
        fields: fields.split('&').filter_map(|field| field.split_once('=')).collect(),
        marks: Vec::new(),
        click: None,
        fragment: None,
    }
}

fn click(name: &'static str, selector: &'static str) -> Step {
    Step {
        click: Some(selector),
        ..then(name, "")
    }
}

/// Marks architectures to compare with, or takes the marks away.
fn mark(name: &'static str, marks: &[&'static str]) -> Step {
    Step {
        marks: marks.to_vec(),
        ..then(name, "")
    }
}

fn address(name: &'static str, fragment: &'static str) -> Step {
    Step {
        fragment: Some(fragment),
        ..then(name, "")
    }
}

const OTHERS: [&str; 3] = ["sm_75", "sm_90", "sm_100"];

/// Every architecture's limit, every path, every frontend, every kind of type and of part is in one of them.
fn steps() -> Vec<Step> {
    vec![
        afresh("f16 on sm_90", "arch=sm_90&dtype=f16&tile.m=128&tile.n=128&tile.k=64"),
        afresh(
            "f32 on sm_75",
            "arch=sm_75&dtype=f32&tile.m=128&tile.n=128&tile.k=8&stages=2",
        ),
        afresh(
            "f64 on sm_80",
            "arch=sm_80&dtype=f64&tile.m=64&tile.n=64&tile.k=16&stages=3",
        ),
        afresh(
            "tf32 on sm_86",
            "arch=sm_86&dtype=tf32&tile.m=128&tile.n=128&tile.k=32&stages=4",
        ),
        afresh(
            "reuse on sm_87",
            "arch=sm_87&dtype=bf16&tile.m=256&tile.n=128&tile.k=32&epilogue.kind=reuse&epilogue.m=64&epilogue.n=64",
        ),
        afresh(
            "Triton on sm_89",
            "arch=sm_89&dtype=e4m3&tile.m=128&tile.n=256&tile.k=128&frontend=triton&stages=4",
        ),
        afresh(
            "int8 on sm_100",
            "arch=sm_100&dtype=int8&tile.m=128&tile.n=256&tile.k=128",
        ),
        afresh(
            "DeepGEMM on sm_103",
            "arch=sm_103&dtype=mxfp8&tile.m=128&tile.n=128&tile.k=128&frontend=deepgemm&epilogue.kind=own&epilogue.m=64\
             &epilogue.n=64&epilogue.buffers=2",
        ),
        afresh(
            "mixed on sm_110",
            "arch=sm_110&dtype=mxfp8xmxfp4&tile.m=128&tile.n=128&tile.k=128&m=1024&n=2048&k=4096",
        ),
        afresh(
            "widened on sm_80",
            "arch=sm_80&dtype=nvfp4&tile.m=128&tile.n=128&tile.k=64&widening=staging&static_bytes=128",
        ),
        afresh(
            "CUTLASS on sm_121",
            "arch=sm_121&dtype=mxfp4&tile.m=128&tile.n=128&tile.k=256&frontend=cutlass&margin_bytes=2048\
             &scratch_per_warp_bytes=64",
        ),
        afresh(
            "simt on sm_120",
            "arch=sm_120&dtype=f32&tile.m=128&tile.n=128&tile.k=8&path=simt&warps=8&output_bytes=4&stages=6",
        ),
        afresh(
            "impossible",
            "arch=sm_75&dtype=f16&tile.m=64&tile.n=64&tile.k=64&static_bytes=49152&margin_bytes=16380",
        ),
        afresh(
            "over budget",
            "arch=sm_120&dtype=nvfp4&tile.m=128&tile.n=256&tile.k=64&stages=4&accumulator=smem",
        ),
        mark("compared", &OTHERS),
        mark("compared no more", &OTHERS),
        click("moves taken", "#take-moves"),
        then("more stages", "stages=6"),
        then("100 rows", "tile.m=100"),
        click("nearest taken", "#nearest"),
        then("no whole number", "stages=1.5"),
        then("beyond all numbers", "stages=99999999999"),
        click("largest taken", "#nearest"),
        then("no such instructions", "stages=2&path=wgmma"),
        then("a margin of everything", "path=&margin_bytes=300000"),
        afresh(
            "named buffers",
            "arch=sm_120&tile.m=128&buffers=q=m128x128:bf16\nkv=n256x128:bf16x2@stage\no=m128x128:bf16@after=kv",
        ),
        click("buffers that fit", "#take-moves"),
        then("a wrong buffer", "buffers=q=1x1:f32\nkv"),
        afresh(
            "FlashAttention",
            "template=flash-attention&arch=sm_120&dtype=bf16&tile.m=128&tile.n=128&tile.k=128",
        ),
        click("attention that fits", "#take-moves"),
        afresh(
            "grouped",
            "template=grouped-moe&groups=64&arch=sm_90&dtype=bf16&tile.m=128&tile.n=128&tile.k=64&frontend=cutlass",
        ),
        afresh("selected", "arch=sm_90&dtype=bf16&m=4096&n=4096&k=4096"),
        click("second candidate", "#candidates tbody tr:nth-child(2) button"),
        then("another product", "product=H100 SXM"),
        address(
            "address",
            "#arch=sm_86&dtype=f16&tile.m=64&tile.n=128&tile.k=32&stages=3&epilogue.kind=own&epilogue.m=32\
             &epilogue.n=32&compare=sm_90",
        ),
    ]
}

fn run(browser: &Path) -> Result<Runs, String> {
    let wide = browser::open(browser, &tilewright_harness::page::page("{}"), "", 1280, &steps())?;
    let request = serde_json::to_string(&over_budget()).map_err(|error| error.to_string())?;
    let page = tilewright_harness::page::page(&request);
    let narrow = [address(
        "selected by address",
        "#arch=sm_100&dtype=e4m3&m=8192&n=8192&k=8192&compare=sm_75+sm_120",
    )];
    let narrow = browser::open(browser, &page, "", 360, &narrow)?;
    Ok(Runs { wide, narrow })
}

fn main() {
    let arguments = Arguments::from_args();
    let browser = browser::find();
    if browser.is_none() {
        println!(
            "page tests skipped: {} (no Chromium; `cargo xtask setup` installs it)",
            checks::ALL.len()
        );
    }
    let missing = browser.is_none();
    // The browser is started once, by the first test that runs.
    let runs: Arc<OnceLock<Result<Runs, String>>> = Arc::default();
    let trials = checks::ALL.iter().map(|(name, check): &(&str, Check)| {
        let (runs, browser) = (Arc::clone(&runs), browser.clone().unwrap_or_default());
        let test = move || match runs.get_or_init(|| run(&browser)) {
            Ok(runs) => check(runs),
            Err(error) => Err(error.as_str().into()),
        };
        Trial::test(*name, test).with_ignored_flag(missing)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}
