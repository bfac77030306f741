//! Source lines of instructions, from the program's debug information if it has any.

use std::path::Path;

use parking_lot::Mutex;

use crate::fault::{SourceLocation, StackFrame};

/// The name of a file for the life of the program. There are as many as the program has source files.
pub(super) fn intern_file(file: &str) -> &'static str {
    static FILES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut files = FILES.lock();
    match files.iter().find(|known| **known == file) {
        Some(known) => known,
        None => {
            let new: &'static str = Box::leak(file.to_owned().into_boxed_str());
            files.push(new);
            new
        }
    }
}

/// Whether a file is one of the standard library's.
fn is_standard(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "library")
}

/// Whether a file is part of no kernel: one of the simulator's, of its interfaces', or of the coroutines'. Line tables
/// do not name the crate of an inlined function.
fn is_of_the_simulator(file: &Path) -> bool {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = ours.parent().unwrap_or(ours);
    let is_coroutines = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("corosensei-");
    file.starts_with(ours.join("src"))
        || ["compat/cuda_std/src", "views/src"]
            .iter()
            .any(|krate| file.starts_with(beside.join(krate)))
        || file.components().any(|part| is_coroutines(part.as_os_str()))
}

/// Runs `look_up` on a stack of its own. Reading debug information takes more than a fiber has, above all where it is
/// not optimized, and a fiber that a signal ends half-way would leave the reader's cache in pieces.
fn on_own_stack<T: Send + 'static>(look_up: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    // Not a scoped thread: a fiber that is ended while it waits must leave nothing borrowed.
    std::thread::Builder::new().spawn(look_up).ok()?.join().ok()
}

/// The source line of an instruction: the innermost one outside the standard library. `None` also where no thread can
/// be started to look for it.
pub(super) fn line_of(instruction: usize) -> Option<SourceLocation> {
    on_own_stack(move || find_line(instruction))?
}

fn find_line(instruction: usize) -> Option<SourceLocation> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut found = None;
    // `resolve` takes return addresses, which follow the instruction in question.
    backtrace::resolve(std::ptr::without_provenance_mut(instruction + 1), |symbol| {
        let Some((file, line)) = symbol.filename().zip(symbol.lineno()) else {
            return;
        };
        if found.is_none() && !is_standard(file) {
            found = Some(SourceLocation {
                file: intern_file(&file.strip_prefix(&here).unwrap_or(file).to_string_lossy()),
                line,
                column: symbol.colno().unwrap_or(1),
            });
        }
    });
    found
}

/// The frames of user code among those that these addresses return to, in the same order, with inlined ones. Files have
/// the paths that debug information has for them. None where no thread can be started to look for them.
pub(super) fn frames_of(returns: impl Iterator<Item = usize>) -> Vec<StackFrame> {
    let returns: Vec<usize> = returns.collect();
    on_own_stack(|| find_frames(returns)).unwrap_or_default()
}

fn find_frames(returns: Vec<usize>) -> Vec<StackFrame> {
    let mut frames = Vec::new();
    for address in returns {
        backtrace::resolve(std::ptr::without_provenance_mut(address), |symbol| {
            let Some(((file, line), name)) = symbol.filename().zip(symbol.lineno()).zip(symbol.name()) else {
                return;
            };
            if is_standard(file) || is_of_the_simulator(file) {
                return;
            }
            frames.push(StackFrame {
                function: format!("{name:#}"),
                location: SourceLocation {
                    file: intern_file(&file.to_string_lossy()),
                    line,
                    column: symbol.colno().unwrap_or(1),
                },
            });
        });
    }
    frames
}
