//! Steps per second in a loop of integer arithmetic with a load and a store:
//! `cargo run -p ptx_interpreter --example speed`.

use std::time::Instant;

use ptx_interpreter::{Launch, Machine, Module};

const TEXT: &str = "
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 count)
{
    .local .align 8 .b8 depot[64];
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<12>;
    ld.param.b64 %rd1, [out];
    ld.param.b32 %r1, [count];
    mov.b64 %rd2, 88172645463325252;
    mov.b64 %rd3, depot;
    cvta.local.u64 %rd4, %rd3;
$loop:
    shl.b64 %rd5, %rd2, 13;
    xor.b64 %rd2, %rd2, %rd5;
    shr.u64 %rd6, %rd2, 7;
    xor.b64 %rd2, %rd2, %rd6;
    mul.hi.u64 %rd7, %rd2, %rd5;
    mad.lo.s64 %rd8, %rd2, %rd6, %rd7;
    cvt.u32.u64 %r2, %rd8;
    st.b64 [%rd4], %rd8;
    ld.b32 %r3, [%rd4+4];
    add.s32 %r4, %r2, %r3;
    cvt.u64.u32 %rd9, %r4;
    add.s64 %rd2, %rd2, %rd9;
    add.s32 %r1, %r1, -1;
    setp.ne.b32 %p1, %r1, 0;
    @%p1 bra $loop;
    st.global.b64 [%rd1], %rd2;
    ret;
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::parse(TEXT)?;
    let mut machine = Machine::new(&module)?;
    let out = machine.alloc(8);
    let start = Instant::now();
    let count = 10_000_000u32.to_le_bytes();
    let stats = machine.launch("k", &Launch::new(1, 1), &[&out.to_le_bytes(), &count])?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.1} million steps per second", stats.steps as f64 / seconds / 1e6);
    Ok(())
}
