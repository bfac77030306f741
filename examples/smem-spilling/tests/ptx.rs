//! The PTX says what the table says, and the variants of a problem differ in nothing else.

use std::collections::BTreeMap;

use smem_spilling::PTX;
use smem_spilling::kernels::{Spills, VARIANTS, Variant};

/// Head and body of each entry point, by its symbol.
fn entries() -> BTreeMap<&'static str, (&'static str, &'static str)> {
    let texts = PTX.split(".visible .entry ").skip(1);
    texts
        .map(|text| {
            let (symbol, rest) = text.split_once('(').expect("parameters");
            let (head, rest) = rest.split_once("\n{\n").expect("a body");
            let (body, _) = rest.split_once("\n}\n").expect("an end");
            (symbol, (head, body))
        })
        .collect()
}

/// Lines without their comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim_end())
}

#[test]
fn the_module_has_every_variant_as_the_table_says_and_nothing_else() {
    let entries = entries();
    assert_eq!(entries.len(), VARIANTS.len());
    assert!(PTX.contains(".version 8.7\n"), "the first with the pragma");
    for variant in VARIANTS {
        let (head, body) = entries[variant.symbol];
        let directives: BTreeMap<&str, u32> = lines(head)
            .filter(|line| line.starts_with('.'))
            .filter_map(|line| line.split_once(' '))
            .map(|(name, value)| (name, value.trim().parse().expect("a number")))
            .collect();
        let said = [
            (".maxntid", variant.max_threads()),
            (".maxnreg", variant.max_registers()),
        ];
        let said = said
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        assert_eq!(directives, said, "{}", variant.symbol);
        let pragma = body.contains(".pragma \"enable_smem_spilling\";");
        assert_eq!(pragma, variant.spills.into_shared(), "{}", variant.symbol);
        // All spills are the assembler's: no array of the source lives in local memory.
        assert!(!body.contains(".local"), "{}", variant.symbol);
    }
}

#[test]
fn the_variants_of_a_problem_have_one_body() {
    let entries = entries();
    let body = |variant: &Variant| {
        // Parameters and labels carry the name and number of the function.
        let (_, body) = entries[variant.symbol];
        let body = body
            .replace(variant.symbol, "k")
            .replace("\t.pragma \"enable_smem_spilling\";\n", "");
        let body = lines(&body).collect::<Vec<_>>().join("\n");
        let parts = body
            .split("$L__BB")
            .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
        parts.collect::<Vec<_>>().join("$L__BB")
    };
    for variant in VARIANTS {
        let kept = variant.sibling(Spills::Kept).expect("every problem has one");
        assert_eq!(body(variant), body(kept), "{}", variant.symbol);
    }
}
