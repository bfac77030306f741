//! Interface for `cuda_std` on the host: the functions that exist only on a GPU, for the running simulated thread.
//!
//! A function panics outside a launch unless its documentation says otherwise.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, compiler_fence};

use crate::analysis::Op;
use crate::attributes::KernelAttributes;
use crate::engine;
use crate::fault::FaultKind;
use crate::synchronization::SyncKind;

#[cfg(not(miri))]
#[doc(hidden)]
#[cfg(not(miri))]
pub use crate::functions::FUNCTIONS;
pub use crate::functions::{KernelFunction, find_kernel, kernel_functions};
pub use linkme;

/// The reduction of a barrier over the threads' predicates (PTX ISA, "barrier{.cta}").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierOp {
    /// The number of threads whose predicate holds.
    Count,
    /// Whether all predicates hold: 1 or 0.
    And,
    /// Whether any predicate holds: 1 or 0.
    Or,
}

/// The values of an exchange between lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct WarpValues {
    /// The calling lane.
    pub lane: u32,
    /// The participating lanes: those of the mask that have not exited.
    pub mask: u32,
    /// The values by lane; valid for participating lanes only.
    pub values: [u64; 32],
}

/// A lane's operands of an instruction of the whole warp.
pub type LaneWords = [u64; 3];

/// Scope of an atomic operation or a fence (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of the block.
    Block,
    /// The threads of the GPU.
    Device,
    /// The threads of host and GPUs.
    System,
}

/// A state space, as `isspacep` distinguishes them.
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
    if let Some(context) = engine::synchronizing("sync_threads", SyncKind::Barrier, Location::caller()) {
        context.barrier(None, Location::caller());
    }
}

/// Waits for all threads of the block; returns the reduction of their predicates (a predicate holds if it is not 0).
#[track_caller]
pub fn sync_threads_reduce(op: BarrierOp, predicate: u32) -> u32 {
    let (context, here) = (engine::current("sync_threads"), Location::caller());
    context.leaves_out(SyncKind::ReducingBarrier, here);
    context.barrier(Some((op, predicate)), here)
}

/// Waits for the lanes of `mask`, and orders their memory accesses.
#[track_caller]
pub fn sync_warp(mask: u32) {
    if let Some(context) = engine::synchronizing("sync_warp", SyncKind::WarpBarrier, Location::caller()) {
        context.sync_warp(mask, Location::caller());
    }
}

/// `cp.async.commit_group`: commits the asynchronous copies that the thread has started since its last commit
/// ([`access::async_copy`](crate::access::async_copy)).
#[track_caller]
pub fn async_commit() {
    engine::current("async_commit").async_commit();
}

/// `cp.async.wait_group`: completes the thread's asynchronous copies except those of its latest `pending` groups and
/// uncommitted ones.
#[track_caller]
pub fn async_wait(pending: u32) {
    if let Some(context) = engine::synchronizing("async_wait", SyncKind::AsyncWait, Location::caller()) {
        context.async_wait(pending);
    }
}

/// The lanes of the warp that execute this together: those that reach this source location before any lane of the warp
/// must wait for it. (On a GPU they may be fewer.)
#[track_caller]
pub fn active_mask() -> u32 {
    engine::current("active_mask").active_mask(Location::caller())
}

/// Warp rendezvous of the lanes of `mask`: each passes a value, and `read` receives all of them. It is the one
/// primitive of shuffles, votes, matches and reductions. It orders no memory.
#[track_caller]
pub fn warp_exchange<R>(mask: u32, value: u64, read: impl FnOnce(&WarpValues) -> R) -> R {
    warp_function("a warp function", mask, value, read)
}

/// [`warp_exchange`] in the function of this name: lanes that call different functions are a fault.
#[track_caller]
pub fn warp_function<R>(name: &'static str, mask: u32, value: u64, read: impl FnOnce(&WarpValues) -> R) -> R {
    let values = engine::current("a warp function").exchange(name, mask, value, Location::caller());
    read(&values)
}

impl WarpValues {
    /// The value of a lane. That of a lane which takes no part is undefined: reading it is a fault.
    pub fn of(&self, lane: u32) -> u64 {
        match self.mask >> (lane % 32) & 1 {
            0 => engine::current("a warp function").absent_lane(lane % 32),
            _ => self.values[lane as usize % 32],
        }
    }
}

/// Warp rendezvous of all 32 lanes at one source location, like a `.sync.aligned` instruction; `read` receives their
/// operands by lane. It orders no memory.
#[track_caller]
pub fn warp_gather<R>(words: LaneWords, read: impl FnOnce(&[LaneWords; 32]) -> R) -> R {
    let gathered = engine::current("a matrix instruction").gather(words, Location::caller());
    read(&gathered)
}

/// Arrives at named barrier `id`, 1 to 15, of `threads` threads, and waits for the others (`bar.sync`).
#[track_caller]
pub fn named_barrier_sync(id: u32, threads: u32) {
    if let Some(context) = engine::synchronizing("a named barrier", SyncKind::NamedBarrier, Location::caller()) {
        context.named_barrier(id, threads, true, Location::caller());
    }
}

/// Arrives at named barrier `id`, 1 to 15, of `threads` threads, and continues (`bar.arrive`).
#[track_caller]
pub fn named_barrier_arrive(id: u32, threads: u32) {
    engine::current("a named barrier").named_barrier(id, threads, false, Location::caller());
}

/// Orders the thread's memory accesses for the other threads of `scope`. Outside a launch it is a fence of the host.
#[track_caller]
pub fn fence(order: Ordering, scope: Scope) {
    match engine::try_current() {
        Some(context) => {
            compiler_fence(order);
            if !context.leaves_out(SyncKind::Fence, Location::caller()) {
                context.fence(order, scope);
            }
        }
        None => std::sync::atomic::fence(order),
    }
}

/// A word for atomics: `u32` or `u64`.
pub trait AtomicWord: Copy + Eq + sealed::Sealed {
    /// The word, widened.
    #[doc(hidden)]
    fn bits(self) -> u64;
    /// Loads the word at an address with the host's atomic.
    ///
    /// # Safety
    /// `ptr` is valid for an atomic access.
    #[doc(hidden)]
    unsafe fn load(ptr: *const Self, order: Ordering) -> Self;
    /// Stores the word at an address with the host's atomic.
    ///
    /// # Safety
    /// `ptr` is valid for an atomic access.
    #[doc(hidden)]
    unsafe fn store(ptr: *mut Self, value: Self, order: Ordering);
    /// Updates the word at an address with the host's atomic; returns the old value.
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
        Some(context) => context.atomic(
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
        Some(context) => context.atomic(
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
        Some(context) => context.atomic(
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

/// The identity of a static shared array: one `static` for each place in the source that reserves one.
pub struct SharedPlace {
    // Not all zeros, and not immutable: no two may share an address.
    _distinct: AtomicBool,
}

impl SharedPlace {
    /// A new identity.
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

/// Bytes of shared memory of a block, static and dynamic. Static arrays count from their first use on.
#[track_caller]
pub fn total_shared_bytes() -> u32 {
    // Limits keep the sum far below 2^32.
    engine::current("total_smem_size").total_shared_bytes() as u32
}

/// A `#[address_space(shared)] static` of the program.
///
/// The host has one, a GPU has one for each block. A program with shared statics runs the blocks of its launches one at
/// a time.
pub struct SharedStatic {
    /// Its name.
    pub name: &'static str,
    /// Its address.
    pub address: fn() -> *mut u8,
    /// Its size in bytes.
    pub bytes: usize,
    /// Whether it is a `static mut`. Only a `static mut` is made to look uninitialized at the start of every block: any
    /// other may be in read-only memory.
    pub is_mut: bool,
    /// Its source location.
    pub file: &'static str,
    /// Its source location.
    pub line: u32,
}

/// Every shared static of the program.
#[cfg(not(miri))]
#[linkme::distributed_slice]
pub static SHARED_STATICS: [SharedStatic];

/// Every shared static of the program. Miri has no linker to collect them.
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

/// Every kernel of the program whose `#[kernel(..)]` has options, in no particular order. Miri has no linker to collect
/// them.
pub fn kernels() -> &'static [KernelAttributes] {
    #[cfg(not(miri))]
    return &KERNELS;
    #[cfg(miri)]
    &[]
}

/// First call of a kernel whose `#[kernel(..)]` has options. It ends a launch that violates them; outside a launch it
/// does nothing.
#[inline]
pub fn enter_kernel(attributes: &KernelAttributes) {
    if let Some(context) = engine::try_current() {
        context.enter_kernel(attributes);
    }
}

/// Prints text. During a launch it goes to the report, and to standard output at the launch's end. Outside a launch it
/// is `std`'s `print!`.
pub fn print(text: fmt::Arguments<'_>) {
    match engine::try_current() {
        Some(context) => context.print(text),
        None => std::print!("{text}"),
    }
}

/// `trap`: ends the launch with a fault with this text.
#[track_caller]
pub fn trap(what: &'static str) -> ! {
    engine::current(what).trap(
        FaultKind::Panic {
            message: what.to_owned(),
        },
        Location::caller(),
    )
}

/// The state space that contains an address, as far as the simulator knows it.
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
