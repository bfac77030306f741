//! What `ncu --csv` counted.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// Counters of one launch, by their names.
pub type Counters = BTreeMap<String, f64>;

/// Counters of all launches.
pub struct Counted {
    /// By kernel, its launches in their order.
    launches: BTreeMap<String, Vec<Counters>>,
}

impl Counted {
    /// Reads the file: a header, then a line for each launch and counter, every field in quotation marks.
    pub fn read(file: &Path) -> Result<Self, Box<dyn Error>> {
        let text = std::fs::read_to_string(file)?;
        let mut lines = text.lines().filter(|line| line.starts_with('"')).map(fields);
        let header = lines.next().ok_or_else(|| format!("{} has no table", file.display()))?;
        let column = |name: &str| {
            let place = header.iter().position(|field| *field == name);
            place.ok_or_else(|| format!("{} has no column `{name}`", file.display()))
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
            let launch = launches.entry(field(id)?.parse()?).or_default();
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

    /// The `nth` launch of a kernel.
    pub fn of(&self, symbol: &str, nth: usize) -> Option<Counters> {
        self.launches.get(symbol)?.get(nth).cloned()
    }
}

/// The fields of a line: `"a","b,c"`.
fn fields(line: &str) -> Vec<&str> {
    line.trim().trim_matches('"').split("\",\"").collect()
}
