//! What is accepted, and what each refusal says.

use super::*;

/// The messages of all errors.
fn messages(options: TokenStream) -> Vec<String> {
    match Options::parse(options) {
        Ok(_) => Vec::new(),
        Err(error) => error.into_iter().map(|error| error.to_string()).collect(),
    }
}

#[track_caller]
fn refused(options: TokenStream, reason: &str) {
    let messages = messages(options.clone());
    let [message] = messages.as_slice() else {
        panic!("not one error for `{options}`: {messages:?}")
    };
    assert!(message.contains(reason), "`{options}`: {message}");
    assert!(!message.contains('\n'), "one line: {message}");
}

fn words(options: TokenStream) -> Vec<String> {
    let options = Options::parse(options).unwrap_or_else(|error| panic!("{error}"));
    assert!(options.assertions().is_empty(), "literals are checked at once");
    options.words().iter().map(ToString::to_string).collect()
}

#[test]
fn accepts_the_published_keys() {
    for good in [quote!(), quote!(grid_dim = 1d), quote!(grid_dim = 2d, block_dim = 3D,)] {
        assert!(
            Options::parse(good.clone()).is_ok_and(|options| options.is_empty()),
            "{good}"
        );
    }
}

#[test]
fn each_option_has_its_words() {
    assert_eq!(
        words(quote!(max_threads = 256)),
        ["1u32", "256", "0", "0", "0", "0", "0", "0", "0", "0u32"]
    );
    assert_eq!(
        words(quote!(
            max_threads = (16, 8u32, 2),
            min_blocks = 4,
            max_registers = 64,
            cluster = (2, 1, 1),
        )),
        ["1u32", "16", "8u32", "2", "4", "64", "2", "1", "1", "0u32"]
    );
    assert_eq!(words(quote!(max_threads = 0x40, smem_spilling))[9], "1u32");
    assert_eq!(words(quote!(smem_spilling, assume_max_threads))[9], "3u32");
    assert_eq!(words(quote!(cluster = 4, block_dim = 1d))[6..], ["4", "0", "0", "0u32"]);
}

#[test]
fn the_host_keeps_what_was_written() {
    let fields = |options| {
        Options::parse(options)
            .unwrap_or_else(|error| panic!("{error}"))
            .fields()
            .to_string()
    };
    let fields_of = fields(quote!(max_threads = (16, 8), min_blocks = 4, smem_spilling));
    let expected = quote! {
        max_threads: ::core::option::Option::Some([16, 8, 1]),
        min_blocks: ::core::option::Option::Some(4),
        max_registers: ::core::option::Option::None,
        cluster: ::core::option::Option::None,
        smem_spilling: true,
        assume_max_threads: false,
    };
    assert_eq!(fields_of, expected.to_string());
}

#[test]
fn the_edges_are_accepted() {
    for good in [
        quote!(max_threads = 1),
        quote!(max_threads = 1024),
        quote!(max_threads = (1, 1, 1024)),
        quote!(max_threads = 64, min_blocks = 32),
        quote!(max_threads = 1024, min_blocks = 2),
        quote!(max_registers = 24),
        quote!(max_registers = 255),
        quote!(cluster = 1),
        quote!(cluster = (2, 2, 2)),
    ] {
        assert_eq!(messages(good.clone()), [""; 0], "{good}");
    }
}

#[test]
fn numbers_out_of_range_are_refused_with_the_reason() {
    for (bad, reason) in [
        (quote!(max_threads = 0), "no GPU has larger blocks"),
        (quote!(max_threads = 1025), "1 to 1024"),
        (quote!(max_threads = (32, 33)), "the product of its extents"),
        (quote!(max_threads = (32, 0, 1)), "1 to 1024"),
        (quote!(max_threads = (65536, 65536, 65536)), "1 to 1024"),
        (quote!(max_threads = 64, min_blocks = 0), "1 to 32"),
        (quote!(max_threads = 32, min_blocks = 33), "1 to 32"),
        (quote!(max_threads = 1024, min_blocks = 3), "at most 2048"),
        (quote!(max_registers = 0), "24 to 255"),
        (quote!(max_registers = 23), "raises fewer to 24"),
        (quote!(max_registers = 256), "ignores more"),
        (quote!(cluster = 0), "1 to 8"),
        (quote!(cluster = 9), "not portable"),
        (quote!(cluster = (4, 4)), "opt in"),
        (quote!(cluster = (2, 0)), "1 to 8"),
    ] {
        // `min_blocks = 0` breaks the rule of the product as well.
        match messages(bad.clone()).as_slice() {
            [first, ..] => assert!(first.contains(reason), "`{bad}`: {first}"),
            [] => panic!("`{bad}` is accepted"),
        }
    }
    refused(quote!(max_threads = 4294967296), "number too large");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    refused(quote!(min_blocks = 2), "`min_blocks` needs `max_threads`");
    refused(quote!(assume_max_threads), "with `smem_spilling` only");
    refused(
        quote!(smem_spilling, max_threads = 64, assume_max_threads),
        "leave one of them out",
    );
    refused(
        quote!(max_threads = 64, max_threads = 64),
        "`max_threads` is given twice",
    );
    refused(
        quote!(smem_spilling, max_threads = 64, smem_spilling),
        "`smem_spilling` is given twice",
    );
    refused(quote!(grid_dim = 1d, grid_dim = 1d), "`grid_dim` is given twice");
}

#[test]
fn what_cannot_be_read_is_named() {
    let keys = "the options are `grid_dim`, `block_dim`, `max_threads`, `min_blocks`, `max_registers`, `cluster`, \
                `smem_spilling`, `assume_max_threads`";
    refused(quote!(gird_dim = 1d), "unknown kernel option `gird_dim`");
    refused(quote!(max_thread = 256), keys);
    refused(quote!(grid_dim = 4d), "expected `1d`, `2d` or `3d`");
    refused(quote!(grid_dim = 2), "expected `1d`, `2d` or `3d`");
    refused(quote!(max_threads), "expected `=`");
    refused(quote!(max_threads = ()), "one to three extents");
    refused(quote!(max_threads = (2, 2, 2, 2)), "one to three extents");
    refused(quote!(max_threads = "256"), "expected a whole number");
    refused(quote!(max_threads = 256d), "expected a whole number");
    refused(quote!(max_registers = 64.0), "expected a whole number");
    refused(quote!(smem_spilling = true), "`smem_spilling` takes no value");
    refused(quote!(smem_spilling assume_max_threads), "expected `,`");
}

#[test]
fn all_faults_are_reported_at_once() {
    let found = messages(quote!(
        min_blocks = 40,
        max_registers = 300,
        cluster = 16,
        assume_max_threads
    ));
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn constants_are_left_to_the_compiler() {
    let options = Options::parse(quote!(max_threads = (TILE, 2 * TILE), min_blocks = BLOCKS, cluster = 2));
    let options = options.unwrap_or_else(|error| panic!("{error}"));
    let assertions: syn::File = syn::parse2(options.assertions()).unwrap();
    // Of the threads, of the blocks, and of their product; the cluster is known.
    assert_eq!(assertions.items.len(), 3);
    let words: Vec<String> = options.words().iter().map(ToString::to_string).collect();
    assert_eq!(words[1..5], ["TILE", "2 * TILE", "0", "BLOCKS"]);
}
