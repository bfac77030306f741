//! What the options of a kernel become: a marker static on the GPU, for `cuda_builder`, and attributes on the host, for
//! the simulator.

use crate::kernel::is_export;
use crate::options::Options;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Expr, ExprLit, ItemFn, Lit, LitStr, Meta};

/// What the name of a marker static begins with; the kernel's name follows.
const MARKER: &str = "__cuda_std_kernel_";

/// What is added to the expansion of a kernel.
#[derive(Default)]
pub struct Mark {
    /// Items beside the kernel.
    pub items: TokenStream,
    /// Statements with which the host form begins.
    pub entering: TokenStream,
}

/// The mark of a kernel whose name in the PTX is `name`; empty where the options have no meaning.
pub fn of_kernel(options: &Options, function: &ItemFn, name: &str) -> Mark {
    if options.is_empty() {
        return Mark::default();
    }
    // Attributes that decide whether the kernel exists are repeated.
    let conditions: Vec<&Attribute> = function.attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let marker = format_ident!("{MARKER}{}", function.sig.ident);
    let marker_name = format!("{MARKER}{name}");
    let words = options.words();
    let count = words.len();
    let assertions = options.assertions();

    let ident = &function.sig.ident;
    let fields = options.fields();
    let attributes = quote! {
        ::cuda_std::__host::KernelAttributes {
            name: #name,
            path: ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#ident)),
            #fields
        }
    };
    let items = quote! {
        #(#conditions)*
        const _: () = { #assertions };

        #[cfg(target_arch = "nvptx64")]
        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        #[used]
        #[unsafe(export_name = #marker_name)]
        #[unsafe(link_section = ".nvptx.kernel")]
        static #marker: [::core::primitive::u32; #count] = [#(#words),*];

        // Miri has no linker that could collect lists.
        #[cfg(not(any(target_arch = "nvptx64", miri)))]
        #(#conditions)*
        const _: () = {
            #[::cuda_std::__host::linkme::distributed_slice(::cuda_std::__host::KERNELS)]
            #[linkme(crate = ::cuda_std::__host::linkme)]
            static ENTRY: ::cuda_std::__host::KernelAttributes = #attributes;
        };
    };
    let entering = quote! {
        ::cuda_std::__host::enter_kernel(const { &#attributes });
    };
    Mark { items, entering }
}

/// The kernel's name in the PTX: its own, unless the user gave it another.
pub fn exported_name(function: &ItemFn) -> syn::Result<String> {
    for attribute in function.attrs.iter().filter(|attribute| is_export(attribute)) {
        let meta = match &attribute.meta {
            Meta::List(list) => list.parse_args()?,
            plain => plain.clone(),
        };
        if let Meta::NameValue(pair) = &meta {
            return Ok(literal(&pair.value)?.value());
        }
    }
    Ok(function.sig.ident.to_string().trim_start_matches("r#").to_owned())
}

fn literal(value: &Expr) -> syn::Result<&LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(name), ..
        }) => Ok(name),
        other => Err(syn::Error::new_spanned(
            other,
            "the options of a kernel need its exported name as a string literal",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(item: TokenStream) -> ItemFn {
        syn::parse2(item).unwrap()
    }

    fn mark(options: TokenStream, item: TokenStream) -> Mark {
        let function = kernel(item);
        let options = Options::parse(options).unwrap_or_else(|error| panic!("{error}"));
        of_kernel(&options, &function, &exported_name(&function).unwrap())
    }

    #[test]
    fn without_options_nothing_is_added() {
        let item = quote!(
            unsafe fn k() {}
        );
        for options in [quote!(), quote!(grid_dim = 1d)] {
            let mark = mark(options, item.clone());
            assert!(mark.items.is_empty() && mark.entering.is_empty());
        }
    }

    #[test]
    fn the_device_has_a_marker_and_the_host_its_attributes() {
        let mark = mark(
            quote!(max_threads = 64),
            quote!(
                #[cfg(feature = "x")]
                #[inline]
                unsafe fn k() {}
            ),
        );
        let file: syn::File = syn::parse2(mark.items).unwrap();
        let [syn::Item::Const(_), syn::Item::Static(marker), syn::Item::Const(entry)] = file.items.as_slice() else {
            panic!("assertions, a marker and an entry")
        };
        assert_eq!(marker.ident, "__cuda_std_kernel_k");
        let of = |attributes: &[Attribute]| quote!(#(#attributes)*).to_string();
        for part in ["\".nvptx.kernel\"", "used", "\"x\"", "\"__cuda_std_kernel_k\""] {
            assert!(of(&marker.attrs).contains(part), "{part}");
        }
        assert!(of(&entry.attrs).contains("\"x\"") && !of(&entry.attrs).contains("inline"));
        let entry = quote!(#entry).to_string();
        assert!(entry.contains("KERNELS") && entry.contains("name : \"k\""), "{entry}");
        assert!(mark.entering.to_string().contains("enter_kernel"));
    }

    #[test]
    fn the_name_is_the_exported_one() {
        for (item, name) in [
            (
                quote!(
                    unsafe fn k() {}
                ),
                "k",
            ),
            (
                quote!(
                    unsafe fn r#loop() {}
                ),
                "loop",
            ),
            (
                quote!(
                    #[no_mangle]
                    unsafe fn k() {}
                ),
                "k",
            ),
            (
                quote!(
                    #[unsafe(no_mangle)]
                    unsafe fn k() {}
                ),
                "k",
            ),
            (
                quote!(
                    #[export_name = "other"]
                    unsafe fn k() {}
                ),
                "other",
            ),
            (
                quote!(
                    #[unsafe(export_name = "other")]
                    unsafe fn k() {}
                ),
                "other",
            ),
        ] {
            assert_eq!(exported_name(&kernel(item.clone())).unwrap(), name, "{item}");
        }
        let unknown = kernel(quote!(
            #[export_name = concat!("a", "b")]
            unsafe fn k() {}
        ));
        let error = exported_name(&unknown).unwrap_err().to_string();
        assert!(error.contains("string literal"), "{error}");
    }
}
