//! Atomic operations by a single thread: on shared and on local memory, all widths and orders.

use core::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence, fence,
};

use crate::support::digest;

const ORDERS: [Ordering; 5] = [
    Ordering::Relaxed,
    Ordering::Release,
    Ordering::Acquire,
    Ordering::AcqRel,
    Ordering::SeqCst,
];

/// What the sequence of operations gives on some place for a u32.
fn operations32(place: &AtomicU32, input: &[u64], output: &mut [u64]) {
    for (k, x) in input.iter().enumerate() {
        let (value, order) = ((x >> 8) as u32, ORDERS[k % 5]);
        let old = match x % 11 {
            0 => place.fetch_add(value, order),
            1 => place.fetch_sub(value, order),
            2 => place.fetch_and(value, order),
            3 => place.fetch_or(value, order),
            4 => place.fetch_xor(value, order),
            5 => place.fetch_max(value, order),
            6 => place.fetch_min(value, order),
            7 => place.swap(value, order),
            8 => place.fetch_nand(value, order),
            9 => match place.compare_exchange(output[k / 2] as u32, value, order, Ordering::Acquire) {
                Ok(old) => old,
                Err(old) => !old,
            },
            _ => {
                place.store(value, Ordering::Release);
                place.load(Ordering::Acquire)
            }
        };
        output[k] = u64::from(old) | u64::from(place.load(Ordering::Relaxed)) << 32;
    }
}

/// The same of a u64.
fn operations64(place: &AtomicU64, input: &[u64], output: &mut [u64]) {
    for (k, x) in input.iter().enumerate() {
        let (value, order) = (x >> 3, ORDERS[k % 5]);
        let old = match x % 8 {
            0 => place.fetch_add(value, order),
            1 => place.fetch_sub(value, order),
            2 => place.fetch_and(value, order),
            3 => place.fetch_or(value, order),
            4 => place.fetch_xor(value, order),
            5 => place.fetch_max(value, order),
            6 => place.swap(value, order),
            _ => place
                .compare_exchange(place.load(Ordering::SeqCst), value, order, Ordering::Relaxed)
                .unwrap_or(1),
        };
        output[k] = old ^ place.load(Ordering::Relaxed).rotate_left(1);
    }
}

subject! {
    /// u32 in global memory: in the output itself.
    fn atomics_global_u32(input: &[u64; 32], output: &mut [u64; 33]) {
        output.fill(0);
        let (words, place) = output.split_at_mut(32);
        // SAFETY: aligned, and nobody else has it.
        let place = unsafe { AtomicU32::from_ptr((&raw mut place[0]).cast()) };
        operations32(place, input, words);
    }
}

subject! {
    /// u64 in global memory: in the output itself.
    fn atomics_global_u64(input: &[u64; 32], output: &mut [u64; 33]) {
        output.fill(0);
        let (words, place) = output.split_at_mut(32);
        // SAFETY: aligned, and nobody else has it.
        let place = unsafe { AtomicU64::from_ptr(&raw mut place[0]) };
        operations64(place, input, words);
    }
}

subject! {
    /// Bytes and halves in global memory, whose neighbors must stay.
    fn atomics_global_narrow(input: &[u64; 16], output: &mut [u64; 18]) {
        output.fill(0x0102_0304_0506_0708);
        let (words, places) = output.split_at_mut(16);
        for (k, (out, x)) in words.iter_mut().zip(input).enumerate() {
            // SAFETY: aligned bytes of the last two words, and nobody else has them.
            let (byte, half) = unsafe {
                let base = places.as_mut_ptr().cast::<u8>();
                (
                    AtomicU8::from_ptr(base.add(*x as usize % 8)),
                    AtomicU16::from_ptr(base.add(8 + 2 * (*x as usize % 4)).cast()),
                )
            };
            let (value, order) = ((x >> 8) as u8, ORDERS[k % 5]);
            let old = match x >> 16 & 7 {
                0 => byte.fetch_add(value, order),
                1 => byte.swap(value, order),
                2 => byte.fetch_xor(value, order),
                3 => byte.fetch_max(value, order),
                4 => byte.compare_exchange(8, value, order, Ordering::Relaxed).unwrap_or(77),
                5 => half.fetch_sub(u16::from(value), order) as u8,
                6 => half.fetch_or(0x0100, order) as u8,
                _ => half
                    .compare_exchange_weak(0x0102, u16::from(value), order, Ordering::Relaxed)
                    .unwrap_or(5) as u8,
            };
            *out = u64::from(old) | u64::from(half.load(Ordering::Acquire)) << 8;
        }
    }
}

subject! {
    /// `try_update` and loops of compare-exchange in global memory.
    fn atomics_try_update(input: &[u64; 16], output: &mut [u64; 17]) {
        output.fill(1);
        let (words, place) = output.split_at_mut(16);
        // SAFETY: aligned, and nobody else has it.
        let place = unsafe { AtomicI64::from_ptr((&raw mut place[0]).cast()) };
        for (out, x) in words.iter_mut().zip(input) {
            let mut seen = place.load(Ordering::Relaxed);
            while let Err(now) = place.compare_exchange_weak(
                seen,
                seen.wrapping_mul(3) ^ *x as i64,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                seen = now;
            }
            let updated = place.try_update(Ordering::SeqCst, Ordering::Relaxed, |x| (x % 3 != 0).then_some(x >> 1));
            *out = seen as u64 ^ updated.map_or(5, |x| x as u64) << 1;
        }
    }
}

subject! {
    /// Fences of every order between plain accesses.
    fn fences(input: &[u64; 8], output: &mut [u64; 8]) {
        *output = *input;
        for (k, x) in input.iter().enumerate() {
            output[k] = x ^ 1;
            fence(Ordering::Release);
            output[7 - k] = x >> 1;
            fence(Ordering::SeqCst);
            output[k] ^= output[(k + 3) % 8];
            fence(Ordering::AcqRel);
        }
    }
}

subject! {
    /// Compiler fences.
    fn compiler_fences(input: &[u64; 8], output: &mut [u64; 8]) {
        *output = *input;
        for k in 0..8 {
            output[k] = output[(k + 1) % 8].wrapping_add(1);
            compiler_fence(ORDERS[1 + k % 4]);
            output[(k + 2) % 8] ^= output[k];
        }
    }
}

subject! {
    /// u32 in shared memory.
    fn atomics_shared_u32(input: &[u64; 32], output: &mut [u64; 33]) {
        output.fill(0);
        shared_place!(place = [9; u32; 4]);
        // SAFETY: aligned, and nobody else has it.
        operations32(
            unsafe { AtomicU32::from_ptr(&raw mut place[2]) },
            input,
            &mut output[..32],
        );
        output[32] = digest(place.map(u64::from));
    }
}

subject! {
    /// u64 in shared memory.
    fn atomics_shared_u64(input: &[u64; 32], output: &mut [u64; 33]) {
        output.fill(0);
        shared_place!(place = [9; u64; 4]);
        // SAFETY: aligned, and nobody else has it.
        operations64(
            unsafe { AtomicU64::from_ptr(&raw mut place[1]) },
            input,
            &mut output[..32],
        );
        output[32] = digest(*place);
    }
}

subject! {
    /// A flag and a counter in local memory, loads and stores alone.
    fn atomics_local_load_store(input: &[u64; 16], output: &mut [u64; 16]) {
        let flag = AtomicBool::new(input[0] % 2 == 0);
        let counters: [AtomicU64; 4] = core::array::from_fn(|k| AtomicU64::new(k as u64));
        *output = core::array::from_fn(|k| {
            let place = &counters[input[k] as usize % 4];
            place.store(place.load(Ordering::Acquire).wrapping_add(input[k]), Ordering::Release);
            flag.store(place.load(Ordering::SeqCst) % 3 == 0, Ordering::SeqCst);
            digest(counters.iter().map(|counter| counter.load(Ordering::Relaxed)))
                ^ u64::from(flag.load(Ordering::Relaxed))
        });
    }
}

subject! {
    /// Read-modify-write of a u32 in local memory.
    fn atomics_local_u32(input: &[u64; 16], output: &mut [u64; 17]) {
        output.fill(0);
        let places: [AtomicU32; 3] = core::array::from_fn(|k| AtomicU32::new(k as u32));
        operations32(&places[input[0] as usize % 3], input, &mut output[..16]);
        output[16] = digest(places.map(|place| u64::from(place.into_inner())));
    }
}

subject! {
    /// Read-modify-write of a u64 in local memory.
    fn atomics_local_u64(input: &[u64; 16], output: &mut [u64; 17]) {
        output.fill(0);
        let places: [AtomicU64; 3] = core::array::from_fn(|k| AtomicU64::new(k as u64));
        operations64(&places[input[0] as usize % 3], input, &mut output[..16]);
        output[16] = digest(places.map(AtomicU64::into_inner));
    }
}

subject! {
    /// A spin lock and a once flag in local memory, by compare-exchange and swap.
    fn atomics_local_lock(input: &[u64; 12], output: &mut [u64; 12]) {
        #[inline(never)]
        fn locked(lock: &AtomicBool, work: &mut dyn FnMut()) {
            while lock
                .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                core::hint::spin_loop();
            }
            work();
            lock.store(false, Ordering::Release);
        }
        let (lock, once) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut sum = 0u64;
        *output = input.map(|x| {
            let first = x % 5 == 0 && !once.swap(true, Ordering::AcqRel);
            locked(&lock, &mut || sum = sum.rotate_left(5) ^ x);
            sum ^ u64::from(first)
        });
    }
}

subject! {
    /// Read-modify-write of bytes in local memory.
    fn atomics_local_narrow(input: &[u64; 12], output: &mut [u64; 13]) {
        let places: [AtomicU8; 7] = core::array::from_fn(|k| AtomicU8::new(k as u8 * 40));
        for (k, x) in input.iter().enumerate() {
            let place = &places[*x as usize % 7];
            output[k] = u64::from(match x >> 8 & 3 {
                0 => place.fetch_add(*x as u8, Ordering::AcqRel),
                1 => place.swap(*x as u8, Ordering::SeqCst),
                2 => place.fetch_min(*x as u8, Ordering::Relaxed),
                _ => place
                    .compare_exchange(40, *x as u8, Ordering::AcqRel, Ordering::Acquire)
                    .unwrap_or(9),
            });
        }
        output[12] = digest(places.map(|place| u64::from(place.into_inner())));
    }
}
