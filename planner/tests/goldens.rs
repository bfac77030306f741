//! Worksheets whose numbers somebody else has published.

use tilewright_plan::{
    Accumulator, Epilogue, EpilogueTile, Frontend, GemmType, Limiter, Path, Template, TileShape, Violation, Worksheet,
    largest_stages, rules, worksheet,
};

fn arch(name: &str) -> &'static cuda_arch::Architecture {
    cuda_arch::find(name).expect("in the table")
}

fn usual(name: &str, ty: GemmType, tile: (u32, u32, u32), stages: u32) -> Template {
    Template::usual(arch(name), ty, TileShape::new(tile.0, tile.1, tile.2), stages).expect("the type is supported")
}

fn sheet(template: &Template, name: &str) -> Worksheet {
    let sheet = worksheet(template, arch(name), 0).expect("legal");
    let lines: u64 = sheet.components.iter().map(|component| component.bytes).sum();
    assert_eq!(lines, sheet.total_bytes, "the lines add up");
    sheet
}

fn bytes(sheet: &Worksheet, name: &str) -> (u64, Option<u64>) {
    sheet
        .component(name)
        .map_or((0, None), |component| (component.bytes, component.per_stage))
}

const KIB: u64 = 1024;

#[test]
fn the_budget_guides_example_corrected() {
    // 128x256x64 NVFP4 with 4 stages: operands 16 + 32 KiB as the guide has them, scales 6 KiB where it has 4.
    for (name, path) in [("sm_100", Path::Tcgen05), ("sm_120", Path::MmaSync)] {
        let template = usual(name, GemmType::Nvfp4, (128, 256, 64), 4);
        assert_eq!(template.path, path);
        let sheet = sheet(&template, name);
        assert_eq!(bytes(&sheet, "operand A"), (16 * KIB, Some(4 * KIB)));
        assert_eq!(bytes(&sheet, "operand B"), (32 * KIB, Some(8 * KIB)));
        assert_eq!(bytes(&sheet, "scales of A"), (4 * 512, Some(512)));
        assert_eq!(bytes(&sheet, "scales of B"), (4 * KIB, Some(KIB)));
        assert_eq!(bytes(&sheet, "barriers"), (64, Some(16)));
        assert!(sheet.fits);
    }
    let on_blackwell = sheet(&usual("sm_100", GemmType::Nvfp4, (128, 256, 64), 4), "sm_100");
    assert_eq!(on_blackwell.total_bytes, 54 * KIB + 64 + 40);
    let columns = on_blackwell.tensor_memory.expect("accumulators in tensor memory");
    assert_eq!((columns.accumulator, columns.scales, columns.allocated), (256, 12, 512));

    // With the accumulators in shared memory, as the guide has it: 128 KiB more, and it does not fit.
    let staged = Template {
        accumulator: Accumulator::SharedMemory,
        ..usual("sm_120", GemmType::Nvfp4, (128, 256, 64), 4)
    };
    let staged = sheet(&staged, "sm_120");
    assert_eq!(bytes(&staged, "accumulator"), (128 * KIB, None));
    assert_eq!(staged.total_bytes, 182 * KIB + 64);
    assert_eq!((staged.fits, staged.over_by_bytes), (false, 182 * KIB + 64 - 101_376));
    assert_eq!(
        (staged.occupancy.blocks_per_sm, staged.occupancy.limiter),
        (0, Limiter::SharedMemory)
    );
    // In registers they take 128 of each of 256 threads.
    let registers = sheet(&usual("sm_120", GemmType::Nvfp4, (128, 256, 64), 4), "sm_120");
    assert_eq!((registers.registers.accumulator, registers.template.warps), (128, 8));
}

#[test]
fn cutlass_stage_counts() {
    // StageCountAutoCarveout: stages = (capacity - carve-out) / (A + B + scales + pipeline rounded up to 128).
    for (tile, stage, stages) in [
        ((128, 128, 128), 18560, [5, 12]),
        ((128, 256, 128), 27776, [3, 8]),
        ((128, 128, 256), 36992, [2, 6]),
    ] {
        for (name, stages) in ["sm_120", "sm_100"].into_iter().zip(stages) {
            let template = Template {
                frontend: Frontend::Cutlass,
                ..usual(name, GemmType::Nvfp4, tile, 1)
            };
            let (most, with_most) = largest_stages(&template, arch(name), 0).expect("legal").expect("fits");
            assert_eq!((with_most.stage_bytes(), most), (stage, stages), "{name} {tile:?}");
        }
    }
}

#[test]
fn tritons_147456_bytes() {
    // sgl-project/sglang#28019: FP8 MoE, 128x256x128, num_stages = 4, on sm_121.
    let template = Template {
        frontend: Frontend::Triton,
        producer_warps: 0,
        ..usual("sm_89", GemmType::E4m3, (128, 256, 128), 4)
    };
    let sheet = sheet(&template, "sm_89");
    assert_eq!((sheet.buffers, sheet.total_bytes), (3, 147_456));
    assert_eq!(sheet.over_by_bytes, 147_456 - 101_376);
}

#[test]
fn deepgemm_sums() {
    // sm_90 bf16: stages of A and B, all of C, 512 B of barriers; C first, all of it aligned to 1024.
    for (tile, stages, epilogue, total) in [
        ((128, 128, 64), 6, (128, 128), 196_608 + 32_768 + 512),
        ((128, 192, 64), 4, (128, 192), 163_840 + 49_152 + 512),
        ((128, 256, 64), 3, (128, 256), 147_456 + 65_536 + 512),
    ] {
        let template = Template {
            frontend: Frontend::Deepgemm,
            epilogue: Epilogue::Own(EpilogueTile {
                m: epilogue.0,
                n: epilogue.1,
                buffers: 1,
            }),
            ..usual("sm_90", GemmType::Bf16, tile, 1)
        };
        let (most, sheet) = largest_stages(&template, arch("sm_90"), 0)
            .expect("legal")
            .expect("fits");
        assert_eq!((most, sheet.total_bytes), (stages, total), "{tile:?}");
    }
}

#[test]
fn the_limit_is_exact_to_the_byte() {
    // Scratch of one warp brings any total.
    let template = |total: u32| Template {
        warps: 1,
        producer_warps: 0,
        scratch_per_warp_bytes: total - 2 * 16 * 8 * 4,
        ..Template::on_path(arch("sm_120"), Path::Simt, GemmType::F32, TileShape::new(16, 16, 8), 1)
    };
    for (total, fits, over) in [
        (99_328, true, 0),
        (101_376, true, 0),
        (101_377, false, 1),
        (102_400, false, 1024),
    ] {
        let sheet = sheet(&template(total), "sm_120");
        assert_eq!(
            (sheet.total_bytes, sheet.fits, sheet.over_by_bytes),
            (total.into(), fits, over)
        );
        assert_eq!(sheet.occupancy.blocks_per_sm > 0, fits);
    }
    // A margin is the user's own, and shown.
    let sheet = worksheet(&template(99_329), arch("sm_120"), 2048).expect("legal");
    assert_eq!((sheet.fits, sheet.over_by_bytes, sheet.margin_bytes), (false, 1, 2048));
}

#[test]
fn a_laid_out_struct_is_more_than_the_sum_of_its_parts() {
    // 100 bytes of static memory push the operands to the next kilobyte.
    let template = Template {
        static_bytes: 100,
        ..usual("sm_120", GemmType::Bf16, (128, 128, 64), 2)
    };
    let sheet = sheet(&template, "sm_120");
    assert_eq!(
        sheet.component("operand A").map(|component| component.offset),
        Some(1024)
    );
    assert_eq!(bytes(&sheet, "alignment padding").0, 1024 - 100);
}

#[test]
fn four_bit_elements_take_a_byte_beside_eight_bit_ones() {
    let mixed = sheet(&usual("sm_100", GemmType::Mxfp8xMxfp4, (128, 128, 128), 3), "sm_100");
    assert_eq!(bytes(&mixed, "operand B"), (48 * KIB, Some(16 * KIB)));
    let alone = sheet(&usual("sm_100", GemmType::Mxfp4, (128, 128, 128), 3), "sm_100");
    assert_eq!(bytes(&alone, "operand B"), (24 * KIB, Some(8 * KIB)));
}

#[test]
fn an_epilogue_over_the_operands_costs_only_what_sticks_out() {
    let with = |epilogue| {
        let template = Template {
            epilogue,
            ..usual("sm_90", GemmType::Bf16, (128, 128, 64), 2)
        };
        sheet(&template, "sm_90")
    };
    let piece = |m, n| EpilogueTile { m, n, buffers: 1 };
    let (own, reuse) = (
        with(Epilogue::Own(piece(128, 128))),
        with(Epilogue::Reuse(piece(128, 128))),
    );
    assert_eq!(own.total_bytes - reuse.total_bytes, 128 * 128 * 2);
    assert_eq!(
        reuse.component("epilogue").map(|line| line.overlaid_bytes),
        Some(32 * KIB)
    );
    let large = EpilogueTile {
        buffers: 3,
        ..piece(128, 128)
    };
    assert_eq!(bytes(&with(Epilogue::Reuse(large)), "epilogue").0, (96 - 64) * KIB);
}

fn refused(template: &Template, name: &str) -> Violation {
    worksheet(template, arch(name), 0).expect_err("refused")
}

#[test]
fn broken_rules_name_the_nearest_legal_value() {
    let nvfp4 = usual("sm_120", GemmType::Nvfp4, (128, 128, 128), 2);
    let bf16 = usual("sm_90", GemmType::Bf16, (128, 128, 64), 2);
    let tile = |template: Template, m, n, k| Template {
        tile: TileShape::new(m, n, k),
        ..template
    };
    for (template, name, rule, nearest) in [
        (tile(nvfp4, 80, 128, 128), "sm_120", &rules::SCALE_ATOM_ROWS, "64"),
        (
            Template {
                frontend: Frontend::Cutlass,
                ..tile(nvfp4, 64, 128, 128)
            },
            "sm_120",
            &rules::SCALE_ATOM_ROWS,
            "128",
        ),
        (tile(nvfp4, 128, 128, 96), "sm_120", &rules::TILE_K, "128"),
        (tile(bf16, 100, 128, 64), "sm_90", &rules::TILE_M, "128"),
        (tile(bf16, 128, 100, 64), "sm_90", &rules::TILE_N, "104"),
        (
            Template {
                warps: 4,
                ..tile(bf16, 64, 512, 64)
            },
            "sm_90",
            &rules::WGMMA_N,
            "256",
        ),
        (tile(bf16, 128, 128, 0), "sm_90", &rules::POSITIVE, "1"),
        (tile(bf16, 1 << 20, 128, 64), "sm_90", &rules::EXTENT, "65536"),
        (Template { stages: 0, ..bf16 }, "sm_90", &rules::POSITIVE, "1"),
        (Template { warps: 5, ..bf16 }, "sm_90", &rules::WARPGROUPS, "8"),
        (
            Template {
                cluster: (2, 1),
                ..nvfp4
            },
            "sm_120",
            &rules::CLUSTER,
            "1x1",
        ),
        (
            Template {
                path: Path::Wgmma,
                ..nvfp4
            },
            "sm_120",
            &rules::PATH,
            "mma.sync",
        ),
        (
            Template {
                accumulator: Accumulator::SharedMemory,
                ..bf16
            },
            "sm_90",
            &rules::ACCUMULATOR,
            "registers",
        ),
        (
            Template {
                warps: 4,
                ..tile(bf16, 128, 256, 64)
            },
            "sm_90",
            &rules::ACCUMULATOR_REGISTERS,
            "255",
        ),
        (
            Template {
                static_bytes: 50_000,
                ..bf16
            },
            "sm_90",
            &rules::STATIC_BYTES,
            "49152",
        ),
    ] {
        let violation = refused(&template, name);
        assert_eq!(violation.rule, rule, "{violation}");
        let message = violation.to_string();
        assert!(message.ends_with(&format!("; nearest: {nearest}")), "{message}");
        assert!(message.contains(rule.source), "{message}");
    }
    let margin = worksheet(&bf16, arch("sm_90"), 232_448).expect_err("nothing is left");
    assert_eq!(margin.rule, &rules::MARGIN);
    let triton = Template {
        frontend: Frontend::Triton,
        stages: 1,
        ..usual("sm_80", GemmType::F16, (128, 128, 32), 1)
    };
    assert_eq!(
        refused(&triton, "sm_80").to_string().split("nearest: ").last(),
        Some("2")
    );
}
