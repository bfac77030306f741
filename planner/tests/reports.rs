//! Kernels that did not launch, as their users reported it, and what each of them would have needed to be told.
//!
//! Where a report gives a configuration, the planner computes its bytes and what must give, beside what the project
//! did. Where it gives bytes alone, [`launchable`] answers.

use cuda_arch::Architecture;
use tilewright_plan::{
    Epilogue, EpilogueTile, Fit, Frontend, GemmType, MoveKind, Outcome, Path, Template, TileShape, Verdict, Worksheet,
    fit, largest_stages, launchable, worksheet,
};

fn arch(name: &str) -> &'static Architecture {
    cuda_arch::find(name).expect("in the table")
}

fn cutlass(name: &str, ty: GemmType, tile: (u32, u32, u32), stages: u32) -> Template {
    Template {
        frontend: Frontend::Cutlass,
        ..Template::on_path(
            arch(name),
            Path::MmaSync,
            ty,
            TileShape::new(tile.0, tile.1, tile.2),
            stages,
        )
    }
}

fn sheet(template: &Template, name: &str) -> Worksheet {
    worksheet(template, arch(name), 0).expect("legal")
}

fn fitted(template: &Template, name: &str) -> Fit {
    fit(template, arch(name), 0, None).expect("legal")
}

fn kinds(fit: &Fit) -> Vec<MoveKind> {
    fit.steps.iter().map(|step| step.taken.kind).collect()
}

fn line(sheet: &Worksheet, name: &str) -> u64 {
    sheet.component(name).map_or(0, |line| line.bytes)
}

/// A report that gives bytes: who, architecture, static and dynamic bytes, what becomes of it, bytes over.
type Report = (&'static str, &'static str, u64, u64, Verdict, u64);

#[rustfmt::skip]
const REPORTS: [Report; 19] = [
    // One KiB too much: what the SM has, and a CTA does not.
    ("https://github.com/NVIDIA/cutlass/issues/3144", "sm_121", 0, 102_400, Verdict::TooLarge, 1024),
    ("https://github.com/vllm-project/vllm/issues/53748", "sm_121", 0, 102_400, Verdict::TooLarge, 1024),
    ("https://github.com/Dao-AILab/flash-attention/pull/2594", "sm_100", 0, 233_472, Verdict::TooLarge, 1024),
    // The same kernel with one stage, and with bf16 in place of fp8: the guard must know types
    // (vllm-project/vllm#54013).
    ("https://github.com/vllm-project/vllm/pull/54013", "sm_121", 0, 83_968, Verdict::NeedsOptIn, 0),
    ("https://github.com/vllm-project/vllm/pull/54013", "sm_121", 0, 63_488, Verdict::NeedsOptIn, 0),
    // CTAs sized for 9.0.
    ("https://github.com/sgl-project/sglang/pull/17908", "sm_120", 0, 106_496, Verdict::TooLarge, 5120),
    ("https://github.com/sgl-project/sglang/issues/2847", "sm_86", 0, 106_496, Verdict::TooLarge, 5120),
    ("https://github.com/flashinfer-ai/flashinfer/issues/3807", "sm_120", 0, 118_784, Verdict::TooLarge, 17_408),
    ("https://github.com/triton-lang/triton/issues/8182", "sm_120", 0, 131_072, Verdict::TooLarge, 29_696),
    ("https://github.com/sgl-project/sglang/pull/28038", "sm_121", 0, 147_456, Verdict::TooLarge, 46_080),
    ("https://github.com/sgl-project/sglang/issues/5995", "sm_89", 0, 163_840, Verdict::TooLarge, 62_464),
    // tinygemm2: 16 stages of 12 KiB; static are 2 KiB for a reduction, a bias of 32 B and three barriers a stage.
    ("https://github.com/flashinfer-ai/flashinfer/pull/2670", "sm_120", 2464, 196_608, Verdict::TooLarge, 97_696),
    ("https://github.com/flashinfer-ai/flashinfer/pull/2670", "sm_120", 2272, 98_304, Verdict::NeedsOptIn, 0),
    ("https://github.com/flashinfer-ai/flashinfer/pull/2670", "sm_90", 2464, 196_608, Verdict::NeedsOptIn, 0),
    // The capacity of sm_100 asked for on 12.0.
    ("https://github.com/flashinfer-ai/flashinfer/pull/2835", "sm_120", 0, 232_448, Verdict::TooLarge, 131_072),
    // All of the limit is usable: the reserved KiB is not in it, and must not be taken off again.
    ("https://github.com/NVIDIA/Fuser/pull/4465", "sm_90", 0, 232_448, Verdict::NeedsOptIn, 0),
    // ... but static shared memory, of which 16 bytes had been forgotten, counts.
    ("https://github.com/NVIDIA/Fuser/pull/5272", "sm_90", 16, 232_448, Verdict::TooLarge, 16),
    ("https://github.com/NVIDIA/Fuser/pull/4644", "sm_90", 16, 232_432, Verdict::NeedsOptIn, 0),
    // Static beyond 48 KiB.
    ("https://github.com/sgl-project/sglang/issues/25484", "sm_90", 51_584, 0, Verdict::StaticTooLarge, 2432),
];

#[test]
fn reported_bytes_and_the_line_that_would_have_helped() {
    for (url, name, static_bytes, dynamic_bytes, verdict, over_by) in REPORTS {
        let launch = launchable(arch(name), static_bytes, dynamic_bytes);
        assert_eq!((launch.verdict, launch.over_by_bytes), (verdict, over_by), "{url}");
        let message = launch.to_string();
        let expected = match verdict {
            Verdict::TooLarge => format!("do not launch on {name}: {over_by} B over the {} B", launch.limit_bytes),
            Verdict::NeedsOptIn => format!(
                "MAX_DYNAMIC_SHARED_SIZE_BYTES, {dynamic_bytes}): {} B are left",
                launch.left_bytes
            ),
            Verdict::StaticTooLarge => format!("cannot be assembled: {over_by} B over the 49152 B"),
            Verdict::Launches => unreachable!("no report"),
        };
        assert!(message.contains(&expected), "{url}: {message}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn the_answer_names_who_would_take_the_kernel() {
    let launch = launchable(arch("sm_120"), 0, 102_400);
    assert_eq!(
        launch.to_string(),
        "102400 B (0 static, 102400 dynamic) do not launch on sm_120: 1024 B over the 101376 B that a block may have; \
         cuFuncSetAttribute and cuLaunchKernel answer CUDA_ERROR_INVALID_VALUE; sm_80, sm_87, sm_90, sm_100, sm_103, \
         sm_110 would take it"
    );
    assert_eq!(launch.verdict.error(), Some("CUDA_ERROR_INVALID_VALUE"));
    assert!(
        launchable(arch("sm_90"), 0, 232_449)
            .to_string()
            .ends_with("no architecture takes it")
    );
    // ptxas writes hexadecimal.
    let launch = launchable(arch("sm_90"), 51_584, 0);
    assert!(launch.to_string().contains("0xc980 bytes, 0xc000 max"), "{launch}");
    assert!(launch.taken_by.is_empty());
    // At the default limit nothing is asked of the user; one byte more, and it is.
    assert_eq!(launchable(arch("sm_75"), 0, 49_152).verdict, Verdict::Launches);
    assert_eq!(launchable(arch("sm_75"), 1, 49_152).verdict, Verdict::NeedsOptIn);
    // Sums that overflow do not launch.
    let launch = launchable(arch("sm_75"), 1, u64::MAX);
    assert_eq!(
        (launch.verdict, launch.over_by_bytes),
        (Verdict::TooLarge, u64::MAX - 65_536)
    );
}

/// <https://github.com/NVIDIA/cutlass/issues/3144>: takes 12.0 for a part of 228 KiB, so that 12.1 seems the exception.
/// <https://github.com/NVIDIA/TensorRT-LLM/pull/12141> has a threshold of "105 KiB with safety margin" for the same
/// reason, and <https://github.com/flashinfer-ai/flashinfer/pull/2927> takes the 102400 B of an SM for the limit of a
/// CTA.
#[test]
fn parts_of_12_0_and_12_1_have_the_same_99_kib() {
    for name in ["sm_86", "sm_89", "sm_120", "sm_121"] {
        assert_eq!(launchable(arch(name), 0, 101_376).left_bytes, 0, "{name}");
        assert_eq!(launchable(arch(name), 0, 101_377).over_by_bytes, 1, "{name}");
        assert_eq!(
            launchable(arch(name), 0, 105 << 10).verdict,
            Verdict::TooLarge,
            "{name}"
        );
        assert_eq!(arch(name).smem_per_sm, 102_400);
    }
}

/// <https://github.com/sgl-project/sglang/pull/28038>: FP8 MoE, 128x256x128, `num_stages` 4. The project clamps stages
/// first.
#[test]
fn sglang_28038_one_stage_less() {
    for name in ["sm_89", "sm_120", "sm_121"] {
        let template = Template {
            frontend: Frontend::Triton,
            producer_warps: 0,
            ..cutlass(name, GemmType::E4m3, (128, 256, 128), 4)
        };
        let fit = fitted(&template, name);
        assert_eq!(
            (fit.start.total_bytes, fit.start.over_by_bytes),
            (147_456, 46_080),
            "{name}"
        );
        assert_eq!(kinds(&fit), [MoveKind::DropStage]);
        assert_eq!((fit.end().total_bytes, fit.end().template.stages), (98_304, 3));
    }
}

/// <https://github.com/NVIDIA/TensorRT-LLM/issues/11368>, fixed by #12141: tiles of 128x128x256B and 256x128x128B
/// (bytes of NVFP4 along K) fail on 12.1; 128x128x128B became the default. #12704 then filters the tactics by the
/// device's limit.
#[test]
fn tensorrt_llm_11368_half_the_depth() {
    let template = cutlass("sm_121", GemmType::Nvfp4, (128, 128, 512), 2);
    let fit = fitted(&template, "sm_121");
    assert_eq!((fit.start.total_bytes, fit.start.over_by_bytes), (147_712, 46_336));
    assert_eq!(kinds(&fit), [MoveKind::HalveK]);
    // The tile that the project took: 128 bytes are 256 elements.
    assert_eq!(fit.end().template.tile, TileShape::new(128, 128, 256));

    let two_stages_fit = |tile| sheet(&cutlass("sm_121", GemmType::Nvfp4, tile, 2), "sm_121").fits;
    let survivors: Vec<_> = [
        (128, 128, 512),
        (256, 128, 256),
        (128, 128, 256),
        (128, 256, 128),
        (128, 128, 128),
    ]
    .into_iter()
    .filter(|&tile| two_stages_fit(tile))
    .collect();
    assert_eq!(survivors, [(128, 128, 256), (128, 256, 128), (128, 128, 128)]);
}

/// <https://github.com/NVIDIA/cutlass/issues/3144>: grouped NVFP4, 128x256x64B, 102400 B. Three stages take 83328 B; of
/// the rest (epilogue, tensor maps, scheduler) the report says nothing more.
#[test]
fn cutlass_3144_one_stage_less() {
    let mainloop = cutlass("sm_121", GemmType::Nvfp4, (128, 256, 128), 3);
    let stages = sheet(&mainloop, "sm_121").total_bytes;
    assert_eq!(stages, 3 * 27_776);
    let template = Template {
        producer_warps: 0,
        scratch_per_warp_bytes: (102_400 - stages as u32) / 8,
        ..mainloop
    };
    let fit = fitted(&template, "sm_121");
    assert_eq!(fit.start.over_by_bytes, 1024, "{fit}");
    assert_eq!(kinds(&fit), [MoveKind::DropStage]);
    assert_eq!(fit.end().left_bytes, 27_776 - 1024);
}

/// <https://github.com/NVIDIA/cutlass/issues/3096>: stages counted from a sum of parts, without the padding before
/// arrays that are aligned to 1024; 3 stages chosen where 2 fit.
#[test]
fn cutlass_3096_padding_counts() {
    let template = Template {
        // What stands before the main loop's arrays.
        static_bytes: 17_500,
        ..cutlass("sm_120", GemmType::Nvfp4, (128, 256, 128), 3)
    };
    let fit = fitted(&template, "sm_120");
    let padding = line(&fit.start, "alignment padding");
    let parts = fit.start.total_bytes - padding;
    assert!(parts <= 101_376 && fit.start.total_bytes > 101_376, "{fit}");
    assert_eq!((parts, padding), (17_500 + 3 * 27_776, 932));
    assert_eq!(fit.start.over_by_bytes, 384);
    assert_eq!(fit.end().template.stages, 2);
    let (most, _) = largest_stages(&template, arch("sm_120"), 0)
        .expect("legal")
        .expect("fits");
    assert_eq!(most, 2);
}

/// <https://github.com/flashinfer-ai/flashinfer/issues/3807>: a fused MoE kernel loads a gate and an up projection,
/// whose stage count left out the second B and its scales: 118784 B. The fix takes stages off until the whole struct
/// fits.
#[test]
fn flashinfer_3807_the_second_b_counts() {
    let epilogue = Epilogue::Own(EpilogueTile {
        m: 64,
        n: 64,
        buffers: 1,
    });
    // Barriers are within the padding of the report's struct.
    let bytes = |n| {
        let template = Template {
            epilogue,
            ..Template::on_path(
                arch("sm_120"),
                Path::MmaSync,
                GemmType::Nvfp4,
                TileShape::new(128, n, 128),
                4,
            )
        };
        let fit = fitted(&template, "sm_120");
        (fit.start.total_bytes - line(&fit.start, "barriers"), fit)
    };
    let (believed, fit) = bytes(128);
    assert_eq!((believed, fit.outcome), (81_920, Outcome::AlreadyFits));
    // Both of them: as if n were 256.
    let (taken, fit) = bytes(256);
    assert_eq!(taken, 118_784);
    assert_eq!(kinds(&fit), [MoveKind::DropStage]);
    assert_eq!(fit.end().template.stages, 3);
}

/// <https://github.com/flashinfer-ai/flashinfer/pull/2670>: 16 stages of 16x8x256 bf16, now chosen by what the device
/// has.
#[test]
fn flashinfer_2670_stages_by_device() {
    let template = Template {
        warps: 1,
        ..Template::on_path(
            arch("sm_120"),
            Path::MmaSync,
            GemmType::Bf16,
            TileShape::new(16, 8, 256),
            16,
        )
    };
    let fit = fitted(&template, "sm_120");
    assert_eq!(fit.start.over_by_bytes, 16 * (12_288 + 16) - 101_376);
    assert!(kinds(&fit).iter().all(|kind| *kind == MoveKind::DropStage));
    assert_eq!(fit.end().template.stages, 8);
    let (most, _) = largest_stages(&template, arch("sm_90"), 0)
        .expect("legal")
        .expect("fits");
    assert!(most >= 16);
}

/// <https://github.com/flashinfer-ai/flashinfer/pull/3568> and #4013: MXFP8 tiles of 256x128 and 128x256 with two
/// stages never start on 12.x; CUTLASS said "Error Internal". The main loop alone is 256 B too much. The tiles were
/// removed.
#[test]
fn flashinfer_4013_two_stages_are_256_bytes_too_much() {
    for tile in [(128, 256, 128), (256, 128, 128)] {
        let template = cutlass("sm_121", GemmType::Mxfp8, tile, 2);
        let fit = fitted(&template, "sm_121");
        assert_eq!((fit.start.total_bytes, fit.start.over_by_bytes), (101_632, 256));
        // Half of k would cut through a scale atom of 128 elements; a single stage would be worse than the smaller
        // tile.
        assert_eq!(kinds(&fit), [MoveKind::HalveLongerSide]);
        assert_eq!(fit.end().template.tile, TileShape::new(128, 128, 128));
        let half_k = &fit.steps[0].passed_over[MoveKind::HalveK as usize];
        assert!(
            !half_k.legal && half_k.reason.contains("atoms of 4 blocks along k"),
            "{half_k}"
        );
    }
    // What remains of the ten tactics: 128x32, 128x64 and 128x128.
    for n in [32, 64, 128] {
        assert!(sheet(&cutlass("sm_121", GemmType::Mxfp8, (128, n, 128), 2), "sm_121").fits);
    }
}

/// <https://github.com/deepseek-ai/DeepGEMM/issues/339>, #345, #347: the scales were left out of the sum.
#[test]
fn deepgemm_339_scales_count() {
    let template = Template {
        frontend: Frontend::Deepgemm,
        ..Template::usual(arch("sm_100"), GemmType::Mxfp8xMxfp4, TileShape::new(128, 128, 128), 6).expect("supported")
    };
    let sheet = sheet(&template, "sm_100");
    assert_eq!(
        (line(&sheet, "scales of A"), line(&sheet, "scales of B")),
        (6 * 512, 6 * 512)
    );
    let others = line(&sheet, "operand A") + line(&sheet, "operand B") + line(&sheet, "barriers, once");
    assert_eq!(
        others + 2 * 6 * 512 + line(&sheet, "alignment padding"),
        sheet.total_bytes
    );
}

/// <https://github.com/meta-pytorch/tritonbench/pull/701>: configurations were pruned without the epilogue's staging,
/// so that 4 buffers of 128x256x64 f16 and all of C were tried on a B200.
#[test]
fn tritonbench_701_the_epilogue_counts() {
    let without = Template {
        frontend: Frontend::Triton,
        ..Template::usual(arch("sm_100"), GemmType::F16, TileShape::new(128, 256, 64), 4).expect("supported")
    };
    assert!(sheet(&without, "sm_100").fits);
    let template = Template {
        epilogue: Epilogue::Own(EpilogueTile {
            m: 128,
            n: 256,
            buffers: 1,
        }),
        ..without
    };
    let fit = fitted(&template, "sm_100");
    assert_eq!(line(&fit.start, "epilogue"), 65_536);
    assert_eq!(kinds(&fit), [MoveKind::DropStage]);
    // With a fourth buffer, a quarter of the epilogue at a time is what the pruner's EPILOGUE_SUBTILE is for.
    let quarter = Template {
        epilogue: Epilogue::Own(EpilogueTile {
            m: 128,
            n: 64,
            buffers: 1,
        }),
        ..template
    };
    assert!(sheet(&quarter, "sm_100").fits);
}

/// <https://github.com/NVIDIA/Fuser/pull/4465>: the reserved part was taken off the opt-in limit a second time.
#[test]
fn fuser_4465_the_reserve_is_outside_the_limit() {
    for arch in &cuda_arch::ARCHITECTURES {
        let limit = u64::from(arch.smem_per_block_optin);
        let all = launchable(arch, 0, limit);
        assert_eq!((all.verdict, all.left_bytes), (Verdict::NeedsOptIn, 0), "{}", arch.name);
        assert_eq!(limit + u64::from(arch.smem_reserved_per_block), arch.smem_per_sm.into());
    }
}
