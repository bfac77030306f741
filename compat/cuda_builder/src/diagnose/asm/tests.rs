use super::*;
use crate::ptx::items;

/// The fault of a kernel with this assembly (its lines joined as asm! joins them), for sm_80 and PTX 7.8.
fn fault_of(regions: &[&str]) -> Option<Fault> {
    let mut ptx =
        ".visible .entry k(\n)\n{\n\t.reg .pred \t%p<2>;\n\t.reg .b32 \t%r<4>;\n\t.reg .b64 \t%rd<3>;\n\n$L__BB0_1:\n"
            .to_owned();
    for region in regions {
        ptx.push_str(&format!("\t// begin inline asm\n\t{region}\n\t// end inline asm\n"));
    }
    ptx.push_str("\tret;\n}\n");
    let all = format!(".global .align 4 .b8 TABLE[4];\n{ptx}");
    let items = items(&ptx);
    let module = Module {
        ptx: &all,
        arch: NvvmArch::Compute80,
        version: (7, 8),
    };
    check(&items[0], &module).err()
}

#[test]
fn correct_assembly_passes() {
    for text in [
        "",
        "// nothing",
        "bar.sync 0;",
        ".loc\t1 47 14, function_name $L__info_string4, inlined_at 1 108 9\n\tbar.sync 0;\n\t.loc\t1 48 1",
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %lanemask_lt;\nmov.b64 %rd1, %globaltimer;",
        "ld.global.v2.u32 {%r1, %r2}, [%rd1+-8];",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1,%r2}, {%r1}, {%r2}, {%r1, %r2};",
        "{ .reg .pred P1; .reg .b32 t<4>;\nsetp.ne.b32 P1, %r1, 0;\n@!P1 mov.u32 t3, 0x1F;\nmov.u32 %r1, t3; }",
        "{\nLAB_WAIT:\nmbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd1;\n@%p1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}",
        "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;",
        "mov.u64 %rd1, TABLE;\nmov.f32 %r1, 0f3F800000;",
        ".pragma \"nounroll\";\ncp.async.ca.shared.global [%r1], [%rd1], 16; /* sixteen */",
        "add.s32 %r1, %r1, -1; add.cc.u32 %r1, %r1, %r2;",
        "{ .reg .v4 .f32 v; mov.f32 v.x, 0f00000000; }",
    ] {
        assert_eq!(fault_of(&[text]), None, "{text}");
    }
    let scoped = "{ .reg .b32 t;\nmov.b32 t, %r1; }";
    assert_eq!(fault_of(&[scoped, scoped]), None, "a scope for each copy");
    assert_eq!(
        fault_of(&["{ .reg .b32 t;", "mov.b32 t, %r1; }"]),
        None,
        "a scope over two statements of Rust"
    );
}

#[test]
fn faults_are_told() {
    for (regions, part) in [
        (&["flip.b32 %r1, 1;"][..], "no instruction `flip.b32`"),
        (&[".register .b32 t;"], "no directive `.register`"),
        (&["mov.u32 %r1, 1\nadd.u32 %r1, %r1, 1;"], "no `;` ends"),
        (&["mov.u32 %r1, 1"], "no `;` ends"),
        (&["{ .reg .b32 t\nmov.u32 t, 1; }"], "no `;` ends"),
        (&["{ mov.u32 %r1, 1 }"], "no `;` ends"),
        (&["mov.u32 %r1, %temp;"], "`%temp` is not declared"),
        (&["mov.u32 %r1, %r4;"], "`%r4` is not declared"),
        (&["mov.u32 %r1, temp;"], "`temp` is not declared"),
        (&["{ .reg .b32 t; }\nmov.u32 %r1, t;"], "`t` is not declared"),
        (&["@q bra $L__BB0_1;"], "`q` is not declared"),
        (&["bra OUTSIDE;"], "not a label of"),
        (&["{ mov.u32 %r1, 1;"], "a `{` has no `}`"),
        (&["mov.u32 %r1, 1; }"], "a `}` has no `{`"),
        (&["add.u32 %r1, 1;"], "takes 3 operands, and this has 2"),
        (&[".reg .b32 t;", ".reg .b32 t;"], "`t` is declared twice"),
        (&["AGAIN: bra AGAIN;", "AGAIN: bra AGAIN;"], "`AGAIN` is declared twice"),
        (&["elect.sync %r1|%p1, -1;"], "sm_90 or later"),
    ] {
        let fault = fault_of(regions).unwrap_or_else(|| panic!("{regions:?} passes"));
        assert!(fault.reason.contains(part), "{regions:?}: {fault:?}");
    }
}

#[test]
fn statements_are_shown_as_written() {
    let fault = fault_of(&["ld.global.v2.u32 {%r1, %r2}, [%rd9+4];"]).unwrap();
    assert_eq!(fault.statement, "ld.global.v2.u32 {%r1, %r2}, [%rd9+4]");
    assert_eq!(fault.sought, "%rd9");
}
