//! Moves, and the least invasive sequence of them.

use cuda_arch::Architecture;
use tilewright_plan::{
    Accumulator, Epilogue, EpilogueTile, Fit, Frontend, GemmType, Move, MoveKind, Outcome, Path, Shape, Template,
    TileShape, Widening, fit, moves, rules, worksheet,
};

fn arch(name: &str) -> &'static Architecture {
    cuda_arch::find(name).expect("in the table")
}

fn usual(name: &str, ty: GemmType, tile: (u32, u32, u32), stages: u32) -> Template {
    Template::usual(arch(name), ty, TileShape::new(tile.0, tile.1, tile.2), stages).expect("the type is supported")
}

fn fitted(template: &Template, name: &str) -> Fit {
    fit(template, arch(name), 0, None).expect("legal")
}

fn kinds(fit: &Fit) -> Vec<MoveKind> {
    fit.steps.iter().map(|step| step.taken.kind).collect()
}

fn tried(kind: MoveKind, template: &Template, name: &str, shape: Option<Shape>) -> Move {
    let sheet = worksheet(template, arch(name), 0).expect("legal");
    moves(&sheet, arch(name), shape).remove(kind as usize)
}

fn own(m: u32, n: u32, buffers: u32) -> Epilogue {
    Epilogue::Own(EpilogueTile { m, n, buffers })
}

#[test]
fn moves_come_in_the_ladders_order() {
    let sheet = worksheet(&usual("sm_120", GemmType::Bf16, (128, 128, 64), 4), arch("sm_120"), 0).expect("legal");
    let tried: Vec<_> = moves(&sheet, arch("sm_120"), None)
        .iter()
        .map(|tried| tried.kind)
        .collect();
    assert_eq!(tried, MoveKind::ALL);
    assert!(MoveKind::ALL.iter().enumerate().all(|(i, kind)| *kind as usize == i));
}

#[test]
fn the_budget_guides_example_needs_its_accumulators_in_registers_and_nothing_else() {
    let template = Template {
        accumulator: Accumulator::SharedMemory,
        ..usual("sm_120", GemmType::Nvfp4, (128, 256, 64), 4)
    };
    let fit = fitted(&template, "sm_120");
    assert_eq!(kinds(&fit), [MoveKind::AccumulatorToRegisters]);
    assert_eq!((fit.start.over_by_bytes, fit.end().total_bytes), (85_056, 55_360));
    // All that the guide tries first is written down with its reason.
    let passed_over = &fit.steps[0].passed_over;
    assert_eq!(passed_over.len(), MoveKind::AccumulatorToRegisters as usize);
    let half_k = &passed_over[MoveKind::HalveK as usize];
    assert!(!half_k.legal && half_k.reason.contains("nearest: 64"), "{half_k}");
}

#[test]
fn what_barely_misses_gives_a_stage() {
    // 3 stages of 48 KiB and their barriers.
    let fit = fitted(&usual("sm_120", GemmType::Bf16, (128, 256, 64), 3), "sm_120");
    assert_eq!(kinds(&fit), [MoveKind::DropStage]);
    assert_eq!((fit.end().total_bytes, fit.end().template.stages), (98_336, 2));
    assert_eq!(
        fit.to_string(),
        "bf16 128x256x64 on mma.sync, 3 stages: 147504 B on sm_120, 46128 B over the limit of 101376 B\n\
         1. drop a stage: 147504 -> 98336 B, fits; 3 -> 2 stages of 49168 B; 3 -> 2 buffers to hide loading behind"
    );
}

#[test]
fn the_epilogue_goes_before_the_second_buffer_and_the_tile() {
    // 2 stages leave 3040 B, the epilogue wants 8192.
    let template = Template {
        epilogue: own(128, 32, 1),
        ..usual("sm_120", GemmType::Bf16, (128, 256, 64), 2)
    };
    let fit = fitted(&template, "sm_120");
    assert_eq!(kinds(&fit), [MoveKind::ReuseOperands]);
    assert_eq!(fit.end().total_bytes, 98_336);
    // Where half of the piece is small enough it may keep a place of its own, but lying over the operands is less work.
    let halved = tried(MoveKind::HalveEpilogue, &template, "sm_120", None);
    assert_eq!((halved.legal, halved.before_bytes - halved.after_bytes), (true, 4096));
    let direct = tried(MoveKind::DirectEpilogue, &template, "sm_120", None);
    assert_eq!((direct.legal, direct.fits), (true, true));
    assert!(direct.cost.text.contains("runs of 16 B"), "{direct}");
}

#[test]
fn a_piece_is_halved_until_threads_would_have_no_whole_store() {
    // Buffers first, then the longer side; 256 threads store at least 16 B each.
    let mut template = Template {
        epilogue: own(64, 64, 3),
        ..usual("sm_120", GemmType::Bf16, (128, 256, 64), 2)
    };
    let mut seen = Vec::new();
    loop {
        let halved = tried(MoveKind::HalveEpilogue, &template, "sm_120", None);
        if !halved.legal {
            assert!(halved.reason.contains("16-byte store"), "{halved}");
            break;
        }
        template = halved.template;
        seen.push(template.epilogue.to_string());
    }
    assert_eq!(seen, ["64x64x2", "64x64", "64x32"]);
}

#[test]
fn the_longer_side_is_halved_first_and_n_of_equal_ones() {
    let halves = |m, n| {
        let template = usual("sm_120", GemmType::Bf16, (m, n, 64), 2);
        let half = |kind| tried(kind, &template, "sm_120", None).template.tile.to_string();
        (half(MoveKind::HalveLongerSide), half(MoveKind::HalveShorterSide))
    };
    assert_eq!(halves(128, 256), ("128x128x64".into(), "64x256x64".into()));
    assert_eq!(halves(256, 128), ("128x128x64".into(), "256x64x64".into()));
    assert_eq!(halves(128, 128), ("128x64x64".into(), "64x128x64".into()));
    // It adds less traffic for the same saving.
    let cost = |kind| {
        tried(
            kind,
            &usual("sm_120", GemmType::Bf16, (128, 256, 64), 2),
            "sm_120",
            None,
        )
        .cost
        .points
    };
    assert_eq!(
        (cost(MoveKind::HalveLongerSide), cost(MoveKind::HalveShorterSide)),
        (53, 87)
    );
    // A product of 16 rows has nothing to lose along m.
    let few_rows = Some(Shape {
        m: 16,
        n: 4096,
        k: 4096,
    });
    let template = usual("sm_120", GemmType::Bf16, (128, 256, 64), 2);
    let lower = tried(MoveKind::HalveShorterSide, &template, "sm_120", few_rows);
    assert_eq!((lower.cost.points, lower.cost.traffic_ratio), (20, Some(1.0)));
}

#[test]
fn halved_tiles_keep_their_rules() {
    // Scale atoms have 128 rows: half of the rows save half of the operand, and no scales.
    let scaled = usual("sm_120", GemmType::Nvfp4, (128, 128, 128), 2);
    let lower = tried(MoveKind::HalveShorterSide, &scaled, "sm_120", None);
    assert!(lower.legal && lower.before_bytes - lower.after_bytes == 2 * 64 * 64);
    // A quarter of an atom is none of ours, and CUTLASS has whole ones.
    for refused in [
        usual("sm_120", GemmType::Nvfp4, (64, 128, 128), 2),
        Template {
            frontend: Frontend::Cutlass,
            ..scaled
        },
    ] {
        let lower = tried(MoveKind::HalveShorterSide, &refused, "sm_120", None);
        assert!(!lower.legal && lower.template == refused && lower.before_bytes == lower.after_bytes);
        assert!(lower.reason.contains(rules::SCALE_ATOM_ROWS.source), "{lower}");
    }
    let narrower = tried(MoveKind::HalveLongerSide, &scaled, "sm_120", None);
    assert!(narrower.legal);
    // Scales of B are padded to 128 rows: half of the columns save half of the operand, and no scales.
    assert_eq!(narrower.before_bytes - narrower.after_bytes, 2 * 64 * 64);
    // wgmma has 64 rows; 8 warps share what is left along n.
    let wgmma = usual("sm_90", GemmType::Bf16, (128, 128, 64), 3);
    let lower = tried(MoveKind::HalveShorterSide, &wgmma, "sm_90", None);
    assert_eq!(
        (lower.legal, lower.template.tile.m, lower.template.warps),
        (true, 64, 8)
    );
    let lowest = tried(
        MoveKind::HalveShorterSide,
        &usual("sm_90", GemmType::Bf16, (64, 128, 64), 3),
        "sm_90",
        None,
    );
    assert!(!lowest.legal && lowest.reason.contains("nearest: 64"), "{lowest}");
    // 8 warps cannot share 16 x 32 with m16n8.
    let small = Template {
        warps: 4,
        ..usual("sm_120", GemmType::Bf16, (16, 32, 64), 2)
    };
    let smaller = tried(MoveKind::HalveLongerSide, &small, "sm_120", None);
    assert_eq!((smaller.legal, smaller.template.warps), (true, 2));
    // A piece of the epilogue as large as the tile shrinks with it.
    let whole = Template {
        epilogue: own(128, 128, 1),
        ..usual("sm_90", GemmType::Bf16, (128, 128, 64), 3)
    };
    let half = tried(MoveKind::HalveLongerSide, &whole, "sm_90", None);
    assert_eq!((half.legal, half.template.epilogue), (true, own(128, 64, 1)));
}

#[test]
fn accumulators_move_into_registers_with_more_warps_if_need_be() {
    let staged = |warps| Template {
        accumulator: Accumulator::SharedMemory,
        producer_warps: 0,
        warps,
        ..usual("sm_89", GemmType::F16, (256, 128, 32), 2)
    };
    let roomy = tried(MoveKind::AccumulatorToRegisters, &staged(8), "sm_89", None);
    assert_eq!((roomy.legal, roomy.template.warps), (true, 8));
    // 4 warps would hold 256 accumulators a thread.
    let cramped = tried(MoveKind::AccumulatorToRegisters, &staged(4), "sm_89", None);
    assert_eq!((cramped.legal, cramped.template.warps), (true, 8));
    assert!(cramped.reason.ends_with("4 -> 8 warps"), "{cramped}");
    // Scratch of the further warps may cost more than the accumulators free.
    let scratch = Template {
        scratch_per_warp_bytes: 40_000,
        ..staged(4)
    };
    let dear = tried(MoveKind::AccumulatorToRegisters, &scratch, "sm_89", None);
    assert!(!dear.legal && dear.reason.contains("raise the total to"), "{dear}");
    // 1024 threads cannot hold 512 x 256 accumulators in 65536 registers.
    let huge = Template {
        tile: TileShape::new(512, 256, 32),
        ..staged(16)
    };
    let refused = tried(MoveKind::AccumulatorToRegisters, &huge, "sm_89", None);
    assert!(!refused.legal && refused.reason.contains("registers"), "{refused}");
}

#[test]
fn narrow_elements_are_widened_late_to_save_memory() {
    let early = Template {
        widening: Widening::Staging,
        ..usual("sm_80", GemmType::Mxfp4, (128, 128, 64), 4)
    };
    let late = tried(MoveKind::WidenWhileLoading, &early, "sm_80", None);
    // 16 instead of 4 bits, and a scale for 32 elements.
    assert_eq!(
        (late.before_bytes, late.after_bytes),
        (4 * 256 * 128, 4 * 256 * (32 + 2))
    );
    assert!(late.cost.text.contains("2.00 conversions"), "{late}");
    let native = tried(
        MoveKind::WidenWhileLoading,
        &usual("sm_120", GemmType::Mxfp4, (128, 128, 128), 2),
        "sm_120",
        None,
    );
    assert!(!native.legal);
}

#[test]
fn split_k_says_when_it_saves_nothing() {
    let plain = usual("sm_120", GemmType::Bf16, (128, 128, 64), 2);
    let shape = Some(Shape {
        m: 1000,
        n: 500,
        k: 4096,
    });
    let useless = tried(MoveKind::SplitK, &plain, "sm_120", shape);
    assert!(useless.legal && useless.before_bytes == useless.after_bytes);
    assert!(useless.reason.starts_with("saves nothing here"), "{useless}");
    assert_eq!(useless.cost.workspace_bytes, Some(2 * 1000 * 500 * 4));
    assert!(useless.cost.traffic_ratio > Some(1.0));
    // The epilogue's memory is what it can free.
    let staged = Template {
        epilogue: own(128, 128, 1),
        ..plain
    };
    let useful = tried(MoveKind::SplitK, &staged, "sm_120", None);
    assert_eq!(
        (useful.before_bytes - useful.after_bytes, useful.template.split_k),
        (32_768, 2)
    );
    assert!(useful.reason.contains("2 x m x n x 4 B"), "{useful}");
    let short = tried(
        MoveKind::SplitK,
        &staged,
        "sm_120",
        Some(Shape { m: 128, n: 128, k: 64 }),
    );
    assert!(!short.legal, "{short}");
}

#[test]
fn registers_spill_into_shared_memory_only_where_that_is_legal() {
    let refusal = |template: &Template, name| {
        let refused = tried(MoveKind::SpillRegisters, template, name, None);
        assert!(!refused.legal && refused.before_bytes == refused.after_bytes);
        refused.reason
    };
    // A warp's 64 x 96 accumulators take 264 registers a thread: 9 too many.
    let legal = Template {
        warps: 8,
        accumulator: Accumulator::SharedMemory,
        operands_static: true,
        ..Template::on_path(
            arch("sm_80"),
            Path::MmaSync,
            GemmType::F16,
            TileShape::new(256, 192, 8),
            1,
        )
    };
    let spilled = tried(MoveKind::SpillRegisters, &legal, "sm_80", None);
    assert!(spilled.legal && spilled.fits, "{spilled}");
    assert_eq!(spilled.after_bytes, 7168 + 9 * 4 * 256);
    assert!(spilled.reason.contains(".maxntid 256"), "{spilled}");
    // The SM of 12.0 is smaller, and so is what ptxas takes of it.
    let deeper = Template {
        tile: TileShape::new(256, 192, 16),
        ..legal
    };
    assert!(refusal(&deeper, "sm_120").contains("ptxas takes 1024 B at most"));

    let dynamic = Template {
        operands_static: false,
        ..legal
    };
    assert!(refusal(&dynamic, "sm_80").contains("not allowed for dynamic"));
    let handing_over = Template {
        producer_warps: 4,
        ..legal
    };
    assert!(refusal(&handing_over, "sm_90").contains("setmaxnreg"));
    let roomy = Template {
        tile: TileShape::new(256, 128, 8),
        ..legal
    };
    assert!(refusal(&roomy, "sm_80").contains("without spilling"));
    let in_registers = Template {
        accumulator: Accumulator::Registers,
        ..roomy
    };
    assert!(refusal(&in_registers, "sm_80").contains("frees none"));
}

#[test]
fn static_operands_opt_in_first() {
    let template = Template {
        operands_static: true,
        ..Template::on_path(
            arch("sm_86"),
            Path::MmaSync,
            GemmType::F16,
            TileShape::new(128, 128, 32),
            4,
        )
    };
    let fit = fitted(&template, "sm_86");
    assert_eq!(kinds(&fit), [MoveKind::OptIn]);
    assert_eq!((fit.start.limit_bytes, fit.end().limit_bytes), (49_152, 101_376));
    assert_eq!(fit.start.total_bytes, fit.end().total_bytes);
}

#[test]
fn wgmma_keeps_three_stages_unless_nothing_cheaper_is_left() {
    // 4 stages of 48 KiB and 96 KiB besides: 2 stages would fit, 4 of half the depth are taken.
    let template = Template {
        static_bytes: 49_152,
        scratch_per_warp_bytes: 4096,
        ..usual("sm_90", GemmType::Bf16, (128, 256, 64), 4)
    };
    let fit = fitted(&template, "sm_90");
    assert_eq!(kinds(&fit), [MoveKind::HalveK]);
    assert_eq!(fit.end().template.stages, 4);
    let two = Template { stages: 2, ..template };
    assert_eq!(fitted(&two, "sm_90").outcome, Outcome::AlreadyFits);
    let third = tried(
        MoveKind::DropStage,
        &usual("sm_90", GemmType::Bf16, (128, 128, 64), 3),
        "sm_90",
        None,
    );
    assert_eq!(third.cost.points, 200);
    let of_mma = tried(
        MoveKind::DropStage,
        &usual("sm_120", GemmType::Bf16, (128, 128, 64), 3),
        "sm_120",
        None,
    );
    assert_eq!(of_mma.cost.points, 20);
}

#[test]
fn a_stage_that_k_never_fills_is_dropped_for_nothing() {
    let shape = Some(Shape {
        m: 4096,
        n: 4096,
        k: 100,
    });
    let template = usual("sm_120", GemmType::Bf16, (128, 256, 64), 3);
    let idle = tried(MoveKind::DropStage, &template, "sm_120", shape);
    assert_eq!(idle.cost.points, 1);
    assert!(idle.cost.text.contains("too short"), "{idle}");
}

#[test]
fn a_proof_names_the_smallest_template_and_what_no_move_changes() {
    let template = Template {
        scratch_per_warp_bytes: 30_000,
        producer_warps: 0,
        ..usual("sm_89", GemmType::F16, (128, 128, 32), 3)
    };
    // Fewer warps need a smaller tile: 16 x 8 has room for a single one, whose scratch fits.
    assert_eq!(fitted(&template, "sm_89").outcome, Outcome::Fits);
    let template = Template {
        scratch_per_warp_bytes: 110_000,
        ..template
    };
    let fit = fitted(&template, "sm_89");
    let Outcome::Impossible(proof) = &fit.outcome else {
        panic!("{fit}")
    };
    assert!(fit.steps.is_empty() && fit.end() == &fit.start);
    assert_eq!(proof.smallest.template.tile, TileShape::new(16, 8, 8));
    // Operands of 16 x 8 and 8 x 8 elements, scratch of one warp.
    assert_eq!(proof.smallest.total_bytes, 256 + 128 + 110_000);
    assert_eq!(proof.smallest.over_by_bytes, 110_384 - 101_376);
    assert!(proof.moves.iter().all(|tried| tried.before_bytes == tried.after_bytes));
    assert!(
        fit.to_string().ends_with(
            "16x8x8 with one buffer, takes 110384 B, 9008 B over the limit of 101376 B; 110000 B of it, which no move \
         changes (static part, barriers, scratch, groups), are too much alone"
        ),
        "{fit}"
    );
}

#[test]
fn the_margin_is_part_of_the_limit() {
    let template = usual("sm_120", GemmType::Bf16, (128, 256, 64), 2);
    assert_eq!(fitted(&template, "sm_120").outcome, Outcome::AlreadyFits);
    let fit = fit(&template, arch("sm_120"), 4096, None).expect("legal");
    assert_eq!(
        (fit.start.over_by_bytes, &fit.outcome),
        (98_336 + 4096 - 101_376, &Outcome::Fits)
    );
    assert!(fit.end().total_bytes + 4096 <= 101_376);
    assert!(fit.to_string().contains("less a margin of 4096 B"));
}

#[test]
fn bad_input_is_a_broken_rule() {
    let template = usual("sm_120", GemmType::Bf16, (128, 256, 64), 4);
    let broken = |template, margin, shape| {
        fit(template, arch("sm_120"), margin, shape)
            .expect_err("refused")
            .to_string()
    };
    let shape = |m, n, k| Some(Shape { m, n, k });
    assert!(broken(&template, 0, shape(0, 1, 1)).starts_with("m 0: must be at least 1"));
    assert!(broken(&template, 0, shape(1, 1, 0)).starts_with("k 0: must be at least 1"));
    assert!(broken(&template, 101_376, None).ends_with("nearest: 101375"));
    assert!(broken(&Template { stages: 0, ..template }, 0, None).ends_with("nearest: 1"));
    // The largest extents are no reason to overflow.
    let largest = shape(u64::MAX, u64::MAX, u64::MAX);
    assert!(fit(&template, arch("sm_120"), 0, largest).expect("legal").end().fits);
}

#[test]
fn absurd_templates_end_too() {
    let template = Template {
        frontend: Frontend::Cutlass,
        epilogue: own(128, 256, 1024),
        ..usual("sm_120", GemmType::Bf16, (128, 256, 65_536), 1024)
    };
    let fit = fitted(&template, "sm_120");
    assert!(fit.end().fits);
    assert_eq!(fit.start.total_bytes, 1024 * (384 * 131_072 + 16) + 1024 * 65_536);
    // Stages that are dropped in a row share a line.
    assert!(fit.to_string().lines().count() < 40, "{fit}");
}

#[test]
fn fits_are_written_as_json() {
    let fit = fitted(&usual("sm_120", GemmType::Bf16, (128, 256, 64), 3), "sm_120");
    let json = serde_json::to_value(&fit).expect("plain");
    assert_eq!(json["outcome"], "fits");
    let taken = &json["steps"][0]["taken"];
    assert_eq!(taken["kind"], "drop_stage");
    assert_eq!(taken["name"], "drop a stage");
    assert_eq!(taken["before_bytes"], 147_504);
    assert_eq!(taken["after_bytes"], 98_336);
    assert_eq!(taken["cost"]["buffers"]["after"], 2);
    assert!(taken["reason"].is_string());
    assert_eq!(json["steps"][0]["sheet"]["fits"], true);
}
