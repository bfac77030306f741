//! Every shared-memory limit: what fits, what does not, and what is offered instead.

use tilewright::dispatch::{Named, PlanError, Policy, plan};
use tilewright::{Bytes, DType, Family, GemmShape, KERNELS};
use tilewright_contract::{Loads, TileGeometry, TilePair};

use super::{hopper, large, profiles};

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
            assert_eq!(summary.block[0] * summary.block[1], plan.kernel().threads());
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
                    family: Some(Family::TILED_DYNAMIC),
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
                Err(PlanError::SharedMemory { kernel, limit, nearest }) => {
                    assert_eq!((kernel.dynamic_bytes(), limit.get()), (total, total.get() - 1));
                    match nearest {
                        Some(nearest) => assert!(nearest.tile.n < width && nearest.smem.total() <= limit),
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
                let Err(PlanError::SharedMemory { nearest, .. }) = with_tile(widest + 1) else {
                    panic!("{} {dtype} {widest}: one wider fits", device.name);
                };
                let nearest = nearest.map(|kernel| kernel.tile.n);
                assert_eq!(nearest, Some(widest), "{} {dtype}", device.name);
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
    for family in [None, Some(Family::TILED_DYNAMIC), Some(Family::TILED_STATIC)] {
        let policy = Policy {
            family,
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
        plan(&large(), DType::F32, &device, &policy).map(|p| p.kernel().tile.n),
        Ok(2)
    );
}

#[test]
fn a_kernel_without_shared_memory_fits_into_none() {
    let device = hopper();
    let policy = Policy {
        family: Some(Family::MATRIX_VECTOR),
        smem_limit: Some(Bytes(0)),
        ..Policy::default()
    };
    let column = GemmShape::packed(4096, 1, 4096).expect("valid");
    let summary = plan(&column, DType::F32, &device, &policy)
        .expect("needs nothing")
        .summary();
    assert_eq!((summary.static_smem_bytes, summary.dynamic_smem_bytes), (0, 0));
}

#[test]
fn a_width_that_a_kernel_lacks_names_the_nearest() {
    let device = hopper();
    for (requested, nearest) in [(20, 16), (25, 32), (1, 16), (128, 32)] {
        let policy = Policy {
            family: Some(Family::TILED_STATIC),
            tile: Some(requested),
            ..Policy::default()
        };
        let error = plan(&large(), DType::F32, &device, &policy).expect_err("no such kernel");
        assert_eq!(
            error,
            PlanError::NoSuchWidth {
                named: Named::Family(Family::TILED_STATIC),
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
            Err(PlanError::NoSuchWidth { nearest: Some(at), .. }) if at == nearest
        ));
    }
}

#[test]
fn every_entry_point_of_the_pipelined_families_fits_every_architecture_that_runs_it() {
    let pipelined = KERNELS
        .iter()
        .filter(|kernel| !kernel.supports.groups)
        .filter(|kernel| matches!(kernel.family, Family::SIMT | Family::MMA_SYNC) || kernel.loads == Loads::Tma);
    for (kernel, device) in pipelined.flat_map(|kernel| profiles().map(move |device| (kernel, device))) {
        let case = format!("{} on {}", kernel.symbol, device.name);
        let shape = GemmShape::packed_transposed(512, 512, 512, kernel.transposes()).expect("valid");
        let policy = Policy {
            kernel: Some(kernel),
            ..Policy::default()
        };
        let planned = plan(&shape, kernel.dtype, &device, &policy);
        if !kernel.target.runs_on(device.compute_capability) {
            let error = PlanError::ComputeCapability {
                named: Named::Kernel(kernel.symbol),
                needed: kernel.target,
                available: device.compute_capability,
            };
            assert_eq!(planned, Err(error), "{case}");
            continue;
        }
        let planned = planned.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(planned.kernel(), kernel, "{case}");
        assert_eq!(planned.kernel().threads(), planned.summary().block[0], "{case}");
        assert!(planned.dynamic_bytes().get() <= device.smem_per_block_optin, "{case}");
    }
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
