extern crate std;

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use cuda_arch::Architecture;

use super::*;
use crate::moves::Move;
use crate::{GemmType, Limiter, TileShape};

fn arch(name: &str) -> &'static Architecture {
    cuda_arch::find(name).expect("in the table")
}

fn kernel(text: &str, stages: u32) -> Kernel {
    Kernel::Buffers(Buffers {
        buffers: parse::buffers(text).expect("well written"),
        stages,
        threads: 128,
        registers_per_thread: None,
    })
}

fn sheet(text: &str, stages: u32, arch_name: &str) -> Worksheet<Kernel> {
    kernel(text, stages).worksheet(arch(arch_name), 0).expect("legal")
}

/// Name, bytes, offset, overlaid bytes of each line.
fn lines(sheet: &Worksheet<Kernel>) -> Vec<(&str, u64, u64, u64)> {
    let line = |line| {
        let &crate::Component {
            ref name,
            bytes,
            offset,
            overlaid_bytes,
            ..
        } = line;
        (&**name, bytes, offset, overlaid_bytes)
    };
    sheet.components.iter().map(line).collect()
}

fn wrong(text: &str) -> (usize, String) {
    let parse::WrongLine { line, reason } = parse::buffers(text).expect_err("wrong");
    (line, reason)
}

#[test]
fn a_buffer_is_read_and_written_alike() {
    for text in [
        "q=128x128:bf16",
        "kv=n128xk64:bf16x2@stage",
        "w=1x64:f32xwarps8@static@align=16",
        "o=128x128:f32@over=q",
        "o=128x128:f32@after=q",
        "bar=1x1:mbarrierx2@stage@align=16",
    ] {
        assert_eq!(text.parse::<Buffer>().expect("well written").to_string(), text);
    }
    let spaced: Buffer = " kv = 128 x 64 : bf16 x 2 @ stage @once".parse().expect("well written");
    assert_eq!(spaced.to_string(), "kv=128x64:bf16x2");
    // A barrier begins at its own size.
    let barrier: Buffer = "bar=1x1:mbarrier".parse().expect("well written");
    assert_eq!(barrier.align, 8);
}

#[test]
fn a_wrong_line_is_named_with_its_reason() {
    for (text, line, part) in [
        ("# comment\n\nq", 3, "NAME=ROWSxCOLUMNS:TYPE"),
        ("q=128:bf16", 1, "NAME=ROWSxCOLUMNS:TYPE"),
        ("q=0x128:bf16", 1, "rows `0`: a number from 1 to 65536"),
        ("q=128x65537:bf16", 1, "columns `65537`"),
        ("q=128x+5:bf16", 1, "columns `+5`"),
        ("q=1x1:f32x257", 1, "copies `257`: a number from 1 to 256"),
        ("q=1x1:f12", 1, "unknown element type `f12`; known: f64"),
        ("a b=1x1:f32", 1, "the name `a b`"),
        ("q=1x1:f32@often", 1, "unknown mark `@often`"),
        ("q=1x1:f32@align=24", 1, "a power of two up to 1024"),
        ("q=1x1:f32\nq=1x1:f32 # twice", 2, "`q` is on line 1 already"),
        ("q=1x1:f32@over=z", 1, "no such buffer"),
        ("q=1x1:f32@over=q", 1, "would share memory with itself"),
        ("a=1x1:f32@over=b\nb=1x1:f32@after=a", 1, "`a` would share memory"),
        ("a=1x1:f32\nb=1x1:f32@over=a@after=a", 2, "exclude each other"),
        ("a=1x1:f32@static\nb=1x1:f32@over=a", 2, "static and dynamic"),
        (
            "a=n8x1:f32\nb=n16x1:f32",
            1,
            "the dimension `n` is 8 here and 16 elsewhere",
        ),
    ] {
        let (at, reason) = wrong(text);
        assert!(at == line && reason.contains(part), "{text:?}: line {at}: {reason}");
        assert!(!reason.contains('\n'));
    }
    let many: String = (0..33).map(|index| format!("b{index}=1x1:f32\n")).collect();
    assert_eq!(wrong(&many), (33, "a kernel has at most 32 buffers".into()));
    let named: String = ('a'..='i').map(|name| format!("{name}=d{name}8x1:f32\n")).collect();
    assert_eq!(wrong(&named), (9, "at most 8 dimensions have names".into()));
}

#[test]
fn buffers_are_laid_out_at_multiples_of_their_alignment() {
    // 100 bytes end at 100; the next begins at 128, a barrier where 8 divides.
    let sheet = sheet(
        "a=25x1:f32@align=4\nb=64x64:f16@stage\nbar=1x1:mbarrierx2@stage",
        3,
        "sm_90",
    );
    assert_eq!(
        lines(&sheet),
        [
            ("a", 100, 0, 0),
            ("b", 3 * 8192, 128, 0),
            ("bar", 3 * 16, 128 + 3 * 8192, 0),
            ("alignment padding", 28, 0, 0),
        ]
    );
    assert_eq!((sheet.total_bytes, sheet.static_bytes), (24_752, 0));
    assert_eq!((sheet.stage_bytes(), sheet.buffers), (8192 + 16, 3));
    // Each copy begins at a multiple too; 4-bit elements take half a byte.
    let copies = self::sheet("a=3x5:e2m1x2@align=16", 1, "sm_90");
    assert_eq!(lines(&copies), [("a", 32, 0, 0)]);
}

#[test]
fn buffers_over_another_begin_where_it_does() {
    // Two of them may be alive at the same time: one after the other, 40 KiB over 32.
    let sheet = sheet(
        "q=128x128:bf16\nk=64x128:bf16@over=q\nv=96x128:bf16@over=q\nz=64x64:bf16",
        1,
        "sm_90",
    );
    assert_eq!(
        lines(&sheet),
        [
            ("q", 32_768, 0, 0),
            ("k", 0, 0, 16_384),
            ("v", 8192, 16_384, 16_384),
            ("z", 8192, 40_960, 0),
        ]
    );
    assert_eq!(sheet.total_bytes, 49_152);
}

#[test]
fn static_buffers_come_first_and_end_at_48_kib() {
    let mixed = sheet("a=64x64:f32\nb=64x64:f32@static", 1, "sm_90");
    assert_eq!(
        (mixed.static_bytes, mixed.total_bytes, mixed.limit_bytes),
        (16_384, 32_768, 232_448)
    );
    assert_eq!(mixed.component("b").map(|line| line.offset), Some(0));
    let all = sheet("a=128x128:f32@static", 1, "sm_90");
    assert_eq!((all.limit_bytes, all.over_by_bytes), (49_152, 16_384));
    let fit = fit_kernel(&all, arch("sm_90")).expect("legal");
    assert_eq!(kinds(&fit.moves), [KernelMove::OptIn]);
    let too_much = kernel("a=128x128:f32@static\nb=1x1:f32", 1).worksheet(arch("sm_90"), 0);
    assert!(too_much.is_err_and(|text| text.contains("65536 B") && text.contains("49152 B")));
}

#[test]
fn occupancy_counts_what_is_given() {
    // 49 KiB and 1 KiB reserved: two CTAs of the 100 KiB of an SM.
    let two = sheet("a=392x64:bf16", 1, "sm_120");
    assert_eq!(
        (two.occupancy.blocks_per_sm, two.occupancy.limiter),
        (2, Limiter::SharedMemory)
    );
    // 255 registers are 256 of each of 256 threads: all 65536 of an SM.
    let registers = Kernel::Buffers(Buffers {
        buffers: parse::buffers("a=1x1:f32").expect("well written"),
        stages: 1,
        threads: 256,
        registers_per_thread: Some(255),
    });
    let sheet = registers.worksheet(arch("sm_120"), 0).expect("legal");
    assert_eq!(
        (sheet.occupancy.blocks_per_sm, sheet.occupancy.limiter),
        (1, Limiter::Registers)
    );
    for (threads, stages, registers, part) in [
        (0, 1, None, "threads 0"),
        (1025, 1, None, "threads 1025"),
        (128, 65, None, "stages 65: from 1 to 64"),
        (128, 0, None, "stages 0"),
        (128, 1, Some(256), "registers of a thread 256"),
    ] {
        let kernel = Kernel::Buffers(Buffers {
            buffers: parse::buffers("a=1x1:f32").expect("well written"),
            stages,
            threads,
            registers_per_thread: registers,
        });
        let refused = kernel.worksheet(arch("sm_120"), 0).expect_err("illegal");
        assert!(refused.contains(part), "{refused}");
    }
    let margin = kernel("a=1x1:f32", 1).worksheet(arch("sm_120"), 101_376);
    assert!(margin.is_err_and(|text| text.contains("101375")));
}

fn kinds(moves: &[Move<Kernel, KernelMove>]) -> Vec<KernelMove> {
    moves.iter().map(|step| step.kind.clone()).collect()
}

const ATTENTION: &str = "q=m128x128:bf16\nk=n128x128:bf16@stage\nv=n128x128:bf16@stage\no=m128x128:bf16@after=v";

#[test]
fn moves_of_named_buffers_do_what_the_text_allows() {
    let start = sheet(ATTENTION, 2, "sm_120");
    assert_eq!((start.total_bytes, start.over_by_bytes), (196_608, 95_232));
    let fit = fit_kernel(&start, arch("sm_120")).expect("legal");
    assert_eq!(
        kinds(&fit.moves),
        [
            KernelMove::ShareMemory("o".into()),
            KernelMove::HalveDimension("n".into())
        ]
    );
    assert_eq!(
        fit.moves.iter().map(|step| step.after_bytes).collect::<Vec<_>>(),
        [163_840, 98_304]
    );
    // Without names and marks, stages are all that can give.
    let fixed = sheet("q=128x128:bf16\nkv=128x128:bf16x2@stage", 4, "sm_120");
    let fit = fit_kernel(&fixed, arch("sm_120")).expect("legal");
    assert_eq!(
        kinds(&fit.moves),
        [KernelMove::DropStage, KernelMove::DropStage, KernelMove::DropStage]
    );
    assert_eq!(fit.after.map(|sheet| sheet.total_bytes), Some(98_304));
    let last = sheet("q=256x256:bf16", 1, "sm_120");
    let fit = fit_kernel(&last, arch("sm_120")).expect("legal");
    assert!(fit.moves.is_empty() && fit.after.is_none());
    let why = fit.impossible.expect("nothing can give");
    assert!(
        why.contains("0 moves") && why.contains("131072 B, 29696 B over"),
        "{why}"
    );
}

#[test]
fn a_move_that_frees_nothing_alone_is_made_where_another_needs_it() {
    // Both are as long: the half of one alone leaves the other.
    let start = sheet("a=m512x128:bf16\nb=n512x128:bf16@over=a", 1, "sm_120");
    assert_eq!(start.total_bytes, 131_072);
    let fit = fit_kernel(&start, arch("sm_120")).expect("legal");
    assert_eq!(fit.moves.len(), 2);
    assert_eq!(fit.moves[0].after_bytes, 131_072);
    assert!(fit.moves[0].reason.starts_with("saves nothing here"));
    assert_eq!(fit.after.map(|sheet| sheet.total_bytes), Some(65_536));
}

fn attention(arch_name: &str, tile: (u32, u32, u32), stages: u32) -> Attention {
    let tile = TileShape::new(tile.0, tile.1, tile.2);
    Attention::usual(arch(arch_name), None, GemmType::Bf16, tile, stages)
}

#[test]
fn flash_attention_3_takes_what_its_kernel_does() {
    // Q 32 KiB, two stages of K and of V of 44 KiB each, O over V; four barriers of 8 B a stage, and that of Q.
    let sheet = Kernel::FlashAttention(attention("sm_90", (128, 176, 128), 2));
    let sheet = sheet.worksheet(arch("sm_90"), 0).expect("legal");
    assert_eq!(
        lines(&sheet),
        [
            ("Q", 32_768, 0, 0),
            ("K", 90_112, 32_768, 0),
            ("V", 90_112, 122_880, 0),
            ("O", 0, 122_880, 32_768),
            ("barriers", 64, 212_992, 0),
            ("barrier of Q", 8, 213_056, 0),
        ]
    );
    assert_eq!(
        (sheet.total_bytes, sheet.fits, sheet.left_bytes),
        (213_064, true, 19_384)
    );
    // 224 registers of 8 warps and 24 of 4 are 157.3 of each, in units of 8.
    let registers = sheet.registers;
    assert_eq!(
        (registers.accumulator, registers.math, registers.allocated),
        (200, 224, 160)
    );
    assert_eq!(sheet.occupancy.blocks_per_sm, 1);
    let smaller = Kernel::FlashAttention(attention("sm_90", (128, 128, 128), 2));
    let smaller = smaller.worksheet(arch("sm_90"), 0).expect("legal");
    assert_eq!(smaller.total_bytes, 163_840 + 72);
}

#[test]
fn attention_for_227_kib_is_moved_to_99() {
    let start = Kernel::FlashAttention(attention("sm_120", (128, 128, 128), 2));
    let start = start.worksheet(arch("sm_120"), 0).expect("legal");
    assert_eq!((start.total_bytes, start.over_by_bytes), (163_840, 62_464));
    assert_eq!(start.registers.accumulator, 64 + 64 + 4);
    let moves = kernel_moves(&start, arch("sm_120"));
    let after = |kind: KernelMove| {
        let step = moves.iter().find(|step| step.kind == kind).expect("is tried");
        (step.legal, step.after_bytes)
    };
    assert_eq!(after(KernelMove::DropStage), (true, 98_304));
    assert_eq!(after(KernelMove::HalveKeys), (true, 98_304));
    // Q's 32 KiB are K's and V's.
    assert_eq!(after(KernelMove::QueriesToRegisters), (true, 131_072));
    assert_eq!(after(KernelMove::ProbabilitiesToRegisters), (false, 163_840));
    // Half of two stages of V.
    assert_eq!(after(KernelMove::RecomputeScores), (true, 131_072));
    // Half of Q; O, in the memory of Q, shrinks with it.
    assert_eq!(after(KernelMove::HalveQueries), (true, 147_456));
    let fit = fit_kernel(&start, arch("sm_120")).expect("legal");
    assert_eq!(kinds(&fit.moves), [KernelMove::DropStage]);
    let recompute = moves.iter().find(|step| step.kind == KernelMove::RecomputeScores);
    let cost = &recompute.expect("is tried").cost;
    // 2 x 128 x 128 x 128 for S once more; K twice and V once in place of each once.
    assert_eq!((cost.work_ratio, cost.traffic_ratio), (1.5, Some(1.5)));
    assert!(cost.text.contains("4194304 more FLOP"), "{}", cost.text);
}

#[test]
fn attention_that_breaks_a_rule_is_refused_with_the_numbers() {
    let usual = attention("sm_90", (128, 128, 128), 2);
    for (broken, part) in [
        (Attention { stages: 0, ..usual }, "stages 0"),
        (
            Attention { passes: 3, ..usual },
            "3 passes over a head dimension of 128",
        ),
        (Attention { passes: 0, ..usual }, "passes 0"),
        (Attention { warps: 6, ..usual }, "6 warps of wgmma"),
        (
            Attention {
                warps: u32::MAX,
                ..usual
            },
            "warps 4294967295",
        ),
        (
            Attention {
                producer_warps: u32::MAX,
                ..usual
            },
            "producer warps",
        ),
        (
            Attention {
                ty: GemmType::Nvfp4,
                ..usual
            },
            "planned for f16",
        ),
        (
            Attention {
                path: crate::Path::Tcgen05,
                ..usual
            },
            "mma.sync and wgmma",
        ),
        (
            Attention {
                tile: TileShape::new(96, 128, 128),
                ..usual
            },
            "queries of the tile 96: a multiple of 128",
        ),
        (
            Attention {
                tile: TileShape::new(128, 100, 128),
                ..usual
            },
            "keys of the tile 100",
        ),
        (
            Attention {
                tile: TileShape::new(u32::MAX, 128, 128),
                ..usual
            },
            "queries of the tile 4294967295",
        ),
        (
            Attention {
                tile: TileShape::new(128, 256, 256),
                ..usual
            },
            "O 128, S 128, P 64",
        ),
    ] {
        let refused = broken.check(arch("sm_90")).expect_err(part);
        assert!(refused.contains(part), "{part}: {refused}");
    }
}
