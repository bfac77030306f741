//! Pictures of what a test finds that varies lengths, schedules and shapes: one launch in the simulator for each cell.

use std::collections::BTreeSet;

use cuda_sim::{GlobalBuffer, Launch, Schedule};
use exercises::support::Shape;
use exercises::{ch16_lengths, ch16_order, ch17_general};

use crate::canvas::{Canvas, MARGIN, WIDTH};

/// What a launch comes to.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Right,
    Wrong,
    Fault,
}

impl Verdict {
    /// Of a report and a result.
    fn of(is_clean: bool, is_right: bool) -> Self {
        match (is_clean, is_right) {
            (true, true) => Self::Right,
            (true, false) => Self::Wrong,
            (false, _) => Self::Fault,
        }
    }

    /// The class of its cell.
    fn class(self) -> &'static str {
        match self {
            Self::Right => "c",
            Self::Wrong => "e",
            Self::Fault => "bad",
        }
    }
}

/// Exercise 16.1 with a number of elements.
fn of_length(len: u32) -> Verdict {
    let from = GlobalBuffer::from_slice(&(0..len).collect::<Vec<_>>());
    let to = GlobalBuffer::<u32>::uninit(len as usize);
    let launch = Launch::new(len.div_ceil(64), 64).schedule(Schedule::Forward);
    // SAFETY: `len` elements, and CTAs of 64 threads that cover them.
    let report = launch.run(|| unsafe { ch16_lengths::add_neighbors(from.as_ptr(), to.as_mut_ptr(), len as usize) });
    let expected = (0..len).map(|i| if i + 1 < len { 2 * i + 1 } else { i });
    let is_right = report.is_clean() && to.to_vec() == expected.collect::<Vec<_>>();
    Verdict::of(report.is_clean(), is_right)
}

/// Every length up to three CTAs.
pub fn lengths() -> Canvas {
    const PER_ROW: u32 = 16;
    const ROWS: u32 = 12;
    const TRIED: [u32; 2] = [64, 128];
    let side = (WIDTH - 2.0 * MARGIN) / f64::from(PER_ROW);
    let mut canvas = Canvas::new("Exercise 16.1: a launch for each length from 1 to 192");
    canvas.legend(&[("c", "right"), ("bad", "a fault")]);
    let mut faults = 0;
    for row in 0..ROWS {
        for column in 0..PER_ROW {
            let len = row * PER_ROW + column + 1;
            let verdict = of_length(len);
            faults += u32::from(verdict == Verdict::Fault);
            let (x, y) = (MARGIN + side * f64::from(column), canvas.y);
            canvas.area([x, y, side - 1.5, 16.0], verdict.class());
            // Both of the author, the ends of the rows, and what else is right.
            if TRIED.contains(&len) || column == 0 || column == PER_ROW - 1 || verdict == Verdict::Right {
                canvas.text(x + side / 2.0 - 0.7, y + 12.0, "small in mid", &len.to_string());
            }
        }
        canvas.y += 17.5;
    }
    canvas.y += 4.0;
    canvas.note(&format!(
        "The author tried 64 and 128 elements. {faults} of {} lengths are a fault: a test with two lengths shows that \
         the kernel is right for two lengths.",
        ROWS * PER_ROW
    ));
    canvas
}

/// Where the elements of two CTAs end up under each schedule, exercise 16.2.
pub fn schedules() -> Canvas {
    const CTAS: u32 = 2;
    const THREADS: u32 = 16;
    let len = CTAS * THREADS;
    let side = (WIDTH - 2.0 * MARGIN) / f64::from(len);
    let mut canvas = Canvas::new("Exercise 16.2: the output under each schedule");
    canvas.legend(&[("a", "elements of CTA 0"), ("b", "elements of CTA 1")]);
    let mut outputs = BTreeSet::new();
    for schedule in Schedule::EVERY {
        let from = GlobalBuffer::from_slice(&(0..len).collect::<Vec<_>>());
        let to = GlobalBuffer::<u32>::uninit(len as usize);
        let counter = GlobalBuffer::<u32>::zeroed(1);
        // SAFETY: an element for each thread, and a counter that is 0.
        let run = || unsafe { ch16_order::double(from.as_ptr(), to.as_mut_ptr(), counter.as_mut_ptr(), len as usize) };
        let report = Launch::new(CTAS, THREADS).schedule(schedule).run(run);
        assert!(report.is_clean(), "{report}");
        canvas.text(MARGIN, canvas.y + 9.0, "", &schedule.to_string());
        canvas.y += 14.0;
        outputs.insert(to.to_vec());
        for (place, value) in (0..).zip(to.to_vec()) {
            // The kernel doubles its elements.
            let element = value / 2;
            let x = MARGIN + side * f64::from(place);
            let class = if element < THREADS { "a" } else { "b" };
            canvas.area([x, canvas.y, side - 1.0, 18.0], class);
            // A bar as high as the element is far within its CTA.
            let height = 14.0 * f64::from(element % THREADS + 1) / f64::from(THREADS);
            canvas.area([x + side / 2.0 - 2.0, canvas.y + 16.0 - height, 3.0, height], "in");
        }
        canvas.y += 27.0;
    }
    canvas.y -= 4.0;
    canvas.note(&format!(
        "The bar in a cell is the element's number within its CTA. {} outputs of {} schedules; each repeats its own \
         exactly, so a test under one of them passes every time.",
        outputs.len(),
        Schedule::EVERY.len()
    ));
    canvas
}

/// Exercise 17.2 with 8 rows, and so many elements of padding after each row.
fn of_shape(n: usize, k: usize, padding: usize) -> Verdict {
    const M: usize = 8;
    let ld = [k + padding, n + padding, n + padding];
    let matrix = |rows: usize, columns: usize, ld: usize, seed: usize| {
        let elems: Vec<f32> = (0..(rows - 1) * ld + columns)
            .map(|i| (i * (i + seed) % 61) as f32 - 30.0)
            .collect();
        (GlobalBuffer::matrix(&elems, rows, columns, ld), elems)
    };
    let ((on_a, a), (on_b, b)) = (matrix(M, k, ld[0], 1), matrix(k, n, ld[1], 2));
    let c = GlobalBuffer::<f32>::matrix_uninit(M, n, ld[2]);
    let shape = Shape { m: M, n, k, ld };
    let launch = Launch::new((n.div_ceil(8) as u32, 1), (8, 8)).schedule(Schedule::Forward);
    // SAFETY: the matrices are those of the shape.
    let report = launch.run(|| unsafe { ch17_general::product(on_a.as_ptr(), on_b.as_ptr(), c.as_mut_ptr(), shape) });
    let is_right = report.is_clean() && {
        let found = c.to_vec();
        let element = |row: usize, column: usize| -> f32 {
            let products = (0..k).map(|l| a[row * ld[0] + l] * b[l * ld[1] + column]);
            products.sum()
        };
        (0..M * n).all(|i| found[i / n * ld[2] + i % n] == element(i / n, i % n))
    };
    Verdict::of(report.is_clean(), is_right)
}

/// Products of 8 rows, n columns and k, packed and with padded rows.
pub fn general() -> Canvas {
    const MOST: usize = 12;
    let side = 12.5;
    let mut canvas = Canvas::new("Exercise 17.2: 8 rows of C, n and k from 1 to 12");
    canvas.legend(&[("c", "right"), ("e", "wrong, no fault"), ("bad", "a fault")]);
    canvas.y += 4.0;
    let top = canvas.y;
    for (at, (title, padding)) in (0..).zip([("packed rows", 0), ("rows with 2 more elements", 2)]) {
        let left = MARGIN + f64::from(at) * 196.0;
        canvas.text(left, top + 8.0, "", title);
        canvas.text(left + side, top + 25.0, "small soft", "n = 1");
        canvas.text(left + side * (MOST + 1) as f64, top + 25.0, "small soft end", "12");
        canvas.text(left, top + 39.0, "small soft", "k");
        canvas.text(left, top + 28.0 + side * MOST as f64, "small soft", "12");
        for k in 1..=MOST {
            for n in 1..=MOST {
                let (x, y) = (left + side * n as f64, top + 30.0 + side * (k - 1) as f64);
                canvas.area([x, y, side - 1.0, side - 1.0], of_shape(n, k, padding).class());
            }
        }
    }
    canvas.y = top + 30.0 + side * MOST as f64 + 6.0;
    canvas.note(
        "The kernel takes n for every leading dimension. Its author's test was a square. The result alone shows the \
         yellow cells; the simulator says why the red ones are wrong.",
    );
    canvas
}
