//! What is offered where something is refused works, and an option can ask for it.

use cuda_arch::ARCHITECTURES;
use proptest::prelude::*;
use proptest::sample::select;
use tilewright_plan::{
    Accumulator, Epilogue, EpilogueTile, Frontend, GemmType, Path, Refusal, Request, TileShape, Widening, difference,
    nearest, report, rules,
};

/// Nothing, or something.
fn perhaps<T: Clone + std::fmt::Debug + 'static>(some: impl Strategy<Value = T> + 'static) -> BoxedStrategy<Option<T>> {
    prop_oneof![3 => Just(None), 1 => some.prop_map(Some)].boxed()
}

/// A number of a kernel, mostly plausible.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        20 => select(vec![1_u32, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, 80, 96, 100, 128, 192, 256]),
        4 => 0..400_u32,
        1 => any::<u32>(),
    ]
}

fn epilogue() -> impl Strategy<Value = Epilogue> {
    (0..3_usize, number(), number(), 0..4_u32).prop_map(|(kind, m, n, buffers)| {
        let tile = EpilogueTile { m, n, buffers };
        [Epilogue::Direct, Epilogue::Own(tile), Epilogue::Reuse(tile)][kind]
    })
}

/// What a user could ask about a template.
fn requests() -> impl Strategy<Value = Request> {
    let accumulators = [
        Accumulator::Registers,
        Accumulator::SharedMemory,
        Accumulator::TensorMemory,
    ];
    let kernel = (
        select(&ARCHITECTURES[..]),
        select(GemmType::all().collect::<Vec<_>>()),
        (number(), number(), number()),
        perhaps(number()),
        perhaps(select(&Path::ALL[..])),
        perhaps(select(accumulators.to_vec())),
        perhaps(number()),
        perhaps(epilogue()),
        perhaps(number()),
        perhaps(number()),
    );
    let memory = (
        perhaps(select(&Frontend::ALL[..])),
        perhaps(select(vec![Widening::Loading, Widening::Staging])),
        perhaps(number()),
        perhaps(any::<u32>()),
        perhaps(number()),
        perhaps(number()),
        perhaps((0..5_u32, 0..5_u32)),
        perhaps(number()),
        prop_oneof![9 => Just(0), 1 => 0..300_000_u64],
    );
    (kernel, memory).prop_map(|(kernel, memory)| {
        let (arch, dtype, (m, n, k), stages, path, accumulator, accumulator_buffers, epilogue, warps, producer_warps) =
            kernel;
        let (frontend, widening, output_bytes, static_bytes, scratch, split_k, cluster, registers, margin_bytes) =
            memory;
        Request {
            arch: arch.name.to_owned(),
            dtype,
            tile: Some(TileShape::new(m, n, k)),
            stages,
            path,
            accumulator,
            accumulator_buffers,
            epilogue,
            warps,
            producer_warps,
            frontend,
            widening,
            output_bytes,
            static_bytes,
            scratch_per_warp_bytes: scratch,
            split_k,
            cluster,
            registers_per_thread: registers,
            margin_bytes,
            ..Request::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_nearest_template_works_and_options_ask_for_it(request in requests()) {
        let Err(refusal) = report(&request) else { return Ok(()) };
        let Refusal::Violation(violation) = refusal else {
            return Err(TestCaseError::fail(refusal.to_string()));
        };
        let Some(legal) = nearest(&request, &violation) else {
            return Err(TestCaseError::fail(format!("nothing is offered: {violation}")));
        };
        prop_assert!(report(&legal).is_ok());
        let changed = difference(&request, &legal);
        prop_assert!(!changed.is_empty() && changed.iter().all(|(flag, _)| flag.starts_with('-')));
    }

    #[test]
    fn a_default_breaks_no_rule_that_another_number_of_warps_keeps(request in requests(), warps in 1..=32_u32) {
        let open = Request { arch: request.arch, dtype: request.dtype, tile: request.tile, ..Request::default() };
        if report(&Request { warps: Some(warps), ..open.clone() }).is_ok() {
            prop_assert!(report(&open).is_ok(), "{:?}", report(&open).map(drop));
        }
    }
}

#[test]
fn what_led_in_a_circle_no_longer_does() {
    let asked = |arch: &str, dtype, tile: &str| Request {
        arch: arch.to_owned(),
        dtype,
        tile: Some(tile.parse().expect("a tile")),
        ..Request::default()
    };
    // Two warps cannot share 5 x 3 instructions; one can.
    let own_default = report(&asked("sm_75", GemmType::F16, "80x24x64")).expect("legal");
    assert_eq!(own_default.sheet.warps, 1);
}

#[test]
fn a_number_that_no_template_has_is_named_by_its_own_rule() {
    let request = Request {
        arch: "sm_90".to_owned(),
        m: Some(512),
        n: Some(512),
        k: Some(512),
        output_bytes: Some(100_000),
        ..Request::default()
    };
    let Err(Refusal::Violation(violation)) = report(&request) else {
        panic!("an element of 100 kB")
    };
    assert_eq!(violation.rule, &rules::OUTPUT_BYTES);
}
