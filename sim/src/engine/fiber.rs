//! The control flow of one simulated thread: it runs until it suspends itself, and is resumed there later.
//!
//! The one seam over which the engine touches coroutines. `Fiber::resume` and [`suspend`] switch; everything else is
//! ordinary code, so that Miri and ThreadSanitizer can run it with operating-system threads in their place
//! (`cfg(miri)`, `--cfg cuda_sim_os_threads`).

#[cfg(all(unix, not(any(miri, cuda_sim_os_threads))))]
pub(super) use coroutine::running_handler;
#[cfg(not(any(miri, cuda_sim_os_threads)))]
pub(super) use coroutine::{Fiber, Stacks, suspend};
#[cfg(any(miri, cuda_sim_os_threads))]
pub(super) use os_thread::{Fiber, Stacks, suspend};

/// How a fiber returned control for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Its function returned.
    Returned,
    /// A signal ended it.
    #[cfg_attr(not(unix), expect(dead_code, reason = "signals are caught on Unix"))]
    Trapped {
        /// Why.
        trap: Trap,
        /// The address of the instruction that ran.
        instruction: usize,
    },
}

/// The cause of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "signals are caught on Unix"))]
pub(super) enum Trap {
    /// The guard page below the stack was touched.
    StackOverflow,
    /// Unmapped memory was accessed, at this address.
    BadAddress(usize),
    /// The watchdog killed it.
    TimeLimit,
}

/// Whether a fiber's unwinding started in the fiber itself, and not because the fiber was dropped.
pub(super) fn is_panic(payload: &(dyn std::any::Any + Send)) -> bool {
    #[cfg(any(miri, cuda_sim_os_threads))]
    return !payload.is::<os_thread::Cancelled>();
    // corosensei's own payload is private; a fiber that is being dropped is not the one that runs.
    #[cfg(not(any(miri, cuda_sim_os_threads)))]
    {
        let _ = payload;
        !coroutine::is_unwinding()
    }
}

/// Whether an address is on the stack of the fiber that runs.
pub(super) fn is_on_stack(address: usize) -> bool {
    #[cfg(any(miri, cuda_sim_os_threads))]
    {
        let _ = address;
        false
    }
    #[cfg(not(any(miri, cuda_sim_os_threads)))]
    coroutine::running_handler(address).is_some()
}

/// Stack of a simulated thread, in bytes: kernels that are compiled without optimization take more than 48 KiB. What a
/// thread never touches takes no memory.
pub(super) const STACK_BYTES: usize = 96 << 10;

#[cfg(not(any(miri, cuda_sim_os_threads)))]
mod coroutine {
    use std::cell::Cell;
    use std::ptr;

    use std::sync::OnceLock;

    use corosensei::trap::CoroutineTrapHandler;
    use corosensei::{Coroutine, CoroutineResult, Yielder};

    use super::super::stacks::SharedStack;
    pub(in crate::engine) use super::super::stacks::Stacks;
    use super::Exit;

    type Inner = Coroutine<(), (), Exit, SharedStack>;

    /// See the module.
    pub(in crate::engine) struct Fiber {
        inner: Inner,
        stack: SharedStack,
        /// The fiber's yielder, while it is suspended or runs.
        yielder: Cell<*const Yielder<(), ()>>,
        /// An address below everything on the stack of the suspended fiber.
        bottom: usize,
        /// The contents of the stack from `bottom` on, while another fiber uses it.
        saved: Vec<u8>,
    }

    thread_local! {
        /// The yielder of the fiber that runs on this thread of the operating system.
        static RUNNING: Cell<*const Yielder<(), ()>> = const { Cell::new(ptr::null()) };
        /// Whether a fiber is being unwound because it is dropped.
        static UNWINDING: Cell<bool> = const { Cell::new(false) };
        /// The address of a variable of the last call of [`suspend`].
        static SUSPENDED_AT: Cell<usize> = const { Cell::new(0) };
        /// For the signal handler: how to end the fiber that runs.
        static HANDLER: Cell<Option<CoroutineTrapHandler<Exit>>> = const { Cell::new(None) };
    }

    impl Fiber {
        /// A fiber that will run `body` on the stack of number `slot`.
        ///
        /// # Safety
        /// Everything that `body` borrows lives until the fiber has returned or is dropped, and the fiber stays on this
        /// thread. No other fiber uses the stack, except ones that are [parked](Self::park).
        pub(in crate::engine) unsafe fn new<'body>(
            stacks: &Stacks,
            slot: usize,
            body: impl FnOnce() + 'body,
        ) -> std::io::Result<Self> {
            let stack = stacks.get(slot)?;
            let shared = stack.share();
            // SAFETY: the caller keeps alive everything that the closure borrows.
            let inner = unsafe {
                Inner::with_stack_unchecked(stack, move |yielder: &Yielder<(), ()>, ()| {
                    RUNNING.set(yielder);
                    body();
                    Exit::Returned
                })
            };
            Ok(Self {
                inner,
                stack: shared,
                yielder: Cell::new(ptr::null()),
                bottom: usize::MAX,
                saved: Vec::new(),
            })
        }

        /// Leaves the stack to other fibers; returns how many bytes that takes.
        ///
        /// # Safety
        /// The fiber is not resumed or recycled before [`Self::unpark`].
        pub(in crate::engine) unsafe fn park(&mut self) -> usize {
            let start = self.bottom.saturating_sub(suspension_bytes());
            // SAFETY: the fiber is suspended; the bytes are on its stack, or its guard page is excluded.
            unsafe { self.stack.save(start, &mut self.saved) };
            self.saved.len()
        }

        /// Takes the stack back, where no fiber runs.
        ///
        /// # Safety
        /// The fiber was parked, and all other fibers of the stack have ended or are parked.
        pub(in crate::engine) unsafe fn unpark(&mut self) {
            // SAFETY: these bytes come from there.
            unsafe { self.stack.load(&self.saved) };
            self.saved.clear();
        }

        /// Lets the fiber run until it suspends itself (`None`) or ends.
        ///
        /// Inlined: a processor predicts no return from a function that has switched stacks.
        #[inline(always)]
        pub(in crate::engine) fn resume(&mut self) -> Option<Exit> {
            RUNNING.set(self.yielder.get());
            HANDLER.set(Some(self.inner.trap_handler()));
            let result = self.inner.resume(());
            HANDLER.set(None);
            self.yielder.set(RUNNING.replace(ptr::null()));
            match result {
                CoroutineResult::Yield(()) => {
                    self.bottom = SUSPENDED_AT.get();
                    None
                }
                CoroutineResult::Return(exit) => Some(exit),
            }
        }

        /// Ends the fiber, unwinding its frames, and frees its stack.
        pub(in crate::engine) fn recycle(mut self) {
            if !self.inner.done() {
                RUNNING.set(self.yielder.get());
                UNWINDING.set(true);
                // A fault in a destructor ends the fiber by a signal.
                HANDLER.set(Some(self.inner.trap_handler()));
                self.inner.force_unwind();
                HANDLER.set(None);
                UNWINDING.set(false);
                RUNNING.set(ptr::null());
            }
        }
    }

    /// Returns control to the caller of [`Fiber::resume`].
    ///
    /// # Panics
    /// Outside a fiber.
    #[inline(never)]
    pub(in crate::engine) fn suspend() {
        let yielder = RUNNING.get();
        SUSPENDED_AT.set(ptr::from_ref(std::hint::black_box(&yielder)).addr());
        assert!(!yielder.is_null(), "suspended outside a simulated thread");
        // SAFETY: set when the running fiber started or was resumed; it lives on that fiber's stack, which is this one.
        unsafe { (*yielder).suspend(()) };
    }

    /// How far below the variable of [`suspend`] the stack of a suspended fiber reaches, in bytes: the frames of the
    /// switch, which is measured once.
    fn suspension_bytes() -> usize {
        static BYTES: OnceLock<usize> = OnceLock::new();
        *BYTES.get_or_init(|| {
            const ENOUGH: usize = 4096;
            let measure = || {
                let stacks = Stacks::default();
                // SAFETY: the body borrows nothing, and the stack is new.
                let mut fiber = unsafe { Fiber::new(&stacks, 0, suspend) }.ok()?;
                let outer = (RUNNING.get(), HANDLER.get());
                fiber.resume();
                let below = fiber.bottom - fiber.stack.lowest_written();
                fiber.recycle();
                RUNNING.set(outer.0);
                HANDLER.set(outer.1);
                // The red zone of x86-64, twice.
                Some(below + 256)
            };
            measure().unwrap_or(ENOUGH)
        })
    }

    /// Whether a fiber is being unwound because it is dropped.
    pub(super) fn is_unwinding() -> bool {
        UNWINDING.get()
    }

    /// How to end the fiber that runs on this thread: `Some` if `stack_pointer` is on its stack. A signal handler may
    /// call it.
    pub(in crate::engine) fn running_handler(stack_pointer: usize) -> Option<CoroutineTrapHandler<Exit>> {
        HANDLER
            .get()
            .filter(|handler| handler.stack_ptr_in_bounds(stack_pointer))
    }
}

#[cfg(any(miri, cuda_sim_os_threads))]
mod os_thread {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::{Arc, Condvar, Mutex};
    use std::thread::JoinHandle;

    use super::Exit;

    /// Nothing: each thread of the operating system has its own stack.
    #[derive(Default)]
    pub(in crate::engine) struct Stacks;

    impl Stacks {
        /// Nothing is shared.
        pub(in crate::engine) fn are_shared(&self) -> bool {
            false
        }
    }

    /// The side that runs.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Turn {
        Parent,
        Fiber,
        /// The fiber's, to unwind.
        Cancel,
        Ended,
    }

    /// The baton between a fiber and its scheduler.
    struct Baton {
        turn: Mutex<Turn>,
        changed: Condvar,
    }

    impl Baton {
        fn pass(&self, to: Turn) {
            *self.turn.lock().expect("no panic under this lock") = to;
            self.changed.notify_all();
        }

        fn wait(&self, until: impl Fn(Turn) -> bool) -> Turn {
            let turn = self.turn.lock().expect("no panic under this lock");
            *self
                .changed
                .wait_while(turn, |turn| !until(*turn))
                .expect("no panic under this lock")
        }
    }

    thread_local! {
        static OWN: RefCell<Option<Arc<Baton>>> = const { RefCell::new(None) };
    }

    /// The payload that unwinds a fiber that is dropped.
    pub(super) struct Cancelled;

    /// See the module.
    pub(in crate::engine) struct Fiber {
        baton: Arc<Baton>,
        thread: Option<JoinHandle<()>>,
    }

    impl Fiber {
        /// A fiber that will run `body`.
        ///
        /// # Safety
        /// Everything that `body` borrows lives until the fiber has returned or is recycled.
        pub(in crate::engine) unsafe fn new<'body>(
            _: &Stacks,
            _: usize,
            body: impl FnOnce() + 'body,
        ) -> std::io::Result<Self> {
            struct AssertSend<T>(T);
            // SAFETY: the baton lets one of the two threads run at a time.
            unsafe impl<T> Send for AssertSend<T> {}
            let boxed: Box<dyn FnOnce() + 'body> = Box::new(body);
            // SAFETY: the caller keeps alive everything that the closure borrows.
            let boxed =
                AssertSend(unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'body>, Box<dyn FnOnce()>>(boxed) });
            let baton = Arc::new(Baton {
                turn: Mutex::new(Turn::Parent),
                changed: Condvar::new(),
            });
            let own = Arc::clone(&baton);
            let thread = std::thread::Builder::new().spawn(move || {
                let boxed = boxed;
                let first = own.wait(|turn| turn != Turn::Parent);
                OWN.set(Some(Arc::clone(&own)));
                if first == Turn::Fiber {
                    let AssertSend(body) = boxed;
                    // The body records its own panics; any other payload is a cancellation.
                    let _ = catch_unwind(AssertUnwindSafe(body));
                }
                own.pass(Turn::Ended);
            })?;
            Ok(Self {
                baton,
                thread: Some(thread),
            })
        }

        /// Lets the fiber run until it suspends itself (`None`) or ends.
        pub(in crate::engine) fn resume(&mut self) -> Option<Exit> {
            self.baton.pass(Turn::Fiber);
            let turn = self.baton.wait(|turn| turn != Turn::Fiber);
            (turn == Turn::Ended).then_some(Exit::Returned)
        }

        /// Ends the fiber, unwinding its frames.
        pub(in crate::engine) fn recycle(mut self) {
            self.end();
        }

        /// Nothing: the stack is the fiber's own.
        ///
        /// # Safety
        /// None is needed.
        pub(in crate::engine) unsafe fn park(&mut self) -> usize {
            0
        }

        /// Nothing: the stack is the fiber's own.
        ///
        /// # Safety
        /// None is needed.
        pub(in crate::engine) unsafe fn unpark(&mut self) {}

        fn end(&mut self) {
            while self.baton.wait(|turn| turn == Turn::Parent || turn == Turn::Ended) != Turn::Ended {
                self.baton.pass(Turn::Cancel);
                self.baton.wait(|turn| turn != Turn::Cancel);
            }
            if let Some(thread) = self.thread.take() {
                // It has ended, and its panics were caught.
                let _ = thread.join();
            }
        }
    }

    impl Drop for Fiber {
        fn drop(&mut self) {
            if self.thread.is_some() {
                self.end();
            }
        }
    }

    /// Returns control to the caller of [`Fiber::resume`].
    ///
    /// # Panics
    /// Outside a fiber.
    pub(in crate::engine) fn suspend() {
        let own = OWN
            .with_borrow(Clone::clone)
            .expect("suspended outside a simulated thread");
        own.pass(Turn::Parent);
        if own.wait(|turn| turn != Turn::Parent) == Turn::Cancel {
            resume_unwind(Box::new(Cancelled));
        }
    }
}
