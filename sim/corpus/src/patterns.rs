//! Bugs of published Hopper kernels, as the trackers of public projects describe them, and the pairs that follow them.

/// A bug as a public tracker describes it.
pub struct Pattern {
    /// Where it was reported: project and number, and the address of the thread.
    pub reported: &'static [(&'static str, &'static str)],
    /// The mistake.
    pub mistake: &'static str,
    /// Its pairs.
    pub pairs: &'static [&'static str],
    /// Mutants of `wgmma` kernels with the same mistake, which have run on a GPU.
    pub mutants: &'static [&'static str],
}

/// Our kernels read what TMA loads through the async proxy alone.
const NO_ORDINARY_READS: &[&str] = &[];

/// Our kernels take their tensor maps as they are.
const NO_CHANGED_MAPS: &[&str] = &[];

/// The bugs.
pub const PATTERNS: [Pattern; 14] = [
    Pattern {
        reported: &[("FlashKDA #24", "https://github.com/MoonshotAI/FlashKDA/issues/24")],
        mistake: "a TMA store reads what threads wrote without a proxy fence",
        pairs: &["no_proxy_fence", "proxy_fence_of_one"],
        mutants: &["store_no_proxy_fence"],
    },
    Pattern {
        reported: &[("FlashKDA #24", "https://github.com/MoonshotAI/FlashKDA/issues/24")],
        mistake: "an mbarrier is used before its initialization is fenced",
        pairs: &["no_fence_after_init", "multicast_to_unfenced"],
        mutants: &["mbarrier_no_fence"],
    },
    Pattern {
        reported: &[
            ("DeepEP #642", "https://github.com/deepseek-ai/DeepEP/pull/642"),
            ("#621", "https://github.com/deepseek-ai/DeepEP/issues/621"),
        ],
        mistake: "a TMA load overwrites what threads have read, without a proxy fence",
        pairs: &["refilled_without_proxy_fence"],
        mutants: NO_ORDINARY_READS,
    },
    Pattern {
        reported: &[(
            "TransformerEngine #2695",
            "https://github.com/NVIDIA/TransformerEngine/pull/2695",
        )],
        mistake: "the same across the stages of a pipeline",
        pairs: &["stage_without_proxy_fence"],
        mutants: NO_ORDINARY_READS,
    },
    Pattern {
        reported: &[("DeepGEMM #343", "https://github.com/deepseek-ai/DeepGEMM/pull/343")],
        mistake: "a tensor map is changed while a load uses it",
        pairs: &["map_changed_during_load"],
        mutants: NO_CHANGED_MAPS,
    },
    Pattern {
        reported: &[("CUTLASS #2162", "https://github.com/NVIDIA/cutlass/issues/2162")],
        mistake: "a tensor map is changed while a store uses it",
        pairs: &["map_changed_during_store"],
        mutants: NO_CHANGED_MAPS,
    },
    Pattern {
        reported: &[("tilelang #2613", "https://github.com/tile-ai/tilelang/issues/2613")],
        mistake: "a stage is refilled while `wgmma` still reads it",
        pairs: &["stage_refilled_during_wgmma"],
        mutants: &["stage_released_early", "stage_released_a_group_early"],
    },
    Pattern {
        reported: &[("tilelang #2634", "https://github.com/tile-ai/tilelang/issues/2634")],
        mistake: "`wgmma` reads an operand that threads wrote without a proxy fence",
        pairs: &["wgmma_without_proxy_fence"],
        mutants: &["rest_not_fenced"],
    },
    Pattern {
        reported: &[("Fuser #5448", "https://github.com/NVIDIA/Fuser/pull/5448")],
        mistake: "a store's buffer is reused without commit and wait",
        pairs: &["store_not_committed", "box_overwritten"],
        mutants: &["store_no_commit", "store_no_wait"],
    },
    Pattern {
        reported: &[("TileOPs #1550", "https://github.com/tile-ai/TileOPs/pull/1550")],
        mistake: "the next tile is written into the buffer that the last tile's store still reads",
        pairs: &["buffer_written_during_store"],
        mutants: &["store_no_barrier_after_wait", "store_waits_for_a_group_too_few"],
    },
    Pattern {
        reported: &[("TileOPs #1574", "https://github.com/tile-ai/TileOPs/pull/1574")],
        mistake: "a store is issued before all threads have written its buffer",
        pairs: &["store_before_barrier"],
        mutants: &["store_no_barrier_before"],
    },
    Pattern {
        reported: &[(
            "CUTracer #106",
            "https://github.com/facebookexperimental/CUTracer/pull/106",
        )],
        mistake: "the wait for a stage follows its first use",
        pairs: &["stage_awaited_late"],
        mutants: &["mbarrier_full_not_awaited"],
    },
    Pattern {
        reported: &[(
            "CUTracer #106",
            "https://github.com/facebookexperimental/CUTracer/pull/106",
        )],
        mistake: "the wait for a stage does not cover the second operand",
        pairs: &["second_operand_not_expected"],
        mutants: &["mbarrier_too_few_bytes"],
    },
    Pattern {
        reported: &[("TIRx #53", "https://github.com/mlc-ai/TIRx-kernels/pull/53")],
        mistake: "`setmaxnreg` by part of a warpgroup; a stage overtaken by its producer; a stage reloaded without a \
                  proxy fence",
        pairs: &[
            "registers_of_three_warps",
            "stage_overtaken_by_load",
            "stage_without_proxy_fence",
        ],
        mutants: &["mbarrier_empty_not_awaited"],
    },
];
