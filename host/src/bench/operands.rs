//! The matrices of a row, on both sides.

use tilewright_contract::{GemmShape, Operand};

use crate::check::{self, Verdict};
use crate::element::Element;
use crate::error::Result;
use crate::launch::{DeviceMatrix, Gpu};
use crate::random::random_matrix;

/// Sets of operands take no more than this together, in bytes.
const MOST_BYTES: usize = 16 << 30;

/// More sets than this change nothing.
const MOST_SETS: usize = 1024;

/// A, B and C on the device.
pub struct Set<'gpu, T: Element> {
    /// A.
    pub a: DeviceMatrix<'gpu, T>,
    /// B.
    pub b: DeviceMatrix<'gpu, T>,
    /// C.
    pub c: DeviceMatrix<'gpu, T>,
}

/// Inputs on the host, and the same inputs on the device so many times over that a launch finds nothing of its operands in the
/// second-level cache when its turn comes again.
pub struct Operands<'gpu, T: Element> {
    shape: GemmShape,
    a: Vec<T>,
    b: Vec<T>,
    /// What launches take in turns.
    pub sets: Vec<Set<'gpu, T>>,
}

impl<'gpu, T: Element> Operands<'gpu, T> {
    /// Random inputs, uniform in (-1, 1), the same at every call.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) when they do not fit into the device's memory.
    pub fn random(gpu: &'gpu Gpu, shape: GemmShape) -> Result<Self> {
        let a: Vec<T> = random_matrix(1, shape.span_elems(Operand::A));
        let b: Vec<T> = random_matrix(2, shape.span_elems(Operand::B));
        let c_elems = shape.span_elems(Operand::C);
        let bytes = (a.len() + b.len() + c_elems) * size_of::<T>();
        let l2_bytes = gpu.profile().installed.as_ref().map_or(0, |device| device.l2_bytes) as usize;
        let mut sets = vec![Set {
            a: gpu.upload(&a)?,
            b: gpu.upload(&b)?,
            c: gpu.uninitialized(c_elems)?,
        }];
        for _ in 1..set_count(bytes, l2_bytes) {
            let mut set = Set {
                a: gpu.uninitialized(a.len())?,
                b: gpu.uninitialized(b.len())?,
                c: gpu.uninitialized(c_elems)?,
            };
            set.a.copy_from(&sets[0].a)?;
            set.b.copy_from(&sets[0].b)?;
            sets.push(set);
        }
        Ok(Self { shape, a, b, sets })
    }

    /// Runs a product on a C of NaNs, and compares what comes out with the CPU's: [`check::sampled`].
    ///
    /// # Errors
    /// Those of `launch`, of the device, and [`Error::Mismatch`](crate::Error::Mismatch).
    pub fn check(&mut self, gpu: &Gpu, launch: impl FnOnce(&mut Set<'gpu, T>) -> Result<()>) -> Result<Verdict> {
        let set = &mut self.sets[0];
        set.c.fill_bytes(0xff)?;
        launch(set)?;
        gpu.synchronize()?;
        let mut c = vec![T::from_f64(0.0); set.c.len()];
        set.c.download(&mut c)?;
        check::sampled(&self.shape, &self.a, &self.b, &c, check::DEFAULT_SEED)?.into_result()
    }
}

/// How many sets of so many bytes are more than twice the second-level cache.
fn set_count(bytes: usize, l2_bytes: usize) -> usize {
    let wanted = (2 * l2_bytes).div_ceil(bytes.max(1)) + 1;
    // One that is larger than that by itself needs no second.
    let wanted = if bytes > 2 * l2_bytes { 1 } else { wanted };
    wanted.min(MOST_BYTES / bytes.max(1)).clamp(1, MOST_SETS)
}

#[cfg(test)]
mod tests {
    use super::set_count;

    #[test]
    fn a_rotation_exceeds_twice_the_cache_within_the_limits() {
        const MIB: usize = 1 << 20;
        // 1024 cubed on an H200: 12 MiB a set.
        assert_eq!(set_count(12 * MIB, 50 * MIB), 10);
        assert_eq!(set_count(99 * MIB, 50 * MIB), 3);
        assert_eq!(set_count(192 * MIB, 50 * MIB), 1);
        // 16384 cubed, and something that is larger than what all may take.
        assert_eq!(set_count(3 << 30, 50 * MIB), 1);
        assert_eq!(set_count(20 << 30, 50 * MIB), 1);
        assert_eq!(set_count(12, 50 * MIB), 1024);
        assert_eq!(set_count(0, 0), 1);
    }
}
