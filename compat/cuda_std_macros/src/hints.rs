//! The options of `#[kernel(key = value, ..)]`.

use proc_macro2::TokenStream;
use syn::{
    Ident, Lit, Token,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

/// One `key = value`.
///
/// The published crate reads the value of both keys as an identifier and then compares it with `1d`, which is not one, so it accepts
/// no value at all. Here `1d`, `2d` and `3d` are accepted, and mean as little: nothing is generated from them.
struct KernelOption;

/// The keys, in the order in which an error lists them.
const KEYS: [&str; 2] = ["grid_dim", "block_dim"];

impl Parse for KernelOption {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let key: Ident = input.parse()?;
        if !KEYS.iter().any(|known| key == known) {
            return Err(syn::Error::new(
                key.span(),
                format!(
                    "unknown kernel option `{key}`: the options are {}",
                    KEYS.map(|k| format!("`{k}`")).join(", ")
                ),
            ));
        }
        input.parse::<Token![=]>()?;
        dimension(input)?;
        Ok(Self)
    }
}

/// Reads `1d`, `2d` or `3d`: to Rust's lexer an integer literal with the suffix `d`.
fn dimension(input: ParseStream) -> syn::Result<u8> {
    let value: Lit = input.parse()?;
    if let Lit::Int(number) = &value
        && number.suffix().eq_ignore_ascii_case("d")
        && let Ok(dimensions @ 1..=3) = number.base10_parse()
    {
        return Ok(dimensions);
    }
    Err(syn::Error::new(value.span(), "expected `1d`, `2d` or `3d`"))
}

/// Checks the options of a kernel.
pub fn check(options: TokenStream) -> syn::Result<()> {
    syn::parse::Parser::parse2(Punctuated::<KernelOption, Token![,]>::parse_terminated, options).map(drop)
}

#[cfg(test)]
mod tests {
    use super::check;
    use quote::quote;

    #[test]
    fn accepts_the_published_keys_in_any_number() {
        for good in [quote!(), quote!(grid_dim = 1d), quote!(grid_dim = 2d, block_dim = 3D,)] {
            assert!(check(good.clone()).is_ok(), "{good}");
        }
    }

    #[test]
    fn names_what_is_wrong() {
        let message = |options| check(options).unwrap_err().to_string();
        assert_eq!(
            message(quote!(gird_dim = 1d)),
            "unknown kernel option `gird_dim`: the options are `grid_dim`, `block_dim`"
        );
        assert_eq!(message(quote!(grid_dim = 4d)), "expected `1d`, `2d` or `3d`");
        assert_eq!(message(quote!(grid_dim = 2)), "expected `1d`, `2d` or `3d`");
    }
}
