//! Rates, GPUs, the throughput model and the selection.

use cuda_arch::ARCHITECTURES;
use proptest::prelude::*;
use tilewright_plan::{
    Bound, Frontend, GPU_MODELS, GemmType, GpuModel, Path, Policy, Reason, Shape, Template, TileShape, estimate,
    select, worksheet,
};

fn square(extent: u64) -> Shape {
    Shape {
        m: extent,
        n: extent,
        k: extent,
    }
}

fn gpu(name: &str) -> &'static GpuModel {
    GpuModel::find(name).expect("in the table")
}

/// The estimate of the winner, in TFLOPS.
fn tflops(name: &str, ty: GemmType, shape: &Shape, policy: &Policy) -> f64 {
    let gpu = gpu(name);
    let selection = select(gpu.architecture().expect("in the table"), gpu, shape, ty, policy);
    let us = selection.winner().expect("something fits").estimate.us;
    2e-6 * (shape.m * shape.n * shape.k) as f64 / us
}

#[test]
fn every_architecture_has_an_answer_for_every_type_it_supports() {
    let mut supported = 0;
    for arch in &ARCHITECTURES {
        let gpu = GpuModel::assumed(arch).expect("every architecture has a GPU");
        for ty in GemmType::all() {
            let selection = select(arch, gpu, &square(2048), ty, &Policy::default());
            assert_eq!(
                selection.winner().is_some(),
                Path::best(arch, ty).is_some(),
                "{} {ty}",
                arch.name
            );
            supported += usize::from(selection.winner().is_some());
            for path in Path::ALL {
                let policy = Policy {
                    path: Some(path),
                    ..Policy::default()
                };
                let selection = select(arch, gpu, &square(2048), ty, &policy);
                assert_eq!(
                    selection.winner().is_some(),
                    path.support(arch, ty).is_some(),
                    "{} {path} {ty}",
                    arch.name
                );
            }
        }
    }
    assert!(supported > 100, "{supported}");
}

#[test]
fn estimates_are_near_what_was_measured() {
    let policy = Policy::default();
    // TFLOPS that the best kernels reach: (fast.cu, cuBLAS) on H100 SXM, cuBLAS on the others.
    for (name, ty, extent, measured) in [
        ("H100 SXM", GemmType::Bf16, 4096, [716.0, 764.0]),
        ("H100 SXM", GemmType::Bf16, 8192, [795.0, 808.0]),
        ("H100 SXM", GemmType::F32, 4096, [50.0, 52.0]),
        ("RTX PRO 6000", GemmType::F16, 8192, [405.0, 432.0]),
    ] {
        let model = tflops(name, ty, &square(extent), &policy);
        let [low, high] = measured;
        assert!(
            (0.93 * low..1.09 * high).contains(&model),
            "{name} {ty} {extent}: {model}"
        );
    }
}

#[test]
fn the_bound_is_what_it_should_be() {
    let policy = Policy::default();
    let bound = |name: &str, ty, shape: Shape| {
        let gpu = gpu(name);
        let arch = gpu.architecture().expect("in the table");
        select(arch, gpu, &shape, ty, &policy).ranked[0].estimate.bound
    };
    assert_eq!(bound("H200", GemmType::Bf16, square(8192)), Bound::Compute);
    let (n, k) = (8192, 8192);
    assert_eq!(bound("H200", GemmType::Bf16, Shape { m: 16, n, k }), Bound::Dram);
    assert_eq!(bound("L4", GemmType::E4m3, Shape { m: 1, n, k }), Bound::Dram);

    // One buffer, one CTA: nothing hides the latency of a load.
    let gpu = gpu("H200");
    let arch = gpu.architecture().expect("in the table");
    let single = Template::usual(arch, GemmType::Bf16, TileShape::new(64, 64, 64), 1).expect("supported");
    let sheet = worksheet(&single, arch, 200 * 1024).expect("legal");
    let shape = Shape { m: 64, n: 64, k };
    assert_eq!(estimate(&sheet, &shape, gpu).expect("runs").bound, Bound::Latency);
}

#[test]
fn edges_and_empty_products() {
    let gpu = gpu("H200");
    let arch = gpu.architecture().expect("in the table");
    let policy = Policy::default();
    for (m, n, k) in [(0, 8, 8), (8, 0, 8), (8, 8, 0)] {
        let selection = select(arch, gpu, &Shape { m, n, k }, GemmType::F16, &policy);
        assert!(selection.winner().is_none() && selection.runners_up().is_empty());
    }
    for shape in [
        square(1),
        Shape {
            m: 1,
            n: 1,
            k: u64::MAX,
        },
        Shape {
            m: u64::MAX,
            n: 1,
            k: 1,
        },
        square(u64::MAX),
    ] {
        let selection = select(arch, gpu, &shape, GemmType::F16, &policy);
        let estimate = selection.winner().expect("something fits").estimate;
        assert!(estimate.us.is_finite() && estimate.us > 0.0, "{shape:?} {estimate:?}");
    }
    // A tile of 128 x 128 for one element: the rest is waste.
    let template = Template::usual(arch, GemmType::F16, TileShape::new(128, 128, 64), 4).expect("supported");
    let sheet = worksheet(&template, arch, 0).expect("legal");
    let waste = estimate(&sheet, &square(1), gpu).expect("runs").useful_fraction;
    assert!((waste - 1.0 / f64::from(128 * 128 * 64)).abs() < 1e-12);
    assert_eq!(estimate(&sheet, &square(1024), gpu).expect("runs").useful_fraction, 1.0);
}

#[test]
fn splitting_k_helps_where_there_are_few_tiles_and_nowhere_else() {
    let gpu = gpu("H200");
    let arch = gpu.architecture().expect("in the table");
    let split = |shape: Shape| {
        let selection = select(arch, gpu, &shape, GemmType::Bf16, &Policy::default());
        selection.ranked[0].sheet.template.split_k
    };
    let deep = Shape {
        m: 128,
        n: 128,
        k: 1 << 18,
    };
    assert!(split(deep) > 1);
    assert_eq!(split(square(4096)), 1);
    let never = Policy {
        max_split_k: 1,
        ..Policy::default()
    };
    let selection = select(arch, gpu, &deep, GemmType::Bf16, &never);
    assert!(
        selection
            .ranked
            .iter()
            .all(|candidate| candidate.sheet.template.split_k == 1)
    );
}

#[test]
fn clusters_lower_the_traffic_and_can_be_forbidden() {
    let gpu = gpu("H200");
    let arch = gpu.architecture().expect("in the table");
    let with = |clusters| {
        let policy = Policy {
            clusters,
            ..Policy::default()
        };
        select(arch, gpu, &square(4096), GemmType::Bf16, &policy)
    };
    let (alone, together) = (with(false), with(true));
    assert!(
        alone
            .ranked
            .iter()
            .all(|candidate| candidate.sheet.template.cluster == (1, 1))
    );
    assert_ne!(together.ranked[0].sheet.template.cluster, (1, 1));
    assert!(together.ranked[0].estimate.us < alone.ranked[0].estimate.us);
}

#[test]
fn rejects_say_by_how_much_and_why() {
    let gpu = gpu("RTX PRO 6000");
    let arch = gpu.architecture().expect("in the table");
    let selection = select(arch, gpu, &square(4096), GemmType::Nvfp4, &Policy::default());
    // 32 rows are no half of a scale atom; 256 x 256 x 512 does not fit into 99 KiB.
    let is_no_atom =
        |reason: Reason| matches!(reason, Reason::Rule(violation) if violation.rule.name == "scale_atom_rows");
    let rows: Vec<_> = selection
        .rejected
        .iter()
        .filter(|rejected| is_no_atom(rejected.reason))
        .map(|r| r.template.tile.m)
        .collect();
    assert!(rows.contains(&32) && !rows.contains(&64));
    let too_large = selection.rejected.iter().find_map(|rejected| match rejected.reason {
        Reason::TooLarge {
            total_bytes,
            over_by_bytes,
            ..
        } => Some(total_bytes - over_by_bytes),
        _ => None,
    });
    assert_eq!(too_large, Some(101_376));
    assert!(
        selection
            .rejected
            .iter()
            .all(|rejected| rejected.reason.to_string().len() > 20)
    );
}

/// Shapes from single elements to large, most of them ragged.
fn shapes() -> impl Strategy<Value = Shape> {
    let extent = || prop_oneof![1u64..64, 64u64..2048, (1u64..256).prop_map(|x| x * 64), 2048u64..40_000];
    (extent(), extent(), extent()).prop_map(|(m, n, k)| Shape { m, n, k })
}

fn policies() -> impl Strategy<Value = Policy> {
    let frontend = prop::sample::select(Frontend::ALL.to_vec());
    let path = prop::option::weighted(0.3, prop::sample::select(Path::ALL.to_vec()));
    (0u64..80_000, path, frontend, 1u32..40, any::<bool>(), 2u32..12).prop_map(
        |(margin_bytes, path, frontend, max_split_k, clusters, max_stages)| Policy {
            margin_bytes,
            path,
            frontend,
            output_bytes: None,
            max_split_k,
            clusters,
            max_stages,
        },
    )
}

fn types() -> impl Strategy<Value = GemmType> {
    prop::sample::select(GemmType::all().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Nothing that is ranked breaks a rule, fails to fit or can never be resident; nothing that is rejected is ranked.
    #[test]
    fn selections_hold_what_they_promise(
        gpu in prop::sample::select(GPU_MODELS.iter().collect::<Vec<_>>()),
        ty in types(), shape in shapes(), policy in policies(),
    ) {
        let arch = gpu.architecture().expect("in the table");
        let selection = select(arch, gpu, &shape, ty, &policy);
        let mut before = 0.0;
        for candidate in &selection.ranked {
            let template = &candidate.sheet.template;
            prop_assert!(template.check(arch).is_ok());
            let again = worksheet(template, arch, policy.margin_bytes).expect("it was legal");
            prop_assert!(again.fits && again == candidate.sheet);
            prop_assert!(candidate.sheet.total_bytes + policy.margin_bytes <= candidate.sheet.limit_bytes);
            prop_assert!(candidate.sheet.occupancy.blocks_per_sm > 0);
            prop_assert!(template.split_k <= policy.max_split_k);
            prop_assert!(policy.clusters || template.cluster == (1, 1));
            prop_assert!(policy.path.is_none_or(|path| template.path == path));

            let estimate = candidate.estimate;
            prop_assert!(estimate.us.is_finite() && estimate.us >= before);
            before = estimate.us;
            let resources = [estimate.compute_us, estimate.dram_us, estimate.l2_us, estimate.smem_us];
            prop_assert!(resources.into_iter().all(|us| estimate.us >= us));
            prop_assert!(estimate.useful_fraction > 0.0 && estimate.useful_fraction <= 1.0 + 1e-9);
            prop_assert_eq!(Some(estimate), tilewright_plan::estimate(&candidate.sheet, &shape, gpu));
        }
        for rejected in &selection.rejected {
            let key = |template: &Template| (template.tile, template.path);
            let same = |ranked: &Template| key(ranked) == key(&rejected.template);
            let ranked = selection.ranked.iter().any(|candidate| same(&candidate.sheet.template));
            prop_assert!(!ranked);
        }
        prop_assert_eq!(&selection, &select(arch, gpu, &shape, ty, &policy));
    }

    /// A device that is better in one respect is not slower with the same template.
    #[test]
    fn more_of_a_device_is_never_slower(
        gpu in prop::sample::select(GPU_MODELS.iter().collect::<Vec<_>>()),
        ty in types(), shape in shapes(), factor in 1.0f64..4.0, pick in 0usize..64,
    ) {
        let arch = gpu.architecture().expect("in the table");
        let selection = select(arch, gpu, &shape, ty, &Policy::default());
        prop_assume!(!selection.ranked.is_empty());
        let candidate = &selection.ranked[pick % selection.ranked.len()];
        let time = |gpu: &GpuModel| estimate(&candidate.sheet, &shape, gpu).expect("it runs").us;
        let base = time(gpu);
        let grown = |value: u64| (value as f64 * factor) as u64;

        let mut better = gpu.clone();
        better.dram_bytes_per_second = grown(better.dram_bytes_per_second);
        prop_assert!(time(&better) <= base * 1.000_001, "memory");
        let mut better = gpu.clone();
        better.l2_bytes = grown(better.l2_bytes);
        prop_assert!(time(&better) <= base * 1.000_001, "cache");
        let mut better = gpu.clone();
        better.clock_khz = grown(better.clock_khz.into()) as u32;
        prop_assert!(time(&better) <= base * 1.000_001, "clock");
        // With more SMs a wave is wider, and its rows of A may no longer stay in the cache for the next.
        let mut better = gpu.clone();
        better.sms = grown(better.sms.into()) as u32;
        better.l2_bytes = u64::MAX;
        let mut base = gpu.clone();
        base.l2_bytes = u64::MAX;
        prop_assert!(time(&better) <= time(&base) * 1.000_001, "SMs");
    }

    /// More work is never faster with the same template.
    #[test]
    fn a_larger_product_is_never_faster(
        gpu in prop::sample::select(GPU_MODELS.iter().collect::<Vec<_>>()),
        ty in types(), shape in shapes(), pick in 0usize..64, times in 2u64..5,
    ) {
        let arch = gpu.architecture().expect("in the table");
        let selection = select(arch, gpu, &shape, ty, &Policy::default());
        prop_assume!(!selection.ranked.is_empty());
        let candidate = &selection.ranked[pick % selection.ranked.len()];
        let time = |shape: &Shape| estimate(&candidate.sheet, shape, gpu).expect("it runs").us;
        for larger in [
            Shape { m: shape.m * times, ..shape },
            Shape { n: shape.n * times, ..shape },
            Shape { k: shape.k * times, ..shape },
        ] {
            prop_assert!(time(&larger) >= time(&shape) * 0.999_999, "{:?}", larger);
        }
    }
}
