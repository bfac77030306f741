//! What is measured: one product, and what is timed on it.

use serde::Serialize;
use tilewright::Result;
use tilewright_contract::{DType, Family, GemmShape, Precision, Transpose};

use super::fp8::Fp8Row;

/// One product and what is timed on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name in reports.
    pub name: String,
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Products of this shape, one after the other in memory; 1 where it is no batch.
    pub batch: usize,
    /// The element type of A, B and C; of C alone where A and B are of FP8.
    #[serde(serialize_with = "name_of")]
    pub dtype: DType,
    /// What A and B are of FP8; none where they are of [`dtype`](Self::dtype).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fp8: Option<Fp8Row>,
    /// Which of A and B are stored transposed.
    pub layout: Layout,
    /// What of this crate is timed.
    #[serde(skip)]
    pub subject: Subject,
    /// What it is compared with.
    #[serde(skip)]
    pub baseline: Baseline,
}

fn name_of<S: serde::Serializer>(dtype: &DType, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}

impl Row {
    /// Whether two rows are of one product.
    pub fn is_same_product(&self, other: &Row) -> bool {
        let product = |row: &Row| (row.m, row.n, row.k, row.batch, row.dtype, row.layout, row.fp8);
        product(self) == product(other)
    }

    /// What is multiplied, in reports: an element type, or of FP8 `e4m3 tensor fast` and its like.
    pub fn elements(&self) -> String {
        match self.fp8 {
            None => self.dtype.name().to_owned(),
            Some(fp8) => fp8.to_string(),
        }
    }

    /// Bytes of A, B and C, without scales.
    pub(super) fn bytes(&self) -> f64 {
        let (m, n, k) = (self.m as f64, self.n as f64, self.k as f64);
        let of_c = f64::from(self.dtype.size_bytes());
        let of_operands = if self.fp8.is_some() { 1.0 } else { of_c };
        (m * k + k * n) * of_operands + m * n * of_c
    }

    /// The precision in which a library is asked for the product: TF32 where the subject's kernels are of that.
    pub fn precision(&self) -> Precision {
        match self.subject {
            Subject::Family(family) | Subject::Tile(family, _) if family == Family::WGMMA_TF32 => Precision::Tf32,
            _ => Precision::Ieee,
        }
    }

    /// The product, or the batch, packed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](tilewright::Error::InvalidArgument) for extents that the kernels cannot index.
    pub fn shape(&self) -> Result<GemmShape> {
        Ok(
            GemmShape::packed_transposed(self.m, self.n, self.k, self.layout.transpose())?
                .with_packed_batch(self.batch)?,
        )
    }
}

/// What of this crate a row times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The kernel that the planner picks; on the CPU its tiled product.
    Auto,
    /// A family with the tile that the planner picks for it.
    Family(Family),
    /// A family with a tile of this width in elements.
    Tile(Family, u32),
}

/// What the subject of a row is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The library of the trade: cuBLAS on a GPU, `matrixmultiply` on a CPU.
    Library,
    /// The same kernel in CUDA C++, compiled by nvcc.
    Twin,
    /// Another kernel of this crate.
    Kernel(Subject),
    /// The fastest other kernel of this crate: whether the choice is right. Of FP8 alone.
    Others,
}

/// Which operands are stored transposed: `T` for A is a k x m matrix, row-major, of which the product takes the
/// transpose.
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

    /// Which of A and B are stored transposed, as a shape takes it.
    pub fn transpose(self) -> [Transpose; 2] {
        [self.trans_a(), self.trans_b()].map(|yes| if yes { Transpose::Yes } else { Transpose::No })
    }
}

impl std::str::FromStr for Layout {
    type Err = &'static str;

    /// Reads a [`Layout::name`], in letters of either case.
    fn from_str(name: &str) -> std::result::Result<Self, Self::Err> {
        Layout::ALL
            .into_iter()
            .find(|layout| layout.name().eq_ignore_ascii_case(name))
            .ok_or("unknown layout; known: nn, nt, tn, tt")
    }
}
