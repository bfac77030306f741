//! The register-budget variants of `examples/smem-spilling`: the same results to the bit, right ones, and the resources
//! that the driver gives them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use cust::memory::{CopyDestination, DeviceBuffer};
use smem_spilling::gpu::Gpu;
use smem_spilling::kernels::inverse8::elems;
use smem_spilling::kernels::{Problem, Spills, VARIANTS, Variant};
use smem_spilling::record::{self, Recorded};
use smem_spilling::scalar::{Real, first_difference, uniform};
use smem_spilling::{Error, PTX, inverse, product};
use tilewright_harness::digest;

use crate::Outcome;
use crate::kernels::small;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("spilling::refuses_bad_launches", refuses_bad_launches)];
    trials.extend(VARIANTS.iter().flat_map(|variant| {
        [
            Trial::test(format!("kernels::{}", variant.symbol), move || {
                is_right_and_equal_to_the_bit(variant)
            }),
            Trial::test(format!("spilling::usage::{}", variant.symbol), move || {
                spills_where_it_should(variant)
            }),
        ]
    }));
    trials
}

/// The digest of a variant; `None` for a kernel that is none.
pub fn digest(symbol: &str) -> Option<String> {
    static DIGESTS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| digest::digests(PTX));
    DIGESTS.get(symbol).cloned()
}

/// The variant's results against the reference, and to the bit against those of the first variant of its problem.
fn is_right_and_equal_to_the_bit(variant: &'static Variant) -> Outcome {
    match variant.problem {
        Problem::RegisterTile => products(variant),
        Problem::Inverse8F32 => inverses::<f32>(variant),
        Problem::Inverse8F64 => inverses::<f64>(variant),
    }
}

/// The first variant of a problem, and this one where it is another.
fn pair(variant: &'static Variant) -> impl Iterator<Item = &'static Variant> {
    let first = variant.problem.variants().take(1);
    first.chain(Some(variant).filter(|variant| variant.spills != Spills::Kept))
}

/// Checks a result against the CPU, or where there is one against the first.
fn compare<T: Real>(
    symbol: &str,
    result: Vec<T>,
    first: &mut Option<Vec<T>>,
    check: impl FnOnce(&[T]) -> smem_spilling::Result<f64>,
) -> Outcome {
    match first {
        Some(first) => match first_difference(&result, first) {
            Some(at) => Err(format!("{symbol}: element {at} is {}, the first's {}", result[at], first[at]).into()),
            None => Ok(()),
        },
        None => {
            check(&result)?;
            *first = Some(result);
            Ok(())
        }
    }
}

fn products(variant: &'static Variant) -> Outcome {
    let gpu = Gpu::open()?;
    for (m, n, k, padding) in [
        (1, 1, 1, 0),
        (128, 128, 8, 0),
        (130, 127, 33, 5),
        (257, 300, 70, 3),
        (1000, 513, 1027, 1),
    ]
    .into_iter()
    .filter(|&(m, ..)| m < 500 || !small())
    {
        let extents = product::extents(m, n, k, padding);
        let [of_a, of_b, of_c] = extents.span_elems();
        let (a, b): (Vec<f32>, Vec<f32>) = (uniform(1, of_a), uniform(2, of_b));
        let (on_a, on_b) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
        let mut first = None;
        for variant in pair(variant) {
            let mut c = vec![f32::NAN; of_c];
            let mut on_c = DeviceBuffer::from_slice(&c)?;
            gpu.multiply(variant, &extents, [&on_a, &on_b], &mut on_c)?;
            gpu.synchronize()?;
            on_c.copy_to(&mut c)?;
            compare(variant.symbol, c, &mut first, |c| product::check(&extents, &a, &b, c))?;
        }
    }
    Ok(())
}

fn inverses<T: Real>(variant: &'static Variant) -> Outcome {
    let gpu = Gpu::open()?;
    let counts = [1, 31, 127, 129, 1000, 100_003];
    for count in counts.into_iter().filter(|&count| count < 500 || !small()) {
        let matrices = inverse::dominant::<T>(count.into(), count);
        let from = DeviceBuffer::from_slice(&matrices)?;
        let mut first = None;
        for variant in pair(variant) {
            // A matrix more than there are: none of its elements may be written.
            let mut inverses = vec![T::nearest(f64::NAN); elems(count + 1)];
            let mut to = DeviceBuffer::from_slice(&inverses)?;
            // Fewer threads than the launch bounds are a launch, too.
            for threads in [variant.threads, 32] {
                gpu.invert(variant, threads, count, &from, &mut to)?;
            }
            gpu.synchronize()?;
            to.copy_to(&mut inverses)?;
            let after = inverses.split_off(elems(count));
            if after.into_iter().any(|element| !Into::<f64>::into(element).is_nan()) {
                return Err(format!("{}: wrote after {count} matrices", variant.symbol).into());
            }
            compare(variant.symbol, inverses, &mut first, |to| {
                inverse::check(count, &matrices, to)
            })?;
        }
    }
    Ok(())
}

fn refuses_bad_launches() -> Outcome {
    let gpu = Gpu::open()?;
    let variant = |spills| Problem::Inverse8F32.variants().find(|variant| variant.spills == spills);
    let (Some(bounded), Some(unbounded)) = (variant(Spills::Shared), variant(Spills::Unbounded)) else {
        return Err("the table has both".into());
    };
    let from = DeviceBuffer::from_slice(&inverse::dominant::<f32>(1, 10))?;
    let mut to = DeviceBuffer::from_slice(&vec![0.0_f32; elems(10)])?;
    for (variant, threads, count) in [
        (bounded, bounded.threads + 1, 10),
        (bounded, 0, 10),
        (unbounded, 1025, 10),
        (bounded, 32, 11),
    ] {
        match gpu.invert(variant, threads, count, &from, &mut to) {
            Err(Error::InvalidArgument(_)) => {}
            other => return Err(format!("{threads} threads, {count} matrices: {other:?}").into()),
        }
    }
    gpu.invert(unbounded, 1024, 10, &from, &mut to)?;
    gpu.synchronize()?;
    Ok(())
}

fn spills_where_it_should(variant: &'static Variant) -> Outcome {
    let gpu = Gpu::open()?;
    let architecture = gpu.architecture.ok_or("an architecture of the table")?;
    let recorded = record::of(variant, architecture).ok_or("no line in the record")?;
    let usage = gpu.resources(variant)?;
    let own = variant.problem.own_shared_bytes();
    let mut wrong = Vec::new();
    // What the driver's compiler made, laid out by the planner: as many CTAs as the driver says.
    let used = Recorded {
        registers: usage.registers,
        static_bytes: usage.static_bytes,
        ..recorded
    };
    let resident_ctas = record::resident_ctas(variant, &used, architecture);
    if resident_ctas != usage.resident_ctas {
        wrong.push(format!("{resident_ctas} resident CTAs by the planner"));
    }
    // On the one architecture and CUDA version where both compilers were compared they agreed on every variant.
    if (architecture.name, &gpu.driver[..]) == ("sm_90", "13.0") && used != recorded {
        wrong.push(format!("{recorded:?} on record"));
    }
    if variant.max_registers().is_some_and(|most| usage.registers > most) {
        wrong.push("more registers than its cap".to_owned());
    }
    match variant.spills {
        Spills::Kept | Spills::Local => {
            if usage.static_bytes != own {
                wrong.push(format!("static bytes are not {own}"));
            }
            if (usage.local_bytes > 0) != (variant.spills == Spills::Local) {
                wrong.push("local memory".to_owned());
            }
        }
        Spills::Shared | Spills::Unbounded => {
            let assumed = || cuda_arch::assumed_threads(architecture, variant.max_registers());
            let threads = variant.max_threads().unwrap_or_else(assumed);
            let most = cuda_arch::static_bytes_with_spills(architecture, threads, own);
            if !(own + 1..=most).contains(&usage.static_bytes) {
                wrong.push(format!("static bytes are not more than {own} and at most {most}"));
            }
            let local = variant.sibling(Spills::Local).ok_or("the table has it")?;
            if usage.local_bytes >= gpu.resources(local)?.local_bytes {
                wrong.push("as much local memory as without the pragma".to_owned());
            }
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{usage:?}: {}", wrong.join(", ")).into())
    }
}
