//! Prints the corpus' launches, one JSON object a line, for a test driver in any language.
//!
//! Buffers are hexadecimal bytes; `elements` is `u32`, `u64`, `f32` or `f64`. An argument is one of `{"value": bytes}`,
//! `{"pointer": bytes}`, `{"slice": bytes, "length": n}`, `{"output": bytes, "elements": type, "tolerance": t}` (starts
//! with zeros) and the same with `"updated": bytes` (starts with those).

use cuda_std_corpus::cases::{all, Argument, Case, Data, Expected, Outcome};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn expected(Expected { data, tolerance }: &Expected) -> String {
    let elements = match data {
        Data::U32(_) => "u32",
        Data::U64(_) => "u64",
        Data::F32(_) => "f32",
        Data::F64(_) => "f64",
    };
    format!(
        r#""output": "{}", "elements": "{elements}", "tolerance": {tolerance}"#,
        hex(&data.to_bytes())
    )
}

fn argument(argument: &Argument) -> String {
    match argument {
        Argument::Value(bytes) => format!(r#"{{"value": "{}"}}"#, hex(bytes)),
        Argument::Pointer(data) => format!(r#"{{"pointer": "{}"}}"#, hex(&data.to_bytes())),
        Argument::Slice(data) => format!(r#"{{"slice": "{}", "length": {}}}"#, hex(&data.to_bytes()), data.len()),
        Argument::Output(end) => format!("{{{}}}", expected(end)),
        Argument::Updated(data, end) => format!(r#"{{"updated": "{}", {}}}"#, hex(&data.to_bytes()), expected(end)),
    }
}

fn case(case: &Case) -> String {
    let outcome = match case.outcome {
        Outcome::Success => r#""success""#.to_owned(),
        // Rust's escapes of the printed text are JSON's.
        Outcome::Prints(text) => format!(r#"{{"prints": {text:?}}}"#),
        Outcome::Failure => r#""failure""#.to_owned(),
    };
    let arguments: Vec<String> = case.arguments.iter().map(argument).collect();
    format!(
        concat!(
            r#"{{"kernel": "{}", "grid": {:?}, "block": {:?}, "dynamic_smem_bytes": {}, "stack_bytes": {}, "#,
            r#""outcome": {}, "arguments": [{}]}}"#
        ),
        case.kernel,
        case.grid,
        case.block,
        case.dynamic_smem_bytes,
        case.stack_bytes,
        outcome,
        arguments.join(", ")
    )
}

fn main() {
    all().iter().for_each(|launch| println!("{}", case(launch)));
}
