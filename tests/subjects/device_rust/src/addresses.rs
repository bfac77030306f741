//! Conditions in address arithmetic: what strength reduction joins must have one base.

use crate::support::digest;

/// Ten elements, of which `p` in the subjects is the fifth.
fn ten(input: &[u64]) -> [u64; 10] {
    core::array::from_fn(|i| input[i])
}

subject! {
    /// `p - !c` and `p + 3 - c`.
    fn back_by_condition(input: &[u64; 12], output: &mut [u64; 2]) {
        let values = ten(input);
        let p = &raw const values[4];
        let c = (input[10] as u32) < input[11] as u32;
        // SAFETY: elements 3 to 7 of ten.
        *output = unsafe { [*p.sub(!c as usize), *p.add(3).sub(c as usize)] };
    }
}

subject! {
    /// The same on the input itself, which is global memory.
    fn back_by_condition_global(input: &[u64; 12], output: &mut [u64; 4]) {
        let p = &raw const input[4];
        let (a, b) = (input[10] as u32, input[11] as u32);
        let c = a < b;
        // SAFETY: elements 1 to 9 of twelve.
        *output = unsafe {
            [
                *p.sub(!c as usize),
                *p.add(2).add(!c as usize),
                *p.sub(2).sub(c as usize),
                *p.add(4).add(c as usize),
            ]
        };
    }
}

subject! {
    /// Two conditions and their complements, forward and back.
    fn two_conditions(input: &[u64; 14], output: &mut [u64; 6]) {
        let values = ten(input);
        let p = &raw const values[5];
        let (c, d) = (input[10] <= input[11], (input[12] as i64) < input[13] as i64);
        // SAFETY: elements 2 to 8 of ten.
        *output = unsafe {
            [
                *p.add(c as usize).add(d as usize),
                *p.sub(!c as usize).sub(!d as usize),
                *p.add(!c as usize).sub(d as usize),
                *p.sub(1).sub(c as usize).add(!d as usize),
                *p.add(2).sub(!c as usize).add(!d as usize),
                *p.sub(2).add(2 * c as usize).sub(!d as usize),
            ]
        };
    }
}

subject! {
    /// Conditions as indices instead of pointers.
    fn condition_indices(input: &[u64; 12], output: &mut [u64; 5]) {
        let values = ten(input);
        let at = 4 + (input[0] & 1) as usize;
        let c = input[10] < input[11];
        *output = [
            values[at - usize::from(!c)],
            values[at + 3 - usize::from(c)],
            values[at + usize::from(c)],
            values[at - 2 * usize::from(c)],
            values[at + usize::from(!c) * 3 - usize::from(c)],
        ];
    }
}

subject! {
    /// Conditions scaled by elements of one, two and four bytes.
    fn narrow_elements(input: &[u64; 12], output: &mut [u64; 6]) {
        let bytes = ten(input).map(|x| x as u8);
        let halves = ten(input).map(|x| x as u16);
        let words = ten(input).map(|x| x as u32);
        let c = (input[10] as u16) < input[11] as u16;
        let (b, h, w) = (&raw const bytes[4], &raw const halves[4], &raw const words[4]);
        // SAFETY: elements 3 to 7 of ten.
        *output = unsafe {
            [
                u64::from(*b.sub(!c as usize)),
                u64::from(*b.add(3).sub(c as usize)),
                u64::from(*h.sub(!c as usize)),
                u64::from(*h.add(3).sub(c as usize)),
                u64::from(*w.sub(!c as usize)),
                u64::from(*w.add(3).sub(c as usize)),
            ]
        };
    }
}

subject! {
    /// A merge of two ascending halves without branches, from both ends at once, as `core`'s stable sort does.
    fn merge_both_ends(input: &[u64; 32], output: &mut [u64; 32]) {
        let mut values = *input;
        values[..16].sort_unstable();
        values[16..].sort_unstable();
        let source = values.as_ptr();
        let target = output.as_mut_ptr();
        // SAFETY: both pairs of pointers stay within their halves, for each step consumes one element of one half
        // and there are 16 steps.
        unsafe {
            let (mut left, mut right) = (source, source.add(16));
            let (mut left_end, mut right_end) = (source.add(15), source.add(31));
            for i in 0..16 {
                let from_right = *right < *left;
                *target.add(i) = if from_right { *right } else { *left };
                right = right.add(from_right as usize);
                left = left.add(!from_right as usize);

                let from_left = *right_end < *left_end;
                *target.add(31 - i) = if from_left { *left_end } else { *right_end };
                right_end = right_end.wrapping_sub(!from_left as usize);
                left_end = left_end.wrapping_sub(from_left as usize);
            }
        }
    }
}

subject! {
    /// A stable partition without branches: small elements grow from the left, the others from the right.
    fn partition_branchless(input: &[u64; 33], output: &mut [u64; 33]) {
        let pivot = input[32];
        let base = output.as_mut_ptr();
        let mut left = 0;
        // SAFETY: left is at most i, so 31 - i + left is in 0..32.
        unsafe {
            let mut right = base.add(32);
            for (i, x) in input[..32].iter().enumerate() {
                right = right.sub(1);
                let small = *x < pivot;
                let target = if small { base } else { right };
                debug_assert!(left <= i);
                *target.add(left) = *x;
                left += small as usize;
            }
        }
        output[32] = left as u64;
    }
}

subject! {
    /// A cyclic partition step, as in `core`'s unstable sort.
    fn partition_cyclic(input: &[u64; 32], output: &mut [u64; 32]) {
        *output = *input;
        let (pivot, rest) = output.split_first_mut().expect("32 elements");
        let base = rest.as_mut_ptr();
        let mut less = 0usize;
        // SAFETY: less is at most i, and both are below 31.
        unsafe {
            for i in 0..31 {
                let is_less = *base.add(i) < *pivot;
                core::ptr::swap(base.add(less), base.add(i));
                less += is_less as usize;
            }
        }
        *pivot = pivot.rotate_left(less as u32);
    }
}

subject! {
    /// A binary search whose base moves by a condition times half the size.
    fn branchless_search(input: &[u64; 40], output: &mut [u64; 8]) {
        let mut values = [0; 32];
        values.copy_from_slice(&input[..32]);
        values.sort_unstable();
        *output = core::array::from_fn(|k| {
            let mut base = values.as_ptr();
            let mut size = 32;
            while size > 1 {
                let half = size / 2;
                // SAFETY: base + size stays at or below the end.
                unsafe { base = base.add((*base.add(half) <= input[32 + k]) as usize * half) };
                size -= half;
            }
            // SAFETY: base is an element of the array.
            unsafe { base.offset_from(values.as_ptr()) as u64 ^ *base << 6 }
        });
    }
}

subject! {
    /// Four elements sorted by selected pointers, as in `core`'s small sort.
    fn sort4_by_pointers(input: &[u64; 4], output: &mut [u64; 4]) {
        let v = input.as_ptr();
        // SAFETY: every pointer is one of the four elements.
        unsafe {
            let c1 = *v.add(1) < *v;
            let c2 = *v.add(3) < *v.add(2);
            let (a, b) = (v.add(c1 as usize), v.add(!c1 as usize));
            let (c, d) = (v.add(2 + c2 as usize), v.add(2 + !c2 as usize));
            let (c3, c4) = (*c < *a, *d < *b);
            let min = if c3 { c } else { a };
            let max = if c4 { b } else { d };
            let unknown_left = if c3 {
                a
            } else if c4 {
                c
            } else {
                b
            };
            let unknown_right = if c4 {
                d
            } else if c3 {
                b
            } else {
                c
            };
            let c5 = *unknown_right < *unknown_left;
            let low = if c5 { unknown_right } else { unknown_left };
            let high = if c5 { unknown_left } else { unknown_right };
            *output = [*min, *low, *high, *max];
        }
    }
}

subject! {
    /// Compaction: the place of a write advances by a condition, and lags behind in steps of one or two.
    fn compact(input: &[u64; 32], output: &mut [u64; 66]) {
        output.fill(1);
        let mut at = output.as_mut_ptr();
        for (i, x) in input.iter().enumerate() {
            let (odd, large) = (x & 1 == 1, *x > 1 << 40);
            // SAFETY: at most two elements further in each of 32 steps.
            unsafe {
                *at = *x;
                *at.add(odd as usize) = x ^ i as u64;
                at = at.add(odd as usize).add(large as usize);
            }
        }
        // SAFETY: both point into the output.
        output[65] = unsafe { at.offset_from(output.as_ptr()) } as u64;
    }
}

subject! {
    /// Rows of a table chosen by conditions.
    fn rows_by_condition(input: &[u64; 20], output: &mut [u64; 4]) {
        let table: [[u64; 4]; 5] = core::array::from_fn(|i| core::array::from_fn(|k| input[4 * i + k]));
        let c = input[0] < input[1];
        let d = input[2] < input[3];
        let row = &table[2 - usize::from(!c)];
        let other = &table[2 + usize::from(d)];
        *output = [
            row[1 + usize::from(c)],
            other[2 - usize::from(d)],
            row[3 * usize::from(d)].wrapping_sub(other[usize::from(!c) + usize::from(!d)]),
            digest(table[4 - usize::from(c) - usize::from(!d)]),
        ];
    }
}
