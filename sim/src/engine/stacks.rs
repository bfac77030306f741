//! Stacks for fibers. The blocks of a worker share them.
//!
//! Thread `t` of every block that a worker runs uses the same stack, so that a worker needs as many stacks as its
//! largest cluster has threads, however many blocks wait for others. A block that waits keeps the used part of its
//! threads' stacks elsewhere ([`SharedStack::save`]) and takes it back, to the same addresses, before it runs again.
//! A stack is two mappings of the system, which allows a process about 65,000 of them; the used part is one or two KiB.

use std::cell::RefCell;
use std::rc::Rc;

use corosensei::stack::{DefaultStack, Stack, StackPointer};

use super::fiber::STACK_BYTES;

/// Whether several fibers can take turns on one stack. On Windows the system manages stacks itself; AddressSanitizer
/// knows what of a stack is no variable, which a fiber would find there from another (`cargo xtask sanitize`).
const SHARED: bool = cfg!(not(any(windows, cuda_sim_own_stacks)));

/// The stacks of a worker, by number.
#[derive(Default)]
pub(super) struct Stacks(RefCell<Vec<Option<SharedStack>>>);

impl Stacks {
    /// The stack of a number.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub(super) fn get(&self, slot: usize) -> std::io::Result<SharedStack> {
        let mut stacks = self.0.borrow_mut();
        if stacks.len() <= slot {
            stacks.resize_with(slot + 1, || None);
        }
        let is_usable = |known: &&SharedStack| SHARED || Rc::strong_count(&known.stack) == 1;
        if let Some(known) = stacks[slot].as_ref().filter(is_usable) {
            return Ok(known.share());
        }
        let stack = DefaultStack::new(STACK_BYTES)?;
        let new = SharedStack {
            base: stack.base(),
            limit: stack.limit(),
            stack: Rc::new(RefCell::new(stack)),
        };
        stacks[slot] = Some(new.share());
        Ok(new)
    }

    /// Whether a fiber must be parked before another one of the same number runs.
    pub(super) fn are_shared(&self) -> bool {
        SHARED
    }
}

/// A stack on which fibers take turns.
pub(super) struct SharedStack {
    base: StackPointer,
    limit: StackPointer,
    stack: Rc<RefCell<DefaultStack>>,
}

impl SharedStack {
    /// The same stack again.
    pub(super) fn share(&self) -> Self {
        Self {
            stack: Rc::clone(&self.stack),
            ..*self
        }
    }

    /// Copies the bytes from address `start` to the base into `to`.
    ///
    /// # Safety
    /// No fiber runs on the stack, and the bytes from `start` on are initialized.
    pub(super) unsafe fn save(&self, start: usize, to: &mut Vec<u8>) {
        to.clear();
        if !SHARED {
            return;
        }
        let (base, lowest) = (self.base().get(), self.limit().get() + guard_bytes());
        let start = start.clamp(lowest, base);
        let from = std::ptr::with_exposed_provenance::<u8>(start);
        // SAFETY: the accessible part of the stack.
        to.extend_from_slice(unsafe { std::slice::from_raw_parts(from, base - start) });
    }

    /// Copies bytes back that [`Self::save`] has taken.
    ///
    /// # Safety
    /// No fiber that is not parked uses the stack.
    pub(super) unsafe fn load(&self, from: &[u8]) {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(self.base().get() - from.len());
        // SAFETY: the accessible part of the stack, since `save` found as many bytes there.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }

    /// The lowest byte of a new stack that is not 0.
    pub(super) fn lowest_written(&self) -> usize {
        let (base, lowest) = (self.base().get(), self.limit().get() + guard_bytes());
        let written = |&address: &usize| {
            // SAFETY: the accessible part of the stack, on which no fiber runs.
            unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() != 0 }
        };
        (lowest..base).find(written).unwrap_or(base)
    }
}

/// Bytes at a stack's limit that are not accessible.
fn guard_bytes() -> usize {
    #[cfg(unix)]
    // SAFETY: a query.
    return unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    #[cfg(not(unix))]
    4096
}

// SAFETY: the stack within has a guard page and the size. That several fibers share it does not matter to the one that
// runs: the others are parked.
unsafe impl Stack for SharedStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.stack.borrow().teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.stack
            .borrow_mut()
            .update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}
