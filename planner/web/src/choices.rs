//! What can be chosen on the page.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cuda_arch::ARCHITECTURES;
use serde::Serialize;
use tilewright_plan::{Accumulator, Frontend, GemmType, GpuModel, Path, Request, TemplateName, Widening};

/// A value and what the page calls it.
type Choice = (&'static str, String);

#[derive(Serialize)]
struct Choices {
    /// Every list of the page but the GPUs.
    lists: Lists,
    /// The GPUs of each architecture, by its name.
    products: Vec<(&'static str, Vec<Choice>)>,
    /// What is asked where nothing is said.
    defaults: Request,
}

#[derive(Serialize)]
struct Lists {
    template: Vec<Choice>,
    queries: Vec<Choice>,
    arch: Vec<Choice>,
    dtype: Vec<Choice>,
    path: Vec<Choice>,
    accumulator: Vec<Choice>,
    #[serde(rename = "epilogue.kind")]
    epilogue: Vec<Choice>,
    frontend: Vec<Choice>,
    widening: Vec<Choice>,
}

/// Everything that can be chosen, as JSON: for each list of the page its values and what they are called. An empty
/// value leaves the choice to the planner.
pub fn choices() -> String {
    let lists = Lists {
        template: [("", "one matrix product, or buffers".into())]
            .into_iter()
            .chain(TemplateName::ALL.map(|template| named(template.name())))
            .collect(),
        queries: or_open([Accumulator::Registers, Accumulator::SharedMemory].map(Accumulator::name)),
        arch: ARCHITECTURES
            .iter()
            .map(|arch| {
                let kib = arch.smem_per_block_optin / 1024;
                (arch.name, format!("{} · {kib} KiB · {}", arch.name, arch.parts))
            })
            .collect(),
        dtype: GemmType::all().map(|ty| named(ty.name())).collect(),
        path: or_open(Path::ALL.map(Path::name)),
        accumulator: or_open(
            [
                Accumulator::Registers,
                Accumulator::SharedMemory,
                Accumulator::TensorMemory,
            ]
            .map(Accumulator::name),
        ),
        epilogue: Vec::from([
            open(),
            ("direct", "straight from registers".into()),
            ("own", "through their own buffer".into()),
            ("reuse", "over the operands".into()),
        ]),
        frontend: or_open(Frontend::ALL.map(Frontend::name)),
        widening: or_open([Widening::Loading, Widening::Staging].map(widening)),
    };
    let choices = Choices {
        lists,
        products: ARCHITECTURES
            .iter()
            .map(|arch| {
                let names = GpuModel::of_architecture(arch).filter_map(|gpu| match &gpu.name {
                    alloc::borrow::Cow::Borrowed(name) => Some((*name, String::from(*name))),
                    alloc::borrow::Cow::Owned(_) => None,
                });
                (arch.name, [open()].into_iter().chain(names).collect())
            })
            .collect(),
        defaults: Request::default(),
    };
    // As in `answer`.
    serde_json::to_string(&choices).unwrap_or_default()
}

/// The name of a way to widen on the command line and in JSON.
pub const fn widening(when: Widening) -> &'static str {
    match when {
        Widening::Loading => "loading",
        Widening::Staging => "staging",
    }
}

/// The planner chooses.
fn open() -> Choice {
    ("", "as usual".into())
}

fn named(name: &'static str) -> Choice {
    (name, name.into())
}

fn or_open<const N: usize>(names: [&'static str; N]) -> Vec<Choice> {
    [open()].into_iter().chain(names.map(named)).collect()
}
