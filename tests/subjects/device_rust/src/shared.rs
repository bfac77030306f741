//! The same over shared memory on the GPU; on the host the place is local.
//!
//! Each thread has a part of the block's array to itself, so a block has at most
//! [`MAX_BLOCK_THREADS`](crate::MAX_BLOCK_THREADS) threads.

use core::ptr::NonNull;

use crate::support::digest;

#[inline(never)]
fn show(x: Option<&u32>) -> u64 {
    x.map_or(1000, |x| u64::from(*x))
}

#[inline(never)]
fn bump(x: Option<&mut u32>) -> u64 {
    match x {
        Some(x) => {
            *x = x.rotate_left(1);
            u64::from(*x)
        }
        None => 2000,
    }
}

subject! {
    /// A reference or `None` per element, passed on and inspected.
    fn shared_option_reference(input: &[u64; 32], output: &mut [u64; 32]) {
        shared_place!(place = [0; u32; 32]);
        *place = input.map(|x| x as u32);
        for k in 0..32 {
            let last: Option<&u32> = if (input[k] >> 32) & 1 == 0 {
                Some(&place[k])
            } else {
                None
            };
            let extra = match last {
                Some(x) if *x > 100 => 7,
                _ => 0,
            };
            output[k] = show(last) + extra;
        }
    }
}

subject! {
    /// Carried from one iteration to the next, and compared.
    fn shared_option_carried(input: &[u64; 32], output: &mut [u64; 32]) {
        shared_place!(place = [0; u32; 32]);
        *place = input.map(|x| x as u32);
        let mut last: Option<&u32> = None;
        for k in 0..32 {
            output[k] = show(last) | u64::from(last == place.get(k)) << 40 | u64::from(last.is_some()) << 41;
            match input[k] % 3 {
                0 => last = None,
                1 => last = Some(&place[31 - k]),
                _ => {}
            }
        }
    }
}

subject! {
    /// Mutable references, or `None`.
    fn shared_option_mut(input: &[u64; 24], output: &mut [u64; 25]) {
        shared_place!(place = [5; u32; 16]);
        for k in 0..24 {
            output[k] = bump(place.get_mut((input[k] >> 8) as usize % 24));
            if let Some(x) = place.first_mut() {
                *x ^= input[k] as u32;
            }
        }
        output[24] = digest(place.map(u64::from));
    }
}

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
    /// `Option<NonNull>` and raw null pointers.
    fn shared_non_null(input: &[u64; 24], output: &mut [u64; 24]) {
        shared_place!(place = [3; u64; 24]);
        let base = place.as_mut_ptr();
        for k in 0..24 {
            let raw = if input[k] % 3 == 0 {
                core::ptr::null_mut()
            } else {
                base.wrapping_add((input[k] >> 4) as usize % 24)
            };
            output[k] = match NonNull::new(raw) {
                // SAFETY: one of the 24 elements.
                Some(place) => unsafe {
                    *place.as_ptr() ^= input[k];
                    place.read()
                },
                None => 3000 + u64::from(raw.is_null()),
            };
        }
    }
}

subject! {
    /// A linked list of indices and of pointers within the shared place.
    fn shared_list(input: &[u64; 16], output: &mut [u64; 16]) {
        #[derive(Clone, Copy)]
        struct Link {
            value: u64,
            next: Option<NonNull<Link>>,
        }
        shared_place!(place = [Link { value: 0, next: None }; Link; 16]);
        let base = NonNull::from(&mut *place).cast::<Link>();
        let mut head = None;
        for (k, x) in input.iter().enumerate() {
            if x & 1 == 0 || k % 4 == 0 {
                // SAFETY: element k of 16.
                unsafe {
                    let link = base.add(k);
                    link.write(Link { value: *x, next: head });
                    head = Some(link);
                }
            }
        }
        output.fill(0);
        let mut at = 0;
        while let Some(link) = head {
            // SAFETY: written above; each element is linked once, so the list ends.
            let Link { value, next } = unsafe { link.read() };
            output[at] = value ^ u64::from(next.is_none());
            head = next;
            at += 1;
        }
    }
}

subject! {
    /// `Option<&[T]>` into shared memory.
    fn shared_option_slice(input: &[u64; 24], output: &mut [u64; 24]) {
        #[inline(never)]
        fn sum(slice: Option<&[u32]>) -> u64 {
            slice.map_or(7000, |slice| {
                slice
                    .iter()
                    .fold(slice.len() as u64, |a, b| a.wrapping_mul(7) ^ u64::from(*b))
            })
        }
        shared_place!(place = [0; u32; 24]);
        *place = input.map(|x| x as u32);
        *output = core::array::from_fn(|k| sum(place.get(input[k] as usize % 24..(input[k] >> 8) as usize % 30)));
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

subject! {
    /// Trait objects of shared and local places.
    fn shared_dyn(input: &[u64; 16], output: &mut [u64; 16]) {
        trait Sum {
            fn sum(&self) -> u64;
        }
        impl<const N: usize> Sum for [u32; N] {
            fn sum(&self) -> u64 {
                self.iter().fold(N as u64, |a, b| a.wrapping_mul(3) ^ u64::from(*b))
            }
        }
        shared_place!(place = [0; u32; 16]);
        *place = input.map(|x| x as u32);
        let local = [input[0] as u32, input[1] as u32];
        let mut last: Option<&dyn Sum> = None;
        for k in 0..16 {
            output[k] = last.map_or(4000, Sum::sum);
            match input[k] % 4 {
                0 => last = None,
                1 => last = Some(&local),
                2 => last = Some(place),
                _ => {}
            }
        }
    }
}
