//! Numbers of a linear model from times.

/// Numbers that are multiplied by `Rounds::factors`: latency, work and block cycles.
pub type Cycles = [f64; 3];

/// Cycles, none of them negative, with the least weighted squares of relative errors. Of every choice of numbers that
/// stay 0 the rest is solved for; with three numbers these are seven systems.
pub fn fit(samples: &[(Cycles, f64, f64)]) -> Cycles {
    let error = |cycles: &Cycles| -> f64 {
        samples
            .iter()
            .map(|(factors, measured, weight)| {
                let expected: f64 = factors.iter().zip(cycles).map(|(factor, of)| factor * of).sum();
                weight * (expected / measured - 1.0).powi(2)
            })
            .sum()
    };
    (1..8_u32)
        .filter_map(|kept| solve(samples, kept))
        .filter(|cycles| cycles.iter().all(|&of| of >= 0.0))
        .min_by(|a, b| error(a).total_cmp(&error(b)))
        .unwrap_or_default()
}

/// The normal equations of the numbers whose bit is set in `kept`, by elimination.
fn solve(samples: &[(Cycles, f64, f64)], kept: u32) -> Option<Cycles> {
    let mut system = [[0.0; 4]; 3];
    for (row, equation) in system.iter_mut().enumerate() {
        if kept >> row & 1 == 0 {
            equation[row] = 1.0;
            continue;
        }
        for (factors, measured, weight) in samples {
            let scaled = factors.map(|factor| factor / measured);
            for column in 0..3 {
                if kept >> column & 1 == 1 {
                    equation[column] += weight * scaled[row] * scaled[column];
                }
            }
            equation[3] += weight * scaled[row];
        }
    }
    for pivot in 0..3 {
        let best = (pivot..3).max_by(|&a, &b| system[a][pivot].abs().total_cmp(&system[b][pivot].abs()))?;
        system.swap(pivot, best);
        if system[pivot][pivot].abs() < 1e-300 {
            return None;
        }
        for other in (0..3).filter(|&other| other != pivot) {
            let factor = system[other][pivot] / system[pivot][pivot];
            let eliminating = system[pivot];
            for (of, by) in system[other].iter_mut().zip(eliminating) {
                *of -= factor * by;
            }
        }
    }
    Some([0, 1, 2].map(|row| system[row][3] / system[row][row]))
}
