//! Results as pictures (SVG).

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

use tilewright_contract::DType;

use crate::bench::results::{Measurement, Results, RowResult};

const OURS: RGBColor = RGBColor(200, 70, 30);
const PEER: RGBColor = RGBColor(40, 90, 170);
const CEILING: RGBColor = RGBColor(110, 110, 110);

type Picture = Result<String, Box<dyn Error>>;

/// Every picture that the results are good for, by the end of its file's name.
///
/// # Errors
/// What the library that draws says.
pub fn plots(results: &Results) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let measured: Vec<_> = results
        .rows
        .iter()
        .filter_map(|row| Some((row, row.measured()?)))
        .collect();
    if measured.is_empty() {
        return Ok(Vec::new());
    }
    let mut pictures = vec![("tflops", speeds(results, &measured)?)];
    if measured.iter().any(|(_, measurement)| measurement.ratio.is_some()) {
        pictures.push(("ratio", ratios(results, &measured)?));
    }
    if results.about.ceilings.is_some() {
        pictures.push(("roofline", roofline(results, &measured)?));
    }
    Ok(pictures)
}

type Measured<'r> = [(&'r RowResult, &'r Measurement)];

/// What the SMs can do at most in the type of the rows, in TFLOP/s, and what that is called: the tensor
/// cores where all rows are of f16 or bf16, or some of FP8.
fn ceiling(results: &Results, measured: &Measured<'_>) -> Option<(f64, &'static str)> {
    let ceilings = results.about.ceilings?;
    let is_fp8 = |(row, _): &(&RowResult, &Measurement)| row.row.fp8.is_some();
    let is_half = |(row, _): &(&RowResult, &Measurement)| matches!(row.row.dtype, DType::F16 | DType::Bf16);
    match (ceilings.half_tflops, ceilings.fp8_tflops) {
        (_, Some(fp8)) if measured.iter().any(is_fp8) => Some((fp8, "tensor cores, FP8, dense")),
        (Some(half), _) if measured.iter().all(is_half) => Some((half, "tensor cores, f16 and bf16, dense")),
        _ => Some((ceilings.f32_tflops, "FFMA, f32")),
    }
}

/// One line a row: what it is called, and something between `low` and `high`.
fn by_row(
    measured: &Measured<'_>,
    title: &str,
    unit: &str,
    (low, high): (f64, f64),
    line: Option<f64>,
    mut draw: impl FnMut(&mut RowsOfChart<'_, '_>, usize, &Measurement) -> Result<(), Box<dyn Error>>,
) -> Picture {
    let mut text = String::new();
    {
        let height = 110 + 22 * measured.len() as u32;
        let area = SVGBackend::with_string(&mut text, (900, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let last = measured.len() as f64 - 0.5;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(230)
            .build_cartesian_2d(low..high, last..-0.5)?;
        let name = |at: &f64| {
            let whole = (at - at.round()).abs() < 1e-6 && *at > -0.1;
            let row = whole.then(|| measured.get(at.round() as usize)).flatten();
            row.map_or(String::new(), |(row, _)| row.row.name.clone())
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(2 * measured.len() + 1)
            .y_label_formatter(&name)
            .x_desc(unit)
            .label_style(("sans-serif", 13))
            .draw()?;
        if let Some(line) = line {
            chart.draw_series([PathElement::new([(line, -0.5), (line, last)], BLACK.stroke_width(1))])?;
        }
        for (at, (_, measurement)) in measured.iter().enumerate() {
            draw(&mut chart, at, measurement)?;
        }
        area.present()?;
    }
    Ok(text)
}

type RowsOfChart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// TFLOP/s of both sides, row by row.
fn speeds(results: &Results, measured: &Measured<'_>) -> Picture {
    let ceiling = ceiling(results, measured);
    let line = ceiling.map(|(tflops, _)| tflops);
    let fastest = measured
        .iter()
        .flat_map(|(_, m)| [Some(m.ours.speed.tflops), m.peer.as_ref().map(|peer| peer.speed.tflops)])
        .flatten()
        .fold(0.0, f64::max);
    let high = line.unwrap_or(fastest).max(fastest) * 1.03;
    let of_line = ceiling.map_or(String::new(), |(_, name)| format!("; line: ceiling of {name}"));
    let title = format!(
        "{}: TFLOP/s, ours (filled) and the peer (hollow){of_line}",
        results.about.device
    );
    by_row(measured, &title, "TFLOP/s", (0.0, high), line, |chart, at, m| {
        let at = at as f64;
        chart.draw_series([Circle::new((m.ours.speed.tflops, at), 4, OURS.filled())])?;
        if let Some(peer) = &m.peer {
            chart.draw_series([Circle::new((peer.speed.tflops, at), 5, PEER.stroke_width(2))])?;
        }
        Ok(())
    })
}

/// Peer time over ours with its quartiles, row by row.
fn ratios(results: &Results, measured: &Measured<'_>) -> Picture {
    let all = measured.iter().filter_map(|(_, m)| m.ratio);
    let low = all.clone().map(|ratio| ratio.q1).fold(0.9, f64::min) - 0.05;
    let high = all.map(|ratio| ratio.q3).fold(1.1, f64::max) + 0.05;
    let of_random = results.about.random.map_or(String::new(), |draw| format!(", {draw}"));
    let title = format!(
        "{}{of_random}: peer time over ours; right of 1 ours is faster",
        results.about.device
    );
    let mut measured = measured.to_vec();
    if results.about.random.is_some() {
        // No order of theirs means anything.
        let median = |(_, m): &(&RowResult, &Measurement)| m.ratio.map_or(f64::INFINITY, |ratio| ratio.median);
        measured.sort_by(|a, b| median(a).total_cmp(&median(b)));
    }
    by_row(
        &measured,
        &title,
        "ratio, median and quartiles",
        (low, high),
        Some(1.0),
        |chart, at, m| {
            let Some(ratio) = m.ratio else { return Ok(()) };
            let at = at as f64;
            chart.draw_series([PathElement::new([(ratio.q1, at), (ratio.q3, at)], OURS.stroke_width(2))])?;
            chart.draw_series([Circle::new((ratio.median, at), 4, OURS.filled())])?;
            Ok(())
        },
    )
}

/// TFLOP/s over operations a byte of device memory, with what the SMs and the memory allow.
fn roofline(results: &Results, measured: &Measured<'_>) -> Picture {
    let (Some(ceilings), Some((most_tflops, name))) = (results.about.ceilings, ceiling(results, measured)) else {
        return Ok(String::new());
    };
    let intensity = |row: &RowResult| {
        let (m, n, k) = (row.row.m as f64, row.row.n as f64, row.row.k as f64);
        2.0 * m * n * k / row.row.bytes()
    };
    let tera_bytes = ceilings.dram_gb_per_second / 1e3;
    let roof = |intensity: f64| (intensity * tera_bytes).min(most_tflops);
    let least = measured
        .iter()
        .map(|(row, _)| intensity(row))
        .fold(f64::INFINITY, f64::min)
        / 2.0;
    let most = measured.iter().map(|(row, _)| intensity(row)).fold(0.0, f64::max) * 2.0;
    let slowest = measured
        .iter()
        .map(|(_, m)| m.ours.speed.tflops)
        .fold(roof(least), f64::min)
        / 2.0;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (900, 520)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(
                format!(
                    "{}: roofline of {name}, {most_tflops:.1} TFLOP/s and {tera_bytes:.1} TB/s",
                    results.about.device
                ),
                ("sans-serif", 18),
            )
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d((least..most).log_scale(), (slowest..most_tflops * 1.6).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("operations for each byte that must cross the memory bus")
            .y_desc("TFLOP/s")
            .label_style(("sans-serif", 13))
            .draw()?;
        let steps = 200;
        let points = (0..=steps).map(|step| {
            let at = least * (most / least).powf(f64::from(step) / f64::from(steps));
            (at, roof(at))
        });
        chart.draw_series(LineSeries::new(points, CEILING.stroke_width(2)))?;
        for (row, measurement) in measured {
            let at = intensity(row);
            chart.draw_series([Circle::new((at, measurement.ours.speed.tflops), 4, OURS.filled())])?;
            if let Some(peer) = &measurement.peer {
                chart.draw_series([Circle::new((at, peer.speed.tflops), 5, PEER.stroke_width(2))])?;
            }
        }
        finish(&area)?;
    }
    Ok(text)
}

fn finish(area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
    Ok(area.present()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::{About, Ceilings, Outcome, Side, Speed};
    use crate::bench::stats::Quartiles;
    use crate::bench::{Selection, Suite};

    fn results(suite: &str) -> Results {
        let side = |tflops: f64| Side {
            name: "kernel".to_owned(),
            speed: Speed {
                tflops,
                ..Speed::of(&[10.0], 1.0)
            },
            lone_us: None,
            error_over_bound: 0.1,
        };
        let suite = Suite::named(suite, &Selection::default()).expect("a suite");
        let rows = suite.rows.into_iter().take(3).map(|row| RowResult {
            row,
            kernel: None,
            outcome: Outcome::Measured(Box::new(Measurement {
                ours: side(40.0),
                peer: Some(side(39.0)),
                ratio: Quartiles::of(&[0.9, 1.0, 1.2]),
                lone_ratio: None,
                zeros: None,
                passed_over: Vec::new(),
                rounds: 3,
                launches: 1,
                lone_rounds: None,
                sets: 1,
                plan: None,
                digest: None,
                telemetry: None,
            })),
        });
        Results {
            suite: suite.name,
            about: About {
                device: "a <device>".to_owned(),
                ceilings: Some(Ceilings {
                    f32_tflops: 66.9,
                    half_tflops: Some(989.0),
                    fp8_tflops: Some(1979.0),
                    clock_mhz: 1980.0,
                    dram_gb_per_second: 4800.0,
                }),
                ..About::default()
            },
            rows: rows.collect(),
        }
    }

    #[test]
    fn every_picture_is_xml_and_names_every_row() {
        let results = results("shapes");
        let pictures = plots(&results).expect("drawn");
        let names: Vec<_> = pictures.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["tflops", "ratio", "roofline"]);
        for (name, svg) in &pictures {
            let tree = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}"));
            let texts: String = tree.descendants().filter_map(|node| node.text()).collect();
            assert!(texts.contains("a <device>"), "{name}");
            for row in results.rows.iter().filter(|_| *name != "roofline") {
                assert!(texts.contains(&row.row.name), "{name}: {}", row.row.name);
            }
            let circles = tree.descendants().filter(|node| node.has_tag_name("circle")).count();
            assert!(circles >= results.rows.len(), "{name}: {circles}");
        }
    }

    #[test]
    fn the_ceiling_is_that_of_the_type() {
        for (suite, ceiling, others) in [
            ("half", "989.0", "66.9"),
            ("shapes", "66.9", "989.0"),
            ("fp8", "1979.0", "989.0"),
        ] {
            let pictures = plots(&results(suite)).expect("drawn");
            let (_, roofline) = pictures
                .iter()
                .find(|(name, _)| *name == "roofline")
                .expect("has ceilings");
            assert!(roofline.contains(ceiling) && !roofline.contains(others), "{suite}");
        }
    }

    #[test]
    fn nothing_measured_is_no_picture() {
        let empty = Results {
            rows: Vec::new(),
            ..results("shapes")
        };
        assert!(plots(&empty).expect("nothing to draw").is_empty());
    }
}
