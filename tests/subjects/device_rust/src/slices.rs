//! Slices and arrays: parts, moves, splits and joins.

use crate::support::digest;

subject! {
    /// Chunks with a remainder, forward.
    fn chunks(input: &[u64; 32], output: &mut [u64; 33]) {
        output.fill(7);
        let size = 1 + input[0] as usize % 9;
        for (out, chunk) in output.iter_mut().zip(input.chunks(size)) {
            *out = digest(chunk.iter().copied());
        }
    }
}

subject! {
    /// Exact chunks and their remainder.
    fn chunks_exact(input: &[u64; 32], output: &mut [u64; 33]) {
        output.fill(7);
        let chunks = input.chunks_exact(1 + input[0] as usize % 9);
        output[32] = digest(chunks.remainder().iter().copied());
        for (out, chunk) in output.iter_mut().zip(chunks) {
            *out = chunk
                .iter()
                .fold(chunk.len() as u64, |a, b| a.wrapping_mul(31).wrapping_add(*b));
        }
    }
}

subject! {
    /// Chunks from the end, changed in place.
    fn rchunks_mut(input: &[u64; 32], output: &mut [u64; 32]) {
        *output = *input;
        for (i, chunk) in output.rchunks_mut(1 + input[1] as usize % 7).enumerate() {
            chunk.reverse();
            chunk[0] = chunk[0].wrapping_add(i as u64);
        }
    }
}

subject! {
    /// Sums over windows of a run-time length.
    fn windows(input: &[u64; 32], output: &mut [u64; 32]) {
        output.fill(0);
        for (out, window) in output.iter_mut().zip(input.windows(1 + input[2] as usize % 8)) {
            *out = window.iter().fold(0, |a, b| u64::wrapping_add(a, *b));
        }
    }
}

subject! {
    /// Rotation to the left and of a part to the right.
    fn rotate(input: &[u64; 40], output: &mut [u64; 40]) {
        *output = *input;
        output.rotate_left(input[0] as usize % 41);
        let part = &mut output[5..35];
        part.rotate_right(input[1] as usize % 31);
    }
}

subject! {
    /// Reversal of the whole and of a part, in bytes and in words.
    fn reverse(input: &[u64; 16], output: &mut [u64; 16]) {
        let mut bytes: [u8; 128] = crate::support::bytes(input);
        let (from, to) = (input[0] as usize % 64, 64 + input[1] as usize % 64);
        bytes[from..to].reverse();
        *output = core::array::from_fn(|i| u64::from_be_bytes(core::array::from_fn(|k| bytes[i * 8 + k])));
        output.reverse();
    }
}

subject! {
    /// Two halves of one slice, exchanged and combined.
    fn split_at_mut(input: &[u64; 32], output: &mut [u64; 32]) {
        *output = *input;
        let (left, right) = output.split_at_mut(1 + input[3] as usize % 31);
        let len = left.len().min(right.len());
        left[..len].swap_with_slice(&mut right[..len]);
        right[0] ^= left[left.len() - 1];
    }
}

subject! {
    /// First, last and the middle by patterns.
    fn split_first_last(input: &[u64; 12], output: &mut [u64; 4]) {
        let slice = &input[..input[0] as usize % 13];
        *output = match slice {
            [] => [1, 0, 0, 0],
            [only] => [2, *only, 0, 0],
            [first, .., last] if first == last => [3, *first, slice.len() as u64, 0],
            [first, middle @ .., last] => [4, *first, digest(middle.iter().copied()), *last],
        };
    }
}

subject! {
    /// Split at the elements that a predicate names.
    fn split(input: &[u64; 32], output: &mut [u64; 34]) {
        output.fill(9);
        let mut parts = 0;
        for part in input.split(|x| x.count_ones() % 3 == 0) {
            output[parts] = digest(part.iter().copied());
            parts += 1;
        }
        output[33] = parts as u64;
    }
}

subject! {
    /// At most three parts, from the end.
    fn rsplitn(input: &[u64; 24], output: &mut [u64; 3]) {
        output.fill(9);
        for (out, part) in output.iter_mut().zip(input.rsplitn(3, |x| x % 2 == 0)) {
            *out = part.len() as u64 ^ digest(part.iter().copied()) << 8;
        }
    }
}

subject! {
    /// Runs of equal elements.
    fn chunk_by(input: &[u64; 32], output: &mut [u64; 32]) {
        output.fill(0);
        let small = input.map(|x| x % 3);
        for (out, run) in output.iter_mut().zip(small.chunk_by(|a, b| a == b)) {
            *out = run[0] << 8 | run.len() as u64;
        }
    }
}

subject! {
    /// Ascending runs, changed in place.
    fn chunk_by_mut(input: &[u64; 32], output: &mut [u64; 32]) {
        *output = *input;
        output.chunk_by_mut(|a, b| a <= b).for_each(|run| run.reverse());
    }
}

subject! {
    /// Overlapping copies within one array, in both directions.
    fn copy_within(input: &[u64; 32], output: &mut [u64; 32]) {
        *output = *input;
        let (from, to, len) = (input[0] as usize % 16, input[1] as usize % 16, input[2] as usize % 17);
        output.copy_within(from..from + len, to);
        output.copy_within(0..16, 3);
        output.copy_within(10..30, 2);
    }
}

subject! {
    /// Fills of parts, with a value and with a function.
    fn fill(input: &[u64; 4], output: &mut [u64; 32]) {
        output.fill(input[0]);
        let mut next = input[1];
        output[input[2] as usize % 16..][..10].fill_with(|| {
            next = next.wrapping_mul(5).wrapping_add(1);
            next
        });
        output[28..].fill(!input[3]);
    }
}

subject! {
    /// Copies between parts of different lengths.
    fn copy_from_slice(input: &[u64; 24], output: &mut [u64; 24]) {
        output.fill(0);
        let at = input[0] as usize % 20;
        output[at..].copy_from_slice(&input[..24 - at]);
        output[..at].clone_from_slice(&input[24 - at..]);
    }
}

subject! {
    /// Slices of slices: a table of rows of different lengths.
    fn slices_of_slices(input: &[u64; 32], output: &mut [u64; 8]) {
        let rows: [&[u64]; 8] = core::array::from_fn(|i| &input[4 * i..][..1 + input[4 * i] as usize % 4]);
        let table: &[&[u64]] = &rows;
        *output = core::array::from_fn(|i| {
            let row = table[(i + input[31] as usize % 8) % 8];
            row.iter().rev().fold(row.len() as u64, |a, b| a.rotate_left(7) ^ b)
        });
    }
}

subject! {
    /// `array::map` over elements of different sizes.
    fn array_map(input: &[u64; 16], output: &mut [u64; 16]) {
        let narrow = input.map(|x| (x as u16, x as u8 as i8, x & 1 == 1));
        *output = narrow.map(|(a, b, c)| if c { u64::from(a) } else { b as u64 });
    }
}

subject! {
    /// An array of arrays with run-time indices: the product of two matrices.
    fn array_of_arrays(input: &[u64; 32], output: &mut [u64; 16]) {
        let matrix =
            |at: usize| -> [[u64; 4]; 4] { core::array::from_fn(|i| core::array::from_fn(|k| input[at + 4 * i + k])) };
        let (a, b) = (matrix(0), matrix(16));
        let mut product = [[0u64; 4]; 4];
        for i in 0..4 {
            for k in 0..4 {
                for j in 0..4 {
                    let swapped = (i + input[0] as usize) % 4;
                    product[i][k] = product[i][k].wrapping_add(a[swapped][j].wrapping_mul(b[j][k]));
                }
            }
        }
        output.copy_from_slice(product.as_flattened());
    }
}

subject! {
    /// Swaps by run-time indices: a shuffle.
    fn swap(input: &[u64; 32], output: &mut [u64; 32]) {
        *output = core::array::from_fn(|i| i as u64);
        for i in (1..32).rev() {
            output.swap(i, input[i] as usize % (i + 1));
        }
    }
}

subject! {
    /// Several elements of one array, borrowed mutably at once.
    fn get_disjoint_mut(input: &[u64; 18], output: &mut [u64; 16]) {
        output.copy_from_slice(&input[..16]);
        let (i, k) = (input[16] as usize % 18, input[17] as usize % 16);
        match output.get_disjoint_mut([i, k]) {
            Ok([a, b]) => {
                core::mem::swap(a, b);
                *a = a.wrapping_add(1);
            }
            Err(error) => output[0] = error as u64 + 100,
        }
    }
}

subject! {
    /// Prefixes, suffixes, containment and lexicographic order.
    fn compare(input: &[u64; 16], output: &mut [u64; 5]) {
        let small = input.map(|x| (x % 4) as u8);
        let (a, b) = small.split_at(8);
        *output = [
            u64::from(small.contains(&3))
                | u64::from(a.starts_with(&b[..2])) << 1
                | u64::from(b.ends_with(&a[7..])) << 2,
            a.cmp(b) as i8 as u64,
            u64::from(a[..2] == b[..2]),
            u64::from(a.iter().eq(b.iter().rev())),
            digest(a.strip_prefix(&b[..1]).unwrap_or(b).iter().map(|x| u64::from(*x))),
        ];
    }
}

subject! {
    heap: true;
    /// `concat` and `join` of slices.
    fn concat_join(input: &[u64; 12], output: &mut [u64; 14]) {
        let (a, b) = input.split_at(1 + input[0] as usize % 11);
        let mut joined = [a, b].join(&7);
        joined.push(digest([b, a].concat()));
        output.copy_from_slice(&joined);
    }
}

subject! {
    /// Deduplication by hand, with a write position that lags behind.
    fn dedup_in_place(input: &[u64; 32], output: &mut [u64; 33]) {
        let mut values = input.map(|x| x % 4);
        let mut len = 1;
        for i in 1..values.len() {
            if values[i] != values[len - 1] {
                values[len] = values[i];
                len += 1;
            }
        }
        output[0] = len as u64;
        output[1..].copy_from_slice(&values);
    }
}

subject! {
    /// Chunks of constant length: `as_chunks` and `first_chunk`.
    fn as_chunks(input: &[u64; 17], output: &mut [u64; 7]) {
        let (chunks, rest) = input[input[0] as usize % 4..].as_chunks::<3>();
        output.fill(chunks.len() as u64);
        for (out, [a, b, c]) in output.iter_mut().zip(chunks) {
            *out = a ^ b.rotate_left(1) ^ c.rotate_left(2);
        }
        output[5] = digest(rest.iter().copied());
        output[6] = input.last_chunk::<2>().map_or(0, |[a, b]| a.wrapping_sub(*b));
    }
}
