//! Pictures of memory: strips, limits, banks, budgets.

use cuda_sim::banks::{SharedAccess, shared_wavefronts};

use super::json;
use crate::canvas::Canvas;
use crate::charts::{Bar, Budget, banks as bank_grid, bars, budgets, strip};
use crate::slides::TILE;

/// A layout: its name, and where the word or vector of a row is.
type Layout = (&'static str, fn(usize) -> usize);

/// Where the slide's `B_s` starts.
pub fn bytes_for_elements() -> Canvas {
    let part = 4 * (TILE * TILE) as u64;
    let mut canvas = Canvas::new("16 x 16 tiles: the allocation, and where B_s starts");
    let ends = [
        (0, "0"),
        (part, "1024"),
        (2 * part, "2048"),
        (4 * part, "4096"),
        (5 * part, "5120"),
    ];
    canvas.text(
        14.0,
        canvas.y + 8.0,
        "",
        "a number of bytes, added to a pointer to float",
    );
    canvas.y += 16.0;
    let wrong = [
        (0, part, "a", "A_s"),
        (part, 2 * part, "idle", "unused"),
        (4 * part, 5 * part, "bad", "B_s"),
    ];
    strip(&mut canvas, 5 * part, &wrong, &ends);
    canvas.text(14.0, canvas.y + 8.0, "", "the same number, added to a pointer to bytes");
    canvas.y += 16.0;
    strip(
        &mut canvas,
        5 * part,
        &[(0, part, "a", "A_s"), (part, 2 * part, "c", "B_s")],
        &ends,
    );
    canvas.note("The launch allocates 2048 bytes. What lies after them belongs to nobody, or to another CTA.");
    canvas
}

/// Static arrays and one dynamic allocation.
pub fn static_and_dynamic() -> Canvas {
    let mut canvas = Canvas::new("Two tiles of 32 x 32 in f32");
    canvas.text(14.0, canvas.y + 8.0, "", "static: the compiler knows two arrays");
    canvas.y += 16.0;
    let ends = [(0, "0"), (4096, "4096"), (8192, "8192")];
    strip(
        &mut canvas,
        8192,
        &[(0, 4090, "a", "a_s"), (4106, 8192, "c", "b_s")],
        &ends,
    );
    canvas.text(
        14.0,
        canvas.y + 8.0,
        "",
        "dynamic: the launch passes 8192, the kernel divides",
    );
    canvas.y += 16.0;
    let ends = [(0, "base"), (4096, "base + a_part"), (8192, "8192")];
    strip(
        &mut canvas,
        8192,
        &[(0, 4096, "a", "A_s"), (4096, 8192, "c", "B_s")],
        &ends,
    );
    canvas
}

/// What a CTA may have on each architecture.
pub fn limits() -> Canvas {
    let mut canvas = Canvas::new("Shared memory of a CTA, after opting in");
    let shown: Vec<Bar> = [
        ("sm_75", "T4, RTX 20"),
        ("sm_80", "A100"),
        ("sm_90", "H100, H200"),
        ("sm_120", "RTX 50"),
    ]
    .into_iter()
    .map(|(name, parts)| {
        let arch = cuda_arch::find(name).expect("known");
        let bytes = arch.smem_per_block_optin;
        Bar {
            label: format!("{name}: {parts}"),
            value: f64::from(bytes),
            shown: format!("{} KiB = {bytes} B", bytes / 1024),
            class: "a",
        }
    })
    .collect();
    bars(&mut canvas, &shown);
    canvas.note("Static shared memory ends at 48 KiB everywhere, and so does a launch that has not opted in.");
    canvas
}

/// The wavefronts of a warp's load of these words.
fn wavefronts(word: impl Fn(usize) -> usize) -> u32 {
    let addresses = std::array::from_fn(|lane| Some(4 * word(lane) as u32));
    shared_wavefronts(&addresses, 4, SharedAccess::Load).actual
}

/// A column of a tile of 32 x 32, in three layouts.
pub fn banks() -> Canvas {
    const SHOWN: usize = 8;
    let mut canvas = Canvas::new("Column 5 of a 32 x 32 tile: the words of lanes 0 to 7");
    let layouts: [Layout; 3] = [
        ("pitch 32", |row| row * 32 + 5),
        ("pitch 33", |row| row * 33 + 5),
        ("pitch 32, column ^ row", |row| row * 32 + (5 ^ row)),
    ];
    for (title, word) in layouts {
        let count = wavefronts(word);
        let unit = if count == 1 { "wavefront" } else { "wavefronts" };
        canvas.text(
            14.0,
            canvas.y + 8.0,
            "",
            &format!("{title}: 32 lanes take {count} {unit}"),
        );
        canvas.y += 14.0;
        let class = if count > 1 { "bad" } else { "a" };
        bank_grid(&mut canvas, SHOWN + 1, |at| {
            let lane = (0..SHOWN).find(|&lane| word(lane) == at)?;
            Some((class, lane.to_string()))
        });
    }
    canvas.note("Each cell is a word of 4 bytes, each column of cells a bank. A bank yields one word in a clock.");
    canvas
}

/// Eight rows of 128 bytes, a 16-byte vector of each.
pub fn ldmatrix() -> Canvas {
    let mut canvas = Canvas::new("ldmatrix: one 16-byte vector of each of 8 rows");
    let layouts: [Layout; 2] = [("vector 2 of every row", |_| 2), ("vector 2 ^ row", |row| 2 ^ row)];
    for (title, vector) in layouts {
        let word = |row: usize| 32 * row + 4 * vector(row);
        // A row is supplied by one lane; eight lanes are one group of 16-byte accesses.
        let addresses = std::array::from_fn(|lane| (lane < 8).then(|| 4 * word(lane) as u32));
        let count = shared_wavefronts(&addresses, 16, SharedAccess::Load).actual;
        let unit = if count == 1 { "wavefront" } else { "wavefronts" };
        canvas.text(14.0, canvas.y + 8.0, "", &format!("{title}: {count} {unit}"));
        canvas.y += 14.0;
        let class = if count > 1 { "bad" } else { "a" };
        bank_grid(&mut canvas, 8, |at| {
            let row = at / 32;
            let within = at.checked_sub(word(row))?;
            (within < 4).then(|| (class, if within == 0 { row.to_string() } else { String::new() }))
        });
    }
    canvas
}

/// A kernel made for a B200 on sm_120, and what makes it fit.
pub fn strategies() -> Canvas {
    let made_for_b200 = "--accumulator smem --tile 128x256x64 --stages 4";
    let rows = [
        ("as made for a B200", made_for_b200),
        (
            "A. tile 64x128, still in smem",
            "--accumulator smem --tile 64x128x64 --stages 4",
        ),
        (
            "B. accumulator in registers",
            "--accumulator registers --tile 128x256x64 --stages 4",
        ),
        (
            "C. two stages instead of four",
            "--accumulator smem --tile 128x256x64 --stages 2",
        ),
        (
            "B and C together",
            "--accumulator registers --tile 128x256x64 --stages 2",
        ),
    ];
    let mut canvas = Canvas::new("NVFP4 on sm_120: shared memory of a CTA");
    canvas.legend(&[
        ("a", "A"),
        ("c", "B"),
        ("e", "scales"),
        ("b", "accumulator"),
        ("d", "barriers"),
    ]);
    let shown: Vec<Budget> = rows
        .into_iter()
        .map(|(label, options)| {
            let sheet = json(&format!("plan --arch sm_120 --dtype nvfp4 {options}"));
            let parts = sheet["components"].as_array().expect("a list").iter().map(|part| {
                let class = match part["name"].as_str().unwrap_or_default() {
                    "operand A" => "a",
                    "operand B" => "c",
                    "accumulator" => "b",
                    "barriers" => "d",
                    _ => "e",
                };
                (class, part["bytes"].as_u64().expect("a number"))
            });
            let total = sheet["total_bytes"].as_u64().expect("a number");
            let fits = if sheet["fits"] == true { "fits" } else { "does not fit" };
            Budget {
                label: label.to_owned(),
                parts: parts.collect(),
                shown: format!("{:.1} KiB, {fits}", total as f64 / 1024.0),
            }
        })
        .collect();
    budgets(&mut canvas, &shown, (101_376, "99 KiB"), 190_000);
    canvas
}
