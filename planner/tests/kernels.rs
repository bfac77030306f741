//! Kernels of buffers: what holds for all of them, and the tiles of a library's kernels.

use cuda_arch::{ARCHITECTURES, Architecture};
use proptest::prelude::*;
use proptest::sample::select;
use tilewright_plan::{
    Accumulator, Attention, Buffers, GemmType, GpuModel, Kernel, KernelMove, Refusal, Request, TemplateName, TileShape,
    Worksheet, fit_kernel, kernel_moves, kernel_report, report,
};

fn arch(name: &str) -> &'static Architecture {
    cuda_arch::find(name).expect("in the table")
}

fn request(arch: &str, buffers: &str) -> Request {
    Request {
        arch: arch.into(),
        buffers: buffers.into(),
        ..Request::default()
    }
}

fn attention(arch: &str, tile: (u32, u32, u32)) -> Request {
    Request {
        arch: arch.into(),
        dtype: GemmType::Bf16,
        tile: Some(TileShape::new(tile.0, tile.1, tile.2)),
        template: Some(TemplateName::FlashAttention),
        ..Request::default()
    }
}

/// A row of `tile_size_fwd_sm90` in FlashAttention-3's `hopper/tile_size.h`: type, head dimension, queries, keys,
/// whether P is in registers, and whether the comment says that no more keys fit into shared memory.
type Row = (GemmType, u32, u32, u32, bool, bool);

#[rustfmt::skip]
const FLASH_ATTENTION_3: [Row; 11] = [
    (GemmType::Bf16, 64, 192, 128, true, false),
    (GemmType::Bf16, 64, 192, 192, false, false),
    (GemmType::Bf16, 96, 192, 144, false, false),
    (GemmType::Bf16, 128, 128, 176, true, false),
    (GemmType::Bf16, 128, 128, 192, true, true),
    (GemmType::Bf16, 128, 128, 144, false, true),
    (GemmType::Bf16, 192, 128, 112, true, true),
    (GemmType::Bf16, 256, 128, 80, true, true),
    (GemmType::E4m3, 64, 192, 160, true, false),
    (GemmType::E4m3, 128, 128, 224, true, false),
    (GemmType::E4m3, 256, 128, 128, true, false),
];

#[test]
fn the_tiles_of_flash_attention_3_fit_as_it_says() {
    for (ty, head, queries, keys, in_registers, is_largest) in FLASH_ATTENTION_3 {
        let with = |keys| {
            let probabilities = if in_registers {
                Accumulator::Registers
            } else {
                Accumulator::SharedMemory
            };
            let tile = TileShape::new(queries, keys, head);
            Kernel::FlashAttention(Attention {
                probabilities,
                ..Attention::usual(arch("sm_90"), None, ty, tile, 2)
            })
        };
        let case = format!("{ty} {queries}x{keys}x{head}");
        let sheet = with(keys).worksheet(arch("sm_90"), 0).expect("legal");
        assert!(sheet.fits, "{case}: over by {}", sheet.over_by_bytes);
        // What the warpgroups ask for by `setmaxnreg`.
        let most = if queries == 192 { 160 } else { 240 };
        assert!(
            sheet.registers.math <= most,
            "{case}: {} registers",
            sheet.registers.math
        );
        assert_eq!(sheet.occupancy.blocks_per_sm, 1, "{case}");
        if is_largest {
            let more = with(keys + 16).worksheet(arch("sm_90"), 0);
            // Registers may end first.
            assert!(more.is_err() || more.is_ok_and(|sheet| !sheet.fits), "{case}");
        }
    }
}

#[test]
fn the_tile_of_flash_attention_for_99_kib_fits_with_q_in_registers() {
    // `tile_size_fwd_sm8x`, 8.6 and 8.9, head dimension 128: 128 x 128, 8 warps, one stage, Q in registers.
    let asked = Request {
        stages: Some(1),
        queries: Some(Accumulator::Registers),
        ..attention("sm_89", (128, 128, 128))
    };
    let report = kernel_report(&asked).expect("legal");
    let sheet = &report.worksheet;
    assert_eq!((sheet.total_bytes, sheet.fits), (65_536, true));
    assert_eq!(sheet.template.threads(), 256);
    assert!(sheet.registers.math <= 255);
}

#[test]
fn the_request_after_the_moves_fits() {
    let texts = [
        "q=128x128:bf16\nkv=n256x128:bf16x2@stage",
        "a=m512xk512:f32\nb=512x64:f16@after=a",
    ];
    let mut asked: Vec<Request> = texts.map(|text| request("sm_120", text)).into();
    asked.push(attention("sm_75", (128, 128, 128)));
    asked[2].dtype = GemmType::F16;
    for request in asked {
        let report = kernel_report(&request).expect("legal");
        let after = report.after_moves.expect("moves help");
        let again = after.template.request(&request);
        let again = kernel_report(&again).expect("legal").worksheet;
        assert_eq!((again.fits, again.total_bytes), (true, after.total_bytes));
    }
}

#[test]
fn options_without_effect_are_refused() {
    let buffers = || request("sm_90", "a=1x1:f32");
    let product = || Request {
        tile: Some(TileShape::new(128, 128, 64)),
        ..Request::default()
    };
    let grouped = || Request {
        template: Some(TemplateName::GroupedMoe),
        groups: Some(8),
        ..product()
    };
    let refused = |request: Request| match request.is_of_kernel() {
        true => kernel_report(&request).err(),
        false => report(&request).err(),
    };
    for (request, part) in [
        (
            Request {
                m: Some(1),
                ..buffers()
            },
            "-m is no option of a kernel of named buffers",
        ),
        (
            Request {
                split_k: Some(2),
                ..buffers()
            },
            "--split-k",
        ),
        (
            Request {
                template: Some(TemplateName::GroupedMoe),
                ..buffers()
            },
            "--buffer is no option of grouped-moe",
        ),
        (
            Request {
                threads: Some(2),
                ..product()
            },
            "--threads is no option of a matrix product",
        ),
        (
            Request {
                groups: Some(2),
                ..product()
            },
            "--groups is no option of a matrix product",
        ),
        (
            Request {
                groups: None,
                ..grouped()
            },
            "needs the number of groups",
        ),
        (
            Request {
                tile: None,
                ..grouped()
            },
            "needs a tile",
        ),
        (
            Request {
                k: Some(2),
                ..grouped()
            },
            "-k is no option of grouped-moe",
        ),
        (
            Request {
                groups: Some(70_000),
                ..grouped()
            },
            "groups 70000",
        ),
        (
            Request {
                tile: None,
                ..attention("sm_90", (1, 1, 1))
            },
            "needs a tile",
        ),
        (
            Request {
                cluster: Some((1, 1)),
                ..attention("sm_90", (128, 128, 128))
            },
            "--cluster is no option of flash-",
        ),
    ] {
        let refusal = refused(request).expect(part).to_string();
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
    let line = kernel_report(&request("sm_90", "\nq"));
    assert!(matches!(line, Err(Refusal::Buffer { line: 2, .. })));
    assert!(report(&buffers()).is_err());
    assert!(kernel_report(&product()).is_err());
}

#[test]
fn a_grouped_product_has_a_table_of_groups_and_cutlass_tensor_maps() {
    let with = |frontend, groups| {
        let asked = Request {
            template: Some(TemplateName::GroupedMoe),
            dtype: GemmType::Nvfp4,
            arch: "sm_120".into(),
            tile: Some(TileShape::new(128, 128, 128)),
            stages: Some(4),
            groups: Some(groups),
            frontend: Some(frontend),
            ..Request::default()
        };
        report(&asked).expect("legal").worksheet
    };
    let line = |sheet: &Worksheet, name: &str| sheet.component(name).map(|line| line.bytes);
    // 4 bytes for each of 100 groups; A, B and their scales have a map of 128 bytes each.
    let ours = with(tilewright_plan::Frontend::Tilewright, 100);
    assert_eq!(
        (line(&ours, "table of groups"), line(&ours, "tensor maps")),
        (Some(400), None)
    );
    let cutlass = with(tilewright_plan::Frontend::Cutlass, 100);
    assert_eq!(
        (line(&cutlass, "table of groups"), line(&cutlass, "tensor maps")),
        (Some(400), Some(512))
    );
    // A and B of 8 KiB a stage, an atom of 512 B of scales for each 128 rows and 64 of k, a full and an empty barrier.
    assert_eq!(ours.total_bytes, 4 * (2 * 8192 + 2 * 1024 + 16) + 400);
}

#[test]
fn a_gpu_alone_names_its_architecture() {
    let asked = |arch: &str, gpu: &str| Request {
        gpu: Some(gpu.into()),
        ..request(arch, "a=1x1:f32")
    };
    let of = |gpu| kernel_report(&asked("", gpu)).map(|report| (report.worksheet.arch, report.gpu));
    assert_eq!(of("rtx 4090"), Ok(("sm_89", "RTX 4090".to_string())));
    assert_eq!(of("h100-sxm"), Ok(("sm_90", "H100 SXM".to_string())));
    let typo = of("RTX 5009").expect_err("no such GPU").to_string();
    assert!(
        typo.starts_with("unknown GPU `RTX 5009`; nearest: RTX 5090; known: T4, "),
        "{typo}"
    );
    assert!(kernel_report(&asked("sm_89", "RTX 4090")).is_ok());
    let other = kernel_report(&asked("sm_90", "RTX 4090")).expect_err("another architecture");
    assert_eq!(
        other.to_string(),
        "RTX 4090 is an sm_89 GPU, and sm_90 is asked for; sm_90 GPUs: H200, H100 SXM, H100 PCIe, GH200"
    );
}

/// Buffers with every mark: each may lie over one before it, or after it; dimensions are shared.
fn texts() -> impl Strategy<Value = String> {
    let counts = || select(vec![1_u32, 3, 8, 24, 64, 100, 128, 256]);
    let buffer = (
        (counts(), counts(), 1..4_u32),
        select(vec!["f64", "f32", "bf16", "e4m3", "e2m1", "mbarrier"]),
        (any::<bool>(), any::<bool>(), 0..4_usize, any::<prop::sample::Index>()),
        select(vec![4, 16, 128, 1024]),
    );
    // Of a dimension's count there is one: its name has it.
    proptest::collection::vec(buffer, 1..8).prop_map(|buffers| {
        let mut text = String::new();
        for (index, ((rows, columns, copies), ty, (staged, named, sharing, other), align)) in
            buffers.into_iter().enumerate()
        {
            let letters = |count: u32| {
                ["a", "b", "c", "d", "e", "f", "g", "h"][(count % 8) as usize].repeat(1 + count.ilog2() as usize)
            };
            let name = if named && index < 4 {
                letters(rows)
            } else {
                String::new()
            };
            text += &format!("n{index}={name}{rows}x{columns}:{ty}x{copies}@align={align}");
            text += if staged { "@stage" } else { "" };
            if index > 0 && sharing > 1 {
                let mark = if sharing == 2 { "over" } else { "after" };
                text += &format!("@{mark}=n{}", other.index(index));
            }
            text.push('\n');
        }
        text
    })
}

fn kernels() -> impl Strategy<Value = (&'static Architecture, Kernel)> {
    let architectures = (0..ARCHITECTURES.len()).prop_map(|index| &ARCHITECTURES[index]);
    let named = (texts(), 1..=8_u32, select(vec![32, 128, 256])).prop_map(|(text, stages, threads)| {
        let lines = text.lines().map(|line| line.parse().expect("well written"));
        Kernel::Buffers(Buffers {
            buffers: lines.collect(),
            stages,
            threads,
            registers_per_thread: None,
        })
    });
    let sides = select(vec![64_u32, 128, 192]);
    let attention = (
        sides,
        select(vec![32_u32, 48, 64, 128, 176]),
        select(vec![64_u32, 96, 128, 256]),
        1..5_u32,
    );
    prop_oneof![
        (architectures.clone(), named).boxed(),
        (architectures, attention)
            .prop_filter_map("breaks a rule", |(arch, (queries, keys, head, stages))| {
                let tile = TileShape::new(queries, keys, head);
                let attention = Attention::usual(arch, None, GemmType::F16, tile, stages);
                attention.check(arch).ok()?;
                Some((arch, Kernel::FlashAttention(attention)))
            })
            .boxed(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_lines_are_the_total((arch, kernel) in kernels()) {
        let sheet = kernel.worksheet(arch, 0).expect("legal");
        let lines: u64 = sheet.components.iter().map(|line| line.bytes).sum();
        prop_assert_eq!(lines, sheet.total_bytes);
        let buffers = kernel.buffers(arch);
        for (buffer, line) in buffers.iter().zip(&sheet.components) {
            prop_assert_eq!(line.bytes + line.overlaid_bytes, buffer.bytes(kernel.stages()));
            prop_assert_eq!(line.offset % u64::from(buffer.align), 0);
            prop_assert!(line.offset + buffer.bytes(kernel.stages()) <= sheet.total_bytes);
        }
        // Buffers that share no memory by a mark share none at all.
        let alone = buffers.iter().zip(&sheet.components).filter(|(buffer, _)| buffer.over.is_none());
        let mut ends: Vec<_> = alone.map(|(buffer, line)| (line.offset, buffer.bytes(kernel.stages()))).collect();
        ends.sort_unstable();
        prop_assert!(ends.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
    }

    #[test]
    fn moves_never_raise_the_total((arch, kernel) in kernels()) {
        let sheet = kernel.worksheet(arch, 0).expect("legal");
        for step in kernel_moves(&sheet, arch) {
            prop_assert!(step.after_bytes <= step.before_bytes, "{}", step);
            prop_assert!(step.legal || step.after_bytes == step.before_bytes, "{}", step);
            prop_assert!(!step.reason.is_empty() && !step.to_string().contains('\n'), "{}", step);
            if step.legal {
                let after = step.template.worksheet(arch, 0).expect("legal");
                prop_assert_eq!((after.total_bytes, after.fits), (step.after_bytes, step.fits));
            }
        }
    }

    #[test]
    fn a_fit_fits_and_has_no_move_too_many((arch, kernel) in kernels(), margin in 0..60_000_u64) {
        let Ok(sheet) = kernel.worksheet(arch, margin) else { return Ok(()) };
        let fit = fit_kernel(&sheet, arch).expect("legal");
        match (&fit.after, &fit.impossible) {
            (Some(after), None) => prop_assert!(after.fits && !fit.moves.is_empty()),
            (None, None) => prop_assert!(sheet.fits && fit.moves.is_empty()),
            (None, Some(_)) => prop_assert!(!sheet.fits && fit.moves.is_empty()),
            (Some(_), Some(_)) => prop_assert!(false),
        }
        let mut before = sheet.total_bytes;
        for step in &fit.moves {
            prop_assert_eq!(step.before_bytes, before);
            before = step.after_bytes;
        }
        let kinds: Vec<&KernelMove> = fit.moves.iter().map(|step| &step.kind).collect();
        prop_assert!(fit.moves.iter().take(kinds.len().saturating_sub(1)).all(|step| !step.fits));
    }

    #[test]
    fn no_text_is_too_strange(text in "[a-z0-9=x:@#\n .-]{0,200}|\\PC{0,100}", stages in any::<u32>()) {
        let asked = Request { stages: Some(stages), ..request("sm_90", &text) };
        if asked.is_of_kernel() {
            let refusal = kernel_report(&asked).err().map(|refusal| refusal.to_string());
            prop_assert!(refusal.is_none_or(|text| !text.contains('\n')));
        }
    }

    #[test]
    fn what_is_written_is_read((_, kernel) in kernels()) {
        let Kernel::Buffers(kernel) = kernel else { return Ok(()) };
        for buffer in kernel.buffers {
            prop_assert_eq!(buffer.to_string().parse(), Ok(buffer));
        }
    }
}

#[test]
fn a_device_is_found_by_what_the_driver_calls_it() {
    let sold_as = |name| GpuModel::of_device(name).map(|gpu| &*gpu.name);
    assert_eq!(sold_as("NVIDIA H200"), Some("H200"));
    assert_eq!(sold_as("NVIDIA H100 80GB HBM3"), Some("H100 SXM"));
    assert_eq!(sold_as("NVIDIA GeForce RTX 4090"), Some("RTX 4090"));
    assert_eq!(sold_as("NVIDIA H100 80GB HBM4"), None);
}
