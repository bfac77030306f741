//! The twins that spill registers: the same results to the bit, right ones, and the resources that the driver gives
//! them.

use tilewright::launch::Gpu;
use tilewright::plan::{KernelUsage, twin_sheet, usage as recorded_usage};
use tilewright::spilling::{Family, Spills, TWINS, Twin, Twins, inverse8};
use tilewright::{DType, Element, Error, GemmShape, Operand, check, random};
use tilewright_contract::Inverse8;

use crate::Outcome;
use crate::kernels::small;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("spilling::refuses_bad_launches", refuses_bad_launches)];
    trials.extend(TWINS.iter().flat_map(|twin| {
        [
            Trial::test(format!("kernels::{}", twin.symbol), move || {
                is_right_and_equal_to_the_bit(twin)
            }),
            Trial::test(format!("spilling::usage::{}", twin.symbol), move || {
                spills_where_it_should(twin)
            }),
        ]
    }));
    trials
}

/// The twin's results against the reference, and to the bit against those of the first twin of its family.
fn is_right_and_equal_to_the_bit(twin: &'static Twin) -> Outcome {
    match (twin.family, twin.dtype) {
        (Family::RegisterTile, _) => products(twin),
        (Family::Inverse8, DType::F64) => inverses::<f64>(twin),
        (Family::Inverse8, _) => inverses::<f32>(twin),
    }
}

/// The first twin of a family, and this one where it is another.
fn pair(twin: &'static Twin) -> impl Iterator<Item = &'static Twin> {
    let first = of(twin.family, twin.dtype).next();
    let other = Some(twin).filter(|twin| first.is_some_and(|first| first.symbol != twin.symbol));
    first.into_iter().chain(other)
}

fn of(family: Family, dtype: DType) -> impl Iterator<Item = &'static Twin> {
    TWINS
        .iter()
        .filter(move |twin| (twin.family, twin.dtype) == (family, dtype))
}

/// The first element whose bits differ; an element that no kernel wrote is NaN and differs from no other that was not
/// written, but then the check of the first result fails.
fn difference<T: Element>(symbol: &str, of: &[T], first: &[T]) -> Outcome {
    let differs = |(a, b): (&T, &T)| a.to_f64().to_bits() != b.to_f64().to_bits();
    match of.iter().zip(first).position(differs) {
        Some(i) => Err(format!("{symbol}: element {i} is {}, the first twin's {}", of[i], first[i]).into()),
        None => Ok(()),
    }
}

fn products(twin: &'static Twin) -> Outcome {
    let gpu = Gpu::open(0)?;
    let twins = Twins::load(&gpu)?;
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
        let shape = GemmShape::with_ld(m, n, k, k + padding, n + padding, n + 2 * padding)?;
        let a: Vec<f32> = random::random_matrix(1, shape.span_elems(Operand::A));
        let b: Vec<f32> = random::random_matrix(2, shape.span_elems(Operand::B));
        let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
        let mut first: Option<Vec<f32>> = None;
        for twin in pair(twin) {
            let mut c = vec![f32::NAN; shape.span_elems(Operand::C)];
            let mut on_c = gpu.upload(&c)?;
            twins.multiply(twin, &shape, &on_a, &on_b, &mut on_c)?;
            gpu.synchronize()?;
            on_c.download(&mut c)?;
            match &first {
                Some(first) => difference(twin.symbol, &c, first)?,
                None => {
                    check::full(&shape, &a, &b, &c)?.into_result()?;
                    first = Some(c);
                }
            }
        }
    }
    Ok(())
}

fn inverses<T: Element>(twin: &'static Twin) -> Outcome {
    let gpu = Gpu::open(0)?;
    let twins = Twins::load(&gpu)?;
    let counts = [1, 31, 127, 129, 1000, 100_003];
    for count in counts.into_iter().filter(|&count| count < 500 || !small()) {
        let matrices = inverse8::dominant::<T>(count.into(), count);
        let from = gpu.upload(&matrices)?;
        let mut first: Option<Vec<T>> = None;
        for twin in pair(twin) {
            // A matrix more than there are: none of its elements may be written.
            let mut inverses = vec![T::from_f64(f64::NAN); Inverse8::elems(count + 1)];
            let mut to = gpu.upload(&inverses)?;
            // Fewer threads than the launch bounds are a launch, too.
            for threads in [twin.threads, 32] {
                twins.invert(twin, threads, count, &from, &mut to)?;
            }
            gpu.synchronize()?;
            to.download(&mut inverses)?;
            let (inverses, behind) = inverses.split_at(Inverse8::elems(count));
            if behind.iter().any(|element| !element.to_f64().is_nan()) {
                return Err(format!("{}: wrote behind {count} matrices", twin.symbol).into());
            }
            match &first {
                Some(first) => difference(twin.symbol, inverses, first)?,
                None => {
                    inverse8::check(count, &matrices, inverses)?.into_result()?;
                    first = Some(inverses.to_vec());
                }
            }
        }
    }
    Ok(())
}

fn refuses_bad_launches() -> Outcome {
    let gpu = Gpu::open(0)?;
    let twins = Twins::load(&gpu)?;
    let twin = |spills| of(Family::Inverse8, DType::F32).find(|twin| twin.spills == spills);
    let (Some(bounded), Some(unbounded)) = (twin(Spills::Shared), twin(Spills::Unbounded)) else {
        return Err("the table has both".into());
    };
    let from = gpu.upload(&inverse8::dominant::<f32>(1, 10))?;
    let mut to = gpu.uninitialized(Inverse8::elems(10))?;
    for (twin, threads, count) in [
        (bounded, bounded.threads + 1, 10),
        (bounded, 0, 10),
        (unbounded, 1025, 10),
        (bounded, 32, 11),
    ] {
        match twins.invert(twin, threads, count, &from, &mut to) {
            Err(Error::InvalidArgument(_)) => {}
            other => return Err(format!("{threads} threads, {count} matrices: {other:?}").into()),
        }
    }
    twins.invert(unbounded, 1024, 10, &from, &mut to)?;
    gpu.synchronize()?;
    Ok(())
}

fn spills_where_it_should(twin: &'static Twin) -> Outcome {
    let gpu = Gpu::open(0)?;
    let twins = Twins::load(&gpu)?;
    let usage = twins.usage(twin)?;
    let own = twin.static_bytes().get();
    let architecture = gpu.profile().architecture().ok_or("an architecture of the table")?;
    let mut wrong = Vec::new();
    // What the driver's compiler made, laid out by the planner: as many blocks as the driver says.
    let used = KernelUsage {
        registers: usage.registers,
        static_bytes: usage.static_smem_bytes,
        ..recorded_usage(twin.symbol, &architecture).ok_or("no line in the planner's table")?
    };
    let sheet = twin_sheet(twin, used, &architecture).map_err(|error| error.to_string())?;
    let blocks = twins.blocks_per_multiprocessor(twin)?;
    if sheet.occupancy.blocks_per_sm != blocks {
        wrong.push(format!(
            "{} blocks a multiprocessor by the planner, {blocks} by the driver",
            sheet.occupancy.blocks_per_sm
        ));
    }
    // On the one architecture and CUDA version where both compilers were compared they agreed on every twin.
    let driver = gpu
        .profile()
        .installed
        .as_ref()
        .map(|installed| installed.driver.as_str());
    if (architecture.name, driver) == ("sm_90", Some("13.0")) {
        let recorded = recorded_usage(twin.symbol, &architecture).ok_or("no line in the record")?;
        if used != recorded {
            wrong.push(format!("{recorded:?} on record"));
        }
    }
    if twin.max_registers.is_some_and(|most| usage.registers > most) {
        wrong.push("more registers than its cap".to_owned());
    }
    match twin.spills {
        Spills::Kept | Spills::Local => {
            if usage.static_smem_bytes != own {
                wrong.push(format!("static bytes are not {own}"));
            }
            if (usage.local_bytes > 0) != (twin.spills == Spills::Local) {
                wrong.push("local memory".to_owned());
            }
        }
        Spills::Shared | Spills::Unbounded => {
            let assumed = || cuda_arch::assumed_threads(&architecture, twin.max_registers);
            let threads = twin.max_threads().unwrap_or_else(assumed);
            let most = cuda_arch::static_bytes_with_spills(&architecture, threads, own);
            if !(own + 1..=most).contains(&usage.static_smem_bytes) {
                wrong.push(format!("static bytes are not more than {own} and at most {most}"));
            }
            let local = twin.sibling(Spills::Local).ok_or("the table has it")?;
            if usage.local_bytes >= twins.usage(local)?.local_bytes {
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
