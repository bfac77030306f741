//! Of kernels: names, shapes that they take, copies of operands.

use super::*;

#[test]
fn symbols_are_unique_and_end_in_their_element_type() {
    for (i, kernel) in KERNELS.iter().enumerate() {
        assert!(kernel.symbol.starts_with(kernel.family.name()), "{}", kernel.symbol);
        // A lesson is of one type.
        let is_lesson = kernel.symbol == kernel.family.name();
        assert!(
            is_lesson || kernel.symbol.ends_with(kernel.dtype.name()),
            "{}",
            kernel.symbol
        );
        assert!(KERNELS[..i].iter().all(|other| other.symbol != kernel.symbol));
        assert_eq!(Kernel::named(kernel.symbol), Some(kernel));
    }
}

#[test]
fn every_kernel_accepts_its_small_shape() {
    for kernel in &KERNELS {
        assert!(kernel.accepts(&kernel.small_shape()), "{}", kernel.symbol);
    }
}

#[test]
fn rows_too_far_apart_for_32_bits_are_taken_as_copies() {
    // Of a tile of 64 rows the last begins at element 63 * 2^27, more than 2^32.
    let far = 1 << 27;
    for transpose in LAYOUTS {
        let shape = |ld| GemmShape::with_transposes(64, 64, 64, transpose, [ld, 64, 64]).expect("fits the index type");
        for kernel in KERNELS
            .iter()
            .filter(|kernel| kernel.family == Family::SIMT && !kernel.supports.groups)
        {
            assert!(!kernel.accepts(&shape(Kernel::MAX_LD + 1)), "{}", kernel.symbol);
            let near = kernel.taken(&shape(64));
            assert_eq!(
                kernel.taken(&shape(far)).map(|taken| taken.extents(Operand::A).2),
                near.map(|_| 64)
            );
        }
        // Of 8 bytes no operand is copied; by tensor maps none has to be.
        let takes = |family, dtype| {
            let of = KERNELS
                .iter()
                .filter(|kernel| kernel.family == family && kernel.dtype == dtype);
            of.filter(|kernel| kernel.taken(&shape(far)).is_some()).count()
        };
        assert_eq!(takes(Family::MMA_F64, DType::F64), 0);
        assert!(takes(Family::WGMMA, DType::F16) > 0, "{transpose:?}");
    }
}

const LAYOUTS: [[Transpose; 2]; 4] = [
    [Transpose::No, Transpose::No],
    [Transpose::No, Transpose::Yes],
    [Transpose::Yes, Transpose::No],
    [Transpose::Yes, Transpose::Yes],
];

/// Rows of 70, 60 or 50 elements: of 70 and 50 the last vector of 4 is not whole.
const UNEVEN: [usize; 3] = [70, 60, 50];

#[test]
fn unaligned_operands_are_taken_as_padded_copies() {
    let [m, n, k] = UNEVEN;
    let pads = |kernel: &&Kernel| !kernel.supports.groups && !kernel.splits_operands() && !kernel.takes_vector();
    for kernel in KERNELS.iter().filter(pads) {
        let packed = GemmShape::packed_transposed(m, n, k, kernel.transposes()).expect("valid");
        let bytes = kernel.dtype.size_bytes();
        for lds in [[77, 80], [80, 77], [77, 77], [80, 80]] {
            let shape = packed.with_operand_lds(lds).expect("valid");
            let ld = |operand| match kernel.alignment.fits(&shape, operand) {
                true => shape.extents(operand).2,
                false => padded_ld(shape.extents(operand).1, bytes),
            };
            let copied = || packed.with_operand_lds([Operand::A, Operand::B].map(ld)).ok();
            let expected = match kernel.accepts(&shape) {
                true => Some(shape),
                false => matches!(bytes, 2 | 4).then(copied).flatten(),
            };
            assert_eq!(kernel.taken(&shape), expected, "{} {lds:?}", kernel.symbol);
            if let Some(expected) = expected {
                let is_copied = kernel.copies(&shape).map(|copy| copy.is_some());
                let differs = [Operand::A, Operand::B].map(|of| expected.extents(of) != shape.extents(of));
                assert_eq!(is_copied, differs, "{} {lds:?}", kernel.symbol);
            }
        }
    }
}

#[test]
fn rows_that_end_within_a_vector_are_copied_even_where_they_are_padded() {
    let kernel = Kernel::named("simt_nn4_128x64_f32").expect("in the table");
    let taken = |n, ldb, k| {
        let shape = GemmShape::with_ld(9, n, k, k, ldb, n).expect("valid");
        let b = kernel.copies(&shape)[1];
        let taken = kernel.taken(&shape)?;
        Some((
            taken.extents(Operand::B).2,
            b.map(|copy| (copy.rows.columns, copy.rows.to_ld)),
        ))
    };
    // As elements of 2 bytes there are twice as many.
    assert_eq!(taken(70, 72, 5), Some((96, Some((140, 192)))));
    // The same distance as a copy's, and after the last row there may be nothing.
    assert_eq!(taken(70, 96, 5), Some((100, Some((140, 200)))));
    assert_eq!(taken(72, 96, 5), Some((96, None)));
    // One row is not copied, and it would be read past its end.
    assert_eq!((taken(70, 70, 1), taken(72, 73, 1)), (None, Some((96, None))));
}

#[test]
fn operands_of_the_other_major_are_transposed_where_a_kernel_says_so() {
    let [m, n, k] = UNEVEN;
    let transposing = KERNELS.iter().filter(|kernel| kernel.may_transpose != [false; 2]);
    assert!(transposing.clone().count() > 8);
    for kernel in transposing {
        for transpose in LAYOUTS
            .into_iter()
            .filter(|&transpose| transpose != kernel.transposes())
        {
            let shape = GemmShape::packed_transposed(m, n, k, transpose).expect("valid");
            let differs = [0, 1].map(|of| kernel.transposes()[of] != transpose[of]);
            let may = (0..2).all(|of| !differs[of] || kernel.may_transpose[of]);
            let taken = kernel.taken(&shape);
            assert_eq!(taken.is_some(), may, "{} {transpose:?}", kernel.symbol);
            let Some(taken) = taken else { continue };
            assert!(taken.transpose(Operand::A) == kernel.transposes()[0] && taken.majors() != shape.majors());
            for (of, operand) in [Operand::A, Operand::B]
                .into_iter()
                .enumerate()
                .filter(|&(of, _)| differs[of])
            {
                let copy = kernel.copies(&shape)[of].expect("transposed");
                let (rows, columns, ld) = taken.extents(operand);
                assert_eq!((copy.kind, ld), (CopyKind::Transpose, padded_ld(columns, 4)));
                assert_eq!((copy.rows.rows as usize, copy.rows.columns as usize), (columns, rows));
                assert_eq!(copy.to_elems(), rows * ld);
                // Every tile of 32 x 32 of the copy, padding included.
                assert_eq!(copy.blocks() as usize, rows.div_ceil(32) * ld.div_ceil(32));
            }
        }
        // A batch of them, with one B for all.
        let other = LAYOUTS
            .into_iter()
            .find(|&transpose| (0..2).all(|of| (transpose[of] != kernel.transposes()[of]) == kernel.may_transpose[of]));
        let shape = GemmShape::packed_transposed(m, n, k, other.expect("one of four")).expect("valid");
        let batch = shape.with_batch(3, [m * k, 0, m * n]).expect("valid");
        let taken = kernel.taken(&batch).expect("taken");
        let [a, b, _] = taken.batch().strides;
        let (rows, _, ld) = taken.extents(Operand::A);
        let is_copied = kernel.copies(&batch)[0].is_some();
        assert_eq!(
            (a as usize, b),
            (if is_copied { rows * ld } else { m * k }, 0),
            "{}",
            kernel.symbol
        );
    }
}

#[test]
fn operands_that_are_split_are_taken_as_parts_whatever_their_rows() {
    let splits = |kernel: &&Kernel| kernel.splits_operands();
    for kernel in KERNELS.iter().filter(splits) {
        let packed = GemmShape::packed_transposed(70, 60, 50, kernel.transposes()).expect("valid");
        let [a, b] = [Operand::A, Operand::B].map(|operand| packed.extents(operand));
        let parts = [padded_ld(a.1, 2), padded_ld(b.1, 2)];
        for lds in [[77, 80], [80, 80]] {
            let shape = packed.with_operand_lds(lds).expect("valid");
            assert_eq!(
                kernel.taken(&shape),
                packed.with_operand_lds(parts).ok(),
                "{}",
                kernel.symbol
            );
            assert!(kernel.copies(&shape).iter().all(Option::is_some));
        }
        // Of a batch with one B for all.
        let batch = packed.with_batch(3, [a.0 * a.2, 0, 70 * 60]).expect("valid");
        let taken = kernel.taken(&batch).expect("taken");
        assert_eq!(taken.batch().strides[..2], [(3 * a.0 * parts[0]) as u64, 0]);
        assert!(kernel.copies(&packed.without_k()).iter().all(Option::is_none));
    }
}

#[test]
fn unaligned_groups_are_taken_with_one_copy_of_a_and_one_of_each_b() {
    let shape = |lds, stride| {
        let shape = GemmShape::packed(70, 60, 50).and_then(|shape| shape.with_groups(3, stride));
        shape.and_then(|shape| shape.with_operand_lds(lds)).expect("valid")
    };
    let of_groups = |kernel: &&Kernel| kernel.supports.groups && kernel.transposes() == [Transpose::No; 2];
    for kernel in KERNELS.iter().filter(of_groups) {
        let taken = kernel.taken(&shape([51, 60], 3001));
        let expected = match kernel.alignment {
            Alignment { residue: true, .. } => Some(shape([56, 64], 50 * 64)),
            Alignment { elems: [1, 1], .. } => Some(shape([51, 60], 3001)),
            // Of f32 with whole vectors of B.
            _ => Some(shape([51, 64], 50 * 64)),
        };
        assert_eq!(taken, expected, "{}", kernel.symbol);
    }
}

#[test]
fn static_bytes_stay_below_the_static_limit() {
    for kernel in &KERNELS {
        assert!(kernel.static_bytes() <= Bytes(48 * 1024), "{}", kernel.symbol);
    }
}
