//! `#[grid_constant]` on a parameter of a kernel: the host passes the value, the kernel gets a reference to the
//! parameter itself.
//!
//! On the GPU the reference is a marked pointer, which `cuda_builder` turns into LLVM's `byval` (`docs/device-abi.md`).

use crate::kernel::lowered_count;
use crate::mark::exported_name;
use crate::parameters::peel;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, FnArg, ItemFn, PatType, Type};

/// What the name of a marker static begins with; the kernel's name follows.
const MARKER: &str = "__cuda_std_grid_constant_";

fn is_ours(attribute: &Attribute) -> bool {
    attribute.path().is_ident("grid_constant")
}

/// Whether a parameter has the attribute.
pub fn is_marked(parameter: &PatType) -> bool {
    parameter.attrs.iter().any(is_ours)
}

/// What a marked parameter refers to: `None` where it is no reference to one value.
fn referent(parameter: &PatType) -> Option<&Type> {
    match peel(&parameter.ty) {
        Type::Reference(reference) if reference.mutability.is_none() => match peel(&reference.elem) {
            Type::Slice(_) | Type::TraitObject(_) => None,
            Type::Path(path) if path.path.is_ident("str") => None,
            element => Some(element),
        },
        _ => None,
    }
}

/// What is wrong with the attribute on a parameter, if anything is.
pub fn check(parameter: &PatType) -> Option<&'static str> {
    let marks = parameter.attrs.iter().filter(|attribute| is_ours(attribute));
    match (marks.count(), referent(parameter)) {
        (0, _) | (1, Some(_)) => None,
        (1, None) => Some("`#[grid_constant]` is for a parameter `&T` of one value: the host passes a `T`"),
        _ => Some("`#[grid_constant]` is given twice"),
    }
}

/// Takes the attributes away, which mean nothing to the compiler.
pub fn strip(function: &mut ItemFn) {
    for input in &mut function.sig.inputs {
        if let FnArg::Typed(parameter) = input {
            parameter.attrs.retain(|attribute| !is_ours(attribute));
        }
    }
}

/// The marker static of a kernel, if it has such parameters: number, bytes and alignment of each.
///
/// # Errors
/// The kernel's exported name is no literal.
pub fn mark(function: &ItemFn) -> syn::Result<TokenStream> {
    let mut words = Vec::new();
    let mut index = 0_u32;
    for input in &function.sig.inputs {
        let FnArg::Typed(parameter) = input else { continue };
        if let Some(referent) = referent(parameter).filter(|_| is_marked(parameter)) {
            words.push(quote! {
                #index,
                ::core::mem::size_of::<#referent>() as ::core::primitive::u32,
                ::core::mem::align_of::<#referent>() as ::core::primitive::u32
            });
        }
        index += lowered_count(parameter);
    }
    if words.is_empty() {
        return Ok(TokenStream::new());
    }
    let conditions = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let marker = format_ident!("{MARKER}{}", function.sig.ident);
    let name = format!("{MARKER}{}", exported_name(function)?);
    let count = 3 * words.len();
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        #[used]
        #[unsafe(export_name = #name)]
        #[unsafe(link_section = ".nvptx.grid_constant")]
        static #marker: [::core::primitive::u32; #count] = [#(#words),*];
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(item: TokenStream) -> ItemFn {
        syn::parse2(item).unwrap()
    }

    #[test]
    fn the_marker_counts_parameters_as_the_launch_does() {
        let mut kernel = function(quote!(
            unsafe fn k(a: &[f32], #[grid_constant] b: &Map, n: u32, #[grid_constant] c: &[u64; 2]) {}
        ));
        let marker = mark(&kernel).unwrap().to_string();
        assert!(marker.contains("__cuda_std_grid_constant_k"), "{marker}");
        for part in [
            "2u32 , :: core :: mem :: size_of :: < Map >",
            "4u32 , :: core :: mem :: size_of :: < [u64 ; 2] >",
        ] {
            assert!(marker.contains(part), "{part} in {marker}");
        }
        strip(&mut kernel);
        assert!(mark(&kernel).unwrap().is_empty());
        assert!(!quote!(#kernel).to_string().contains("grid_constant"));
    }

    #[test]
    fn only_references_to_one_value_can_have_it() {
        for (parameter, wrong) in [
            (quote!(#[grid_constant] a: &Map), false),
            (quote!(a: &[f32]), false),
            (quote!(#[grid_constant] a: Map), true),
            (quote!(#[grid_constant] a: &[f32]), true),
            (quote!(#[grid_constant] a: &str), true),
            (quote!(#[grid_constant] a: &mut Map), true),
            (quote!(#[grid_constant] #[grid_constant] a: &Map), true),
        ] {
            let kernel = function(quote!(unsafe fn k(#parameter) {}));
            let Some(FnArg::Typed(parameter)) = kernel.sig.inputs.first() else {
                panic!("a parameter")
            };
            assert_eq!(check(parameter).is_some(), wrong, "{}", quote!(#parameter));
        }
    }
}
