//! Simulated global memory: bounds, written bytes, and padding of matrices.

mod rows;
mod snapshot;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use bytemuck::Pod;
use parking_lot::RwLock;

use crate::policy::{Comparison, Element};

use rows::Rows;
use snapshot::Page;
pub(crate) use snapshot::Snapshot;

/// The value of unwritten bytes: NaN in every floating-point type, and a large negative integer.
const POISON: u8 = 0xff;
/// Bytes on either side of a buffer that no kernel may write: [`Allocation::check_red_zones`].
const RED_ZONE: usize = 4096;
/// A GPU's allocations are aligned to at least this (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALIGNMENT: usize = 256;

/// Device memory for a kernel's pointers. It belongs to the thread that created it.
///
/// Kernels get its address from [`GlobalBuffer::as_ptr`] or [`GlobalBuffer::as_mut_ptr`] and may write to it although
/// they hold a shared reference: as on a GPU, they are responsible for its use. Reading it from another thread during a
/// launch is a data race like any other.
pub struct GlobalBuffer<T> {
    allocation: Arc<Allocation>,
    len: usize,
    /// Not `Send`: a launch restores and compares the buffers of the thread that calls it.
    _of_thread: PhantomData<(T, *mut ())>,
}

// SAFETY: shared references give out addresses and copies. Writing happens in kernels, which are unsafe to run.
unsafe impl<T: Pod> Sync for GlobalBuffer<T> {}

impl<T: Pod> GlobalBuffer<T> {
    /// A copy of `elements`.
    pub fn from_slice(elements: &[T]) -> Self {
        let buffer = Self::allocate(elements.len(), Fill::Written, None);
        buffer.copy_from(elements);
        buffer
    }

    /// `len` elements of all-zero bits.
    pub fn zeroed(len: usize) -> Self {
        let buffer = Self::allocate(len, Fill::Written, None);
        // SAFETY: the allocation's own bytes; its address is not shared yet.
        unsafe { buffer.allocation.base.as_ptr().write_bytes(0, buffer.allocation.bytes) };
        buffer
    }

    /// `len` unwritten elements: reading one is a fault.
    pub fn uninit(len: usize) -> Self {
        Self::allocate(len, Fill::Unwritten, None)
    }

    /// A row-major matrix of `rows` x `columns` with leading dimension `ld`, in elements. `elements` has at least
    /// `(rows - 1) * ld + columns` elements. The padding between `columns` and `ld` is not part of the matrix: any
    /// access to it is a fault.
    ///
    /// # Panics
    /// If `ld < columns` or `elements` is too short.
    pub fn matrix(elements: &[T], rows: usize, columns: usize, ld: usize) -> Self {
        let span = span(rows, columns, ld);
        assert!(
            elements.len() >= span,
            "{rows} x {columns} with a leading dimension of {ld} takes {span} elements, the slice has {}",
            elements.len()
        );
        let buffer = Self::allocate(span, Fill::Written, Rows::of::<T>(columns, ld));
        buffer.copy_from(&elements[..span]);
        buffer
    }

    /// As [`GlobalBuffer::matrix`], with unwritten elements.
    ///
    /// # Panics
    /// If `ld < columns`.
    pub fn matrix_uninit(rows: usize, columns: usize, ld: usize) -> Self {
        Self::allocate(span(rows, columns, ld), Fill::Unwritten, Rows::of::<T>(columns, ld))
    }

    /// The matrices of a strided batch, `stride` elements apart, each as of [`GlobalBuffer::matrix`]. What lies between
    /// matrices that follow one another, or side by side in the rows of a larger matrix, is off limits like padding; of
    /// matrices that overlap nothing is.
    ///
    /// # Panics
    /// If `ld < columns` or `elements` is too short.
    pub fn batch(elements: &[T], extents: [usize; 3], count: usize, stride: usize) -> Self {
        let buffer = Self::batch_of(extents, count, stride, Fill::Written);
        assert!(
            elements.len() >= buffer.len,
            "{count} matrices, {stride} elements apart, take {} elements, the slice has {}",
            buffer.len,
            elements.len()
        );
        buffer.copy_from(&elements[..buffer.len]);
        buffer
    }

    /// As [`GlobalBuffer::batch`], with unwritten elements.
    ///
    /// # Panics
    /// If `ld < columns`.
    pub fn batch_uninit(extents: [usize; 3], count: usize, stride: usize) -> Self {
        Self::batch_of(extents, count, stride, Fill::Unwritten)
    }

    fn batch_of([rows, columns, ld]: [usize; 3], count: usize, stride: usize, fill: Fill) -> Self {
        let matrix = span(rows, columns, ld);
        let len = match matrix.min(count) {
            0 => 0,
            _ => (count - 1)
                .checked_mul(stride)
                .and_then(|before| before.checked_add(matrix))
                .expect("a batch below 2^63 elements"),
        };
        let rows = match count {
            0 | 1 => Rows::of::<T>(columns, ld),
            _ => Rows::of_batch::<T>(columns, ld, matrix, count, stride),
        };
        Self::allocate(len, fill, rows)
    }

    /// The same buffer with a name for reports.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        self.allocation.name.get_or_init(|| name.into());
        self
    }

    /// The same buffer, whose contents after two schedules are compared in another way than bit by bit.
    ///
    /// ```
    /// use cuda_sim::{Comparison, GlobalBuffer};
    ///
    /// let workspace = GlobalBuffer::<f32>::uninit(64).compared(Comparison::Ignored);
    /// let sums = GlobalBuffer::<f32>::zeroed(8).compared(Comparison::Within { relative: 1e-5, absolute: 1e-6 });
    /// # drop((workspace, sums));
    /// ```
    #[must_use]
    pub fn compared(self, comparison: Comparison) -> Self {
        self.allocation.comparison.get_or_init(|| comparison);
        self
    }

    fn allocate(len: usize, fill: Fill, rows: Option<Rows>) -> Self {
        let bytes = len.checked_mul(size_of::<T>()).expect("a buffer below 2^63 bytes");
        Self {
            allocation: Allocation::new(bytes, fill, rows, Element::of::<T>()),
            len,
            _of_thread: PhantomData,
        }
    }

    fn copy_from(&self, elements: &[T]) {
        let source: &[u8] = bytemuck::cast_slice(elements);
        // SAFETY: the allocation has this many bytes; it is new and not shared.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), self.allocation.base.as_ptr(), source.len()) };
    }

    /// The address, for kernels that read.
    pub fn as_ptr(&self) -> *const T {
        self.allocation.base.as_ptr().cast()
    }

    /// The address, for kernels that write.
    pub fn as_mut_ptr(&self) -> *mut T {
        self.allocation.base.as_ptr().cast()
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements. Unwritten ones have bytes of 0xff.
    pub fn to_vec(&self) -> Vec<T> {
        let mut elements = vec![T::zeroed(); self.len];
        let target: &mut [u8] = bytemuck::cast_slice_mut(&mut elements);
        // SAFETY: as many bytes as the allocation has, all of them initialized since it was made.
        unsafe { std::ptr::copy_nonoverlapping(self.allocation.base.as_ptr(), target.as_mut_ptr(), target.len()) };
        elements
    }
}

fn span(rows: usize, columns: usize, ld: usize) -> usize {
    assert!(
        ld >= columns,
        "a leading dimension of {ld} is less than the {columns} columns"
    );
    match (rows, columns) {
        (0, _) | (_, 0) => 0,
        _ => (rows - 1)
            .checked_mul(ld)
            .and_then(|before| before.checked_add(columns))
            .expect("a matrix below 2^63 elements"),
    }
}

/// Whether fresh memory counts as written.
#[derive(PartialEq, Eq)]
enum Fill {
    Written,
    Unwritten,
}

/// The memory of a buffer.
pub(crate) struct Allocation {
    base: NonNull<u8>,
    bytes: usize,
    rows: Option<Rows>,
    element: Element,
    name: OnceLock<String>,
    comparison: OnceLock<Comparison>,
    /// A bit a byte, 1 once written. `None` where all was written from the start.
    written: Option<Box<[AtomicU64]>>,
}

// SAFETY: the memory is reached through raw pointers only; whoever follows them answers for it.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

/// Every live allocation, by its address.
static ALLOCATIONS: RwLock<std::collections::BTreeMap<usize, Weak<Allocation>>> =
    RwLock::new(std::collections::BTreeMap::new());

thread_local! {
    /// The allocations that this thread made, in order.
    static OF_THIS_THREAD: RefCell<Vec<Weak<Allocation>>> = const { RefCell::new(Vec::new()) };
}

impl Allocation {
    fn new(bytes: usize, fill: Fill, rows: Option<Rows>, element: Element) -> Arc<Self> {
        let layout = Self::layout(bytes);
        // SAFETY: the size is not 0.
        let start = unsafe { std::alloc::alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| std::alloc::handle_alloc_error(layout));
        // SAFETY: the buffer is between two red zones.
        let base = unsafe { start.add(RED_ZONE) };
        // SAFETY: the whole of the buffer.
        unsafe { base.as_ptr().write_bytes(POISON, bytes) };
        let written = (fill == Fill::Unwritten).then(|| (0..bytes.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
        let allocation = Arc::new(Self {
            base,
            bytes,
            rows,
            element,
            name: OnceLock::new(),
            comparison: OnceLock::new(),
            written,
        });
        allocation.lay_red_zones();
        ALLOCATIONS
            .write()
            .insert(base.as_ptr().addr(), Arc::downgrade(&allocation));
        OF_THIS_THREAD.with_borrow_mut(|own| {
            own.retain(|other| other.strong_count() > 0);
            own.push(Arc::downgrade(&allocation));
        });
        allocation
    }

    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes + 2 * RED_ZONE, ALIGNMENT).expect("a buffer below 2^63 bytes")
    }

    /// The allocation that contains `address`.
    pub(crate) fn containing(address: usize) -> Option<Arc<Self>> {
        let allocations = ALLOCATIONS.read();
        let (_, candidate) = allocations.range(..=address).next_back()?;
        candidate
            .upgrade()
            .filter(|found| address - found.address() < found.bytes)
    }

    /// The nearest allocation below `address`: whose end a stray access probably ran over.
    pub(crate) fn below(address: usize) -> Option<Arc<Self>> {
        let allocations = ALLOCATIONS.read();
        allocations.range(..=address).next_back()?.1.upgrade()
    }

    /// The live allocations of the calling thread, in the order in which it made them.
    pub(crate) fn of_this_thread() -> Vec<Arc<Self>> {
        OF_THIS_THREAD.with_borrow(|own| own.iter().filter_map(Weak::upgrade).collect())
    }

    pub(crate) fn address(&self) -> usize {
        self.base.as_ptr().addr()
    }

    /// The type of its elements.
    pub(crate) fn element(&self) -> Element {
        self.element
    }

    /// How its contents after two schedules are compared.
    pub(crate) fn comparison(&self) -> Comparison {
        self.comparison.get().copied().unwrap_or_default()
    }

    /// Its name, if it was given one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.get().map(String::as_str)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether any of the bytes is in the padding between the rows of a matrix, or between those of a batch.
    #[inline]
    pub(crate) fn is_padding(&self, offset: usize, bytes: usize) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.is_padding(offset, bytes))
    }

    /// Whether all of the bytes were written.
    #[inline]
    pub(crate) fn is_written(&self, offset: usize, bytes: usize) -> bool {
        match &self.written {
            None => true,
            Some(bits) => (offset..offset + bytes).all(|byte| bits[byte / 64].load(Relaxed) >> (byte % 64) & 1 == 1),
        }
    }

    /// Notes that the bytes were written.
    #[inline]
    pub(crate) fn set_written(&self, offset: usize, bytes: usize) {
        let Some(bits) = &self.written else { return };
        // At most 16 aligned bytes: they never straddle a word of 64 bits.
        let mask = ((1_u64 << bytes) - 1) << (offset % 64);
        if bits[offset / 64].load(Relaxed) & mask != mask {
            bits[offset / 64].fetch_or(mask, Relaxed);
        }
    }

    /// The bytes of the red zones: the distance of each from the buffer's start, its address, its proper value.
    fn red_zones(&self) -> impl Iterator<Item = (isize, *mut u8, u8)> {
        let (zone, bytes) = (RED_ZONE as isize, self.bytes as isize);
        (-zone..0).chain(bytes..bytes + zone).map(|offset| {
            // SAFETY: within the allocation.
            let address = unsafe { self.base.as_ptr().offset(offset) };
            // Not one value, so that a loop that copies a row too far is seen.
            (offset, address, (offset as u8).wrapping_mul(59) ^ 0xa5)
        })
    }

    /// Fills the red zones.
    pub(crate) fn lay_red_zones(&self) {
        for (_, address, value) in self.red_zones() {
            // SAFETY: within the allocation; no kernel runs.
            unsafe { address.write(value) };
        }
    }

    /// Whether anything wrote next to the buffer: the distance of the first such byte from the buffer's start, and how
    /// many there are.
    pub(crate) fn check_red_zones(&self) -> Option<(i64, u64)> {
        // SAFETY: within the allocation; no kernel runs.
        let mut changed = self
            .red_zones()
            .filter(|&(_, address, value)| unsafe { address.read() } != value);
        let (first, ..) = changed.next()?;
        Some((first as i64, 1 + changed.count() as u64))
    }

    /// The contents and which of it was written. What is as in the snapshot `earlier` takes no memory.
    pub(crate) fn snapshot(&self, earlier: Option<&Snapshot>) -> Snapshot {
        // SAFETY: as many bytes as there are. No kernel runs: the launch takes snapshots before, between and after its
        // runs.
        let contents = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.bytes) };
        let page = |(number, bytes): (usize, &[u8])| {
            let earlier = earlier.and_then(|earlier| earlier.pages.get(number));
            let same = earlier.filter(|earlier| earlier.is(bytes));
            same.cloned().unwrap_or_else(|| Page::of(bytes))
        };
        let pages = contents.chunks(Snapshot::PAGE_BYTES).enumerate().map(page).collect();
        let load = |bits: &[AtomicU64]| bits.iter().map(|word| word.load(Relaxed)).collect();
        Snapshot {
            pages,
            written: self.written.as_deref().map(load),
        }
    }

    /// Puts a snapshot of this allocation back.
    pub(crate) fn restore(&self, snapshot: &Snapshot) {
        // SAFETY: as many bytes as there are, and no kernel runs.
        let contents = unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.bytes) };
        for (part, page) in contents.chunks_mut(Snapshot::PAGE_BYTES).zip(&snapshot.pages) {
            match page {
                Page::Same(byte) => part.fill(*byte),
                Page::Bytes(bytes) => part.copy_from_slice(bytes),
            }
        }
        for (word, &old) in self.written.iter().flatten().zip(snapshot.written.iter().flatten()) {
            word.store(old, Relaxed);
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        ALLOCATIONS.write().remove(&self.address());
        // SAFETY: made by `alloc` with this layout, and dropped once.
        unsafe { std::alloc::dealloc(self.base.sub(RED_ZONE).as_ptr(), Self::layout(self.bytes)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_go_in_and_out() {
        let buffer = GlobalBuffer::from_slice(&[1_u16, 2, 3]);
        assert_eq!(buffer.to_vec(), [1, 2, 3]);
        assert_eq!(buffer.as_ptr().addr() % ALIGNMENT, 0);
        assert_eq!(GlobalBuffer::<u32>::zeroed(2).to_vec(), [0, 0]);
        assert!(GlobalBuffer::<f32>::uninit(2).to_vec().iter().all(|x| x.is_nan()));
        assert!(GlobalBuffer::<f32>::from_slice(&[]).to_vec().is_empty());
    }

    #[test]
    fn addresses_are_found_while_the_buffer_lives() {
        let buffer = GlobalBuffer::<u32>::zeroed(4);
        let address = buffer.as_ptr().addr();
        assert!(Allocation::containing(address + 15).is_some());
        assert!(Allocation::containing(address + 16).is_none());
        assert!(Allocation::below(address + 100).is_some_and(|found| found.address() == address));
        drop(buffer);
        assert!(Allocation::containing(address).is_none());
    }

    #[test]
    fn padding_and_unwritten_bytes_are_known() {
        let buffer = GlobalBuffer::<f32>::matrix_uninit(2, 3, 5);
        assert_eq!(buffer.len(), 8);
        let allocation = &buffer.allocation;
        assert!(!allocation.is_padding(8, 4) && allocation.is_padding(12, 4) && allocation.is_padding(8, 8));
        let packed = GlobalBuffer::<f32>::matrix_uninit(4, 1, 1);
        assert!(!packed.allocation.is_padding(0, 16));
        assert!(!allocation.is_written(20, 4));
        allocation.set_written(20, 4);
        assert!(allocation.is_written(20, 4) && !allocation.is_written(20, 8));
        let before = allocation.snapshot(None);
        allocation.set_written(24, 4);
        // SAFETY: inside the buffer.
        unsafe { buffer.as_mut_ptr().add(6).write(1.0) };
        assert_eq!(before.difference(&allocation.snapshot(None), 32), Some((24, 4)));
        allocation.restore(&before);
        assert!(!allocation.is_written(24, 4));
        assert_eq!(before.difference(&allocation.snapshot(None), 32), None);
    }

    #[test]
    #[should_panic(expected = "2 x 3 with a leading dimension of 5 takes 8 elements, the slice has 7")]
    fn a_short_matrix_is_refused() {
        GlobalBuffer::matrix(&[0_u8; 7], 2, 3, 5);
    }
}
