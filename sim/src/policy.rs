//! What a launch allows that is a fault by default.

use half::f16;
use serde::Serialize;

/// Practices that are faults by default, since CUDA promises nothing for them or their results depend on timing, and
/// that a kernel may rely on all the same. By default none is allowed.
///
/// ```
/// use cuda_sim::{Launch, Policy};
///
/// let launch = Launch::new(1, 32).policy(Policy { same_value_writes: true, ..Policy::default() });
/// # launch.run(|| ()).assert_clean();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Unordered stores of the same bytes, through views: no [`SharedRace`](crate::FaultKind::SharedRace) or
    /// [`GlobalRace`](crate::FaultKind::GlobalRace) between the two.
    pub same_value_writes: bool,
    /// Threads that return before a barrier of the others: no
    /// [`BarrierDivergence`](crate::FaultKind::BarrierDivergence). GPUs do not wait for threads that have exited.
    pub early_return: bool,
    /// Warps that are at different barriers of the source at once, all lanes of each at one: no
    /// [`BarrierMismatch`](crate::FaultKind::BarrierMismatch). PTX asks for no more; CUDA C++ does.
    pub barrier_by_warp: bool,
    /// Results whose elements are the same in another order, such as those that are appended at an atomic counter: no
    /// [`ScheduleDependent`](crate::FaultKind::ScheduleDependent).
    pub append_order: bool,
    /// Results in buffers of `f16`, `f32` or `f64` that agree in half of the bits of each significand, such as sums by
    /// atomics: no [`ScheduleDependent`](crate::FaultKind::ScheduleDependent).
    pub float_sum_order: bool,
}

/// How the contents of a buffer after two schedules are compared: what differs otherwise is a
/// [`ScheduleDependent`](crate::FaultKind::ScheduleDependent).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Comparison {
    /// Bit by bit.
    #[default]
    Exact,
    /// Elements of `f16`, `f32` or `f64` may differ by `absolute`, or by `relative` times the larger magnitude; those
    /// of other types may not differ.
    Within {
        /// The allowed difference as a part of the larger magnitude.
        relative: f64,
        /// The allowed difference.
        absolute: f64,
    },
    /// Not at all, such as a workspace.
    Ignored,
}

impl Comparison {
    /// Whether the contents `a` and `b` may differ as they do.
    pub(crate) fn allows(self, element: Element, a: &[u8], b: &[u8]) -> bool {
        match (self, element.float) {
            (Self::Exact, _) | (Self::Within { .. }, None) => a == b,
            (Self::Ignored, _) => true,
            (Self::Within { relative, absolute }, Some(float)) => {
                let elements = |bytes| <[u8]>::chunks_exact(bytes, element.bytes);
                elements(a).zip(elements(b)).all(|(a, b)| {
                    let (x, y) = (float.number(a), float.number(b));
                    a == b || (x - y).abs() <= absolute.max(x.abs().max(y.abs()) * relative)
                })
            }
        }
    }
}

/// The type of a buffer's elements, as far as the comparison of results needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    bytes: usize,
    float: Option<Float>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Float {
    F16,
    F32,
    F64,
}

impl Element {
    pub(crate) fn of<T: 'static>() -> Self {
        let id = std::any::TypeId::of::<T>();
        let floats = [
            (std::any::TypeId::of::<f16>(), Float::F16),
            (std::any::TypeId::of::<f32>(), Float::F32),
            (std::any::TypeId::of::<f64>(), Float::F64),
        ];
        let float = floats.into_iter().find(|(of, _)| *of == id).map(|(_, float)| float);
        let bytes = size_of::<T>().max(1);
        Self { bytes, float }
    }
}

impl Float {
    /// The number of these bytes.
    fn number(self, bytes: &[u8]) -> f64 {
        match self {
            Float::F16 => f64::from(bytemuck::pod_read_unaligned::<f16>(bytes)),
            Float::F32 => f64::from(bytemuck::pod_read_unaligned::<f32>(bytes)),
            Float::F64 => bytemuck::pod_read_unaligned::<f64>(bytes),
        }
    }

    /// Whether two numbers agree in half of the bits of their significands (11, 24 and 53).
    fn agree(self, a: &[u8], b: &[u8]) -> bool {
        let bits = match self {
            Float::F16 => 5,
            Float::F32 => 12,
            Float::F64 => 26,
        };
        let (x, y) = (self.number(a), self.number(b));
        a == b || (x - y).abs() <= x.abs().max(y.abs()) * 0.5_f64.powi(bits)
    }
}

impl Policy {
    /// Whether the contents `a` and `b` of a buffer, after two schedules, may differ as they do.
    pub(crate) fn allows(self, element: Element, a: &[u8], b: &[u8]) -> bool {
        let elements = |bytes| <[u8]>::chunks_exact(bytes, element.bytes);
        let agree = || {
            let float = element.float?;
            Some(elements(a).zip(elements(b)).all(|(a, b)| float.agree(a, b)))
        };
        let sorted = |bytes| {
            let mut all: Vec<&[u8]> = elements(bytes).collect();
            all.sort_unstable();
            all
        };
        self.float_sum_order && agree() == Some(true) || self.append_order && sorted(a) == sorted(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_in_another_order_and_close_numbers_are_told_from_others() {
        let appends = Policy {
            append_order: true,
            ..Policy::default()
        };
        let sums = Policy {
            float_sum_order: true,
            ..Policy::default()
        };
        let bytes = |of: &[f32]| bytemuck::cast_slice::<f32, u8>(of).to_vec();
        let (a, swapped) = (bytes(&[1.0, 2.0, 3.0]), bytes(&[3.0, 1.0, 2.0]));
        let (close, far) = (bytes(&[1.0001, 2.0, 3.0]), bytes(&[1.001, 2.0, 3.0]));
        let of = Element::of::<f32>();
        let allowed = |policy: Policy| [&swapped, &close, &far].map(|b| policy.allows(of, &a, b));
        assert_eq!(allowed(appends), [true, false, false]);
        assert_eq!(allowed(sums), [false, true, false]);
        assert_eq!(allowed(Policy::default()), [false; 3]);
        assert!(
            !sums.allows(Element::of::<u32>(), &a, &close),
            "integers are not sums of floats"
        );
        let nan = bytes(&[f32::NAN, 2.0, 3.0]);
        assert!(!sums.allows(of, &a, &nan));
        assert!(sums.allows(of, &nan, &nan));
    }
}
