//! Bytes of two words (PTX ISA, "Integer Arithmetic Instructions: prmt").

/// Selects the low word.
pub const LOW_WORD: u32 = 0x3210;

/// Selects the high half of the low word, and the low half of the high one.
pub const MIDDLE_WORD: u32 = 0x5432;

/// Four bytes of `high:low`, each digit of `selector` one of them, the lowest first: 0 to 3 are those of `low`, 4 to 7
/// those of `high`. Digits above 7 are not for this function.
#[inline(always)]
pub fn bytes(low: u32, high: u32, selector: u32) -> u32 {
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let both = u64::from(low) | u64::from(high) << 32;
        (0..4).fold(0, |word, byte| {
            let which = selector >> (4 * byte) & 7;
            let byte_of_both = (both >> (8 * which)) as u32 & 0xff;
            word | byte_of_both << (8 * byte)
        })
    }
    #[cfg(target_arch = "nvptx64")]
    {
        let word: u32;
        // SAFETY: writes one register.
        unsafe {
            core::arch::asm!(
                "prmt.b32 {word}, {low}, {high}, {selector};",
                word = out(reg32) word,
                low = in(reg32) low,
                high = in(reg32) high,
                selector = in(reg32) selector,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        word
    }
}
