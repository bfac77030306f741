//! What a command needs of the machine before it begins.

use std::thread;

use rayon::ThreadPoolBuilder;

use crate::failure::{Failure, Result};

/// The least address space that commands which compute can do with: program, stacks of threads, and operands.
#[cfg(target_os = "linux")]
const LEAST_ADDRESS_SPACE: u64 = 384 << 20;

/// The least stack of the first thread, on which commands are read and run.
#[cfg(target_os = "linux")]
const LEAST_STACK: u64 = 512 << 10;

/// Refuses a stack on which the program cannot even read its arguments: an overflow ends it without a word.
///
/// # Errors
/// With both sizes.
pub fn ensure_stack() -> Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(bytes) = rustix::process::getrlimit(rustix::process::Resource::Stack).current
        && bytes < LEAST_STACK
    {
        return Err(Failure::environment(format!(
            "not enough resources: the stack is limited to {bytes} B (ulimit -s), {LEAST_STACK} B are needed"
        )));
    }
    Ok(())
}

/// Starts the threads that compute, as many as the machine lets.
///
/// Without them rayon would end the program in the middle of the work. A command that must settle its environment first
/// calls this afterwards.
///
/// # Errors
/// Where the address space is too small: what cannot be allocated later ends the program without a word.
pub fn settle() -> Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(bytes) = rustix::process::getrlimit(rustix::process::Resource::As).current
        && bytes < LEAST_ADDRESS_SPACE
    {
        return Err(Failure::environment(format!(
            "not enough resources: the address space is limited to {bytes} B (ulimit -v), {LEAST_ADDRESS_SPACE} B are \
             needed"
        )));
    }
    // Tried with threads of their own: the global ones can be started once, and not again if that fails.
    let can_start = |threads: usize| ThreadPoolBuilder::new().num_threads(threads).build().is_ok();
    let all = rayon_threads();
    let threads = std::iter::successors(Some(all), |threads| Some(threads / 2))
        .take_while(|&threads| threads > 1)
        .find(|&threads| can_start(threads));
    let builder = match threads {
        Some(threads) => ThreadPoolBuilder::new().num_threads(threads),
        None if can_start(1) => ThreadPoolBuilder::new().num_threads(1),
        None => ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
    };
    // Where that fails after all, rayon says so when it is used.
    let _ = builder.build_global();
    Ok(())
}

/// The threads that rayon would start by itself.
fn rayon_threads() -> usize {
    let wanted = std::env::var("RAYON_NUM_THREADS")
        .ok()
        .and_then(|threads| threads.parse().ok());
    match wanted {
        Some(threads) if threads > 0 => threads,
        _ => thread::available_parallelism().map_or(1, usize::from),
    }
}
