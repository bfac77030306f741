//! Passing text between the page's script and this module: the script sees nothing but numbers and one long array of
//! bytes.
//!
//! The script calls [`plan_alloc`], writes a question there, calls [`plan_answer`], and gives both blocks back with
//! [`plan_free`]. An answer is a block of four bytes, its text's length with the lowest byte first, and the text.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use core::ptr;

/// Bytes before the text of an answer.
const HEAD: usize = 4;

/// A block of `len` bytes, all 0.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn plan_alloc(len: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; len].into_boxed_slice()).cast()
}

/// Gives a block back.
///
/// # Safety
/// - `block` came from [`plan_alloc`] with the same `len`, or is an answer with a text of `len - 4` bytes.
/// - It was not given back before, and nobody uses it any more.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub unsafe extern "C" fn plan_free(block: *mut u8, len: usize) {
    // SAFETY: both kinds of blocks were boxed slices of `len` bytes, and the caller gives up this one.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(block, len)) });
}

/// The answer to a question: [`answer`](crate::answer). A question that is no UTF-8 is answered as one that is no JSON.
///
/// # Safety
/// `question` is a block of `len` bytes that nobody writes to during the call.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub unsafe extern "C" fn plan_answer(question: *const u8, len: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    let question = unsafe { core::slice::from_raw_parts(question, len) };
    block(&crate::answer(&String::from_utf8_lossy(question)))
}

/// What can be chosen: [`choices`](crate::choices).
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn plan_choices() -> *mut u8 {
    block(&crate::choices())
}

/// An answer's block.
fn block(text: &str) -> *mut u8 {
    // A text of 4 GiB does not fit into the memory of a 32-bit machine.
    let len = u32::try_from(text.len()).expect("an answer is shorter than 4 GiB");
    let mut bytes = vec![0_u8; HEAD + text.len()].into_boxed_slice();
    bytes[..HEAD].copy_from_slice(&len.to_le_bytes());
    bytes[HEAD..].copy_from_slice(text.as_bytes());
    Box::into_raw(bytes).cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page's script does.
    fn ask(question: &[u8]) -> String {
        let block = plan_alloc(question.len());
        // SAFETY: the blocks are used as the functions' documentation says.
        unsafe {
            block.copy_from_nonoverlapping(question.as_ptr(), question.len());
            let answer = plan_answer(block, question.len());
            plan_free(block, question.len());
            take(answer)
        }
    }

    /// # Safety
    /// `answer` is an answer's block, which is not used afterwards.
    unsafe fn take(answer: *mut u8) -> String {
        // SAFETY: an answer's block has four bytes of length and as many bytes of text.
        unsafe {
            let len = u32::from_le_bytes(answer.cast::<[u8; HEAD]>().read()) as usize;
            let text = core::slice::from_raw_parts(answer.add(HEAD), len).to_vec();
            plan_free(answer, HEAD + len);
            String::from_utf8(text).expect("answers are UTF-8")
        }
    }

    #[test]
    fn texts_pass_whole() {
        for question in ["", "{}", "no JSON", "{\"arch\": \"sm_120 ü\"}"] {
            assert_eq!(ask(question.as_bytes()), crate::answer(question));
        }
        assert!(ask(&[0xff, 0xfe]).contains("error"));
        // SAFETY: an answer's block, taken once.
        assert_eq!(unsafe { take(plan_choices()) }, crate::choices());
    }
}
