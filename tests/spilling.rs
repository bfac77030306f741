//! The twins that spill registers, without a GPU: their PTX says what the table says, and in the simulator, where
//! nothing spills, all twins of a problem give the same right result.

use std::collections::BTreeMap;
use std::ptr::null_mut;

use cuda_sim::{GlobalBuffer, Launch, Limits};
use kernels_gpu::host;
use tilewright::random::random_matrix;
use tilewright::spilling::{Family, Spills, TWINS, Twin, inverse8};
use tilewright::{DType, Element, GemmShape, check, ptx};
use tilewright_contract::{Epilogue, GemmCall, Grid, Inverse8, RegisterTile};

fn of(family: Family, dtype: DType) -> impl Iterator<Item = &'static Twin> {
    TWINS
        .iter()
        .filter(move |twin| (twin.family, twin.dtype) == (family, dtype))
}

fn limits() -> Limits {
    Limits::from(cuda_arch::find("sm_90").expect("in the table"))
}

/// What a product takes besides its operands; the twins of it read the extents alone.
fn arguments(shape: &GemmShape) -> host::Arguments<'static, f32> {
    host::Arguments {
        call: GemmCall {
            args: shape.args(),
            alpha: 1.0,
            beta: 0.0,
            group_m: 1,
            slices: 1,
            slice_k: 0,
        },
        parts: RegisterTile::PARTS,
        maps: &host::NO_MAPS,
        workspace: null_mut(),
        counters: null_mut(),
        epilogue: Epilogue::PLAIN,
    }
}

#[track_caller]
fn assert_same_bits<T: Element>(twin: &Twin, result: &[T], first: &[T]) {
    let bits = |values: &[T]| values.iter().map(|value| value.to_f64().to_bits()).collect::<Vec<_>>();
    assert!(
        bits(result) == bits(first),
        "{} differs from the first twin",
        twin.symbol
    );
}

#[test]
fn products_are_right_and_the_same() {
    for (m, n, k) in [(1, 1, 1), (130, 127, 33), (128, 256, 8)] {
        let shape = GemmShape::packed(m, n, k).expect("small");
        let (a, b): (Vec<f32>, Vec<f32>) = (random_matrix(1, m * k), random_matrix(2, k * n));
        let (from_a, from_b) = (GlobalBuffer::from_slice(&a), GlobalBuffer::from_slice(&b));
        let grid = Grid::cover(shape.args(), RegisterTile::WIDTH, RegisterTile::WIDTH, 1).expect("small");
        let mut first: Option<Vec<f32>> = None;
        for twin in of(Family::RegisterTile, DType::F32) {
            let kernel = host::find::<f32>(twin.symbol).expect(twin.symbol);
            let c = GlobalBuffer::<f32>::uninit(m * n);
            let report = Launch::new(grid.blocks(), (16, 16)).limits(limits()).run(|| {
                // SAFETY: the buffers hold the matrices, grid and block are the kernel's.
                unsafe { kernel.call(from_a.as_ptr(), from_b.as_ptr(), c.as_mut_ptr(), arguments(&shape)) }
            });
            report.assert_clean();
            let c = c.to_vec();
            match &first {
                Some(first) => assert_same_bits(twin, &c, first),
                None => {
                    let verdict = check::full(&shape, &a, &b, &c).expect("long enough");
                    assert!(verdict.passed(), "{shape}: {verdict}");
                    first = Some(c);
                }
            }
        }
        assert!(first.is_some());
    }
}

fn inverses_are_right_and_the_same<T: Element>() {
    for count in [1, 100, 300] {
        let matrices = inverse8::dominant::<T>(count.into(), count);
        let from = GlobalBuffer::from_slice(&matrices);
        let mut first: Option<Vec<T>> = None;
        for twin in of(Family::Inverse8, T::DTYPE) {
            let kernel = host::find_inverse8::<T>(twin.symbol).expect(twin.symbol).0;
            let to = GlobalBuffer::<T>::uninit(Inverse8::elems(count));
            let launch = Launch::new(count.div_ceil(twin.threads), twin.threads).limits(limits());
            // SAFETY: both buffers hold `count` matrices, and every matrix has a thread.
            let report = launch.run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), count) });
            report.assert_clean();
            let inverses = to.to_vec();
            match &first {
                Some(first) => assert_same_bits(twin, &inverses, first),
                None => {
                    let verdict = inverse8::check(count, &matrices, &inverses).expect("long enough");
                    assert!(verdict.passed() && verdict.error < 0.25, "{verdict}");
                    first = Some(inverses);
                }
            }
        }
        assert!(first.is_some());
    }
}

#[test]
fn inverses_in_f32_are_right_and_the_same() {
    inverses_are_right_and_the_same::<f32>();
}

#[test]
fn inverses_in_f64_are_right_and_the_same() {
    inverses_are_right_and_the_same::<f64>();
}

#[test]
fn a_launch_beyond_the_bounds_is_refused() {
    for twin in of(Family::Inverse8, DType::F32) {
        let kernel = host::find_inverse8::<f32>(twin.symbol).expect(twin.symbol).0;
        let (from, to) = (
            GlobalBuffer::from_slice(&[1.0_f32; 64]),
            GlobalBuffer::<f32>::uninit(64),
        );
        // SAFETY: both buffers hold one matrix.
        let report = Launch::new(1, twin.threads + 1).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), 0) });
        assert_eq!(
            report.is_clean(),
            twin.max_threads().is_none(),
            "{}:\n{report}",
            twin.symbol
        );
    }
}

#[test]
fn the_module_has_every_twin_as_the_table_says_and_nothing_else() {
    let module = ptx::spilling();
    let entries: Vec<_> = module
        .ptx
        .lines()
        .filter_map(|line| line.strip_prefix(".visible .entry ")?.split_once('('))
        .map(|(symbol, _)| symbol)
        .collect();
    assert_eq!(entries.len(), TWINS.len());
    for twin in TWINS {
        let text = ptx::entry(module, twin.symbol).unwrap_or_else(|| panic!("no {}", twin.symbol));
        let (head, body) = text.split_once("\n{\n").expect("a body");
        let directives: BTreeMap<_, _> = head
            .lines()
            .filter(|line| line.starts_with('.') && !line.starts_with(".visible"))
            .filter_map(|line| line.split("//").next()?.trim().split_once(' '))
            .map(|(name, value)| (name, value.parse().expect("a number")))
            .collect();
        let said = [(".maxntid", twin.max_threads()), (".maxnreg", twin.max_registers)];
        let said: BTreeMap<&str, u32> = said
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        assert_eq!(directives, said, "{}", twin.symbol);
        let pragma = body.contains(".pragma \"enable_smem_spilling\";");
        assert_eq!(pragma, twin.spills.into_shared(), "{}", twin.symbol);
        // All spills are the assembler's: no array of the source lives in local memory.
        assert!(!body.contains(".local"), "{}", twin.symbol);
    }
}

#[test]
fn only_the_module_of_the_twins_needs_a_new_driver() {
    let version = |ptx: &str| {
        let line = ptx.lines().find_map(|line| line.strip_prefix(".version "));
        let (major, minor) = line
            .and_then(|version| version.trim().split_once('.'))
            .expect("a version");
        [major, minor].map(|part| part.parse::<u32>().expect("a number"))
    };
    assert_eq!(version(&ptx::spilling().ptx), [8, 7]);
    for level in ptx::levels() {
        assert!(!level.ptx.contains("enable_smem_spilling"), "{}", level.arch);
        assert!(version(&level.ptx) < [8, 7], "{}", level.arch);
    }
}

/// Twins differ in nothing but their directives: the texts of their bodies are equal.
#[test]
fn siblings_have_one_body() {
    let body = |twin: &Twin| {
        let text = ptx::entry(ptx::spilling(), twin.symbol).expect("tested above");
        let (_, body) = text.split_once("\n{\n").expect("a body");
        // Parameters and labels carry the name and number of the function.
        let body = body
            .replace(twin.symbol, "k")
            .replace("\t.pragma \"enable_smem_spilling\";\n", "");
        body.lines()
            .map(|line| line.split("//").next().unwrap_or_default().trim_end())
            .collect::<Vec<_>>()
            .join("\n")
    };
    for twin in TWINS.iter().filter(|twin| twin.spills != Spills::Kept) {
        let kept = twin.sibling(Spills::Kept).expect("tested beside the table");
        assert_eq!(
            without_labels(&body(twin)),
            without_labels(&body(kept)),
            "{}",
            twin.symbol
        );
    }
}

/// The text with the numbers of functions taken out of labels: `$L__BB3_2` becomes `$L__BB_2`.
fn without_labels(body: &str) -> String {
    let mut parts = body.split("$L__BB");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("$L__BB");
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text
}
