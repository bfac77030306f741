//! What is measured: every row of every suite.

use serde::Serialize;
use tilewright_contract::{DType, Rung};

/// A named list of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// m = n = k.
    Squares,
    /// Skinny, shallow, deep and ragged products, and layers of transformers.
    Shapes,
    /// Every rung at 4096 cubed.
    Ladder,
    /// Transposed operands.
    Layouts,
    /// m = n = k in f16 and bf16.
    Half,
    /// Layers of transformers and ragged products in bf16.
    HalfShapes,
    /// The rungs on tensor cores at 4096 cubed, in f16 and bf16.
    HalfLadder,
    /// Rungs 2 and 3 against CUDA C++ twins, and against each other.
    Twins,
    /// The CPU's product.
    Cpu,
}

impl Suite {
    /// Every suite.
    pub const ALL: [Suite; 9] = [
        Suite::Squares,
        Suite::Shapes,
        Suite::Ladder,
        Suite::Layouts,
        Suite::Half,
        Suite::HalfShapes,
        Suite::HalfLadder,
        Suite::Twins,
        Suite::Cpu,
    ];

    /// The name on the command line and in file names.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Squares => "squares",
            Suite::Shapes => "shapes",
            Suite::Ladder => "ladder",
            Suite::Layouts => "layouts",
            Suite::Half => "half",
            Suite::HalfShapes => "half-shapes",
            Suite::HalfLadder => "half-ladder",
            Suite::Twins => "twins",
            Suite::Cpu => "cpu",
        }
    }

    /// One line about it.
    pub const fn about(self) -> &'static str {
        match self {
            Suite::Squares => "m = n = k, the planner's choice against cuBLAS",
            Suite::Shapes => {
                "skinny, shallow, deep, ragged, layers of transformers, the planner's choice against cuBLAS"
            }
            Suite::Ladder => "every rung at 4096 cubed against cuBLAS",
            Suite::Layouts => "plain and transposed operands, the planner's choice against cuBLAS",
            Suite::Half => "m = n = k in f16 and bf16, B plain and transposed, the planner's choice against cuBLAS",
            Suite::HalfShapes => {
                "layers of transformers and ragged products in bf16, B transposed, the planner's choice against cuBLAS"
            }
            Suite::HalfLadder => "the rungs on tensor cores at 4096 cubed in f16 and bf16 against cuBLAS",
            Suite::Twins => {
                "rungs 2 and 3 against their CUDA C++ twins (--twins FILE), dynamic against static shared memory"
            }
            Suite::Cpu => "the CPU's product against the matrixmultiply crate",
        }
    }

    /// Its rows, in the order of the report.
    pub fn rows(self) -> Vec<Row> {
        match self {
            Suite::Squares => SQUARES.map(square).to_vec(),
            Suite::Shapes => SHAPES.map(|(name, m, n, k)| row(name, m, n, k)).to_vec(),
            Suite::Ladder => ladder().map(rung).collect(),
            Suite::Layouts => layouts(),
            Suite::Half => half(),
            Suite::HalfShapes => half_shapes(),
            Suite::HalfLadder => half_ladder(),
            Suite::Twins => twins(),
            Suite::Cpu => CPU.map(cpu).to_vec(),
        }
    }
}

/// One product and what is timed on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name in the suite.
    pub name: String,
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// The element type of A, B and C.
    #[serde(serialize_with = "name_of")]
    pub dtype: DType,
    /// How A and B lie in memory.
    pub layout: Layout,
    /// What of ours is timed.
    #[serde(skip)]
    pub ours: Ours,
    /// What it is compared with.
    #[serde(skip)]
    pub against: Against,
}

fn name_of<S: serde::Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}

impl Row {
    /// Whether two rows are of one product.
    pub fn is_same_product(&self, other: &Row) -> bool {
        let product = |row: &Row| (row.m, row.n, row.k, row.dtype, row.layout);
        product(self) == product(other)
    }
}

/// What of this crate a row times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// The kernel that the planner picks.
    Auto,
    /// A rung of the ladder with the tile that the planner picks for it.
    Rung(Rung),
    /// A rung with a tile of this width.
    Tile(Rung, u32),
    /// The CPU's tiled product.
    Cpu,
}

/// What a row's kernel is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The library of the trade: cuBLAS on a GPU, `matrixmultiply` on a CPU.
    Library,
    /// The same kernel in CUDA C++, compiled by nvcc.
    Twin,
    /// Another rung with a tile of this width.
    Tile(Rung, u32),
}

/// Which operands are stored transposed: `T` for A is a k x m matrix, row-major, of which the product takes the transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Layout {
    /// Neither.
    NN,
    /// B.
    NT,
    /// A.
    TN,
    /// Both.
    TT,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 4] = [Layout::NN, Layout::NT, Layout::TN, Layout::TT];

    /// Its two letters.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::NN => "NN",
            Layout::NT => "NT",
            Layout::TN => "TN",
            Layout::TT => "TT",
        }
    }

    /// Whether A is stored transposed.
    pub const fn trans_a(self) -> bool {
        matches!(self, Layout::TN | Layout::TT)
    }

    /// Whether B is stored transposed.
    pub const fn trans_b(self) -> bool {
        matches!(self, Layout::NT | Layout::TT)
    }
}

const SQUARES: [usize; 5] = [1024, 2048, 4096, 8192, 16384];

/// Extents of the products in types of 16 bits.
const HALF: [usize; 6] = [512, 1024, 2048, 4096, 8192, 16384];

/// Name, m (tokens), n (outputs), k (inputs): weights lie as they are trained, a row an output.
const HALF_SHAPES: [(&str, usize, usize, usize); 30] = [
    ("GPT-2 qkv", 1024, 2304, 768),
    ("GPT-2 up", 1024, 3072, 768),
    ("GPT-2 down", 1024, 768, 3072),
    ("GPT-2 logits", 1024, 50257, 768),
    ("BERT-large up", 512, 4096, 1024),
    ("BERT-large down", 512, 1024, 4096),
    ("LLaMA-7B qkv", 2048, 12288, 4096),
    ("LLaMA-7B out", 2048, 4096, 4096),
    ("LLaMA-7B up", 2048, 11008, 4096),
    ("LLaMA-7B down", 2048, 4096, 11008),
    ("LLaMA-70B qkv", 4096, 10240, 8192),
    ("LLaMA-70B out", 4096, 8192, 8192),
    ("LLaMA-70B up", 4096, 28672, 8192),
    ("LLaMA-70B down", 4096, 8192, 28672),
    ("LLaMA-3 logits", 1024, 128_256, 4096),
    // A batch of few tokens: the time is that of reading the weights.
    ("8 tokens", 8, 4096, 4096),
    ("16 tokens", 16, 12288, 4096),
    ("32 tokens", 32, 11008, 4096),
    ("64 tokens", 64, 4096, 11008),
    ("128 tokens", 128, 11008, 4096),
    ("256 tokens", 256, 11008, 4096),
    ("512 tokens", 512, 12288, 4096),
    ("expert up", 384, 14336, 4096),
    ("expert down", 384, 4096, 14336),
    ("scores", 4096, 4096, 128),
    // No multiples of a tile; of 8 and not.
    ("ragged 1000", 1000, 1000, 1000),
    ("ragged 3336", 776, 3336, 552),
    ("ragged 4104", 4104, 4120, 4136),
    ("ragged 1025", 1023, 1025, 1027),
    ("ragged 4099", 4097, 4099, 4101),
];

/// The extent of the ladder's product.
const LADDER: usize = 4096;

/// Name, m, n, k.
const SHAPES: [(&str, usize, usize, usize); 30] = [
    // Few rows or few columns: the time is that of reading the large operand.
    ("one row", 1, 4096, 4096),
    ("8 rows", 8, 4096, 4096),
    ("16 rows", 16, 8192, 8192),
    ("32 rows", 32, 4096, 16384),
    ("64 rows", 64, 4096, 4096),
    ("one column", 4096, 1, 4096),
    ("8 columns", 8192, 8, 8192),
    ("32 columns", 16384, 32, 4096),
    ("64 columns", 4096, 64, 4096),
    // Few terms: the time is that of writing C.
    ("16 terms", 4096, 4096, 16),
    ("64 terms", 8192, 8192, 64),
    // Few tiles of C and many terms.
    ("deep 64", 64, 64, 65536),
    ("deep 128", 128, 128, 32768),
    ("deep 256", 256, 256, 16384),
    ("deep 512", 512, 512, 32768),
    ("deep 1024", 1024, 1024, 16384),
    // No multiples of anything.
    ("ragged 1000", 1000, 1000, 1000),
    ("ragged 1025", 1023, 1025, 1027),
    ("ragged 127", 127, 4095, 2049),
    ("ragged 3333", 777, 3333, 555),
    ("ragged primes", 5003, 1009, 2011),
    ("ragged 4099", 4097, 4099, 4101),
    // Tokens x outputs x inputs of a layer.
    ("GPT-2 qkv", 1024, 2304, 768),
    ("GPT-2 logits", 1024, 50257, 768),
    ("BERT-large up", 512, 4096, 1024),
    ("LLaMA-7B qkv", 2048, 12288, 4096),
    ("LLaMA-7B out", 512, 4096, 4096),
    ("LLaMA-7B up", 128, 11008, 4096),
    ("LLaMA-7B down", 2048, 4096, 11008),
    ("logits, 32000 words", 4096, 32000, 1024),
];

const LAYOUTS: [(usize, usize, usize); 2] = [(4096, 4096, 4096), (2049, 4095, 1027)];

const TWIN_SHAPES: [(usize, usize, usize); 2] = [(4096, 4096, 4096), (4095, 4097, 4099)];

/// Rung and tile width of each twin.
const TWINS: [(Rung, u32); 7] = [
    (Rung::TiledStatic, 16),
    (Rung::TiledDynamic, 16),
    (Rung::TiledStatic, 32),
    (Rung::TiledDynamic, 32),
    (Rung::TiledDynamic, 64),
    (Rung::TiledDynamic, 96),
    (Rung::TiledDynamic, 128),
];

/// The widths that rung 2 has.
const STATIC_WIDTHS: [u32; 2] = [16, 32];

/// Small ones: they are timed where there is no GPU, on any machine.
const CPU: [(DType, usize, usize, usize); 3] = [
    (DType::F32, 256, 256, 256),
    (DType::F32, 500, 515, 485),
    (DType::F64, 256, 256, 256),
];

fn row(name: impl Into<String>, m: usize, n: usize, k: usize) -> Row {
    Row {
        name: name.into(),
        m,
        n,
        k,
        dtype: DType::F32,
        layout: Layout::NN,
        ours: Ours::Auto,
        against: Against::Library,
    }
}

fn square(extent: usize) -> Row {
    row(extent.to_string(), extent, extent, extent)
}

/// The rungs that compute any product in f32.
fn ladder() -> impl Iterator<Item = Rung> {
    Rung::ALL
        .into_iter()
        .filter(|&rung| !matches!(rung, Rung::MatrixVector | Rung::MmaSync) && !rung.multiplies_by_wgmma())
}

fn rung(rung: Rung) -> Row {
    Row {
        name: rung.name().to_owned(),
        ours: Ours::Rung(rung),
        ..square(LADDER)
    }
}

fn layouts() -> Vec<Row> {
    let each = |(m, n, k)| {
        Layout::ALL.map(|layout| Row {
            layout,
            ..row(format!("{m} x {n} x {k} {}", layout.name()), m, n, k)
        })
    };
    LAYOUTS.into_iter().flat_map(each).collect()
}

fn half() -> Vec<Row> {
    let mut rows = Vec::new();
    for dtype in [DType::F16, DType::Bf16] {
        for layout in [Layout::NN, Layout::NT] {
            rows.extend(HALF.map(|extent| Row {
                dtype,
                layout,
                name: format!("{extent} {dtype} {}", layout.name()),
                ..square(extent)
            }));
        }
    }
    rows
}

fn half_shapes() -> Vec<Row> {
    let each = |(name, m, n, k): (&str, usize, usize, usize)| Row {
        dtype: DType::Bf16,
        layout: Layout::NT,
        ..row(name, m, n, k)
    };
    HALF_SHAPES.map(each).to_vec()
}

fn half_ladder() -> Vec<Row> {
    let on_tensor_cores = |rung: &Rung| rung.takes_epilogue();
    let rungs = Rung::ALL.into_iter().filter(on_tensor_cores);
    let each = |each: Rung| {
        [DType::F16, DType::Bf16].map(|dtype| Row {
            dtype,
            name: format!("{} {dtype}", each.name()),
            ..rung(each)
        })
    };
    rungs.flat_map(each).collect()
}

fn twins() -> Vec<Row> {
    let each = |(m, n, k)| {
        let twin = move |(rung, width): (Rung, u32)| Row {
            ours: Ours::Tile(rung, width),
            against: Against::Twin,
            ..row(format!("{} {width} wide, {m} x {n} x {k}", rung.name()), m, n, k)
        };
        let dynamic = move |width: u32| Row {
            against: Against::Tile(Rung::TiledStatic, width),
            name: format!("dynamic against static {width} wide, {m} x {n} x {k}"),
            ..twin((Rung::TiledDynamic, width))
        };
        TWINS
            .into_iter()
            .map(twin)
            .chain(STATIC_WIDTHS.into_iter().map(dynamic))
    };
    TWIN_SHAPES.into_iter().flat_map(each).collect()
}

fn cpu((dtype, m, n, k): (DType, usize, usize, usize)) -> Row {
    Row {
        dtype,
        ours: Ours::Cpu,
        ..row(format!("{m} x {n} x {k} {dtype}"), m, n, k)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_products_are_unique_within_a_suite() {
        for suite in Suite::ALL {
            let rows = suite.rows();
            assert!(!rows.is_empty());
            let names: BTreeSet<_> = rows.iter().map(|row| row.name.as_str()).collect();
            assert_eq!(names.len(), rows.len(), "{}", suite.name());
            let products: BTreeSet<_> = rows
                .iter()
                .map(|row| {
                    (
                        row.m,
                        row.n,
                        row.k,
                        row.dtype.name(),
                        row.layout.name(),
                        format!("{:?} {:?}", row.ours, row.against),
                    )
                })
                .collect();
            assert_eq!(products.len(), rows.len(), "{}", suite.name());
        }
    }

    #[test]
    fn every_row_is_a_product_that_the_kernels_can_index() {
        for row in Suite::ALL.into_iter().flat_map(Suite::rows) {
            let shape = tilewright_contract::GemmShape::packed(row.m, row.n, row.k);
            assert!(shape.is_ok_and(|shape| shape.flops() > 0.0), "{}", row.name);
        }
    }

    #[test]
    fn the_ladder_has_every_rung_that_can_climb_it() {
        let ours: Vec<_> = Suite::Ladder.rows().iter().map(|row| row.ours).collect();
        assert_eq!(
            ours,
            Rung::ALL[..10].iter().copied().map(Ours::Rung).collect::<Vec<_>>()
        );
    }
}
