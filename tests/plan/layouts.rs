//! Transposed operands, leading dimensions, and operands that are padded.

use tilewright::dispatch::{PlanError, Policy, plan};
use tilewright::{DType, Family, GemmShape, KERNELS, Kernel, Operand, Transpose};
use tilewright_contract::{MmaPath, padded_ld};

use super::{ARCHITECTURES, LAYOUTS, h200, hopper, profile};

#[test]
fn rows_may_end_anywhere_for_tensor_maps_but_begin_at_16_bytes() {
    let family = |k, ld| {
        let shape = GemmShape::with_ld(2048, 2048, k, ld, 2048, 2048).expect("valid");
        let planned = plan(&shape, DType::Bf16, &hopper(), &Policy::default()).expect("fits");
        planned.kernel().family
    };
    assert_eq!(family(2001, 2008), Family::WGMMA);
    // A is copied.
    assert_eq!(family(2001, 2001), Family::WGMMA);
}

#[test]
fn rows_at_odd_elements_are_copied_in_every_layout() {
    for (device, family) in [(h200(), Family::WGMMA), (profile(ARCHITECTURES[1]), Family::MMA_SYNC)] {
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
                assert_eq!(planned.kernel().family, family, "{case}");
                assert_eq!(planned.copies().map(|copy| copy.is_some()), odd, "{case}");
                assert_eq!(planned.shape(), shape, "{case}");
                assert!(planned.kernel().accepts(&planned.taken()), "{case}");

                let expected = [(odd[0], a), (odd[1], b)].map(|(odd, (rows, columns, _))| {
                    let padded = padded_ld(columns, 2);
                    if odd {
                        (Some(padded as u32), rows * padded * 2)
                    } else {
                        (None, 0)
                    }
                });
                let summary = planned.summary();
                assert_eq!(summary.padded_ld, expected.map(|(ld, _)| ld), "{case}");
                let all_bytes = expected.iter().map(|(_, bytes)| *bytes as u64).sum::<u64>();
                assert_eq!(summary.padded_bytes, all_bytes, "{case}");
                // The kernel is told of the rows that it gets, C stays where it is.
                let args = planned.params::<f32>(1, [1.0, 0.0]).args();
                let taken = [0, 1].map(|at| expected[at].0.unwrap_or(lds[at] as u32));
                assert_eq!(([args.lda, args.ldb], args.ldc), (taken, 2003), "{case}");
                for (operand, odd) in ["A", "B"].into_iter().zip(odd) {
                    let start = format!("{operand} is padded first: ");
                    let says = planned.reasons().iter().any(|reason| reason.starts_with(&start));
                    assert_eq!(says, odd, "{case}");
                }
            }
        }
    }
}

#[test]
fn rows_at_odd_elements_are_offered_to_kernels_of_single_elements_too() {
    for (dtype, transpose) in [DType::F16, DType::Bf16]
        .into_iter()
        .flat_map(|dtype| LAYOUTS.map(|layout| (dtype, layout)))
    {
        let shape = GemmShape::packed_transposed(53, 27, 23, transpose).expect("valid");
        let direct = |kernel: &&Kernel| {
            kernel.mma == MmaPath::MmaSync && kernel.dtype == dtype && kernel.accepts(&shape) && !kernel.supports.groups
        };
        let kernels: Vec<_> = KERNELS.iter().filter(direct).collect();
        assert_eq!(kernels.len(), 4, "{dtype} {transpose:?}: {kernels:?}");
        let planned = plan(&shape, dtype, &h200(), &Policy::default()).expect("fits");
        let fits = |family: Family, tile: &str| {
            let name = format!("{family} with {tile}");
            planned.reasons().iter().any(|reason| reason.starts_with(&name))
        };
        assert!(fits(Family::MMA_SYNC, "tile 64 x 64"), "{:?}", planned.reasons());
        assert!(fits(Family::MMA_SYNC, "tile 128 x 128"), "{:?}", planned.reasons());

        for kernel in kernels {
            let policy = Policy {
                kernel: Some(kernel),
                ..Policy::default()
            };
            let planned = plan(&shape, dtype, &h200(), &policy).expect("fits");
            assert_eq!(planned.kernel(), kernel);
            assert_eq!((planned.copies(), planned.taken()), ([None, None], shape));
        }
    }
}

#[test]
fn a_copy_is_part_of_the_estimate() {
    let reasons = |gap: usize| {
        let shape = GemmShape::with_ld(1024, 1024, 1024, 1024 + gap, 1024, 1024).expect("valid");
        let policy = Policy {
            family: Some(Family::WGMMA),
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
    // More than the 4 MiB that are read and written at 4.8 TB/s: the copy is a launch too.
    let bytes_us = 4.194_304 / 4.8;
    assert!(copied > aligned + 1.0 + bytes_us, "{aligned} and {copied}");
}

#[test]
fn one_row_is_taken_however_long_it_is() {
    let shape = GemmShape::packed_transposed(1, 1024, 1027, [Transpose::No, Transpose::Yes]).expect("valid");
    // By itself dispatch takes a kernel of single elements, which copies neither.
    let policy = Policy {
        family: Some(Family::WGMMA),
        ..Policy::default()
    };
    let planned = plan(&shape, DType::F16, &h200(), &policy).expect("fits");
    let [a, b] = planned.copies();
    assert_eq!((a, b.map(|copy| copy.rows.rows)), (None, Some(1024)));
    assert_eq!(planned.taken().extents(Operand::A), (1, 1027, padded_ld(1027, 2)));
}

#[test]
fn where_nothing_can_be_copied_a_layout_is_still_refused() {
    let transposed = GemmShape::packed_transposed(65, 65, 65, [Transpose::No, Transpose::Yes]).expect("valid");
    // No tensor cores that these kernels know; and no copy changes what is transposed.
    let turing = profile(ARCHITECTURES[0]);
    let row_major_only = Policy {
        family: Some(Family::REGISTER_TILE),
        ..Policy::default()
    };
    for (device, dtype, policy) in [
        (&turing, DType::F16, Policy::default()),
        (&turing, DType::F64, Policy::default()),
        (&hopper(), DType::F32, row_major_only),
    ] {
        let error = plan(&transposed, dtype, device, &policy).expect_err("no kernel");
        assert!(matches!(error, PlanError::NoSuchLayout { .. }), "{dtype}: {error}");
    }
}

#[test]
fn every_layout_has_a_plan_and_vectors_where_rows_allow_them() {
    for transpose in LAYOUTS {
        let kernel = |m, n, k| {
            let shape = GemmShape::packed_transposed(m, n, k, transpose).expect("valid");
            let plan = plan(&shape, DType::F32, &hopper(), &Policy::default()).expect("every layout has a kernel");
            assert_eq!(plan.kernel().taken(&shape), Some(plan.taken()));
            *plan.kernel()
        };
        let [a, b] = transpose;
        let expected = [
            if a == Transpose::Yes { 4 } else { 1 },
            if b == Transpose::No { 4 } else { 1 },
        ];
        // Also of a copy, where that is faster.
        let elems = kernel(1024, 1024, 1024).alignment.elems;
        assert!(
            elems.iter().zip(expected).all(|(&elems, least)| elems >= least),
            "{transpose:?}"
        );
        let _: tilewright::Kernel = kernel(1023, 1023, 1023);
    }
}
