//! The pictures of the guide, by name.

mod kernels;
mod memory;
mod pipelines;
mod verdicts;

use serde_json::Value;

use crate::canvas::Canvas;
use crate::program;

/// A picture.
pub struct Figure {
    /// Its file, without the extension.
    pub name: &'static str,
    /// What it shows, for those who do not see it.
    pub text: &'static str,
    /// Draws it.
    pub draw: fn() -> Canvas,
}

/// All pictures, in the order of the chapters.
pub const ALL: &[Figure] = &[
    Figure {
        name: "reuse",
        text: "Bars of the sectors that two kernels load for the same product: without tiles 16 times as many.",
        draw: kernels::reuse,
    },
    Figure {
        name: "bytes-for-elements",
        text: "A strip of memory: the allocation holds A_s and B_s; the slide's B_s starts at four \
               times its offset, past the end.",
        draw: memory::bytes_for_elements,
    },
    Figure {
        name: "static-and-dynamic",
        text: "Two strips of memory: static arrays one after the other, and one dynamic allocation carved in two.",
        draw: memory::static_and_dynamic,
    },
    Figure {
        name: "limits",
        text: "Bars of the shared memory that a CTA may have on each architecture: 48 KiB without \
               opting in, 64 to 227 with it.",
        draw: memory::limits,
    },
    Figure {
        name: "race",
        text: "A timeline of two threads: one reads a word in the barrier interval in which the other writes it.",
        draw: pipelines::race,
    },
    Figure {
        name: "banks",
        text: "Grids of 32 banks: a column of a tile of pitch 32 is in one bank; with pitch 33, or \
               an XOR swizzle, it is in 32.",
        draw: memory::banks,
    },
    Figure {
        name: "wavefronts-per-fma",
        text: "Bars of shared-memory wavefronts per FMA instruction of a warp: two with tiles, \
               fewer with each register tile.",
        draw: kernels::wavefronts_per_fma,
    },
    Figure {
        name: "ladder",
        text: "Bars of the TFLOP/s of lessons 1 to 9, and above each the bound that the simulator's counts predict.",
        draw: kernels::ladder,
    },
    Figure {
        name: "ladder-tensor",
        text: "Bars of the TFLOP/s of lessons 10 to 15, and below each the bound that the simulator's counts predict \
               at the clock of the run.",
        draw: kernels::ladder_tensor,
    },
    Figure {
        name: "stages",
        text: "Timelines of a load unit and of FMAs with one, two and three stages: with three, \
               the FMAs never wait.",
        draw: pipelines::stages,
    },
    Figure {
        name: "ldmatrix",
        text: "Grids of 32 banks: eight rows of 128 bytes start in the same four banks; with a XOR \
               swizzle in all 32.",
        draw: memory::ldmatrix,
    },
    Figure {
        name: "warp-specialization",
        text: "Timelines of a producer warp and two consumer warpgroups: full and empty phases of \
               a stage alternate.",
        draw: pipelines::warp_specialization,
    },
    Figure {
        name: "multicast",
        text: "Bars of the bytes that TMA loads for the same product: with clusters of two CTAs B \
               is loaded half as often.",
        draw: kernels::multicast,
    },
    Figure {
        name: "strategies",
        text: "Budget bars against the limit of 99 KiB: the kernel made for a B200, of 182 KiB, and each \
               strategy that makes it fit.",
        draw: memory::strategies,
    },
    Figure {
        name: "spilling",
        text: "Bars of the time without the pragma over the time with it, for six kernels that spill.",
        draw: kernels::spilling,
    },
    Figure {
        name: "raster",
        text: "Two grids of output tiles: one wave of CTAs row by row, and in groups of rows, with \
               the tiles they load.",
        draw: kernels::raster,
    },
    Figure {
        name: "store-reuse",
        text: "A timeline of a TMA store that still reads a buffer while threads write it again.",
        draw: pipelines::store_reuse,
    },
    Figure {
        name: "lengths",
        text: "A cell for each length from 1 to 192: a kernel is right for 64, 128 and 192 elements, and faults for \
               every other number.",
        draw: verdicts::lengths,
    },
    Figure {
        name: "schedules",
        text: "Six rows of cells, one for each schedule: where the elements of two CTAs end up depends on it.",
        draw: verdicts::schedules,
    },
    Figure {
        name: "general",
        text: "Two grids of n and k: a product is right on the diagonal of packed matrices, wrong below it, faults \
               above it, and is right nowhere if rows are padded.",
        draw: verdicts::general,
    },
];

/// What the program answers in JSON.
fn json(command: &str) -> Value {
    let arguments: Vec<&str> = command.split_whitespace().chain(["--json"]).collect();
    serde_json::from_str(&program(&arguments)).expect("JSON")
}

/// The lines of a simulated product's traffic: space, access, instruction, requests, actual, bytes.
struct Traffic(Vec<Value>);

impl Traffic {
    /// Of a kernel of the library or a lesson.
    fn of(kernel: &str, [m, n, k]: [u32; 3]) -> Self {
        let answer = json(&format!("sim {kernel} -m {m} -n {n} -k {k}"));
        Self(answer["report"]["lines"].as_array().expect("a list").clone())
    }

    /// A field, summed over the lines of a memory and an access.
    fn sum(&self, space: &str, access: &str, field: &str) -> u64 {
        let is_meant = |line: &&Value| {
            let is = |name: &str, value: &str| line[name].as_str().is_some_and(|it| it.eq_ignore_ascii_case(value));
            is("space", space) && is("access", access)
        };
        let fields = self
            .0
            .iter()
            .filter(is_meant)
            .map(|line| line[field].as_u64().expect("a number"));
        fields.sum()
    }
}
