//! Shared memory on the GPU; on the host the place is local. The subjects of [`options`](crate::options) have a form
//! over shared memory too.
//!
//! Each thread has a part of the block's array to itself, so a block has at most
//! [`MAX_BLOCK_THREADS`](crate::MAX_BLOCK_THREADS) threads.

use crate::options::show;

subject! {
    /// References into shared memory that are stored in local memory, beside references into local memory.
    fn shared_option_mixed(input: &[u64; 24], output: &mut [u64; 24]) {
        shared_place!(place = [0; u32; 24]);
        *place = input.map(|x| x as u32);
        let local = input.map(|x| (x >> 32) as u32);
        let stored: [Option<&u32>; 24] = core::array::from_fn(|k| match input[k] % 3 {
            0 => None,
            1 => Some(&local[k]),
            _ => Some(&place[23 - k]),
        });
        *output = core::array::from_fn(|k| show(stored[(input[k] >> 16) as usize % 24]));
    }
}

subject! {
    /// References that are stored in shared memory themselves.
    fn shared_holds_options(input: &[u64; 16], output: &mut [u64; 16]) {
        static TABLE: [u32; 3] = [111, 222, 333];
        shared_place!(place = [None; Option<&'static u32>; 16]);
        for (k, x) in input.iter().enumerate() {
            place[(*x >> 8) as usize % 16] = TABLE.get((*x as usize % 4 + k) % 4);
        }
        *output = core::array::from_fn(|k| show(place[k]) ^ input[k] << 20);
    }
}

subject! {
    /// A stable sort in shared memory.
    fn shared_sort(input: &[u64; 40], output: &mut [u64; 40]) {
        shared_place!(place = [0; u64; 40]);
        *place = *input;
        place.sort_by_key(|x| x >> 3);
        *output = *place;
    }
}

subject! {
    /// A merge by conditions in address arithmetic, from shared memory.
    fn shared_merge(input: &[u64; 32], output: &mut [u64; 32]) {
        shared_place!(place = [0; u64; 32]);
        *place = *input;
        place[..16].sort_unstable();
        place[16..].sort_unstable();
        // SAFETY: 16 steps, each of which consumes one element of one half, from either end.
        unsafe {
            let (mut left, mut right) = (place.as_ptr(), place.as_ptr().add(16));
            let (mut left_end, mut right_end) = (place.as_ptr().add(15), place.as_ptr().add(31));
            for i in 0..16 {
                let from_right = *right < *left;
                output[i] = if from_right { *right } else { *left };
                right = right.add(from_right as usize);
                left = left.add(!from_right as usize);
                let from_left = *right_end < *left_end;
                output[31 - i] = if from_left { *left_end } else { *right_end };
                right_end = right_end.wrapping_sub(!from_left as usize);
                left_end = left_end.wrapping_sub(from_left as usize);
            }
        }
    }
}

subject! {
    /// A choice between a static, a local and a shared array.
    fn shared_choice(input: &[u64; 16], output: &mut [u64; 16]) {
        static TABLE: [u64; 4] = [4, 44, 444, 4444];
        shared_place!(place = [0; u64; 4]);
        place.copy_from_slice(&input[..4]);
        let local: [u64; 4] = core::array::from_fn(|k| !input[4 + k]);
        *output = input.map(|x| {
            let chosen: &[u64; 4] = match x % 3 {
                0 => &TABLE,
                1 => &local,
                _ => place,
            };
            chosen[(x >> 8) as usize % 4]
        });
    }
}
