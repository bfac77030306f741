//! The panic handler of builds whose panics tell a message (`PanicStrategy::Message` of `cuda_builder`, in rustc
//! `-Cpanic=abort`).
//!
//! The message is formatted on the stack and handed to the driver with the place. The driver prints both, with block
//! and thread, when the host synchronizes; the launch fails with `CUDA_ERROR_ASSERT` (710). An allocation that fails is
//! a panic too.

use core::fmt::{self, Write};
#[cfg(target_arch = "nvptx64")]
use core::panic::PanicInfo;

/// Hands message and place to the driver, which ends the launch.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let mut message = Message::new();
    // A message that is too long is cut; that is no error.
    let _ = write!(message, "{}", info.message());
    let (file, line) = match info.location() {
        Some(place) => (place.file_as_c_str(), place.line()),
        None => (c"?", 0),
    };
    // SAFETY: the strings end with a NUL and have characters of one byte; a trap is allowed anywhere.
    unsafe {
        crate::io::__assertfail(
            message.as_c_bytes().as_ptr(),
            file.as_ptr().cast(),
            line,
            c"panic".as_ptr().cast(),
            1,
        );
        core::arch::nvptx::trap()
    }
}

/// What a message may have of a thread's stack, which is 1024 bytes unless the host raises it (bytes).
const CAPACITY: usize = 256;
/// The end of a message that was cut.
const ELLIPSIS: &[u8] = b"...";

/// A text of bounded length on the stack.
struct Message {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Message {
    fn new() -> Self {
        Self {
            bytes: [0; CAPACITY],
            length: 0,
        }
    }

    /// The text and a NUL; where it was cut, an ellipsis before that.
    fn as_c_bytes(&mut self) -> &[u8] {
        if self.length == CAPACITY {
            self.bytes[CAPACITY - 1 - ELLIPSIS.len()..CAPACITY - 1].copy_from_slice(ELLIPSIS);
            self.length -= 1;
        }
        self.bytes[self.length] = 0;
        &self.bytes[..=self.length]
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = &mut self.bytes[self.length..];
        for (to, &from) in free.iter_mut().zip(text.as_bytes()) {
            *to = from;
        }
        self.length += free.len().min(text.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that is handed on after these were written.
    fn written(texts: &[&str]) -> String {
        let mut message = Message::new();
        for text in texts {
            message.write_str(text).unwrap();
        }
        let bytes = message.as_c_bytes();
        core::ffi::CStr::from_bytes_with_nul(bytes)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn texts_are_joined() {
        std::assert_eq!(written(&[]), "");
        std::assert_eq!(written(&["index ", "", "out of bounds"]), "index out of bounds");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let longest = "x".repeat(CAPACITY - 1);
        std::assert_eq!(written(&[&longest]), longest);
        let cut = "x".repeat(CAPACITY - 4) + "...";
        std::assert_eq!(written(&[&longest, "y"]), cut);
        std::assert_eq!(written(&[&longest, &longest, "z"]), cut);
    }
}
