//! The options of `#[kernel(key = value, ..)]`: what is accepted, and what is said of the rest.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::ops::RangeInclusive;
use syn::{
    Expr, ExprLit, Ident, Lit, Token,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
};

/// The options of one kernel.
#[derive(Default)]
pub struct Options {
    /// `.maxntid`: one to three extents, whose product is the most threads of a block.
    pub max_threads: Option<Vec<Value>>,
    /// `.minnctapersm`.
    pub min_blocks: Option<Value>,
    /// `.maxnreg`.
    pub max_registers: Option<Value>,
    /// `.reqnctapercluster`: one to three extents.
    pub cluster: Option<Vec<Value>>,
    /// `.pragma "enable_smem_spilling"`.
    pub smem_spilling: bool,
    /// Spill into shared memory although nothing says how many threads a block has.
    pub assume_max_threads: bool,
}

/// A number: a literal, or a constant expression of type `u32` that only the compiler can compute.
#[derive(Clone)]
pub struct Value {
    pub expr: Expr,
    /// What a literal says.
    pub known: Option<u32>,
}

/// The keys, in the order in which an error lists them.
const KEYS: [&str; 8] = [
    "grid_dim",
    "block_dim",
    "max_threads",
    "min_blocks",
    "max_registers",
    "cluster",
    "smem_spilling",
    "assume_max_threads",
];

/// What the product of some numbers must be, and the reason.
struct Rule<'a> {
    factors: Vec<&'a Value>,
    range: RangeInclusive<u32>,
    reason: &'static str,
    /// Whether an expression may be 0, which is as if nothing were written: a kernel's geometry then says both.
    may_be_none: bool,
}

/// Threads of a block: the CUDA programming guide's table of technical specifications, the same for every compute
/// capability.
const THREADS: RangeInclusive<u32> = 1..=1024;
const THREADS_REASON: &str =
    "`max_threads` is 1 to 1024, the product of its extents: no GPU has larger blocks, and ptxas would not say so";

/// Resident blocks of an SM: same table.
const BLOCKS: RangeInclusive<u32> = 1..=32;
const BLOCKS_REASON: &str = "`min_blocks` is 1 to 32: no SM holds more blocks, and ptxas ignores the directive then";

/// Resident threads of an SM: same table. ptxas 13.0: "Value of threads per SM for entry k is out of range.
/// .minnctapersm will be ignored".
const RESIDENT: RangeInclusive<u32> = 1..=2048;
const RESIDENT_REASON: &str =
    "`min_blocks` times `max_threads` is at most 2048: no SM holds more threads, and ptxas ignores the directive then";

/// ptxas 13.0, for every architecture: "adjusting per thread register count of 23 to lower bound of 24" and "Too many
/// maxnreg specified, will be ignored" above 255.
const REGISTERS: RangeInclusive<u32> = 24..=255;
const REGISTERS_REASON: &str = "`max_registers` is 24 to 255: ptxas raises fewer to 24, and ignores more";

/// CUDA programming guide, "Thread Block Clusters": "a maximum of 8 thread blocks in a cluster is supported as a
/// portable cluster size". More, up to the 16 that some GPUs have, fail at the launch unless the host has set
/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const CLUSTER: RangeInclusive<u32> = 1..=8;
const CLUSTER_REASON: &str = "`cluster` is 1 to 8 blocks, the product of its extents: more are not portable, and the \
                              launch would have to opt in";

impl Options {
    /// Reads and checks the options; the error combines all that is wrong with them.
    pub fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let written = syn::parse::Parser::parse2(Punctuated::<Written, Token![,]>::parse_terminated, tokens)?;
        let mut errors = None::<syn::Error>;
        let mut push = |span: Span, message: &str| {
            let error = syn::Error::new(span, message);
            match &mut errors {
                Some(first) => first.combine(error),
                None => errors = Some(error),
            }
        };
        let mut options = Self::default();
        let mut seen: Vec<&Ident> = Vec::new();
        for Written { key, value } in &written {
            if seen.contains(&key) {
                push(key.span(), &format!("`{key}` is given twice"));
            }
            seen.push(key);
            match value {
                Setting::MaxThreads(extents) => options.max_threads = Some(extents.clone()),
                Setting::MinBlocks(value) => options.min_blocks = Some(value.clone()),
                Setting::MaxRegisters(value) => options.max_registers = Some(value.clone()),
                Setting::Cluster(extents) => options.cluster = Some(extents.clone()),
                Setting::SmemSpilling => options.smem_spilling = true,
                Setting::AssumeMaxThreads => options.assume_max_threads = true,
                Setting::Dimension => {}
            }
        }
        for rule in options.rules() {
            let at = rule.factors[0].expr.span();
            if rule.product().is_some_and(|product| !rule.holds(product)) {
                push(at, rule.reason);
            }
        }
        let key = |name: &str| seen.iter().find(|key| **key == name).map(|key| key.span());
        if let (Some(at), None) = (key("min_blocks"), &options.max_threads) {
            push(
                at,
                "`min_blocks` needs `max_threads`: ptxas ignores .minnctapersm without .maxntid",
            );
        }
        if let Some(at) = key("assume_max_threads") {
            if !options.smem_spilling {
                push(at, "`assume_max_threads` means something with `smem_spilling` only");
            }
            if options.max_threads.is_some() {
                push(
                    at,
                    "`assume_max_threads` is for kernels without `max_threads`: leave one of them out",
                );
            }
        }
        errors.map_or(Ok(options), Err)
    }

    /// Whether nothing was written that has a meaning.
    pub fn is_empty(&self) -> bool {
        let numbers = [&self.min_blocks, &self.max_registers];
        let extents = [&self.max_threads, &self.cluster];
        !self.smem_spilling
            && !self.assume_max_threads
            && numbers.iter().all(|number| number.is_none())
            && extents.iter().all(|extents| extents.is_none())
    }

    fn rules(&self) -> Vec<Rule<'_>> {
        let rule = |factors: Vec<_>, range, reason| Rule {
            factors,
            range,
            reason,
            may_be_none: false,
        };
        let mut rules = Vec::new();
        if let Some(threads) = &self.max_threads {
            rules.push(rule(threads.iter().collect(), THREADS, THREADS_REASON));
        }
        if let Some(blocks) = &self.min_blocks {
            rules.push(rule(vec![blocks], BLOCKS, BLOCKS_REASON));
        }
        if let (Some(blocks), Some(threads)) = (&self.min_blocks, &self.max_threads) {
            let factors = std::iter::once(blocks).chain(threads).collect();
            rules.push(rule(factors, RESIDENT, RESIDENT_REASON));
        }
        if let Some(registers) = &self.max_registers {
            rules.push(rule(vec![registers], REGISTERS, REGISTERS_REASON));
        }
        if let Some(blocks) = &self.cluster {
            rules.push(Rule {
                may_be_none: true,
                ..rule(blocks.iter().collect(), CLUSTER, CLUSTER_REASON)
            });
        }
        rules
    }

    /// Items that fail to compile where a number that only the compiler knows is out of range.
    pub fn assertions(&self) -> TokenStream {
        let open = self.rules().into_iter().filter(|rule| rule.product().is_none());
        open.map(|rule| rule.assertion()).collect()
    }

    /// The numbers that `cuda_builder` reads, in the order of `docs/device-abi.md`; 0 is what was not written.
    pub fn words(&self) -> Vec<TokenStream> {
        fn three(extents: &Option<Vec<Value>>) -> impl Iterator<Item = TokenStream> + '_ {
            (0..3).map(move |axis| word(extents.as_ref().and_then(|extents| extents.get(axis))))
        }
        fn word(value: Option<&Value>) -> TokenStream {
            value.map_or(quote!(0), |value| value.expr.to_token_stream())
        }
        const FORM: u32 = 1;
        let flags = u32::from(self.smem_spilling) | u32::from(self.assume_max_threads) << 1;
        let mut words = vec![quote!(#FORM)];
        words.extend(three(&self.max_threads));
        words.push(word(self.min_blocks.as_ref()));
        words.push(word(self.max_registers.as_ref()));
        words.extend(three(&self.cluster));
        words.push(quote!(#flags));
        words
    }

    /// The fields of the simulator's `KernelAttributes` that hold the options.
    pub fn fields(&self) -> TokenStream {
        let some = |value: Option<TokenStream>| match value {
            Some(value) => quote!(::core::option::Option::Some(#value)),
            None => quote!(::core::option::Option::None),
        };
        let extents = |extents: &Option<Vec<Value>>| {
            some(extents.as_ref().map(|extents| {
                let axes = (0..3).map(|axis| {
                    extents
                        .get(axis)
                        .map_or(quote!(1), |value| value.expr.to_token_stream())
                });
                quote!([#(#axes),*])
            }))
        };
        let number = |value: &Option<Value>| some(value.as_ref().map(|value| value.expr.to_token_stream()));
        let (max_threads, cluster) = (extents(&self.max_threads), extents(&self.cluster));
        // An expression may be 0, which is none.
        let cluster = match &self.cluster {
            Some(extents) if extents.iter().any(|extent| extent.known.is_none()) => {
                quote!(match #cluster {
                    ::core::option::Option::Some([0, ..]) => ::core::option::Option::None,
                    some => some,
                })
            }
            _ => cluster,
        };
        let (min_blocks, max_registers) = (number(&self.min_blocks), number(&self.max_registers));
        let Self {
            smem_spilling,
            assume_max_threads,
            ..
        } = self;
        quote! {
            max_threads: #max_threads,
            min_blocks: #min_blocks,
            max_registers: #max_registers,
            cluster: #cluster,
            smem_spilling: #smem_spilling,
            assume_max_threads: #assume_max_threads,
        }
    }
}

impl Rule<'_> {
    /// The product, if all of its factors are known.
    fn product(&self) -> Option<u64> {
        let multiply = |product: u64, factor: &&Value| Some(product.saturating_mul(factor.known?.into()));
        self.factors.iter().try_fold(1, multiply)
    }

    fn holds(&self, product: u64) -> bool {
        (u64::from(*self.range.start())..=u64::from(*self.range.end())).contains(&product)
    }

    fn assertion(&self) -> TokenStream {
        let (low, high) = (self.range.start(), self.range.end());
        let none = self.may_be_none.then(|| quote!(product == 0 ||));
        let reason = self.reason;
        let factors = self.factors.iter().map(|factor| &factor.expr);
        let at = self.factors[0].expr.span();
        quote_spanned! {at=>
            const _: () = {
                let factors: &[::core::primitive::u32] = &[#(#factors),*];
                let (mut product, mut i) = (1, 0);
                while i < factors.len() {
                    product = factors[i].saturating_mul(product);
                    i += 1;
                }
                ::core::assert!(#none #low <= product && product <= #high, #reason);
            };
        }
    }
}

/// One option as it is written.
struct Written {
    key: Ident,
    value: Setting,
}

enum Setting {
    /// The published crate reads the value of `grid_dim` and `block_dim` as an identifier and then compares it with
    /// `1d`, which is not one, so it accepts no value at all. Here `1d`, `2d` and `3d` are accepted, and mean as
    /// little: nothing is generated from them.
    Dimension,
    MaxThreads(Vec<Value>),
    MinBlocks(Value),
    MaxRegisters(Value),
    Cluster(Vec<Value>),
    SmemSpilling,
    AssumeMaxThreads,
}

impl Parse for Written {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let key: Ident = input.parse()?;
        let name = key.to_string();
        if !KEYS.contains(&name.as_str()) {
            let message = format!(
                "unknown kernel option `{key}`: the options are {}",
                KEYS.map(|k| format!("`{k}`")).join(", ")
            );
            return Err(syn::Error::new(key.span(), message));
        }
        if let "smem_spilling" | "assume_max_threads" = name.as_str() {
            if input.peek(Token![=]) {
                return Err(input.error(format!("`{key}` takes no value: leave it out where it shall not hold")));
            }
            let value = match name.as_str() {
                "smem_spilling" => Setting::SmemSpilling,
                _ => Setting::AssumeMaxThreads,
            };
            return Ok(Self { key, value });
        }
        input.parse::<Token![=]>()?;
        let value = match name.as_str() {
            "max_threads" => Setting::MaxThreads(extents(input)?),
            "min_blocks" => Setting::MinBlocks(Value::of(input.parse()?)?),
            "max_registers" => Setting::MaxRegisters(Value::of(input.parse()?)?),
            "cluster" => Setting::Cluster(extents(input)?),
            _ => dimension(input)?,
        };
        Ok(Self { key, value })
    }
}

/// Reads `256`, `(16, 16)` or `(8, 8, 4)`.
fn extents(input: ParseStream) -> syn::Result<Vec<Value>> {
    match peel(input.parse()?) {
        Expr::Tuple(tuple) if (1..=3).contains(&tuple.elems.len()) => tuple.elems.into_iter().map(Value::of).collect(),
        Expr::Tuple(tuple) => Err(syn::Error::new_spanned(tuple, "expected one to three extents: x, y, z")),
        single => Ok(vec![Value::of(single)?]),
    }
}

/// The expression without parentheses and the invisible groups that `macro_rules!` leaves around a `$e:expr`.
fn peel(mut expr: Expr) -> Expr {
    loop {
        expr = match expr {
            Expr::Paren(inner) => *inner.expr,
            Expr::Group(inner) => *inner.expr,
            _ => return expr,
        };
    }
}

impl Value {
    fn of(expr: Expr) -> syn::Result<Self> {
        let expr = peel(expr);
        let known = match &expr {
            Expr::Lit(ExprLit {
                lit: Lit::Int(number), ..
            }) if matches!(number.suffix(), "" | "u32") => Some(number.base10_parse()?),
            Expr::Lit(other) => return Err(syn::Error::new_spanned(other, "expected a whole number")),
            _ => None,
        };
        Ok(Self { expr, known })
    }
}

/// Reads `1d`, `2d` or `3d`: to Rust's lexer an integer literal with the suffix `d`.
fn dimension(input: ParseStream) -> syn::Result<Setting> {
    let value: Lit = input.parse()?;
    if let Lit::Int(number) = &value
        && number.suffix().eq_ignore_ascii_case("d")
        && let Ok(1..=3) = number.base10_parse::<u8>()
    {
        return Ok(Setting::Dimension);
    }
    Err(syn::Error::new(value.span(), "expected `1d`, `2d` or `3d`"))
}

#[cfg(test)]
mod tests;
