//! The matrices of a row, on both sides.

use tilewright::check::{DEFAULT_SEED, Expected, Verdict};
use tilewright::launch::{DeviceMatrix, Gpu};
use tilewright::random::random_matrix;
use tilewright::{Element, Error, Result};
use tilewright_contract::{GemmShape, Operand, Precision};

use super::method::Inputs;

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

/// Inputs on the host, and the same inputs on the device so many times over that a launch finds nothing of its operands
/// in the second-level cache when its turn comes again.
pub struct Operands<'gpu, T: Element> {
    shape: GemmShape,
    /// A on the host.
    pub a: Vec<T>,
    /// B on the host.
    pub b: Vec<T>,
    /// What launches take in turns.
    pub sets: Vec<Set<'gpu, T>>,
}

impl<'gpu, T: Element> Operands<'gpu, T> {
    /// Random inputs, uniform in (-1, 1), the same at every call.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more than the device or the host has memory for, [`Error::Driver`] for more than
    /// the device has left.
    pub fn random(gpu: &'gpu Gpu, shape: GemmShape) -> Result<Self> {
        let [a_elems, b_elems, c_elems] = [Operand::A, Operand::B, Operand::C].map(|operand| shape.span_elems(operand));
        let bytes = (a_elems + b_elems + c_elems) * size_of::<T>();
        let installed = gpu.profile().installed.as_ref();
        ensure_room::<T>(bytes, installed.map(|device| device.memory_bytes))?;
        let a: Vec<T> = random_matrix(1, a_elems);
        let b: Vec<T> = random_matrix(2, b_elems);
        let mut sets = vec![Set {
            a: gpu.upload(&a)?,
            b: gpu.upload(&b)?,
            c: gpu.uninitialized(c_elems)?,
        }];
        for _ in 1..set_count(bytes, l2_bytes(gpu)) {
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

    /// Fills A and B of every set, after what was launched before.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn fill(&mut self, inputs: Inputs) -> Result<()> {
        match inputs {
            Inputs::Zeros => {
                for set in &mut self.sets {
                    set.a.fill_bytes(0)?;
                    set.b.fill_bytes(0)?;
                }
            }
            Inputs::Random => {
                if let Some((first, others)) = self.sets.split_first_mut() {
                    first.a.upload_at(0, &self.a)?;
                    first.b.upload_at(0, &self.b)?;
                    for set in others {
                        set.a.copy_from(&first.a)?;
                        set.b.copy_from(&first.b)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// [`Set::check`] of the first set, in this arithmetic.
    ///
    /// # Errors
    /// Those of [`Set::check`].
    pub fn check(
        &mut self,
        gpu: &Gpu,
        precision: Precision,
        launch: impl FnOnce(&mut Set<'gpu, T>) -> Result<()>,
    ) -> Result<Verdict> {
        let expected = Expected::product(&self.shape, &self.a, &self.b)?.with_precision(precision)?;
        let mut c = vec![T::from_f64(0.0); self.sets[0].c.len()];
        self.sets[0].check(gpu, &expected, &mut c, launch)
    }
}

impl<T: Element> Set<'_, T> {
    /// Runs a product on a C of NaNs, brings what comes out into `c`, and compares a sample of it with the CPU's.
    ///
    /// # Errors
    /// Those of `launch`, of the device, and [`Error::Mismatch`](tilewright::Error::Mismatch).
    pub fn check(
        &mut self,
        gpu: &Gpu,
        expected: &Expected<'_, T>,
        c: &mut [T],
        launch: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<Verdict> {
        self.c.fill_bytes(0xff)?;
        launch(self)?;
        gpu.synchronize()?;
        self.c.download(c)?;
        expected.sampled(c, DEFAULT_SEED)?.into_result()
    }
}

/// Bytes of the device's second-level cache; 0 where it is not known.
pub fn l2_bytes(gpu: &Gpu) -> usize {
    gpu.profile()
        .installed
        .as_ref()
        .map_or(0, |device| device.l2_bytes as usize)
}

/// Whether operands of so many bytes have room on a device of so many, and on the host.
fn ensure_room<T>(bytes: usize, device_bytes: Option<u64>) -> Result<()> {
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    if let Some(device_bytes) = device_bytes
        && bytes as u64 > device_bytes
    {
        return Err(Error::InvalidArgument(format!(
            "A, B and C take {:.1} GiB, the device has {:.1}",
            gib(bytes as f64),
            gib(device_bytes as f64)
        )));
    }
    let room = Vec::<T>::new().try_reserve_exact(bytes / size_of::<T>());
    room.map_err(|_| {
        Error::InvalidArgument(format!(
            "A, B and C take {:.1} GiB, for which the host has no memory",
            gib(bytes as f64)
        ))
    })
}

/// How many sets of so many bytes are more than twice the second-level cache.
pub(super) fn set_count(bytes: usize, l2_bytes: usize) -> usize {
    let wanted = (2 * l2_bytes).div_ceil(bytes.max(1)) + 1;
    // One that is larger than that by itself needs no second.
    let wanted = if bytes > 2 * l2_bytes { 1 } else { wanted };
    wanted.min(MOST_BYTES / bytes.max(1)).clamp(1, MOST_SETS)
}

#[cfg(test)]
mod tests {
    use super::{ensure_room, set_count};

    #[test]
    fn operands_that_have_no_room_are_refused_before_they_are_made() {
        const GIB: u64 = 1 << 30;
        assert!(ensure_room::<f32>(1 << 20, Some(GIB)).is_ok());
        assert!(ensure_room::<f32>(1 << 20, None).is_ok());
        let problem = |bytes, device| ensure_room::<f32>(bytes, device).expect_err("no room").to_string();
        assert_eq!(
            problem(3 << 29, Some(GIB)),
            "A, B and C take 1.5 GiB, the device has 1.0"
        );
        assert!(problem(usize::MAX / 2, None).ends_with("for which the host has no memory"));
    }

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
