//! Operations that LLVM's NVPTX back end compiles inexactly or not at all, replaced by calls of
//! `cuda_std::compiler_support`.
//!
//! - `frem`: the back end writes `x - trunc(x / y) * y`, which is wrong as soon as the quotient has more bits than a
//!   mantissa.
//! - Casts between floats and 128-bit integers: LLVM 22 looks for a library function and aborts.
//! - `fence syncscope("singlethread")` (`compiler_fence`): LLVM 22 has no instruction for it and aborts. It orders
//!   nothing but the compiler, which empty assembly does too.

use std::collections::BTreeSet;

/// What stands for a fence that only the compiler must keep to.
const COMPILER_FENCE: &str = r#"call void asm sideeffect "", "~{memory}"()"#;

/// The line with a call in place of the operation. The name of the function is added to `needed`.
pub(crate) fn replace(line: &str, needed: &mut BTreeSet<String>) -> Option<String> {
    if line.trim_start().starts_with("fence syncscope(\"singlethread\")") {
        return Some(format!("  {COMPILER_FENCE}"));
    }
    let (result, operation) = line.split_once(" = ")?;
    let (name, return_type, arguments) = remainder(operation).or_else(|| cast(operation))?;
    // Without its place, a call of a function that may be inlined makes LLVM drop the line information of the module.
    let place = operation.find(", !dbg ").map_or("", |at| &operation[at..]);
    let call = format!("{result} = call {return_type} @{name}({arguments}){place}");
    needed.insert(name);
    Some(call)
}

/// `frem float %1, %2`, perhaps with flags before the type.
fn remainder(operation: &str) -> Option<(String, &str, String)> {
    let rest = operation.strip_prefix("frem ")?;
    let (at, float) = ["float ", "double "]
        .iter()
        .find_map(|float| Some((rest.find(float)?, float.trim_end())))?;
    let operands = &rest[at + float.len() + 1..];
    let mut values = operands.split(", ");
    let (dividend, divisor) = (values.next()?, values.next()?);
    let name = format!("cuda_std_frem_{}", rust_float(float)?);
    Some((name, float, format!("{float} {dividend}, {float} {divisor}")))
}

/// `fptoui float %1 to i128`, `sitofp i128 %1 to double`, or a call of `llvm.fptosi.sat.i128.f32`.
fn cast(operation: &str) -> Option<(String, &str, String)> {
    if !operation.contains("i128") {
        return None;
    }
    let (signed, from, value, to) = if let Some(at) = operation.find("@llvm.fpto") {
        let (intrinsic, rest) = operation[at + "@llvm.fpto".len()..].split_once('(')?;
        let (from, value) = rest.split_once(')')?.0.split_once(' ')?;
        intrinsic
            .contains(".sat.i128.")
            .then_some((intrinsic.starts_with("si"), from, value, "i128"))?
    } else {
        let mut words = operation.split(' ');
        let signed = match words.next()? {
            "fptosi" | "sitofp" => true,
            "fptoui" | "uitofp" => false,
            _ => return None,
        };
        // `nneg` may stand before the type.
        let from = words.find(|word| matches!(*word, "i128" | "float" | "double"))?;
        let value = words.next()?;
        let to = words.nth(1)?.trim_end_matches(',');
        (signed, from, value, to)
    };
    let integer = if signed { "i128" } else { "u128" };
    let name = match (rust_float(from), rust_float(to)) {
        (Some(float), None) if to == "i128" => format!("cuda_std_{float}_to_{integer}"),
        (None, Some(float)) if from == "i128" => format!("cuda_std_{integer}_to_{float}"),
        _ => return None,
    };
    Some((name, to, format!("{from} {value}")))
}

fn rust_float(llvm: &str) -> Option<&'static str> {
    match llvm {
        "float" => Some("f32"),
        "double" => Some("f64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn replaced(line: &str) -> (String, Vec<String>) {
        let mut needed = BTreeSet::new();
        let line = replace(line, &mut needed).unwrap_or_else(|| panic!("`{line}` stays"));
        (line, needed.into_iter().collect())
    }

    #[test]
    fn operations_become_calls() {
        for (line, call, name) in [
            (
                "  %8 = frem double %2, 3.000000e+00, !dbg !4",
                "  %8 = call double @cuda_std_frem_f64(double %2, double 3.000000e+00), !dbg !4",
                "cuda_std_frem_f64",
            ),
            (
                "  %8 = frem nnan float %2, %3",
                "  %8 = call float @cuda_std_frem_f32(float %2, float %3)",
                "cuda_std_frem_f32",
            ),
            (
                "  %7 = call i128 @llvm.fptoui.sat.i128.f32(float %0) #3",
                "  %7 = call i128 @cuda_std_f32_to_u128(float %0)",
                "cuda_std_f32_to_u128",
            ),
            (
                "  %7 = fptosi double %0 to i128",
                "  %7 = call i128 @cuda_std_f64_to_i128(double %0)",
                "cuda_std_f64_to_i128",
            ),
            (
                "  %11 = uitofp nneg i128 %10 to float, !dbg !3",
                "  %11 = call float @cuda_std_u128_to_f32(i128 %10), !dbg !3",
                "cuda_std_u128_to_f32",
            ),
        ] {
            assert_eq!(replaced(line), (call.to_owned(), vec![name.to_owned()]));
        }
    }

    #[test]
    fn a_fence_of_one_thread_is_one_of_the_compiler() {
        let (line, needed) = replaced("  fence syncscope(\"singlethread\") seq_cst");
        assert_eq!(line, r#"  call void asm sideeffect "", "~{memory}"()"#);
        assert_eq!(needed, [""; 0]);
    }

    #[test]
    fn what_the_back_end_can_do_stays() {
        for line in [
            "  %1 = fptoui float %0 to i64",
            "  %1 = add i128 %0, 1",
            "  %1 = call i64 @llvm.fptoui.sat.i64.f32(float %0)",
            "  %1 = zext i32 %0 to i128",
            "  fence seq_cst",
            "  %frem = fmul float %0, %1",
        ] {
            assert_eq!(replace(line, &mut BTreeSet::new()), None, "{line}");
        }
    }
}
