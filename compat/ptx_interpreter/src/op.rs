//! Decoded instructions: what the interpreter runs.

use crate::convert::Conversion;
use crate::float::{FloatMode, FloatOp};
use crate::integer::IntegerOp;
use crate::types::{Combine, Compare, Space, Type};

/// The number of a register in its function's frame; each has 64 bits.
pub(crate) type Slot = u32;

/// The slot that takes what nothing reads: `_`.
pub(crate) const SINK: Slot = 0;

/// A register or, with the high bit set, a constant of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source(pub u32);

impl Source {
    pub const CONSTANT: u32 = 1 << 31;

    #[inline(always)]
    pub fn read(self, registers: &[u64], constants: &[u64]) -> u64 {
        match self.0 & Self::CONSTANT {
            0 => registers[self.0 as usize],
            _ => constants[(self.0 ^ Self::CONSTANT) as usize],
        }
    }
}

/// `[base+offset]` in a space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub space: Space,
    pub base: Source,
    pub offset: i32,
}

/// A part of a function's list of operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub start: u32,
    pub count: u32,
}

/// What an atomic operation does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
}

/// Lane selection of `shfl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What `vote` makes of the lanes' predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// Forms of a CTA barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierMode {
    Sync,
    Arrive,
    ReduceCount,
    ReduceAnd,
    ReduceOr,
}

/// A warp-synchronous instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WarpOp {
    Sync,
    Shuffle {
        mode: ShuffleMode,
        dst: Slot,
        inside: Slot,
        value: Source,
        lane: Source,
        clamp: Source,
    },
    Vote {
        mode: VoteMode,
        dst: Slot,
        predicate: Source,
        negated: bool,
    },
    MatchAny {
        ty: Type,
        dst: Slot,
        value: Source,
    },
    MatchAll {
        ty: Type,
        dst: Slot,
        agreed: Slot,
        value: Source,
    },
    Reduce {
        op: IntegerOp,
        ty: Type,
        dst: Slot,
        value: Source,
    },
    Elect {
        dst: Slot,
        elected: Slot,
    },
}

/// Registers that are read only and differ by thread, CTA or launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread(u8),
    Block(u8),
    Threads(u8),
    Blocks(u8),
    Lane,
    Warp,
    Warps,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    /// Steps since the launch began.
    Clock,
    ClockHigh,
    DynamicShared,
    TotalShared,
    Constant(u32),
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Move {
        dst: Slot,
        src: Source,
    },
    /// Cuts a value of `count * bits` bits into its parts, from the low ones on.
    Unpack {
        parts: List,
        bits: u8,
        src: Source,
    },
    Pack {
        dst: Slot,
        parts: List,
        bits: u8,
    },
    Special {
        dst: Slot,
        which: Special,
    },
    /// The address in local memory of a place in the frame.
    FrameAddress {
        dst: Slot,
        offset: u32,
    },
    Alloca {
        dst: Slot,
        bytes: Source,
        align: u32,
    },
    StackSave {
        dst: Slot,
    },
    StackRestore {
        src: Source,
    },
    Integer {
        op: IntegerOp,
        ty: Type,
        dst: Slot,
        a: Source,
        b: Source,
    },
    Integer3 {
        op: IntegerOp,
        ty: Type,
        dst: Slot,
        a: Source,
        b: Source,
        c: Source,
    },
    /// `extra` is the fourth operand of `bfi`, the table of `lop3`, the mode of `prmt`.
    Integer4 {
        op: IntegerOp,
        ty: Type,
        dst: Slot,
        a: Source,
        b: Source,
        c: Source,
        extra: Source,
    },
    Float {
        op: FloatOp,
        ty: Type,
        mode: FloatMode,
        dst: Slot,
        a: Source,
        b: Source,
        c: Source,
    },
    Convert {
        dst: Slot,
        src: Source,
        conversion: Conversion,
    },
    /// Converts two numbers into one packed pair; `high` becomes the high half.
    ConvertPair {
        dst: Slot,
        high: Source,
        low: Source,
        conversion: Conversion,
    },
    Compare {
        compare: Compare,
        ty: Type,
        ftz: bool,
        dst: Slot,
        a: Source,
        b: Source,
    },
    /// `setp` with two results or a combined predicate.
    CompareCombine {
        compare: Compare,
        ty: Type,
        ftz: bool,
        combine: Combine,
        dst: Slot,
        dst_not: Slot,
        a: Source,
        b: Source,
        c: Source,
    },
    /// `set`: the destination becomes 0 or, as `one` says, all ones or 1.0.
    Set {
        compare: Compare,
        ty: Type,
        ftz: bool,
        combine: Combine,
        one: u64,
        dst: Slot,
        a: Source,
        b: Source,
        c: Source,
    },
    Select {
        dst: Slot,
        a: Source,
        b: Source,
        predicate: Source,
    },
    /// `slct`: `a` where `c` is not negative.
    SelectSign {
        ty: Type,
        ftz: bool,
        dst: Slot,
        a: Source,
        b: Source,
        c: Source,
    },
    ToGeneric {
        dst: Slot,
        src: Source,
        space: Space,
    },
    FromGeneric {
        dst: Slot,
        src: Source,
        space: Space,
    },
    IsSpace {
        dst: Slot,
        src: Source,
        space: Space,
    },
    Load {
        ty: Type,
        dst: Slot,
        address: Address,
    },
    Store {
        ty: Type,
        src: Source,
        address: Address,
    },
    LoadVector {
        ty: Type,
        parts: List,
        address: Address,
    },
    StoreVector {
        ty: Type,
        parts: List,
        address: Address,
    },
    Atomic {
        op: AtomicOp,
        ty: Type,
        dst: Slot,
        address: Address,
        b: Source,
        c: Source,
    },
    /// 16 bytes: `b` and `c` each name the first of two operands in the list.
    Atomic128 {
        compare: bool,
        dst: Slot,
        address: Address,
        operands: List,
    },
    Branch {
        target: u32,
    },
    BranchIf {
        predicate: Slot,
        negated: bool,
        target: u32,
    },
    BranchIndexed {
        index: Source,
        targets: List,
    },
    Call {
        site: u32,
    },
    Return,
    Exit,
    Trap,
    Yield,
    Warp {
        op: WarpOp,
        mask: Source,
    },
    ActiveMask {
        dst: Slot,
    },
    Barrier {
        mode: BarrierMode,
        dst: Slot,
        id: Source,
        count: Source,
        predicate: Source,
        negated: bool,
    },
    Unsupported {
        text: u32,
    },
}

/// Whom a call calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    Direct(u32),
    Indirect(Source),
}

/// A place in a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameSlot {
    pub offset: u32,
    pub bytes: u32,
}

/// The operands of a call.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    pub callee: Callee,
    pub arguments: Vec<FrameSlot>,
    pub results: Vec<FrameSlot>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParameter {
    pub offset: u32,
    pub bytes: u32,
}

/// A decoded function. One without code is provided by the interpreter, or nobody.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub name: String,
    pub defined: bool,
    pub code: Vec<Op>,
    /// The line of each instruction.
    pub lines: Vec<u32>,
    pub constants: Vec<u64>,
    pub lists: Vec<Source>,
    /// The targets of `brx.idx`.
    pub targets: Vec<u32>,
    pub sites: Vec<CallSite>,
    /// The words of unsupported instructions.
    pub texts: Vec<String>,
    pub registers: u32,
    pub frame_bytes: u32,
    pub frame_align: u32,
    pub parameters: Vec<FrameSlot>,
    pub results: Vec<FrameSlot>,
    /// Set for kernels.
    pub kernel: Option<Vec<KernelParameter>>,
}
