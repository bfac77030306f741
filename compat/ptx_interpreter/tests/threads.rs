//! Warps and barriers.

mod common;

use common::{kernel, run};
use ptx_interpreter::{FaultKind, Launch};

/// Runs a body in so many threads of one block; it leaves a result in `%r1`, one for each thread.
fn each(threads: u32, body: &str) -> Vec<u64> {
    let text = kernel(
        ".shared .align 4 .b8 s[4096];",
        &format!(
            "mov.u32 %r30, %tid.x; mov.u32 %r31, %laneid; mul.wide.u32 %rd30, %r30, 8; add.s64 %rd31, %rd0, %rd30;\n\
             {body}\ncvt.u64.u32 %rd1, %r1; st.global.b64 [%rd31], %rd1;"
        ),
    );
    run(&text, &Launch::new(1, threads), threads as usize).unwrap_or_else(|fault| panic!("{body}: {fault}"))
}

#[test]
fn shuffles() {
    let lanes = |body: &str| each(32, body);
    let up = lanes("shfl.sync.up.b32 %r1|%p1, %r31, 1, 0, -1;");
    assert_eq!((up[0], up[1], up[31]), (0, 0, 30));
    let down = lanes("shfl.sync.down.b32 %r2|%p1, %r31, 4, 31, -1; selp.b32 %r1, %r2, 99, %p1;");
    assert_eq!((down[0], down[27], down[28]), (4, 31, 99));
    let butterfly = lanes("shfl.sync.bfly.b32 %r1, %r31, 1, 31, -1;");
    assert_eq!((butterfly[0], butterfly[1]), (1, 0));
    // Segments of eight lanes.
    let index = lanes("shfl.sync.idx.b32 %r1, %r31, 2, 0x181f, -1;");
    assert_eq!((index[0], index[9], index[31]), (2, 10, 26));
}

#[test]
fn votes_matches_and_reductions() {
    let half = "setp.lt.u32 %p1, %r31, 16;";
    assert!(
        each(32, &format!("{half} vote.sync.ballot.b32 %r1, %p1, -1;"))
            .iter()
            .all(|&x| x == 0xffff)
    );
    let none = each(
        32,
        &format!("{half} vote.sync.all.pred %p2, %p1, -1; selp.b32 %r1, 1, 0, %p2;"),
    );
    assert!(none.iter().all(|&x| x == 0));
    let some = each(
        32,
        &format!("{half} vote.sync.any.pred %p2, !%p1, -1; selp.b32 %r1, 1, 0, %p2;"),
    );
    assert!(some.iter().all(|&x| x == 1));
    let any = each(32, "and.b32 %r2, %r31, 1; match.any.sync.b32 %r1, %r2, -1;");
    assert_eq!((any[0], any[1]), (0x5555_5555, 0xaaaa_aaaa));
    let all = each(32, "match.all.sync.b32 %r2|%p1, %r31, -1; selp.b32 %r1, 7, %r2, %p1;");
    assert!(all.iter().all(|&x| x == 0));
    assert!(each(32, "redux.sync.add.u32 %r1, %r31, -1;").iter().all(|&x| x == 496));
    assert!(
        each(32, "neg.s32 %r2, %r31; redux.sync.min.s32 %r1, %r2, -1;")
            .iter()
            .all(|&x| x == 0xffff_ffe1)
    );
}

#[test]
fn lanes_that_branched_elsewhere_do_not_count() {
    let body = "mov.b32 %r1, 0; setp.lt.u32 %p1, %r31, 8; @!%p1 bra $end; activemask.b32 %r1; $end:";
    let found = each(32, body);
    assert_eq!((found[0], found[7], found[8]), (0xff, 0xff, 0));
    let body = "mov.b32 %r1, 0; setp.lt.u32 %p1, %r31, 8; @!%p1 bra $end; redux.sync.add.u32 %r1, 1, 0xff; $end:";
    assert_eq!(each(32, body)[7], 8);
}

#[test]
fn barriers_order_shared_memory() {
    let address = "mov.b64 %rd2, s; cvt.u32.u64 %r2, %rd2; shl.b32 %r3, %r30, 2; add.s32 %r4, %r2, %r3;";
    let body = format!(
        "{address} st.shared.b32 [%r4], %r30; bar.sync 0; sub.s32 %r5, 63, %r30; shl.b32 %r5, %r5, 2; \
         add.s32 %r5, %r2, %r5; ld.shared.b32 %r1, [%r5];"
    );
    let found = each(64, &body);
    assert_eq!((found[0], found[63]), (63, 0));
    let count = "setp.lt.u32 %p1, %r30, 5; bar.red.popc.u32 %r1, 0, %p1;";
    assert!(each(64, count).iter().all(|&x| x == 5));
    let all = "setp.lt.u32 %p1, %r30, 5; bar.red.and.pred %p2, 0, %p1; selp.b32 %r1, 1, 0, %p2;";
    assert!(each(64, all).iter().all(|&x| x == 0));
    // The second warp only arrives; the first waits for it.
    let producer = "setp.lt.u32 %p1, %r30, 32; @%p1 bra $wait; bar.arrive 1, 64; bra $end;\n\
        $wait: bar.sync 1, 64; $end: mov.b32 %r1, 3;";
    assert!(each(64, producer).iter().all(|&x| x == 3));
}

#[test]
fn threads_that_wait_in_a_loop_let_others_run() {
    let body = "mov.b64 %rd2, s; setp.ne.u32 %p1, %r30, 0; @%p1 bra $set;\n\
        $spin: ld.volatile.shared.b32 %r1, [%rd2]; setp.eq.u32 %p2, %r1, 0; @%p2 bra $spin; bra $end;\n\
        $set: st.volatile.shared.b32 [%rd2], 6; mov.b32 %r1, 6; $end:";
    assert_eq!(each(2, body), [6, 6]);
}

#[test]
fn what_can_never_meet_is_a_deadlock() {
    let fault = |body: &str| run(&kernel("", body), &Launch::new(1, 64), 1).unwrap_err().kind;
    let divergent = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra $a; bar.sync 1; bra $e;\n\
        $a: bar.sync 2; $e:";
    assert!(matches!(fault(divergent), FaultKind::Deadlock(what) if what.contains("64 wait at a barrier")));
    let split = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 8; @%p1 bra $a; bar.sync 1;\n\
        $a: shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;";
    assert!(matches!(fault(split), FaultKind::Deadlock(_)));
    let outside = "mov.u32 %r1, %tid.x; bar.warp.sync 1;";
    assert!(matches!(fault(outside), FaultKind::Deadlock(what) if what.contains("without being one of them")));
}

#[test]
fn special_registers() {
    let launch = Launch {
        grid: [2, 1, 1],
        block: [4, 2, 1],
        dynamic_shared_bytes: 48,
        ..Launch::new(1, 1)
    };
    let body = "mov.u32 %r1, %tid.y; mad.lo.u32 %r2, %r1, %ntid.x, %tid.x; mad.lo.u32 %r3, %ctaid.x, 8, %r2;\n\
        mul.wide.u32 %rd1, %r3, 8; add.s64 %rd1, %rd0, %rd1; mov.u32 %r4, %lanemask_lt;\n\
        mov.u32 %r5, %dynamic_smem_size;\n\
        mov.b64 %rd2, {%r4, %r5}; st.global.b64 [%rd1], %rd2;";
    let found = run(&kernel("", body), &launch, 16).unwrap();
    assert_eq!((found[0], found[15]), (48 << 32, 48 << 32 | 0x7f));
}
