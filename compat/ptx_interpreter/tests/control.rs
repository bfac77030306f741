//! Calls, branches, externs, and the ways in which a launch fails.

mod common;

use common::{kernel, one, run};
use ptx_interpreter::{FaultKind, Launch, Machine, Module};

const FACTORIAL: &str = ".func (.param .b64 r) factorial(.param .b64 n) {\n\
    .reg .pred %p<2>; .reg .b64 %rd<6>; .local .align 8 .b8 d[8];\n\
    ld.param.b64 %rd1, [n]; st.local.b64 [d], %rd1; setp.gt.u64 %p1, %rd1, 1; @%p1 bra $more;\n\
    st.param.b64 [r], 1; ret;\n\
    $more: add.s64 %rd2, %rd1, -1;\n\
    { .param .b64 param0; .param .b64 retval0; st.param.b64 [param0], %rd2;\n\
    call.uni (retval0), factorial, (param0); ld.param.b64 %rd3, [retval0]; }\n\
    ld.local.b64 %rd4, [d]; mul.lo.s64 %rd5, %rd3, %rd4; st.param.b64 [r], %rd5; ret; }";

fn call(n: i64) -> String {
    format!(
        "{{ .param .b64 param0; .param .b64 retval0; st.param.b64 [param0], {n};\n\
         call.uni (retval0), factorial, (param0); ld.param.b64 %rd1, [retval0]; }} st.global.b64 [%rd0], %rd1;"
    )
}

#[test]
fn recursion_and_its_limit() {
    assert_eq!(one(FACTORIAL, &call(10), 1).unwrap(), [3_628_800]);
    let fault = one(FACTORIAL, &call(1 << 40), 1).unwrap_err();
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert_eq!(fault.place.unwrap().function, "factorial");
}

#[test]
fn aggregates_go_through_parameters() {
    let swap = ".func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 p[16]) {\n\
        .reg .b64 %rd<8>; mov.b64 %rd1, p; cvta.local.u64 %rd2, %rd1;\n\
        ld.param.b64 %rd3, [p]; ld.b64 %rd4, [%rd2+8];\n\
        st.param.v2.b64 [r], {%rd4, %rd3}; ret; }";
    let body = "mov.b64 %rd5, swap;\n\
        { .param .align 8 .b8 param0[16]; .param .align 8 .b8 retval0[16];\n\
        st.param.b64 [param0], 1; st.param.b64 [param0+8], 2;\n\
        call (retval0), %rd5, (param0), proto; ld.param.v2.b64 {%rd1, %rd2}, [retval0]; }\n\
        st.global.v2.b64 [%rd0], {%rd1, %rd2};";
    assert_eq!(one(swap, body, 2).unwrap(), [2, 1]);
}

#[test]
fn indexed_branches() {
    let body = "mov.b32 %r1, %ctaid.x; shl.b32 %r2, %r1, 3; cvt.u64.u32 %rd2, %r2; add.s64 %rd2, %rd0, %rd2;\n\
        $t: .branchtargets $a, $b, $c;\n brx.idx %r1, $t;\n\
        $a: mov.b64 %rd1, 10; bra.uni $end;\n$b: mov.b64 %rd1, 11; bra.uni $end;\n$c: mov.b64 %rd1, 12;\n\
        $end: st.global.b64 [%rd2], %rd1;";
    assert_eq!(run(&kernel("", body), &Launch::new(3, 1), 3).unwrap(), [10, 11, 12]);
}

#[test]
fn labels_belong_to_their_braces() {
    let block = "{ .reg .pred q; setp.ne.u64 q, %rd1, 0; @q bra L; mov.b64 %rd1, 5; L: add.s64 %rd1, %rd1, 1; }\n";
    let body = format!("mov.b64 %rd1, 0; {block}{block} st.global.b64 [%rd0], %rd1;");
    assert_eq!(one("", &body, 1).unwrap(), [7]);
}

#[test]
fn stack_memory_of_run_time_size() {
    let body = "stacksave.u64 %rd5; alloca.u64 %rd1, 24, 16; stacksave.u64 %rd6; st.local.b64 [%rd1+16], 4;\n\
        ld.local.b64 %rd2, [%rd1+16]; stackrestore.u64 %rd5; stacksave.u64 %rd7;\n\
        setp.eq.b64 %p1, %rd5, %rd7; selp.b64 %rd3, %rd2, 0, %p1;\n\
        setp.lt.u64 %p1, %rd6, %rd5; selp.b64 %rd3, %rd3, 0, %p1; st.global.b64 [%rd0], %rd3;";
    assert_eq!(one("", body, 1).unwrap(), [4]);
}

#[test]
fn the_heap_and_its_limit() {
    let before = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);";
    let allocate = |bytes: u64, register: &str| {
        format!(
            "{{ .param .b64 param0; .param .b64 retval0; st.param.b64 [param0], {bytes};\n\
             call.uni (retval0), malloc, (param0); ld.param.b64 {register}, [retval0]; }}\n"
        )
    };
    let release = "{ .param .b64 param0; st.param.b64 [param0], %rd1; call.uni free, (param0); }\n";
    let (small, large) = (allocate(40, "%rd1"), allocate(1 << 30, "%rd2"));
    let body =
        format!("{small}{large} st.b64 [%rd1+32], 5; ld.b64 %rd3, [%rd1+32]; st.global.v2.b64 [%rd0], {{%rd3, %rd2}};");
    assert_eq!(one(before, &body, 2).unwrap(), [5, 0]);
    let after_free = format!("{small}{release} ld.b64 %rd3, [%rd1];");
    assert!(matches!(
        one(before, &after_free, 1).unwrap_err().kind,
        FaultKind::OutOfBounds { .. }
    ));
}

#[test]
fn failures_are_told_apart() {
    let kind = |before: &str, body: &str| one(before, body, 1).unwrap_err().kind;
    assert_eq!(kind("", "trap;"), FaultKind::Trap);
    assert!(matches!(kind("", "wgmma.fence.sync.aligned;"), FaultKind::Unsupported(text) if text.contains("wgmma")));
    assert!(matches!(
        kind("", "add.strange.s32 %r1, 1, 2;"),
        FaultKind::Unsupported(_)
    ));
    let missing = ".extern .func missing();";
    assert_eq!(
        kind(missing, "call.uni missing;"),
        FaultKind::UnknownExtern("missing".to_owned())
    );
    assert_eq!(kind("", "mov.b64 %rd1, 0; call %rd1, (), p;"), FaultKind::NoFunction(0));
    let limited = Launch {
        max_steps: 1000,
        ..Launch::new(1, 1)
    };
    let forever = run(&kernel("", "$l: bra $l;"), &limited, 1).unwrap_err();
    assert_eq!(forever.kind, FaultKind::StepLimit);
    // What is not reached is no fault.
    assert_eq!(
        one("", "bra $e; wgmma.fence.sync.aligned; $e: st.global.b64 [%rd0], 1;", 1).unwrap(),
        [1]
    );
    assert_eq!(
        one("", "setp.eq.s32 %p1, 0, 1; @%p1 wgmma.x; st.global.b64 [%rd0], 1;", 1).unwrap(),
        [1]
    );
}

#[test]
fn assertions_name_their_place() {
    let before = ".global .b8 m[6] = {119, 114, 111, 110, 103};\n.global .b8 f[2] = {102};\n\
        .extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);";
    let body = "{ .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;\n\
        mov.b64 %rd1, m; mov.b64 %rd2, f; st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd2; st.param.b32 [p2], 12;\n\
        st.param.b64 [p3], %rd2; st.param.b64 [p4], 1; call.uni __assertfail, (p0, p1, p2, p3, p4); }";
    let fault = one(before, body, 1).unwrap_err();
    assert!(
        fault
            .to_string()
            .starts_with("assertion failed: wrong, f:12, in f (PTX line"),
        "{fault}"
    );
}

#[test]
fn launches_that_cannot_be_are_refused() {
    let text = kernel("", "");
    let module = Module::parse(&text).unwrap();
    assert_eq!(module.kernels(), ["k"]);
    let mut machine = Machine::new(&module).unwrap();
    let mut kind =
        |name: &str, launch: &Launch, parameters: &[&[u8]]| machine.launch(name, launch, parameters).unwrap_err().kind;
    let one = Launch::new(1, 1);
    assert!(matches!(kind("other", &one, &[]), FaultKind::Launch(_)));
    assert!(matches!(kind("k", &one, &[]), FaultKind::Launch(_)));
    assert!(matches!(kind("k", &one, &[&[0; 4]]), FaultKind::Launch(_)));
    assert!(matches!(
        kind("k", &Launch::new(1, 1025), &[&[0; 8]]),
        FaultKind::Launch(_)
    ));
}

#[test]
fn texts_that_are_no_ptx_are_refused_with_their_line() {
    let error = |text: &str| Module::parse(text).unwrap_err();
    assert_eq!(error("\n\nfoo bar;").line, 3);
    let error = error(&kernel("", "bra $nowhere;"));
    assert!(error.message.contains("$nowhere"), "{error}");
}
