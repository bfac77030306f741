//! Several products in one launch: groups of rows, and batches.

use std::ops::Range;

use cuda_sim::GlobalBuffer;
use tilewright_contract::{Activation, Fp8Mode, Major};

use super::{Arithmetic, Fp8Gemm, Fp8Matrix, Fp8Problem, Fp8Products, Plan, check};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::{Epilogue, Factors, OutputOf};
use crate::scaled::{Checked, Inputs, ScaledMatrix, Simulated, check_lengths, launch, reference};
use crate::simulate::SimOptions;

/// Several products `C = activation(alpha · A · B + beta · C + bias)` in one launch, with scales of `1x128` of A and
/// `128x128` of B, and one bias for all.
///
/// Groups are rows of one A and one C, the tokens of an expert each; every group has a B. The products of a batch have
/// an A and a C of their own, with room for the same number of rows, of which only some may count.
///
/// ```
/// use tilewright::fp8::{Arithmetic, Fp8, Fp8Batch, Fp8Matrix, Fp8Scaling, Policy, default_architecture, plan};
/// use tilewright::{SimOptions, device::DeviceProfile, half::bf16, random::random_matrix};
///
/// // 2 experts with 5 and 43 tokens.
/// let (m, n, k) = (48, 40, 272);
/// let tokens = Fp8Matrix::quantize(Fp8::E4m3, Fp8Scaling::Rows128, m, k, &random_matrix::<f32>(1, m * k))?;
/// let weights = |seed| {
///     Fp8Matrix::quantize(Fp8::E4m3, Fp8Scaling::Blocks128, n, k, &random_matrix::<f32>(seed, n * k))
/// };
/// let weights = [weights(2)?, weights(3)?];
/// let groups = Fp8Batch::<bf16>::of_groups(&tokens, &weights, &[5, 48])?;
/// let device = DeviceProfile::of_arch(default_architecture());
/// let plan = plan(&groups.problem(), &device, &Policy::default())?;
/// let product = groups.simulate(&plan, None::<&[bf16]>, &SimOptions::default())?;
/// product.assert_clean();
/// assert!(groups.check(Arithmetic::F32, None, &product.c)?.passed());
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fp8Batch<'a, E> {
    /// One of groups, one for each product of a batch.
    a: &'a [Fp8Matrix],
    b: &'a [Fp8Matrix],
    products: Fp8Products,
    ends: Option<&'a [u32]>,
    epilogue: Epilogue<&'a [E]>,
}

impl<'a, E: Element<Accumulator = f32>> Fp8Batch<'a, E> {
    /// Groups of rows of `a`, one for each of `b`. A group ends at its row in `ends`, where the next one begins; the
    /// first begins at row 0. Ends past the last row count as that; rows from the last end on belong to no group, and
    /// theirs of C are left as they are.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the numbers: for no group, matrices that do not go together, another number of
    /// ends, and ends that fall.
    pub fn of_groups(a: &'a Fp8Matrix, b: &'a [Fp8Matrix], ends: &'a [u32]) -> Result<Self> {
        if let Some(at) = ends.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Error::InvalidArgument(format!(
                "group {} ends at row {}, before group {at} does, at row {}",
                at + 1,
                ends[at + 1],
                ends[at]
            )));
        }
        Self::of(std::slice::from_ref(a), b, Fp8Products::Groups(b.len() as u32))?.with_ends(ends)
    }

    /// A batch of products, each of an `a` and a `b`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the numbers: for no product, and matrices that do not go together.
    pub fn new(a: &'a [Fp8Matrix], b: &'a [Fp8Matrix]) -> Result<Self> {
        if a.len() != b.len() {
            return Err(Error::InvalidArgument(format!(
                "a batch has an A and a B for each product, not {} and {}",
                a.len(),
                b.len()
            )));
        }
        Self::of(a, b, Fp8Products::Batch(b.len() as u32))
    }

    /// With only so many rows of each product of a batch that count, from its first on; the others of C are left as
    /// they are. More than there are count as all.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of counts, and for groups.
    pub fn counts(self, counts: &'a [u32]) -> Result<Self> {
        match self.products {
            Fp8Products::Batch(_) => self.with_ends(counts),
            _ => Err(Error::InvalidArgument("groups have ends, not counts of rows".into())),
        }
    }

    /// With these factors.
    pub fn factors(mut self, factors: Factors) -> Self {
        self.epilogue.factors = factors;
        self
    }

    /// With a bias of n elements, one for all products.
    pub fn bias(mut self, bias: &'a [E]) -> Self {
        self.epilogue.bias = Some(bias);
        self
    }

    /// With an activation.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.epilogue.activation = activation;
        self
    }

    fn of(a: &'a [Fp8Matrix], b: &'a [Fp8Matrix], products: Fp8Products) -> Result<Self> {
        products.check()?;
        for (operand, matrices) in [("A", a), ("B", b)] {
            let kind = |of: &Fp8Matrix| (of.format(), of.scaling(), of.rows(), of.k());
            let describe = |of: &Fp8Matrix| format!("{} x {} of {} ({})", of.rows(), of.k(), of.format(), of.scaling());
            if let Some(other) = matrices.iter().position(|matrix| kind(matrix) != kind(&matrices[0])) {
                return Err(Error::InvalidArgument(format!(
                    "{operand} {other} is {}, {operand} 0 is {}: they have to be the same",
                    describe(&matrices[other]),
                    describe(&matrices[0])
                )));
            }
        }
        a[0].check_pair(&b[0])?;
        let batch = Self {
            a,
            b,
            products,
            ends: None,
            epilogue: Epilogue::from(Factors::default()),
        };
        let scalings = batch.problem().scalings;
        if !Fp8Mode::Blocks.takes(scalings) {
            let [of_a, of_b] = scalings;
            return Err(Error::InvalidArgument(format!(
                "scales of A are {of_a}, of B {of_b}: groups and batches take 1x128 of A and 128x128 of B"
            )));
        }
        Ok(batch)
    }

    fn with_ends(mut self, ends: &'a [u32]) -> Result<Self> {
        if ends.len() != self.b.len() {
            let what = match self.products {
                Fp8Products::Groups(_) => "groups, and ends of",
                _ => "products, and counts of rows of",
            };
            let (count, given) = (self.b.len(), ends.len());
            return Err(Error::InvalidArgument(format!("there are {count} {what} {given}")));
        }
        self.ends = Some(ends);
        Ok(self)
    }

    /// What a plan is made for.
    pub fn problem(&self) -> Fp8Problem {
        let (a, b) = (&self.a[0], &self.b[0]);
        Fp8Problem {
            formats: [a.format(), b.format()],
            scalings: [a.scaling(), b.scaling()],
            majors: [Major::K; 2],
            extents: [a.rows(), b.rows(), a.k()],
            products: self.products,
            output: E::DTYPE,
        }
    }

    /// Where groups end, or how many rows of each product count: an array of these goes to the device.
    pub fn ends(&self) -> Option<&'a [u32]> {
        self.ends
    }

    /// The elements of A and of B, one product after the other, as a launch takes them.
    pub fn data(&self) -> [Vec<u8>; 2] {
        [self.a, self.b].map(|of| of.iter().flat_map(Fp8Matrix::data).copied().collect())
    }

    /// The scales of A and of B, one product after the other, as a launch takes them.
    pub fn scales(&self) -> [Vec<f32>; 2] {
        [self.a, self.b].map(|of| of.iter().flat_map(Fp8Matrix::scales).copied().collect())
    }

    /// C in f64 ([`reference`](super::reference())), one product after the other. Rows that are not computed are those
    /// of `before`, NaN without.
    ///
    /// # Panics
    /// If `before` is not of C's length, or the bias is shorter than n.
    pub fn reference(&self, before: Option<&[f64]>) -> Vec<f64> {
        let [m, n] = self.c_extents();
        let mut c = before.map_or_else(|| vec![f64::NAN; m * n], <[f64]>::to_vec);
        for product in 0..self.b.len() {
            let (a, rows) = self.part(product);
            let elements = rows.start * n..rows.end * n;
            let before = before.map(|before| &before[elements.clone()]);
            c[elements].copy_from_slice(&reference(&self.product(&a, product), before));
        }
        c
    }

    /// Simulates the products by a plan. `before`: what C holds before, `None` for memory that nobody has written.
    ///
    /// # Errors
    /// As for [`simulate`](super::simulate).
    pub fn simulate<C: OutputOf<E>>(
        &self,
        plan: &Plan,
        before: Option<&[C]>,
        options: &SimOptions,
    ) -> Result<Simulated<C>> {
        plan.check_problem(&self.problem())?;
        check_lengths(&self.epilogue, self.c_extents(), before.map(<[C]>::len))?;
        let inputs = || {
            let (layouts, of_operands) = (plan.scale_layouts(), self.scales());
            let scales = |at: usize, matrices: usize| {
                let layout = layouts[at];
                GlobalBuffer::matrix(&of_operands[at], layout.lines * matrices, layout.columns, layout.ld)
            };
            Inputs {
                data: self.data().map(|data| GlobalBuffer::from_slice(&data)),
                scales: [scales(0, self.a.len()), scales(1, self.b.len())],
                group_ends: self.ends,
                epilogue: self.epilogue,
                alpha: self.epilogue.factors.alpha,
            }
        };
        launch(plan, inputs, before, options)
    }

    /// Compares every element of C that is computed with the [reference](Self::reference), as
    /// [`check`](super::check()) does; with `before` all others, too, which have to be as they were.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a bias or a C of another length.
    pub fn check<C: OutputOf<E>>(&self, arithmetic: Arithmetic, before: Option<&[f64]>, c: &[C]) -> Result<Checked> {
        let [m, n] = self.c_extents();
        check_lengths(&self.epilogue, [m, n], Some(c.len()))?;
        let mut checked = Checked::default();
        let mut is_computed = vec![false; m];
        for product in 0..self.b.len() {
            let (a, rows) = self.part(product);
            let elements = rows.start * n..rows.end * n;
            let before = before.map(|before| &before[elements.clone()]);
            let gemm = self.product(&a, product);
            let part = check(&gemm, Fp8Mode::Blocks, arithmetic, before, &c[elements])?;
            checked.add(&part, rows.start);
            is_computed[rows].fill(true);
        }
        let elements = before.into_iter().flatten().zip(c).enumerate();
        for (at, (&before, c)) in elements.filter(|(at, _)| !is_computed[at / n]) {
            let now = c.to_f64();
            let is_changed = now.to_bits() != before.to_bits();
            let kept = Checked {
                wrong: usize::from(is_changed),
                elements: 1,
                farthest: is_changed.then_some((0, at % n, now, before, 0.0)),
            };
            checked.add(&kept, at / n);
        }
        Ok(checked)
    }

    /// Rows and columns of C, of all products.
    fn c_extents(&self) -> [usize; 2] {
        [self.a.len() * self.a[0].rows(), self.b[0].rows()]
    }

    /// The rows of A that a product computes, and those of C, counted from the first product's.
    fn part(&self, product: usize) -> (Fp8Matrix, Range<usize>) {
        let m = self.a[0].rows();
        let end = |product: usize| self.ends.map_or(m, |ends| m.min(ends[product] as usize));
        let rows = match (self.products, product) {
            (Fp8Products::Groups(_), 1..) => end(product - 1)..end(product),
            _ => 0..end(product),
        };
        let (a, first) = match self.products {
            Fp8Products::Batch(_) => (&self.a[product], product * m),
            _ => (&self.a[0], 0),
        };
        (a.part(rows.clone()), first + rows.start..first + rows.end)
    }

    /// A product whose A is `a`.
    fn product<'p>(&'p self, a: &'p Fp8Matrix, product: usize) -> Fp8Gemm<'p, E> {
        Fp8Gemm {
            a,
            b: &self.b[product],
            epilogue: self.epilogue,
        }
    }
}
