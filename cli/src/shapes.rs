//! Products that the user names: arguments that several commands share.

use std::path::PathBuf;

use clap::Args;
use tilewright_harness::bench::{Selection, Suite};

use crate::failure::{Failure, Result};
use crate::{files, kernels};

/// Products of your own: one, or the rows of a file.
#[derive(Args)]
pub struct Shapes {
    /// Rows of A and C
    #[arg(short, value_name = "ROWS", requires_all = ["n", "k"], conflicts_with = "file")]
    m: Option<usize>,
    /// Columns of B and C
    #[arg(short, value_name = "COLUMNS", requires = "m", conflicts_with = "file")]
    n: Option<usize>,
    /// Columns of A, rows of B
    #[arg(short, value_name = "INNER", requires = "m", conflicts_with = "file")]
    k: Option<usize>,
    /// Shapes as CSV: m,n,k[,dtype][,layout][,name]; a header, which may name batch, and # comments where you like
    #[arg(long, value_name = "CSV")]
    file: Option<PathBuf>,
    /// Element types, of f32, f64, f16, bf16: for -m -n -k and rows that name none each of them (without it f32); other
    /// rows are left out
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    dtype: Vec<String>,
    /// Layouts, of nn, nt, tn, tt: t for an operand that is stored transposed; as --dtype, without it nn
    #[arg(long, value_name = "LAYOUTS", value_delimiter = ',')]
    layout: Vec<String>,
}

impl Shapes {
    /// The element types and layouts that are asked for.
    pub fn selection(&self) -> Result<Selection> {
        let layout = |name: &String| {
            name.parse()
                .map_err(|problem| Failure::input(format!("`{name}`: {problem}")))
        };
        Ok(Selection {
            dtypes: distinct(self.dtype.iter().map(|name| kernels::parse_dtype(name)))?,
            layouts: distinct(self.layout.iter().map(layout))?,
        })
    }

    /// Whether products are named.
    pub fn are_named(&self) -> bool {
        self.file.is_some() || self.m.is_some()
    }

    /// The products, or batches of -m -n -k; `None` where none are named.
    pub fn suite(&self, batch: usize) -> Result<Option<Suite>> {
        let selection = self.selection()?;
        Ok(match (&self.file, self.m, self.n, self.k) {
            (Some(file), ..) => {
                let text = files::text(file)?;
                let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                let suite = Suite::of_csv(&stem, &text, &selection).map_err(|error| Failure::file(file, error))?;
                Some(suite)
            }
            (None, Some(m), Some(n), Some(k)) => Some(Suite::of_product([m, n, k], batch, &selection)?),
            _ => None,
        })
    }
}

/// The values in their order, each once.
fn distinct<V: PartialEq>(values: impl Iterator<Item = Result<V>>) -> Result<Vec<V>> {
    let mut distinct = Vec::new();
    for value in values {
        let value = value?;
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    Ok(distinct)
}
