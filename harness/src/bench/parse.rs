//! Rows as CSV: `m,n,k[,dtype][,layout][,name]`, with a header line or without, the suites of this crate and a user's
//! file alike.
//!
//! Lines that begin with `#` are comments. A header names the columns in any order, and may name `batch` (products of
//! that shape), `kernel` (a family), `tile` (its width in elements), `against` (`twin`, or a family) and `fp8` (scales
//! and accumulation of e4m3 operands, an `Fp8Row`) besides. An empty cell is one that is not there.

use std::fmt::Display;
use std::str::FromStr;

use csv::{ReaderBuilder, StringRecord, Trim};
use tilewright::{Error, Result};
use tilewright_contract::{DType, Family};

use super::fp8::Fp8Row;
use super::rows::{Baseline, Layout, Row, Subject};

/// What a header may name.
const COLUMNS: [&str; 11] = [
    "m", "n", "k", "batch", "dtype", "layout", "name", "kernel", "tile", "against", "fp8",
];

/// The columns without a header.
const POSITIONAL: [&str; 6] = ["m", "n", "k", "dtype", "layout", "name"];

/// Element types and layouts that were asked for. A row that names its own counts if it is among them, or if the list
/// is empty; a row that does not stands for one row of each, f32 and NN where the list is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Element types.
    pub dtypes: Vec<DType>,
    /// Layouts.
    pub layouts: Vec<Layout>,
}

/// A row as far as a line says it.
#[derive(Clone, Debug)]
pub(super) struct OpenRow {
    pub extents: [usize; 3],
    pub batch: usize,
    pub dtype: Option<DType>,
    pub layout: Option<Layout>,
    pub name: Option<String>,
    pub subject: Subject,
    pub baseline: Baseline,
    pub fp8: Option<Fp8Row>,
}

impl Selection {
    /// The rows that an open row stands for, in the order of the lists.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that the kernels cannot index.
    pub(super) fn rows(&self, open: &OpenRow) -> Result<Vec<Row>> {
        let dtypes = chosen(open.dtype, &self.dtypes, DType::F32);
        let layouts = chosen(open.layout, &self.layouts, Layout::NN);
        let [m, n, k] = open.extents;
        let mut rows = Vec::new();
        for &dtype in &dtypes {
            for &layout in &layouts {
                let name = match &open.name {
                    None => format!("{} {dtype} {}", open.product(), layout.name()),
                    Some(name) => {
                        let mut name = name.clone();
                        if dtypes.len() > 1 {
                            name += &format!(" {dtype}");
                        }
                        if layouts.len() > 1 {
                            name += &format!(" {}", layout.name());
                        }
                        name
                    }
                };
                let row = Row {
                    name,
                    m,
                    n,
                    k,
                    batch: open.batch,
                    dtype,
                    layout,
                    fp8: open.fp8,
                    subject: open.subject,
                    baseline: open.baseline,
                };
                row.shape()?;
                rows.push(row);
            }
        }
        Ok(rows)
    }
}

impl OpenRow {
    /// One product, the planner's choice against the library, in every type and layout that is asked for.
    pub fn of_product(extents: [usize; 3]) -> Self {
        Self {
            extents,
            batch: 1,
            dtype: None,
            layout: None,
            name: None,
            subject: Subject::Auto,
            baseline: Baseline::Library,
            fp8: None,
        }
    }

    /// Its product, as shapes are written.
    fn product(&self) -> String {
        product_name(self.extents, self.batch)
    }
}

/// `m x n x k`, of a batch `count x (m x n x k)`.
pub fn product_name([m, n, k]: [usize; 3], batch: usize) -> String {
    match batch {
        1 => format!("{m} x {n} x {k}"),
        _ => format!("{batch} x ({m} x {n} x {k})"),
    }
}

/// A choice of dispatch: the kernel without its element type, its tile, and the split-K factor if there is one.
pub fn choice_name(kernel: &str, [m, n]: [u32; 2], splits: u32) -> String {
    let kernel = kernel.rsplit_once('_').map_or(kernel, |(kernel, _)| kernel);
    match splits {
        1 => format!("{kernel} {m}x{n}"),
        _ => format!("{kernel} {m}x{n} / {splits}"),
    }
}

/// The values that a cell stands for.
fn chosen<V: Copy + PartialEq>(cell: Option<V>, asked_for: &[V], default: V) -> Vec<V> {
    match cell {
        Some(value) if asked_for.is_empty() || asked_for.contains(&value) => vec![value],
        Some(_) => Vec::new(),
        None if asked_for.is_empty() => vec![default],
        None => asked_for.to_vec(),
    }
}

/// The rows of a text, as far as they are asked for. There may be none.
///
/// # Errors
/// [`Error::InvalidArgument`] that begins with the number of the line, counted from 1.
pub(super) fn rows(text: &str, selection: &Selection) -> Result<Vec<Row>> {
    let mut columns: Option<Vec<&str>> = None;
    let mut rows = Vec::new();
    // A file that a spreadsheet wrote begins with the mark of UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A line at a time, so that an error has the line's number.
    for (index, line) in text.lines().enumerate() {
        let at = |problem: &dyn Display| Error::InvalidArgument(format!("line {}: {problem}", index + 1));
        if line.trim_start().starts_with('#') {
            continue;
        }
        let fields = fields(line).map_err(|error| at(&error))?;
        if fields.iter().all(str::is_empty) {
            continue;
        }
        let columns = match &columns {
            Some(columns) => columns,
            None => {
                let header = header(&fields).map_err(|problem| at(&problem))?;
                let is_header = header.is_some();
                let known = columns.insert(header.unwrap_or_else(|| POSITIONAL.to_vec()));
                if is_header {
                    continue;
                }
                known
            }
        };
        let open = row(&fields, columns).map_err(|problem| at(&problem))?;
        rows.extend(selection.rows(&open).map_err(|error| at(&error))?);
    }
    Ok(rows)
}

/// The cells of a line, without the blanks around them.
fn fields(line: &str) -> csv::Result<StringRecord> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .trim(Trim::All)
        .from_reader(line.as_bytes());
    let mut record = StringRecord::new();
    reader.read_record(&mut record)?;
    Ok(record)
}

/// The columns that a header names; `None` for a line that is none: it begins with a number, or names no column.
fn header(fields: &StringRecord) -> std::result::Result<Option<Vec<&'static str>>, String> {
    let column = |field: &str| COLUMNS.into_iter().find(|column| column.eq_ignore_ascii_case(field));
    if !fields.iter().any(|field| column(field).is_some()) {
        return Ok(None);
    }
    let mut columns = Vec::new();
    for field in fields {
        let known = column(field).ok_or_else(|| format!("unknown column `{field}`; known: {}", COLUMNS.join(", ")))?;
        if columns.contains(&known) {
            return Err(format!("column `{known}` twice"));
        }
        columns.push(known);
    }
    match ["m", "n", "k"].into_iter().find(|extent| !columns.contains(extent)) {
        Some(missing) => Err(format!("no column `{missing}`")),
        None => Ok(Some(columns)),
    }
}

/// A row's cells, by the names of their columns.
fn row(fields: &StringRecord, columns: &[&str]) -> std::result::Result<OpenRow, String> {
    if fields.len() > columns.len() {
        return Err(format!(
            "{} fields, the columns are {}",
            fields.len(),
            columns.join(", ")
        ));
    }
    let cell = |name: &str| {
        let at = columns.iter().position(|column| *column == name)?;
        fields.get(at).filter(|field| !field.is_empty())
    };
    let extent = |name: &str, default: Option<&str>| {
        let cell = cell(name).or(default).ok_or_else(|| format!("no {name}"))?;
        let number = cell.parse().ok().filter(|extent| *extent > 0);
        number.ok_or_else(|| format!("{name} is `{cell}`, not a number from 1 on"))
    };
    let family = |name: &str, cell: &str| {
        let parsed = cell.parse::<Family>();
        parsed.map_err(|error| format!("{name} `{cell}`: {error}"))
    };
    let width = match cell("tile") {
        None => None,
        Some(cell) => Some(
            cell.parse()
                .map_err(|_| format!("tile is `{cell}`, not a width in elements"))?,
        ),
    };
    let of_family = |family| width.map_or(Subject::Family(family), |width| Subject::Tile(family, width));
    let subject = match (cell("kernel").filter(|name| *name != "auto"), width) {
        (Some(name), _) => of_family(family("kernel", name)?),
        (None, None) => Subject::Auto,
        (None, Some(width)) => return Err(format!("tile {width} of no kernel: name its family")),
    };
    let open = OpenRow {
        extents: [extent("m", None)?, extent("n", None)?, extent("k", None)?],
        batch: extent("batch", Some("1"))?,
        dtype: parsed("dtype", cell("dtype"))?,
        layout: parsed("layout", cell("layout"))?,
        name: cell("name").map(str::to_owned),
        subject,
        baseline: match cell("against") {
            None => Baseline::Library,
            Some("twin") => Baseline::Twin,
            Some("others") => Baseline::Others,
            Some(name) => Baseline::Kernel(of_family(family("against", name)?)),
        },
        fp8: parsed("fp8", cell("fp8"))?,
    };
    match open.fp8 {
        Some(_) => of_fp8(open),
        None if open.baseline == Baseline::Others => Err("others are the kernels of fp8: name that column".to_owned()),
        None => Ok(open),
    }
}

/// A row of FP8: bf16 is the type of its C, NT its layout.
fn of_fp8(open: OpenRow) -> std::result::Result<OpenRow, String> {
    let (dtype, layout) = (open.dtype.unwrap_or(DType::Bf16), open.layout.unwrap_or(Layout::NT));
    let plain = (open.batch, open.subject) == (1, Subject::Auto);
    let has_baseline = matches!(open.baseline, Baseline::Library | Baseline::Others);
    if (dtype, layout) != (DType::Bf16, Layout::NT) || !plain || !has_baseline {
        return Err("a row of fp8 is one product, bf16 (its C) and nt, of no named kernel".to_owned());
    }
    Ok(OpenRow {
        dtype: Some(dtype),
        layout: Some(layout),
        ..open
    })
}

/// A cell's value, where there is a cell.
fn parsed<V: FromStr<Err: Display>>(name: &str, cell: Option<&str>) -> std::result::Result<Option<V>, String> {
    cell.map(|cell| cell.parse().map_err(|problem| format!("{name} `{cell}`: {problem}")))
        .transpose()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tilewright::ErrorKind;

    use super::*;

    #[test]
    fn a_choice_has_a_name_of_its_own() {
        let name = choice_name("mma_f64_wide_nn2_64x64_f64", [64, 64], 4);
        assert_eq!(name, "mma_f64_wide_nn2_64x64 64x64 / 4");
        let mut named = HashMap::new();
        for kernel in tilewright::KERNELS {
            let name = choice_name(kernel.symbol, [kernel.tile.m, kernel.tile.n], 1);
            let before = named.insert((kernel.dtype, name), kernel.symbol);
            assert_eq!(before, None, "{}", kernel.symbol);
        }
    }

    fn read(text: &str) -> Vec<Row> {
        rows(text, &Selection::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn problem(text: &str) -> String {
        match rows(text, &Selection::default()) {
            Ok(rows) => panic!("{text}: {rows:?}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Input, "{error}");
                error.to_string()
            }
        }
    }

    /// What tells two rows apart, in one line.
    fn brief(rows: &[Row]) -> Vec<String> {
        let each = |row: &Row| {
            let Row {
                name,
                m,
                n,
                k,
                dtype,
                layout,
                ..
            } = row;
            format!("{name}: {m} {n} {k} {dtype} {}", layout.name())
        };
        rows.iter().map(each).collect()
    }

    #[test]
    fn cells_may_be_missing_from_the_right_or_empty() {
        let text = "1,2,3\n4,5,6,bf16\n7,8,9,,tn\n10,11,12,f64,NT,last one\n13,14,15,,,  named \n";
        let expected = [
            "1 x 2 x 3 f32 NN: 1 2 3 f32 NN",
            "4 x 5 x 6 bf16 NN: 4 5 6 bf16 NN",
            "7 x 8 x 9 f32 TN: 7 8 9 f32 TN",
            "last one: 10 11 12 f64 NT",
            "named: 13 14 15 f32 NN",
        ];
        assert_eq!(brief(&read(text)), expected);
        // What a spreadsheet makes of the same: its mark, its line ends, cells for what is not there.
        let from_a_spreadsheet = format!("\u{feff}{}\r\n,,,,,\r\n", text.trim_end().replace('\n', "\r\n"));
        assert_eq!(brief(&read(&from_a_spreadsheet)), expected);
    }

    #[test]
    fn a_header_names_the_columns_in_any_order() {
        let text = "# from a profile\n\n Name, K ,n,m\n\"up, gate\",4096,11008,16\n  # more\n,1,2,3\n";
        assert_eq!(
            brief(&read(text)),
            ["up, gate: 16 11008 4096 f32 NN", "3 x 2 x 1 f32 NN: 3 2 1 f32 NN"]
        );
    }

    #[test]
    fn kernel_tile_and_baseline_are_columns_of_a_header() {
        let text = "m,n,k,kernel,tile,against\n1,1,1,auto\n1,1,1,simt\n\
                    1,1,1,tiled_dynamic,32,tiled_static\n\
                    1,1,1,tiled_dynamic,64,twin\n1,1,1,register_tile,,simt\n";
        let found: Vec<_> = read(text).iter().map(|row| (row.subject, row.baseline)).collect();
        let of_32 = |family| Subject::Tile(family, 32);
        let expected = [
            (Subject::Auto, Baseline::Library),
            (Subject::Family(Family::SIMT), Baseline::Library),
            (
                of_32(Family::TILED_DYNAMIC),
                Baseline::Kernel(of_32(Family::TILED_STATIC)),
            ),
            (Subject::Tile(Family::TILED_DYNAMIC, 64), Baseline::Twin),
            (
                Subject::Family(Family::REGISTER_TILE),
                Baseline::Kernel(Subject::Family(Family::SIMT)),
            ),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_of_fp8_are_nt_with_a_c_of_bf16() {
        let rows = read("m,n,k,fp8\n64,128,256,blocks\n64,128,256,tensor fast\n1,2,3,\n");
        let elements: Vec<_> = rows.iter().map(Row::elements).collect();
        assert_eq!(elements, ["e4m3 blocks", "e4m3 tensor fast", "f32"]);
        assert_eq!(brief(&rows)[0], "64 x 128 x 256 bf16 NT: 64 128 256 bf16 NT");
        for wrong in [
            "dtype,fp8\n1,1,16,f16,blocks",
            "batch,fp8\n1,1,16,2,blocks",
            "layout,fp8\n1,1,16,nn,blocks",
        ] {
            let problem = problem(&format!("m,n,k,{wrong}"));
            assert!(problem.starts_with("line 2: a row of fp8 is one product"), "{problem}");
        }
        assert_eq!(
            problem("m,n,k,fp8\n1,1,16,fast"),
            "line 2: fp8 `fast`: unknown; known: tensor fast, tensor promoted, row fast, row promoted, blocks"
        );
    }

    #[test]
    fn a_selection_fills_open_cells_and_drops_rows_of_other_types() {
        let selection = Selection {
            dtypes: vec![DType::F16, DType::Bf16],
            layouts: vec![Layout::NN, Layout::NT],
        };
        let rows = rows(
            "1,2,3,,,open\n1,2,3,f16,nt,settled\n1,2,3,f32,nn,other\n4,4,4,,tt,other\n5,6,7,f16",
            &selection,
        );
        let expected = [
            "open f16 NN: 1 2 3 f16 NN",
            "open f16 NT: 1 2 3 f16 NT",
            "open bf16 NN: 1 2 3 bf16 NN",
            "open bf16 NT: 1 2 3 bf16 NT",
            "settled: 1 2 3 f16 NT",
            "5 x 6 x 7 f16 NN: 5 6 7 f16 NN",
            "5 x 6 x 7 f16 NT: 5 6 7 f16 NT",
        ];
        assert_eq!(brief(&rows.expect("good rows")), expected);
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said_with_its_number() {
        for (text, expected) in [
            ("1,2", "line 1: no k"),
            ("# a\r\n\r\n1,2,3\r\n4,,6", "line 4: no n"),
            ("1,2,3\nx,2,3", "line 2: m is `x`, not a number from 1 on"),
            ("1,2,0", "line 1: k is `0`, not a number from 1 on"),
            ("1,-2,3", "line 1: n is `-2`, not a number from 1 on"),
            ("1,2.5,3", "line 1: n is `2.5`, not a number from 1 on"),
            (
                "99999999999999999999999,1,1",
                "line 1: m is `99999999999999999999999`, not a number from 1 on",
            ),
            (
                "rows,columns,inner\n1,2,3",
                "line 1: m is `rows`, not a number from 1 on",
            ),
            (
                "m,n,k,type",
                "line 1: unknown column `type`; known: m, n, k, batch, dtype, layout, name, kernel, tile, against, \
                 fp8",
            ),
            ("m,n,dtype", "line 1: no column `k`"),
            ("m,n,k,m", "line 1: column `m` twice"),
            (
                "1,2,3,f8",
                "line 1: dtype `f8`: unknown element type; known: f32, f64, f16, bf16",
            ),
            (
                "1,2,3,f32,nx",
                "line 1: layout `nx`: unknown layout; known: nn, nt, tn, tt",
            ),
            (
                "1,2,3,f32,nn,a,b",
                "line 1: 7 fields, the columns are m, n, k, dtype, layout, name",
            ),
            ("m,n,k\n1,2,3,4", "line 2: 4 fields, the columns are m, n, k"),
            ("m,n,k,tile\n1,2,3,16", "line 2: tile 16 of no kernel: name its family"),
            (
                "m,n,k,kernel,tile\n1,2,3,simt,wide",
                "line 2: tile is `wide`, not a width in elements",
            ),
        ] {
            assert_eq!(problem(text), expected);
        }
        let unknown = problem("m,n,k,against\n1,2,3,cublas");
        assert!(
            unknown.starts_with("line 2: against `cublas`: unknown kernel; known: tiled_static, "),
            "{unknown}"
        );
        // 2^31: the kernels index with 32 bits and a sign.
        let large = problem("1,1,1\n2147483648,1,1");
        assert!(large.starts_with("line 2: ") && large.contains("2147483648"), "{large}");
    }

    #[test]
    fn a_text_of_comments_has_no_rows() {
        assert_eq!(read("# nothing\n\n  \nm,n,k\n"), []);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-z,\"#\\n\\r .-]{0,60}") {
            if let Err(error) = rows(&text, &Selection::default()) {
                let line = error.to_string();
                proptest::prop_assert!(line.starts_with("line ") && !line.contains('\n'), "{line}");
            }
        }
    }
}
