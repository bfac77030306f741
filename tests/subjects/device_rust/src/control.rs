//! Control flow: matches, calls through pointers, closures, recursion, state machines.

use crate::support::digest;

subject! {
    /// A dense match: a jump table.
    fn jump_table(input: &[u64; 24], output: &mut [u64; 24]) {
        let mut x = 1u64;
        for (out, word) in output.iter_mut().zip(input) {
            x = match word % 16 {
                0 => x.wrapping_add(*word),
                1 => x.wrapping_sub(3),
                2 => x.wrapping_mul(5),
                3 => x ^ word,
                4 => x.rotate_left(7),
                5 => !x,
                6 => x.swap_bytes(),
                7 => x >> 3,
                8 => x << 5,
                9 => x | 0xff,
                10 => x & 0xffff_ffff_0000,
                11 => u64::from(x.count_ones()),
                12 => x / 7,
                13 => x % 1_000_003,
                14 => x.reverse_bits(),
                _ => u64::from(x.leading_zeros()) ^ word,
            };
            *out = x;
        }
    }
}

subject! {
    /// A sparse match, with ranges, guards and bindings.
    fn sparse_match(input: &[u64; 24], output: &mut [u64; 24]) {
        *output = input.map(|x| match x {
            0 => 1,
            n @ 1..=9 => n * 10,
            10 | 100 | 1000 | 10_000 => 2,
            n if n % 2 == 1 && n > 1 << 40 => n >> 40,
            0xff..=0xffff => 3,
            u64::MAX => 4,
            n if n.is_multiple_of(3) => n / 3,
            n @ (0x1_0000..=0xffff_ffff | 0x8000_0000_0000_0000..) => n ^ 0xaaaa,
            _ => 5,
        });
    }
}

#[derive(Clone, Copy, PartialEq)]
#[repr(i16)]
enum Computed {
    A = -300,
    B = 1 << 10,
    C = Self::B as i16 + 7,
    D = i16::MAX,
}

subject! {
    /// An enum whose discriminants are computed.
    fn computed_enum(input: &[u64; 16], output: &mut [u64; 16]) {
        let all = [Computed::A, Computed::B, Computed::C, Computed::D];
        *output = core::array::from_fn(|k| {
            let value = all[input[k] as usize % 4];
            let next = match value {
                Computed::A => Computed::C,
                Computed::B if input[k] > 1000 => Computed::D,
                Computed::B => Computed::A,
                Computed::C => Computed::B,
                Computed::D => Computed::D,
            };
            (value as i16 as u64) << 20 ^ next as i16 as u64 ^ u64::from(value == next)
        });
    }
}

/// A permutation of bytes, 2 KiB.
const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (i as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(i as u32 % 64)
            | i as u64;
        i += 1;
    }
    table
};

subject! {
    /// A constant table of 2 KiB, read at run-time indices.
    fn const_table(input: &[u64; 16], output: &mut [u64; 16]) {
        *output = input.map(|x| {
            x.to_le_bytes().iter().fold(0, |hash: u64, byte| {
                TABLE[(hash as u8 ^ byte) as usize] ^ hash.rotate_right(9)
            })
        });
    }
}

subject! {
    /// A table of strings and numbers of 4 KiB.
    fn table_of_structs(input: &[u64; 16], output: &mut [u64; 16]) {
        struct Row {
            name: &'static str,
            factor: u32,
            path: &'static [u8],
        }
        const ROW: [Row; 3] = [
            Row {
                name: "alpha",
                factor: 3,
                path: &[1, 2, 3],
            },
            Row {
                name: "beta",
                factor: 5,
                path: &[],
            },
            Row {
                name: "gamma-delta",
                factor: 7,
                path: b"0123456789",
            },
        ];
        static ROWS: [[Row; 3]; 32] = [ROW; 32];
        *output = input.map(|x| {
            let row = &ROWS[x as usize % 32][(x >> 8) as usize % 3];
            let byte = row.name.as_bytes()[(x >> 16) as usize % row.name.len()];
            let step = row.path.get((x >> 24) as usize % 12).copied().unwrap_or(200);
            u64::from(row.factor) << 16 | u64::from(byte) << 8 | u64::from(step)
        });
    }
}

trait Animal {
    fn legs(&self) -> u64;
    fn name(&self) -> &str {
        "animal"
    }
    fn grow(&mut self, by: u64);
}

#[derive(Default)]
struct Spider(u64);

struct Snake {
    length: [u32; 3],
}

impl Animal for Spider {
    fn legs(&self) -> u64 {
        8 + self.0
    }
    fn grow(&mut self, by: u64) {
        self.0 = self.0.wrapping_add(by >> 50);
    }
}

impl Animal for Snake {
    fn legs(&self) -> u64 {
        u64::from(self.length[1])
    }
    fn name(&self) -> &str {
        "snake"
    }
    fn grow(&mut self, by: u64) {
        self.length[by as usize % 3] ^= by as u32;
    }
}

subject! {
    /// Calls through trait objects, with a provided method.
    fn trait_objects(input: &[u64; 24], output: &mut [u64; 24]) {
        let mut spider = Spider::default();
        let mut snake = Snake { length: [1, 2, 3] };
        for (out, x) in output.iter_mut().zip(input) {
            let animal: &mut dyn Animal = if x % 3 == 0 { &mut spider } else { &mut snake };
            animal.grow(*x);
            *out = animal.legs() << 8 | animal.name().len() as u64;
        }
    }
}

subject! {
    /// A table of function pointers.
    fn function_pointers(input: &[u64; 16], output: &mut [u64; 16]) {
        fn xor(a: u64, b: u64) -> u64 {
            a ^ b
        }
        fn shift(a: u64, b: u64) -> u64 {
            a.rotate_left(b as u32 % 64)
        }
        static OPERATIONS: [fn(u64, u64) -> u64; 5] =
            [xor, shift, u64::wrapping_add, u64::wrapping_mul, |a, b| a / (b | 1)];
        let mut x = input[0];
        for (out, word) in output.iter_mut().zip(input) {
            x = OPERATIONS[*word as usize % 5](x, *word >> 3);
            *out = x;
        }
    }
}

subject! {
    /// Closures that capture by reference and by value, by generics and by dyn.
    fn closures(input: &[u64; 16], output: &mut [u64; 18]) {
        fn twice(f: impl Fn(u64) -> u64, x: u64) -> u64 {
            f(f(x))
        }
        fn adder(n: u64) -> impl Fn(u64) -> u64 {
            move |x| x.wrapping_add(n)
        }
        let mut calls = 0;
        let mut count = |x: u64| {
            calls += 1;
            x ^ calls
        };
        for k in 0..16 {
            let scale = |x: u64| x.wrapping_mul(input[k] | 1);
            let chosen: &dyn Fn(u64) -> u64 = if input[k] % 2 == 0 { &scale } else { &adder(k as u64) };
            output[k] = twice(chosen, count(input[k]));
        }
        output[16] = twice(adder(input[0]), input[1]);
        output[17] = calls;
    }
}

trait Monoid: Copy {
    const ZERO: Self;
    fn combine(self, other: Self) -> Self;
}

impl Monoid for u64 {
    const ZERO: Self = 0;
    fn combine(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

#[derive(Clone, Copy)]
struct Max(i16);

impl Monoid for Max {
    const ZERO: Self = Self(i16::MIN);
    fn combine(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl<A: Monoid, B: Monoid> Monoid for (A, B) {
    const ZERO: Self = (A::ZERO, B::ZERO);
    fn combine(self, other: Self) -> Self {
        (self.0.combine(other.0), self.1.combine(other.1))
    }
}

subject! {
    /// Generic code with associated constants: a prefix scan over a product of monoids.
    fn generic_scan(input: &[u64; 24], output: &mut [u64; 24]) {
        fn scan<M: Monoid, const N: usize>(values: [M; N]) -> [M; N] {
            let mut sum = M::ZERO;
            values.map(|x| {
                sum = sum.combine(x);
                sum
            })
        }
        let scanned = scan(input.map(|x| (x, (Max(x as i16), x >> 32))));
        *output = scanned.map(|(sum, (max, high))| sum ^ (max.0 as u64) << 40 ^ high);
    }
}

subject! {
    stack_bytes: 32 << 10;
    /// The Ackermann function of small arguments.
    fn ackermann(input: &[u64; 2], output: &mut [u64; 2]) {
        fn ackermann(m: u64, n: u64) -> u64 {
            match (m, n) {
                (0, n) => n + 1,
                (m, 0) => ackermann(m - 1, 1),
                (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
            }
        }
        *output = [ackermann(2, input[0] % 6), ackermann(1 + input[1] % 2, input[1] % 5)];
    }
}

subject! {
    stack_bytes: 16 << 10;
    /// A recursive quicksort.
    fn quicksort(input: &[u64; 40], output: &mut [u64; 40]) {
        fn sort(values: &mut [u64]) {
            if values.len() < 2 {
                return;
            }
            let pivot = values[values.len() / 2];
            let (mut i, mut k) = (0, values.len() - 1);
            loop {
                while values[i] < pivot {
                    i += 1;
                }
                while values[k] > pivot {
                    k -= 1;
                }
                if i >= k {
                    break;
                }
                values.swap(i, k);
                i += 1;
                k -= 1;
            }
            let (left, right) = values.split_at_mut(i);
            sort(left);
            sort(right);
        }
        *output = *input;
        sort(output);
    }
}

subject! {
    stack_bytes: 16 << 10;
    /// The towers of Hanoi.
    fn hanoi(input: &[u64; 1], output: &mut [u64; 4]) {
        fn solve(n: u64, [from, via, to]: [usize; 3], pegs: &mut [u64; 3], moves: &mut u64) {
            if n == 0 {
                return;
            }
            solve(n - 1, [from, to, via], pegs, moves);
            pegs[from] ^= 1 << n;
            pegs[to] ^= 1 << n;
            *moves = moves.wrapping_mul(9).wrapping_add((from * 3 + to) as u64);
            solve(n - 1, [via, from, to], pegs, moves);
        }
        let mut moves = input[0];
        let mut pegs = [0; 3];
        solve(1 + input[0] % 7, [0, 1, 2], &mut pegs, &mut moves);
        *output = [pegs[0], pegs[1], pegs[2], moves];
    }
}

subject! {
    stack_bytes: 16 << 10;
    /// Mutual recursion, and recursion through a trait object.
    fn mutual_recursion(input: &[u64; 4], output: &mut [u64; 4]) {
        fn even(n: u64, x: u64) -> u64 {
            if n == 0 { x } else { odd(n - 1, x.wrapping_mul(3)) }
        }
        fn odd(n: u64, x: u64) -> u64 {
            if n == 0 { !x } else { even(n - 1, x ^ n) }
        }
        fn apply(n: u64, f: &dyn Fn(u64) -> u64) -> u64 {
            if n == 0 {
                f(1)
            } else {
                apply(n - 1, &|x| f(x.wrapping_add(n)))
            }
        }
        *output = input.map(|x| even(x % 30, x) ^ apply(x % 8, &|y| y.wrapping_mul(x)));
    }
}

subject! {
    /// A state machine over bytes: numbers, words and comments.
    fn state_machine(input: &[u64; 8], output: &mut [u64; 5]) {
        #[derive(Clone, Copy)]
        enum State {
            Space,
            Number { value: u32 },
            Word { length: u8, hash: u32 },
            Comment(u8),
        }
        let bytes: [u8; 64] = crate::support::bytes(input);
        let mut counts = [0u64; 4];
        let mut sum = 0u64;
        let mut state = State::Space;
        for byte in bytes {
            state = match (state, b" 17a#z\n("[byte as usize % 8]) {
                (State::Comment(depth), b'(') => State::Comment(depth.saturating_add(1)),
                (State::Comment(0), b'\n') => State::Space,
                (State::Comment(depth), b'\n') => State::Comment(depth - 1),
                (State::Comment(depth), _) => State::Comment(depth),
                (_, b'#') => State::Comment(0),
                (State::Number { value }, digit @ (b'1' | b'7')) => State::Number {
                    value: value.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')),
                },
                (State::Word { length, hash }, letter @ b'a'..=b'z') => State::Word {
                    length: length + 1,
                    hash: hash.wrapping_mul(31) ^ u32::from(letter),
                },
                (_, digit @ (b'1' | b'7')) => State::Number {
                    value: u32::from(digit - b'0'),
                },
                (_, letter @ b'a'..=b'z') => State::Word {
                    length: 1,
                    hash: u32::from(letter),
                },
                _ => State::Space,
            };
            let (index, value) = match state {
                State::Space => (0, 1),
                State::Number { value } => (1, u64::from(value)),
                State::Word { length, hash } => (2, u64::from(hash) << 8 | u64::from(length)),
                State::Comment(depth) => (3, u64::from(depth)),
            };
            counts[index] += 1;
            sum = sum.rotate_left(3) ^ value;
        }
        *output = [counts[0], counts[1], counts[2], counts[3], sum];
    }
}

subject! {
    /// Labeled breaks with values, `let else`, nested loops, early returns.
    fn labels(input: &[u64; 16], output: &mut [u64; 3]) {
        let found = 'search: {
            for (i, a) in input.iter().enumerate() {
                for b in &input[..i] {
                    if (a ^ b) % 8 == 5 {
                        break 'search *a;
                    }
                    if a == b {
                        continue;
                    }
                }
            }
            7
        };
        let first_even = || {
            let Some(even) = input.iter().find(|x| **x % 2 == 0) else {
                return 8;
            };
            even / 2
        };
        let mut steps = 0u64;
        let mut x = input[0] | 1;
        let limit = loop {
            steps += 1;
            x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(13);
            if x.is_multiple_of(11) || steps > 100 {
                break x;
            }
        };
        *output = [found, first_even(), limit ^ steps];
    }
}

subject! {
    /// A reference to one of two statics or to a local array, chosen at run time.
    fn choose_reference(input: &[u64; 16], output: &mut [u64; 16]) {
        static A: [u64; 4] = [1, 10, 100, 1000];
        static B: [u64; 4] = [5, 50, 500, 5000];
        let local: [u64; 4] = core::array::from_fn(|i| input[i] >> 3);
        *output = core::array::from_fn(|k| {
            let chosen: &[u64; 4] = match input[k] % 3 {
                0 => &A,
                1 => &B,
                _ => &local,
            };
            chosen[(input[k] >> 8) as usize % 4] ^ digest(chosen.iter().copied()) << 32
        });
    }
}

subject! {
    /// The same for slices of different lengths, in a loop that carries the choice.
    fn choose_slice(input: &[u64; 16], output: &mut [u64; 16]) {
        static A: [u8; 3] = *b"abc";
        static B: [u8; 200] = [7; 200];
        let local: [u8; 16] = core::array::from_fn(|i| input[i] as u8);
        let mut chosen: &[u8] = &A;
        for (out, x) in output.iter_mut().zip(input) {
            *out = u64::from(chosen[*x as usize % chosen.len()]) << 8 | chosen.len() as u64;
            chosen = match x % 4 {
                0 => &A,
                1 => &B,
                2 => &local[x.to_le_bytes()[1] as usize % 8..],
                _ => chosen,
            };
        }
    }
}
