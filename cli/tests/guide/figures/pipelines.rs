//! Timelines: of a fault that the simulator reports, and of pipelines by a small model.

use cuda_sim::SimFault;
use exercises::course::{EXERCISES, Verdict, Version};

use crate::canvas::Canvas;
use crate::charts::{Span, timeline};

/// The first fault of an exercise's file, which must be a race.
fn race_of(file: &str) -> SimFault {
    let exercise = EXERCISES
        .iter()
        .find(|exercise| exercise.file == file)
        .expect("an exercise");
    let outcome = (exercise.run)(Version::Yours);
    let Verdict::Fault(_, fault) = outcome.verdict() else {
        panic!("{file} has no fault");
    };
    fault.clone()
}

/// The race of exercise 2.2, as reported: lines, threads, intervals.
pub fn race() -> Canvas {
    let fault = race_of("ch02_drained");
    let other = fault.other.as_ref().expect("a race has two sides");
    let here = fault.location.as_ref().expect("a line").line;
    let there = other.location.line;
    let (writer, reader) = (fault.thread[0], other.thread[0]);
    let mut canvas = Canvas::new("Exercise 2.2: a barrier is missing");
    let lane = |first: &str, second: &str, class: &'static str, offset: f64| -> Vec<Span> {
        vec![
            (offset, offset + 1.4, class, first.to_owned()),
            (5.0 + offset, 6.4 + offset, "bad", second.to_owned()),
        ]
    };
    let reads = format!("line {there} reads");
    let writes = format!("line {here} writes");
    let lanes = [
        (format!("thread {reader}"), lane("", &reads, "a", 1.0)),
        (format!("thread {writer}"), lane("", &writes, "a", 2.2)),
    ];
    let lanes: Vec<(&str, Vec<Span>)> = lanes
        .iter()
        .map(|(name, spans)| {
            let wide = spans.iter().map(|(from, to, class, text)| match *class {
                "bad" => (*from - 0.4, *to + 1.4, *class, text.clone()),
                class => (*from, *to, class, "write".to_owned()),
            });
            (name.as_str(), wide.collect())
        })
        .collect();
    let top = canvas.y;
    timeline(&mut canvas, &lanes, 12.0);
    let at = 14.0 + (400.0 - 28.0) * 4.3 / 12.0;
    canvas.line([at, top + 2.0, at, canvas.y - 6.0], "line");
    canvas.text(at + 4.0, canvas.y + 4.0, "small soft", "barrier: the tile is filled");
    canvas.y += 8.0;
    canvas.note(&format!(
        "The read of thread {reader} and the next row's write of thread {writer} are both after this barrier, and \
         nothing orders the two: the simulator reports the race in interval {}, whichever comes first in the run.",
        fault.interval
    ));
    canvas
}

/// Clocks of a load, of the FMAs of a k-tile: round numbers, to see the pattern.
const LOAD: f64 = 500.0;
const COMPUTE: f64 = 300.0;
const TILES: usize = 6;

/// From and to.
type Clocks = (f64, f64);

/// When each tile is loaded and computed, with so many stages.
fn pipeline(stages: usize) -> [Vec<Clocks>; 2] {
    let [mut loads, mut computed] = [const { Vec::<Clocks>::new() }; 2];
    for tile in 0..TILES {
        // A stage is free when the tile that it held before is computed.
        let free = tile.checked_sub(stages).map_or(0.0, |before| computed[before].1);
        loads.push((free, free + LOAD));
        let begin = computed.last().map_or(0.0_f64, |last| last.1).max(free + LOAD);
        computed.push((begin, begin + COMPUTE));
    }
    [loads, computed]
}

/// Pipelines of one, two and three stages.
pub fn stages() -> Canvas {
    let mut canvas = Canvas::new("Six k-tiles: loads of 500 clocks, FMAs of 300");
    canvas.legend(&[("b", "load in flight"), ("a", "FMAs"), ("idle", "waiting")]);
    let end = pipeline(1)[1][TILES - 1].1;
    for stages in 1..=3 {
        let [loads, computed] = pipeline(stages);
        let spans = computed
            .iter()
            .zip(0..)
            .map(|(&(from, to), tile)| (from, to, "a", format!("{tile}")));
        let unit = if stages == 1 { "stage" } else { "stages" };
        let ends = computed[TILES - 1].1;
        let name = format!("{stages} {unit}: FMAs end after {ends:.0} clocks");
        timeline(&mut canvas, &[(&name, spans.collect())], end);
        canvas.y -= 8.0;
        // Loads of different stages overlap: a thin lane for each.
        let scale = (400.0 - 28.0) / end;
        for stage in 0..stages {
            for &(from, to) in loads.iter().skip(stage).step_by(stages) {
                canvas.area([14.0 + from * scale, canvas.y, (to - from) * scale - 1.0, 4.0], "b");
            }
            canvas.y += 6.0;
        }
        canvas.y += 8.0;
    }
    canvas.note("A model with round numbers, not a measurement: from three stages on, loads are hidden behind FMAs.");
    canvas
}

/// A producer and two consumers on a pipeline of two stages.
pub fn warp_specialization() -> Canvas {
    let (load, compute, stages, tiles) = (300.0, 400.0, 2, 5);
    let (mut loads, mut computed): (Vec<Span>, Vec<Span>) = (Vec::new(), Vec::new());
    let (mut issued, mut done) = (0.0_f64, 0.0_f64);
    let mut ends: Vec<f64> = Vec::new();
    for tile in 0..tiles {
        let class = if tile % stages == 0 { "b" } else { "d" };
        let empty = usize::checked_sub(tile, stages).map_or(0.0, |before| ends[before]);
        let begin = issued.max(empty);
        issued = begin + load;
        loads.push((begin, issued, class, format!("load {tile}")));
        let begin = done.max(issued);
        done = begin + compute;
        ends.push(done);
        computed.push((begin, done, class, format!("wgmma {tile}")));
    }
    let mut canvas = Canvas::new("Two stages: who waits for whom");
    canvas.legend(&[("b", "stage 0"), ("d", "stage 1"), ("idle", "waiting")]);
    let lanes = [
        ("producer warp: waits for empty, loads, TMA signals full", loads),
        (
            "consumer warpgroup 0: waits for full, arrives at empty",
            computed.clone(),
        ),
        ("consumer warpgroup 1", computed),
    ];
    timeline(&mut canvas, &lanes, done);
    canvas.note("A model with round numbers: once the pipeline is full, the consumers never wait.");
    canvas
}

/// The race of exercise 15.1, as reported.
pub fn store_reuse() -> Canvas {
    let fault = race_of("ch15_reuse");
    let other = fault.other.as_ref().expect("a race has two sides");
    let write = fault.location.as_ref().expect("a line").line;
    let store = other.location.line;
    let mut canvas = Canvas::new("Exercise 15.1: a store that outlives a barrier");
    let lanes: [(&str, Vec<Span>); 2] = [
        (
            "threads",
            vec![
                (0.0, 2.4, "a", "write box 0".to_owned()),
                (3.4, 5.2, "c", "store".to_owned()),
                (6.4, 9.4, "bad", "write box 1".to_owned()),
            ],
        ),
        ("TMA", vec![(4.4, 8.4, "b", "reads the buffer".to_owned())]),
    ];
    timeline(&mut canvas, &lanes, 10.0);
    canvas.note(&format!(
        "Line {write} writes what the store of line {store} still reads, as the simulator reports it. A barrier \
         orders threads; TMA goes on until the thread that issued the store has waited for its group."
    ));
    canvas
}
