//! The question to the planner.

use alloc::string::{String, ToString};
use core::str::FromStr;

use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};

use crate::frontend::Frontend;
use crate::gemm_type::GemmType;
use crate::path::Path;
use crate::select::Policy;
use crate::template::{Accumulator, Epilogue, Template, TileShape, Widening};

/// The templates that have a name. Without one, a matrix product is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemplateName {
    /// FlashAttention forward ([`Attention`](crate::Attention)): the tile is queries x keys x head dimension.
    FlashAttention,
    /// A grouped product, such as that of a mixture of experts: [`Template::groups`].
    GroupedMoe,
}

impl TemplateName {
    /// Every name.
    pub const ALL: [TemplateName; 2] = [TemplateName::FlashAttention, TemplateName::GroupedMoe];

    /// The name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            TemplateName::FlashAttention => "flash-attention",
            TemplateName::GroupedMoe => "grouped-moe",
        }
    }
}

impl FromStr for TemplateName {
    type Err = &'static str;

    /// Reads a [`TemplateName::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let template = TemplateName::ALL.into_iter().find(|template| template.name() == name);
        template.ok_or("unknown template; known: flash-attention, grouped-moe")
    }
}

/// What is asked. Without a tile the planner selects one, for which it needs the shape; everything else that is left
/// open is as usual for the path ([`Template::on_path`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The architecture, such as `sm_120`. Where it is empty, that of the GPU.
    pub arch: String,
    /// The GPU whose speed is assumed, by name; else the first of the architecture.
    #[serde(rename = "product")]
    pub gpu: Option<String>,
    /// The element types.
    pub dtype: GemmType,
    /// Rows of A and C.
    pub m: Option<u64>,
    /// Columns of B and C.
    pub n: Option<u64>,
    /// Columns of A, rows of B.
    pub k: Option<u64>,
    /// The tile.
    pub tile: Option<TileShape>,
    /// Stages in the frontend's meaning; else as many as fit, 8 at most.
    pub stages: Option<u32>,
    /// The instructions.
    pub path: Option<Path>,
    /// Where the accumulators live.
    pub accumulator: Option<Accumulator>,
    /// Accumulators in tensor memory at once.
    pub accumulator_buffers: Option<u32>,
    /// How results leave.
    pub epilogue: Option<Epilogue>,
    /// Math warps.
    pub warps: Option<u32>,
    /// Producer warps.
    pub producer_warps: Option<u32>,
    /// Who makes the kernel.
    pub frontend: Option<Frontend>,
    /// When narrow elements are widened.
    pub widening: Option<Widening>,
    /// Bytes of an element of C.
    pub output_bytes: Option<u32>,
    /// Static shared memory besides the operands.
    pub static_bytes: Option<u32>,
    /// Bytes that each warp has for itself.
    pub scratch_per_warp_bytes: Option<u32>,
    /// Split-K factor: CTAs that share K.
    pub split_k: Option<u32>,
    /// CTAs of a cluster along m and n.
    pub cluster: Option<(u32, u32)>,
    /// Registers of a thread, where a compiler has said so.
    pub registers_per_thread: Option<u32>,
    /// A template of more than one product, or of a grouped one; else a matrix product is meant, or the buffers.
    pub template: Option<TemplateName>,
    /// The buffers of a kernel of which nothing else is known, one a line, as `docs/planner.md` has it.
    pub buffers: String,
    /// Threads of a CTA, for named buffers; 128 where nothing is said.
    pub threads: Option<u32>,
    /// For FlashAttention: where Q is during the main loop.
    pub queries: Option<Accumulator>,
    /// For FlashAttention: passes over the keys.
    pub passes: Option<u32>,
    /// For a grouped product: the groups whose ends are in shared memory.
    pub groups: Option<u32>,
    /// Bytes that are to be left free.
    pub margin_bytes: u64,
    /// Whether the answer lists every move tried from the start, and not only those that are made.
    pub explain: bool,
}

impl Default for Request {
    /// f16 on sm_90, and everything else open.
    fn default() -> Self {
        Self {
            arch: "sm_90".to_string(),
            gpu: None,
            dtype: GemmType::F16,
            m: None,
            n: None,
            k: None,
            tile: None,
            stages: None,
            path: None,
            accumulator: None,
            accumulator_buffers: None,
            epilogue: None,
            warps: None,
            producer_warps: None,
            frontend: None,
            widening: None,
            output_bytes: None,
            static_bytes: None,
            scratch_per_warp_bytes: None,
            split_k: None,
            cluster: None,
            registers_per_thread: None,
            template: None,
            buffers: String::new(),
            threads: None,
            queries: None,
            passes: None,
            groups: None,
            margin_bytes: 0,
            explain: false,
        }
    }
}

impl Request {
    /// The template that is asked for on a path with a tile; what is left open is as usual.
    pub(crate) fn template(&self, arch: &Architecture, path: Path, tile: TileShape, stages: u32) -> Template {
        let usual = Template::on_path(arch, path, self.dtype, tile, stages);
        Template {
            frontend: self.frontend.unwrap_or(usual.frontend),
            warps: self.warps.unwrap_or(usual.warps),
            producer_warps: self.producer_warps.unwrap_or(usual.producer_warps),
            accumulator: self.accumulator.unwrap_or(usual.accumulator),
            accumulator_buffers: self.accumulator_buffers.unwrap_or(usual.accumulator_buffers),
            epilogue: self.epilogue.unwrap_or(usual.epilogue),
            output_bytes: self.output_bytes.unwrap_or(usual.output_bytes),
            widening: self.widening.unwrap_or(usual.widening),
            scratch_per_warp_bytes: self.scratch_per_warp_bytes.unwrap_or(usual.scratch_per_warp_bytes),
            static_bytes: self.static_bytes.unwrap_or(usual.static_bytes),
            split_k: self.split_k.unwrap_or(usual.split_k),
            cluster: self.cluster.unwrap_or(usual.cluster),
            registers_per_thread: self.registers_per_thread.or(usual.registers_per_thread),
            groups: self.groups.unwrap_or(usual.groups),
            ..usual
        }
    }

    /// Whether the answer is about the buffers of a kernel: [`kernel_report`](crate::kernel_report) has it, else
    /// [`report`](crate::report()).
    pub fn is_of_kernel(&self) -> bool {
        self.template == Some(TemplateName::FlashAttention) || !self.buffers.trim().is_empty()
    }

    /// What is asked of the templates where one is selected.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            margin_bytes: self.margin_bytes,
            path: self.path,
            frontend: self.frontend.unwrap_or_default(),
            output_bytes: self.output_bytes,
            ..Policy::default()
        }
    }

    /// Whether the template that is asked for keeps every rule; whether it fits is another question, and takes longer.
    pub(crate) fn keeps_rules(&self) -> bool {
        let arch = cuda_arch::find(&self.arch).ok();
        let path = arch.and_then(|arch| self.path.or(Path::best(arch, self.dtype)));
        let (Some(arch), Some(path), Some(tile)) = (arch, path, self.tile) else {
            return false;
        };
        let one = self.frontend.unwrap_or_default().stages(1, path);
        let template = self.template(arch, path, tile, self.stages.unwrap_or(one));
        template.check(arch).is_ok()
    }
}
