//! The call stacks in which threads reach a barrier.
//!
//! A barrier's source line does not identify it: a function with a barrier has as many barriers as calls. A call site
//! is the chain of return addresses from the barrier to the kernel. Unwinding takes microseconds, and a kernel passes
//! millions of barriers; but frames of one chain have one size, so a known chain is recognized by reading the few words
//! of the stack where its return addresses are.
//!
//! A compiler may duplicate a call (loop unswitching, unrolling), so two chains are different call sites only if debug
//! information says so. Without it, source lines alone count.

use std::cell::RefCell;

use crate::engine::debug_info;
use crate::fault::StackFrame;

/// The call stacks that threads of a context have reached barriers in.
#[derive(Default)]
pub(super) struct CallSites {
    chains: RefCell<Vec<Chain>>,
}

/// A chain of return addresses.
struct Chain {
    /// Bytes of the stack that its frames take.
    depth: usize,
    /// Each return address, with its distance from the top of the stack.
    returns: Vec<(usize, usize)>,
    /// Its frames of user code, innermost first, once they were asked for.
    frames: Option<Vec<StackFrame>>,
}

impl CallSites {
    /// The number of the call stack of the running thread, whose stack begins at the address `top`.
    #[inline(never)]
    pub(super) fn here(&self, top: usize) -> u32 {
        let marker = 0_u8;
        let bottom = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
        let depth = top.wrapping_sub(bottom);
        let is_here = |chain: &Chain| {
            // SAFETY: a chain of this depth has its return addresses between `bottom` and `top`, all of which is on the
            // stack of this thread of control; they are aligned.
            let word =
                |distance: usize| unsafe { std::ptr::with_exposed_provenance::<usize>(top - distance).read_volatile() };
            let mut returns = chain.returns.iter();
            chain.depth == depth && returns.all(|&(distance, address)| word(distance) == address)
        };
        let known = self.chains.borrow().iter().position(is_here);
        known.unwrap_or_else(|| self.unwind(top, bottom)) as u32
    }

    /// Adds the call stack between two addresses; returns its number.
    #[cold]
    fn unwind(&self, top: usize, bottom: usize) -> usize {
        let mut chains = self.chains.borrow_mut();
        chains.push(Chain {
            depth: top - bottom,
            returns: returns(top, bottom),
            frames: None,
        });
        chains.len() - 1
    }

    /// The frames of user code in a call stack, innermost first: none without debug information.
    pub(super) fn frames(&self, site: u32) -> Vec<StackFrame> {
        let mut chains = self.chains.borrow_mut();
        let Some(chain) = chains.get_mut(site as usize) else {
            return Vec::new();
        };
        let addresses = chain.returns.iter().map(|&(_, address)| address);
        chain
            .frames
            .get_or_insert_with(|| debug_info::frames_of(addresses))
            .clone()
    }

    /// Whether two call stacks are certainly different: one function calls in two places. Inlining and tail calls may
    /// leave frames out of one of two copies of a call.
    pub(super) fn differ(&self, a: u32, b: u32) -> bool {
        if a == b {
            return false;
        }
        let (a, b) = (self.frames(a), self.frames(b));
        let mut pairs = a.iter().rev().zip(b.iter().rev());
        // Merged calls have line 0.
        let first = pairs.find(|(a, b)| a != b && a.location.line != 0 && b.location.line != 0);
        first.is_some_and(|(a, b)| a.function == b.function)
    }
}

/// The return addresses on the stack between two addresses, each with its distance from `top`; innermost first.
#[cfg(all(unix, not(miri)))]
fn returns(top: usize, bottom: usize) -> Vec<(usize, usize)> {
    const WORD: usize = size_of::<usize>();
    let mut found = Vec::new();
    let mut below = bottom.next_multiple_of(WORD);
    let visit = |frame: &backtrace::Frame| {
        let (stack, address) = (frame.sp().addr(), frame.ip().addr());
        if stack > top {
            return false;
        }
        if stack <= below {
            return true;
        }
        let place = (below..stack).step_by(WORD).rev().find(|&place| {
            // SAFETY: a word of the stack of this thread of control, between two of its frames.
            let word = unsafe { std::ptr::with_exposed_provenance::<usize>(place).read_volatile() };
            word == address
        });
        found.extend(place.map(|place| (top - place, address)));
        below = stack;
        true
    };
    // SAFETY: unwinders of Unix need no lock, which a thread that a signal ends would keep.
    unsafe { backtrace::trace_unsynchronized(visit) };
    found
}

/// Miri shows no stack, and other systems' unwinders need a lock: every call stack is the same.
#[cfg(not(all(unix, not(miri))))]
fn returns(_: usize, _: usize) -> Vec<(usize, usize)> {
    Vec::new()
}
