//! `#[kernel]`: one function in, its device form and its host form out.

use crate::options::Options;
use crate::parameters::{peel, points_to_code};
use crate::{grid_constant, mark, register};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{FnArg, ItemFn, PatType, ReturnType, Signature, Type, spanned::Spanned};

/// Expands `#[kernel(options)] item`.
pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return with_item(error, item),
    };
    let (options, wrong) = match Options::parse(options) {
        Ok(options) => (options, None),
        Err(error) => (Options::default(), Some(error)),
    };
    let mut errors = Errors(wrong);
    check(&function.sig, &mut errors);
    let exported = match mark::exported_name(&function) {
        Ok(name) => name,
        // Without options nothing needs the name, and rustc says what is wrong with it.
        Err(_) if options.is_empty() => String::new(),
        Err(error) => {
            errors.add(error);
            String::new()
        }
    };
    match errors.0 {
        // The function is kept without the attribute, so that its callers do not fail on top of it.
        Some(error) => {
            grid_constant::strip(&mut function);
            with_item(error, quote!(#function))
        }
        None => {
            let mark = mark::of_kernel(&options, &function, &exported);
            let constants = match grid_constant::mark(&function) {
                Ok(marker) => marker,
                Err(error) => return with_item(error, quote!(#function)),
            };
            grid_constant::strip(&mut function);
            let registration = register::function(&function, &exported);
            let (device, host) = (device(&function), host(&function, &mark.entering));
            let mark = mark.items;
            quote!(#device #host #mark #constants #registration)
        }
    }
}

fn with_item(error: syn::Error, item: TokenStream) -> TokenStream {
    let error = error.into_compile_error();
    quote!(#error #item)
}

/// All faults of a kernel at once, each with its place.
struct Errors(Option<syn::Error>);

impl Errors {
    fn push(&mut self, at: impl Spanned, message: &str) {
        self.add(syn::Error::new(at.span(), message));
    }

    fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }
}

/// What can be seen without types. That every parameter is `Copy` is left to the compiler ([`copy_checks`]).
fn check(sig: &Signature, errors: &mut Errors) {
    if sig.unsafety.is_none() {
        errors.push(
            sig.fn_token,
            "a kernel must be an `unsafe fn`: nothing can check what the host launches it with",
        );
    }
    if let Some(token) = sig.asyncness {
        errors.push(token, "a kernel cannot be `async`");
    }
    if let Some(token) = sig.constness {
        errors.push(token, "a kernel cannot be `const`");
    }
    if let Some(variadic) = &sig.variadic {
        errors.push(variadic, "a kernel cannot be variadic");
    }
    for parameter in sig
        .generics
        .params
        .iter()
        .filter(|p| !matches!(p, syn::GenericParam::Lifetime(_)))
    {
        errors.push(
            parameter,
            "a kernel cannot be generic: the host finds it by its one name",
        );
    }
    match &sig.output {
        ReturnType::Default => {}
        ReturnType::Type(_, ty) if matches!(&**ty, Type::Tuple(unit) if unit.elems.is_empty()) => {}
        ReturnType::Type(_, ty) => errors.push(ty, "a kernel returns nothing: write results through a pointer"),
    }
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                errors.push(receiver, "a kernel cannot be a method: pass the value as a parameter")
            }
            FnArg::Typed(parameter) if grid_constant::is_marked(parameter) => {
                if let Some(message) = grid_constant::check(parameter) {
                    errors.push(parameter, message);
                }
            }
            FnArg::Typed(parameter) => match peel(&parameter.ty) {
                Type::Reference(reference) if reference.mutability.is_some() => errors.push(
                    reference,
                    "a kernel parameter must be `Copy`: every thread would hold this exclusive borrow, so take a \
                     `*mut` pointer",
                ),
                Type::ImplTrait(ty) => errors.push(ty, "a kernel cannot be generic: the host finds it by its one name"),
                ty if points_to_code(ty) => errors.push(
                    ty,
                    "a kernel cannot take functions from the host: their code is not on the GPU; pass a number and \
                     `match` it",
                ),
                _ => {}
            },
        }
    }
}

fn parameters(sig: &Signature) -> impl Iterator<Item = &PatType> {
    sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => Some(parameter),
        FnArg::Receiver(_) => None,
    })
}

/// Statements that fail to compile, at the parameter's type, where a parameter is not `Copy`.
fn copy_checks(sig: &Signature) -> TokenStream {
    let types = parameters(sig).map(|parameter| &parameter.ty);
    let calls = types.map(|ty| quote_spanned!(ty.span()=> assert_kernel_parameter_is_copy::<#ty>();));
    quote! {
        fn assert_kernel_parameter_is_copy<T: ::core::marker::Copy>() {}
        #(#calls)*
    }
}

/// How a parameter of the kernel appears among the arguments of the launch.
struct Lowered {
    /// One parameter, or two for a fat pointer.
    parameters: TokenStream,
    /// The expression that makes the written parameter of them.
    value: TokenStream,
}

fn lower(index: usize, parameter: &PatType) -> Lowered {
    // Kernel parameters are nameless in PTX, so these names are for readers of an expansion.
    let name = match &*parameter.pat {
        syn::Pat::Ident(pattern) => pattern.ident.to_string().trim_start_matches("r#").to_owned(),
        _ => format!("arg{index}"),
    };
    let name = Ident::new(&format!("{name}_{index}"), Span::mixed_site());
    let (address, len) = (
        format_ident!("{name}_ptr", span = Span::mixed_site()),
        format_ident!("{name}_len", span = Span::mixed_site()),
    );
    let ty = &parameter.ty;

    // A reference is never null, yet an empty device buffer is an address of 0 with a length of 0. Moving the address
    // of an empty slice by one element keeps that sound, and unlike a branch it keeps LLVM's knowledge that the address
    // is in global memory.
    let reference = |element: TokenStream| {
        quote! {
            ::core::slice::from_raw_parts(
                #address.wrapping_add((#len == 0) as ::core::primitive::usize),
                #len,
            ) as &[#element]
        }
    };
    let (element, constness, value) = match peel(ty) {
        Type::Reference(ty) => match peel(&ty.elem) {
            Type::Slice(slice) => {
                let element = &slice.elem;
                let element = quote!(#element);
                (element.clone(), quote!(const), reference(element))
            }
            Type::Path(path) if path.path.is_ident("str") => {
                let byte = quote!(::core::primitive::u8);
                let bytes = reference(byte.clone());
                (byte, quote!(const), quote!(::core::str::from_utf8_unchecked(#bytes)))
            }
            _ => return thin(name, ty),
        },
        Type::Ptr(ty) => match peel(&ty.elem) {
            Type::Slice(slice) => {
                let element = &slice.elem;
                let (constness, function) = match ty.mutability {
                    Some(_) => (quote!(mut), quote!(slice_from_raw_parts_mut)),
                    None => (quote!(const), quote!(slice_from_raw_parts)),
                };
                (
                    quote!(#element),
                    constness,
                    quote!(::core::ptr::#function(#address, #len)),
                )
            }
            _ => return thin(name, ty),
        },
        _ => return thin(name, ty),
    };
    Lowered {
        parameters: quote!(#address: *#constness #element, #len: ::core::primitive::usize),
        value,
    }
}

/// How many parameters of the launch a parameter is.
pub fn lowered_count(parameter: &PatType) -> u32 {
    match peel(&parameter.ty) {
        Type::Reference(ty) => u32::from(is_fat(&ty.elem)) + 1,
        Type::Ptr(ty) => u32::from(matches!(peel(&ty.elem), Type::Slice(_))) + 1,
        _ => 1,
    }
}

/// Whether a reference to the type has a length.
fn is_fat(element: &Type) -> bool {
    match peel(element) {
        Type::Slice(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    }
}

fn thin(name: Ident, ty: impl quote::ToTokens) -> Lowered {
    Lowered {
        parameters: quote!(#name: #ty),
        value: quote!(#name),
    }
}

/// The entry point of the PTX. The body stays a function of its own that takes the parameters as written: it is
/// inlined, and on the way LLVM learns what a shared reference promises (nobody writes to it), which a pair of integers
/// does not say.
fn device(function: &ItemFn) -> TokenStream {
    let ItemFn { attrs, vis, sig, block } = function;
    let Signature {
        ident,
        generics,
        inputs,
        ..
    } = sig;
    let where_clause = &generics.where_clause;
    let checks = copy_checks(sig);
    let lowered: Vec<Lowered> = parameters(sig)
        .enumerate()
        .map(|(index, parameter)| lower(index, parameter))
        .collect();
    let parameters = lowered.iter().map(|l| &l.parameters);
    let values = lowered.iter().map(|l| &l.value);
    let exported = attrs.iter().any(is_export);
    let export = (!exported).then(|| quote!(#[unsafe(no_mangle)]));
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #export
        #[allow(clippy::too_many_arguments)]
        #vis unsafe extern "ptx-kernel" fn #ident #generics (#(#parameters),*) #where_clause {
            #checks
            #[inline(always)]
            unsafe fn #ident #generics (#inputs) #where_clause #block
            // SAFETY: the host passed what the signature asks for, which is the caller's promise to a kernel.
            unsafe { #ident(#(#values),*) }
        }
    }
}

/// The function as written, for type checks, documentation and the CPU.
///
/// Its ABI is Rust's: a panic of the kernel must unwind to the simulator, which `extern "C"` turns into an abort.
/// `entering` is what it does first.
fn host(function: &ItemFn, entering: &TokenStream) -> TokenStream {
    let mut function = function.clone();
    function.sig.abi = None;
    let checks = copy_checks(&function.sig);
    let ItemFn { attrs, vis, sig, block } = function;
    let statements = &block.stmts;
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(clippy::too_many_arguments)]
        #vis #sig {
            #checks
            #entering
            #(#statements)*
        }
    }
}

/// Whether the user already gave the function its exported name.
pub fn is_export(attribute: &syn::Attribute) -> bool {
    let is_name = |path: &syn::Path| path.is_ident("no_mangle") || path.is_ident("export_name");
    is_name(attribute.path())
        || attribute.path().is_ident("unsafe")
            && attribute
                .parse_args::<syn::Meta>()
                .is_ok_and(|inner| is_name(inner.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of the `compile_error!`s in an expansion.
    fn errors(options: TokenStream, item: TokenStream) -> Vec<String> {
        let file: syn::File = syn::parse2(expand(options, item)).unwrap();
        let message = |item: &syn::Item| match item {
            syn::Item::Macro(call) if call.mac.path.segments.last()?.ident == "compile_error" => {
                Some(call.mac.parse_body::<syn::LitStr>().unwrap().value())
            }
            _ => None,
        };
        file.items.iter().filter_map(message).collect()
    }

    /// The first error of a kernel without options, cut at its explanation.
    fn error(item: TokenStream) -> String {
        let errors = errors(quote!(), item);
        errors
            .first()
            .map(|error| error.split(':').next().unwrap_or_default().to_owned())
            .unwrap_or_default()
    }

    #[test]
    fn refuses_what_cannot_be_launched() {
        assert_eq!(
            error(quote!(
                fn k() {}
            )),
            "a kernel must be an `unsafe fn`"
        );
        assert_eq!(
            error(quote!(
                unsafe fn k() -> u32 {
                    0
                }
            )),
            "a kernel returns nothing"
        );
        assert_eq!(
            error(quote!(
                unsafe fn k(&self) {}
            )),
            "a kernel cannot be a method"
        );
        assert_eq!(
            error(quote!(
                async unsafe fn k() {}
            )),
            "a kernel cannot be `async`"
        );
        assert_eq!(
            error(quote!(
                const unsafe fn k() {}
            )),
            "a kernel cannot be `const`"
        );
        assert_eq!(
            error(quote!(
                unsafe fn k<T: Copy>(x: T) {}
            )),
            "a kernel cannot be generic"
        );
        assert_eq!(
            error(quote!(
                unsafe fn k<const N: usize>(x: [u8; N]) {}
            )),
            "a kernel cannot be generic"
        );
        assert_eq!(
            error(quote!(
                unsafe fn k(x: impl Copy) {}
            )),
            "a kernel cannot be generic"
        );
        assert_eq!(
            error(quote!(
                unsafe fn k(x: &mut [f32]) {}
            )),
            "a kernel parameter must be `Copy`"
        );
    }

    #[test]
    fn reports_all_faults_at_once_and_keeps_the_function() {
        let item = quote!(
            fn k(x: &mut u8) -> u32 {
                0
            }
        );
        assert_eq!(errors(quote!(speed = 11), item.clone()).len(), 4);
        assert!(expand(quote!(), item).to_string().contains("fn k"));
    }

    #[test]
    fn accepts_lifetimes_unit_and_a_written_abi() {
        assert_eq!(
            error(quote!(
                unsafe extern "C" fn k<'a>(x: &'a [f32], (a, b): (u8, u8)) -> () {}
            )),
            ""
        );
    }

    /// The parameters of the device form.
    fn device_parameters(item: TokenStream) -> String {
        let file: syn::File = syn::parse2(expand(quote!(), item)).unwrap();
        let syn::Item::Fn(device) = &file.items[0] else {
            panic!("the device form comes first")
        };
        let inputs = &device.sig.inputs;
        quote!(#inputs).to_string()
    }

    #[test]
    fn the_host_form_has_the_written_signature_and_can_unwind() {
        let file: syn::File = syn::parse2(expand(
            quote!(),
            quote!(
                pub unsafe extern "C" fn k<'a>(x: &'a [f32], (a, b): (u8, u8)) {
                    work(x, a, b)
                }
            ),
        ))
        .unwrap();
        let syn::Item::Fn(host) = &file.items[1] else {
            panic!("the host form comes second")
        };
        let sig = &host.sig;
        let expected = quote!(unsafe fn k<'a>(x: &'a [f32], (a, b): (u8, u8)));
        assert_eq!(quote!(#sig).to_string(), expected.to_string());
        assert!(host.attrs.iter().all(|a| !is_export(a)));
        assert_eq!(
            host.block.stmts.last().map(|s| quote!(#s).to_string()),
            Some("work (x , a , b)".to_owned())
        );
    }

    #[test]
    fn fat_pointers_become_two_parameters() {
        let parameters = device_parameters(quote!(
            unsafe fn k(mut a: &[f32], b: *mut [u8], _: &str, d: &[u8; 4], e: (&'static [u16])) {}
        ));
        let expected = quote!(
            a_0_ptr: *const f32, a_0_len: ::core::primitive::usize,
            b_1_ptr: *mut u8, b_1_len: ::core::primitive::usize,
            arg2_2_ptr: *const ::core::primitive::u8, arg2_2_len: ::core::primitive::usize,
            d_3: &[u8; 4],
            e_4_ptr: *const u16, e_4_len: ::core::primitive::usize
        );
        assert_eq!(parameters, expected.to_string());
    }

    #[test]
    fn a_written_export_is_not_repeated() {
        let count = |item| expand(quote!(), item).to_string().matches("no_mangle").count();
        assert_eq!(
            count(quote!(
                unsafe fn k() {}
            )),
            1
        );
        // Once in the device form and once in the host form, where it is the user's own.
        assert_eq!(
            count(quote!(
                #[no_mangle]
                unsafe fn k() {}
            )),
            2
        );
        assert_eq!(
            count(quote!(
                #[unsafe(no_mangle)]
                unsafe fn k() {}
            )),
            2
        );
    }
}
