//! The ratios of a suite together: of each element type and layout, of each type, and of all rows.

use serde::Serialize;

use super::results::Results;
use super::rows::{Layout, Row};
use super::stats::{geometric_mean, quantile};

/// A row with a smaller ratio is named in a [`Summary`].
pub const SLOW: f64 = 0.8;

/// The ratios of some rows of a suite together: the median ratio of each row that has one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The [elements](Row::elements) of the rows; none for those of all.
    #[serde(rename = "dtype")]
    pub elements: Option<String>,
    /// The layout of the rows; none for those of every layout.
    pub layout: Option<Layout>,
    /// Number of rows with a ratio.
    pub rows: usize,
    /// The geometric mean of their ratios.
    pub geometric_mean: f64,
    /// The ratio below which a twentieth of the rows lies, interpolated between neighbors.
    pub fifth_percentile: f64,
    /// The least ratio.
    pub least: f64,
    /// The name of the row of the least.
    pub least_row: String,
    /// Rows below [`SLOW`], the slowest first.
    pub slow: Vec<SlowRow>,
}

/// A row whose ratio is small.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowRow {
    /// Its name.
    pub name: String,
    /// Its ratio.
    pub ratio: f64,
}

impl Summary {
    /// Of the rows that are wanted; `None` where no such row has a ratio.
    fn of(results: &Results, elements: Option<String>, layout: Option<Layout>) -> Option<Self> {
        let is_wanted = |row: &Row| {
            elements.as_ref().is_none_or(|elements| *elements == row.elements())
                && layout.is_none_or(|layout| layout == row.layout)
        };
        let rows = results.rows.iter().filter(|result| is_wanted(&result.row));
        let mut named: Vec<(f64, &Row)> = rows.filter_map(|result| Some((result.ratio()?, &result.row))).collect();
        named.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ratios: Vec<f64> = named.iter().map(|(ratio, _)| *ratio).collect();
        let (least, least_row) = named.first()?;
        let slow = named.iter().take_while(|(ratio, _)| *ratio < SLOW);
        Some(Self {
            elements,
            layout,
            rows: named.len(),
            geometric_mean: geometric_mean(&ratios)?,
            fifth_percentile: quantile(&ratios, 0.05)?,
            least: *least,
            least_row: least_row.name.clone(),
            slow: slow
                .map(|(ratio, row)| SlowRow {
                    name: row.name.clone(),
                    ratio: *ratio,
                })
                .collect(),
        })
    }

    /// What its rows have in common: `f32 NN`, `f32`, or `all`.
    pub fn title(&self) -> String {
        let words = [self.elements.as_deref(), self.layout.map(Layout::name)];
        match words {
            [None, None] => "all".to_owned(),
            words => words.into_iter().flatten().collect::<Vec<_>>().join(" "),
        }
    }
}

impl Results {
    /// The ratios together: for each element type those of each layout, then those of the type; at the end those of all
    /// rows. Empty where nothing was compared.
    pub fn summaries(&self) -> Vec<Summary> {
        let mut kinds: Vec<String> = Vec::new();
        for elements in self.rows.iter().map(|result| result.row.elements()) {
            if !kinds.contains(&elements) {
                kinds.push(elements);
            }
        }
        let layouts = || Layout::ALL.into_iter().map(Some).chain([None]);
        let of_kinds = kinds
            .into_iter()
            .flat_map(|elements| layouts().map(move |layout| (Some(elements.clone()), layout)));
        of_kinds
            .chain([(None, None)])
            .filter_map(|(elements, layout)| Summary::of(self, elements, layout))
            .collect()
    }
}

#[cfg(test)]
#[path = "summary/tests.rs"]
mod tests;
