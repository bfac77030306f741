//! `#[gpu_only]` and `#[externally_visible]`.

use crate::kernel::is_export;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, ItemFn};

/// Expands `#[gpu_only]`.
pub fn gpu_only(item: TokenStream) -> TokenStream {
    let ItemFn { attrs, vis, sig, block } = match syn::parse2(item) {
        Ok(function) => function,
        Err(error) => return error.into_compile_error(),
    };
    let host_sig = syn::Signature {
        abi: None,
        ..sig.clone()
    };
    let host_body = host_body(&sig.ident);
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)* #vis #sig #block

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables, unused_mut)]
        #(#attrs)* #vis #host_sig { #host_body }
    }
}

/// What a GPU-only function does on the host. This is the one place that decides it.
fn host_body(name: &Ident) -> TokenStream {
    let message = format!("`{name}` can only be called on the GPU");
    quote!(::core::panic!(#message))
}

/// Expands `#[externally_visible]`: the function as it is, and a static that carries its name to `cuda_builder`.
pub fn externally_visible(item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item) {
        Ok(function) => function,
        Err(error) => return error.into_compile_error(),
    };
    let name = &function.sig.ident;
    let exported = function.attrs.iter().any(is_export);
    if !exported {
        let error = syn::Error::new(
            name.span(),
            "an `#[externally_visible]` function must also be `#[no_mangle]`",
        )
        .into_compile_error();
        return quote!(#error #function);
    }
    let marker = format_ident!("__cuda_std_visible_{}", name);
    let marker_name = marker.to_string();
    let bytes = proc_macro2::Literal::byte_string(name.to_string().as_bytes());
    let len = name.to_string().len();
    quote! {
        #function

        #[cfg(target_arch = "nvptx64")]
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        #[used]
        #[unsafe(export_name = #marker_name)]
        #[unsafe(link_section = ".nvptx.visible")]
        static #marker: [::core::primitive::u8; #len] = *#bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_body_names_the_function() {
        let both = gpu_only(quote!(
            pub extern "C" fn lane() -> u32 {
                7
            }
        ))
        .to_string();
        assert!(both.contains("`lane` can only be called on the GPU"), "{both}");
        assert_eq!(
            both.matches("extern \"C\"").count(),
            1,
            "the host form has no ABI: {both}"
        );
    }

    #[test]
    fn a_visible_function_leaves_its_name() {
        let visible = externally_visible(quote!(
            #[no_mangle]
            fn f() {}
        ))
        .to_string();
        assert!(
            visible.contains("__cuda_std_visible_f") && visible.contains("b\"f\""),
            "{visible}"
        );
        let refused = externally_visible(quote!(
            fn f() {}
        ))
        .to_string();
        assert!(refused.contains("must also be `#[no_mangle]`"), "{refused}");
    }
}
