//! Small kernels around the instructions under test.

use ptx_interpreter::{Fault, Launch, Machine, Module, SharedWindow};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel `k` with registers of every width, whose `%rd0` is the address of `out`; `before` stands in front of it.
pub fn kernel(before: &str, body: &str) -> String {
    format!(
        "{HEAD}{before}\n.visible .entry k(.param .u64 .ptr .global .align 8 out)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .b128 %rq<4>;\n\
         ld.param.b64 %rd0, [out];\n{body}\nret;\n}}\n"
    )
}

/// Runs the kernel with an output of so many words.
pub fn run(text: &str, launch: &Launch, words: usize) -> Result<Vec<u64>, Fault> {
    run_module(&Module::parse(text).expect("the test's text is PTX"), launch, words)
}

fn run_module(module: &Module, launch: &Launch, words: usize) -> Result<Vec<u64>, Fault> {
    let mut machine = Machine::new(module)?;
    let out = machine.alloc(8 * words);
    machine.launch("k", launch, &[&out.to_le_bytes()])?;
    let bytes = machine.read(out, 8 * words);
    let (words, _) = bytes.as_chunks();
    Ok(words.iter().map(|&word| u64::from_le_bytes(word)).collect())
}

/// Runs a body in one thread.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn one(before: &str, body: &str, words: usize) -> Result<Vec<u64>, Fault> {
    run(&kernel(before, body), &Launch::new(1, 1), words)
}

/// Runs a body in one thread of a GPU with the given window.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn one_for(window: SharedWindow, before: &str, body: &str, words: usize) -> Result<Vec<u64>, Fault> {
    let module = Module::parse_for(&kernel(before, body), window).expect("the test's text is PTX");
    run_module(&module, &Launch::new(1, 1), words)
}

/// Checks rows of instructions, which leave a result in `%r1` or, where they name it, in `%rd1` or `%rs1`.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn check_rows(rows: &[(&str, u64)]) {
    let mut body = String::new();
    for (number, (text, _)) in rows.iter().enumerate() {
        let widen = match () {
            () if text.contains("%rd1,") => "",
            () if text.contains("%rs1,") => "cvt.u64.u16 %rd1, %rs1;",
            () if text.contains("%p1,") => "selp.b64 %rd1, 1, 0, %p1;",
            () => "cvt.u64.u32 %rd1, %r1;",
        };
        body += &format!("{text} {widen} st.global.b64 [%rd0+{}], %rd1;\n", 8 * number);
    }
    let found = one("", &body, rows.len()).unwrap_or_else(|fault| panic!("{fault}"));
    let wrong: Vec<String> = rows
        .iter()
        .zip(found)
        .filter(|((_, expected), found)| expected != found)
        .map(|((text, expected), found)| format!("{text} gives {found:#x} instead of {expected:#x}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
