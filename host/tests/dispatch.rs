//! What is offered where a kernel of this project's is refused leads to one that works.

use proptest::prelude::*;
use proptest::sample::select;
use tilewright::dispatch::{PlanError, Policy, plan};
use tilewright_contract::{Bytes, DType, Family, GemmShape, Kernel, Transpose, lessons};
use tilewright_plan::device::DeviceProfile;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_refused_kernel_leads_to_one_that_works(
        family in select(&Family::ALL[..]),
        dtype in select(&DType::ALL[..]),
        width in prop_oneof![4 => 0..300_u32, 1 => any::<u32>()],
        smem in prop_oneof![4 => Just(None), 1 => (8192..200_000_u32).prop_map(Some)],
        n in select(vec![1_usize, 64]),
    ) {
        let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
        let shape = GemmShape::packed(64, n, 64).expect("small");
        let (mut family, mut dtype, mut tile) = (family, dtype, Some(width));
        // As many steps as a request can have faults of different kinds: type, operands, layout, width, bytes.
        for _ in 0..=5 {
            let policy = Policy { family: Some(family), tile, smem_limit: smem.map(Bytes), ..Policy::default() };
            match plan(&shape, dtype, &device, &policy) {
                Ok(_) => return Ok(()),
                Err(PlanError::NoSuchWidth { nearest, .. }) => tile = nearest,
                Err(PlanError::NoSuchType { nearest, .. }) => dtype = nearest,
                Err(PlanError::NoVector { .. }) => family = Family::SIMT,
                Err(PlanError::NoSuchLayout { dtype: DType::F64, .. }) => family = Family::MMA_F64,
                Err(PlanError::SharedMemory { nearest: Some(nearest), .. }) => tile = Some(nearest.tile.n),
                // Nothing of the kernel fits into what the user allows, and that is said.
                Err(PlanError::SharedMemory { nearest: None, .. }) => return Ok(()),
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
        Err(TestCaseError::fail("a circle"))?
    }
}

#[test]
fn what_led_in_a_circle_no_longer_does() {
    let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
    let shape = GemmShape::packed(64, 64, 64).expect("small");
    let of = |family, dtype, tile| {
        let policy = Policy {
            family: Some(family),
            tile: Some(tile),
            ..Policy::default()
        };
        plan(&shape, dtype, &device, &policy)
    };
    assert_eq!(
        of(Family::WGMMA, DType::Bf16, 128).map(|plan| plan.kernel().tile.n),
        Ok(128)
    );
    let narrow = of(Family::WGMMA, DType::Bf16, 200).expect_err("it has 128");
    assert!(narrow.to_string().ends_with("nearest: 128"), "{narrow}");
    // Its tiles of 64 x 64 differ in their bytes: the first does not fit, and another is what the error names.
    let policy = Policy {
        family: Some(Family::MMA_SYNC),
        tile: Some(64),
        smem_limit: Some(Bytes(16_384)),
        ..Policy::default()
    };
    let column = GemmShape::packed(64, 1, 64).expect("small");
    assert_eq!(
        plan(&column, DType::F16, &device, &policy).map(|plan| plan.kernel().tile.n),
        Ok(64)
    );
    let no_square = of(lessons::CP_ASYNC.family, DType::F32, 128).expect_err("it has 256 x 128");
    assert!(no_square.to_string().ends_with("leave the width open"), "{no_square}");
}

#[test]
fn rows_that_are_too_far_apart_are_copied_and_it_is_said() {
    let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
    let far = Kernel::MAX_LD + 1;
    for transpose in [
        [Transpose::No; 2],
        [Transpose::No, Transpose::Yes],
        [Transpose::Yes, Transpose::No],
    ] {
        let shape = GemmShape::with_transposes(300, 300, 300, transpose, [far, 300, 300]).expect("fits the index type");
        let policy = |family| Policy {
            family: Some(family),
            ..Policy::default()
        };
        let copied = plan(&shape, DType::F32, &device, &policy(Family::SIMT)).expect("A is copied");
        let reason = format!(
            "A is padded first: its rows of 300 are {far} elements apart, simt takes at most {}",
            far - 1
        );
        assert!(
            copied.reasons().iter().any(|said| said.starts_with(&reason)),
            "{:?}",
            copied.reasons()
        );
        // Tensor maps count further, but not between multiples of 16 bytes.
        let odd =
            GemmShape::with_transposes(300, 300, 300, transpose, [far + 1, 304, 300]).expect("fits the index type");
        let padded = plan(&odd, DType::F16, &device, &policy(Family::WGMMA)).expect("A is padded");
        let says = |said: &String| said.starts_with("A is padded") && said.contains("wgmma takes multiples of 8;");
        assert!(padded.reasons().iter().any(says), "{:?}", padded.reasons());
        let refused = plan(&shape, DType::F64, &device, &policy(Family::MMA_F64)).expect_err("no copies of f64");
        let refused = refused.to_string();
        assert!(
            refused.ends_with(&format!("with leading dimensions up to {}", far - 1)),
            "{refused}"
        );
    }
}
