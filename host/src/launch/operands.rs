//! What a product is enqueued on, and what can be checked of it without asking the driver.

use cust_raw::CUdeviceptr;
use tilewright_contract::{Operand, OperandCopy};

use super::operand_error::{Buffer, OperandError};
use super::span::{Span, check_spans};
use super::workspace::{WORKSPACE_ALIGNMENT_BYTES, WorkspaceLayout};
use crate::dispatch::Plan;
use crate::problem::Factors;

/// Device pointers of one enqueued product. Matrices are row-major with the leading dimensions of the plan's shape.
///
/// ```
/// use tilewright::Factors;
/// use tilewright::launch::Operands;
///
/// let operands = Operands::new(0x1000, 0x2000, 0x3000)
///     .bias(0x4000)
///     .workspace(0x10000, 1 << 20)
///     .factors(Factors { alpha: 0.5, beta: 1.0 });
/// assert_eq!(operands.workspace.bytes, 1 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operands {
    /// A. Not read with alpha 0.
    pub a: CUdeviceptr,
    /// B. Not read with alpha 0.
    pub b: CUdeviceptr,
    /// C: read with a beta other than 0, and written.
    pub c: CUdeviceptr,
    /// The bias, one element of A's type for each column of C; 0 for none, as the product was prepared.
    pub bias: CUdeviceptr,
    /// Where each group of rows ends, of a shape with groups: a `u32` each, rows from the first of all, in an order
    /// that does not fall; 0 for a shape without. The kernel reads them when it runs: a captured graph may have others
    /// at each replay.
    pub group_ends: CUdeviceptr,
    /// The workspace.
    pub workspace: Workspace,
    /// Alpha and beta; rounded to f32 for products that are summed in f32.
    pub factors: Factors<f64>,
}

impl Operands {
    /// A, B and C, alpha 1, beta 0, without bias and workspace.
    pub fn new(a: CUdeviceptr, b: CUdeviceptr, c: CUdeviceptr) -> Self {
        Self {
            a,
            b,
            c,
            bias: 0,
            group_ends: 0,
            workspace: Workspace::default(),
            factors: Factors::default(),
        }
    }

    /// With a bias.
    pub fn bias(mut self, bias: CUdeviceptr) -> Self {
        self.bias = bias;
        self
    }

    /// With ends of groups.
    pub fn group_ends(mut self, ends: CUdeviceptr) -> Self {
        self.group_ends = ends;
        self
    }

    /// With a workspace of so many bytes, whatever it contains.
    pub fn workspace(mut self, address: CUdeviceptr, bytes: usize) -> Self {
        self.workspace = Workspace {
            address,
            bytes,
            counters: Counters::Unknown,
        };
        self
    }

    /// With alpha and beta.
    pub fn factors(mut self, factors: Factors<f64>) -> Self {
        self.factors = factors;
        self
    }
}

/// Device memory that a product uses while it runs. Products that may run at the same time need one each; those of one
/// stream may share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// Its address, a multiple of [`WORKSPACE_ALIGNMENT_BYTES`].
    pub address: CUdeviceptr,
    /// Its size, at least [`Prepared::workspace_bytes`](super::Prepared::workspace_bytes).
    pub bytes: usize,
    /// What it starts with.
    pub counters: Counters,
}

/// What is known of the counters of split-K, the first [`Prepared::counter_bytes`](super::Prepared::counter_bytes) of a
/// workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counters {
    /// Nothing: a split-K product clears them first, by a memset on the stream.
    #[default]
    Unknown,
    /// They are zero, which saves the memset. A product leaves them so: the promise holds for the next one in the same
    /// workspace whose `counter_bytes` are no more than those of any product since they were cleared.
    Zero,
}

/// What [`Prepared::enqueue`](super::Prepared::enqueue) checks. Null pointers, alignment, overlaps, the workspace's
/// size and the bias are arithmetic, and are always checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// Asks the driver too (`cuPointerGetAttributes` of each buffer, `cuStreamGetCtx`): whether a kernel of this
    /// context can access each buffer, whether its allocation is long enough, and whether the stream is of this
    /// context.
    #[default]
    Full,
    /// Arithmetic alone: for callers who know their buffers, such as an allocator's own layer, and for memory that the
    /// driver says nothing of.
    Arithmetic,
}

/// The buffers of a call that are accessed: those of no bytes are not.
pub(super) struct Spans {
    /// A, B, bias, ends of groups, C, workspace.
    spans: [Span; 6],
}

impl Spans {
    /// # Errors
    /// For a null pointer, a misaligned one, a workspace that is too small, and a buffer that is written and overlaps
    /// another.
    pub(super) fn checked(
        plan: &Plan,
        layout: &WorkspaceLayout,
        c_elem_bytes: usize,
        operands: &Operands,
    ) -> Result<Self, OperandError> {
        let kernel = plan.kernel();
        let elem_bytes = kernel.dtype.size_bytes() as usize;
        // What is copied first is read element by element.
        let vector = |at: usize, copy: Option<OperandCopy>| match copy {
            Some(_) => elem_bytes,
            None => kernel.alignment.elems[at] as usize * elem_bytes,
        };
        let [copy_a, copy_b] = plan.copies();
        let bias_elems = if operands.bias == 0 { 0 } else { plan.shape().n() };
        let batch = plan.shape().batch();
        let group_ends_bytes = if batch.groups {
            batch.count as usize * size_of::<u32>()
        } else {
            0
        };
        let matrix = |operand, address, bytes, alignment| Span::matrix(plan, operand, address, bytes, alignment);
        let spans = [
            matrix(Operand::A, operands.a, elem_bytes, vector(0, copy_a)),
            matrix(Operand::B, operands.b, elem_bytes, vector(1, copy_b)),
            Span::flat(Buffer::Bias, operands.bias, bias_elems * elem_bytes, elem_bytes),
            Span::flat(
                Buffer::GroupEnds,
                operands.group_ends,
                group_ends_bytes,
                size_of::<u32>(),
            ),
            matrix(Operand::C, operands.c, c_elem_bytes, c_elem_bytes),
            Span::flat(
                Buffer::Workspace,
                operands.workspace.address,
                layout.bytes,
                WORKSPACE_ALIGNMENT_BYTES,
            ),
        ];
        let spans = Self { spans };
        let given_bytes = match operands.workspace.address {
            0 => 0,
            _ => operands.workspace.bytes,
        };
        if given_bytes < layout.bytes {
            return Err(OperandError::Workspace {
                needed_bytes: layout.bytes as u64,
                given_bytes: given_bytes as u64,
            });
        }
        check_spans(&spans.spans)?;
        Ok(spans)
    }

    pub(super) fn accessed(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| span.bytes() > 0)
    }
}

#[cfg(test)]
mod tests {
    use tilewright_contract::{DType, GemmShape, Kernel};

    use super::*;
    use crate::device::DeviceProfile;
    use crate::dispatch::{Policy, plan};

    const A: u64 = 0x10_0000;
    const B: u64 = 0x20_0000;
    const C: u64 = 0x30_0000;

    /// A plan of a tensor-core kernel, which loads vectors of 16 bytes.
    fn plan_of(shape: GemmShape) -> Plan {
        let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
        let policy = Policy {
            kernel: Kernel::named("mma_sync_nn_128x128_f16"),
            splits: Some(1),
            ..Policy::default()
        };
        plan(&shape, DType::F16, &device, &policy).expect("it fits")
    }

    fn check(plan: &Plan, operands: &Operands) -> Result<(), OperandError> {
        Spans::checked(plan, &WorkspaceLayout::of(plan), 2, operands).map(drop)
    }

    fn packed() -> Plan {
        plan_of(GemmShape::packed(64, 64, 64).expect("valid"))
    }

    #[test]
    fn sound_operands_pass() {
        assert_eq!(check(&packed(), &Operands::new(A, B, C)), Ok(()));
        // C may start at any element, and so may a bias; they may touch.
        let operands = Operands::new(A, B, C + 2).bias(C + 2 + 64 * 64 * 2);
        assert_eq!(check(&packed(), &operands), Ok(()));
    }

    #[test]
    fn null_and_misaligned_pointers_are_refused_with_the_numbers() {
        let plan = packed();
        let error = check(&plan, &Operands::new(A, 0, C)).expect_err("null");
        assert_eq!(error.to_string(), "B is null, and takes 8192 B");
        let error = check(&plan, &Operands::new(A + 8, B, C)).expect_err("half a vector");
        assert_eq!(
            error.to_string(),
            "A starts at 0x100008, which is 8 modulo 16; the kernel takes multiples of 16 B"
        );
        let error = check(&plan, &Operands::new(A, B, C + 1)).expect_err("half an element");
        assert!(
            matches!(error, OperandError::Misaligned { alignment_bytes: 2, .. }),
            "{error}"
        );
        let error = check(&plan, &Operands::new(A, B, u64::MAX - 15)).expect_err("it wraps");
        assert!(
            matches!(error, OperandError::OutOfRange { needed_bytes: 8192, .. }),
            "{error}"
        );
    }

    #[test]
    fn a_padded_operand_may_start_at_any_element() {
        let plan = plan_of(GemmShape::with_ld(64, 64, 64, 65, 64, 64).expect("valid"));
        let bytes = WorkspaceLayout::of(&plan).bytes;
        let operands = Operands::new(A + 2, B, C).workspace(0x40_0000, bytes);
        assert_eq!(check(&plan, &operands), Ok(()));
        let short = operands.workspace(0x40_0000, bytes - 1);
        let expected = OperandError::Workspace {
            needed_bytes: bytes as u64,
            given_bytes: bytes as u64 - 1,
        };
        assert_eq!(check(&plan, &short), Err(expected));
        assert!(matches!(
            check(&plan, &operands.workspace(0, bytes)),
            Err(OperandError::Workspace { given_bytes: 0, .. })
        ));
        assert!(matches!(
            check(&plan, &operands.workspace(0x40_0080, bytes)),
            Err(OperandError::Misaligned {
                alignment_bytes: 256,
                ..
            })
        ));
        let error = check(&plan, &operands.workspace(A, bytes)).expect_err("A is there");
        assert!(
            matches!(
                error,
                OperandError::Overlap {
                    written: Buffer::Workspace,
                    other: Buffer::Matrix(Operand::A),
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn what_is_written_overlaps_nothing() {
        let plan = packed();
        for (operands, other) in [
            (Operands::new(C, B, C), "A"),
            (Operands::new(A, C - 16, C), "B"),
            (Operands::new(A, C + 8176, C), "B"),
            (Operands::new(A, B, C).bias(C + 8190), "the bias"),
        ] {
            let error = check(&plan, &operands).expect_err(other).to_string();
            assert!(
                error.starts_with("C is written at 0x300000..0x302000, which overlaps") && error.contains(other),
                "{error}"
            );
        }
        // What is only read may be the same.
        assert_eq!(check(&plan, &Operands::new(A, A, C).bias(A)), Ok(()));
    }

    #[test]
    fn blocks_of_columns_of_one_matrix_overlap_only_where_they_share_elements() {
        // A, B and C are 64 columns each of a matrix with 192.
        let plan = plan_of(GemmShape::with_ld(64, 64, 64, 192, 192, 192).expect("valid"));
        let block = |at: u64| A + at * 64 * 2;
        assert_eq!(check(&plan, &Operands::new(block(0), block(1), block(2))), Ok(()));
        assert_eq!(check(&plan, &Operands::new(block(2), block(1), block(0))), Ok(()));
        let error = check(&plan, &Operands::new(block(0), block(1), block(2) - 2)).expect_err("one column");
        assert!(
            matches!(
                error,
                OperandError::Overlap {
                    other: Buffer::Matrix(Operand::B),
                    ..
                }
            ),
            "{error}"
        );
        // The last column of C is the first of the next row of A.
        let error = check(&plan, &Operands::new(block(0), block(1), block(2) + 2)).expect_err("one column");
        assert!(
            matches!(
                error,
                OperandError::Overlap {
                    other: Buffer::Matrix(Operand::A),
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn what_is_not_accessed_may_be_anything() {
        let without_k = packed().without_k();
        assert_eq!(check(&without_k, &Operands::new(0, 1, C)), Ok(()));
    }

    #[test]
    fn batches_may_be_columns_or_rows_of_one_matrix() {
        // 3 heads of 64 columns each in rows of 576: A, B and C are 192 columns of each row.
        let heads = GemmShape::with_ld(64, 64, 64, 576, 576, 576).and_then(|shape| shape.with_batch(3, [64; 3]));
        let plan = plan_of(heads.expect("side by side"));
        let columns = |at: u64| A + at * 2;
        assert_eq!(
            check(&plan, &Operands::new(columns(0), columns(192), columns(384))),
            Ok(())
        );
        let error = check(&plan, &Operands::new(columns(0), columns(192), columns(376))).expect_err("8 columns");
        assert!(
            matches!(
                error,
                OperandError::Overlap {
                    other: Buffer::Matrix(Operand::B),
                    ..
                }
            ),
            "{error}"
        );
        // 5 products, one after the other, with one B for all.
        let stacked = GemmShape::packed(64, 64, 64).and_then(|shape| shape.with_batch(5, [4096, 0, 4096]));
        let plan = plan_of(stacked.expect("disjoint"));
        let matrix = |at: u64| A + at * 4096 * 2;
        assert_eq!(check(&plan, &Operands::new(matrix(0), matrix(5), matrix(6))), Ok(()));
        let error = check(&plan, &Operands::new(matrix(0), matrix(5), matrix(4))).expect_err("the last A");
        let text = error.to_string();
        assert!(text.contains("which overlaps A at 0x100000..0x10a000"), "{text}");
    }
}
