//! The description of a launch and of what must come out.

mod arguments;

pub use arguments::{Arguments, FromArguments};

/// The contents of a buffer.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// 32-bit words.
    U32(Vec<u32>),
    /// 64-bit words.
    U64(Vec<u64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Data {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(data) => data.len(),
            Self::U64(data) => data.len(),
            Self::F32(data) => data.len(),
            Self::F64(data) => data.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes as they lie in memory.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::U32(data) => data.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Self::U64(data) => data.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Self::F32(data) => data.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            Self::F64(data) => data.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        }
    }

    /// Compares the bytes that a kernel left with what this says it leaves; the error names the first difference.
    ///
    /// Integers must be equal. Numbers may be off by `tolerance` times the expected magnitude; NaN equals NaN.
    pub fn check(&self, bytes: &[u8], tolerance: f64) -> Result<(), String> {
        fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
            bytes.as_chunks().0.iter().copied()
        }
        fn first_difference<T: Copy + std::fmt::Debug>(
            expected: &[T],
            found: impl Iterator<Item = T>,
            equal: impl Fn(T, T) -> bool,
        ) -> Result<(), String> {
            let found: Vec<T> = found.collect();
            if found.len() != expected.len() {
                return Err(format!("{} elements instead of {}", found.len(), expected.len()));
            }
            match (0..found.len()).find(|&i| !equal(expected[i], found[i])) {
                None => Ok(()),
                Some(i) => Err(format!("element {i} is {:?} instead of {:?}", found[i], expected[i])),
            }
        }
        let close = |expected: f64, found: f64| {
            expected == found
                || expected.is_nan() && found.is_nan()
                || (expected - found).abs() <= tolerance * expected.abs()
        };
        match self {
            Self::U32(data) => first_difference(data, words(bytes).map(u32::from_ne_bytes), |a, b| a == b),
            Self::U64(data) => first_difference(data, words(bytes).map(u64::from_ne_bytes), |a, b| a == b),
            Self::F32(data) => first_difference(data, words(bytes).map(f32::from_ne_bytes), |a, b| {
                close(a.into(), b.into())
            }),
            Self::F64(data) => first_difference(data, words(bytes).map(f64::from_ne_bytes), close),
        }
    }
}

/// What a kernel must leave in a buffer.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The contents.
    pub data: Data,
    /// How far a number may be off, relative to its magnitude.
    pub tolerance: f64,
}

/// One argument of a launch.
#[derive(Debug, Clone)]
pub enum Argument {
    /// A value, by its bytes.
    Value(Vec<u8>),
    /// The address of a device buffer with these contents.
    Pointer(Data),
    /// The address of a device buffer with these contents, and as a second argument its number of elements.
    Slice(Data),
    /// The address of a device buffer that starts with zeros and must end like this.
    Output(Expected),
    /// The address of a device buffer with these contents, which must end like that.
    Updated(Data, Expected),
}

/// How a launch ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeds.
    Success,
    /// It succeeds and prints this.
    Prints(&'static str),
    /// It fails, and the context with it.
    Failure,
}

/// A kernel, as the macro `entry!` describes it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name in the PTX.
    pub name: &'static str,
    /// Calls it on the host, as one thread.
    ///
    /// # Safety
    ///
    /// The arguments must be what the kernel takes, as the GPU would get them.
    pub call: unsafe fn(&mut Arguments<'_>),
}

/// The [`Entry`] of a kernel with a `_` for each of its parameters, whose types it tells by itself:
/// `entry!(axpy(_, _, _))`.
macro_rules! entry {
    ($kernel:ident($($parameter:tt),*)) => {
        $crate::cases::Entry {
            name: ::core::stringify!($kernel),
            call: |arguments| unsafe { self::$kernel($($crate::cases::entry!(@next arguments $parameter)),*) },
        }
    };
    (@next $arguments:ident _) => {
        $arguments.next()
    };
}
pub(crate) use entry;

/// One launch.
#[derive(Debug, Clone)]
pub struct Case {
    /// The kernel's name in the PTX.
    pub kernel: &'static str,
    /// Calls it on the host, as one thread; see [`Entry::call`].
    pub call: unsafe fn(&mut Arguments<'_>),
    /// The blocks of the grid.
    pub grid: [u32; 3],
    /// The threads of a block.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block, in bytes.
    pub dynamic_smem_bytes: u32,
    /// The stack of a thread, in bytes, that `CU_LIMIT_STACK_SIZE` must be raised to; 0 if the default (1024) is
    /// enough.
    pub stack_bytes: u32,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// How it ends.
    pub outcome: Outcome,
}

impl Case {
    /// A launch of `blocks` times `threads` threads that succeeds.
    pub fn new(kernel: Entry, blocks: u32, threads: u32, arguments: Vec<Argument>) -> Self {
        Self {
            kernel: kernel.name,
            call: kernel.call,
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            dynamic_smem_bytes: 0,
            stack_bytes: 0,
            arguments,
            outcome: Outcome::Success,
        }
    }
}

impl Argument {
    /// A 32-bit value.
    pub fn u32(value: u32) -> Self {
        Self::Value(value.to_ne_bytes().to_vec())
    }

    /// A buffer that must end with these words.
    pub fn out_u32(words: impl IntoIterator<Item = u32>) -> Self {
        Self::Output(Expected {
            data: Data::U32(words.into_iter().collect()),
            tolerance: 0.0,
        })
    }

    /// A buffer that must end with these words.
    pub fn out_u64(words: impl IntoIterator<Item = u64>) -> Self {
        Self::Output(Expected {
            data: Data::U64(words.into_iter().collect()),
            tolerance: 0.0,
        })
    }

    /// A buffer that must end with these numbers.
    pub fn out_f32(numbers: impl IntoIterator<Item = f32>, tolerance: f64) -> Self {
        Self::Output(Expected {
            data: Data::F32(numbers.into_iter().collect()),
            tolerance,
        })
    }

    /// A buffer that must end with these numbers.
    pub fn out_f64(numbers: impl IntoIterator<Item = f64>, tolerance: f64) -> Self {
        Self::Output(Expected {
            data: Data::F64(numbers.into_iter().collect()),
            tolerance,
        })
    }
}

/// All launches. Those that fail come last, for they take the context with them.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(crate::threads::cases());
    #[cfg(feature = "additions")]
    cases.extend(crate::warps::cases());
    #[cfg(feature = "additions")]
    cases.extend(crate::attributes::cases());
    #[cfg(feature = "additions")]
    cases.extend(crate::copies::cases());
    #[cfg(feature = "additions")]
    cases.extend(crate::exchanges::cases());
    #[cfg(feature = "main")]
    cases.extend(crate::coordinates::cases());
    cases.extend(crate::shared::cases());
    cases.extend(crate::atomics::cases());
    cases.extend(crate::atomic_instructions::cases());
    cases.extend(crate::floats::cases());
    cases.extend(crate::libdevice::cases());
    cases.extend(crate::linkage::cases());
    cases.extend(crate::memory::cases());
    cases.extend(crate::parameters::cases());
    cases.extend(crate::pointers::cases());
    cases.extend(crate::printing::cases());
    cases.sort_by_key(|case| case.outcome == Outcome::Failure);
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_the_first_difference() {
        let words = Data::U32(vec![1, 2, 3]);
        assert_eq!(words.check(&words.to_bytes(), 0.0), Ok(()));
        let other = Data::U32(vec![1, 5, 6]).to_bytes();
        assert_eq!(words.check(&other, 0.0), Err("element 1 is 5 instead of 2".to_owned()));
        assert_eq!(words.check(&other[..8], 0.0), Err("2 elements instead of 3".to_owned()));
        let numbers = Data::F32(vec![100.0, f32::NAN]);
        let near = Data::F32(vec![100.5, f32::NAN]).to_bytes();
        assert!(numbers.check(&near, 0.01).is_ok() && numbers.check(&near, 0.001).is_err());
    }

    #[test]
    fn the_names_are_those_of_the_kernels() {
        let names: Vec<&str> = all().iter().map(|case| case.kernel).collect();
        assert!(names.contains(&"axpy") && names.contains(&"instructions_f64"));
    }

    #[test]
    fn failures_come_last() {
        let cases = all();
        let failing = cases.iter().filter(|case| case.outcome == Outcome::Failure).count();
        assert!(
            failing > 0
                && cases
                    .iter()
                    .rev()
                    .take(failing)
                    .all(|case| case.outcome == Outcome::Failure)
        );
    }
}
