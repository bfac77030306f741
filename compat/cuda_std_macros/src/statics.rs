//! `#[address_space(..)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, ItemStatic, StaticMutability};

/// Expands `#[address_space(space)]`.
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    expand(space, &item).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #item)
    })
}

fn expand(space: TokenStream, item: &TokenStream) -> syn::Result<TokenStream> {
    let space: Ident = syn::parse2(space)?;
    let item: ItemStatic = syn::parse2(item.clone())?;
    // The section is what `cuda_builder` reads, the registration what the simulator does. Statics are global memory
    // already.
    let (section, registration) = match space.to_string().as_str() {
        "global" => return Ok(quote!(#item)),
        "shared" => {
            let is_mut = matches!(item.mutability, StaticMutability::Mut(_));
            let is_mut = quote!(is_mut: #is_mut,);
            let (list, entry) = (quote!(SHARED_STATICS), quote!(SharedStatic));
            (".shared", register(&item, list, entry, is_mut))
        }
        "constant" => {
            let (list, entry) = (quote!(CONSTANT_STATICS), quote!(ConstantStatic));
            (".constant", register(&item, list, entry, quote!()))
        }
        "local" => {
            let message = "there is no static local memory: a local variable of the kernel is local memory already";
            return Ok(quote! {
                #[cfg(target_arch = "nvptx64")]
                ::core::compile_error!(#message);
                #item
            });
        }
        other => {
            return Err(syn::Error::new(
                space.span(),
                format!("unknown address space `{other}`: it is one of `global`, `shared`, `constant`"),
            ));
        }
    };
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))]
        #item
        #registration
    })
}

/// An element of the list `list`, of type `entry` with the fields `more`, that tells the host where the static is.
///
/// Attributes of the static that decide whether it exists are repeated. Miri has no linker that could collect lists.
fn register(item: &ItemStatic, list: TokenStream, entry: TokenStream, more: TokenStream) -> TokenStream {
    let ItemStatic { ident, ty, .. } = item;
    let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let address = match item.mutability {
        StaticMutability::Mut(_) => quote!(::core::ptr::addr_of_mut!(#ident)),
        _ => quote!(::core::ptr::addr_of!(#ident)),
    };
    quote! {
        #[cfg(not(any(target_arch = "nvptx64", miri)))]
        #(#conditions)*
        const _: () = {
            #[::cuda_std::__host::linkme::distributed_slice(::cuda_std::__host::#list)]
            #[linkme(crate = ::cuda_std::__host::linkme)]
            static ENTRY: ::cuda_std::__host::#entry = ::cuda_std::__host::#entry {
                name: ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#ident)),
                address: || #address as *mut ::core::primitive::u8,
                bytes: ::core::mem::size_of::<#ty>(),
                #more
                file: ::core::file!(),
                line: ::core::line!(),
            };
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(space: TokenStream, item: TokenStream) -> String {
        address_space(space, item).to_string()
    }

    fn word() -> TokenStream {
        quote!(
            #[cfg(all())]
            #[doc = "A word."]
            static mut X: u32 = 0;
        )
    }

    #[test]
    fn spaces_become_sections() {
        assert!(expansion(quote!(shared), word()).contains("unsafe (link_section = \".shared\")"));
        assert!(expansion(quote!(constant), word()).contains("unsafe (link_section = \".constant\")"));
        assert!(!expansion(quote!(global), word()).contains("link_section"));
        assert!(expansion(quote!(local), word()).contains("there is no static local memory"));
        assert!(expansion(quote!(texture), word()).contains("unknown address space `texture`"));
    }

    #[test]
    fn the_host_learns_of_shared_and_constant_statics() {
        let file: syn::File = syn::parse2(address_space(quote!(shared), word())).unwrap();
        let [syn::Item::Static(kept), syn::Item::Const(registration)] = file.items.as_slice() else {
            panic!("a static and its registration")
        };
        assert_eq!(kept.ident, "X");
        let attributes: Vec<String> = registration.attrs.iter().map(|a| quote!(#a).to_string()).collect();
        assert_eq!(
            attributes,
            [
                quote!(#[cfg(not(any(target_arch = "nvptx64", miri)))]).to_string(),
                quote!(#[cfg(all())]).to_string()
            ]
        );
        let body = quote!(#registration).to_string();
        for part in ["SHARED_STATICS", "addr_of_mut ! (X)", "is_mut : true"] {
            assert!(body.contains(part), "{part} in {body}");
        }

        let constant = expansion(
            quote!(constant),
            quote!(
                static X: u32 = 0;
            ),
        );
        assert!(
            constant.contains("CONSTANT_STATICS") && constant.contains("addr_of ! (X)"),
            "{constant}"
        );
        assert!(!expansion(quote!(global), word()).contains("distributed_slice"));
    }
}
