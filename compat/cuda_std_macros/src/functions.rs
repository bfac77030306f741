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
    let host_sig = syn::Signature { abi: None, ..sig.clone() };
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
        let error = syn::Error::new(name.span(), "an `#[externally_visible]` function must also be `#[no_mangle]`").into_compile_error();
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
