//! The registration of a kernel on the host, where the simulator finds it by its name, as the driver does in the PTX.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{FnArg, GenericParam, ItemFn};

/// An element of the list of the program's kernels. `name`: the kernel's in the PTX; nothing is registered where it is
/// empty, or where a lifetime has bounds, which no type of a function pointer can say.
pub fn function(function: &ItemFn, name: &str) -> TokenStream {
    let generics = &function.sig.generics;
    let is_bounded =
        |parameter: &GenericParam| !matches!(parameter, GenericParam::Lifetime(lifetime) if lifetime.bounds.is_empty());
    if name.is_empty() || generics.where_clause.is_some() || generics.params.iter().any(is_bounded) {
        return TokenStream::new();
    }
    // Attributes that decide whether the kernel exists are repeated.
    let conditions = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let ident = &function.sig.ident;
    let lifetimes = &generics.params;
    let lifetimes = (!lifetimes.is_empty()).then(|| quote!(for<#lifetimes>));
    let types = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => Some(&parameter.ty),
        FnArg::Receiver(_) => None,
    });
    quote! {
        // Miri has no linker that could collect lists.
        #[cfg(not(any(target_arch = "nvptx64", miri)))]
        #(#conditions)*
        const _: () = {
            #[allow(deprecated)]
            static FUNCTION: #lifetimes unsafe fn(#(#types),*) = #ident;
            #[::cuda_std::__host::linkme::distributed_slice(::cuda_std::__host::FUNCTIONS)]
            #[linkme(crate = ::cuda_std::__host::linkme)]
            static ENTRY: ::cuda_std::__host::KernelFunction = ::cuda_std::__host::KernelFunction {
                name: #name,
                path: ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#ident)),
                function: &FUNCTION,
            };
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(item: TokenStream) -> String {
        function(&syn::parse2(item).unwrap(), "k").to_string()
    }

    #[test]
    fn a_kernel_is_registered_by_its_type_and_name_if_it_exists() {
        let text = registration(quote!(
            #[cfg(feature = "x")]
            #[inline]
            unsafe fn k<'a>(x: &'a [f32], n: u32) {}
        ));
        for part in [
            quote!(#[cfg(feature = "x")]),
            quote!(
                static FUNCTION: for<'a> unsafe fn(&'a [f32], u32) = k;
            ),
            quote!(name: "k"),
        ] {
            assert!(text.contains(&part.to_string()), "{part} in {text}");
        }
        assert!(!text.contains("inline"));
    }

    #[test]
    fn bounded_lifetimes_are_not_registered() {
        assert_eq!(
            registration(quote!(
                unsafe fn k<'a, 'b: 'a>(x: &'a [f32], y: &'b [f32]) {}
            )),
            ""
        );
    }
}
