//! The op against candle's own product.

use candle_core::{DType, Device, Error, Result, Tensor};
use tilewright::{Backend, Transpose, random::random_matrix};
use tilewright_candle::{Matrices, Tilewright, difference};

/// A random tensor of the CPU.
fn random(seed: u64, dims: &[usize], dtype: DType) -> Result<Tensor> {
    let elements = random_matrix::<f32>(seed, dims.iter().product());
    Tensor::from_vec(elements, dims, &Device::Cpu)?.to_dtype(dtype)
}

/// Compares a product with candle's.
fn check(a: &Tensor, b: &Tensor, tolerance: f64) -> Result<()> {
    let ours = Tilewright::new(Backend::Cpu).matmul("checked", a, b)?;
    let candles = a.contiguous()?.matmul(&b.contiguous()?)?;
    assert_eq!(ours.dims(), candles.dims());
    assert_eq!(ours.dtype(), candles.dtype());
    let difference = difference(&ours, &candles)?;
    assert!(
        difference <= tolerance,
        "{:?} times {:?}: {difference:e}",
        a.layout(),
        b.layout()
    );
    Ok(())
}

/// What one rounding of a result may make of it.
const TYPES: [(DType, f64); 4] = [
    (DType::F32, 1e-6),
    (DType::F64, 1e-14),
    (DType::F16, 1e-3),
    (DType::BF16, 8e-3),
];

#[test]
fn products_of_every_type_are_candles() -> Result<()> {
    for (dtype, tolerance) in TYPES {
        check(&random(1, &[33, 70], dtype)?, &random(2, &[70, 17], dtype)?, tolerance)?;
        check(
            &random(3, &[3, 9, 40], dtype)?,
            &random(4, &[3, 40, 11], dtype)?,
            tolerance,
        )?;
        check(&random(5, &[1, 40], dtype)?, &random(6, &[40, 1], dtype)?, tolerance)?;
    }
    Ok(())
}

#[test]
fn products_of_views_are_candles() -> Result<()> {
    for (dtype, tolerance) in TYPES {
        let wide = random(1, &[2, 24, 30], dtype)?;
        let part = wide.narrow(2, 7, 12)?.narrow(1, 3, 12)?;
        let b = random(2, &[2, 12, 12], dtype)?;
        check(&part, &b, tolerance)?;
        check(&part.transpose(1, 2)?, &b.transpose(1, 2)?, tolerance)?;
        check(&b, &part.transpose(0, 1)?.contiguous()?.transpose(0, 1)?, tolerance)?;
        // One matrix for the whole batch, and one row or column for a whole matrix.
        check(&part, &random(3, &[12, 5], dtype)?.broadcast_as((2, 12, 5))?, tolerance)?;
        check(&part, &random(4, &[1, 5], dtype)?.broadcast_as((2, 12, 5))?, tolerance)?;
        check(&random(5, &[6, 1], dtype)?.broadcast_as((2, 6, 12))?, &b, tolerance)?;
    }
    Ok(())
}

#[test]
fn rows_and_columns_that_are_contiguous_stay_where_they_are() -> Result<()> {
    let wide = random(1, &[2, 24, 30], DType::F32)?;
    let found = |tensor: &Tensor| Matrices::of(tensor.layout());
    let part = wide.narrow(2, 7, 12)?.narrow(1, 3, 5)?;
    let (ld, offsets) = (30, vec![3 * 30 + 7, 27 * 30 + 7]);
    let expected = |transpose| {
        Some(Matrices {
            transpose,
            ld,
            offsets: offsets.clone(),
        })
    };
    assert_eq!(found(&part), expected(Transpose::No));
    assert_eq!(found(&part.transpose(1, 2)?), expected(Transpose::Yes));

    // Neither rows nor columns; rows that are all the same; no matrix.
    assert_eq!(found(&wide.transpose(0, 2)?), None);
    assert_eq!(found(&random(2, &[1, 5], DType::F32)?.broadcast_as((4, 5))?), None);
    assert_eq!(found(&random(3, &[5], DType::F32)?), None);

    // The strides of a single row or column mean nothing.
    let column = wide.narrow(2, 29, 1)?.narrow(0, 1, 1)?;
    let at = 24 * 30 + 29;
    assert_eq!(
        found(&column),
        Some(Matrices {
            transpose: Transpose::No,
            ld: 30,
            offsets: vec![at]
        })
    );
    let row = column.transpose(1, 2)?;
    assert_eq!(
        found(&row),
        Some(Matrices {
            transpose: Transpose::Yes,
            ld: 30,
            offsets: vec![at]
        })
    );
    Ok(())
}

#[test]
fn what_does_not_go_together_is_candles_error() -> Result<()> {
    let tilewright = Tilewright::new(Backend::Cpu);
    let error = |a: &Tensor, b: &Tensor| match tilewright.matmul("wrong", a, b) {
        Err(Error::WithBacktrace { inner, .. }) => *inner,
        Err(error) => error,
        Ok(c) => panic!("a product of {:?}", c.dims()),
    };
    let f32 = |dims: &[usize]| random(1, dims, DType::F32);
    for (a, b) in [
        (f32(&[4, 5])?, f32(&[4, 5])?),
        (f32(&[2, 4, 5])?, f32(&[3, 5, 4])?),
        (f32(&[2, 4, 5])?, f32(&[5, 4])?),
        (f32(&[5])?, f32(&[5, 4])?),
        (f32(&[4, 5])?, f32(&[5])?),
        (f32(&[])?, f32(&[])?),
    ] {
        let error = error(&a, &b);
        assert!(
            matches!(error, Error::ShapeMismatchBinaryOp { op: "tilewright", .. }),
            "{error}"
        );
    }
    let mixed = error(&f32(&[4, 5])?, &random(2, &[5, 4], DType::F16)?);
    assert!(
        matches!(mixed, Error::DTypeMismatchBinaryOp { op: "tilewright", .. }),
        "{mixed}"
    );
    let integers = Tensor::zeros((4, 4), DType::U32, &Device::Cpu)?;
    let error = error(&integers, &integers);
    assert!(
        matches!(error, Error::UnsupportedDTypeForOp(DType::U32, "tilewright")),
        "{error}"
    );
    assert_eq!(tilewright.take_computed(), []);
    Ok(())
}

#[test]
fn products_of_no_elements_are_empty_or_zero() -> Result<()> {
    let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Device::Cpu);
    for dims in [[2, 0, 3, 4], [2, 3, 0, 4], [2, 3, 4, 0], [0, 3, 4, 5]] {
        let [batch, m, k, n] = dims;
        let c = Tilewright::new(Backend::Cpu).matmul("empty", &zeros(&[batch, m, k])?, &zeros(&[batch, k, n])?)?;
        assert_eq!(c.dims(), [batch, m, n]);
        assert!(c.flatten_all()?.to_vec1::<f32>()?.iter().all(|&element| element == 0.0));
    }
    Ok(())
}

#[test]
fn the_kernels_of_the_gpu_compute_the_same_in_the_simulator() -> Result<()> {
    let tilewright = Tilewright::new(Backend::Sim);
    let (a, b) = (
        random(1, &[2, 16, 24], DType::F16)?,
        random(2, &[2, 8, 24], DType::F16)?,
    );
    let ours = tilewright.matmul("simulated", &a, &b.t()?)?;
    assert!(difference(&ours, &a.matmul(&b.t()?)?)? <= 1e-3);
    let computed = tilewright.take_computed();
    let [product] = &computed[..] else {
        panic!("{computed:?}")
    };
    assert_eq!((product.name, product.batch), ("simulated", 2));
    assert_ne!(product.kernel, "cpu_tiled");
    assert!(product.device.contains("simulator"), "{}", product.device);
    Ok(())
}
