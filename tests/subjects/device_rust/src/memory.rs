//! Cells, drops, moves, raw pointers, unions, packed and zero-sized types.

use core::cell::{Cell, OnceCell, RefCell};
use core::mem::{self, ManuallyDrop, MaybeUninit};
use core::ptr;

use crate::support::{bytes, digest};

subject! {
    /// `Cell` through shared references.
    fn cells(input: &[u64; 16], output: &mut [u64; 17]) {
        let cells: [Cell<u64>; 16] = core::array::from_fn(|i| Cell::new(input[i]));
        let total = Cell::new(0u64);
        let visit = |i: usize| {
            total.set(total.get().rotate_left(3) ^ cells[i].get());
            cells[(i * 5 + 2) % 16].replace(total.get())
        };
        for k in 0..16 {
            output[k] = visit(input[k] as usize % 16);
        }
        cells[0].swap(&cells[15]);
        output[16] = digest(cells.iter().map(Cell::get)) ^ total.take();
    }
}

subject! {
    /// `RefCell`: borrows that succeed and that fail.
    fn ref_cells(input: &[u64; 16], output: &mut [u64; 16]) {
        let state = RefCell::new([1u64, 2, 3]);
        *output = input.map(|x| {
            let outer = (x % 2 == 0).then(|| state.borrow());
            let written = match state.try_borrow_mut() {
                Ok(mut state) => {
                    state[(x >> 8) as usize % 3] ^= x;
                    1
                }
                Err(_) => 2,
            };
            let seen = outer.map_or(0, |state| state[1]);
            written ^ seen << 2 ^ digest(*state.borrow()) << 20
        });
    }
}

subject! {
    /// `OnceCell` and lazy initialization.
    fn once_cell(input: &[u64; 8], output: &mut [u64; 8]) {
        let once = OnceCell::new();
        *output = input.map(|x| match x % 3 {
            0 => once.get().map_or(5, |x: &u64| *x),
            1 => *once.get_or_init(|| x >> 1),
            _ => once.set(x).map_or_else(|x| !x, |()| 7),
        });
    }
}

/// Writes its number into a log when it is dropped.
struct Logged<'a>(u64, &'a Cell<u64>);

impl Drop for Logged<'_> {
    fn drop(&mut self) {
        self.1.set(self.1.get().wrapping_mul(17).wrapping_add(self.0));
    }
}

subject! {
    /// Order of drops: locals, temporaries, fields, replaced values, early returns.
    fn drop_order(input: &[u64; 4], output: &mut [u64; 4]) {
        fn early<'a>(x: u64, log: &'a Cell<u64>) -> Option<Logged<'a>> {
            let first = Logged(1, log);
            let _second = Logged(x % 7 + 2, log);
            if x % 2 == 0 {
                return Some(first);
            }
            let mut third = Logged(3, log);
            third = Logged(4, if x % 3 == 0 { log } else { third.1 });
            let _ = Logged(5, log);
            (x % 5 == 0).then_some(third)
        }
        *output = input.map(|x| {
            let log = Cell::new(x >> 32);
            {
                let pair = (Logged(8, &log), early(x, &log));
                let (left, _) = &pair;
                let moved = ManuallyDrop::new(Logged(9, left.1));
                if x % 3 == 1 {
                    drop(ManuallyDrop::into_inner(moved));
                }
            }
            log.get()
        });
    }
}

subject! {
    /// Drops of array elements, and of those that a moved-from iterator still has.
    fn drop_arrays(input: &[u64; 4], output: &mut [u64; 4]) {
        *output = input.map(|x| {
            let log = Cell::new(1);
            let array: [Logged; 5] = core::array::from_fn(|i| Logged(x.rotate_left(i as u32) % 16, &log));
            let mut rest = array.into_iter();
            let kept = rest.nth((x >> 40) as usize % 6);
            mem::forget(rest.next_back());
            drop(rest);
            log.set(log.get() ^ kept.as_ref().map_or(1, |kept| kept.0) << 50);
            mem::drop(kept);
            log.get()
        });
    }
}

subject! {
    /// `mem::swap`, `replace` and `take`, of words and of large arrays.
    fn swap_replace_take(input: &[u64; 32], output: &mut [u64; 34]) {
        let mut a: [u64; 16] = core::array::from_fn(|i| input[i]);
        let mut b: [u64; 16] = core::array::from_fn(|i| input[16 + i]);
        for x in input.iter().take(1 + input[0] as usize % 4) {
            mem::swap(&mut a, &mut b);
            a[0] = mem::replace(&mut b[*x as usize % 16], *x);
        }
        output[32] = mem::take(&mut a[3]);
        let mut slot = Some(b[5]);
        output[33] = slot.take().unwrap_or(1) ^ slot.replace(3).map_or(7, |x| x);
        output[..16].copy_from_slice(&a);
        output[16..32].copy_from_slice(&b);
    }
}

subject! {
    /// An array that is filled element by element before it is read.
    fn maybe_uninit(input: &[u64; 24], output: &mut [u64; 24]) {
        let mut places = [const { MaybeUninit::<(u32, u64)>::uninit() }; 24];
        for (i, x) in input.iter().enumerate() {
            places[(i * 7 + input[0] as usize % 24) % 24].write((i as u32, *x));
        }
        // SAFETY: 7 and 24 have no common factor, so every place was written.
        *output = places
            .map(|place| unsafe { place.assume_init() })
            .map(|(i, x)| x ^ u64::from(i));
    }
}

subject! {
    /// Unaligned reads and writes of all widths.
    fn unaligned(input: &[u64; 8], output: &mut [u64; 9]) {
        let mut raw: [u8; 64] = bytes(input);
        let base = raw.as_mut_ptr();
        for k in 0..8 {
            let at = input[k] as usize % 48;
            // SAFETY: at most 48 + 16 bytes into 64.
            unsafe {
                let place = base.add(at);
                let x = place.cast::<u128>().read_unaligned();
                place.add(1).cast::<u64>().write_unaligned((x >> 32) as u64);
                place
                    .add(3)
                    .cast::<u32>()
                    .write_unaligned(place.add(2).cast::<u32>().read_unaligned().swap_bytes());
                output[k] = (x >> 64) as u64 ^ u64::from(place.add(5).cast::<u16>().read_unaligned());
            }
        }
        output[8] = digest(raw.map(u64::from));
    }
}

subject! {
    /// Copies that overlap, in both directions and of odd lengths.
    fn overlapping_copies(input: &[u64; 8], output: &mut [u64; 8]) {
        let mut raw: [u8; 64] = bytes(input);
        let base = raw.as_mut_ptr();
        for x in input {
            let (from, to, len) = (*x as usize % 32, (*x >> 8) as usize % 32, (*x >> 16) as usize % 33);
            // SAFETY: at most 32 + 32 bytes of 64; the last two parts do not overlap.
            unsafe {
                ptr::copy(base.add(from), base.add(to), len);
                ptr::swap_nonoverlapping(base.add(from / 2), base.add(32), len / 2);
            }
        }
        *output = core::array::from_fn(|i| u64::from_le_bytes(core::array::from_fn(|k| raw[8 * i + k])));
    }
}

subject! {
    /// Comparison and distance of pointers within one array.
    fn pointer_comparisons(input: &[u64; 16], output: &mut [u64; 16]) {
        let local = *input;
        *output = core::array::from_fn(|k| {
            let a = &raw const local[input[k] as usize % 16];
            let b = local.as_ptr().wrapping_add((input[k] >> 8) as usize % 17);
            // SAFETY: both point into `local` or to its end.
            let distance = unsafe { b.offset_from(a) };
            u64::from(a < b) | u64::from(a == b) << 1 | (a.cmp(&b) as i8 as u8 as u64) << 8 | (distance as u64) << 16
        });
    }
}

#[repr(C)]
union Word {
    whole: u64,
    float: f64,
    halves: [u32; 2],
    bytes: [u8; 8],
}

subject! {
    /// Unions of words, floats and bytes.
    fn unions(input: &[u64; 8], output: &mut [u64; 8]) {
        *output = input.map(|x| {
            let mut word = Word { whole: x };
            // SAFETY: every bit pattern is valid for every field.
            unsafe {
                word.bytes[(x % 8) as usize] ^= 0x55;
                word.halves.swap(0, (x >> 8 & 1) as usize);
                word.whole ^ u64::from(word.float > 1.0) ^ u64::from(word.halves[1]) << 3
            }
        });
    }
}

#[repr(C, packed)]
#[derive(Clone, Copy, Default)]
struct Packed {
    a: u8,
    b: u32,
    c: u16,
    d: u64,
}

subject! {
    /// Packed structs in an array: fields without alignment.
    fn packed(input: &[u64; 12], output: &mut [u64; 13]) {
        let mut all: [Packed; 12] = input.map(|x| Packed {
            a: x as u8,
            b: (x >> 8) as u32,
            c: (x >> 40) as u16,
            d: x.rotate_left(9),
        });
        for (k, x) in input.iter().enumerate() {
            let place = &mut all[*x as usize % 12];
            place.b = place.b.wrapping_add(u32::from(place.a));
            place.d ^= u64::from(place.c) << k;
        }
        for (out, Packed { a, b, c, d }) in output.iter_mut().zip(all) {
            *out = digest([u64::from(a), u64::from(b), u64::from(c), d]);
        }
        output[12] = size_of_val(&all) as u64;
    }
}

subject! {
    /// Zero-sized types: slices of units, empty arrays, markers.
    fn zero_sized(input: &[u64; 8], output: &mut [u64; 5]) {
        #[derive(Clone, Copy, PartialEq, Debug)]
        struct Marker;
        let units = [(); 40];
        let part = &units[input[0] as usize % 10..10 + input[1] as usize % 30];
        let markers = [Marker; 7];
        let empty: [u64; 0] = [];
        *output = [
            part.len() as u64,
            part.chunks(3).count() as u64 ^ part.iter().rev().step_by(2).count() as u64,
            u64::from(markers[input[2] as usize % 7] == Marker),
            empty.iter().sum::<u64>() ^ input[3],
            size_of_val(part) as u64,
        ];
    }
}

subject! {
    /// Structs with large alignment, and what lies between fields.
    fn alignment(input: &[u64; 8], output: &mut [u64; 8]) {
        #[repr(align(64))]
        #[derive(Clone, Copy)]
        struct Line([u32; 3]);
        #[derive(Clone, Copy)]
        struct Mixed {
            a: u8,
            line: Line,
            b: u16,
        }
        let all: [Mixed; 8] = input.map(|x| Mixed {
            a: x as u8,
            line: Line([x as u32, 2, (x >> 32) as u32]),
            b: (x >> 16) as u16,
        });
        *output = core::array::from_fn(|k| {
            let mixed = &all[(input[k] >> 5) as usize % 8];
            let aligned = (&raw const mixed.line).addr().is_multiple_of(64);
            u64::from(mixed.a) ^ u64::from(mixed.b) << 8 ^ u64::from(mixed.line.0[k % 3]) << 24 ^ u64::from(aligned)
        });
    }
}

subject! {
    /// Transmutes and casts between arrays of words, bytes and floats.
    fn transmutes(input: &[u64; 4], output: &mut [u64; 8]) {
        // SAFETY: every bit pattern is valid.
        let (raw, halves, floats) = unsafe {
            (
                mem::transmute::<[u64; 4], [u8; 32]>(*input),
                mem::transmute::<[u64; 4], [u16; 16]>(*input),
                mem::transmute::<[u64; 4], [f32; 8]>(*input),
            )
        };
        let at = input[0] as usize;
        *output = core::array::from_fn(|k| {
            u64::from(raw[(at % 32 + k) % 32])
                | u64::from(halves[(at % 16 + 3 * k) % 16]) << 8
                | u64::from(floats[k].to_bits()) << 24
        });
        // SAFETY: the middle part is of words.
        let (_, words, _) = unsafe { raw.align_to::<u64>() };
        output[0] ^= u64::from(words.len() <= 4);
    }
}

subject! {
    /// `black_box` around values, places and functions.
    fn black_box(input: &[u64; 8], output: &mut [u64; 8]) {
        use core::hint::black_box;
        let local = black_box(*input);
        let f: fn(u64) -> u64 = black_box(|x| x.wrapping_mul(3));
        for (k, out) in output.iter_mut().enumerate() {
            let place: &u64 = black_box(&local[black_box(k)]);
            *out = f(*place) ^ black_box(input[k] as u8) as u64;
        }
    }
}

subject! {
    /// Volatile accesses to local memory.
    fn volatile(input: &[u64; 8], output: &mut [u64; 8]) {
        let mut local = *input;
        for k in 0..8 {
            let place = &raw mut local[input[k] as usize % 8];
            // SAFETY: an element of `local`.
            unsafe {
                let x = place.read_volatile();
                place.write_volatile(x.wrapping_add(1));
                output[k] = x ^ place.read_volatile() << 32;
            }
        }
    }
}

subject! {
    /// Values of 8 KiB, moved and returned.
    fn large_values(input: &[u64; 8], output: &mut [u64; 8]) {
        #[inline(never)]
        fn make(x: u64) -> [u64; 128] {
            core::array::from_fn(|i| x.wrapping_mul(i as u64 + 1))
        }
        #[inline(never)]
        fn mix(mut a: [u64; 128], b: &[u64; 128]) -> [u64; 128] {
            for i in 0..128 {
                a[i] ^= b[127 - i].rotate_left(i as u32 % 64);
            }
            a
        }
        let mut sum = make(input[0]);
        for (out, x) in output.iter_mut().zip(input) {
            sum = if x % 2 == 0 {
                mix(sum, &make(*x))
            } else {
                mix(make(*x), &sum)
            };
            *out = sum[*x as usize % 128];
        }
    }
}

subject! {
    /// `dyn Any` of references to locals.
    fn any_downcast(input: &[u64; 16], output: &mut [u64; 16]) {
        use core::any::Any;
        let (byte, pair) = (input[0] as u8, (input[1], input[2] as i16));
        *output = input.map(|x| {
            let value: &dyn Any = match x % 4 {
                0 => &byte,
                1 => &pair,
                2 => &"text",
                _ => &x,
            };
            if let Some(byte) = value.downcast_ref::<u8>() {
                u64::from(*byte)
            } else if let Some((a, b)) = value.downcast_ref::<(u64, i16)>() {
                a ^ *b as u64
            } else {
                value.downcast_ref::<&str>().map_or(9, |text| text.len() as u64) + u64::from(value.is::<u64>())
            }
        });
    }
}

subject! {
    heap: true;
    /// Boxes of more than pointer alignment.
    fn aligned_boxes(input: &[u64; 8], output: &mut [u64; 8]) {
        #[repr(align(128))]
        struct Line([u64; 4]);
        let lines: alloc::vec::Vec<alloc::boxed::Box<Line>> =
            input.iter().map(|x| alloc::boxed::Box::new(Line([*x, 1, !x, 3]))).collect();
        *output = core::array::from_fn(|k| {
            let line = &lines[7 - k];
            let aligned = (&raw const **line).addr().is_multiple_of(128);
            line.0[input[k] as usize % 4] ^ u64::from(aligned)
        });
    }
}
