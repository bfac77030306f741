//! The instructions, directives and special registers of PTX, by name.
//!
//! PTX ISA 9.0, sections 9.7 (instructions), 5.2 (state spaces), 10 (special registers) and 11 (directives).
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/>

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// What an instruction starts with, up to the first dot.
static INSTRUCTIONS: Names = Names::new(
    "abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call \
    clmad clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 \
    exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa \
    match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc \
    prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct \
    sqrt st stackrestore stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex \
    tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 \
    vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor",
);

/// What may stand in a body and is no instruction.
static DIRECTIVES: Names =
    Names::new(".reg .local .shared .global .const .param .pragma .branchtargets .calltargets .callprototype .align");

/// Special registers, without the part after the dot.
static SPECIAL_REGISTERS: Names = Names::new(
    "%tid %ntid %laneid %warpid %nwarpid %ctaid %nctaid %smid %nsmid %gridid %is_explicit_cluster %clusterid \
    %nclusterid %cluster_ctaid %cluster_nctaid %cluster_ctarank %cluster_nctarank %lanemask_eq %lanemask_le \
    %lanemask_lt %lanemask_ge %lanemask_gt %clock %clock_hi %clock64 %globaltimer %globaltimer_lo \
    %globaltimer_hi %total_smem_size %aggr_smem_size %dynamic_smem_size %current_graph_exec %SP %SPL",
);
/// Special registers that a number or a range follows.
const NUMBERED_REGISTERS: [&str; 3] = ["%pm", "%envreg", "%reserved_smem_offset_"];

/// The number of operands of instructions that have one form: (names, at least, at most).
const OPERANDS: [(&str, usize, usize); 5] = [
    (
        "mov not neg abs cnot popc clz brev rcp sqrt rsqrt sin cos lg2 ex2 tanh bfind cvta isspacep",
        2,
        2,
    ),
    ("add sub mul and or xor shl shr rem div mul24 copysign mapa", 3, 3),
    ("mad fma mad24 madc selp bfe prmt slct sad dp4a dp2a shf", 4, 4),
    ("bfi lop3", 5, 6),
    ("ret exit trap brkpt", 0, 0),
];

/// [`OPERANDS`] by name.
static OPERAND_COUNTS: OnceLock<HashMap<&str, (usize, usize)>> = OnceLock::new();

/// A list as a set, made once: a module holds a hundred thousand statements.
struct Names {
    list: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Names {
    const fn new(list: &'static str) -> Self {
        Self {
            list,
            set: OnceLock::new(),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.set
            .get_or_init(|| self.list.split_whitespace().collect())
            .contains(name)
    }
}

/// Whether PTX has an instruction with this name; modifiers may follow it.
pub(super) fn is_instruction(opcode: &str) -> bool {
    INSTRUCTIONS.has(opcode.split('.').next().unwrap_or_default())
}

pub(super) fn is_directive(word: &str) -> bool {
    DIRECTIVES.has(word)
}

pub(super) fn is_special_register(name: &str) -> bool {
    let name = name.split('.').next().unwrap_or_default();
    SPECIAL_REGISTERS.has(name) || NUMBERED_REGISTERS.iter().any(|start| name.starts_with(start))
}

/// How many operands an instruction takes, where that is one number or two neighbours.
pub(super) fn operand_count(opcode: &str) -> Option<(usize, usize)> {
    let name = opcode.split('.').next().unwrap_or_default();
    let rows = OPERAND_COUNTS.get_or_init(|| {
        let rows = OPERANDS.iter();
        rows.flat_map(|(names, least, most)| names.split(' ').map(move |name| (name, (*least, *most))))
            .collect()
    });
    rows.get(name).copied()
}
