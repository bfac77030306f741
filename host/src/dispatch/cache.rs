//! Plans that were made before.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use tilewright_contract::{DType, GemmShape};
use tilewright_plan::device::DeviceProfile;

use super::{Plan, Policy};

/// Plans that are kept; all are dropped when there are more. Programs have few shapes, and a plan takes kilobytes.
const MOST_PLANS: usize = 1024;

/// What a plan depends on.
#[derive(Clone, Copy)]
pub(super) struct Question<'q> {
    pub(super) shape: &'q GemmShape,
    pub(super) dtype: DType,
    pub(super) device: &'q DeviceProfile,
    pub(super) policy: &'q Policy,
}

/// A plan and what it was made for.
struct Answer {
    dtype: DType,
    device: DeviceProfile,
    policy: Policy,
    plan: Plan,
}

/// By the hash of the question. Of two questions with one hash the later answer stays.
static ANSWERS: LazyLock<Mutex<HashMap<u64, Answer>>> = LazyLock::new(Mutex::default);

impl Question<'_> {
    fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.shape, self.dtype, self.device, self.policy).hash(&mut hasher);
        hasher.finish()
    }

    fn is_answered_by(&self, answer: &Answer) -> bool {
        answer.plan.shape() == *self.shape
            && answer.dtype == self.dtype
            && answer.policy == *self.policy
            && answer.device == *self.device
    }

    /// The plan that was made for the same question, or one that `make` makes. Errors are not kept.
    pub(super) fn answer<E>(self, make: impl FnOnce() -> Result<Plan, E>) -> Result<Plan, E> {
        let key = self.key();
        // Nothing panics while the map is locked; a poisoned one would still be whole.
        let answers = || ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answers().get(&key).filter(|answer| self.is_answered_by(answer)) {
            return Ok(answer.plan.clone());
        }
        let plan = make()?;
        let answer = Answer {
            dtype: self.dtype,
            device: self.device.clone(),
            policy: *self.policy,
            plan: plan.clone(),
        };
        let mut answers = answers();
        if answers.len() >= MOST_PLANS {
            answers.clear();
        }
        answers.insert(key, answer);
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;

    #[test]
    fn a_question_is_answered_once_and_another_one_by_itself() {
        let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
        let shape = GemmShape::packed(71, 73, 79).expect("valid");
        let policy = Policy::default();
        let made = plan(&shape, DType::F32, &device, &policy).expect("fits");
        let question = Question {
            shape: &shape,
            dtype: DType::F32,
            device: &device,
            policy: &policy,
        };
        let again = question.answer(|| -> Result<Plan, ()> { panic!("it was answered") });
        assert_eq!(again, Ok(made));
        // Each part of a question matters.
        let small = DeviceProfile {
            smem_per_block_optin: 50 << 10,
            ..device.clone()
        };
        let split = Policy {
            splits: Some(2),
            ..policy
        };
        let others = [
            Question {
                dtype: DType::F64,
                ..question
            },
            Question {
                device: &small,
                ..question
            },
            Question {
                policy: &split,
                ..question
            },
        ];
        for other in others {
            assert_eq!(other.answer(|| Err("asked")), Err("asked"));
        }
    }
}
