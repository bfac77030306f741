//! What holds for every template, on every architecture.

use std::collections::{BTreeMap, BTreeSet};

use cuda_arch::{ARCHITECTURES, Architecture};
use proptest::prelude::*;
use proptest::sample::select;
use tilewright_plan::{
    Accumulator, Epilogue, EpilogueTile, Frontend, GemmType, MoveKind, Outcome, Path, Shape, Template, TileShape,
    Value, Violation, Widening, Worksheet, fit, moves, rules, worksheet,
};

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn architectures() -> impl Strategy<Value = &'static Architecture> {
    (0..ARCHITECTURES.len()).prop_map(|i| &ARCHITECTURES[i])
}

/// Templates that keep every rule, with the architecture.
fn legal(largest_side: u32, most_stages: u32) -> impl Strategy<Value = (&'static Architecture, Template)> {
    let sides: Vec<u32> = (3..=8)
        .map(|bits| 1 << bits)
        .filter(|side| *side <= largest_side)
        .collect();
    let kernel = (
        architectures(),
        select(GemmType::all().collect::<Vec<_>>()),
        select(&Path::ALL[..]),
        select(&Frontend::ALL[..]),
        (
            select(sides.clone()),
            select(sides),
            select(vec![8, 16, 32, 64, 128, 256]),
        ),
        1..=most_stages,
        // The usual number of warps, half of it or twice.
        0..3_u32,
    );
    let memory = (
        select(vec![false, false, true]),
        (0..3_u32, 0..3_u32, 0..3_u32, 1..3_u32),
        select(vec![1, 2, 4]),
        any::<bool>(),
        select(vec![0, 0, 16, 100, 1000]),
        select(vec![0, 0, 8, 100, 2048, 40_000]),
        select(vec![false, false, false, true]),
        select(vec![1, 2]),
    );
    (kernel, memory).prop_filter_map("breaks a rule", |(kernel, memory)| {
        let (arch, ty, path, frontend, (m, n, k), stages, warps) = kernel;
        let (in_smem, (how, over_m, over_n, buffers), output_bytes, early, scratch, static_bytes, all_static, split_k) =
            memory;
        let tile = TileShape::new(m, n, k);
        let usual = Template::on_path(arch, path, ty, tile, stages);
        let piece = EpilogueTile {
            m: (m >> over_m).max(1),
            n: (n >> over_n).max(1),
            buffers,
        };
        let template = Template {
            frontend,
            stages: frontend.stages(stages, path),
            warps: (usual.warps << warps) / 2,
            accumulator: match in_smem {
                true if matches!(path, Path::Simt | Path::MmaSync) => Accumulator::SharedMemory,
                _ => usual.accumulator,
            },
            epilogue: [Epilogue::Direct, Epilogue::Own(piece), Epilogue::Reuse(piece)][how as usize],
            output_bytes,
            widening: if early { Widening::Staging } else { Widening::Loading },
            scratch_per_warp_bytes: scratch,
            static_bytes,
            operands_static: all_static,
            split_k,
            ..usual
        };
        template.check(arch).ok().map(|_| (arch, template))
    })
}

fn sheet(template: &Template, arch: &Architecture) -> Result<Worksheet, TestCaseError> {
    worksheet(template, arch, 0).map_err(|violation| TestCaseError::fail(violation.to_string()))
}

fn shapes() -> impl Strategy<Value = Option<Shape>> {
    let extent = || prop_oneof![1..300_u64, Just(4096)];
    prop_oneof![
        Just(None),
        (extent(), extent(), extent()).prop_map(|(m, n, k)| Some(Shape { m, n, k }))
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn lines_add_up_and_lie_within_the_total((arch, template) in legal(256, 8)) {
        let sheet = sheet(&template, arch)?;
        let lines: u64 = sheet.components.iter().map(|line| line.bytes).sum();
        prop_assert_eq!(lines, sheet.total_bytes);
        for line in &sheet.components {
            prop_assert!(line.offset + line.bytes <= sheet.total_bytes);
            if let Some(per_stage) = line.per_stage {
                prop_assert_eq!(per_stage * u64::from(sheet.buffers), line.bytes);
            }
        }
        prop_assert_eq!(sheet.fits, sheet.total_bytes <= sheet.limit_bytes);
        prop_assert_eq!(sheet.limit_bytes + sheet.over_by_bytes, sheet.total_bytes + sheet.left_bytes);
        // What fits launches: registers and threads are rules. What is static may fit the launch and not the assembler.
        let launches = sheet.occupancy.blocks_per_sm > 0;
        prop_assert!(launches || !sheet.fits);
        prop_assert!(template.operands_static || launches == sheet.fits);
    }

    #[test]
    fn a_margin_moves_the_limit_and_nothing_else((arch, template) in legal(256, 8), margin in 0..300_000_u64) {
        let without = sheet(&template, arch)?;
        match worksheet(&template, arch, margin) {
            Err(violation) => {
                prop_assert_eq!(violation.rule, &rules::MARGIN);
                prop_assert!(margin >= without.limit_bytes);
            }
            Ok(with) => {
                prop_assert_eq!(with.total_bytes, without.total_bytes);
                prop_assert_eq!(with.fits, without.total_bytes + margin <= without.limit_bytes);
            }
        }
    }

    #[test]
    fn totals_grow_with_stages_and_every_extent((arch, template) in legal(256, 8)) {
        let total = sheet(&template, arch)?.total_bytes;
        let TileShape { m, n, k } = template.tile;
        let tile = |m, n, k| Template { tile: TileShape::new(m, n, k), ..template };
        for larger in [
            Template { stages: template.stages + 1, ..template },
            tile(2 * m, n, k),
            tile(m, 2 * n, k),
            tile(m, n, 2 * k),
        ] {
            if let Ok(larger) = worksheet(&larger, arch, 0) {
                prop_assert!(larger.total_bytes >= total, "{:?}", larger.template);
            }
        }
    }

    #[test]
    fn a_move_never_raises_the_total_and_keeps_every_rule((arch, template) in legal(256, 8), shape in shapes()) {
        let before = sheet(&template, arch)?;
        for tried in moves(&before, arch, shape) {
            prop_assert_eq!(tried.before_bytes, before.total_bytes);
            prop_assert!(!tried.reason.is_empty());
            if !tried.legal {
                prop_assert_eq!((tried.after_bytes, tried.template), (before.total_bytes, template));
                prop_assert_eq!(tried.cost.points, 0);
                continue;
            }
            let after = sheet(&tried.template, arch)?;
            prop_assert_eq!((tried.after_bytes, tried.fits), (after.total_bytes, after.fits));
            prop_assert!(after.total_bytes <= before.total_bytes, "{}", tried);
            prop_assert!(tried.template != template && tried.cost.points > 0, "{}", tried);
            prop_assert!(tried.cost.traffic_ratio >= Some(1.0), "{}", tried);
            let says_nothing = tried.reason.starts_with("saves nothing here");
            let saves = tried.kind == MoveKind::OptIn || after.total_bytes < before.total_bytes;
            prop_assert_ne!(says_nothing, saves, "{}", tried);
        }
    }

    #[test]
    fn fits_are_within_the_limit_and_their_steps_chain(
        (arch, template) in legal(256, 8),
        shape in shapes(),
        margin in prop_oneof![Just(0), 0..40_000_u64],
    ) {
        let fit = fit(&template, arch, margin, shape).map_err(|violation| TestCaseError::fail(violation.to_string()))?;
        prop_assert_eq!(fit.start.fits, fit.outcome == Outcome::AlreadyFits);
        let mut before = fit.start.total_bytes;
        for step in &fit.steps {
            prop_assert!(step.taken.legal);
            prop_assert_eq!((step.taken.before_bytes, step.taken.after_bytes), (before, step.sheet.total_bytes));
            prop_assert_eq!(&step.taken.template, &step.sheet.template);
            prop_assert!(step.passed_over.iter().all(|other| other.kind < step.taken.kind));
            before = step.sheet.total_bytes;
        }
        prop_assert_eq!(fit.points, fit.steps.iter().map(|step| step.taken.cost.points).sum::<u32>());
        match &fit.outcome {
            Outcome::AlreadyFits => prop_assert!(fit.steps.is_empty()),
            Outcome::Fits => {
                let end = fit.end();
                prop_assert!(end.fits && end.total_bytes + margin <= end.limit_bytes);
                prop_assert!(end.occupancy.blocks_per_sm > 0);
                // No step could have been left out at the end.
                let before_last = fit.steps.iter().rev().nth(1).map_or(&fit.start, |step| &step.sheet);
                prop_assert!(!before_last.fits);
            }
            Outcome::Impossible(proof) => {
                prop_assert!(!proof.smallest.fits && fit.steps.is_empty());
                prop_assert!(proof.moves.iter().all(|tried| !tried.fits));
            }
        }
    }
}

/// Every template that moves lead to, with the least points for each.
fn reachable(start: &Template, arch: &Architecture, margin: u64) -> BTreeMap<String, (u32, Worksheet)> {
    let sheet = |template: &Template| worksheet(template, arch, margin).expect("moves keep the rules");
    let mut found = BTreeMap::new();
    let mut open = BTreeSet::from([(0, format!("{start:?}"))]);
    let mut sheets = BTreeMap::from([(format!("{start:?}"), (sheet(start), false))]);
    while let Some((points, name)) = open.pop_first() {
        if found.contains_key(&name) {
            continue;
        }
        let (here, last) = sheets[&name].clone();
        found.insert(name, (points, here.clone()));
        for tried in moves(&here, arch, None)
            .into_iter()
            .filter(|tried| tried.legal && !last)
        {
            if tried.kind == MoveKind::SplitK && tried.before_bytes == tried.after_bytes {
                continue;
            }
            let name = format!("{:?}", tried.template);
            sheets
                .entry(name.clone())
                .or_insert_with(|| (sheet(&tried.template), tried.kind == MoveKind::SpillRegisters));
            open.insert((points + tried.cost.points, name));
        }
    }
    found
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn nothing_reachable_is_better_than_what_fit_finds((arch, template) in legal(32, 3), left in 64..12_000_u64) {
        // So little is left that small templates do not fit at once.
        let limit = worksheet(&template, arch, 0).expect("legal").limit_bytes;
        let margin = limit - left;
        let fit = fit(&template, arch, margin, None).expect("legal");
        let all = reachable(&template, arch, margin);
        let cheapest = all.values().filter(|(_, sheet)| sheet.fits).map(|(points, _)| *points).min();
        match &fit.outcome {
            Outcome::AlreadyFits => prop_assert_eq!(cheapest, Some(0)),
            Outcome::Fits => prop_assert_eq!(cheapest, Some(fit.points), "{}", fit),
            Outcome::Impossible(proof) => {
                prop_assert_eq!(cheapest, None);
                let smallest = all.values().map(|(_, sheet)| (sheet.over_by_bytes, sheet.total_bytes)).min();
                prop_assert_eq!(smallest, Some((proof.smallest.over_by_bytes, proof.smallest.total_bytes)));
            }
        }
    }
}

#[test]
fn every_architecture_has_a_fitting_template_for_every_type_it_supports() {
    for arch in &ARCHITECTURES {
        for ty in GemmType::all() {
            for path in Path::ALL.into_iter().filter(|path| path.support(arch, ty).is_some()) {
                // Large tiles with many stages, and one that every path can make.
                for tile in [(256, 128, 128), (128, 128, 128), (64, 64, 64), (128, 32, 128)] {
                    let tile = TileShape::new(tile.0, tile.1, tile.2);
                    let template = Template::on_path(arch, path, ty, tile, 6);
                    if let Ok(fit) = fit(&template, arch, 0, None) {
                        assert!(fit.end().fits, "{} {path} {fit}", arch.name);
                    }
                }
                let template = Template::on_path(arch, path, ty, TileShape::new(128, 32, 128), 6);
                assert_eq!(template.check(arch).err(), None, "{} {path} {ty}", arch.name);
            }
            if Path::best(arch, ty).is_none() {
                assert!(Template::usual(arch, ty, TileShape::new(128, 128, 128), 2).is_none());
            }
        }
    }
}

/// Anything that a user could write.
fn anything() -> impl Strategy<Value = (&'static Architecture, Template)> {
    // Mostly plausible, so that the later rules have their turn.
    let extent = || {
        prop_oneof![
            40 => select(vec![8_u32, 16, 24, 32, 48, 64, 96, 100, 128, 192, 256, 384, 512, 768, 1000]),
            4 => 0..1100_u32,
            1 => any::<u32>(),
        ]
    };
    let few = || prop_oneof![40 => 1..9_u32, 4 => 0..40_u32, 1 => any::<u32>()];
    let kernel = (
        architectures(),
        select(GemmType::all().collect::<Vec<_>>()),
        select(&Path::ALL[..]),
        select(&Frontend::ALL[..]),
        (extent(), extent(), extent()),
        (few(), few(), prop_oneof![3 => Just(0), 1 => few()]),
        select(vec![
            Accumulator::Registers,
            Accumulator::SharedMemory,
            Accumulator::TensorMemory,
        ]),
        few(),
    );
    let memory = (
        (0..3_u32, extent(), extent(), few()),
        prop_oneof![Just(2_u32), few()],
        prop_oneof![Just(0_u32), extent()],
        prop_oneof![3 => Just(0_u32), 1 => 0..60_000_u32, 1 => any::<u32>()],
        (
            prop_oneof![3 => Just(1_u32), 1 => few()],
            prop_oneof![3 => Just(1_u32), 1 => few()],
        ),
        prop_oneof![Just(1_u32), few()],
    );
    (kernel, memory, any::<bool>()).prop_map(|(kernel, memory, usual)| {
        let (arch, ty, path, frontend, (m, n, k), (stages, warps, producer_warps), accumulator, accumulator_buffers) =
            kernel;
        let ((how, over_m, over_n, buffers), output_bytes, scratch_per_warp_bytes, static_bytes, cluster, split_k) =
            memory;
        let piece = EpilogueTile {
            m: over_m,
            n: over_n,
            buffers,
        };
        let template = Template::on_path(arch, path, ty, TileShape::new(m, n, k), stages);
        let template = Template {
            frontend,
            epilogue: [Epilogue::Direct, Epilogue::Own(piece), Epilogue::Reuse(piece)][how as usize],
            output_bytes,
            scratch_per_warp_bytes,
            static_bytes,
            cluster,
            split_k,
            accumulator_buffers,
            ..template
        };
        let template = match usual {
            true => template,
            false => Template {
                warps,
                producer_warps,
                accumulator,
                ..template
            },
        };
        (arch, template)
    })
}

#[test]
fn the_nearest_columns_of_wgmma_are_legal_for_every_division_among_warps() {
    let arch = cuda_arch::find("sm_90").expect("in the table");
    let usual = Template::on_path(arch, Path::Wgmma, GemmType::Bf16, TileShape::new(64, 64, 64), 3);
    let mut refused = 0;
    for (m, n) in (1..=16).flat_map(|m| (1..=256).map(move |n| (64 * m, 8 * n))) {
        for warps in [4, 8, 12, 16] {
            let with = |n| Template {
                tile: TileShape::new(m, n, 64),
                warps,
                ..usual
            };
            let Err(violation) = with(n).check(arch) else { continue };
            if violation.rule == &rules::WGMMA_N {
                refused += 1;
                let nearest = corrected(&with(n), &violation).expect("a number");
                let again = nearest.check(arch).is_err_and(|next| next.rule == &rules::WGMMA_N);
                assert!(!again, "{m}x{n}, {warps} warps: {violation}");
            }
        }
    }
    assert!(refused > 1000);
}

/// The template with the value that a violation calls the nearest; `None` where that is not a field.
fn corrected(template: &Template, violation: &Violation) -> Option<Template> {
    let mut t = *template;
    let nearest = violation.nearest?;
    let number = || match nearest {
        Value::Number(number) => u32::try_from(number).expect("fits"),
        other => panic!("{violation}: {other}"),
    };
    let piece = |change: fn(&mut EpilogueTile, u32)| {
        let with = |mut tile| {
            change(&mut tile, number());
            tile
        };
        match template.epilogue {
            Epilogue::Direct => Epilogue::Direct,
            Epilogue::Own(tile) => Epilogue::Own(with(tile)),
            Epilogue::Reuse(tile) => Epilogue::Reuse(with(tile)),
        }
    };
    match (violation.what, nearest) {
        ("tile m", _) => t.tile.m = number(),
        ("tile n", _) => t.tile.n = number(),
        ("tile k", _) => t.tile.k = number(),
        ("stages", _) => t.stages = number(),
        ("warps", _) => t.warps = number(),
        ("producer warps", _) => t.producer_warps = number(),
        ("accumulator buffers", _) => t.accumulator_buffers = number(),
        ("output bytes", _) => t.output_bytes = number(),
        ("split k", _) => t.split_k = number(),
        ("scratch bytes per warp", _) => t.scratch_per_warp_bytes = number(),
        ("static bytes", _) => t.static_bytes = number(),
        ("epilogue m", _) => t.epilogue = piece(|tile, m| tile.m = m),
        ("epilogue n", _) => t.epilogue = piece(|tile, n| tile.n = n),
        ("epilogue buffers", _) => t.epilogue = piece(|tile, buffers| tile.buffers = buffers),
        ("registers per thread", _) => t.registers_per_thread = Some(number()),
        ("threads", _) => (t.warps, t.producer_warps) = (number() / 32, 0),
        ("cluster", Value::Pair(m, n)) => t.cluster = (m, n),
        // Columns follow from the tile.
        ("tensor-memory columns", _) => return None,
        (_, Value::Name(name)) if violation.rule == &rules::PATH => t.path = name.parse().expect("a path"),
        (_, Value::Name(name)) => t.accumulator = name.parse().expect("a home of accumulators"),
        (what, _) => panic!("{what}: which field?"),
    }
    Some(t)
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn the_nearest_value_keeps_the_rule((arch, template) in anything()) {
        let Err(violation) = worksheet(&template, arch, 0) else { return Ok(()) };
        prop_assert!(rules::RULES.contains(&violation.rule));
        let Some(corrected) = corrected(&template, &violation) else { return Ok(()) };
        if let Err(next) = worksheet(&corrected, arch, 0) {
            let again = (next.rule, next.what) == (violation.rule, violation.what);
            prop_assert!(!again, "{} and then {}: {:?}", violation, next, template);
        }
    }
}
