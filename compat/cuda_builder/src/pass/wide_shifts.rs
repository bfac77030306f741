//! Shifts of integers of more than 64 bits by an amount that is not constant.
//!
//! The back end splits them into shifts of 64 bits, some of them by 64 - `amount`. Where the amount is 0 that is 64,
//! for which PTX defines the result, 0, but LLVM's own operation does not: once it knows the low bits of the amount,
//! which are zero in `x << 64 * words`, it takes 64 - `amount` for 0 (LLVM 22 and 23). So it must not know them: the
//! amount goes through assembly.

use super::rewrite;

/// Rewrites a module.
pub(crate) fn hide_amounts(ir: &str) -> String {
    rewrite(ir, hide_amount)
}

/// The line with an amount that LLVM knows nothing about, and the lines that make it before it.
fn hide_amount(line: &str) -> Option<String> {
    let (result, operation) = line.split_once(" = ")?;
    let (ty, amount) = shift(operation).or_else(|| funnel_shift(operation))?;
    let name = |part: &str| match result.trim_start().strip_prefix("%\"") {
        Some(quoted) => format!("%\"{part}.{quoted}"),
        None => result.trim_start().replacen('%', &format!("%{part}."), 1),
    };
    let (narrow, hidden, wide) = (name("narrow"), name("hidden"), name("wide"));
    let at = line.rfind(&format!(" {amount}"))? + 1;
    let (before, after) = (&line[..at], &line[at + amount.len()..]);
    Some(format!(
        "  {narrow} = trunc {ty} {amount} to i32\n  \
         {hidden} = call i32 asm \"mov.b32 $0, $1;\", \"=r,r\"(i32 {narrow})\n  \
         {wide} = zext i32 {hidden} to {ty}\n{before}{wide}{after}"
    ))
}

/// Type and amount of `shl nuw nsw i128 6, %31, !dbg !4`.
fn shift(operation: &str) -> Option<(&str, &str)> {
    let mut words = operation.split(' ');
    words.next().filter(|name| matches!(*name, "shl" | "lshr" | "ashr"))?;
    let ty = words.find(|word| is_wide(word))?;
    let amount = words.nth(1)?.trim_end_matches(',');
    amount.starts_with('%').then_some((ty, amount))
}

/// Type and amount of `tail call i128 @llvm.fshl.i128(i128 %1, i128 %1, i128 %2)`, a rotation if the first two are one.
fn funnel_shift(operation: &str) -> Option<(&str, &str)> {
    let (_, call) = operation.split_once("@llvm.fsh")?;
    let arguments = call.split_once('(')?.1.split_once(')')?.0;
    let (ty, amount) = arguments.rsplit(", ").next()?.split_once(' ')?;
    (is_wide(ty) && amount.starts_with('%')).then_some((ty, amount))
}

fn is_wide(ty: &str) -> bool {
    ty.strip_prefix('i')
        .and_then(|bits| bits.parse::<u32>().ok())
        .is_some_and(|bits| bits > 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_wide_shifts_are_hidden() {
        assert_eq!(
            hide_amount("  %32 = shl nuw nsw i128 6, %31, !dbg !4").unwrap(),
            "  %narrow.32 = trunc i128 %31 to i32\n  \
             %hidden.32 = call i32 asm \"mov.b32 $0, $1;\", \"=r,r\"(i32 %narrow.32)\n  \
             %wide.32 = zext i32 %hidden.32 to i128\n  \
             %32 = shl nuw nsw i128 6, %wide.32, !dbg !4"
        );
        let same = hide_amount("  %\"a b\" = ashr exact i128 %1, %1").unwrap();
        assert!(
            same.ends_with("  %\"a b\" = ashr exact i128 %1, %\"wide.a b\""),
            "{same}"
        );
        let rotated = hide_amount("  %x.i = tail call i128 @llvm.fshl.i128(i128 %2, i128 %2, i128 %2) #3").unwrap();
        assert!(
            rotated.ends_with("  %x.i = tail call i128 @llvm.fshl.i128(i128 %2, i128 %2, i128 %wide.x.i) #3"),
            "{rotated}"
        );
    }

    #[test]
    fn other_shifts_stay() {
        for line in [
            "  %3 = shl i64 %1, %2",
            "  %3 = lshr i128 %1, 64",
            "  %3 = add i128 %1, %2",
            "  %3 = call i64 @llvm.fshl.i64(i64 %1, i64 %1, i64 %2)",
            "  %3 = call i128 @llvm.fshr.i128(i128 %1, i128 %2, i128 7)",
            "declare i128 @llvm.fshl.i128(i128, i128, i128)",
        ] {
            assert_eq!(hide_amount(line), None, "{line}");
        }
    }
}
