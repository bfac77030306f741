//! Sorting, selecting and searching of slices.

subject! {
    /// `slice::sort` of u64, which is a stable merge sort.
    fn sort_u64(input: &[u64; 64], output: &mut [u64; 64]) {
        *output = *input;
        output.sort();
    }
}

subject! {
    /// 20 elements: the longest slice that insertion sort takes.
    fn sort_20(input: &[u64; 20], output: &mut [u64; 20]) {
        *output = *input;
        output.sort();
    }
}

subject! {
    /// 21 elements: the shortest slice that is merged.
    fn sort_21(input: &[u64; 21], output: &mut [u64; 21]) {
        *output = *input;
        output.sort();
    }
}

subject! {
    stack_bytes: 16 << 10, heap: true;
    /// A stable sort of more elements than its buffer on the stack takes.
    fn sort_long(input: &[u64; 700], output: &mut [u64; 700]) {
        *output = *input;
        output.sort();
    }
}

subject! {
    /// Stability: equal keys keep the order of the rest.
    fn sort_by_key_stable(input: &[u64; 50], output: &mut [u64; 50]) {
        *output = core::array::from_fn(|i| input[i] << 8 | i as u64);
        output.sort_by_key(|x| x >> 8 & 3);
    }
}

subject! {
    /// Sort of pairs by a comparison that chains two orders.
    fn sort_pairs_by(input: &[u64; 60], output: &mut [u64; 60]) {
        let mut pairs: [(i8, u32); 30] = core::array::from_fn(|i| (input[2 * i] as i8, input[2 * i + 1] as u32));
        pairs.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        for (out, (a, b)) in output.chunks_exact_mut(2).zip(pairs) {
            out.copy_from_slice(&[a as u64, u64::from(b)]);
        }
    }
}

subject! {
    /// Keys that are computed once per element.
    fn sort_by_cached_key_of_24(input: &[u64; 24], output: &mut [u64; 24]) {
        *output = *input;
        output.sort_by_cached_key(|x| x.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

subject! {
    /// Unstable sort: quicksort with insertion sort and heap sort.
    fn sort_unstable_u64(input: &[u64; 64], output: &mut [u64; 64]) {
        *output = *input;
        output.sort_unstable();
    }
}

subject! {
    /// Unstable sort of bytes.
    fn sort_unstable_u8(input: &[u64; 16], output: &mut [u64; 16]) {
        let mut bytes: [u8; 128] = crate::support::bytes(input);
        bytes.sort_unstable();
        *output = core::array::from_fn(|i| u64::from_le_bytes(core::array::from_fn(|k| bytes[8 * i + k])));
    }
}

subject! {
    /// Unstable sort by a descending key of 128 bits.
    fn sort_unstable_u128(input: &[u64; 64], output: &mut [u64; 64]) {
        let mut wide: [u128; 32] =
            core::array::from_fn(|i| u128::from(input[2 * i]) << 64 | u128::from(input[2 * i + 1]));
        wide.sort_unstable_by_key(|x| core::cmp::Reverse(*x));
        for (out, x) in output.chunks_exact_mut(2).zip(wide) {
            out.copy_from_slice(&[(x >> 64) as u64, x as u64]);
        }
    }
}

subject! {
    /// Sort of floats in the total order.
    fn sort_floats_total(input: &[u64; 40], output: &mut [u64; 40]) {
        let mut floats = input.map(f64::from_bits);
        floats.sort_by(f64::total_cmp);
        *output = floats.map(f64::to_bits);
    }
}

subject! {
    /// Sort of references by what they point to.
    fn sort_references(input: &[u64; 32], output: &mut [u64; 32]) {
        let mut places: [(usize, &u64); 32] = core::array::from_fn(|i| (i, &input[i]));
        places.sort_by_key(|place| place.1);
        *output = places.map(|(i, x)| i as u64 ^ x << 8);
    }
}

subject! {
    /// Sort of slices of different lengths in lexicographic order.
    fn sort_slices(input: &[u64; 32], output: &mut [u64; 24]) {
        let small = input.map(|x| x % 3);
        let mut slices: [&[u64]; 24] = core::array::from_fn(|i| &small[i..i + 1 + input[i] as usize % 7]);
        slices.sort();
        *output = slices.map(|slice| crate::support::digest(slice.iter().copied()));
    }
}

subject! {
    /// The k-th smallest element, and what lies left and right of it.
    fn select_nth(input: &[u64; 65], output: &mut [u64; 3]) {
        let mut values = [0; 64];
        values.copy_from_slice(&input[1..]);
        let (left, nth, right) = values.select_nth_unstable(input[0] as usize % 64);
        *output = [
            left.iter().fold(0, |sum, x| sum ^ x),
            *nth,
            right.iter().fold(0, |sum, x| u64::wrapping_add(sum, *x)),
        ];
    }
}

subject! {
    /// Binary search by value and by key.
    fn binary_search(input: &[u64; 33], output: &mut [u64; 4]) {
        let mut values = [0; 32];
        values.copy_from_slice(&input[1..]);
        values.sort_unstable();
        let mut distinct = [0; 32];
        let mut count = 0;
        for x in values {
            if count == 0 || distinct[count - 1] != x {
                distinct[count] = x;
                count += 1;
            }
        }
        let code = |found: Result<usize, usize>| match found {
            Ok(i) => i as u64,
            Err(i) => 1000 + i as u64,
        };
        let distinct = &distinct[..count];
        output[0] = code(distinct.binary_search(&input[0]));
        output[1] = code(distinct.binary_search(&input[1 + input[0] as usize % 32]));
        output[2] = code(distinct.binary_search_by_key(&(input[0] >> 4), |x| x >> 4));
        output[3] = count as u64;
    }
}

subject! {
    /// Partition points of ascending values.
    fn partition_point(input: &[u64; 33], output: &mut [u64; 2]) {
        let mut values: [u64; 32] = core::array::from_fn(|i| input[i + 1]);
        values.sort();
        output[0] = values.partition_point(|x| *x < input[0]) as u64;
        output[1] = values.partition_point(|x| *x <= input[1]) as u64;
    }
}

subject! {
    /// Whether slices are sorted, by value and by key.
    fn is_sorted(input: &[u64; 16], output: &mut [u64; 3]) {
        output[0] = input
            .windows(3)
            .fold(0, |bits, window| bits << 1 | u64::from(window.is_sorted()));
        output[1] = input.windows(2).fold(0, |bits, window| {
            bits << 1 | u64::from(window.is_sorted_by_key(|x| x >> 32))
        });
        output[2] = input.iter().fold(0, |sum, x| sum ^ x);
    }
}
