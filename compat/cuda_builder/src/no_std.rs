//! Crates without `#![no_std]`: the compiler of the published crate's main branch adds it to every crate, so kernels
//! for it need not say it.

use std::fs;
use std::path::Path;

/// Adds the attribute to a crate. A build script of the same package, which gets the flag too, is compiled for the host
/// and keeps its `std`.
pub(crate) const FLAG: &str = "-Zcrate-attr=cfg_attr(target_arch=\"nvptx64\",no_std)";

/// Whether the crate with this root file says nothing about `std`. One that has the attribute under a condition decides
/// for itself.
pub(crate) fn is_missing(root: &Path) -> bool {
    fs::read_to_string(root).is_ok_and(|text| !decides(&text))
}

/// Whether an attribute of the crate names `no_std` or `no_core`.
fn decides(text: &str) -> bool {
    text.match_indices("#![").any(|(at, _)| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let attribute = &text[at..];
        // Conditions hold no brackets.
        let attribute = &attribute[..attribute.find(']').unwrap_or(attribute.len())];
        !text[line..at].contains("//") && (attribute.contains("no_std") || attribute.contains("no_core"))
    })
}

#[cfg(test)]
mod tests {
    use super::decides;

    #[test]
    fn attribute_is_found_in_every_form() {
        for text in [
            "#![no_std]",
            "//! Kernels.\n#![allow(unused)]\n#![no_std]\nuse x;",
            "#![cfg_attr(\n    target_os = \"cuda\",\n    no_std,\n    feature(register_attr)\n)]",
            "#![cfg_attr(not(feature = \"std\"), no_std)]",
            "#![feature(no_core)]\n#![no_core]",
        ] {
            assert!(decides(text), "{text}");
        }
    }

    #[test]
    fn text_about_it_is_no_attribute() {
        for text in [
            "",
            "//! Without `#![no_std]`.",
            "// #![no_std]\n#![allow(unused)]\nfn no_std() {}",
            "#![allow(unused)]\nmod no_std;",
        ] {
            assert!(!decides(text), "{text}");
        }
    }
}
