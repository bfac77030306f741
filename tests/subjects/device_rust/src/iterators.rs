//! Iterators: adapters, consumers, by dyn, and of the crate's own.

use crate::support::digest;

subject! {
    /// `zip`, `rev` and `step_by` of a run-time step.
    fn zip_rev_step_by(input: &[u64; 32], output: &mut [u64; 32]) {
        output.fill(0);
        let step = 1 + input[0] as usize % 5;
        let pairs = input.iter().zip(input.iter().rev().step_by(step));
        for (out, (a, b)) in output.iter_mut().rev().zip(pairs) {
            *out = a.wrapping_sub(*b);
        }
    }
}

subject! {
    /// `scan` that ends early, and `take_while`, `skip_while`, `map_while`.
    fn scan_take_while(input: &[u64; 32], output: &mut [u64; 4]) {
        let scanned = input.iter().scan(0u64, |sum, x| {
            *sum = sum.wrapping_add(x % 100);
            (*sum < 900).then_some(*sum)
        });
        *output = [
            digest(scanned),
            digest(input.iter().copied().take_while(|x| x % 5 != 0)),
            digest(input.iter().copied().skip_while(|x| x % 5 != 0)),
            digest(input.iter().map_while(|x| x.checked_mul(3))),
        ];
    }
}

subject! {
    /// `flat_map` over parts of different lengths.
    fn flat_map(input: &[u64; 16], output: &mut [u64; 40]) {
        output.fill(3);
        let flat = input
            .iter()
            .enumerate()
            .flat_map(|(i, x)| input[i..].iter().take(*x as usize % 5).map(move |y| x ^ y));
        output.iter_mut().zip(flat).for_each(|(out, x)| *out = x);
    }
}

subject! {
    /// `flatten` of options and nested arrays, from both ends.
    fn flatten_both_ends(input: &[u64; 24], output: &mut [u64; 2]) {
        let options = input.map(|x| (x % 3 != 0).then_some(x >> 1));
        let mut flat = options.iter().flatten();
        let mut sum = 1u64;
        while let (Some(a), Some(b)) = (flat.next(), flat.next_back()) {
            sum = sum.wrapping_mul(33) ^ a.wrapping_sub(*b);
        }
        let rows = [[input[0], input[1]], [input[2], input[3]], [input[4], input[5]]];
        *output = [sum, digest(rows.iter().flatten().rev().copied())];
    }
}

subject! {
    /// `peekable`: groups of digits and operators.
    fn peekable(input: &[u64; 32], output: &mut [u64; 32]) {
        output.fill(0);
        let mut tokens = input.iter().map(|x| x % 12).peekable();
        let mut at = 0;
        while let Some(token) = tokens.next() {
            let mut value = token;
            while let Some(digit) = tokens.next_if(|next| *next < 10) {
                value = value.wrapping_mul(10).wrapping_add(digit);
            }
            output[at] = value << 4 | tokens.peek().copied().unwrap_or(15);
            at += 1;
        }
    }
}

subject! {
    /// Folds: `fold`, `rfold`, `try_fold`, `reduce`, `sum` and `product`.
    fn folds(input: &[u64; 24], output: &mut [u64; 6]) {
        let small = input.map(|x| x % 16);
        *output = [
            input.iter().fold(1, |a, b| a ^ b.rotate_left(a as u32 % 64)),
            input.iter().rfold(1, |a, b| u64::wrapping_mul(a, b | 1)),
            input.iter().try_fold(0u64, |a, b| a.checked_add(b >> 3)).unwrap_or(42),
            input
                .iter()
                .copied()
                .reduce(|a, b| a.wrapping_mul(7).max(b))
                .unwrap_or(0),
            small.iter().sum(),
            small[..8].iter().map(|x| x + 1).product(),
        ];
    }
}

subject! {
    /// Extremes: the last of equal maxima, the first of equal minima.
    fn extremes(input: &[u64; 24], output: &mut [u64; 6]) {
        let keyed = |i: Option<(usize, &u64)>| i.map_or(99, |(i, x)| (i as u64) << 56 ^ x);
        let all = || input.iter().enumerate();
        *output = [
            keyed(all().max_by_key(|(_, x)| **x % 8)),
            keyed(all().min_by_key(|(_, x)| **x % 8)),
            keyed(all().max_by(|a, b| (a.1 >> 60).cmp(&(b.1 >> 60)))),
            keyed(all().min_by(|a, b| (*a.1 as i8).cmp(&(*b.1 as i8)))),
            *input.iter().max().unwrap_or(&0),
            *input.iter().min().unwrap_or(&0),
        ];
    }
}

subject! {
    /// Searches: position, rposition, find, any, all, find_map.
    fn searches(input: &[u64; 24], output: &mut [u64; 6]) {
        let index = |i: Option<usize>| i.map_or(99, |i| i as u64);
        let wanted = input[0] % 7;
        *output = [
            index(input.iter().skip(1).position(|x| x % 7 == wanted)),
            index(input.iter().rposition(|x| x % 7 == wanted)),
            input.iter().find(|x| **x > u64::MAX / 2).copied().unwrap_or(1),
            u64::from(input.iter().any(|x| x % 64 == 9)) | u64::from(input.iter().all(|x| x % 64 != 8)) << 1,
            input.iter().find_map(|x| x.checked_sub(1 << 60)).unwrap_or(2),
            input.iter().filter(|x| x.is_power_of_two()).count() as u64 ^ input.last().unwrap_or(&0) << 8,
        ];
    }
}

subject! {
    /// `chain`, `cycle`, `skip` and `take`.
    fn chain_cycle(input: &[u64; 16], output: &mut [u64; 40]) {
        let (a, b) = input.split_at(1 + input[0] as usize % 15);
        let endless = b.iter().chain(a).chain(core::iter::once(&77)).cycle();
        output
            .iter_mut()
            .zip(endless.skip(input[1] as usize % 9))
            .for_each(|(out, x)| *out = *x);
    }
}

subject! {
    /// Iterators by dyn, of three types chosen by the input.
    fn by_dyn(input: &[u64; 24], output: &mut [u64; 8]) {
        for (k, out) in output.iter_mut().enumerate() {
            let mut forward = input.iter().copied();
            let mut odd = input.iter().copied().filter(|x| x % 2 == 1);
            let mut numbers = (0..input[k] % 20).rev();
            let chosen: &mut dyn Iterator<Item = u64> = match input[k] % 3 {
                0 => &mut forward,
                1 => &mut odd,
                _ => &mut numbers,
            };
            let first = chosen.next().unwrap_or(5);
            *out = first ^ digest(chosen.skip(k)) << 1;
        }
    }
}

/// Steps of the Collatz sequence.
struct Collatz(u64);

impl Iterator for Collatz {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.0 <= 1 {
            return None;
        }
        self.0 = if self.0.is_multiple_of(2) {
            self.0 / 2
        } else {
            3 * self.0 + 1
        };
        Some(self.0)
    }
}

subject! {
    /// An iterator of the crate's own, with provided methods.
    fn own_iterator(input: &[u64; 8], output: &mut [u64; 8]) {
        *output = input.map(|x| {
            let start = x % 10_000;
            let (odd, even) = Collatz(start).fold(
                (0, 0),
                |(odd, even), x| if x & 1 == 1 { (odd + 1, even) } else { (odd, even + x) },
            );
            Collatz(start).count() as u64 ^ odd << 20 ^ even << 30 ^ Collatz(start).max().unwrap_or(0)
        });
    }
}

subject! {
    /// `from_fn`, `successors`, `repeat_with` and `zip` of three.
    fn generators(input: &[u64; 4], output: &mut [u64; 16]) {
        let (mut a, mut b) = (input[0], input[1]);
        let fibonacci = core::iter::from_fn(|| {
            (a, b) = (b, a.wrapping_add(b));
            Some(a)
        });
        let powers = core::iter::successors(Some(input[2] % 100 + 2), |x| x.checked_mul(3));
        let mut state = input[3];
        let random = core::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        });
        for (out, ((x, y), z)) in output.iter_mut().zip(fibonacci.zip(powers).zip(random)) {
            *out = x ^ y.rotate_left(17) ^ z << 30;
        }
    }
}

subject! {
    /// Lexicographic comparisons of iterators.
    fn comparisons(input: &[u64; 16], output: &mut [u64; 5]) {
        let (a, b) = input.split_at(8);
        let small = |x: &u64| x % 2;
        let (a, b) = (a.iter().map(small), b.iter().map(small));
        *output = [
            a.clone().cmp(b.clone()) as i8 as u64,
            u64::from(a.clone().eq(b.clone())),
            u64::from(a.clone().lt(b.clone())),
            u64::from(a.clone().is_sorted()),
            a.rev().zip(b).map(|(a, b)| a * 2 + b).fold(0, |sum, x| sum * 4 + x),
        ];
    }
}

subject! {
    /// Ranges of several types: inclusive, reversed, stepped, of chars and of bytes.
    fn ranges(input: &[u64; 4], output: &mut [u64; 5]) {
        let [a, b, c, d] = *input;
        *output = [
            (a as u8..=b as u8).map(u64::from).sum(),
            (a as i8..=b as i8)
                .rev()
                .step_by(3)
                .fold(1, |sum, x| sum.wrapping_mul(3) ^ x as u64),
            ('a'..=char::from(b'a' + (c % 26) as u8)).map(u64::from).sum(),
            (0..d % 50).skip(3).step_by(4).map(|x| x * x).sum(),
            u64::from((a..b).contains(&c)) | ((a..b).is_empty() as u64) << 1 | d << 2,
        ];
    }
}

subject! {
    /// `partition`-like splits: `inspect`, `unzip` into arrays by hand, `last`, `nth`.
    fn nth_last(input: &[u64; 24], output: &mut [u64; 5]) {
        let mut seen = 0u64;
        let mut it = input.iter().inspect(|x| seen = seen.rotate_left(5) ^ **x);
        let nth = it.nth(input[0] as usize % 12).copied().unwrap_or(1);
        let back = it.nth_back(input[1] as usize % 14).copied().unwrap_or(2);
        let len = it.len() as u64;
        let last = it.last().copied().unwrap_or(3);
        *output = [nth, back, len, last, seen];
    }
}
