//! What a subject is on the host and on the GPU.

/// Threads that a block may have at most, and along x only: so many places each shared array of the subjects has.
pub const MAX_BLOCK_THREADS: usize = 32;

/// What an output word is before a subject writes it, on the host and on the device.
#[cfg(not(target_arch = "nvptx64"))]
pub const UNWRITTEN: u64 = 0xdead_beef_dead_beef;

/// A function from words to words that is a kernel of the same name on the GPU.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Name of the function and of the kernel.
    pub name: &'static str,
    /// Module that defines it.
    pub module: &'static str,
    /// The function as the host's compiler has it. The slices have `input_words` and `output_words` elements.
    pub run: fn(&[u64], &mut [u64]),
    /// Input words of one case.
    pub input_words: usize,
    /// Output words of one case.
    pub output_words: usize,
    /// Number of cases to run, each in a thread of its own.
    pub cases: usize,
    /// Bytes of stack that a GPU thread must have.
    pub stack_bytes: usize,
    /// Whether it allocates on the heap.
    pub heap: bool,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Subject {
    #[doc(hidden)]
    pub const fn new(
        (name, module): (&'static str, &'static str),
        run: fn(&[u64], &mut [u64]),
        (input_words, output_words): (usize, usize),
    ) -> Self {
        Self {
            name,
            module,
            run,
            input_words,
            output_words,
            cases: 32,
            stack_bytes: 4096,
            heap: false,
        }
    }
}

/// Every subject, filled by [`subject!`].
#[cfg(not(target_arch = "nvptx64"))]
#[linkme::distributed_slice]
pub(crate) static SUBJECTS: [Subject];

/// Every subject, in the order of modules and names.
#[cfg(not(target_arch = "nvptx64"))]
pub fn all() -> Vec<Subject> {
    let mut subjects = SUBJECTS.to_vec();
    subjects.sort_by_key(|subject| (subject.module, subject.name));
    subjects
}

/// Input words of all cases of a subject: the same for the same seed on every machine.
///
/// Cases take turns between random words, special values among random words, few distinct small values, and
/// ascending runs.
#[cfg(not(target_arch = "nvptx64"))]
pub fn inputs(subject: &Subject, seed: u64) -> Vec<u64> {
    const SPECIAL: [u64; 16] = [
        0,
        1,
        2,
        10,
        0x7f,
        0x80,
        0xff,
        0xffff_ffff,
        1 << 31,
        1 << 32,
        1 << 63,
        (1 << 63) - 1,
        u64::MAX,
        u64::MAX - 1,
        0x3ff0_0000_0000_0000, // 1.0
        0x7ff0_0000_0000_0000, // infinity
    ];
    let mut state = subject
        .name
        .bytes()
        .fold(seed, |state, byte| next(&mut { state }) ^ u64::from(byte));
    let mut words = Vec::with_capacity(subject.cases * subject.input_words);
    for case in 0..subject.cases {
        let mut run = next(&mut state);
        for _ in 0..subject.input_words {
            let random = next(&mut state);
            words.push(match case % 4 {
                0 => random,
                1 if random & 3 == 0 => SPECIAL[(random >> 32) as usize % SPECIAL.len()],
                1 => random >> (random >> 8 & 63),
                2 => (random >> 16) % 7,
                // Equal neighbors, small steps, and now and then a new start.
                _ => {
                    run = if random.is_multiple_of(13) {
                        random
                    } else {
                        run.wrapping_add(random >> 62)
                    };
                    run
                }
            });
        }
    }
    words
}

/// SplitMix64.
#[cfg(not(target_arch = "nvptx64"))]
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Defines a subject: a function that takes `&[u64; N]` and fills `&mut [u64; M]`, both lengths literals.
///
/// Fields of [`Subject`] that differ from the defaults stand before the function: `cases: 4, heap: true;`.
macro_rules! subject {
    (
        $(#[$meta:meta])*
        fn $name:ident($input:ident: &[u64; $inputs:literal], $output:ident: &mut [u64; $outputs:literal]) $body:block
    ) => {
        subject! { cases: 32; $(#[$meta])* fn $name($input: &[u64; $inputs], $output: &mut [u64; $outputs]) $body }
    };
    (
        $($field:ident: $value:expr),+;
        $(#[$meta:meta])*
        fn $name:ident($input:ident: &[u64; $inputs:literal], $output:ident: &mut [u64; $outputs:literal]) $body:block
    ) => {
        $(#[$meta])*
        fn $name($input: &[u64; $inputs], $output: &mut [u64; $outputs]) $body

        // The block keeps the names of the modules apart; `super` is the module around it.
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            mod kernel {
                #[::cuda_std::kernel]
                pub unsafe fn $name(input: *const u64, output: *mut u64, cases: u32) {
                    let case = ::cuda_std::thread::index();
                    if case < cases {
                        // SAFETY: the host passes `cases` inputs and outputs, and no other thread has this case.
                        let (input, output) = unsafe {
                            (
                                &*input.cast::<[u64; $inputs]>().add(case as usize),
                                &mut *output.cast::<[u64; $outputs]>().add(case as usize),
                            )
                        };
                        super::$name(input, output);
                    }
                }
            }
        };

        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            #[::linkme::distributed_slice($crate::subject::SUBJECTS)]
            static SUBJECT: $crate::Subject = $crate::Subject {
                $($field: $value,)+
                ..$crate::Subject::new(
                    (stringify!($name), module_path!()),
                    |input, output| {
                        let lengths = "the caller passes slices of the subject's lengths";
                        $name(input.try_into().expect(lengths), output.try_into().expect(lengths));
                    },
                    ($inputs, $outputs),
                )
            };
        };
    };
}

/// Declares `$name: &mut [T; N]`, filled with the value, in shared memory on the GPU.
macro_rules! shared_place {
    ($name:ident = [$value:expr; $type:ty; $len:literal]) => {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the place belongs to this thread, for no block has more threads than there are places; it is
        // written before it is borrowed.
        let $name = unsafe {
            let places = cuda_std::shared_array![[$type; $len]; crate::MAX_BLOCK_THREADS];
            let place = places.add(cuda_std::thread::thread_idx_x() as usize % crate::MAX_BLOCK_THREADS);
            place.write([$value; $len]);
            &mut *place
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let $name = &mut [$value; $len];
    };
}

/// Defines two subjects of one body: of the first name over a local array, of the second over one in shared memory.
/// Either is a `&mut [T; N]` that holds copies of the value.
macro_rules! subject_of_place {
    (
        $(#[$meta:meta])*
        fn $local:ident, $shared:ident(
            $input:ident: &[u64; $inputs:literal],
            $place:ident: [$type:ty; $len:literal] = $value:expr,
            $output:ident: &mut [u64; $outputs:literal]
        ) $body:block
    ) => {
        subject! {
            $(#[$meta])*
            fn $local($input: &[u64; $inputs], $output: &mut [u64; $outputs]) {
                let $place: &mut [$type; $len] = &mut [$value; $len];
                $body
            }
        }
        subject! {
            $(#[$meta])*
            fn $shared($input: &[u64; $inputs], $output: &mut [u64; $outputs]) {
                shared_place!($place = [$value; $type; $len]);
                $body
            }
        }
    };
}
