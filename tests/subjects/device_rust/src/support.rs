//! What several subjects share: words from bytes and back, text of fixed size, floats without NaN payloads.

use core::fmt;
use core::hash::Hasher;

/// Bits of a float; every NaN has the same.
pub fn bits64(x: f64) -> u64 {
    if x.is_nan() { 0x7ff8_0000_0000_0000 } else { x.to_bits() }
}

/// Bits of a float; every NaN has the same.
pub fn bits32(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() })
}

/// A float of moderate size from any word: signed, up to 2^20, with 11 fractional bits.
pub fn moderate(word: u64) -> f64 {
    f64::from(word as i32) / 2048.0
}

/// The words as bytes, the lowest first.
pub fn bytes<const WORDS: usize, const BYTES: usize>(words: &[u64; WORDS]) -> [u8; BYTES] {
    core::array::from_fn(|i| (words[i / 8 % WORDS] >> (i % 8 * 8)) as u8)
}

/// Stores the length, then the bytes in words. Bytes beyond the last word are mixed into it.
pub fn pack(bytes: &[u8], output: &mut [u64]) {
    output.fill(0);
    output[0] = bytes.len() as u64;
    let last = output.len() - 1;
    for (i, &byte) in bytes.iter().enumerate() {
        let word = &mut output[(1 + i / 8).min(last)];
        *word = word.rotate_left(8) ^ u64::from(byte);
    }
}

/// Text buffer of fixed size; what does not fit is an error of `write!`.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// Empty text.
    pub fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    /// What has been written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let place = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// FNV-1a of 64 bits. Lengths and `usize` are hashed as words of 64 bits.
#[derive(Clone)]
pub struct Fnv(pub u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// FNV-1a of words.
pub fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    let mut hash = Fnv::default();
    words.into_iter().for_each(|word| hash.write(&word.to_le_bytes()));
    hash.finish()
}
