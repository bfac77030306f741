//! What the standard library would bring on other targets: an allocator, and what happens on a panic.

use core::fmt::{self, Write};
use core::panic::PanicInfo;

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Of the page's script: shows why the module stopped.
    fn plan_panicked(message: *const u8, len: usize);
}

/// A message without allocation, cut where it is too long: memory may be what ran out.
struct Message {
    bytes: [u8; 512],
    len: usize,
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let taken = text.len().min(room.len());
        room[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.len += taken;
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut message = Message {
        bytes: [0; 512],
        len: 0,
    };
    // It cannot fail, and if it did, the part that was written would have to do.
    let _ = write!(message, "{info}");
    // SAFETY: the script reads `len` bytes of a live array and keeps nothing.
    unsafe { plan_panicked(message.bytes.as_ptr(), message.len) };
    core::arch::wasm32::unreachable()
}
