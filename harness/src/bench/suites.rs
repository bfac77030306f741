//! Named lists of rows: those of this crate, each a file in `suites/`, and a user's own.

use std::fmt;

use serde::Serialize;
use tilewright::{Error, Result};

use super::parse::{self, OpenRow, Selection};
use super::rows::{Layout, Row};
use crate::shapes::log_uniform;

/// A named list of rows.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The name on the command line and in file names.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Its rows, in the order of the report.
    pub rows: Vec<Row>,
    /// Whether the rows are a user's: where there is no GPU, the CPU's suite cannot stand in for them.
    pub own: bool,
    /// How the shapes of the rows were drawn, where they are random.
    pub random: Option<Draw>,
}

/// How random shapes are drawn: the same shapes on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Draw {
    /// Shapes, each of which is a row of every element type.
    pub count: usize,
    /// The seed of [`log_uniform`](crate::shapes::log_uniform).
    pub seed: u64,
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.count == 1 { "" } else { "s" };
        write!(f, "{} random shape{s} of each type, seed {}", self.count, self.seed)
    }
}

/// A suite's name and its file: one line about it as a comment, then its rows.
const FILES: [(&str, &str); 14] = [
    ("squares", include_str!("suites/squares.csv")),
    ("shapes", include_str!("suites/shapes.csv")),
    (Suite::LESSONS, include_str!("suites/lessons.csv")),
    ("layouts", include_str!("suites/layouts.csv")),
    ("half", include_str!("suites/half.csv")),
    ("half-shapes", include_str!("suites/half-shapes.csv")),
    ("double", include_str!("suites/double.csv")),
    ("emulated", include_str!("suites/emulated.csv")),
    ("tf32", include_str!("suites/tf32.csv")),
    ("batches", include_str!("suites/batches.csv")),
    ("fp8", include_str!("suites/fp8.csv")),
    ("fp8-choice", include_str!("suites/fp8-choice.csv")),
    ("twins", include_str!("suites/twins.csv")),
    (Suite::CPU, include_str!("suites/cpu.csv")),
];

impl Suite {
    /// The suite that is timed where none is named.
    pub const DEFAULT: &str = FILES[0].0;
    /// The suite whose table shows what each lesson gained.
    pub const LESSONS: &str = "lessons";
    /// The suite of the CPU's product.
    pub const CPU: &str = "cpu";
    /// The name of random shapes: they are drawn, and in no file.
    pub const RANDOM: &str = "random";

    /// The names of this crate's suites.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.into_iter().map(|(name, _)| name)
    }

    /// A suite of this crate, as far as its rows are asked for.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an unknown name, and where no row is asked for.
    pub fn named(name: &str, selection: &Selection) -> Result<Self> {
        let (name, text) = FILES.into_iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            Error::InvalidArgument(format!("unknown suite `{name}`; known: {known}"))
        })?;
        let about = text.lines().next().and_then(|line| line.strip_prefix("# "));
        let suite = Self {
            name: name.to_owned(),
            about: about.unwrap_or_default().to_owned(),
            rows: parse::rows(text, selection)?,
            own: false,
            random: None,
        };
        suite.with_rows(|| parse::rows(text, &Selection::default()))
    }

    /// A user's rows, as CSV: `m,n,k[,dtype][,layout][,name]`, a header and comments where one likes. `name` is what
    /// the report is called after.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the number of the line that is wrong, and where there is no row or none is asked
    /// for.
    pub fn of_csv(name: &str, text: &str, selection: &Selection) -> Result<Self> {
        let word = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let suite = Self {
            name: format!("own-{}", name.chars().map(word).collect::<String>()),
            about: "the rows of a file, the planner's choice against cuBLAS".to_owned(),
            rows: parse::rows(text, selection)?,
            own: true,
            random: None,
        };
        suite.with_rows(|| parse::rows(text, &Selection::default()))
    }

    /// One product, or a batch of it, in every type and layout that is asked for; f32 and NN, where none is.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents of 0 and for those that the kernels cannot index.
    pub fn of_product(extents: [usize; 3], batch: usize, selection: &Selection) -> Result<Self> {
        let [m, n, k] = extents;
        if let Some((name, _)) = ["m", "n", "k", "batch"]
            .into_iter()
            .zip([m, n, k, batch])
            .find(|(_, extent)| *extent == 0)
        {
            return Err(Error::InvalidArgument(format!("{name} is 0: there is nothing to time")));
        }
        let open = OpenRow {
            batch,
            ..OpenRow::of_product(extents)
        };
        Ok(Self {
            name: "own".to_owned(),
            about: "one product, the planner's choice against cuBLAS".to_owned(),
            rows: selection.rows(&open)?,
            own: true,
            random: None,
        })
    }

    /// Random shapes, each in every type that is asked for, f32 where none is. Shape number i has layout i modulo their
    /// number of those that are asked for, all four where none is.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no shape.
    pub fn random(draw: Draw, selection: &Selection) -> Result<Self> {
        if draw.count == 0 {
            return Err(Error::InvalidArgument(
                "0 random shapes: there is nothing to time".to_owned(),
            ));
        }
        let layouts = match selection.layouts.as_slice() {
            [] => &Layout::ALL,
            layouts => layouts,
        };
        let open: Vec<_> = log_uniform(draw.seed, draw.count)
            .zip(layouts.iter().cycle())
            .map(|(extents, &layout)| OpenRow {
                layout: Some(layout),
                ..OpenRow::of_product(extents)
            })
            .collect();
        let mut rows: Vec<Row> = Vec::new();
        for row in &open {
            rows.extend(selection.rows(row)?);
        }
        // One type after the other: the sort is stable.
        let number = |row: &Row| selection.dtypes.iter().position(|dtype| *dtype == row.dtype);
        rows.sort_by_key(number);
        Ok(Self {
            name: Self::RANDOM.to_owned(),
            about: format!("{draw}, the planner's choice against cuBLAS"),
            rows,
            own: true,
            random: Some(draw),
        })
    }

    /// The suite, provided that it has rows; `all` are those before the selection.
    fn with_rows(self, all: impl FnOnce() -> Result<Vec<Row>>) -> Result<Self> {
        if !self.rows.is_empty() {
            return Ok(self);
        }
        let mut kinds: Vec<String> = Vec::new();
        for row in all()? {
            let kind = format!("{} {}", row.elements(), row.layout.name());
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Err(Error::InvalidArgument(match kinds.as_slice() {
            [] => "no rows; a row is m,n,k[,dtype][,layout][,name]".to_owned(),
            kinds => format!(
                "no row of the types and layouts that were asked for; the rows are of {}",
                kinds.join(", ")
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tilewright::ErrorKind;
    use tilewright_contract::DType;

    use super::*;
    use crate::bench::rows::Subject;

    fn suite(name: &str) -> Suite {
        Suite::named(name, &Selection::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[test]
    fn every_suite_says_what_it_is_and_names_each_row_and_product_once() {
        for name in Suite::names() {
            let Suite { about, rows, .. } = suite(name);
            assert!(!about.is_empty() && !about.contains("m,n,k"), "{name}: {about}");
            let names: BTreeSet<_> = rows.iter().map(|row| row.name.as_str()).collect();
            assert_eq!(names.len(), rows.len(), "{name}");
            let product = |row: &Row| {
                format!(
                    "{:?}",
                    Row {
                        name: String::new(),
                        ..row.clone()
                    }
                )
            };
            let products: BTreeSet<_> = rows.iter().map(product).collect();
            assert_eq!(products.len(), rows.len(), "{name}");
        }
    }

    #[test]
    fn suites_have_the_rows_that_results_were_filed_for() {
        let counts: Vec<_> = Suite::names().map(|name| (name, suite(name).rows.len())).collect();
        let expected = [
            ("squares", 5),
            ("shapes", 30),
            ("lessons", 18),
            ("layouts", 8),
            ("half", 24),
            ("half-shapes", 30),
            ("double", 11),
            ("emulated", 11),
            ("tf32", 13),
            ("batches", 12),
            ("fp8", 24),
            ("fp8-choice", 36),
            ("twins", 18),
            ("cpu", 3),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn every_lesson_is_measured() {
        let measured: Vec<_> = suite(Suite::LESSONS).rows.iter().map(|row| row.subject).collect();
        for lesson in tilewright_contract::lessons::KERNELS {
            assert!(measured.contains(&Subject::Family(lesson.family)), "{}", lesson.symbol);
        }
    }

    #[test]
    fn a_selection_narrows_a_suite_or_says_what_it_has() {
        let of = |dtypes: &[DType], layouts: &[Layout]| Selection {
            dtypes: dtypes.to_vec(),
            layouts: layouts.to_vec(),
        };
        let some = Suite::named("half", &of(&[DType::Bf16], &[Layout::NT])).expect("has such rows");
        assert_eq!(some.rows.len(), 6);
        let none = Suite::named("squares", &of(&[DType::F16], &[])).expect_err("is of f32");
        assert!(none.to_string().ends_with("the rows are of f32 NN"), "{none}");
        let unknown = Suite::named("cubes", &Selection::default()).expect_err("no such suite");
        assert!(unknown.to_string().ends_with(
            "known: squares, shapes, lessons, layouts, half, half-shapes, double, emulated, tf32, batches, fp8, \
             fp8-choice, twins, cpu"
        ));
    }

    #[test]
    fn random_rows_are_the_same_for_a_seed_and_take_layouts_by_turns() {
        let of =
            |count, seed, selection: &Selection| Suite::random(Draw { count, seed }, selection).expect("some rows");
        let five = of(5, 2026, &Selection::default());
        let rows = |suite: &Suite| suite.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
        assert_eq!(rows(&five)[..2], ["2439 x 3004 x 1341 f32 NN", "56 x 31 x 65 f32 NT"]);
        assert_eq!((five.name.as_str(), five.own), ("random", true));
        assert_eq!(
            five.about,
            "5 random shapes of each type, seed 2026, the planner's choice against cuBLAS"
        );
        let layouts = |suite: &Suite| suite.rows.iter().map(|row| row.layout).collect::<Vec<_>>();
        assert_eq!(layouts(&five)[..4], Layout::ALL);
        assert_eq!(layouts(&five)[4], Layout::NN);
        // More rows begin with the same ones; another seed has others.
        assert_eq!(of(9, 2026, &Selection::default()).rows[..5], five.rows);
        assert!(
            of(5, 7, &Selection::default())
                .rows
                .iter()
                .all(|row| !five.rows.contains(row))
        );
        let both = Selection {
            dtypes: vec![DType::F64, DType::F16],
            layouts: vec![Layout::TN, Layout::NN],
        };
        let selected = of(3, 2026, &both);
        let extents = |rows: &[Row]| rows.iter().map(|row| [row.m, row.n, row.k]).collect::<Vec<_>>();
        assert_eq!(selected.rows.len(), 6);
        assert_eq!(extents(&selected.rows[..3]), extents(&five.rows[..3]));
        assert_eq!(extents(&selected.rows[3..]), extents(&five.rows[..3]));
        assert_eq!(layouts(&selected), [Layout::TN, Layout::NN, Layout::TN].repeat(2));
        assert!(selected.rows[..3].iter().all(|row| row.dtype == DType::F64));
        let none = Suite::random(Draw { count: 0, seed: 1 }, &both).expect_err("no shape");
        assert_eq!(none.kind(), ErrorKind::Input);
    }

    #[test]
    fn own_rows_are_marked_and_their_file_names_the_report() {
        let own = Suite::of_csv("my layers/v2", "1,2,3", &Selection::default()).expect("a row");
        assert_eq!((own.name.as_str(), own.own), ("own-my-layers-v2", true));
        let empty = Suite::of_csv("x", "# nothing", &Selection::default()).expect_err("no row");
        assert!(empty.to_string().starts_with("no rows; "), "{empty}");
        let both = Selection {
            dtypes: vec![DType::F32, DType::F16],
            layouts: vec![Layout::TN],
        };
        let names: Vec<_> = Suite::of_product([1, 2, 3], 1, &both)
            .expect("fits")
            .rows
            .into_iter()
            .map(|row| row.name)
            .collect();
        assert_eq!(names, ["1 x 2 x 3 f32 TN", "1 x 2 x 3 f16 TN"]);
        for (extents, problem) in [([1, 0, 3], "n is 0"), ([1, 1, 1 << 40], "1099511627776")] {
            let error = Suite::of_product(extents, 1, &both).expect_err("cannot be timed");
            assert!(
                error.to_string().contains(problem) && error.kind() == ErrorKind::Input,
                "{error}"
            );
        }
    }
}
