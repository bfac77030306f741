//! Errors over K as a picture (SVG).

use std::error::Error;

use plotters::prelude::*;

/// A product's largest and mean errors over K.
pub struct Series {
    /// What it is called.
    pub name: &'static str,
    /// K, the largest error, the mean one.
    pub points: Vec<(f64, f64, f64)>,
}

/// One color a product: ours by tensor cores, ours by `fma`, the peer's.
const COLORS: [RGBColor; 3] = [RGBColor(200, 70, 30), RGBColor(110, 110, 110), RGBColor(40, 90, 170)];

/// Largest errors as lines, mean errors as thin ones, both axes logarithmic.
///
/// # Errors
/// What the library that draws says.
pub fn over_k(all: &[Series], device: &str) -> Result<String, Box<dyn Error>> {
    let points = || all.iter().flat_map(|series| &series.points);
    let least_k = points().map(|&(k, ..)| k).fold(f64::INFINITY, f64::min);
    let most_k = points().map(|&(k, ..)| k).fold(0.0, f64::max);
    let least = points().map(|&(.., mean)| mean).fold(f64::INFINITY, f64::min) / 1.5;
    let most = points().map(|&(_, max, _)| max).fold(0.0, f64::max) * 1.5;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (900, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(
                format!("{device}: errors of f32 products against f64, elements between -1 and 1"),
                ("sans-serif", 18),
            )
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d((least_k..most_k).log_scale(), (least..most).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("K, terms of each sum")
            .y_desc("error / sum of magnitudes, in 2^-24")
            .label_style(("sans-serif", 13))
            .draw()?;
        for (series, color) in all.iter().zip(COLORS) {
            let largest = series.points.iter().map(|&(k, max, _)| (k, max));
            let mean = series.points.iter().map(|&(k, _, mean)| (k, mean));
            chart
                .draw_series(LineSeries::new(largest.clone(), color.stroke_width(3)))?
                .label(format!("{}: largest, and mean (thin)", series.name))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
            chart.draw_series(LineSeries::new(mean.clone(), color.stroke_width(1)))?;
            chart.draw_series(largest.chain(mean).map(|point| Circle::new(point, 3, color.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .label_font(("sans-serif", 13))
            .draw()?;
        area.present()?;
    }
    Ok(text)
}
