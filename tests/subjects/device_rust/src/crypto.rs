//! Hashes, curves and generators: `sha2`, `blake3`, `siphasher`, `crc`, `k256`, `curve25519-dalek`, `ed25519-dalek`,
//! `rand_*`.

use blake3::Hasher as Blake3;
use curve25519_dalek::{EdwardsPoint, MontgomeryPoint, Scalar};
use ed25519_dalek::Signer;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::sec1::ToSec1Point;
use rand_chacha::ChaCha8Rng;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoroshiro64StarStar, Xoshiro128PlusPlus, Xoshiro256PlusPlus};
use sha2::{Digest, Sha256, Sha512};

use crate::support::bytes;

/// 32 bytes as four words.
fn store(bytes: &[u8], output: &mut [u64]) {
    for (out, chunk) in output.iter_mut().zip(bytes.as_chunks().0) {
        *out = u64::from_le_bytes(*chunk);
    }
}

subject! {
    stack_bytes: 8 << 10;
    /// SHA-256 of 0 to 191 bytes, in two updates.
    fn sha256(input: &[u64; 24], output: &mut [u64; 4]) {
        let raw: [u8; 192] = bytes(input);
        let message = &raw[..input[0] as usize % 192];
        let (a, b) = message.split_at(message.len() / 3);
        store(&Sha256::new().chain_update(a).chain_update(b).finalize(), output);
    }
}

subject! {
    stack_bytes: 8 << 10;
    /// SHA-512 of 0 to 255 bytes.
    fn sha512(input: &[u64; 32], output: &mut [u64; 8]) {
        let raw: [u8; 256] = bytes(input);
        store(&Sha512::digest(&raw[..input[0] as usize % 256]), output);
    }
}

subject! {
    cases: 8, stack_bytes: 32 << 10;
    /// BLAKE3 of up to 2 KiB: several chunks and parents.
    fn blake3(input: &[u64; 256], output: &mut [u64; 4]) {
        let raw: [u8; 2048] = bytes(input);
        let hash = Blake3::new()
            .update(&raw[..100])
            .update(&raw[100..100 + input[0] as usize % 1948])
            .finalize();
        store(hash.as_bytes(), output);
    }
}

subject! {
    stack_bytes: 16 << 10;
    /// BLAKE3 with a key, and extended output from an offset.
    fn blake3_keyed_xof(input: &[u64; 8], output: &mut [u64; 12]) {
        let raw: [u8; 64] = bytes(input);
        let key: [u8; 32] = bytes(&[input[0], input[1], 3, 4]);
        let mut reader = Blake3::new_keyed(&key).update(&raw).finalize_xof();
        reader.set_position(input[2] % 1000);
        let mut out = [0; 96];
        reader.fill(&mut out);
        store(&out, output);
    }
}

subject! {
    /// SipHash of 128 bits.
    fn siphash128(input: &[u64; 8], output: &mut [u64; 2]) {
        let raw: [u8; 64] = bytes(input);
        let hash = siphasher::sip128::SipHasher13::new_with_keys(input[0], 5).hash(&raw[..input[1] as usize % 65]);
        *output = [hash.h1, hash.h2];
    }
}

subject! {
    /// CRCs of 16, 32, 64 and 82 bits by tables.
    fn crcs(input: &[u64; 8], output: &mut [u64; 4]) {
        static CRC16: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_IBM_SDLC);
        static CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);
        static CRC64: crc::Crc<u64> = crc::Crc::<u64>::new(&crc::CRC_64_ECMA_182);
        static CRC82: crc::Crc<u128> = crc::Crc::<u128>::new(&crc::CRC_82_DARC);
        let raw: [u8; 64] = bytes(input);
        let message = &raw[..input[0] as usize % 65];
        let mut digest = CRC32.digest();
        message.chunks(7).for_each(|chunk| digest.update(chunk));
        *output = [
            u64::from(CRC16.checksum(message)),
            u64::from(digest.finalize()),
            CRC64.checksum(message),
            (CRC82.checksum(message) % u128::from(u64::MAX)) as u64,
        ];
    }
}

/// A scalar of secp256k1 that is not zero.
fn scalar_k256(words: &[u64]) -> k256::Scalar {
    let raw: [u8; 32] = bytes(&[words[0] | 1, words[1], words[2], words[3] >> 1]);
    <k256::Scalar as Reduce<k256::FieldBytes>>::reduce(&raw.into())
}

subject! {
    cases: 4, stack_bytes: 64 << 10;
    /// secp256k1: the generator times a scalar, plus a point times a scalar, compressed.
    fn k256_scalar_mul(input: &[u64; 8], output: &mut [u64; 5]) {
        let (a, b) = (scalar_k256(&input[..4]), scalar_k256(&input[4..]));
        let point = (k256::ProjectivePoint::GENERATOR * a) * b + k256::ProjectivePoint::GENERATOR;
        let encoded = point.to_affine().to_sec1_point(true);
        output[4] = u64::from(encoded.as_bytes()[0]);
        store(&encoded.as_bytes()[1..], output);
    }
}

subject! {
    cases: 4, stack_bytes: 64 << 10;
    /// secp256k1: a signature of a message verifies, that of another does not.
    fn k256_ecdsa(input: &[u64; 8], output: &mut [u64; 9]) {
        use k256::ecdsa::signature::{Signer, Verifier};
        output.fill(0);
        let key: [u8; 32] = bytes(&[input[0] | 1, input[1], input[2], input[3] >> 1]);
        let message: [u8; 32] = bytes(&[input[4], input[5], input[6], input[7]]);
        let Ok(key) = k256::ecdsa::SigningKey::from_slice(&key) else {
            return;
        };
        let signature: k256::ecdsa::Signature = key.sign(&message);
        store(&signature.to_bytes(), output);
        let right = key.verifying_key().verify(&message, &signature).is_ok();
        let wrong = key.verifying_key().verify(&message[..31], &signature).is_ok();
        output[8] = u64::from(right) | u64::from(wrong) << 1;
    }
}

subject! {
    cases: 4, stack_bytes: 64 << 10;
    /// Curve25519: the ladder of X25519, and Edwards points.
    fn curve25519_scalar_mul(input: &[u64; 8], output: &mut [u64; 8]) {
        let scalar = Scalar::from_bytes_mod_order(bytes(&[input[0], input[1], input[2], input[3]]));
        let point = EdwardsPoint::mul_base_clamped(bytes(&[input[4], input[5], input[6], input[7]]));
        store((point * scalar + point).compress().as_bytes(), output);
        let x: MontgomeryPoint = point.to_montgomery() * scalar;
        store(x.as_bytes(), &mut output[4..]);
    }
}

subject! {
    /// Scalars of Curve25519: products, inverses, wide reduction.
    fn curve25519_scalars(input: &[u64; 8], output: &mut [u64; 8]) {
        let a = Scalar::from_bytes_mod_order_wide(&bytes(input));
        let b = Scalar::from(input[0] | 1);
        store((a * b - b).as_bytes(), output);
        store((a + b.invert()).as_bytes(), &mut output[4..]);
    }
}

subject! {
    cases: 4, stack_bytes: 64 << 10;
    /// Ed25519: a signature of a message verifies strictly, that of another does not.
    fn ed25519(input: &[u64; 8], output: &mut [u64; 9]) {
        let key = ed25519_dalek::SigningKey::from_bytes(&bytes(&[input[0], input[1], input[2], input[3]]));
        let message: [u8; 32] = bytes(&[input[4], input[5], input[6], input[7]]);
        let signature = key.sign(&message);
        store(&signature.to_bytes(), output);
        let right = key.verifying_key().verify_strict(&message, &signature).is_ok();
        let wrong = key.verifying_key().verify_strict(&message[1..], &signature).is_ok();
        output[8] = u64::from(right) | u64::from(wrong) << 1;
    }
}

subject! {
    /// The xoshiro family: seeding, words, bytes, jumps.
    fn xoshiro(input: &[u64; 1], output: &mut [u64; 8]) {
        let mut a = Xoshiro256PlusPlus::seed_from_u64(input[0]);
        let mut b = Xoshiro128PlusPlus::seed_from_u64(!input[0]);
        let mut c = Xoroshiro64StarStar::seed_from_u64(input[0] >> 5);
        let mut d = SplitMix64::seed_from_u64(input[0]);
        a.jump();
        let mut raw = [0; 11];
        b.fill_bytes(&mut raw);
        store(&raw, output);
        output[1..].copy_from_slice(&[
            a.next_u64(),
            a.next_u32().into(),
            b.next_u64(),
            c.next_u32().into(),
            c.next_u64(),
            d.next_u64(),
            raw[10].into(),
        ]);
    }
}

subject! {
    stack_bytes: 8 << 10;
    /// ChaCha8: blocks, streams and positions.
    fn chacha(input: &[u64; 3], output: &mut [u64; 6]) {
        let mut rng = ChaCha8Rng::seed_from_u64(input[0]);
        rng.set_stream(input[1]);
        output[0] = rng.next_u64();
        rng.set_word_pos(u128::from(input[2] % 10_000));
        output[1] = rng.next_u32().into();
        let mut raw = [0; 24];
        rng.fill_bytes(&mut raw);
        store(&raw, &mut output[2..5]);
        output[5] = rng.get_word_pos() as u64;
    }
}
