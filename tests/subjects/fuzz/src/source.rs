//! The text of a crate of many programs, for the host and for the device.

use std::ops::Range;

use crate::generator::{INPUTS, OUTPUTS, Program, UNWRITTEN};

/// What every program may use, on both sides.
const SUPPORT: &str = include_str!("../support/support.rs");

const LINTS: &str = "#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]\n";

/// A crate's root file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The text.
    pub text: String,
    /// The lines of each program, counted from 1.
    pub lines: Vec<Range<usize>>,
}

/// The reference: an executable that reads inputs from the file of its first argument and writes to that of its second.
///
/// For each program it writes a word, 1 if the program panicked, and then all output words of all cases.
pub fn host(programs: &[Program], cases: usize) -> Source {
    let mut source = Source {
        text: format!("{LINTS}{SUPPORT}"),
        lines: Vec::new(),
    };
    source.add_programs(programs);
    source.text.push_str(&format!(
        "const PROGRAMS: &[fn(&[u64; {INPUTS}], &mut [u64; {OUTPUTS}])] = &[\n"
    ));
    for program in programs {
        source.text.push_str(&format!("    {}::program,\n", program.name));
    }
    source.text.push_str(&format!(
        r#"];
fn main() {{
    let names: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&names[1]).unwrap();
    let words: Vec<u64> = bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect();
    let mut written: Vec<u64> = Vec::new();
    for (program, inputs) in PROGRAMS.iter().zip(words.chunks({INPUTS} * {cases})) {{
        let all = std::panic::catch_unwind(|| {{
            let mut all = Vec::new();
            for input in inputs.chunks({INPUTS}) {{
                let mut output = [{UNWRITTEN}u64; {OUTPUTS}];
                program(input.try_into().unwrap(), &mut output);
                all.extend(output);
            }}
            all
        }});
        written.push(all.is_err() as u64);
        written.extend(all.unwrap_or(vec![0; {OUTPUTS} * {cases}]));
    }}
    let bytes: Vec<u8> = written.iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(&names[2], bytes).unwrap();
}}
"#
    ));
    source
}

/// The device crate: a kernel for each program.
pub fn device(programs: &[Program]) -> Source {
    let mut source = Source {
        text: format!("#![no_std]\n{LINTS}{SUPPORT}"),
        lines: Vec::new(),
    };
    source.add_programs(programs);
    for Program { name, .. } in programs {
        source.text.push_str(&format!(
            "#[cuda_std::kernel]\npub unsafe fn {name}(input: *const u64, output: *mut u64, cases: u32) {{\n    \
             let at = cuda_std::thread::index() as usize;\n    if at < cases as usize {{\n        \
             unsafe {{\n            \
             {name}::program(&*(input.add(at * {INPUTS}) as *const [u64; {INPUTS}]), \
             &mut *(output.add(at * {OUTPUTS}) as *mut [u64; {OUTPUTS}]));\n        }}\n    }}\n}}\n"
        ));
    }
    source
}

impl Source {
    fn add_programs(&mut self, programs: &[Program]) {
        let mut line = self.text.lines().count() + 1;
        for program in programs {
            let text = module(program);
            let count = text.lines().count();
            self.lines.push(line..line + count);
            line += count;
            self.text.push_str(&text);
        }
    }
}

/// The module of one program.
pub fn module(program: &Program) -> String {
    let Program { name, features, tree } = program;
    format!(
        "/// {}.\npub mod {name} {{\nuse super::*;\n{}\n}}\n",
        features.join(", "),
        tree.render().trim_end()
    )
}
