//! Instructions of a warpgroup, which is four warps; the number of its first warp is a multiple of 4.

use std::collections::{HashMap, HashSet};
use std::panic::Location;

use half::{bf16, f16};

use crate::access::AccessKind;
use crate::analysis::Op;
use crate::analysis::agents::Operation;
use crate::analysis::matrix_descriptor::{Major, MatrixDescriptor};
use crate::fault::FaultKind;
use crate::wgmma::{MmaAsync, OperandA, WgmmaElement, accumulator_element, fp8};

use super::BlockContext;
use super::agent::Proxy;
use super::groups::Groups;
use super::threads::Status;
use super::unwaited::Unwaited;

/// Threads of a warpgroup.
const WARPGROUP: usize = 128;
/// Rows of A.
const M: u32 = 64;

/// The instruction of a thread that waits for its warpgroup.
#[derive(Clone, Copy)]
enum Request {
    /// `wgmma.mma_async`, with the thread's accumulators.
    Mma(MmaAsync, *mut f32),
    /// `setmaxnreg`: registers of each thread.
    Registers(u32),
}

impl Request {
    /// Whether two threads execute the same instruction with the same operands.
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mma(a, _), Self::Mma(b, _)) => a.agrees(b),
            (Self::Registers(a), Self::Registers(b)) => a == b,
            _ => false,
        }
    }
}

/// An operand in shared memory, indexed (mn, k).
struct Operand {
    descriptor: MatrixDescriptor,
    major: Major,
    extent: u32,
    element: WgmmaElement,
}

impl Operand {
    /// A, unless it is in registers.
    fn a(mma: &MmaAsync) -> Option<Self> {
        match mma.a {
            OperandA::Shared(bits) => Some(Self::new(bits, mma.a_is_mn_major, M, mma.elements[0])),
            OperandA::Registers(_) => None,
        }
    }

    fn b(mma: &MmaAsync) -> Self {
        Self::new(mma.b, mma.b_is_mn_major, mma.columns, mma.elements[1])
    }

    fn new(bits: u64, is_mn_major: bool, extent: u32, element: WgmmaElement) -> Self {
        Self {
            descriptor: MatrixDescriptor::from_bits(bits),
            major: if is_mn_major { Major::Mn } else { Major::K },
            extent,
            element,
        }
    }

    /// The shared address of an element.
    fn address(&self, mn: u32, k: u32) -> u32 {
        self.descriptor.address(self.major, self.element.bytes(), mn, k)
    }

    /// What `of_address` says of each element, those of one `mn` after another.
    fn read<T>(&self, of_address: impl Fn(u32) -> T) -> Vec<T> {
        let k = self.element.k();
        let mut values = Vec::with_capacity((self.extent * k) as usize);
        for mn in 0..self.extent {
            values.extend((0..k).map(|k| of_address(self.address(mn, k))));
        }
        values
    }

    /// The shared addresses of its chunks of 16 bytes. Those of a core matrix, 8 rows, follow each other.
    fn chunks(&self) -> Vec<u32> {
        let k = self.element.k();
        let (along, across) = match self.major {
            Major::K => (k, self.extent),
            Major::Mn => (self.extent, k),
        };
        let chunk = |across: u32, along: u32| match self.major {
            Major::K => self.address(across, along),
            Major::Mn => self.address(along, across),
        };
        (0..along)
            .step_by(16 / self.element.bytes() as usize)
            .flat_map(|along| (0..across).map(move |across| chunk(across, along)))
            .collect()
    }
}

/// The elements of A row by row, and of B column by column.
enum Values {
    F32(Vec<f32>, Vec<f32>),
    Fp8(Vec<u8>, Vec<u8>),
}

/// The warpgroup instructions of a block that are under way.
#[derive(Default)]
pub(super) struct Warpgroups {
    /// By thread, the instruction that it waits at.
    requests: HashMap<usize, Request>,
    /// By thread, its `wgmma` groups.
    groups: HashMap<u16, Groups<Operation>>,
    /// Threads that have executed a `wgmma.fence`.
    fenced: HashSet<u16>,
    /// By thread and address, accumulators as the thread's `wgmma`s since its last fence have left them.
    left: HashMap<(u16, usize), Vec<f32>>,
    /// By thread.
    unwaited: HashMap<u16, Unwaited>,
}

/// What a thread has done that accesses accumulators too early.
const USED_TOO_EARLY: &str = "used accumulators of a wgmma that the thread has not waited for";

impl Warpgroups {
    fn groups_of(&mut self, thread: u16) -> &mut Groups<Operation> {
        self.groups.entry(thread).or_default()
    }
}

impl BlockContext {
    fn warpgroup_fault(&self, problem: String, location: &'static Location<'static>) -> ! {
        self.fatal(FaultKind::Warpgroup { problem }, Some(location), None)
    }

    /// `wgmma.fence`.
    pub(crate) fn wgmma_fence(&self) {
        self.check_watchdog();
        let (thread, warpgroups) = (self.thread(), &mut *self.warpgroups.borrow_mut());
        warpgroups.fenced.insert(thread);
        warpgroups.left.retain(|&(of, _), _| of != thread);
    }

    /// `wgmma.mma_async`.
    ///
    /// # Safety
    /// As [`crate::wgmma::mma_async`].
    pub(crate) unsafe fn wgmma(&self, mma: MmaAsync, accumulators: *mut f32, location: &'static Location<'static>) {
        self.watch(location);
        let problem = {
            let warpgroups = self.warpgroups.borrow();
            // SAFETY: the caller promises that they are valid.
            let registers = unsafe { std::slice::from_raw_parts(accumulators, mma.columns as usize / 2) };
            let unwaited = warpgroups.unwaited.get(&self.thread());
            let now = unwaited.map_or_else(|| Ok(registers.to_vec()), |of| of.values(registers));
            let is_changed = |left: &Vec<f32>| {
                let now = now.iter().flatten();
                left.iter().zip(now).any(|(left, now)| left.to_bits() != now.to_bits())
            };
            if now.is_err() {
                Some(USED_TOO_EARLY)
            } else if !warpgroups.fenced.contains(&self.thread()) {
                Some("wgmma.mma_async before the thread's first wgmma.fence")
            } else if warpgroups
                .left
                .get(&(self.thread(), accumulators.addr()))
                .is_some_and(is_changed)
            {
                Some("wgmma.mma_async on accumulators that the thread has changed without a wgmma.fence since")
            } else {
                None
            }
        };
        if let Some(problem) = problem {
            let problem = problem.to_owned();
            self.fault(FaultKind::Warpgroup { problem }, Some(location), None);
        }
        if self.threads.running_number().is_multiple_of(WARPGROUP) {
            for operand in Operand::a(&mma).into_iter().chain([Operand::b(&mma)]) {
                let base_offset = operand.descriptor.base_offset;
                if base_offset != 0 {
                    let problem = format!("a matrix base offset of {base_offset}, only 0 is simulated");
                    self.warpgroup_fault(problem, location);
                }
                for chunk in operand.chunks() {
                    self.shared_operand(AccessKind::Read, self.shared.host_address_of(chunk), 16, location);
                }
            }
        }
        self.warpgroup_rendezvous(Request::Mma(mma, accumulators), location);
    }

    /// `wgmma.commit_group`.
    pub(crate) fn wgmma_commit(&self) {
        self.check_watchdog();
        self.warpgroups.borrow_mut().groups_of(self.thread()).commit();
    }

    /// `wgmma.wait_group`.
    pub(crate) fn wgmma_wait(&self, pending: u32, accumulators: &mut [f32], location: &'static Location<'static>) {
        self.check_watchdog();
        let thread = self.thread();
        let (covered, revealed) = {
            let mut warpgroups = self.warpgroups.borrow_mut();
            let groups = warpgroups.groups_of(thread);
            let covered = groups.covered(pending);
            groups.forget(pending);
            let unwaited = warpgroups.unwaited.entry(thread).or_default();
            unwaited.complete(&covered);
            (covered, unwaited.reveal(accumulators))
        };
        for operation in covered {
            self.acquire_operation(thread, operation);
        }
        if revealed.is_err() {
            let problem = USED_TOO_EARLY.to_owned();
            self.fault(FaultKind::Warpgroup { problem }, Some(location), None);
        }
    }

    /// Reports words that are accumulators, or were computed of accumulators, which the thread has not waited for.
    pub(crate) fn check_stored(&self, words: impl Iterator<Item = f32>, location: &'static Location<'static>) {
        let is_early = |word: f32| {
            let warpgroups = self.warpgroups.borrow();
            let unwaited = warpgroups.unwaited.get(&self.thread());
            unwaited.is_some_and(|of| of.has_named(word))
        };
        if words.filter(|word| word.is_nan()).any(is_early) {
            let problem = format!("a store of {}", USED_TOO_EARLY);
            self.fault(FaultKind::Warpgroup { problem }, Some(location), None);
        }
    }

    /// `setmaxnreg`.
    pub(crate) fn set_max_registers(&self, count: u32, location: &'static Location<'static>) {
        if !(24..=256).contains(&count) || !count.is_multiple_of(8) {
            let problem = format!("setmaxnreg of {count} registers: a multiple of 8 from 24 to 256 is allowed");
            self.warpgroup_fault(problem, location);
        }
        self.warpgroup_rendezvous(Request::Registers(count), location);
    }

    /// Waits for the other threads of the warpgroup.
    fn warpgroup_rendezvous(&self, request: Request, location: &'static Location<'static>) {
        let (thread, threads) = (self.threads.running_number(), self.threads.len());
        let first = thread / WARPGROUP * WARPGROUP;
        if first + WARPGROUP > threads {
            let there = threads - first;
            let problem =
                format!("a warpgroup has {WARPGROUP} threads, the last one of a block of {threads} has {there}");
            self.warpgroup_fault(problem, location);
        }
        self.warpgroups.borrow_mut().requests.insert(thread, request);
        self.wait(Status::Warpgroup, location);
    }

    /// Executes the instructions that whole warpgroups wait at; returns whether there was any.
    pub(super) fn complete_warpgroups(&self) -> bool {
        if self.warpgroups.borrow().requests.is_empty() {
            return false;
        }
        let mut completed = false;
        for first in (0..self.threads.len()).step_by(WARPGROUP) {
            let mut members = first..(first + WARPGROUP).min(self.threads.len());
            if members.all(|thread| self.threads.get(thread).is(Status::Warpgroup)) {
                self.complete_warpgroup(first);
                completed = true;
            }
        }
        completed
    }

    /// Executes the instruction that the 128 threads from `first` on wait at.
    fn complete_warpgroup(&self, first: usize) {
        let members = first..first + WARPGROUP;
        let requests: Vec<Request> = {
            let requests = &mut self.warpgroups.borrow_mut().requests;
            members.clone().filter_map(|thread| requests.remove(&thread)).collect()
        };
        self.threads.replace_running(first);
        let location_of = |thread: usize| {
            let location = self.threads.get(thread).location.get();
            location.expect("a waiting thread has a location")
        };
        let location = location_of(first);
        if let Some(odd) = requests.iter().position(|request| !request.agrees(&requests[0])) {
            let odd = first + odd;
            let problem = format!("threads {first} and {odd} execute different instructions, or with other operands");
            let other = self.other_thread(odd, location_of(odd));
            self.fault(FaultKind::Warpgroup { problem }, Some(location), Some(other));
            self.faults.abort();
            return;
        }
        if let Request::Mma(mma, _) = requests[0] {
            let operation = self.start_operation((first as u16..).take(WARPGROUP));
            let (a, b) = (Operand::a(&mma), Operand::b(&mma));
            let chunks: Vec<_> = a.iter().chain([&b]).map(Operand::chunks).collect();
            self.count_operands(chunks.iter().map(Vec::as_slice), location);
            for mut chunks in chunks {
                chunks.sort_unstable();
                chunks.dedup();
                for run in chunks.chunk_by(|a, b| a + 16 == *b) {
                    let offset = self.shared.offset_of_shared_address(run[0]);
                    self.operation_on_shared(operation, (Op::Read, Proxy::Async), offset, 16 * run.len(), location);
                }
            }
            let values = match (&a, mma.elements[0].is_fp8()) {
                (Some(a), true) => Values::Fp8(self.read_bytes(a), self.read_bytes(&b)),
                (Some(a), false) => Values::F32(self.read_operand(a), self.read_operand(&b)),
                (None, _) => Values::F32(registers(&requests), self.read_operand(&b)),
            };
            let k = mma.elements[0].k() as usize;
            let accumulation = self.launch.config.fp8_accumulation;
            let warpgroups = &mut *self.warpgroups.borrow_mut();
            for (number, request) in requests.iter().enumerate() {
                let Request::Mma(_, accumulators) = *request else {
                    continue;
                };
                let thread = (first + number) as u16;
                let address = accumulators.addr();
                // SAFETY: the thread's caller promises that its accumulators are valid, and the thread waits.
                let registers = unsafe { std::slice::from_raw_parts_mut(accumulators, mma.columns as usize / 2) };
                let unwaited = warpgroups.unwaited.entry(thread).or_default();
                // Those that were used too early have been reported.
                let before = unwaited
                    .values(registers)
                    .unwrap_or_else(|_| vec![f32::NAN; registers.len()]);
                let sum = |(index, before): (usize, f32)| {
                    let (row, column) = accumulator_element(number as u32, index as u32);
                    let [row, column] = [row, column].map(|line| line as usize * k..(line as usize + 1) * k);
                    let start = if mma.accumulate { before } else { 0.0 };
                    match &values {
                        Values::F32(a, b) => a[row].iter().zip(&b[column]).fold(start, |sum, (a, b)| sum + a * b),
                        Values::Fp8(a, b) => fp8::dot(accumulation, mma.elements, start, (&a[row], &b[column])),
                    }
                };
                let sums: Vec<f32> = before.into_iter().enumerate().map(sum).collect();
                warpgroups.left.insert((thread, address), sums.clone());
                unwaited.start(registers, sums, operation);
            }
            for thread in members.clone() {
                warpgroups.groups_of(thread as u16).start(operation);
            }
        }
        for thread in members {
            self.threads.get(thread).status.set(Status::Ready);
        }
        self.threads.note_progress();
        self.watchdog.reset();
    }

    /// The elements of an operand, those of one `mn` after another.
    fn read_operand(&self, operand: &Operand) -> Vec<f32> {
        // The addresses were checked when the warpgroup's first thread arrived.
        let half = |address: u32| self.shared.read_u16(address);
        operand.read(|address| match operand.element {
            WgmmaElement::F16 => f16::from_bits(half(address)).to_f32(),
            WgmmaElement::Bf16 => bf16::from_bits(half(address)).to_f32(),
            WgmmaElement::Tf32 => truncated(u32::from(half(address)) | u32::from(half(address + 2)) << 16),
            WgmmaElement::E4m3 | WgmmaElement::E5m2 => fp8::value(operand.element, self.shared.read_u8(address)),
        })
    }

    /// The bytes of an operand of FP8, in the same order.
    fn read_bytes(&self, operand: &Operand) -> Vec<u8> {
        operand.read(|address| self.shared.read_u8(address))
    }
}

/// The tf32 in 32 bits.
fn truncated(bits: u32) -> f32 {
    f32::from_bits(bits & !0x1fff)
}

/// The elements of an A in registers, row by row.
fn registers(requests: &[Request]) -> Vec<f32> {
    let k = WgmmaElement::Tf32.k() as usize;
    let mut a = vec![0.0; M as usize * k];
    for (thread, request) in requests.iter().enumerate() {
        let Request::Mma(mma, _) = request else { continue };
        let OperandA::Registers(bits) = mma.a else { continue };
        let row = 16 * (thread / 32) + thread % 32 / 4;
        for (at, bits) in bits.into_iter().enumerate() {
            a[(row + 8 * (at % 2)) * k + thread % 4 + 4 * (at / 2)] = truncated(bits);
        }
    }
    a
}
