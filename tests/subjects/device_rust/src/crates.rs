//! Containers and encodings: `arrayvec`, `heapless`, `smallvec`, `tinyvec`, `hashbrown`, `indexmap`, `fixedbitset`,
//! `bitflags`, `memchr`, `byteorder`, `bytemuck`, `zeroize`, `postcard`, `minicbor`.

use core::hash::BuildHasherDefault;

use arrayvec::{ArrayString, ArrayVec};
use bytemuck::{Pod, Zeroable};
use byteorder::{BigEndian, ByteOrder, LittleEndian};
use fixedbitset::FixedBitSet;
use zeroize::Zeroize;

use crate::support::{Fnv, bytes, digest, pack};

subject! {
    /// `arrayvec`: insertion and removal within a capacity.
    fn arrayvec_edits(input: &[u64; 32], output: &mut [u64; 4]) {
        let mut values = ArrayVec::<u64, 12>::new();
        let mut refused = 0;
        for x in input {
            let at = (x >> 8) as usize;
            match x % 5 {
                0 => refused += u64::from(values.try_insert(at % (values.len() + 1), *x).is_err()),
                1 => drop(values.pop_at(at % 12)),
                2 if values.len() > 2 => drop(values.drain(..at % 3)),
                3 => values.retain(|y| *y != *x),
                _ => refused += u64::from(values.try_push(*x).is_err()) << 32,
            }
        }
        let mut text = ArrayString::<16>::new();
        let fits = input
            .iter()
            .all(|x| text.try_push(char::from_u32(*x as u32 % 0x2000).unwrap_or('?')).is_ok());
        *output = [
            values.len() as u64,
            digest(values),
            refused ^ u64::from(fits),
            digest(text.bytes().map(u64::from)),
        ];
    }
}

subject! {
    /// `heapless`: Vec, Deque, BinaryHeap and a linear map.
    fn heapless_collections(input: &[u64; 32], output: &mut [u64; 4]) {
        let mut deque = heapless::Deque::<u64, 8>::new();
        let mut heap = heapless::BinaryHeap::<u64, heapless::binary_heap::Max, 8>::new();
        let mut map = heapless::LinearMap::<u8, u64, 8>::new();
        let mut vec = heapless::Vec::<u64, 20>::new();
        for x in input {
            if deque.is_full() {
                deque.pop_front();
            }
            if x % 2 == 0 {
                deque.push_front(*x).ok()
            } else {
                deque.push_back(*x).ok()
            };
            if let Err(x) = heap.push(*x) {
                vec.push(x ^ heap.pop().unwrap_or(0)).ok();
            }
            if let Ok(Some(old)) = map.insert((*x % 11) as u8, *x) {
                vec.push(old).ok();
            }
        }
        *output = [
            digest(deque.iter().copied()),
            core::iter::from_fn(|| heap.pop()).fold(1, |sum, x| sum.rotate_left(9) ^ x),
            map.iter().fold(0, |sum, (k, v)| sum ^ v.rotate_left(u32::from(*k))),
            digest(vec),
        ];
    }
}

subject! {
    heap: true;
    /// `heapless` and `indexmap` maps with a fixed hasher, in order of insertion.
    fn index_maps(input: &[u64; 40], output: &mut [u64; 4]) {
        let mut map = indexmap::IndexMap::<u64, u64, BuildHasherDefault<Fnv>>::default();
        let mut fixed = heapless::index_map::FnvIndexMap::<u64, u64, 32>::new();
        for (i, x) in input.iter().enumerate() {
            *map.entry(x % 30).or_insert(0) += i as u64;
            fixed.insert(x % 30, i as u64).ok();
            if x % 7 == 0 {
                map.swap_remove(&((x >> 8) % 30));
                fixed.remove(&((x >> 8) % 30));
            }
        }
        output[0] = digest(map.iter().map(|(k, v)| k << 32 | v));
        output[1] = map.get_index(3).map_or(5, |(k, _)| *k);
        map.sort_unstable_keys();
        output[2] = digest(map.into_values());
        output[3] = digest(fixed.iter().map(|(k, v)| k << 32 | v));
    }
}

subject! {
    heap: true;
    /// `smallvec` and `tinyvec`, which move to the heap when they are full.
    fn small_vectors(input: &[u64; 24], output: &mut [u64; 4]) {
        let mut small = smallvec::SmallVec::<[u64; 4]>::new();
        let mut tiny = tinyvec::ArrayVec::<[u32; 10]>::default();
        for x in &input[..4 + input[0] as usize % 20] {
            match x % 4 {
                0 => small.insert((x >> 8) as usize % (small.len() + 1), *x),
                1 if !small.is_empty() => drop(small.swap_remove((x >> 8) as usize % small.len())),
                _ => small.push(!x),
            }
            if tiny.try_push(*x as u32).is_some() {
                tiny.remove((x >> 8) as usize % 10);
            }
        }
        *output = [
            digest(tiny.iter().map(|x| u64::from(*x))),
            u64::from(small.spilled()) | (small.len() as u64) << 1,
            digest(small.drain(..small.len() / 2)),
            digest(small),
        ];
    }
}

subject! {
    stack_bytes: 8 << 10, heap: true;
    /// `hashbrown`: a map with a fixed hasher, read by key, growth and removal.
    fn hashbrown_map(input: &[u64; 64], output: &mut [u64; 66]) {
        let mut map = hashbrown::HashMap::<u64, u64, BuildHasherDefault<Fnv>>::default();
        for (i, x) in input.iter().enumerate() {
            *map.entry(x % 97).or_insert(1) += i as u64;
            if x % 5 == 0 {
                map.remove(&((x >> 8) % 97));
            }
        }
        output[64] = map.len() as u64;
        map.retain(|k, v| (k + *v) % 4 != 0);
        output[65] = map.iter().fold(0, |sum, (k, v)| sum ^ digest([*k, *v]));
        for (out, x) in output.iter_mut().zip(input) {
            *out = map.get(&(x % 97)).copied().unwrap_or(1000);
        }
    }
}

subject! {
    stack_bytes: 8 << 10, heap: true;
    /// `hashbrown`: sets of strings and their union.
    fn hashbrown_set(input: &[u64; 24], output: &mut [u64; 2]) {
        type Set = hashbrown::HashSet<alloc::string::String, BuildHasherDefault<Fnv>>;
        let names = |words: &[u64]| words.iter().map(|x| alloc::format!("n{}", x % 20)).collect::<Set>();
        let (a, b) = (names(&input[..12]), names(&input[12..]));
        let sum = |sum: u64, name: &alloc::string::String| sum.wrapping_add(digest(name.bytes().map(u64::from)));
        *output = [a.union(&b).fold(0, sum), a.intersection(&b).fold(a.len() as u64, sum)];
    }
}

subject! {
    heap: true;
    /// `fixedbitset`: ranges, unions, iteration over ones.
    fn bit_sets(input: &[u64; 24], output: &mut [u64; 4]) {
        let mut a = FixedBitSet::with_capacity(200);
        let mut b = FixedBitSet::with_capacity(200);
        for x in input {
            a.insert(*x as usize % 200);
            b.toggle((x >> 8) as usize % 200);
        }
        b.insert_range(50..50 + input[0] as usize % 60);
        output[0] = digest(a.intersection(&b).map(|i| i as u64));
        output[1] = a.difference(&b).count() as u64;
        a.union_with(&b);
        output[2] = digest(a.ones().map(|i| i as u64));
        output[3] = a.count_ones(..100) as u64 ^ b.minimum().map_or(999, |i| i as u64) << 16;
    }
}

bitflags::bitflags! {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Flags: u16 {
        const READ = 1;
        const WRITE = 1 << 1;
        const BOTH = Self::READ.bits() | Self::WRITE.bits();
        const HIGH = 1 << 15;
    }
}

subject! {
    /// `bitflags`: sets of flags, their names, text and parse.
    fn flags(input: &[u64; 8], output: &mut [u64; 16]) {
        use core::fmt::Write;
        for k in 0..8 {
            let (a, b) = (
                Flags::from_bits_truncate(input[k] as u16),
                Flags::from_bits_retain((input[k] >> 16) as u16),
            );
            let mut text = crate::support::Text::<64>::new();
            let written = write!(text, "{:?}", a | b);
            output[2 * k] = digest(text.as_bytes().iter().map(|x| u64::from(*x))) ^ u64::from(written.is_ok());
            output[2 * k + 1] = u64::from((a ^ b).bits())
                | u64::from(a.contains(b)) << 16
                | u64::from(Flags::from_bits(input[k] as u16).is_some()) << 17
                | (b.iter_names().map(|(name, _)| name.len() as u64).sum::<u64>()) << 20;
        }
    }
}

subject! {
    stack_bytes: 8 << 10;
    /// `memchr`: bytes and substrings, from both ends.
    fn memchr_searches(input: &[u64; 24], output: &mut [u64; 7]) {
        let raw = bytes::<24, 192>(input).map(|x| x % 5);
        let (hay, needle) = raw.split_at(180);
        let index = |i: Option<usize>| i.map_or(999, |i| i as u64);
        *output = [
            index(memchr::memchr(needle[0], hay)),
            index(memchr::memrchr2(needle[0], needle[1], &hay[..60])),
            digest(memchr::memchr_iter(3, hay).map(|i| i as u64)),
            index(memchr::memmem::find(hay, &needle[..2])),
            index(memchr::memmem::rfind(hay, &needle[..3])),
            memchr::memmem::find_iter(hay, &needle[..1]).count() as u64,
            index(memchr::memmem::Finder::new(needle).find(&raw)),
        ];
    }
}

subject! {
    /// `byteorder`: words of odd sizes in both orders.
    fn byte_orders(input: &[u64; 4], output: &mut [u64; 8]) {
        let mut raw: [u8; 32] = bytes(input);
        let at = input[0] as usize % 16;
        output[0] = BigEndian::read_u64(&raw[at..]);
        output[1] = LittleEndian::read_u24(&raw[at..]).into();
        output[2] = BigEndian::read_i48(&raw[at + 1..]) as u64;
        output[3] = LittleEndian::read_u128(&raw[at..]) as u64;
        BigEndian::write_u32(&mut raw[at + 3..], input[1] as u32);
        LittleEndian::write_u16(&mut raw[at..], input[2] as u16);
        let mut halves = [0; 16];
        BigEndian::read_u16_into(&raw, &mut halves);
        output[4..].copy_from_slice(&core::array::from_fn::<u64, 4, _>(|k| {
            digest(halves[4 * k..][..4].iter().map(|x| u64::from(*x)))
        }));
    }
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Pixel {
    color: [u8; 4],
    depth: f32,
}

subject! {
    /// `bytemuck`: casts between slices of structs, bytes and words.
    fn bytemuck_casts(input: &[u64; 8], output: &mut [u64; 10]) {
        let mut pixels: [Pixel; 8] = bytemuck::cast(*input);
        for pixel in &mut pixels {
            pixel.color.swap(0, 2);
        }
        let raw: &[u8] = bytemuck::cast_slice(&pixels);
        let halves: &[u16] = bytemuck::try_cast_slice(&raw[..2 * (input[0] as usize % 33)]).unwrap_or(&[]);
        output[8] = digest(halves.iter().map(|x| u64::from(*x)));
        output[9] = bytemuck::bytes_of(&pixels[3]).iter().map(|x| u64::from(*x)).sum();
        output[..8].copy_from_slice(bytemuck::cast_slice(&pixels));
    }
}

subject! {
    /// `zeroize`: memory that is cleared although nobody reads it, and some that is.
    fn zeroized(input: &[u64; 8], output: &mut [u64; 8]) {
        let mut secret = input.map(|x| x.rotate_left(5));
        let part = input[0] as usize % 9;
        let sum = digest(secret);
        secret[..part].zeroize();
        *output = secret;
        output[7] ^= sum;
        secret.zeroize();
        output[0] ^= secret[7];
    }
}

subject! {
    /// `postcard`: a tuple of many types, written and read back, and arbitrary bytes.
    fn postcard_round_trip(input: &[u64; 6], output: &mut [u64; 16]) {
        let value = (
            input[0],
            input[1] as i16,
            (input[2] % 2 == 0).then_some(input[3] as f32),
            [input[4] as u8; 3],
            ("text", input[5] as i64),
        );
        let mut buffer = [0; 96];
        let written = postcard::to_slice(&value, &mut buffer).map_or(&[][..], |written| written);
        pack(written, &mut output[..12]);
        type Value<'a> = (u64, i16, Option<f32>, [u8; 3], (&'a str, i64));
        output[12] =
            postcard::from_bytes::<Value>(written).map_or(1, |back| back.0 ^ back.4.1 as u64 ^ back.4.0.len() as u64);
        let raw: [u8; 48] = bytes(input);
        output[13] = postcard::from_bytes::<(u8, u32, bool)>(&raw).map_or(2, |x| u64::from(x.1) << 1 | u64::from(x.2));
        output[14] = postcard::from_bytes::<u64>(&raw).unwrap_or(3);
        output[15] = postcard::from_bytes::<&str>(&raw).map_or(4, |text| text.len() as u64);
    }
}

#[derive(minicbor::Encode, minicbor::Decode, PartialEq, Clone, Copy)]
enum Message<'a> {
    #[n(0)]
    Empty,
    #[n(1)]
    Number(#[n(0)] i64),
    #[n(2)]
    Named {
        #[n(0)]
        name: &'a str,
        #[n(1)]
        value: Option<u16>,
    },
}

subject! {
    stack_bytes: 8 << 10;
    /// `minicbor`: derived encodings, written and read back.
    fn minicbor_round_trip(input: &[u64; 4], output: &mut [u64; 12]) {
        for (k, out) in output.chunks_exact_mut(3).enumerate() {
            let x = input[k];
            let message = match x % 3 {
                0 => Message::Empty,
                1 => Message::Number(x as i64),
                _ => Message::Named {
                    name: ["a", "bcd", "ß"][k % 3],
                    value: (x % 5 > 1).then_some((x >> 8) as u16),
                },
            };
            let mut buffer = [0u8; 64];
            let encoded = minicbor::encode(message, buffer.as_mut_slice()).is_ok();
            out[0] = digest(buffer.map(u64::from));
            out[1] = u64::from(encoded)
                | u64::from(minicbor::decode::<Message>(&buffer).is_ok_and(|back| back == message)) << 1;
            let raw: [u8; 8] = x.to_le_bytes();
            out[2] = minicbor::decode::<u64>(&raw).unwrap_or(7);
        }
    }
}
