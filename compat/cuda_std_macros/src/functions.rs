//! `#[gpu_only]` and `#[externally_visible]`.

use crate::kernel::is_export;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{
    Expr, FnArg, Ident, ItemFn, Pat, Signature, Token,
    parse::{Parse, ParseStream},
};

/// Expands `#[gpu_only(options)] item`.
pub fn gpu_only(options: TokenStream, item: TokenStream) -> TokenStream {
    let expansion = || {
        let options: GpuOnlyOptions = syn::parse2(options)?;
        let ItemFn { attrs, vis, sig, block } = syn::parse2(item)?;
        let body = host_body(&sig, options.sim.as_ref())?;
        let host_sig = Signature {
            abi: None,
            ..sig.clone()
        };
        // What the simulator reports carries the line that called it: the kernel's, if every function on the way hands
        // it on.
        let hands_on_the_line = options.sim.is_some() && !attrs.iter().any(|a| a.path().is_ident("track_caller"));
        let track_caller = hands_on_the_line.then(|| quote!(#[track_caller]));
        Ok(quote! {
            #[cfg(target_arch = "nvptx64")]
            #(#attrs)* #vis #sig #block

            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(unused_variables, unused_mut)]
            #track_caller
            #(#attrs)* #vis #host_sig #body
        })
    };
    expansion().unwrap_or_else(syn::Error::into_compile_error)
}

/// The options of `#[gpu_only]`.
struct GpuOnlyOptions {
    /// What the function does on the host: a function's path, or a block.
    sim: Option<Expr>,
}

impl Parse for GpuOnlyOptions {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self { sim: None });
        }
        let key: Ident = input.parse()?;
        if key != "sim" {
            let message = format!("unknown option `{key}` of `gpu_only`: the one option is `sim`");
            return Err(syn::Error::new(key.span(), message));
        }
        input.parse::<Token![=]>()?;
        let sim = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        Ok(Self { sim: Some(sim) })
    }
}

/// What a GPU-only function does on the host, in braces. This is the one place that decides it.
fn host_body(sig: &Signature, sim: Option<&Expr>) -> syn::Result<TokenStream> {
    match sim {
        None => {
            let message = format!("`{}` can only be called on the GPU", sig.ident);
            Ok(quote!({ ::core::panic!(#message) }))
        }
        Some(Expr::Block(block)) if block.attrs.is_empty() && block.label.is_none() => {
            Ok(block.block.to_token_stream())
        }
        Some(Expr::Path(function)) => {
            let arguments = sig.inputs.iter().map(argument).collect::<syn::Result<Vec<_>>>()?;
            Ok(quote!({ #function(#(#arguments),*) }))
        }
        Some(other) => Err(syn::Error::new_spanned(
            other,
            "`sim` is the path of a function with the same parameters, or a block",
        )),
    }
}

/// A parameter as an argument of the same type.
fn argument(parameter: &FnArg) -> syn::Result<TokenStream> {
    match parameter {
        FnArg::Receiver(receiver) => Ok(receiver.self_token.to_token_stream()),
        FnArg::Typed(parameter) => match &*parameter.pat {
            Pat::Ident(name) if name.subpat.is_none() => Ok(name.ident.to_token_stream()),
            pattern => Err(syn::Error::new_spanned(
                pattern,
                "a function path as `sim` needs parameters with plain names: use a block",
            )),
        },
    }
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

    /// The device form and the host form of a function.
    fn forms(options: TokenStream, item: TokenStream) -> (ItemFn, ItemFn) {
        let file: syn::File = syn::parse2(gpu_only(options, item)).unwrap();
        match file.items.as_slice() {
            [syn::Item::Fn(device), syn::Item::Fn(host)] => (device.clone(), host.clone()),
            other => panic!("not two functions: {}", quote!(#(#other)*)),
        }
    }

    fn has(function: &ItemFn, attribute: &str) -> usize {
        function.attrs.iter().filter(|a| a.path().is_ident(attribute)).count()
    }

    fn body(function: &ItemFn) -> String {
        function.block.to_token_stream().to_string()
    }

    #[test]
    fn the_host_body_names_the_function() {
        let (device, host) = forms(
            quote!(),
            quote!(
                pub extern "C" fn lane() -> u32 {
                    7
                }
            ),
        );
        assert!(body(&host).contains("`lane` can only be called on the GPU"));
        assert!(device.sig.abi.is_some() && host.sig.abi.is_none());
        assert_eq!(body(&device), quote!({ 7 }).to_string());
        assert_eq!((has(&device, "track_caller"), has(&host, "track_caller")), (0, 0));
    }

    #[test]
    fn a_path_is_called_with_the_parameters() {
        let (device, host) = forms(
            quote!(sim = cuda_sim::device::sleep),
            quote!(
                fn sleep(&self, mut nanos: u32) {}
            ),
        );
        assert_eq!(
            body(&host),
            quote!({ cuda_sim::device::sleep(self, nanos) }).to_string()
        );
        assert_eq!((has(&device, "track_caller"), has(&host, "track_caller")), (0, 1));
    }

    #[test]
    fn a_block_is_the_body_and_a_written_track_caller_is_not_repeated() {
        let (device, host) = forms(
            quote!(sim = { x + 1 },),
            quote!(
                #[track_caller]
                #[inline]
                fn next((x, _): (u32, u32)) -> u32 {
                    0
                }
            ),
        );
        assert_eq!(body(&host), quote!({ x + 1 }).to_string());
        assert_eq!((has(&device, "track_caller"), has(&host, "track_caller")), (1, 1));
        assert_eq!(has(&host, "inline"), 1);
    }

    #[test]
    fn misuse_of_the_option_is_an_error_at_its_place() {
        let error = |options, item| gpu_only(options, item).to_string();
        let plain = || {
            quote!(
                fn f(x: u32) {}
            )
        };
        assert!(error(quote!(simulate = f), plain()).contains("unknown option `simulate`"));
        assert!(error(quote!(sim = 5), plain()).contains("the path of a function"));
        assert!(
            error(
                quote!(sim = f),
                quote!(
                    fn f((a, b): (u8, u8)) {}
                )
            )
            .contains("use a block")
        );
        assert!(error(quote!(sim), plain()).contains("compile_error"));
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
