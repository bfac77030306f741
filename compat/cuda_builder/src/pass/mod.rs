//! What the stock compiler cannot say, added to its LLVM IR: address spaces, barriers, roots.
//!
//! `docs/device-abi.md` is the agreement with `cuda_std_macros` that this pass carries out. It reads the linked but
//! unoptimised module as text, because the optimiser reasons differently about memory once it knows its address space,
//! and because nothing that was already optimised could be trusted near a barrier.

pub(crate) mod atomics;
pub(crate) mod attributes;
mod calls;
pub(crate) mod function;
pub(crate) mod global;
mod grid_constant;
pub(crate) mod half;
pub(crate) mod lexer;
pub(crate) mod null;
pub(crate) mod tables;
pub(crate) mod wide_shifts;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use attributes::{KERNEL_SECTION, KernelAttributes, read_marker};
use function::{GroupEdit, Groups, Head, convergent_call};
use global::Global;
use grid_constant::{GRID_CONSTANT_SECTION, GridConstant, by_value, read_grid_constants};
use lexer::{Kind, tokens};

/// The section of shared-memory statics.
const SHARED_SECTION: &str = ".shared";
/// The section of constant-memory statics.
const CONSTANT_SECTION: &str = ".constant";
/// The section of the markers that keep functions.
const VISIBLE_SECTION: &str = ".nvptx.visible";
/// What a marker's name starts with; the rest is the function's name.
const VISIBLE_MARKER: &str = "__cuda_std_visible_";
/// What the names start with that no source file spells out: mangled ones (a generic function may need a library's
/// static from another crate, which makes it visible), the allocator's and LLVM's.
const COMPILER_NAMES: [&str; 4] = ["_R", "_ZN", "__rust_", "llvm."];
/// The extern static that stands for the dynamic shared memory of a launch.
const DYNAMIC_SHARED: &str = "cuda_std_dynamic_smem";

/// The alignment of dynamic shared memory for an architecture (bytes): what the strictest user asks for. From 9.0 on
/// these are tiles with the 128-byte swizzle, whose pattern repeats after so many (PTX ISA, "Swizzling modes"). Before,
/// 128: `ptxas` rounds the static bytes of every kernel of a module up to the alignment.
fn dynamic_shared_alignment(cpu: &str) -> u32 {
    let capability: String = cpu.chars().filter(char::is_ascii_digit).collect();
    if capability.parse::<u32>().is_ok_and(|capability| capability >= 90) {
        1024
    } else {
        128
    }
}

/// The extern functions that convert a generic address to one within a memory, and the number of its address space.
const CONVERSIONS: [(&str, u32); 4] = [
    ("cuda_std_to_global", 1),
    ("cuda_std_to_shared", 3),
    ("cuda_std_to_constant", 4),
    ("cuda_std_to_local", 5),
];

/// Which functions are inlined whatever their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inlining {
    /// Those that say `#[inline(always)]`.
    Asked,
    /// Also those that say `#[inline]`: for builds without an optimiser that would decide.
    Hinted,
    /// All but kernels.
    Everything,
}

/// What the pass is asked for beyond the agreement.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The architecture as LLVM writes it: `sm_90a`.
    pub cpu: String,
    /// The major version of LLVM's tools.
    pub llvm: u32,
    /// Flush f32 denormals to zero.
    pub flush_denormals: bool,
    /// Which functions to inline.
    pub inlining: Inlining,
}

/// A module that is ready for the optimiser.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// The rewritten IR.
    pub ir: String,
    /// The names that must stay, sorted.
    pub roots: Vec<String>,
    /// The attributes of the kernels that have some, by name.
    pub attributes: BTreeMap<String, KernelAttributes>,
}

/// Why a module cannot become PTX.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PassError {
    /// These shared statics have an initial value with a bit set.
    SharedInitializers(Vec<String>),
    /// There is nothing to keep.
    NoRoots,
    /// The marker of a kernel's options cannot be read, or names no kernel.
    KernelMarker(String),
    /// An operation is a call of this function of `cuda_std`, which is not part of the module.
    WithoutCudaStd(String),
}

/// Rewrites a linked module.
pub(crate) fn run(ir: &str, options: &Options) -> Result<Lowered, PassError> {
    let plan = Plan::read(ir)?;
    let mut groups = Groups::collect(ir);
    let mut out = String::with_capacity(ir.len() + ir.len() / 8);
    let mut in_function = false;
    let mut needed = BTreeSet::new();
    for line in ir.lines() {
        if line.starts_with('@') {
            plan.rewrite_global(line, dynamic_shared_alignment(&options.cpu), &mut out);
        } else if line.starts_with("define ") {
            in_function = true;
            let line = plan.with_grid_constants(line)?;
            define(&line, options, &plan.attributes, &mut groups, &mut out);
        } else if line.starts_with("declare ") {
            declare(line, &mut out);
        } else if in_function {
            in_function = line != "}";
            let replaced = calls::replace(line, &mut needed);
            plan.rewrite_body_line(replaced.as_deref().unwrap_or(line), &mut out);
        } else if line.starts_with('!') {
            plan.replace_uses(line, &mut out);
        } else if line.starts_with("attributes #") && options.inlining == Inlining::Everything {
            // Calls carry the wish not to be inlined too.
            out.push_str(&line.replace(" noinline ", " "));
        } else if line.starts_with("target datalayout ") {
            out.push_str(&with_short_pointers(line));
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out.push_str(&groups.render(&group_edit(options)));
    if let Some(name) = needed.into_iter().find(|name| !out.contains(&format!(" @{name}("))) {
        return Err(PassError::WithoutCudaStd(name));
    }
    Ok(Lowered {
        ir: out,
        roots: plan.roots.into_iter().collect(),
        attributes: plan.attributes,
    })
}

/// Says that pointers into the address spaces that this pass introduces have 32 bits.
///
/// rustc's data layout leaves them at 64. Shared, constant and local memory are all smaller than 4 GiB, and half the
/// instructions that compute addresses in them fall away (measured on an H200: up to 16 % less time for tiled f32
/// products). It is the layout that LLVM's own `--nvptx-short-ptr` stands for, which `llc` must be told too.
fn with_short_pointers(line: &str) -> String {
    const SHORT: &str = "-p3:32:32-p4:32:32-p5:32:32";
    if line.contains("-p3:") {
        line.to_owned()
    } else {
        line.replacen("\"e", &format!("\"e{SHORT}"), 1)
    }
}

/// The attributes that every definition gains or loses.
fn group_edit(options: &Options) -> GroupEdit {
    let cpu = format!("\"target-cpu\"=\"{}\"", options.cpu);
    let mut edit = GroupEdit {
        remove: vec!["\"target-cpu\""],
        add: vec!["convergent".to_owned(), cpu],
    };
    if options.flush_denormals {
        // LLVM 23 reads the older spelling in bitcode only.
        let attribute = match options.llvm {
            ..23 => "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"",
            _ => "denormal_fpenv(float: preservesign)",
        };
        edit.add.push(attribute.to_owned());
    }
    if options.inlining == Inlining::Everything {
        edit.remove.push("noinline");
    }
    edit
}

fn define(
    line: &str,
    options: &Options,
    attributes: &BTreeMap<String, KernelAttributes>,
    groups: &mut Groups<'_>,
    out: &mut String,
) {
    let Some(head) = Head::parse(line) else {
        out.push_str(line);
        return;
    };
    let inline = |group: Option<u32>| match options.inlining {
        _ if head.kernel => false,
        Inlining::Asked => false,
        Inlining::Hinted => group.is_some_and(|number| groups.has(number, "inlinehint")),
        Inlining::Everything => true,
    };
    let mut extra: Vec<String> = inline(head.group.as_ref().map(|(number, _)| *number))
        .then(|| "alwaysinline".to_owned())
        .into_iter()
        .collect();
    if let Some(attributes) = attributes.get(head.name).filter(|_| head.kernel) {
        extra.extend(attributes.for_llvm());
    }
    match head.group {
        Some((number, range)) => {
            let copy = groups.copy_of(number, &extra);
            out.push_str(&line[..range.start]);
            out.push_str(&format!("#{copy}"));
            out.push_str(&line[range.end..]);
        }
        None => {
            // A group of its own keeps one way of editing: an absent group is an empty one.
            let copy = groups.copy_of(u32::MAX, &extra);
            out.push_str(&line[..head.insert_at]);
            out.push_str(&format!(" #{copy}"));
            out.push_str(&line[head.insert_at..]);
        }
    }
}

/// Foreign functions may hold a barrier; LLVM knows the attributes of its own intrinsics. Conversions of addresses get
/// a body, which LLVM sees through: where an address comes from a shared static, nothing is left of its way to a
/// generic one and back.
fn declare(line: &str, out: &mut String) {
    let head = Head::parse(line);
    let conversion = |name: &str| CONVERSIONS.iter().find(|(known, _)| *known == name);
    if let Some((name, space)) = head.as_ref().and_then(|head| conversion(head.name)) {
        out.push_str(&format!(
            "define internal ptr @{name}(ptr %0) alwaysinline nounwind willreturn memory(none) {{\n\
             \x20 %2 = addrspacecast ptr %0 to ptr addrspace({space})\n\
             \x20 %3 = ptrtoint ptr addrspace({space}) %2 to i64\n\
             \x20 %4 = inttoptr i64 %3 to ptr\n\
             \x20 ret ptr %4\n}}"
        ));
        return;
    }
    match head {
        Some(head) if !head.name.starts_with("llvm.") => {
            out.push_str(&line[..head.insert_at]);
            out.push_str(" convergent");
            out.push_str(&line[head.insert_at..]);
        }
        _ => out.push_str(line),
    }
}

/// What one look over the module finds.
#[derive(Debug, Default)]
struct Plan<'a> {
    shared: BTreeSet<&'a str>,
    constant: BTreeSet<&'a str>,
    dynamic: bool,
    roots: BTreeSet<String>,
    attributes: BTreeMap<String, KernelAttributes>,
    grid_constants: BTreeMap<&'a str, Vec<GridConstant>>,
}

impl<'a> Plan<'a> {
    fn read(ir: &'a str) -> Result<Self, PassError> {
        let mut plan = Self::default();
        let mut initialized = Vec::new();
        let mut kernels = BTreeSet::new();
        for line in ir.lines() {
            if line.starts_with("define ") {
                if let Some(head) = Head::parse(line).filter(|head| head.kernel) {
                    plan.roots.insert(head.name.to_owned());
                    kernels.insert(head.name);
                }
            } else if line.starts_with('@')
                && let Some(global) = Global::parse(line)
            {
                match global.section {
                    Some(SHARED_SECTION) => {
                        plan.shared.insert(global.name());
                        if !global.starts_as_zero() {
                            initialized.push(global.name().to_owned());
                        }
                        continue;
                    }
                    Some(VISIBLE_SECTION) => {
                        let function = global.name().split_once(VISIBLE_MARKER).map(|(_, function)| function);
                        plan.roots.extend(function.map(str::to_owned));
                        continue;
                    }
                    Some(KERNEL_SECTION) => {
                        let (kernel, attributes) =
                            read_marker(&global).ok_or_else(|| PassError::KernelMarker(global.name().to_owned()))?;
                        plan.attributes.insert(kernel.to_owned(), attributes);
                        continue;
                    }
                    Some(GRID_CONSTANT_SECTION) => {
                        let (kernel, constants) = read_grid_constants(&global)
                            .ok_or_else(|| PassError::KernelMarker(global.name().to_owned()))?;
                        plan.grid_constants.insert(kernel, constants);
                        continue;
                    }
                    Some(CONSTANT_SECTION) => {
                        plan.constant.insert(global.name());
                    }
                    _ if global.name() == DYNAMIC_SHARED => plan.dynamic = true,
                    _ => {}
                }
                // The host finds an exported static by its name, so it stays although no kernel may use it.
                if global.is_exported() && !COMPILER_NAMES.iter().any(|start| global.name().starts_with(start)) {
                    plan.roots.insert(global.name().to_owned());
                }
            }
        }
        if !initialized.is_empty() {
            return Err(PassError::SharedInitializers(initialized));
        }
        if plan.roots.is_empty() {
            return Err(PassError::NoRoots);
        }
        let marked = plan
            .attributes
            .keys()
            .map(String::as_str)
            .chain(plan.grid_constants.keys().copied());
        if let Some(name) = marked.into_iter().find(|name| !kernels.contains(name)) {
            return Err(PassError::KernelMarker(name.to_owned()));
        }
        Ok(plan)
    }

    /// The head of a definition, with what the kernel takes by value, if it is one.
    fn with_grid_constants<'line>(&self, line: &'line str) -> Result<Cow<'line, str>, PassError> {
        let constants = Head::parse(line).and_then(|head| Some((head.name, self.grid_constants.get(head.name)?)));
        match constants {
            None => Ok(line.into()),
            Some((name, constants)) => by_value(line, constants)
                .map(Cow::from)
                .ok_or_else(|| PassError::KernelMarker(name.to_owned())),
        }
    }

    fn rewrite_global(&self, line: &str, alignment: u32, out: &mut String) {
        let Some(global) = Global::parse(line) else {
            self.replace_uses(line, out);
            return;
        };
        let name = global.name();
        let is_marker = matches!(
            global.section,
            Some(VISIBLE_SECTION | KERNEL_SECTION | GRID_CONSTANT_SECTION)
        );
        if name == "llvm.used" || name == "llvm.compiler.used" || is_marker {
            // The roots say what stays; what these lists kept was kept for this pass only.
        } else if name == DYNAMIC_SHARED {
            let symbol = global.symbol;
            out.push_str(&format!(
                "{symbol} = external addrspace(3) global [0 x i8], align {alignment}"
            ));
        } else if self.shared.contains(name) {
            out.push_str(&global.in_space(3, false, global.value_type, "undef"));
        } else if self.constant.contains(name) {
            let value = global.initializer.unwrap_or_default();
            let line = global.in_space(4, global.constant, global.value_type, value);
            self.replace_uses_after_name(&line, out);
        } else {
            self.replace_uses_after_name(line, out);
        }
    }

    fn rewrite_body_line(&self, line: &str, out: &mut String) {
        match convergent_call(line) {
            Some(at) => {
                self.replace_uses(&line[..at], out);
                out.push_str(" convergent");
                self.replace_uses(&line[at..], out);
            }
            None => self.replace_uses(line, out),
        }
    }

    /// A definition's own name stays; the names in its initial value are uses.
    fn replace_uses_after_name(&self, line: &str, out: &mut String) {
        let end = tokens(line).next().map_or(0, |name| name.end());
        out.push_str(&line[..end]);
        self.replace_uses(&line[end..], out);
    }

    fn replace_uses(&self, line: &str, out: &mut String) {
        if !self.may_use(line) {
            out.push_str(line);
            return;
        }
        let mut copied = 0;
        for token in tokens(line).filter(|token| token.kind == Kind::Global) {
            if let Some(space) = self.space_of(token.name()) {
                out.push_str(&line[copied..token.start]);
                out.push_str(&format!("addrspacecast (ptr addrspace({space}) {} to ptr)", token.text));
                copied = token.end();
            }
        }
        out.push_str(&line[copied..]);
    }

    /// Whether the line is worth tokenising: modules have a hundred thousand lines, and few hold one of our names.
    fn may_use(&self, line: &str) -> bool {
        line.match_indices('@').any(|(at, _)| {
            let rest = &line[at + 1..];
            let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || "_.$-".contains(letter)));
            rest.starts_with('"') || self.space_of(&rest[..end.unwrap_or(rest.len())]).is_some()
        })
    }

    fn space_of(&self, name: &str) -> Option<u32> {
        if self.shared.contains(name) || (self.dynamic && name == DYNAMIC_SHARED) {
            Some(3)
        } else if self.constant.contains(name) {
            Some(4)
        } else {
            None
        }
    }
}

/// Edits a module line by line.
fn rewrite(ir: &str, mut edit: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 16);
    for line in ir.lines() {
        out.push_str(edit(line).as_deref().unwrap_or(line));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
