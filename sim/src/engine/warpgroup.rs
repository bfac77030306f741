//! Instructions of a warpgroup: four warps, the first of which has a number that is a multiple of 4.

use std::panic::Location;

use half::{bf16, f16};

use crate::access::AccessKind;
use crate::analysis::matrix_descriptor::{Major, MatrixDescriptor};
use crate::fault::{FaultKind, OtherAccess, Site};
use crate::wgmma::{WgmmaElement, WgmmaProduct, element_of_sums};

use super::slot::{Slot, Status};

/// Threads of a warpgroup.
const WARPGROUP: usize = 128;
/// Rows of A.
const M: u32 = 64;
/// Elements that a product sums over.
const K: u32 = 16;

/// What a thread waits for its warpgroup with.
#[derive(Clone, Copy)]
pub(super) enum Request {
    /// A product, and the thread's sums.
    Product(WgmmaProduct, *mut f32),
    /// Registers of each thread.
    Registers(u32),
}

impl Request {
    /// Whether two threads ask for the same.
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Product(a, _), Self::Product(b, _)) => a == b,
            (Self::Registers(a), Self::Registers(b)) => a == b,
            _ => false,
        }
    }
}

/// An operand in shared memory: its elements in the order (mn, k).
struct Operand {
    descriptor: MatrixDescriptor,
    major: Major,
    extent: u32,
}

impl Operand {
    fn of(product: &WgmmaProduct) -> [Self; 2] {
        let major = |is_mn_major| if is_mn_major { Major::Mn } else { Major::K };
        [
            (product.a, major(product.a_is_mn_major), M),
            (product.b, major(product.b_is_mn_major), product.columns),
        ]
        .map(|(bits, major, extent)| Self {
            descriptor: MatrixDescriptor::from_bits(bits),
            major,
            extent,
        })
    }

    /// The addresses of its chunks of 16 bytes, ascending.
    fn chunks(&self) -> Vec<u32> {
        let (along, across) = match self.major {
            Major::K => (K, self.extent),
            Major::Mn => (self.extent, K),
        };
        let chunk = |across: u32, along: u32| match self.major {
            Major::K => self.descriptor.address(self.major, across, along),
            Major::Mn => self.descriptor.address(self.major, along, across),
        };
        let mut chunks: Vec<u32> = (0..across)
            .flat_map(|across| (0..along).step_by(8).map(move |along| chunk(across, along)))
            .collect();
        chunks.sort_unstable();
        chunks
    }
}

impl Slot {
    /// `wgmma.fence`.
    pub(crate) fn wgmma_fence(&self) {
        self.check_watch();
        self.operations.borrow_mut().fenced.insert(self.thread.get() as u16);
    }

    /// `wgmma.mma_async`.
    ///
    /// # Safety
    /// As [`crate::wgmma::product`].
    pub(crate) unsafe fn wgmma(&self, product: WgmmaProduct, sums: *mut f32, site: &'static Location<'static>) {
        let thread = self.thread.get();
        if !self.operations.borrow().fenced.contains(&(thread as u16)) {
            let problem = "a product before the thread's first wgmma.fence".to_owned();
            self.fault(FaultKind::Warpgroup { problem }, Some(site), None);
        }
        if thread.is_multiple_of(WARPGROUP) {
            for operand in Operand::of(&product) {
                if operand.descriptor.base_offset != 0 {
                    let problem = format!(
                        "a matrix base offset of {}, only 0 is simulated",
                        operand.descriptor.base_offset
                    );
                    self.fatal(FaultKind::Warpgroup { problem }, Some(site), None);
                }
                for chunk in operand.chunks() {
                    self.operand_in_shared(AccessKind::Read, self.host_address(chunk), 16, site);
                }
            }
        }
        self.meet_warpgroup(Request::Product(product, sums), site);
    }

    /// `wgmma.commit_group`.
    pub(crate) fn wgmma_commit(&self) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        self.operations
            .borrow_mut()
            .products
            .entry(thread)
            .or_default()
            .commit();
    }

    /// `wgmma.wait_group`.
    pub(crate) fn wgmma_wait(&self, pending: u32) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        let covered = {
            let mut operations = self.operations.borrow_mut();
            let groups = operations.products.entry(thread).or_default();
            let covered = groups.covered(pending);
            groups.forget(pending);
            covered
        };
        for operation in covered {
            self.acquire_operation(thread, operation);
        }
    }

    /// `setmaxnreg`.
    pub(crate) fn set_max_registers(&self, count: u32, site: &'static Location<'static>) {
        if !(24..=256).contains(&count) || !count.is_multiple_of(8) {
            let problem = format!("setmaxnreg of {count} registers: a multiple of 8 from 24 to 256 is allowed");
            self.fatal(FaultKind::Warpgroup { problem }, Some(site), None);
        }
        self.meet_warpgroup(Request::Registers(count), site);
    }

    /// Waits until the other threads of the warpgroup have come.
    fn meet_warpgroup(&self, request: Request, site: &'static Location<'static>) {
        let (thread, threads) = (self.thread.get(), self.threads.len());
        let first = thread / WARPGROUP * WARPGROUP;
        if first + WARPGROUP > threads {
            let there = threads - first;
            let problem =
                format!("a warpgroup has {WARPGROUP} threads, the last one of a block of {threads} has {there}");
            self.fatal(FaultKind::Warpgroup { problem }, Some(site), None);
        }
        self.operations.borrow_mut().requests.insert(thread, request);
        self.wait(Status::Warpgroup, site);
    }

    /// Executes what whole warpgroups wait for; tells whether there was any.
    pub(super) fn hold_warpgroups(&self) -> bool {
        if self.operations.borrow().requests.is_empty() {
            return false;
        }
        let mut held = false;
        for first in (0..self.threads.len()).step_by(WARPGROUP) {
            let members = first..(first + WARPGROUP).min(self.threads.len());
            let is_here = |thread: usize| self.threads[thread].status.get() == Status::Warpgroup;
            if members.clone().all(is_here) {
                self.hold_warpgroup(first);
                held = true;
            }
        }
        held
    }

    fn hold_warpgroup(&self, first: usize) {
        let requests: Vec<Request> = {
            let mut operations = self.operations.borrow_mut();
            let members = first..first + WARPGROUP;
            members
                .filter_map(|thread| operations.requests.remove(&thread))
                .collect()
        };
        self.thread.set(first);
        let site = self.threads[first].site.get().expect("a waiting thread has a place");
        if let Some(odd) = requests.iter().position(|request| !request.agrees(&requests[0])) {
            let problem = format!(
                "threads {first} and {} execute different instructions, or with other operands",
                first + odd
            );
            let other = OtherAccess {
                access: None,
                block: self.block_idx.get(),
                thread: self.thread_position(first + odd),
                site: self.threads[first + odd]
                    .site
                    .get()
                    .map_or_else(|| site.into(), Site::from),
            };
            self.fault(FaultKind::Warpgroup { problem }, Some(site), Some(other));
            self.aborted.set(true);
            return;
        }
        if let Request::Product(product, _) = requests[0] {
            let operation = self.start_operation((first as u16..).take(WARPGROUP));
            let [a, b] = Operand::of(&product).map(|operand| {
                let mut chunks = operand.chunks();
                chunks.dedup();
                for run in chunks.chunk_by(|a, b| a + 16 == *b) {
                    let offset = self.offset_of_shared_address(run[0]);
                    self.operation_on_shared(operation, false, offset, 16 * run.len(), site);
                }
                self.read_operand(&operand, product.element)
            });
            for (thread, request) in requests.iter().enumerate() {
                let Request::Product(_, sums) = *request else { continue };
                for index in 0..product.columns / 2 {
                    let (row, column) = element_of_sums(thread as u32, index);
                    let (a, b) = (&a[row as usize], &b[column as usize]);
                    // SAFETY: the thread has vouched for its sums, and waits.
                    let sum = unsafe { &mut *sums.add(index as usize) };
                    let start = if product.accumulate { *sum } else { 0.0 };
                    *sum = a.iter().zip(b).fold(start, |sum, (a, b)| sum + a * b);
                }
            }
            let products = &mut self.operations.borrow_mut().products;
            for thread in (first as u16..).take(WARPGROUP) {
                products.entry(thread).or_default().start(operation);
            }
        }
        for thread in &self.threads[first..first + WARPGROUP] {
            thread.status.set(Status::Ready);
        }
        self.progress.set(self.progress.get() + 1);
        self.run.watch.met(self.number);
    }

    /// The elements of an operand, by `mn`.
    fn read_operand(&self, operand: &Operand, element: WgmmaElement) -> Vec<[f32; K as usize]> {
        let element = |mn: u32, k: u32| {
            let address = self.host_address(operand.descriptor.address(operand.major, mn, k));
            let offset = self.arena.offset(address).unwrap_or_default();
            // SAFETY: two bytes of shared memory: the operand was looked at when the first thread came.
            let bits = unsafe { self.arena.base().add(offset).cast::<u16>().read_unaligned() };
            match element {
                WgmmaElement::F16 => f16::from_bits(bits).to_f32(),
                WgmmaElement::Bf16 => bf16::from_bits(bits).to_f32(),
            }
        };
        (0..operand.extent)
            .map(|mn| std::array::from_fn(|k| element(mn, k as u32)))
            .collect()
    }

    /// See [`crate::wgmma::shared_address`]. The dynamic part comes first, then the static arrays.
    pub(crate) fn shared_address(&self, address: usize, site: &'static Location<'static>) -> u32 {
        let compact = self.operand_in_shared(AccessKind::Read, address, 1, site);
        (self.shared_window() + compact) as u32
    }

    /// The shared address of the dynamic part.
    fn shared_window(&self) -> usize {
        self.arena.dynamic().addr() % 1024
    }

    /// The offset in shared memory, without the arena's gaps, of a shared address.
    pub(super) fn offset_of_shared_address(&self, address: u32) -> usize {
        (address as usize).wrapping_sub(self.shared_window())
    }

    /// The host's address of a shared address; outside the arena where it is none.
    fn host_address(&self, address: u32) -> usize {
        self.host_address_of_offset(self.offset_of_shared_address(address))
    }

    /// The host's address of an offset without the arena's gaps.
    pub(super) fn host_address_of_offset(&self, compact: usize) -> usize {
        let dynamic_bytes = self.arena.bytes() - self.arena.static_bytes();
        let base = self.arena.base().addr();
        match compact.checked_sub(dynamic_bytes) {
            Some(offset) if compact < self.arena.bytes() => base + offset,
            Some(_) => base.wrapping_add(compact),
            None => self.arena.dynamic().addr() + compact,
        }
    }
}
