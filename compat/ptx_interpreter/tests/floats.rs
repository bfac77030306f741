//! Floating-point instructions and conversions.

mod common;

use common::check_rows;

#[test]
fn single_precision() {
    check_rows(&[
        ("add.f32 %r1, 0f3F800000, 0f40000000;", 0x4040_0000),
        // Infinity less infinity: the NaN of the hardware, not that of the host.
        ("sub.f32 %r1, 0f7F800000, 0f7F800000;", 0x7fff_ffff),
        ("add.f32 %r1, 0fFFC12345, 0f3F800000;", 0x7fff_ffff),
        ("mul.ftz.f32 %r1, 0f00800000, 0f3F000000;", 0),
        ("mul.f32 %r1, 0f00800000, 0f3F000000;", 0x0040_0000),
        ("add.ftz.f32 %r1, 0f80000001, 0f80000001;", 0x8000_0000),
        ("add.sat.f32 %r1, 0f3F800000, 0f3F800000;", 0x3f80_0000),
        ("add.sat.f32 %r1, 0f7FC00000, 0f3F800000;", 0),
        ("fma.rn.f32 %r1, 0f3F800001, 0f3F800001, 0fBF800002;", 0x2880_0000),
        ("min.f32 %r1, 0f80000000, 0f00000000;", 0x8000_0000),
        ("max.f32 %r1, 0f80000000, 0f00000000;", 0),
        ("min.f32 %r1, 0f7FC00000, 0f3F800000;", 0x3f80_0000),
        ("min.NaN.f32 %r1, 0f7FC00000, 0f3F800000;", 0x7fff_ffff),
        ("abs.f32 %r1, 0fBF800000;", 0x3f80_0000),
        ("copysign.f32 %r1, 0f80000000, 0f3F800000;", 0xbf80_0000),
        ("rcp.approx.ftz.f32 %r1, 0f40000000;", 0x3f00_0000),
        ("ex2.approx.ftz.f32 %r1, 0f40400000;", 0x4100_0000),
        ("lg2.approx.f32 %r1, 0f41000000;", 0x4040_0000),
        ("rsqrt.approx.f32 %r1, 0f40800000;", 0x3f00_0000),
        ("div.full.f32 %r1, 0f40C00000, 0f40000000;", 0x4040_0000),
        ("setp.ltu.f32 %p1, 0f7FC00000, 0f3F800000;", 1),
        ("setp.lt.f32 %p1, 0f7FC00000, 0f3F800000;", 0),
        ("setp.ne.f32 %p1, 0f7FC00000, 0f3F800000;", 0),
        ("setp.neu.f32 %p1, 0f7FC00000, 0f3F800000;", 1),
        ("setp.nan.f32 %p1, 0f7FC00000, 0f3F800000;", 1),
        ("setp.eq.ftz.f32 %p1, 0f00000001, 0f00000000;", 1),
        ("testp.subnormal.f32 %p1, 0f00000001;", 1),
        ("testp.normal.f32 %p1, 0f00000001;", 0),
    ]);
}

#[test]
fn directed_rounding() {
    check_rows(&[
        // 1 + 2^-30 and -1 - 2^-30
        ("add.rz.f32 %r1, 0f3F800000, 0f30800000;", 0x3f80_0000),
        ("add.rp.f32 %r1, 0f3F800000, 0f30800000;", 0x3f80_0001),
        ("add.rm.f32 %r1, 0fBF800000, 0fB0800000;", 0xbf80_0001),
        ("add.rz.f32 %r1, 0fBF800000, 0fB0800000;", 0xbf80_0000),
        // x - x is -0 where rounding goes down.
        ("sub.rm.f32 %r1, 0f3F800000, 0f3F800000;", 0x8000_0000),
        ("div.rm.f32 %r1, 0f3F800000, 0f40400000;", 0x3eaa_aaaa),
        ("div.rp.f32 %r1, 0f3F800000, 0f40400000;", 0x3eaa_aaab),
        ("rcp.rz.f32 %r1, 0f40400000;", 0x3eaa_aaaa),
        ("sqrt.rn.f32 %r1, 0f40000000;", 0x3fb5_04f3),
        ("sqrt.rp.f32 %r1, 0f40000000;", 0x3fb5_04f4),
        ("sqrt.rz.f32 %r1, 0f40000000;", 0x3fb5_04f3),
        ("sqrt.rm.f64 %rd1, 0d4000000000000000;", 0x3ff6_a09e_667f_3bcc),
        ("sqrt.rp.f64 %rd1, 0d4000000000000000;", 0x3ff6_a09e_667f_3bcd),
        ("sqrt.rp.f64 %rd1, 0d4010000000000000;", 0x4000_0000_0000_0000),
        (
            "mul.rp.f64 %rd1, 0d3FF0000000000001, 0d3FF0000000000001;",
            0x3ff0_0000_0000_0003,
        ),
        (
            "mul.rz.f64 %rd1, 0d3FF0000000000001, 0d3FF0000000000001;",
            0x3ff0_0000_0000_0002,
        ),
        ("fma.rp.f32 %r1, 0f3F800000, 0f3F800000, 0f30800000;", 0x3f80_0001),
    ]);
}

#[test]
fn narrow_types() {
    check_rows(&[
        ("add.f16 %rs1, 0x3C00, 0x4000;", 0x4200),
        ("sub.f16 %rs1, 0x7C00, 0x7C00;", 0x7fff),
        ("fma.rn.f16 %rs1, 0x3C01, 0x3C01, 0x0000;", 0x3c02),
        ("mul.rn.f16x2 %r1, 0x3C004000, 0x40004000;", 0x4000_4400),
        ("add.rn.bf16 %rs1, 0x3F80, 0x3F80;", 0x4000),
        ("fma.rn.bf16x2 %r1, 0x3F803F80, 0x40004000, 0x3F803F80;", 0x4040_4040),
        ("max.f16 %rs1, 0x8000, 0x0000;", 0),
        ("neg.f16 %rs1, 0x3C00;", 0xbc00),
        ("fma.rn.relu.f16 %rs1, 0xBC00, 0x3C00, 0x0000;", 0),
        ("setp.gt.f16 %p1, 0x4000, 0x3C00;", 1),
        ("tanh.approx.f16 %rs1, 0x0000;", 0),
    ]);
}

#[test]
fn conversions() {
    check_rows(&[
        ("cvt.u32.u64 %r1, 0x1234567890abcdef;", 0x90ab_cdef),
        ("cvt.s64.s32 %rd1, -1;", u64::MAX),
        ("cvt.u64.u32 %rd1, -1;", 0xffff_ffff),
        ("cvt.s32.s8 %r1, 0x80;", 0xffff_ff80),
        ("cvt.s16.s8 %rs1, 0x80;", 0xff80),
        ("cvt.s8.s64 %rd1, 0x1ff;", u64::MAX),
        ("cvt.sat.u8.s32 %r1, -5;", 0),
        ("cvt.sat.s8.s32 %r1, 300;", 127),
        ("cvt.rn.f32.u32 %r1, 0xffffffff;", 0x4f80_0000),
        ("cvt.rz.f32.u32 %r1, 0xffffffff;", 0x4f7f_ffff),
        ("cvt.rn.f64.s64 %rd1, -1;", (-1f64).to_bits()),
        ("cvt.rzi.s32.f32 %r1, 0fC0200000;", -2i32 as u32 as u64),
        ("cvt.rni.s32.f32 %r1, 0f40200000;", 2),
        ("cvt.rpi.s32.f32 %r1, 0f40200000;", 3),
        ("cvt.rzi.u32.f32 %r1, 0fC0200000;", 0),
        ("cvt.rzi.s32.f32 %r1, 0f7F800000;", 0x7fff_ffff),
        ("cvt.rzi.u64.f64 %rd1, 0d7FF0000000000000;", u64::MAX),
        ("cvt.rzi.s32.f32 %r1, 0f7FC00000;", 0),
        ("cvt.rzi.s64.f32 %rd1, 0f7FC00000;", 1 << 63),
        ("cvt.rni.f32.f32 %r1, 0f40200000;", 0x4000_0000),
        ("cvt.rmi.f64.f64 %rd1, 0dBFF8000000000000;", (-2f64).to_bits()),
        ("cvt.rn.f32.f64 %r1, 0d3FF0000010000001;", 0x3f80_0001),
        ("cvt.rz.f32.f64 %r1, 0d3FF0000010000001;", 0x3f80_0000),
        ("cvt.f64.f32 %rd1, 0f3F800000;", 1f64.to_bits()),
        ("cvt.sat.f32.f32 %r1, 0f40000000;", 0x3f80_0000),
        ("cvt.rn.f16.f32 %rs1, 0f477FFFFF;", 0x7c00),
        ("cvt.rz.f16.f32 %rs1, 0f477FFFFF;", 0x7bff),
        ("cvt.f32.f16 %r1, 0x0001;", 0x3380_0000),
        ("cvt.f32.bf16 %r1, 0x3F80;", 0x3f80_0000),
        ("cvt.rn.bf16.f32 %rs1, 0f3F808000;", 0x3f80),
        ("cvt.rn.f16x2.f32 %r1, 0f40000000, 0f3F800000;", 0x4000_3c00),
        ("cvt.rn.relu.bf16x2.f32 %r1, 0fC0000000, 0f3F800000;", 0x0000_3f80),
    ]);
}
