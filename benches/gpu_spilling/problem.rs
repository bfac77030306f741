//! What the twins compute: inputs, launches, checks.

use std::error::Error;

use tilewright::launch::{DeviceMatrix, Gpu};
use tilewright::spilling::{Family, Twin, Twins, inverse8};
use tilewright::{DType, Element, GemmShape, Operand, check, random};
use tilewright_contract::Inverse8;

/// Sizes of each problem.
pub const SIZES: usize = 3;

/// The sizes that are counted: what fits into caches, and what does not.
pub const COUNTED: [usize; 2] = [0, SIZES - 1];

/// Square products.
const EXTENTS: [usize; SIZES] = [2048, 4096, 8192];

/// Matrices to invert: input and output fit into the L2 cache of an H200 in f32 and about so in f64; and twice they do
/// not.
const COUNTS: [u32; SIZES] = [1 << 15, 1 << 18, 1 << 20];

/// One size of one problem, on a device.
pub trait Problem {
    /// The size, for people.
    fn label(&self) -> String;

    /// Operations of a product, or bytes that inverses must move.
    fn work(&self) -> f64;

    /// Fills the output with what is no result.
    fn poison(&mut self) -> tilewright::Result<()>;

    /// Enqueues a twin.
    fn launch(&mut self, twins: &Twins<'_>, twin: &Twin) -> tilewright::Result<()>;

    /// Compares the output with the reference, and keeps it.
    fn check(&mut self) -> Result<(), Box<dyn Error>>;

    /// Compares the output with the one that was kept, to the bit.
    fn check_same(&mut self) -> Result<(), Box<dyn Error>>;

    /// Milliseconds that so many launches take.
    fn time_ms(&mut self, twins: &Twins<'_>, twin: &Twin, launches: u32) -> tilewright::Result<f32>;
}

/// A problem of this size.
pub fn of<'gpu>(
    gpu: &'gpu Gpu,
    family: Family,
    dtype: DType,
    size: usize,
) -> Result<Box<dyn Problem + 'gpu>, Box<dyn Error>> {
    Ok(match (family, dtype) {
        (Family::RegisterTile, DType::F32) => Box::new(Product::new(gpu, EXTENTS[size])?),
        (Family::Inverse8, DType::F32) => Box::new(Inverses::<f32>::new(gpu, COUNTS[size])?),
        (Family::Inverse8, DType::F64) => Box::new(Inverses::<f64>::new(gpu, COUNTS[size])?),
        _ => return Err(format!("no twin of {} is for {dtype}", family.name()).into()),
    })
}

/// The output on the device, and a right result to compare it with.
struct Output<'gpu, T: Element> {
    gpu: &'gpu Gpu,
    device: DeviceMatrix<'gpu, T>,
    host: Vec<T>,
    right: Vec<T>,
}

impl<'gpu, T: Element> Output<'gpu, T> {
    fn new(gpu: &'gpu Gpu, elems: usize) -> tilewright::Result<Self> {
        Ok(Self {
            gpu,
            device: gpu.uninitialized(elems)?,
            host: vec![T::from_f64(0.0); elems],
            right: Vec::new(),
        })
    }

    fn poison(&mut self) -> tilewright::Result<()> {
        self.host.fill(T::from_f64(f64::NAN));
        self.device = self.gpu.upload(&self.host)?;
        Ok(())
    }

    fn download(&mut self) -> tilewright::Result<()> {
        self.gpu.synchronize()?;
        self.device.download(&mut self.host)
    }

    fn check_same(&mut self) -> Result<(), Box<dyn Error>> {
        self.download()?;
        // Widening is exact: bits that differ still do.
        let differs = |(a, b): (&T, &T)| a.to_f64().to_bits() != b.to_f64().to_bits();
        match self.host.iter().zip(&self.right).position(differs) {
            Some(i) => Err(format!(
                "element {i} is {}, that of the first twin {}",
                self.host[i], self.right[i]
            )
            .into()),
            None => Ok(()),
        }
    }
}

struct Product<'gpu> {
    shape: GemmShape,
    a_host: Vec<f32>,
    b_host: Vec<f32>,
    a: DeviceMatrix<'gpu, f32>,
    b: DeviceMatrix<'gpu, f32>,
    c: Output<'gpu, f32>,
}

impl<'gpu> Product<'gpu> {
    fn new(gpu: &'gpu Gpu, extent: usize) -> Result<Self, Box<dyn Error>> {
        let shape = GemmShape::packed(extent, extent, extent)?;
        let a_host: Vec<f32> = random::random_matrix(1, shape.span_elems(Operand::A));
        let b_host: Vec<f32> = random::random_matrix(2, shape.span_elems(Operand::B));
        Ok(Self {
            shape,
            a: gpu.upload(&a_host)?,
            b: gpu.upload(&b_host)?,
            c: Output::new(gpu, shape.span_elems(Operand::C))?,
            a_host,
            b_host,
        })
    }
}

impl Problem for Product<'_> {
    fn label(&self) -> String {
        format!("{0} x {0} x {0}", self.shape.m())
    }

    fn work(&self) -> f64 {
        self.shape.flops()
    }

    fn poison(&mut self) -> tilewright::Result<()> {
        self.c.poison()
    }

    fn launch(&mut self, twins: &Twins<'_>, twin: &Twin) -> tilewright::Result<()> {
        twins.multiply(twin, &self.shape, &self.a, &self.b, &mut self.c.device)
    }

    fn check(&mut self) -> Result<(), Box<dyn Error>> {
        self.c.download()?;
        let verdict = check::sampled(
            &self.shape,
            &self.a_host,
            &self.b_host,
            &self.c.host,
            check::DEFAULT_SEED,
        )?;
        verdict.into_result()?;
        self.c.right = self.c.host.clone();
        Ok(())
    }

    fn check_same(&mut self) -> Result<(), Box<dyn Error>> {
        self.c.check_same()
    }

    fn time_ms(&mut self, twins: &Twins<'_>, twin: &Twin, launches: u32) -> tilewright::Result<f32> {
        let gpu = self.c.gpu;
        gpu.time_ms(|| (0..launches).try_for_each(|_| self.launch(twins, twin)))
    }
}

struct Inverses<'gpu, T: Element> {
    count: u32,
    from_host: Vec<T>,
    from: DeviceMatrix<'gpu, T>,
    to: Output<'gpu, T>,
}

impl<'gpu, T: Element> Inverses<'gpu, T> {
    fn new(gpu: &'gpu Gpu, count: u32) -> Result<Self, Box<dyn Error>> {
        let from_host = inverse8::dominant::<T>(1, count);
        Ok(Self {
            count,
            from: gpu.upload(&from_host)?,
            to: Output::new(gpu, Inverse8::elems(count))?,
            from_host,
        })
    }
}

impl<T: Element> Problem for Inverses<'_, T> {
    fn label(&self) -> String {
        format!("{} matrices", self.count)
    }

    fn work(&self) -> f64 {
        // Each element is read once and written once.
        2.0 * std::mem::size_of_val(&self.from_host[..]) as f64
    }

    fn poison(&mut self) -> tilewright::Result<()> {
        self.to.poison()
    }

    fn launch(&mut self, twins: &Twins<'_>, twin: &Twin) -> tilewright::Result<()> {
        twins.invert(twin, twin.threads, self.count, &self.from, &mut self.to.device)
    }

    fn check(&mut self) -> Result<(), Box<dyn Error>> {
        self.to.download()?;
        inverse8::check(self.count, &self.from_host, &self.to.host)?.into_result()?;
        self.to.right = self.to.host.clone();
        Ok(())
    }

    fn check_same(&mut self) -> Result<(), Box<dyn Error>> {
        self.to.check_same()
    }

    fn time_ms(&mut self, twins: &Twins<'_>, twin: &Twin, launches: u32) -> tilewright::Result<f32> {
        let gpu = self.to.gpu;
        gpu.time_ms(|| (0..launches).try_for_each(|_| self.launch(twins, twin)))
    }
}
