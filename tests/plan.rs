//! Sizing from synthetic device profiles: every shared-memory limit there is, one byte under, at and over.

use tilewright::device::{DeviceProfile, Installed};
use tilewright::plan::{PlanError, Policy, plan};
use tilewright::{Bytes, DType, GemmShape, Operand, Rung, Transpose, VARIANTS};
use tilewright_contract::{RowCopy, TileGeometry, TilePair};

/// Compute capability, opt-in limit, per multiprocessor, reserve (bytes), multiprocessors of a typical part.
type Architecture = ((u32, u32), u32, u32, u32, u32);

/// Every architecture that a current CUDA supports.
///
/// Source: CUDA programming guide, "Compute Capabilities"; the reserve is `cudaDevAttrReservedSharedMemoryPerBlock`.
const ARCHITECTURES: [Architecture; 11] = [
    ((7, 5), 65_536, 65_536, 0, 40),
    ((8, 0), 166_912, 167_936, 1024, 108),
    ((8, 6), 101_376, 102_400, 1024, 84),
    ((8, 7), 166_912, 167_936, 1024, 16),
    ((8, 9), 101_376, 102_400, 1024, 128),
    ((9, 0), 232_448, 233_472, 1024, 132),
    ((10, 0), 232_448, 233_472, 1024, 148),
    ((10, 3), 232_448, 233_472, 1024, 160),
    ((11, 0), 232_448, 233_472, 1024, 20),
    ((12, 0), 101_376, 102_400, 1024, 188),
    ((12, 1), 101_376, 102_400, 1024, 48),
];

fn profile((compute_capability, optin, per_sm, reserved, multiprocessors): Architecture) -> DeviceProfile {
    DeviceProfile {
        name: format!("synthetic {}.{}", compute_capability.0, compute_capability.1),
        compute_capability,
        smem_per_block: 49_152,
        smem_per_block_optin: optin,
        smem_per_sm: per_sm,
        smem_reserved_per_block: reserved,
        registers_per_sm: 65_536,
        registers_per_block: 65_536,
        threads_per_block: 1024,
        threads_per_sm: 1536,
        blocks_per_sm: 16,
        warp_size: 32,
        installed: Some(Installed {
            multiprocessors,
            l2_bytes: 48 << 20,
            clock_khz: 1_980_000,
            memory_bytes: 16 << 30,
            dram_bytes_per_second: 1_000_000_000_000,
            driver: "13.0".to_owned(),
        }),
    }
}

fn profiles() -> impl Iterator<Item = DeviceProfile> {
    ARCHITECTURES.into_iter().map(profile)
}

#[test]
fn the_table_of_architectures_has_the_same_limits() {
    for (capability, optin, per_sm, reserved, _) in ARCHITECTURES {
        let name = format!("{}.{}", capability.0, capability.1);
        let of_arch = DeviceProfile::of_arch(cuda_arch::find(&name).expect("in the table"));
        assert_eq!(
            (
                of_arch.compute_capability,
                of_arch.smem_per_block,
                of_arch.smem_per_block_optin
            ),
            (capability, 49_152, optin)
        );
        assert_eq!(
            (of_arch.smem_per_sm, of_arch.smem_reserved_per_block),
            (per_sm, reserved),
            "{name}"
        );
        assert_eq!(of_arch.installed, None, "{name}: an architecture is no product");
    }
    assert_eq!(cuda_arch::ARCHITECTURES.len(), ARCHITECTURES.len());
}

fn hopper() -> DeviceProfile {
    profile(((9, 0), 232_448, 233_472, 1024, 132))
}

fn large() -> GemmShape {
    GemmShape::packed(8192, 8192, 8192).expect("valid shape")
}

#[test]
fn an_automatic_plan_fits_every_architecture_and_element_type() {
    for device in profiles() {
        for dtype in DType::ALL {
            let plan = plan(&large(), dtype, &device, &Policy::default()).expect("something always fits");
            let summary = plan.summary();
            let used = summary.static_smem_bytes + summary.dynamic_smem_bytes;
            assert!(used <= device.smem_per_block_optin, "{}: {used}", device.name);
            assert_eq!(summary.opt_in, used > 49_152, "{}", device.name);
            let operands = summary.a_part_bytes + summary.b_part_bytes;
            assert_eq!(operands + summary.c_part_bytes + summary.barrier_bytes, used);
            assert_eq!(summary.block[0] * summary.block[1], plan.tile().threads());
            assert!(!plan.reasons().is_empty());
        }
    }
}

#[test]
fn every_tile_is_accepted_at_its_size_and_refused_one_byte_below() {
    let device = hopper();
    for dtype in DType::ALL {
        for width in TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH {
            let total = TilePair::new(TileGeometry::new(width).expect("in range"), dtype).total();
            let at = |limit| {
                let policy = Policy {
                    rung: Some(Rung::TiledDynamic),
                    tile: Some(width),
                    smem_limit: Some(Bytes(limit)),
                    ..Policy::default()
                };
                plan(&large(), dtype, &device, &policy)
            };
            if total.get() > device.smem_per_block_optin {
                assert!(matches!(at(u32::MAX), Err(PlanError::SharedMemory { .. })));
                continue;
            }
            for over in [0, 1] {
                assert_eq!(
                    at(total.get() + over).expect("fits").summary().dynamic_smem_bytes,
                    total.get()
                );
            }
            match at(total.get() - 1) {
                Err(PlanError::SharedMemory {
                    dynamic_bytes,
                    limit,
                    nearest,
                    ..
                }) => {
                    assert_eq!((dynamic_bytes, limit.get()), (total, total.get() - 1));
                    match nearest {
                        Some((nearest, bytes)) => assert!(nearest.n() < width && bytes <= limit),
                        None => assert!(width <= 4, "{dtype} {width}"),
                    }
                }
                other => panic!("{dtype} {width}: {other:?}"),
            }
        }
    }
}

#[test]
fn the_widest_tile_of_each_limit_is_taken_to_the_byte() {
    for device in profiles() {
        for dtype in DType::ALL {
            let limit = Bytes(device.smem_per_block_optin);
            let widest = TilePair::widest_within(limit, dtype).expect("fits").width();
            let with_tile = |width| {
                plan(
                    &large(),
                    dtype,
                    &device,
                    &Policy {
                        tile: Some(width),
                        ..Policy::default()
                    },
                )
            };
            assert!(with_tile(widest).is_ok(), "{} {dtype} {widest}", device.name);
            if widest < TileGeometry::MAX_WIDTH {
                assert!(
                    matches!(with_tile(widest + 1), Err(PlanError::SharedMemory { nearest: Some((nearest, _)), .. }) if nearest.n() == widest),
                    "{} {dtype} {widest}",
                    device.name
                );
            }
        }
    }
}

#[test]
fn a_99_kib_part_and_a_227_kib_part_differ_as_documented() {
    let widest = |optin| TilePair::widest_within(Bytes(optin), DType::F64).map(TileGeometry::width);
    // 2 * 8 * w²: 79² * 16 = 99856 <= 101376 < 80² * 16; 120² * 16 = 230400 <= 232448 < 121² * 16.
    assert_eq!(widest(101_376), Some(79));
    assert_eq!(widest(232_448), Some(120));
}

#[test]
fn a_limit_that_fits_nothing_says_so() {
    let device = hopper();
    for rung in [None, Some(Rung::TiledDynamic), Some(Rung::TiledStatic)] {
        let policy = Policy {
            rung,
            smem_limit: Some(Bytes(31)),
            ..Policy::default()
        };
        let error = plan(&large(), DType::F32, &device, &policy).expect_err("31 bytes hold no pair of tiles");
        assert!(
            matches!(error, PlanError::SharedMemory { nearest: None, .. }),
            "{error:?}"
        );
        assert!(error.to_string().ends_with("no tile width fits"), "{error}");
    }
    let policy = Policy {
        smem_limit: Some(Bytes(32)),
        ..Policy::default()
    };
    assert_eq!(
        plan(&large(), DType::F32, &device, &policy).map(|p| p.tile().n()),
        Ok(2)
    );
}

#[test]
fn the_naive_kernel_needs_no_shared_memory() {
    let device = hopper();
    let policy = Policy {
        rung: Some(Rung::Naive),
        smem_limit: Some(Bytes(0)),
        ..Policy::default()
    };
    let summary = plan(&large(), DType::F32, &device, &policy)
        .expect("needs nothing")
        .summary();
    assert_eq!(
        (summary.static_smem_bytes, summary.dynamic_smem_bytes, summary.tile),
        (0, 0, [16, 16])
    );
}

#[test]
fn a_width_that_a_kernel_lacks_names_the_nearest() {
    let device = hopper();
    for (requested, nearest) in [(20, 16), (25, 32), (1, 16), (128, 32)] {
        let policy = Policy {
            rung: Some(Rung::TiledStatic),
            tile: Some(requested),
            ..Policy::default()
        };
        let error = plan(&large(), DType::F32, &device, &policy).expect_err("no such variant");
        assert_eq!(
            error,
            PlanError::NoSuchVariant {
                rung: Rung::TiledStatic,
                requested,
                nearest: Some(nearest)
            }
        );
    }
    for (requested, nearest) in [(0, 1), (129, 128), (u32::MAX, 128)] {
        let policy = Policy {
            tile: Some(requested),
            ..Policy::default()
        };
        assert!(matches!(
            plan(&large(), DType::F32, &device, &policy),
            Err(PlanError::NoSuchVariant { nearest: Some(at), .. }) if at == nearest
        ));
    }
}

/// The profile of a product that the planner knows.
fn h200() -> DeviceProfile {
    let arch = cuda_arch::find("sm_90").expect("in the table");
    DeviceProfile {
        installed: Some(Installed {
            multiprocessors: 132,
            l2_bytes: 50 << 20,
            clock_khz: 1_980_000,
            memory_bytes: 141 << 30,
            dram_bytes_per_second: 4_800_000_000_000,
            driver: "13.0".to_owned(),
        }),
        ..DeviceProfile::of_arch(arch)
    }
}

#[test]
fn small_products_get_tiles_that_fill_the_device() {
    let tile = |m, n, k| {
        let shape = GemmShape::packed(m, n, k).expect("valid");
        let plan = plan(&shape, DType::F32, &h200(), &Policy::default()).expect("fits");
        let summary = plan.summary();
        (summary.tile, summary.grid[0])
    };
    assert_eq!(tile(4096, 4096, 4096), ([256, 128], 512));
    // The smaller the product, the smaller the tile, or the more slices of K.
    let area = |([m, n], _): ([u32; 2], u32)| m * n;
    assert!(area(tile(512, 512, 64)) < area(tile(4096, 4096, 4096)));
    assert!(area(tile(64, 64, 64)) <= area(tile(512, 512, 64)));
    assert_eq!(tile(1, 1, 64), ([16, 16], 1));
    assert_eq!(tile(0, 0, 64).1, 0);
    let (_, blocks) = tile(128, 128, 16_384);
    assert!(blocks > 8, "{blocks} blocks share one tile's 16384 products an element");
}

#[test]
fn automatic_plans_are_rungs_10_and_12_from_8_0_on_and_rung_17_on_9_0() {
    for device in profiles() {
        let plan = plan(&large(), DType::F32, &device, &Policy::default()).expect("fits");
        let of_gemm = plan.variant().rung == Rung::Gemm;
        assert_eq!(of_gemm, device.compute_capability >= (8, 0), "{}", device.name);
        let rung = |dtype| {
            let planned = tilewright::plan::plan(&large(), dtype, &device, &Policy::default());
            planned.expect("fits").variant().rung
        };
        assert_eq!(rung(DType::F64), Rung::TiledDynamic, "{}", device.name);
        for dtype in [DType::F16, DType::Bf16] {
            let expected = match device.compute_capability {
                (9, 0) => Rung::WgmmaGemm,
                (7, _) => Rung::TiledDynamic,
                _ => Rung::MmaSync,
            };
            assert_eq!(rung(dtype), expected, "{} {dtype}", device.name);
        }
    }
}

#[test]
fn rows_may_end_anywhere_for_tensor_maps_but_begin_at_16_bytes() {
    let rung = |k, ld| {
        let shape = GemmShape::with_ld(2048, 2048, k, ld, 2048, 2048).expect("valid");
        let planned = plan(&shape, DType::Bf16, &hopper(), &Policy::default()).expect("fits");
        planned.variant().rung
    };
    assert_eq!(rung(2001, 2008), Rung::WgmmaGemm);
    // A is copied.
    assert_eq!(rung(2001, 2001), Rung::WgmmaGemm);
}

#[test]
fn rows_at_odd_elements_are_copied_in_every_layout() {
    for (device, rung) in [(h200(), Rung::WgmmaGemm), (profile(ARCHITECTURES[1]), Rung::MmaSync)] {
        for (dtype, transpose) in [DType::F16, DType::Bf16]
            .into_iter()
            .flat_map(|dtype| LAYOUTS.map(|layout| (dtype, layout)))
        {
            for odd in [[true, false], [false, true], [true, true], [false, false]] {
                let packed = GemmShape::packed_transposed(2001, 2003, 1999, transpose).expect("valid");
                let [a, b] = [Operand::A, Operand::B].map(|operand| packed.extents(operand));
                // Every row has an odd number of elements.
                let of = |odd: bool, columns: usize| if odd { columns } else { columns.next_multiple_of(8) + 8 };
                let lds = [of(odd[0], a.1), of(odd[1], b.1)];
                let shape = packed.with_operand_lds(lds).expect("valid");
                let case = format!("{dtype} {transpose:?} {lds:?} on {}", device.name);
                let planned =
                    plan(&shape, dtype, &device, &Policy::default()).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(planned.variant().rung, rung, "{case}");
                assert_eq!(planned.copies().map(|copy| copy.is_some()), odd, "{case}");
                assert_eq!(planned.shape(), shape, "{case}");
                assert!(planned.variant().accepts(&planned.taken()), "{case}");

                let expected = [(odd[0], a), (odd[1], b)].map(|(odd, (rows, columns, _))| {
                    let padded = RowCopy::padded(columns);
                    if odd {
                        (Some(padded as u32), rows * padded * 2)
                    } else {
                        (None, 0)
                    }
                });
                let summary = planned.summary();
                assert_eq!(summary.copied_ld, expected.map(|(ld, _)| ld), "{case}");
                let all_bytes = expected.iter().map(|(_, bytes)| *bytes as u64).sum::<u64>();
                assert_eq!(summary.copied_bytes, all_bytes, "{case}");
                // The kernel is told of the rows that it gets, C stays where it is.
                let args = planned.call(1.0, 0.0).args;
                let taken = [0, 1].map(|at| expected[at].0.unwrap_or(lds[at] as u32));
                assert_eq!(([args.lda, args.ldb], args.ldc), (taken, 2003), "{case}");
                for (operand, odd) in ["A", "B"].into_iter().zip(odd) {
                    let start = format!("{operand} is copied first: ");
                    let says = planned.reasons().iter().any(|reason| reason.starts_with(&start));
                    assert_eq!(says, odd, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_copy_is_part_of_the_estimate() {
    let reasons = |gap: usize| {
        let shape = GemmShape::with_ld(1024, 1024, 1024, 1024 + gap, 1024, 1024).expect("valid");
        let policy = Policy {
            rung: Some(Rung::WgmmaGemm),
            ..Policy::default()
        };
        let planned = plan(&shape, DType::Bf16, &h200(), &policy).expect("fits");
        let last = planned
            .reasons()
            .iter()
            .rfind(|reason| reason.contains(", about "))
            .cloned();
        last.expect("the device is known")
    };
    let us = |reason: String| {
        let (_, time) = reason.split_once(", about ").expect("an estimate");
        let number = time.split(' ').next().and_then(|number| number.parse::<f64>().ok());
        number.expect("a number")
    };
    // Both in rows that begin with a line of L2.
    let (aligned, copied) = (us(reasons(64)), us(reasons(1)));
    // A launch, and 4 MiB at 4.8 TB/s; both are rounded to a tenth.
    let copy = 2.0 + 4.194_304 / 4.8;
    assert!((copied - aligned - copy).abs() <= 0.11, "{aligned} and {copied}");
}

#[test]
fn one_row_is_taken_however_long_it_is() {
    let shape = GemmShape::packed_transposed(1, 1024, 1027, [Transpose::No, Transpose::Yes]).expect("valid");
    let planned = plan(&shape, DType::F16, &h200(), &Policy::default()).expect("fits");
    let [a, b] = planned.copies();
    assert_eq!((a, b.map(|copy| copy.rows)), (None, Some(1024)));
    assert_eq!(planned.taken().extents(Operand::A), (1, 1027, RowCopy::padded(1027)));
}

#[test]
fn where_nothing_can_be_copied_a_layout_is_still_refused() {
    let transposed = GemmShape::packed_transposed(65, 65, 65, [Transpose::No, Transpose::Yes]).expect("valid");
    // No tensor cores that these kernels know; and no copy changes what is transposed.
    let turing = profile(ARCHITECTURES[0]);
    let ladder = Policy {
        rung: Some(Rung::WgmmaCluster),
        ..Policy::default()
    };
    for (device, dtype, policy) in [
        (&turing, DType::F16, Policy::default()),
        (&hopper(), DType::F64, Policy::default()),
        (&hopper(), DType::Bf16, ladder),
    ] {
        let error = plan(&transposed, dtype, device, &policy).expect_err("no kernel");
        assert!(matches!(error, PlanError::NoSuchLayout { .. }), "{dtype}: {error}");
    }
}

#[test]
fn blocks_that_stay_are_as_many_as_the_device_holds_in_whole_clusters() {
    let entry_points = VARIANTS.iter().filter(|variant| variant.rung.multiplies_by_wgmma());
    for variant in entry_points {
        let tile = variant.tile.only().expect("one tile");
        let planned = |m, n, k, slices| {
            let shape = GemmShape::packed_transposed(m, n, k, variant.copies.transpose).expect("valid");
            let policy = Policy {
                entry_point: Some(variant),
                slices: Some(slices),
                ..Policy::default()
            };
            plan(&shape, variant.dtype, &hopper(), &policy)
                .unwrap_or_else(|error| panic!("{}: {error}", variant.symbol))
        };
        // 33 x 32 tiles.
        let (m, n) = (32 * tile.m() as usize + 8, 32 * tile.n() as usize);
        let large = planned(m, n, 128, 1);
        let tiles = 33_u32.next_multiple_of(tile.cluster()) * 32;
        let blocks = large.grid().blocks();
        assert_eq!(large.grid().tiles(), tiles, "{}", variant.symbol);
        if tile.is_persistent() {
            // 228 KiB of a multiprocessor, of which the system takes 1 KiB a block.
            let resident = 233_472 / (large.dynamic_bytes().get() + 1024);
            assert_eq!(blocks, 132 * resident, "{}", variant.symbol);
        } else {
            assert_eq!(blocks, tiles, "{}", variant.symbol);
        }
        // A part of the first tile: a cluster.
        assert_eq!(
            planned(8, 8, 64, 1).grid().blocks(),
            tile.cluster(),
            "{}",
            variant.symbol
        );
        // The plan knows the device when the shape changes.
        let shape = GemmShape::packed_transposed(m, n, 64, variant.copies.transpose).expect("valid");
        let other = planned(8, 8, 64, 1).for_shape(shape).expect("fits a grid");
        assert_eq!(other.grid().blocks(), blocks, "{}", variant.symbol);
        if variant.takes_slices() {
            let sliced = planned(8, 8, 1024, 4);
            assert_eq!(sliced.grid().blocks(), 4 * tile.cluster(), "{}", variant.symbol);
            let sums = 4 * (tile.cluster() * tile.sums()) as usize;
            // Each warpgroup's 64 rows are counted by themselves.
            let counters = (4 * tile.cluster() * tile.m() / 64) as usize;
            assert_eq!((sliced.workspace_elems(), sliced.counters()), (sums, counters));
        }
    }
}

#[test]
fn one_column_and_one_row_in_f32_are_rung_11() {
    // Where memory is slow enough, anything is fast enough for it.
    for device in profiles().filter(|device| device.compute_capability == (9, 0)) {
        for (m, n) in [(4096, 1), (1, 4096)] {
            for transpose in LAYOUTS {
                let shape = GemmShape::packed_transposed(m, n, 4096, transpose).expect("valid");
                let planned = plan(&shape, DType::F32, &device, &Policy::default()).expect("fits");
                assert_eq!(planned.variant().rung, Rung::MatrixVector, "{} {shape}", device.name);
            }
        }
    }
}

#[test]
fn every_entry_point_of_the_pipelined_rungs_fits_every_architecture_that_runs_it() {
    let pipelined = VARIANTS.iter().filter(|variant| {
        matches!(variant.rung, Rung::AsyncCopy | Rung::Gemm | Rung::MmaSync) || variant.rung.multiplies_by_wgmma()
    });
    for (variant, device) in pipelined.flat_map(|variant| profiles().map(move |device| (variant, device))) {
        let case = format!("{} on {}", variant.symbol, device.name);
        let shape = GemmShape::packed_transposed(512, 512, 512, variant.copies.transpose).expect("valid");
        let policy = Policy {
            entry_point: Some(variant),
            ..Policy::default()
        };
        let planned = plan(&shape, variant.dtype, &device, &policy);
        if !variant.rung.runs_on(device.compute_capability) {
            let error = PlanError::ComputeCapability {
                rung: variant.rung,
                needed: variant.rung.compute_capability(),
                available: device.compute_capability,
            };
            assert_eq!(planned, Err(error), "{case}");
            continue;
        }
        let planned = planned.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(planned.variant(), variant, "{case}");
        assert_eq!(planned.tile().threads(), planned.summary().block[0], "{case}");
        assert!(planned.dynamic_bytes().get() <= device.smem_per_block_optin, "{case}");
    }
}

const LAYOUTS: [[Transpose; 2]; 4] = [
    [Transpose::No, Transpose::No],
    [Transpose::No, Transpose::Yes],
    [Transpose::Yes, Transpose::No],
    [Transpose::Yes, Transpose::Yes],
];

#[test]
fn every_layout_has_a_plan_and_vectors_where_rows_allow_them() {
    for transpose in LAYOUTS {
        let kernel = |m, n, k| {
            let shape = GemmShape::packed_transposed(m, n, k, transpose).expect("valid");
            let plan = plan(&shape, DType::F32, &hopper(), &Policy::default()).expect("every layout has a kernel");
            assert!(plan.variant().accepts(&shape));
            assert_eq!(plan.variant().copies.transpose, transpose);
            plan.variant()
        };
        let [a, b] = transpose;
        let expected = [
            if a == Transpose::Yes { 4 } else { 1 },
            if b == Transpose::No { 4 } else { 1 },
        ];
        assert_eq!(kernel(1024, 1024, 1024).copies.vector, expected, "{transpose:?}");
        assert_eq!(kernel(1023, 1023, 1023).copies.vector, [1, 1], "{transpose:?}");
    }
}

#[test]
fn what_no_kernel_does_is_refused_with_what_one_does() {
    let device = hopper();
    let transposed = GemmShape::packed_transposed(64, 64, 64, [Transpose::No, Transpose::Yes]).expect("valid");
    let square = GemmShape::packed(64, 64, 64).expect("valid");
    let of = |rung| Policy {
        rung,
        ..Policy::default()
    };
    let sliced = |rung, slices| Policy {
        slices: Some(slices),
        ..of(rung)
    };
    let scaled = |rung| Policy {
        factors: true,
        ..of(rung)
    };
    let dynamic = Some(Rung::TiledDynamic);
    for (shape, dtype, policy, text) in [
        (
            &transposed,
            DType::F32,
            of(dynamic),
            "r03_tiled_dynamic has no kernel for f32 with A and B as NT and these leading dimensions; r10_gemm takes every layout of f32",
        ),
        (
            &transposed,
            DType::F64,
            of(None),
            "has no kernel for f64 with A and B as NT",
        ),
        (
            &square,
            DType::F32,
            scaled(dynamic),
            "r03_tiled_dynamic has no kernel for f32 with alpha and beta; r10_gemm has, in f32",
        ),
        (
            &square,
            DType::F64,
            scaled(None),
            "no kernel for f64 has alpha and beta",
        ),
        (
            &square,
            DType::F32,
            sliced(dynamic, 2),
            "r03_tiled_dynamic cannot compute 2 slices of K; nearest: 1; r10_gemm takes any number from 1",
        ),
        (
            &square,
            DType::F32,
            sliced(Some(Rung::AsyncCopy), 2),
            "r09_async_copy cannot compute 2 slices",
        ),
        (
            &square,
            DType::F32,
            sliced(Some(Rung::Gemm), 0),
            "r10_gemm cannot compute 0 slices of K; nearest: 1",
        ),
        (&square, DType::F32, sliced(None, 0), "cannot compute 0 slices of K"),
        (
            &square,
            DType::F64,
            of(Some(Rung::Gemm)),
            "r10_gemm has no kernel for f64; nearest: f32",
        ),
    ] {
        let error = plan(shape, dtype, &device, &policy).expect_err(text).to_string();
        assert!(error.contains(text), "{error:?} lacks {text:?}");
    }
    // Slices that would have no step get none.
    let planned = plan(&square, DType::F32, &device, &sliced(Some(Rung::Gemm), 1000)).expect("as many as have steps");
    let depth = planned.variant().depth(planned.tile());
    assert_eq!(planned.summary().slices, 64_u32.div_ceil(depth));
    let turing = profile(ARCHITECTURES[0]);
    let error = plan(&square, DType::F32, &turing, &of(Some(Rung::Gemm))).expect_err("older than cp.async");
    assert_eq!(
        error.to_string(),
        "r10_gemm needs compute capability 8.0, the device has 7.5"
    );
    // There, alpha and beta have no kernel at all.
    assert!(plan(&square, DType::F32, &turing, &scaled(None)).is_err());
}

#[test]
fn a_device_that_allows_fewer_threads_refuses_with_both_numbers() {
    let mut device = hopper();
    device.threads_per_block = 512;
    let policy = Policy {
        tile: Some(32),
        ..Policy::default()
    };
    assert_eq!(
        plan(&large(), DType::F32, &device, &policy),
        Err(PlanError::Threads {
            requested: 1024,
            available: 512
        })
    );
}
