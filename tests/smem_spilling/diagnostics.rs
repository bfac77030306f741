//! Words: what `ptxas` says where the pragma is not allowed, and where it says nothing.

use crate::kernel::{Assembled, Kernel, assemble, assemble_as};

/// 96 numbers in 64 registers.
fn spilling() -> Kernel {
    Kernel::new(96, ".maxntid 256 .minnctapersm 4")
}

#[track_caller]
fn refused(assembled: &Assembled, phrase: &str) {
    assert!(!assembled.success, "accepted: {}", assembled.said);
    assert!(assembled.said.contains(phrase), "no `{phrase}` in: {}", assembled.said);
}

/// Accepted without a word, and with shared memory for the spilled registers.
#[track_caller]
fn spills_to_shared(assembled: &Assembled, smem_bytes: u32) {
    assert_eq!(assembled.k().smem_bytes, smem_bytes, "{}", assembled.said);
    assert!(!assembled.said.contains("warning"), "{}", assembled.said);
}

const DYNAMIC: &str = ".extern .shared .align 16 .b8 dynamic[];\n";

/// A function that calls itself, with a result.
const RECURSIVE: &str = "\
.func (.param .u32 result) recursive(.param .u32 n)
{
	.reg .u32 %a; .reg .u32 %b; .reg .pred %q;
	ld.param.u32 %a, [n]; setp.lt.u32 %q, %a, 2; @%q bra end; sub.u32 %b, %a, 1;
	{ .param .u32 x; .param .u32 y; st.param.u32 [x], %b; call (y), recursive, (x); ld.param.u32 %b, [y]; }
	mad.lo.u32 %a, %a, %b, %b;
end:
	st.param.u32 [result], %a; ret;
}
";
const CALL_RECURSIVE: &str =
    "{ .param .u32 x; .param .u32 y; st.param.u32 [x], %r2; call (y), recursive, (x); ld.param.u32 %r2, [y]; }";

/// A function that `ptxas` inlines, with `first` as its first statement.
fn small(first: &str) -> String {
    let body = ".reg .u32 %a; ld.param.u32 %a, [n]; mad.lo.u32 %a, %a, %a, 5; st.param.u32 [result], %a; ret;";
    format!(".func (.param .u32 result) small(.param .u32 n)\n{{\n\t{first}{body}\n}}\n")
}
const CALL_SMALL: &str =
    "{ .param .u32 x; .param .u32 y; st.param.u32 [x], %r2; call (y), small, (x); ld.param.u32 %r2, [y]; }";

const PRINTING: &str = ".extern .func (.param .b32 printed) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[3] = {104, 105, 0};
";
const CALL_PRINTING: &str = "{ .reg .b64 %x; .reg .b64 %y; mov.u64 %x, text; cvta.global.u64 %x, %x; mov.u64 %y, 0;
	.param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %x; st.param.b64 [b], %y; call (c), vprintf, (a, b); }";

#[test]
fn dynamic_shared_memory_is_fatal_where_it_is_used() {
    let uses = spilling().doing("mov.u32 %r4, dynamic; st.shared.u32 [%r4], %r2;");
    for arch in ["sm_75", "sm_90", "sm_100", "sm_120"] {
        let used = assemble(arch, &(DYNAMIC.to_owned() + &uses.ptx()));
        refused(&used, "Pragma 'enable_smem_spilling' is not allowed for dynamic SMEM");
    }
    let declared = assemble("sm_90", &(DYNAMIC.to_owned() + &spilling().ptx()));
    spills_to_shared(&declared, 19_456);
}

#[test]
fn per_function_compilation_is_fatal() {
    let phrase = "Pragma 'enable_smem_spilling' is not allowed for per-function compilation modes";
    for option in ["--compile-only", "--device-debug", "--Ofast-compile=max"] {
        for arch in ["sm_75", "sm_120"] {
            refused(&assemble_as("9.0", arch, &spilling().ptx(), &[option]), phrase);
        }
    }
}

/// The documentation says otherwise.
#[test]
fn extensible_whole_program_is_accepted() {
    let of = assemble_as("9.0", "sm_90", &spilling().ptx(), &["--extensible-whole-program"]);
    spills_to_shared(&of, 19_456);
}

#[test]
fn recursion_is_fatal_where_something_spills() {
    let recursive = |live, directives: &str| {
        let kernel = Kernel::new(live, directives).doing(CALL_RECURSIVE);
        assemble("sm_90", &(RECURSIVE.to_owned() + &kernel.ptx()))
    };
    refused(
        &recursive(96, ".maxntid 256 .minnctapersm 4"),
        "(C7800) Smem spilling should not be enabled when functions use abi",
    );
    assert_eq!(recursive(8, ".maxntid 256").k().smem_bytes, 0);

    // One that nobody needs the result of is accepted, and every spill is local: nothing says that the pragma has no
    // effect.
    let without_result = RECURSIVE
        .replace("(.param .u32 result) ", "")
        .replace("call (y), recursive", "call recursive")
        .replace("ld.param.u32 %b, [y];", "")
        .replace("st.param.u32 [result], %a;", "");
    let call = "{ .param .u32 x; st.param.u32 [x], %r2; call recursive, (x); }";
    let of = assemble("sm_90", &(without_result + &spilling().doing(call).ptx()));
    assert_eq!(of.k().smem_bytes, 0);
    assert!(of.k().local_bytes[1] > 0 && !of.said.contains("warning"), "{}", of.said);
}

#[test]
fn calls_are_fatal_unless_they_are_inlined() {
    let of = assemble("sm_90", &(small("") + &spilling().doing(CALL_SMALL).ptx()));
    spills_to_shared(&of, 19_456);

    let printing =
        |live| PRINTING.to_owned() + &Kernel::new(live, ".maxntid 256 .maxnreg 64").doing(CALL_PRINTING).ptx();
    refused(&assemble("sm_90", &printing(96)), "(C7800)");
    assert_eq!(assemble("sm_90", &printing(8)).k().smem_bytes, 0);
}

#[test]
fn it_belongs_into_an_entry_of_recent_ptx() {
    let plain = spilling().without_pragma();
    let pragma = ".pragma \"enable_smem_spilling\";\n";
    refused(
        &assemble("sm_90", &(pragma.to_owned() + &plain.ptx())),
        "Pragma 'enable_smem_spilling' is allowed only within function scope",
    );
    refused(
        &assemble("sm_90", &(small(pragma) + &plain.doing(CALL_SMALL).ptx())),
        "Pragma 'enable_smem_spilling' cannot be specified for device functions",
    );
    for (version, accepted) in [
        ("6.3", false),
        ("8.6", false),
        ("8.7", true),
        ("8.8", true),
        ("9.0", true),
    ] {
        let of = assemble_as(version, "sm_75", &spilling().ptx(), &[]);
        match accepted {
            true => spills_to_shared(&of, 16_384),
            false => refused(
                &of,
                "Feature 'enable_smem_spilling' requires PTX ISA .version 8.7 or later",
            ),
        }
    }
}

#[test]
fn an_unresolved_function_is_fatal_by_itself() {
    let kernel = spilling().doing("call elsewhere;");
    let of = assemble("sm_90", &(".extern .func elsewhere();\n".to_owned() + &kernel.ptx()));
    refused(&of, "Unresolved extern function 'elsewhere'");
}

/// The documentation says otherwise: `ptxas` is no judge of this.
#[test]
fn setmaxnreg_is_accepted_in_silence() {
    for (arch, smem_bytes) in [
        ("sm_90a", 19_456),
        ("sm_100a", 27_648),
        ("sm_103a", 27_648),
        ("sm_120a", 15_360),
    ] {
        for change in ["inc.sync.aligned.u32 232", "dec.sync.aligned.u32 40"] {
            let of = assemble(arch, &spilling().doing(format!("setmaxnreg.{change};")).ptx());
            spills_to_shared(&of, smem_bytes);
            assert_eq!(of.k().registers, 64, "{arch} {change}");
        }
    }
}

#[test]
fn other_options_leave_it_alone_except_no_optimisation() {
    for option in [
        "--opt-level=1",
        "--opt-level=2",
        "--generate-line-info",
        "--sp-bounds-check",
    ] {
        spills_to_shared(&assemble_as("9.0", "sm_90", &spilling().ptx(), &[option]), 19_456);
    }
    let unoptimised = assemble_as("9.0", "sm_90", &spilling().ptx(), &["--opt-level=0"]);
    assert_eq!(unoptimised.k().smem_bytes, 0);
    assert!(unoptimised.k().local_bytes[1] > 0);

    let warned = assemble_as("9.0", "sm_120", &spilling().ptx(), &["--warn-on-spills"]);
    assert_eq!(warned.k().smem_bytes, 15_360);
    let [_, stores, loads] = warned.k().local_bytes;
    let local_part = format!("{stores} bytes spill stores, {loads} bytes spill loads");
    let warning = warned
        .said
        .lines()
        .find(|line| line.contains("warning"))
        .expect("a warning");
    assert!(
        warning.contains("Registers are spilled to local memory in function 'k'") && warning.contains(&local_part),
        "{warning}"
    );

    // The cap from outside is for kernels without launch bounds: beside `.maxntid` it is passed over.
    let capped = |directives: &str| {
        assemble_as(
            "9.0",
            "sm_90",
            &Kernel::new(96, directives).ptx(),
            &["--maxrregcount=64"],
        )
    };
    let of = capped("");
    assert_eq!((of.k().registers, of.k().smem_bytes), (64, 45_056));
    assert!(
        of.said
            .contains("Overriding maximum register limit 256 for 'k' with  64 of maxrregcount option")
    );
    let of = capped(".maxntid 256");
    assert_eq!((of.k().registers, of.k().smem_bytes), (102, 0));
}

#[test]
fn turing_is_the_first_and_families_are_accepted() {
    for arch in ["sm_70", "sm_72"] {
        refused(
            &assemble(arch, &spilling().ptx()),
            &format!("Value '{arch}' is not defined for option 'gpu-name'"),
        );
    }
    for (arch, smem_bytes) in [
        ("sm_75", 16_384),
        ("sm_100f", 27_648),
        ("sm_120f", 15_360),
        ("sm_121a", 15_360),
    ] {
        spills_to_shared(&assemble(arch, &spilling().ptx()), smem_bytes);
    }
}

/// What the options of `#[kernel(..)]` refuse, because `ptxas` ignores or changes it and says so in a warning at most.
#[test]
fn directives_out_of_range_are_not_errors() {
    let says = |directives: &str| {
        let of = assemble("sm_90", &Kernel::new(8, directives).without_pragma().ptx());
        assert!(of.success, "{}", of.said);
        of.said
    };
    for (directives, phrase) in [
        (
            ".maxnreg 23",
            "adjusting per thread register count of 23 to lower bound of 24",
        ),
        (
            ".maxnreg 256",
            "Too many maxnreg specified for entry k, will be ignored",
        ),
        (
            ".minnctapersm 2",
            ".minnctapersm is ignored when neither .maxntid nor .reqntid is specified",
        ),
        (
            ".maxntid 32 .minnctapersm 33",
            "Value of minnctapersm for entry k is out of range. minnctapersm will be ignored",
        ),
        (
            ".maxntid 256 .minnctapersm 9",
            "Value of threads per SM for entry k is out of range. .minnctapersm will be ignored",
        ),
    ] {
        let said = says(directives);
        assert!(
            said.contains("warning") && said.contains(phrase),
            "{directives}: {said}"
        );
    }
    for directives in [
        ".maxnreg 24",
        ".maxnreg 255",
        ".maxntid 256 .minnctapersm 8",
        ".maxntid 1025",
        ".explicitcluster .reqnctapercluster 9",
        ".explicitcluster .reqnctapercluster 2, 0, 1",
    ] {
        let said = says(directives);
        assert!(!said.contains("warning"), "{directives}: {said}");
    }
}
