//! What `ncu --csv` counted.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};

/// Counters of one launch, by their names.
pub type Counters = BTreeMap<String, f64>;

/// Counters of all launches.
pub struct Counted {
    /// By kernel, its launches in their order.
    launches: BTreeMap<String, Vec<Counters>>,
}

impl Counted {
    /// Reads the file: a header, then a line for each launch and counter, every field in quotation marks.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a file that cannot be read or is no such table.
    pub fn read(file: &Path) -> Result<Self> {
        let wrong = |problem: String| Error::InvalidArgument(format!("{}: {problem}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text).map_err(wrong)
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut lines = text.lines().filter(|line| line.starts_with('"')).map(fields);
        let header = lines.next().ok_or("it has no table")?;
        let column = |name: &str| {
            let place = header.iter().position(|field| *field == name);
            place.ok_or_else(|| format!("it has no column `{name}`"))
        };
        let (id, kernel, name, value) = (
            column("ID")?,
            column("Kernel Name")?,
            column("Metric Name")?,
            column("Metric Value")?,
        );
        let mut launches = BTreeMap::<u32, (String, Counters)>::new();
        for line in lines {
            let field = |place: usize| line.get(place).copied().ok_or("a line lacks a field");
            let id = field(id)?.parse().map_err(|_| "an ID is no number")?;
            let launch = launches.entry(id).or_default();
            launch.0 = field(kernel)?.to_owned();
            // A counter that the device does not have is `n/a`.
            if let Ok(value) = field(value)?.replace(',', "").parse() {
                launch.1.insert(field(name)?.to_owned(), value);
            }
        }
        let mut by_kernel = BTreeMap::<String, Vec<Counters>>::new();
        for (kernel, counters) in launches.into_values() {
            by_kernel.entry(kernel).or_default().push(counters);
        }
        Ok(Self { launches: by_kernel })
    }

    /// The `nth` launch of a kernel; `None` where there is none.
    pub fn of(&self, symbol: &str, nth: usize) -> Option<Counters> {
        self.launches.get(symbol)?.get(nth).cloned()
    }
}

/// The fields of a line: `"a","b,c"`.
fn fields(line: &str) -> Vec<&str> {
    line.trim().trim_matches('"').split("\",\"").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_to_their_kernel_and_launch() {
        let text = "==PROF== noise\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n\
                    \"0\",\"k\",\"loads\",\"1,234\"\n\"0\",\"k\",\"rare\",\"n/a\"\n\"1\",\"k\",\"loads\",\"5\"\n";
        let counted = Counted::parse(text).expect("a table");
        assert_eq!(counted.of("k", 0), Some(Counters::from([("loads".to_owned(), 1234.0)])));
        assert_eq!(counted.of("k", 1).expect("there")["loads"], 5.0);
        assert_eq!((counted.of("k", 2), counted.of("j", 0)), (None, None));
        assert!(Counted::parse("").is_err() && Counted::parse("\"ID\"\n").is_err());
    }
}
