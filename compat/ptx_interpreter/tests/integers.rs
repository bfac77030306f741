//! Integer instructions, one row each.

mod common;

use common::check_rows;

#[test]
fn arithmetic() {
    check_rows(&[
        ("add.s32 %r1, 0x7fffffff, 1;", 0x8000_0000),
        ("add.sat.s32 %r1, 0x7fffffff, 1;", 0x7fff_ffff),
        ("sub.sat.s32 %r1, -2147483648, 1;", 0x8000_0000),
        ("add.s16 %rs1, 0x7fff, 1;", 0x8000),
        ("add.u16x2 %r1, 0x0001ffff, 0x00010001;", 0x0002_0000),
        ("min.s16x2 %r1, 0xffff0001, 0x00010002;", 0xffff_0001),
        ("sub.u64 %rd1, 0, 1;", u64::MAX),
        ("mul.lo.s32 %r1, 0x10001, 0x10001;", 0x0002_0001),
        ("mul.hi.u32 %r1, 0xffffffff, 0xffffffff;", 0xffff_fffe),
        ("mul.hi.s32 %r1, -1, -1;", 0),
        ("mul.hi.u64 %rd1, -1, -1;", u64::MAX - 1),
        ("mul.hi.s64 %rd1, -1, 1;", u64::MAX),
        ("mul.wide.s32 %rd1, -2, 3;", -6i64 as u64),
        ("mul.wide.u32 %rd1, 0xffffffff, 2;", 0x1_ffff_fffe),
        ("mul.wide.s16 %r1, -2, 3;", 0xffff_fffa),
        ("mul.wide.u16 %r1, 0xffff, 0xffff;", 0xfffe_0001),
        ("mad.lo.s32 %r1, 3, 4, 5;", 17),
        ("mad.hi.u32 %r1, 0x80000000, 4, 5;", 7),
        ("mad.wide.s32 %rd1, -1, 1, 0;", u64::MAX),
        ("div.s32 %r1, -7, 2;", 0xffff_fffd),
        ("rem.s32 %r1, -7, 2;", 0xffff_ffff),
        ("div.u32 %r1, 7, 0;", 0xffff_ffff),
        ("div.s32 %r1, -2147483648, -1;", 0x8000_0000),
        ("rem.u64 %rd1, 100, 7;", 2),
        ("min.s32 %r1, -1, 1;", 0xffff_ffff),
        ("max.u32 %r1, -1, 1;", 0xffff_ffff),
        ("abs.s32 %r1, -5;", 5),
        ("neg.s16 %rs1, 1;", 0xffff),
        ("sad.s32 %r1, -3, 4, 10;", 17),
        ("cnot.b32 %r1, 0;", 1),
        ("not.b32 %r1, 0;", 0xffff_ffff),
    ]);
}

#[test]
fn bits() {
    check_rows(&[
        ("shl.b32 %r1, 1, 31;", 0x8000_0000),
        ("shl.b32 %r1, 1, 32;", 0),
        ("shr.u32 %r1, 0x80000000, 99;", 0),
        ("shr.s32 %r1, 0x80000000, 99;", 0xffff_ffff),
        ("shr.s16 %rs1, 0x8000, 3;", 0xf000),
        ("shr.s64 %rd1, 0x8000000000000000, 63;", u64::MAX),
        ("shf.l.wrap.b32 %r1, 0x80000000, 1, 33;", 3),
        ("shf.l.clamp.b32 %r1, 0x80000000, 1, 33;", 0x8000_0000),
        ("shf.r.wrap.b32 %r1, 0x10, 1, 4;", 0x1000_0001),
        ("shf.r.clamp.b32 %r1, 7, 9, 40;", 9),
        ("bfe.u32 %r1, 0xabcd1234, 8, 8;", 0x12),
        ("bfe.s32 %r1, 0x0000f000, 12, 4;", 0xffff_ffff),
        ("bfe.s32 %r1, 0x80000000, 24, 16;", 0xffff_ff80),
        ("bfe.u32 %r1, 0xffffffff, 4, 0;", 0),
        ("bfe.u64 %rd1, 0xff00000000000000, 56, 8;", 0xff),
        ("bfi.b32 %r1, 0xff, 0x0, 4, 8;", 0xff0),
        ("bfi.b32 %r1, 0, 0xffffffff, 28, 99;", 0x0fff_ffff),
        ("bfind.u32 %r1, 0x10;", 4),
        ("bfind.s32 %r1, -1;", 0xffff_ffff),
        ("bfind.shiftamt.u32 %r1, 0x10;", 27),
        ("clz.b32 %r1, 0;", 32),
        ("clz.b64 %r1, 1;", 63),
        ("popc.b64 %r1, -1;", 64),
        ("brev.b32 %r1, 1;", 0x8000_0000),
        ("prmt.b32 %r1, 0x33221100, 0x77665544, 0x7531;", 0x7755_3311),
        ("prmt.b32 %r1, 0x80, 0, 0x0008;", 0x8080_80ff),
        ("prmt.b32.f4e %r1, 0x33221100, 0x77665544, 1;", 0x4433_2211),
        ("lop3.b32 %r1, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0xe8;", 0xe8e8_e8e8),
        ("szext.wrap.s32 %r1, 0x80, 8;", 0xffff_ff80),
        ("szext.clamp.u32 %r1, 0x1ff, 8;", 0xff),
        ("bmsk.clamp.b32 %r1, 4, 8;", 0xff0),
        ("dp4a.s32.u32 %r1, 0xff020304, 0x01010101, 10;", 18),
        ("{ .reg .b32 %t; mov.b32 %t, 5; add.u32 %r1, %t, WARP_SZ; }", 37),
    ]);
}

#[test]
fn carries() {
    check_rows(&[
        ("add.cc.u32 %r2, -1, 1; addc.u32 %r1, 0, 0;", 1),
        (
            "add.cc.s64 %rd2, -1, 1; addc.cc.s64 %rd2, -1, 0; addc.s64 %rd1, 5, 0;",
            6,
        ),
        ("sub.cc.u32 %r2, 0, 1; subc.u32 %r1, 10, 3;", 6),
        ("sub.cc.u32 %r2, 1, 1; subc.u32 %r1, 10, 3;", 7),
        ("mad.lo.cc.u32 %r2, -1, 1, 1; madc.hi.u32 %r1, 0x10000, 0x10000, 1;", 3),
    ]);
}

#[test]
fn predicates() {
    check_rows(&[
        ("setp.lt.s32 %p1, -1, 1;", 1),
        ("setp.lt.u32 %p1, -1, 1;", 0),
        ("setp.hi.u32 %p1, -1, 1;", 1),
        ("setp.eq.b16 %p1, 0x10005, 5;", 1),
        (
            "mov.pred %p2, 1; setp.eq.and.s32 %p1|%p3, 1, 2, !%p2; not.pred %p1, %p3;",
            1,
        ),
        ("mov.pred %p2, -1; setp.eq.or.s32 %p1, 1, 2, %p2;", 1),
        ("setp.ne.xor.s32 %p2|%p1, 1, 2, 1; xor.pred %p1, %p1, %p2;", 1),
        ("set.lt.u32.s32 %r1, 1, 2;", 0xffff_ffff),
        ("set.lt.f32.s32 %r1, 1, 2;", 0x3f80_0000),
        ("slct.s32.s32 %r1, 1, 2, -1;", 2),
        ("slct.b64.f32 %rd1, 1, 2, 0f80000000;", 1),
        (
            "mov.b32 %r1, 1; setp.eq.s32 %p2, 0, 0; @!%p2 mov.b32 %r1, 2; @%p2 add.s32 %r1, %r1, 6;",
            7,
        ),
    ]);
}

#[test]
fn moves_cut_and_join() {
    check_rows(&[
        ("mov.b64 %rd1, {0x11111111, 0x22222222};", 0x2222_2222_1111_1111),
        ("mov.b64 {_, %r1}, 0x2222222211111111;", 0x2222_2222),
        ("mov.b32 {%rs2, %rs1}, 0x00050004; mov.b16 %rs1, %rs1;", 5),
        (
            "mov.b64 %rd2, 7; mov.b128 %rq1, {%rd2, %rd0}; mov.b128 %rq2, %rq1; mov.b128 {%rd1, _}, %rq2;",
            7,
        ),
    ]);
}
