//! `#[address_space(..)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, ItemStatic};

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
    // What `cuda_builder` reads. Statics are global memory already.
    let section = match space.to_string().as_str() {
        "global" => return Ok(quote!(#item)),
        "shared" => ".shared",
        "constant" => ".constant",
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_become_sections() {
        let expansion = |space| {
            address_space(
                space,
                quote!(
                    static mut X: u32 = 0;
                ),
            )
            .to_string()
        };
        assert!(expansion(quote!(shared)).contains("unsafe (link_section = \".shared\")"));
        assert!(expansion(quote!(constant)).contains("unsafe (link_section = \".constant\")"));
        assert!(!expansion(quote!(global)).contains("link_section"));
        assert!(expansion(quote!(local)).contains("there is no static local memory"));
        assert!(expansion(quote!(texture)).contains("unknown address space `texture`"));
    }
}
