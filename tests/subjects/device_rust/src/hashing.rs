//! `core::hash`: derived implementations, SipHash, hashers of one's own.

use core::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use crate::support::Fnv;

#[derive(Hash, PartialEq, Eq, Clone, Copy)]
enum Key {
    Unit,
    Pair(u8, i32),
    Text(&'static str),
    Named { wide: u128, flag: bool },
}

fn key(x: u64) -> Key {
    match x % 4 {
        0 => Key::Unit,
        1 => Key::Pair((x >> 8) as u8, (x >> 16) as i32),
        2 => Key::Text(["one", "two", "größer"][(x >> 8) as usize % 3]),
        _ => Key::Named {
            wide: u128::from(x) << 50,
            flag: x >> 63 == 1,
        },
    }
}

subject! {
    /// SipHash 2-4 behind `core`'s deprecated name, over words and bytes.
    fn sip_hasher(input: &[u64; 10], output: &mut [u64; 4]) {
        #[allow(deprecated)]
        let mut hasher = core::hash::SipHasher::new_with_keys(input[0], input[1]);
        for (k, out) in output.iter_mut().enumerate() {
            input[2 + 2 * k].hash(&mut hasher);
            hasher.write(&input[3 + 2 * k].to_le_bytes()[..input[0] as usize % 9]);
            *out = hasher.finish();
        }
    }
}

subject! {
    /// Derived hashes of an enum, by FNV and by SipHash 2-4.
    fn derived_hash(input: &[u64; 12], output: &mut [u64; 24]) {
        for (out, x) in output.chunks_exact_mut(2).zip(input) {
            let mut sip = siphasher::sip::SipHasher24::new_with_keys(1, 2);
            // Not the discriminant alone: it is hashed as an isize, which has 64 bits on both sides.
            key(*x).hash(&mut sip);
            out.copy_from_slice(&[BuildHasherDefault::<Fnv>::default().hash_one(key(*x)), sip.finish()]);
        }
    }
}

subject! {
    /// Hashes of slices, tuples, options and arrays.
    fn hash_of_collections(input: &[u64; 12], output: &mut [u64; 5]) {
        let build = BuildHasherDefault::<fnv::FnvHasher>::default();
        let slice = &input[..input[0] as usize % 13];
        *output = [
            build.hash_one(slice),
            build.hash_one((input[1] as u8, input[2] as i64, 'x')),
            build.hash_one(slice.first()),
            build.hash_one(input.map(|x| x as i16)),
            build.hash_one(core::str::from_utf8(&[input[3] as u8 & 0x7f]).unwrap_or("?")),
        ];
    }
}
