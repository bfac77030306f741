//! The library's own way to the device.

use libtest_mimic::Failed;
use tilewright::dispatch::{Policy, plan};
use tilewright::launch::Gpu;
use tilewright::{
    Backend, DType, Error, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Options, Verify, check, product, random,
};

use crate::Outcome;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("library::matmul_in_one_call", matmul_in_one_call),
        Trial::test("library::large_products", large_products),
        Trial::test("library::opens_and_closes_again", opens_and_closes_again),
        Trial::test("library::profile_is_consistent", profile_is_consistent),
        Trial::test("library::refuses_bad_launches", refuses_bad_launches),
        Trial::test(
            "library::launches_a_kernel_from_outside",
            launches_a_kernel_from_outside,
        ),
        Trial::test("library::out_of_memory_is_an_error", out_of_memory_is_an_error),
    ]
}

fn matmul_in_one_call() -> Outcome {
    let shape = GemmShape::with_ld(130, 70, 33, 40, 71, 96)?;
    let a: Vec<f32> = random::random_matrix(1, shape.span_elems(Operand::A));
    let b: Vec<f32> = random::random_matrix(2, shape.span_elems(Operand::B));
    let gpu = Gpu::open(0)?;
    let of_shape = |kernel: &&Kernel| kernel.dtype == DType::F32 && kernel.accepts(&shape);
    let computes = |family: &Family| {
        family.target().runs_on(gpu.profile().compute_capability)
            && KERNELS.iter().filter(of_shape).any(|kernel| kernel.family == *family)
    };
    for family in Family::ALL.into_iter().filter(computes).map(Some).chain([None]) {
        let policy = Policy {
            family,
            ..Policy::default()
        };
        let options = Options {
            backend: Backend::Gpu,
            policy,
            verify: Verify::Full,
            ..Options::default()
        };
        let report = product(&Gemm::new(shape), &a, &b, None::<&[f32]>, &options)?.report;
        if report.backend != Backend::Gpu || report.kernel_ms <= 0.0 || report.verified != Verify::Full {
            return Err(format!("{report:?}").into());
        }
    }
    Ok(())
}

/// The family of `tests/subjects/own_kernel`, which is in no table.
fn launches_a_kernel_from_outside() -> Outcome {
    const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/own_kernel.ptx"));
    for kernel in own_kernel::KERNELS {
        let mut gpu = Gpu::open(0)?;
        let shape = GemmShape::packed(70, 50, 30)?;
        let policy = Policy {
            kernel: Some(kernel),
            ..Policy::default()
        };
        let plan = plan(&shape, DType::F64, gpu.profile(), &policy)?;
        if gpu.usage(plan.kernel()).is_ok() {
            return Err("found before it was added".into());
        }
        // SAFETY: the descriptors are those of the module, and right for every shape that they accept.
        unsafe { gpu.add_module(PTX)? };
        let a: Vec<f64> = random::random_matrix(1, shape.span_elems(Operand::A));
        let b: Vec<f64> = random::random_matrix(2, shape.span_elems(Operand::B));
        let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
        let mut on_c = gpu.upload(&[f64::NAN; 70 * 50])?;
        gpu.launch(&plan, &Gemm::new(shape), &on_a, &on_b, &mut on_c)?;
        let mut c = vec![0.0; 70 * 50];
        on_c.download(&mut c)?;
        check::full(&shape, &a, &b, &c)?.into_result()?;
    }
    Ok(())
}

/// Shapes beyond the table: many blocks, no extent a multiple of a tile, and 128 KiB of shared memory.
fn large_products() -> Outcome {
    let shape = GemmShape::packed(2047, 1999, 2003)?;
    let a: Vec<f32> = random::random_matrix(3, shape.span_elems(Operand::A));
    let b: Vec<f32> = random::random_matrix(4, shape.span_elems(Operand::B));
    let policies = [
        (Family::TILED_STATIC, 16),
        (Family::TILED_STATIC, 32),
        (Family::TILED_DYNAMIC, 32),
        (Family::TILED_DYNAMIC, 64),
        (Family::TILED_DYNAMIC, 112),
        (Family::TILED_DYNAMIC, 128),
        (Family::REGISTER_TILE, 128),
        (Family::SIMT, 64),
    ];
    for (family, tile) in policies {
        let policy = Policy {
            family: Some(family),
            tile: Some(tile),
            ..Policy::default()
        };
        let options = Options {
            backend: Backend::Gpu,
            policy,
            verify: Verify::Sample,
            ..Options::default()
        };
        product(&Gemm::new(shape), &a, &b, None::<&[f32]>, &options)
            .map_err(|error| Failed::from(format!("{family}, tile {tile}: {error}")))?;
    }
    Ok(())
}

fn opens_and_closes_again() -> Outcome {
    for _ in 0..3 {
        let gpu = Gpu::open(0)?;
        let matrix = gpu.upload(&[1.0_f32, 2.0])?;
        let mut back = [0.0; 2];
        matrix.download(&mut back)?;
        if back != [1.0, 2.0] {
            return Err(format!("{back:?}").into());
        }
    }
    match Gpu::open(1000) {
        Err(Error::Unavailable(_)) => Ok(()),
        Err(error) => Err(format!("device 1000: {error}").into()),
        Ok(_) => Err(Failed::from("device 1000 exists")),
    }
}

fn profile_is_consistent() -> Outcome {
    let gpu = Gpu::open(0)?;
    let profile = gpu.profile();
    let sum = profile.smem_per_block_optin + profile.smem_reserved_per_block;
    if profile.smem_per_block != 49_152 || profile.smem_per_sm != sum {
        return Err(format!("{profile:?}").into());
    }
    Ok(())
}

fn refuses_bad_launches() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = GemmShape::packed(8, 8, 8)?;
    let plan = plan(&shape, DType::F32, gpu.profile(), &Policy::default())?;
    let (full, short) = (vec![0.0_f32; 64], vec![0.0_f32; 63]);
    let (a, b) = (gpu.upload(&full)?, gpu.upload(&full)?);
    let mut c = gpu.upload(&short)?;
    if !matches!(
        gpu.launch(&plan, &Gemm::new(plan.shape()), &a, &b, &mut c),
        Err(Error::InvalidArgument(_))
    ) {
        return Err(Failed::from("a C that is one element short was accepted"));
    }
    let wide = vec![0.0_f64; 64];
    let (a, b, mut c) = (gpu.upload(&wide)?, gpu.upload(&wide)?, gpu.upload(&wide)?);
    if !matches!(
        gpu.launch(&plan, &Gemm::new(plan.shape()), &a, &b, &mut c),
        Err(Error::InvalidArgument(_))
    ) {
        return Err(Failed::from("f64 operands were accepted by an f32 plan"));
    }
    Ok(())
}

fn out_of_memory_is_an_error() -> Outcome {
    let gpu = Gpu::open(0)?;
    let installed = gpu
        .profile()
        .installed
        .as_ref()
        .ok_or("the profile is not this device's")?;
    let elements = usize::try_from(installed.memory_bytes)? / 4 + 1;
    match gpu.uninitialized::<f32>(elements) {
        Err(Error::Driver { .. }) => Ok(()),
        Err(error) => Err(format!("{error}").into()),
        Ok(_) => Err(Failed::from("more memory than the device has")),
    }
}
