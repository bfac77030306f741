//! Pictures of what kernels load and how fast they are.

use std::fs;

use serde_json::Value;
use tilewright_contract::RasterTile;

use super::Traffic;
use crate::canvas::{Canvas, MARGIN, WIDTH};
use crate::charts::{Bar, bars};
use crate::root;

fn bar(label: &str, value: f64, shown: String, class: &'static str) -> Bar {
    Bar {
        label: label.to_owned(),
        value,
        shown,
        class,
    }
}

/// Filed results of a GPU, by topic.
fn results(topic: &str) -> Value {
    let path = root().join(format!("docs/results/h200-{topic}.json"));
    serde_json::from_str(&fs::read_to_string(path).expect("filed")).expect("JSON")
}

/// Where and when results were measured.
fn about(results: &Value) -> String {
    let field = |name: &str| results["about"][name].as_str().unwrap_or_default().to_owned();
    let commit = field("commit");
    format!(
        "{}, commit {}, {}",
        field("device"),
        commit.get(..10).unwrap_or(&commit),
        field("date")
    )
}

/// Lessons 1 and 2: what they ask global memory for.
pub fn reuse() -> Canvas {
    let mut canvas = Canvas::new("128 x 128 x 128: loads from global memory");
    let rows = [
        ("lesson_01_naive", "no tiles", "b"),
        ("lesson_02_static_tiles", "tiles of 32 x 32", "a"),
    ];
    let shown = rows.map(|(kernel, label, class)| {
        let traffic = Traffic::of(kernel, [128; 3]);
        let sectors = traffic.sum("global", "read", "actual");
        let requests = traffic.sum("global", "read", "requests");
        bar(
            label,
            sectors as f64,
            format!("{sectors} sectors, {requests} requests"),
            class,
        )
    });
    bars(&mut canvas, &shown);
    canvas.note("A sector is 32 bytes; a request is one load instruction of a warp. Counted by the simulator.");
    canvas
}

/// The lessons of f32 whose loops read shared memory.
const TILED: [(&str, &str); 5] = [
    ("lesson_02_static_tiles", "2: one element per thread"),
    ("lesson_04_register_column", "4: a column of 8"),
    ("lesson_05_register_tile", "5: 8 x 8"),
    ("lesson_06_vector_copies", "6: 8 x 8, 16-byte loads"),
    ("lesson_07_warp_tiles", "7: 8 x 8, lanes in a rectangle"),
];

/// Wavefronts of loads from shared memory for each FMA instruction of a warp.
fn wavefronts(kernel: &str) -> f64 {
    let extents = [256, 256, 64];
    let fmas = extents.iter().map(|&extent| f64::from(extent)).product::<f64>() / 32.0;
    Traffic::of(kernel, extents).sum("shared", "read", "actual") as f64 / fmas
}

/// Wavefronts for each FMA instruction.
pub fn wavefronts_per_fma() -> Canvas {
    let mut canvas = Canvas::new("Wavefronts of shared memory per FMA instruction of a warp");
    let shown = TILED.map(|(kernel, label)| {
        let value = wavefronts(kernel);
        bar(label, value, format!("{value:.3}"), "a")
    });
    bars(&mut canvas, &shown);
    canvas.note(
        "An SM starts four FMA instructions in a clock, serves one wavefront: above 0.25 shared memory is the limit.",
    );
    canvas
}

/// The rows of lessons of one type among the filed results, each with its name.
fn lessons<'a>(filed: &'a Value, dtype: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let rows = filed["rows"].as_array().expect("a list").iter();
    let of_type = rows.filter(move |row| row["dtype"] == dtype);
    of_type
        .map(|row| (row["name"].as_str().unwrap_or_default().trim(), row))
        .filter(|(name, _)| name.starts_with("lesson_"))
}

/// Two bars of a lesson below its name, measured and bound, on the bar of what the units can do.
fn rung(canvas: &mut Canvas, name: &str, [measured, bound, ceiling]: [f64; 3], decimals: usize) {
    let scale = (WIDTH - 2.0 * MARGIN) / ceiling;
    let label = name
        .trim_start_matches("lesson_")
        .replacen('_', ": ", 1)
        .replace('_', " ");
    canvas.text(MARGIN, canvas.y + 9.0, "", &label);
    let shown = format!("{measured:.decimals$} of {bound:.decimals$}");
    canvas.text(WIDTH - MARGIN, canvas.y + 9.0, "end soft", &shown);
    canvas.area([MARGIN, canvas.y + 14.0, ceiling * scale, 13.0], "idle");
    canvas.area([MARGIN, canvas.y + 14.0, measured * scale, 7.0], "a");
    canvas.area([MARGIN, canvas.y + 22.0, bound * scale, 5.0], "c");
    canvas.y += 37.0;
}

/// The TFLOP/s that were measured of a row.
fn measured(row: &Value) -> f64 {
    row["measured"]["ours"]["tflops"].as_f64().expect("a number")
}

/// Measured speed of lessons 1 to 9, and the bound by counts.
pub fn ladder() -> Canvas {
    let filed = results("lessons");
    let ceiling = filed["about"]["ceilings"]["f32_tflops"].as_f64().expect("a number");
    let mut canvas = Canvas::new("TFLOP/s at 4096 cubed, f32, and what the counts allow");
    canvas.legend(&[("a", "measured"), ("c", "bound by counts")]);
    for (name, row) in lessons(&filed, "f32") {
        // One wavefront, or one request to L1, in a clock; an FMA instruction of a warp takes a quarter of one.
        let traffic = Traffic::of(name, [256, 256, 64]);
        let fmas = 256.0 * 256.0 * 64.0 / 32.0;
        let clocks = (traffic.sum("shared", "read", "actual") as f64)
            .max(traffic.sum("global", "read", "requests") as f64)
            .max(fmas / 4.0);
        let bound = ceiling * (fmas / 4.0) / clocks;
        rung(&mut canvas, name, [measured(row), bound, ceiling], 1);
    }
    canvas.y -= 4.0;
    canvas.note(&format!(
        "Measured: {}. Bound: the larger of wavefronts, load requests and a quarter of the FMA instructions, as clocks \
         of an SM, counted by the simulator; the whole bar is {ceiling:.1}, FMAs alone.",
        about(&filed)
    ));
    canvas
}

/// Wavefronts of shared memory of a product of these extents, loads and stores.
fn wavefronts_at(kernel: &str, extents: [u32; 3]) -> f64 {
    let traffic = Traffic::of(kernel, extents);
    let of = |access| traffic.sum("shared", access, "actual") as f64;
    of("read") + of("write")
}

/// Measured speed of lessons 10 to 15, and the bound by counts at the clock that the GPU ran at.
pub fn ladder_tensor() -> Canvas {
    let (m, n, k) = (256, 512, 4096);
    let filed = results("lessons");
    let ceilings = &filed["about"]["ceilings"];
    let [ceiling, f32_ceiling, boost] =
        ["half_tflops", "f32_tflops", "clock_mhz"].map(|name| ceilings[name].as_f64().expect("a number"));
    // An SM has 128 lanes of f32, each of which starts an FMA in a clock.
    let fmas_per_clock = 128.0 * ceiling / f32_ceiling;
    let tensor_clocks = f64::from(m) * f64::from(n) * f64::from(k) / fmas_per_clock;
    let mut canvas = Canvas::new("TFLOP/s at 4096 cubed, f16, and what the counts allow");
    canvas.legend(&[("a", "measured"), ("c", "bound by counts")]);
    for (name, row) in lessons(&filed, "f16") {
        // Counts are linear in K, and two short products say the slope.
        let [one, two] = [256, 512].map(|k| wavefronts_at(name, [m, n, k]));
        let wavefronts = one + (two - one) * f64::from(k - 256) / 256.0;
        let clock = row["measured"]["telemetry"]["clock_mhz"].as_f64().unwrap_or(boost);
        let bound = ceiling * clock / boost * (tensor_clocks / wavefronts.max(tensor_clocks));
        rung(&mut canvas, name, [measured(row), bound, ceiling], 0);
    }
    canvas.y -= 4.0;
    canvas.note(&format!(
        "Measured: {}. Bound: the larger of wavefronts, of loads and stores, and of the clocks of the tensor cores, at \
         the clock that the GPU ran at under this load; the whole bar is {ceiling:.0}, tensor cores alone at \
         {boost:.0} MHz.",
        about(&filed)
    ));
    canvas
}

/// What lessons 13 and 14 load by TMA.
pub fn multicast() -> Canvas {
    let mut canvas = Canvas::new("512 x 512 x 256 in f16: bytes by TMA");
    let rows = [
        ("lesson_13_persistent", "each CTA loads its own B", "b"),
        ("lesson_14_cluster", "clusters of two, B by multicast", "a"),
    ];
    let shown = rows.map(|(kernel, label, class)| {
        let bytes = Traffic::of(kernel, [512, 512, 256]).sum("global", "read", "bytes");
        bar(label, bytes as f64, format!("{} KiB", bytes / 1024), class)
    });
    bars(&mut canvas, &shown);
    canvas.note(
        "A tile is 128 x 256: a cluster of two CTAs loads two tiles of A and one of B. Counted by the simulator.",
    );
    canvas
}

/// What the pragma gained, the largest size of each problem.
pub fn spilling() -> Canvas {
    let filed = results("spilling");
    let mut canvas = Canvas::new("Time of local spills over time with the pragma");
    let rows = filed["rows"].as_array().expect("a list");
    let largest = rows.iter().filter(|row| {
        let size = row["size"].as_str().unwrap_or_default();
        size.starts_with("8192") || size.starts_with("1048576")
    });
    let shown: Vec<Bar> = largest
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or_default();
            let gain = row["local_over_shared"]["median"].as_f64().expect("a number");
            let label = format!("{} {}, cap {}", text("family"), text("dtype"), row["max_registers"]);
            bar(&label, gain, format!("{gain:.2}"), "a")
        })
        .collect();
    bars(&mut canvas, &shown);
    canvas.note(&format!("Above 1 the pragma gains. {}.", about(&filed)));
    canvas
}

/// One wave of CTAs over the tiles of C, in two orders.
pub fn raster() -> Canvas {
    const TILES: u32 = 16;
    const WAVE: u32 = 64;
    const SIDE: f64 = 10.0;
    let mut canvas = Canvas::new("64 resident CTAs, 16 x 16 tiles of C");
    let mut drawn = Vec::new();
    for (title, group) in [("row by row", 1), ("groups of 8 rows", 8)] {
        let at = |block| RasterTile::of_block(block, TILES, TILES, group);
        let tiles: Vec<(u32, u32)> = (0..WAVE).map(|block| (at(block).tile_m, at(block).tile_n)).collect();
        let distinct = |of: fn(&(u32, u32)) -> u32| {
            let mut all: Vec<u32> = tiles.iter().map(of).collect();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        drawn.push((title, tiles.clone(), distinct(|tile| tile.0), distinct(|tile| tile.1)));
    }
    let top = canvas.y;
    for (at, (title, tiles, rows, columns)) in drawn.iter().enumerate() {
        let left = MARGIN + at as f64 * 196.0;
        canvas.text(left, top + 8.0, "", title);
        for m in 0..TILES {
            for n in 0..TILES {
                let class = match tiles.contains(&(m, n)) {
                    true => "a",
                    false if tiles.iter().any(|tile| tile.0 == m || tile.1 == n) => "idle",
                    false => "cell",
                };
                let (x, y) = (left + SIDE * f64::from(n), top + 16.0 + SIDE * f64::from(m));
                canvas.area([x, y, SIDE - 1.0, SIDE - 1.0], class);
            }
        }
        let y = top + 16.0 + SIDE * f64::from(TILES) + 14.0;
        canvas.text(
            left,
            y,
            "small soft",
            &format!("{rows} rows of A + {columns} columns of B"),
        );
        canvas.text(
            left,
            y + 15.0,
            "small soft",
            &format!("= {} tiles per k-tile", rows + columns),
        );
    }
    canvas.y = top + 16.0 + SIDE * f64::from(TILES) + 38.0;
    canvas.note("Blue: tiles of the CTAs that run at one time. The fewer tiles they load, the more L2 holds of them.");
    canvas
}
