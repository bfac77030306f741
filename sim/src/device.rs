//! What `cuda_std` calls on the host, name by name: the functions that exist only on a GPU, for the simulated thread
//! that runs.
//!
//! Except where a function says otherwise it panics outside a launch.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, compiler_fence};

use crate::analysis::Op;
use crate::attributes::KernelAttributes;
use crate::engine;
use crate::fault::FaultKind;

#[cfg(not(miri))]
#[doc(hidden)]
pub use linkme;

/// What a barrier tells the threads of the block about their predicates (PTX ISA, "barrier{.cta}").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierOp {
    /// In how many threads it holds.
    Count,
    /// Whether it holds in all: 1 or 0.
    And,
    /// Whether it holds in any: 1 or 0.
    Or,
}

/// The values that lanes of a warp have exchanged.
#[derive(Clone, Copy, Debug)]
pub struct WarpValues {
    /// The lane that asks.
    pub lane: u32,
    /// The lanes that take part: those of the mask that have not exited.
    pub mask: u32,
    /// By lane what it brought; only of lanes that take part.
    pub values: [u64; 32],
}

/// What a lane brings to an instruction of the whole warp.
pub type LaneWords = [u64; 3];

/// The threads among which an atomic operation or a fence counts (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the block.
    Block,
    /// Those of the GPU.
    Device,
    /// Those of host and GPUs.
    System,
}

/// A memory, as `isspacep` tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The block's shared memory.
    Shared,
    /// A buffer of the simulator.
    Global,
    /// The running thread's stack.
    Local,
}

/// Whether a simulated thread runs on this thread of the operating system. Never panics.
#[inline]
pub fn is_simulating() -> bool {
    engine::is_simulating()
}

/// The thread's index in its block, x, y, z.
#[inline]
#[track_caller]
pub fn thread_idx() -> [u32; 3] {
    engine::current("thread_idx").thread_idx()
}

/// The block's index in the grid, x, y, z.
#[inline]
#[track_caller]
pub fn block_idx() -> [u32; 3] {
    engine::current("block_idx").block_idx()
}

/// The threads of a block along x, y, z.
#[inline]
#[track_caller]
pub fn block_dim() -> [u32; 3] {
    engine::current("block_dim").block_dim().to_array()
}

/// The blocks of the grid along x, y, z.
#[inline]
#[track_caller]
pub fn grid_dim() -> [u32; 3] {
    engine::current("grid_dim").grid_dim().to_array()
}

/// The thread's lane in its warp, 0 to 31.
#[inline]
#[track_caller]
pub fn lane_id() -> u32 {
    engine::current("lane_id").lane()
}

/// The compute capability of the launch's architecture times a hundred, as in `CUDA_ARCH`: 900 for 9.0.
#[track_caller]
pub fn compute_capability() -> u32 {
    engine::current("compute_capability").compute_capability()
}

/// Waits for all threads of the block.
#[track_caller]
pub fn sync_threads() {
    engine::current("sync_threads").barrier(None, Location::caller());
}

/// Waits for all threads of the block, and tells each about the predicates (not 0: it holds).
#[track_caller]
pub fn sync_threads_reduce(op: BarrierOp, predicate: u32) -> u32 {
    engine::current("sync_threads").barrier(Some((op, predicate)), Location::caller())
}

/// Waits for the lanes of `mask`, and orders their memory accesses.
#[track_caller]
pub fn sync_warp(mask: u32) {
    engine::current("sync_warp").sync_warp(mask, Location::caller());
}

/// Makes a group of the asynchronous copies that the thread has started since it last did
/// ([`access::async_copy`](crate::access::async_copy)).
#[track_caller]
pub fn async_commit() {
    engine::current("async_commit").async_commit();
}

/// Finishes the thread's asynchronous copies, but for those of its latest `pending` groups and those in no group.
#[track_caller]
pub fn async_wait(pending: u32) {
    engine::current("async_wait").async_wait(pending);
}

/// The lanes of the warp that have not exited. (On a GPU: those that execute this instruction together, which may be
/// fewer.)
#[track_caller]
pub fn active_mask() -> u32 {
    engine::current("active_mask").active_mask()
}

/// Meets the lanes of `mask`, each of which brings a value, and lets `read` see them. The one primitive under shuffles,
/// votes, matches and reductions. It orders no memory.
#[track_caller]
pub fn warp_exchange<R>(mask: u32, value: u64, read: impl FnOnce(&WarpValues) -> R) -> R {
    let values = engine::current("a warp function").exchange(mask, value, Location::caller());
    read(&values)
}

/// Meets all 32 lanes of the warp at one place of the source, as an instruction that is `.sync.aligned` does, and lets
/// `read` see what each of them brought, by lane. It orders no memory.
#[track_caller]
pub fn warp_gather<R>(words: LaneWords, read: impl FnOnce(&[LaneWords; 32]) -> R) -> R {
    let gathered = engine::current("a matrix instruction").gather(words, Location::caller());
    read(&gathered)
}

/// Arrives at named barrier `id`, 1 to 15, of `threads` threads, and waits for the others: `bar.sync`.
#[track_caller]
pub fn named_barrier_sync(id: u32, threads: u32) {
    engine::current("a named barrier").named_barrier(id, threads, true, Location::caller());
}

/// Arrives at named barrier `id`, 1 to 15, of `threads` threads, and goes on: `bar.arrive`.
#[track_caller]
pub fn named_barrier_arrive(id: u32, threads: u32) {
    engine::current("a named barrier").named_barrier(id, threads, false, Location::caller());
}

/// Orders the thread's memory accesses as others in `scope` see them. Outside a launch it is a fence of the host.
#[track_caller]
pub fn fence(order: Ordering, scope: Scope) {
    match engine::try_current() {
        Some(slot) => {
            compiler_fence(order);
            slot.fence(order, scope);
        }
        None => std::sync::atomic::fence(order),
    }
}

/// A word that atomics work on: `u32` or `u64`.
pub trait AtomicWord: Copy + Eq + sealed::Sealed {
    /// The word, widened.
    #[doc(hidden)]
    fn bits(self) -> u64;
    /// The word at an address as the host's atomic: load.
    ///
    /// # Safety
    /// `ptr` is valid for an atomic access.
    #[doc(hidden)]
    unsafe fn load(ptr: *const Self, order: Ordering) -> Self;
    /// As above: store.
    ///
    /// # Safety
    /// `ptr` is valid for an atomic access.
    #[doc(hidden)]
    unsafe fn store(ptr: *mut Self, value: Self, order: Ordering);
    /// As above: read-modify-write; the old value.
    ///
    /// # Safety
    /// `ptr` is valid for an atomic access.
    #[doc(hidden)]
    unsafe fn update(ptr: *mut Self, order: Ordering, f: impl Fn(Self) -> Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

macro_rules! atomic_word {
    ($word:ty, $atomic:ty) => {
        impl AtomicWord for $word {
            fn bits(self) -> u64 {
                self.into()
            }

            unsafe fn load(ptr: *const Self, order: Ordering) -> Self {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(ptr.cast_mut()) }.load(order)
            }

            unsafe fn store(ptr: *mut Self, value: Self, order: Ordering) {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(ptr) }.store(value, order);
            }

            unsafe fn update(ptr: *mut Self, order: Ordering, f: impl Fn(Self) -> Self) -> Self {
                // A compare-and-swap that fails writes nothing, so it cannot release.
                let on_failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    other => other,
                };
                // SAFETY: the caller's promise.
                let word = unsafe { <$atomic>::from_ptr(ptr) };
                word.update(order, on_failure, f)
            }
        }
    };
}

atomic_word!(u32, AtomicU32);
atomic_word!(u64, AtomicU64);

/// An atomic load. Outside a launch it is the host's.
///
/// # Safety
/// `ptr` is valid for an atomic access of its type.
#[track_caller]
pub unsafe fn atomic_load<W: AtomicWord>(ptr: *const W, order: Ordering, scope: Scope) -> W {
    // SAFETY: the caller's promise.
    let load = || unsafe { W::load(ptr, order) };
    match engine::try_current() {
        Some(slot) => slot.atomic(
            Op::AtomicLoad,
            ptr.addr(),
            size_of::<W>(),
            (order, scope),
            Location::caller(),
            || {
                let value = load();
                (value, value.bits(), false)
            },
        ),
        None => load(),
    }
}

/// An atomic store. Outside a launch it is the host's.
///
/// # Safety
/// `ptr` is valid for an atomic access of its type.
#[track_caller]
pub unsafe fn atomic_store<W: AtomicWord>(ptr: *mut W, value: W, order: Ordering, scope: Scope) {
    // SAFETY: the caller's promise.
    let store = || unsafe { W::store(ptr, value, order) };
    match engine::try_current() {
        Some(slot) => slot.atomic(
            Op::AtomicStore,
            ptr.addr(),
            size_of::<W>(),
            (order, scope),
            Location::caller(),
            || {
                store();
                ((), 0, true)
            },
        ),
        None => store(),
    }
}

/// An atomic read-modify-write; returns the old value. Outside a launch it is the host's.
///
/// # Safety
/// `ptr` is valid for an atomic access of its type.
#[track_caller]
pub unsafe fn atomic_update<W: AtomicWord>(ptr: *mut W, order: Ordering, scope: Scope, f: impl Fn(W) -> W) -> W {
    // SAFETY: the caller's promise.
    let update = || unsafe { W::update(ptr, order, &f) };
    match engine::try_current() {
        Some(slot) => slot.atomic(
            Op::AtomicUpdate,
            ptr.addr(),
            size_of::<W>(),
            (order, scope),
            Location::caller(),
            || {
                let old = update();
                (old, old.bits(), f(old) != old)
            },
        ),
        None => update(),
    }
}

/// A place in the source that reserves static shared memory: one `static` each.
pub struct SharedPlace {
    // Not all zeros, and not immutable: no two may end up at one address.
    _distinct: AtomicBool,
}

impl SharedPlace {
    /// A place.
    #[expect(
        clippy::new_without_default,
        reason = "a place is a static of its own, never a default of something"
    )]
    pub const fn new() -> Self {
        Self {
            _distinct: AtomicBool::new(true),
        }
    }
}

/// This block's `bytes` bytes of static shared memory for `place`, aligned to `align`.
#[track_caller]
pub fn shared_array(place: &'static SharedPlace, bytes: usize, align: usize) -> *mut u8 {
    let place = std::ptr::from_ref(place).addr();
    engine::current("shared_array!").shared_array(place, bytes, align, Location::caller())
}

/// The start of this block's dynamic shared memory.
#[track_caller]
pub fn dynamic_shared_mem() -> *mut u8 {
    engine::current("dynamic_shared_mem").dynamic_shared_mem()
}

/// Bytes of dynamic shared memory of a block.
#[track_caller]
pub fn dynamic_shared_bytes() -> u32 {
    engine::current("dynamic_smem_size").dynamic_shared_bytes()
}

/// Bytes of shared memory of a block, static and dynamic. Static arrays count from when the kernel first reaches one.
#[track_caller]
pub fn total_shared_bytes() -> u32 {
    // Limits keep the sum far below 2^32.
    engine::current("total_smem_size").total_shared_bytes() as u32
}

/// A `#[address_space(shared)] static` of the program.
///
/// There is one on the host where a GPU has one a block. A program that has any runs the blocks of its launches one at
/// a time.
pub struct SharedStatic {
    /// Its name.
    pub name: &'static str,
    /// Its address.
    pub address: fn() -> *mut u8,
    /// Its size in bytes.
    pub bytes: usize,
    /// Whether it is a `static mut`. Only such a one is made to look uninitialised at the start of every block: another
    /// may lie in memory that nobody can write.
    pub is_mut: bool,
    /// Where it stands.
    pub file: &'static str,
    /// Where it stands.
    pub line: u32,
}

/// Every shared static of the program.
#[cfg(not(miri))]
#[linkme::distributed_slice]
pub static SHARED_STATICS: [SharedStatic];

/// Every shared static of the program. Miri has no linker that could collect them.
pub(crate) fn shared_statics() -> &'static [SharedStatic] {
    #[cfg(not(miri))]
    return &SHARED_STATICS;
    #[cfg(miri)]
    &[]
}

/// Every kernel of the program whose `#[kernel(..)]` has options.
#[cfg(not(miri))]
#[linkme::distributed_slice]
pub static KERNELS: [KernelAttributes];

/// Every kernel of the program whose `#[kernel(..)]` has options, in no particular order. Miri has no linker that could
/// collect them.
pub fn kernels() -> &'static [KernelAttributes] {
    #[cfg(not(miri))]
    return &KERNELS;
    #[cfg(miri)]
    &[]
}

/// What a kernel whose `#[kernel(..)]` has options calls first. A launch outside of them ends here; outside a launch it
/// does nothing.
#[inline]
pub fn enter_kernel(attributes: &KernelAttributes) {
    if let Some(slot) = engine::try_current() {
        slot.enter_kernel(attributes);
    }
}

/// Prints. During a launch the text goes to the report, and to standard output at the launch's end. Outside a launch it
/// is `std`'s `print!`.
pub fn print(text: fmt::Arguments<'_>) {
    match engine::try_current() {
        Some(slot) => slot.print(text),
        None => std::print!("{text}"),
    }
}

/// Ends the launch as a trap does: a fault with this text.
#[track_caller]
pub fn trap(what: &'static str) -> ! {
    engine::current(what).trap(
        FaultKind::Panic {
            message: what.to_owned(),
        },
        Location::caller(),
    )
}

/// The memory that an address lies in, as far as the simulator knows it.
#[track_caller]
pub fn space_of(ptr: *const u8) -> Option<Space> {
    engine::current("is_in_address_space").space_of(ptr.addr())
}

/// A clock in nanoseconds.
#[track_caller]
pub fn clock() -> u64 {
    engine::current("clock").clock()
}

/// Lets other threads run.
#[track_caller]
pub fn nanosleep(nanos: u32) {
    let _ = nanos;
    engine::current("nanosleep").sleep(Location::caller());
}
