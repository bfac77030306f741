//! Conversions and comparisons of `f16` and `bf16` as instructions.
//!
//! The `half` crate calculates in integers where it does not know the processor, and its operators are conversions to
//! `f32`, an operation and a conversion back. Here the bodies of its conversions become LLVM's `fpext` and `fptrunc`.
//! They are instructions of the GPU, and LLVM makes one operation of half precision of an operator's three, which has
//! the same result: an `f32` has more than twice the digits.
//!
//! Relied upon: the functions' paths, in `half` 1.8 and 2, and their meaning. A function whose signature is another one
//! stays as it is. Results differ in the payload of NaN alone. The conversions of `bf16` in `half` 2 are `#[inline]`:
//! where rustc inlines them, they stay calculations in integers. Conversions from `f64` stay: `half` drops the lower
//! half of the number before it rounds, and the result is to be the host's.

use std::borrow::Cow;

use super::function::parameters;
use super::lexer::{Kind, tokens};

/// A function of `half` and its body in LLVM IR.
struct Replacement {
    /// The paths, as the versions of `half` have them.
    paths: &'static [&'static str],
    /// The types of the result and of the parameters.
    signature: &'static [&'static str],
    /// The instructions, in which `{0}` and `{1}` stand for the parameters.
    body: &'static str,
}

/// A conversion from 16 bits to more.
macro_rules! widen {
    ($paths:expr, $narrow:literal, $wide:literal) => {
        Replacement {
            paths: &$paths,
            signature: &[$wide, "i16"],
            body: concat!(
                "  %narrow = bitcast i16 {0} to ",
                $narrow,
                "\n  %wide = fpext ",
                $narrow,
                " %narrow to ",
                $wide,
                "\n  ret ",
                $wide,
                " %wide\n"
            ),
        }
    };
}

/// A conversion from `f32` to 16 bits.
macro_rules! narrow {
    ($paths:expr, $narrow:literal) => {
        Replacement {
            paths: &$paths,
            signature: &["i16", "float"],
            body: concat!(
                "  %narrow = fptrunc float {0} to ",
                $narrow,
                "\n  %bits = bitcast ",
                $narrow,
                " %narrow to i16\n  ret i16 %bits\n"
            ),
        }
    };
}

/// A comparison of two numbers behind references.
macro_rules! compare {
    ($path:literal, $narrow:literal, $predicate:literal) => {
        Replacement {
            paths: &[$path],
            signature: &["i1", "ptr", "ptr"],
            body: concat!(
                "  %left = load ",
                $narrow,
                ", ptr {0}, align 2\n  %right = load ",
                $narrow,
                ", ptr {1}, align 2\n",
                "  %result = fcmp ",
                $predicate,
                " ",
                $narrow,
                " %left, %right\n  ret i1 %result\n"
            ),
        }
    };
}

const REPLACEMENTS: &[Replacement] = &[
    widen!(
        [
            "half::binary16::convert::f16_to_f32_fallback",
            "half::binary16::arch::f16_to_f32_fallback"
        ],
        "half",
        "float"
    ),
    widen!(
        [
            "half::binary16::convert::f16_to_f64_fallback",
            "half::binary16::arch::f16_to_f64_fallback"
        ],
        "half",
        "double"
    ),
    narrow!(
        [
            "half::binary16::convert::f32_to_f16_fallback",
            "half::binary16::arch::f32_to_f16_fallback"
        ],
        "half"
    ),
    widen!(["half::bfloat::convert::bf16_to_f32"], "bfloat", "float"),
    widen!(["half::bfloat::convert::bf16_to_f64"], "bfloat", "double"),
    narrow!(["half::bfloat::convert::f32_to_bf16"], "bfloat"),
    compare!("<half::binary16::f16 as core::cmp::PartialEq>::eq", "half", "oeq"),
    compare!("<half::binary16::f16 as core::cmp::PartialOrd>::lt", "half", "olt"),
    compare!("<half::binary16::f16 as core::cmp::PartialOrd>::le", "half", "ole"),
    compare!("<half::binary16::f16 as core::cmp::PartialOrd>::gt", "half", "ogt"),
    compare!("<half::binary16::f16 as core::cmp::PartialOrd>::ge", "half", "oge"),
    compare!("<half::bfloat::bf16 as core::cmp::PartialEq>::eq", "bfloat", "oeq"),
    compare!("<half::bfloat::bf16 as core::cmp::PartialOrd>::lt", "bfloat", "olt"),
    compare!("<half::bfloat::bf16 as core::cmp::PartialOrd>::le", "bfloat", "ole"),
    compare!("<half::bfloat::bf16 as core::cmp::PartialOrd>::gt", "bfloat", "ogt"),
    compare!("<half::bfloat::bf16 as core::cmp::PartialOrd>::ge", "bfloat", "oge"),
];

/// The module with the functions of `half` replaced.
pub(crate) fn use_instructions(ir: &str) -> Cow<'_, str> {
    // Mangled names hold the crate's, after its length.
    if !ir.contains("4half") {
        return ir.into();
    }
    let mut out = String::with_capacity(ir.len());
    let mut lines = ir.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        if let Some(body) = body_of(line) {
            out.push_str(&body);
            out.push_str("}\n");
            lines.by_ref().find(|line| *line == "}");
        }
    }
    out.into()
}

/// The new body of the function that this line defines, if it is one of those replaced.
fn body_of(line: &str) -> Option<String> {
    if !line.starts_with("define ") || !line.contains("4half") {
        return None;
    }
    let parameters = parameters(line)?;
    let head: Vec<_> = tokens(&line[..parameters.first()?.start]).collect();
    let [.., result, name, _] = head.as_slice() else {
        return None;
    };
    let path = demangle(name.name())?;
    let replacement = REPLACEMENTS
        .iter()
        .find(|replacement| replacement.paths.contains(&path.as_str()))?;

    let mut signature = vec![result.text];
    let mut body = replacement.body.to_owned();
    for (index, range) in parameters.into_iter().enumerate() {
        let parameter: Vec<_> = tokens(&line[range]).collect();
        let name = parameter.last().filter(|token| token.kind == Kind::Local)?;
        signature.push(parameter[0].text);
        body = body.replace(&format!("{{{index}}}"), name.text);
    }
    (signature == replacement.signature).then_some(body)
}

/// A function's path. Where modules are linked that have functions of one name, LLVM appends numbers.
fn demangle(name: &str) -> Option<String> {
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    (0..=digits)
        .find_map(|cut| rustc_demangle::try_demangle(&name[..name.len() - cut]).ok())
        .map(|path| format!("{path:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO_F32: &str = "_RNvNtNtCsj8Z0y5iNq6r_4half8binary167convert19f16_to_f32_fallback";
    const FROM_F32_OF_2: &str = "_ZN4half8binary164arch19f32_to_f16_fallback17h0123456789abcdefE";
    const LESS: &str = "_RNvXs4_NtCsj8Z0y5iNq6r_4half8binary16NtB5_3f16NtNtCs1IHHDNKmoxZ_4core3cmp10PartialOrd2lt";

    #[test]
    fn names_are_known_with_llvms_numbers() {
        assert_eq!(demangle(TO_F32).unwrap(), REPLACEMENTS[0].paths[0]);
        assert_eq!(demangle(&format!("{TO_F32}13")).unwrap(), REPLACEMENTS[0].paths[0]);
        assert_eq!(demangle(FROM_F32_OF_2).unwrap(), REPLACEMENTS[2].paths[1]);
        assert_eq!(
            demangle("_RNvNtNtCsj8Z0y5iNq6r_4half6bfloat7convert11f32_to_bf1616").unwrap(),
            "half::bfloat::convert::f32_to_bf16"
        );
        assert_eq!(demangle("main"), None);
    }

    #[test]
    fn bodies_are_replaced_and_all_else_stays() {
        let ir = format!(
            "define internal noundef float @{TO_F32}(i16 noundef %value) unnamed_addr #3 !dbg !4 {{\nstart:\n  br \
             label %bb1\n\nbb1:\n  unreachable\n}}\n\ndefine i16 @{FROM_F32_OF_2}(float %0) {{\n  ret i16 0\n}}\n\n\
             define zeroext i1 @{LESS}(ptr noalias align 2 %a, ptr %b) #1 {{\n  ret i1 false\n}}\n\n\
             define void @other() {{\n  ret void\n}}\n"
        );
        let expected = format!(
            "define internal noundef float @{TO_F32}(i16 noundef %value) unnamed_addr #3 !dbg !4 {{\n  %narrow = \
             bitcast i16 %value to half\n  %wide = fpext half %narrow to float\n  ret float %wide\n}}\n\ndefine i16 \
             @{FROM_F32_OF_2}(float %0) {{\n  %narrow = fptrunc float %0 to half\n  %bits = bitcast half %narrow to \
             i16\n  ret i16 %bits\n}}\n\n\
             define zeroext i1 @{LESS}(ptr noalias align 2 %a, ptr %b) #1 {{\n  %left = load half, ptr %a, align 2\n  \
             %right = load half, ptr %b, align 2\n  %result = fcmp olt half %left, %right\n  ret i1 %result\n}}\n\n\
             define void @other() {{\n  ret void\n}}\n"
        );
        assert_eq!(use_instructions(&ir), expected);
    }

    #[test]
    fn another_signature_is_left_alone() {
        for head in [
            format!("define void @{TO_F32}(ptr %0, i16 %1) {{"),
            format!("define float @{TO_F32}(i32 %0) {{"),
            format!("define double @{TO_F32}(i16 %0) {{"),
            format!("declare float @{TO_F32}(i16)"),
        ] {
            assert_eq!(body_of(&head), None, "{head}");
        }
        let without_half = "define float @f(i16 %0) {\n  ret float 0.0\n}\n";
        assert!(matches!(use_instructions(without_half), Cow::Borrowed(_)));
    }
}
