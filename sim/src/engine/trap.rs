//! Signals that end a simulated thread: stack overflow, access to unmapped memory, or a kill by the watchdog.
//!
//! If the signal came from a fiber's stack, the handler makes the fiber return to the scheduler with the cause. Else it
//! calls the handler that was installed before. The fiber's stack is abandoned without unwinding, so a kernel that
//! allocates may leak.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, cuda_sim_os_threads))
))]
pub(super) use linux::{Target, install, kill, target};
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, cuda_sim_os_threads))
)))]
pub(super) use none::{Target, install, kill, target};

/// On other systems a stack overflow or a wild pointer ends the process, by a guard page, and an endless loop without a
/// call into the simulator continues.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, cuda_sim_os_threads))
)))]
mod none {
    /// A thread of the operating system that could be killed.
    #[derive(Clone, Copy)]
    pub(in crate::engine) struct Target;

    pub(in crate::engine) fn install() {}

    pub(in crate::engine) fn target() -> Target {
        Target
    }

    pub(in crate::engine) fn kill(_: Target) {}
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, cuda_sim_os_threads))
))]
mod linux {
    use std::ffi::{c_int, c_void};
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::{Once, OnceLock};

    use corosensei::trap::TrapHandlerRegs;

    use crate::engine::fiber::{Exit, Trap, running_handler};

    /// A thread of the operating system that can be killed.
    #[derive(Clone, Copy)]
    pub(in crate::engine) struct Target(libc::pthread_t);

    /// The calling thread.
    pub(in crate::engine) fn target() -> Target {
        // SAFETY: a query.
        Target(unsafe { libc::pthread_self() })
    }

    /// The watchdog's signal, which is unused by default.
    fn kill_signal() -> c_int {
        libc::SIGRTMAX() - 3
    }

    /// Ends the simulated thread that runs on `target`, if one does. `target` is a thread that has not ended.
    pub(in crate::engine) fn kill(target: Target) {
        // SAFETY: the caller promises that the thread lives; the handler is installed. A thread that is about to end
        // ignores the signal.
        unsafe { libc::pthread_kill(target.0, kill_signal()) };
    }

    /// The previous signal handlers.
    struct Previous {
        segv: libc::sigaction,
        bus: libc::sigaction,
    }

    static PREVIOUS: OnceLock<Previous> = OnceLock::new();

    /// Puts the handler in place, once.
    pub(in crate::engine) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let previous = |signal| {
                let mut old = MaybeUninit::uninit();
                // SAFETY: a query; it fills `old`.
                unsafe {
                    libc::sigaction(signal, ptr::null(), old.as_mut_ptr());
                    old.assume_init()
                }
            };
            PREVIOUS.get_or_init(|| Previous {
                segv: previous(libc::SIGSEGV),
                bus: previous(libc::SIGBUS),
            });
            for signal in [libc::SIGSEGV, libc::SIGBUS, kill_signal()] {
                // SAFETY: the handler has the form that SA_SIGINFO asks for; it runs on the alternate stack that `std`
                // gives each of its threads.
                unsafe {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
                    action.sa_sigaction = handler as usize;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                    libc::sigemptyset(&raw mut action.sa_mask);
                    libc::sigaction(signal, &raw const action, ptr::null_mut());
                }
            }
        });
    }

    extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the kernel passes the interrupted thread's context and, for these signals, the address.
        let ((instruction, stack_pointer), address) = unsafe { (pointers(&*context), (*info).si_addr().addr()) };
        if let Some(handler) = running_handler(stack_pointer) {
            let trap = if signal == kill_signal() {
                Trap::TimeLimit
            } else if handler.stack_ptr_in_bounds(address) {
                // The rest of the stack is accessible: this is its guard page.
                Trap::StackOverflow
            } else {
                Trap::BadAddress(address)
            };
            // SAFETY: the stack pointer is in the fiber, and the registers are set below. That the fiber writes to
            // kernels write memory outside of their own stack; the scheduler reads it only through volatile, atomic or
            // later accesses of its own.
            let registers = unsafe { handler.setup_trap_handler(move || Exit::Trapped { trap, instruction }) };
            // SAFETY: the context of the interrupted thread, to which the kernel returns from here.
            unsafe { set_registers(&mut *context, registers) };
            return;
        }
        if signal == kill_signal() {
            return;
        }
        let Some(previous) = PREVIOUS.get() else { return };
        let previous = if signal == libc::SIGBUS {
            &previous.bus
        } else {
            &previous.segv
        };
        match previous.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // The instruction runs again, faults again, and the default ends the process.
                // SAFETY: the disposition that was there before.
                unsafe { libc::sigaction(signal, previous, ptr::null_mut()) };
            }
            action if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                // SAFETY: with SA_SIGINFO the handler has this form.
                let action: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    unsafe { std::mem::transmute(action) };
                action(signal, info, context.cast());
            }
            action => {
                // SAFETY: without SA_SIGINFO the handler has this form.
                let action: extern "C" fn(c_int) = unsafe { std::mem::transmute(action) };
                action(signal);
            }
        }
    }

    /// Instruction pointer and stack pointer.
    #[cfg(target_arch = "x86_64")]
    fn pointers(context: &libc::ucontext_t) -> (usize, usize) {
        let register = |number| context.uc_mcontext.gregs[number as usize] as usize;
        (register(libc::REG_RIP), register(libc::REG_RSP))
    }

    #[cfg(target_arch = "x86_64")]
    fn set_registers(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs {
            rip,
            rsp,
            rbp,
            rdi,
            rsi,
        } = registers;
        let values = [
            (libc::REG_RIP, rip),
            (libc::REG_RSP, rsp),
            (libc::REG_RBP, rbp),
            (libc::REG_RDI, rdi),
            (libc::REG_RSI, rsi),
        ];
        for (register, value) in values {
            context.uc_mcontext.gregs[register as usize] = value as i64;
        }
    }

    /// Instruction pointer and stack pointer.
    #[cfg(target_arch = "aarch64")]
    fn pointers(context: &libc::ucontext_t) -> (usize, usize) {
        (context.uc_mcontext.pc as usize, context.uc_mcontext.sp as usize)
    }

    #[cfg(target_arch = "aarch64")]
    fn set_registers(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs {
            pc,
            sp,
            x0,
            x1,
            x29,
            lr,
        } = registers;
        let machine = &mut context.uc_mcontext;
        machine.pc = pc;
        machine.sp = sp;
        machine.regs[0] = x0;
        machine.regs[1] = x1;
        machine.regs[29] = x29;
        machine.regs[30] = lr;
    }
}
