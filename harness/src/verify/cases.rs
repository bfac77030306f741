//! The shapes that reach every edge of a tile.

use tilewright_contract::{Alignment, Batch, GemmShape, Kernel, Major, Operand, Transpose, matrix_of, padded_ld};

/// A shape and what it is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// What the shape reaches.
    pub name: &'static str,
    /// The shape.
    pub shape: GemmShape,
}

/// The shapes for a tile of an entry point, or of the CPU's nest: rows, columns, elements along K of a step, with A and
/// B stored and aligned as it takes them.
pub fn cases([w, h, d]: [usize; 3], transpose: [Transpose; 2], alignment: Alignment) -> Vec<Case> {
    // One below the tile, but not zero: empty extents have cases of their own.
    let under = |extent: usize| extent.saturating_sub(1).max(1);
    let packed = [
        ("no rows", 0, h + 1, d),
        ("no columns", w + 1, 0, d),
        ("nothing to sum", w + 1, h, 0),
        ("one element", 1, 1, 1),
        ("below one tile", under(w), under(h), under(d)),
        ("one tile", w, h, d),
        ("above one tile", w + 1, h + 1, d + 1),
        ("whole tiles", 2 * w, 3 * h, 2 * d),
        ("wide", w / 2 + 1, 2 * h + 1, d + 3),
        ("tall", 2 * w + 1, h / 2 + 1, d + 3),
        ("one row", 1, 2 * h + 1, d + 1),
        ("one column", 2 * w + 1, 1, d + 1),
        ("deep", w + 1, under(h), 1000 + d),
    ];
    let padded = [
        ("padded rows", w + 1, h + 2, d + 3, [5, 3, 7]),
        ("padded rows of whole tiles", 2 * w, h, d, [1, 32, 16]),
        ("padded, one column", w + 1, 1, 2 * d + 1, [0, 2, 4]),
    ];
    packed
        .into_iter()
        .map(|(name, m, n, k)| (name, m, n, k, [0; 3]))
        .chain(padded)
        .filter_map(|(name, m, n, k, gaps)| {
            let shape = fitting([m, n, k], gaps, transpose, alignment)?;
            Some(Case { name, shape })
        })
        .collect()
}

/// The shapes for a tile of a kernel that it takes with copies of A, of B, or of both: rows that begin at odd elements,
/// and operands that are transposed.
pub fn copied_cases([w, h, d]: [usize; 3], kernel: &Kernel) -> Vec<Case> {
    let own = kernel.transposes();
    let other = |of: usize| {
        let flipped = match own[of] {
            Transpose::No => Transpose::Yes,
            Transpose::Yes => Transpose::No,
        };
        std::array::from_fn(|at| if at == of { flipped } else { own[at] })
    };
    [
        ("rows of A at odd elements", w + 1, h, d + 3, own, [true, false]),
        ("rows of B at odd elements", w, h + 1, d + 2, own, [false, true]),
        (
            "rows of A and B at odd elements",
            w + 3,
            h + 2,
            d + 1,
            own,
            [true, true],
        ),
        ("A in the other major", w + 3, h + 2, d + 1, other(0), [true, true]),
        ("B in the other major", w + 5, h + 1, d + 2, other(1), [false, true]),
    ]
    .into_iter()
    .filter_map(|(name, m, n, k, transpose, odd)| {
        let packed = GemmShape::packed_transposed(m, n, k, transpose).ok()?;
        let ld = |operand, odd: bool| {
            let (_, columns, _) = packed.extents(operand);
            if odd { columns | 1 } else { padded_ld(columns, 2) }
        };
        let shape = packed.with_operand_lds([ld(Operand::A, odd[0]), ld(Operand::B, odd[1])]);
        Some(Case {
            name,
            shape: shape.ok()?,
        })
    })
    .filter(|case| match kernel.supports.groups {
        // Groups are made of these; no operand of theirs is transposed.
        true => case.shape.majors() == Major::of_both(own),
        false => kernel.copies(&case.shape).iter().any(Option::is_some),
    })
    .collect()
}

/// Batches of some of these shapes, for a kernel that takes batches: `batches_of` its alignment, and where it has
/// operands copied one whose matrices begin at odd elements.
pub fn batches(cases: &[Case], kernel: &Kernel) -> Vec<Case> {
    let mut batches = batches_of(cases, kernel.alignment);
    let odd = |case: &Case| {
        let strides = distances(&case.shape, 1);
        let shape = case.shape.with_batch(3, strides.map(|stride| stride | 1)).ok()?;
        kernel.taken(&shape).filter(|taken| *taken != shape)?;
        let name = "batch, matrices at odd elements";
        Some(Case { name, shape })
    };
    batches.extend(cases.iter().filter(|case| case.name == OF_BATCHES[0]).find_map(odd));
    batches
}

/// The cases that batches are made of: more than a tile, rows with padding.
const OF_BATCHES: [&str; 3] = ["above one tile", "padded rows", "padded"];

/// Batches of some of these shapes: matrices with gaps between them, one A or B for all, and the matrices of C, and of
/// A where alignment allows, side by side in the rows of larger ones.
pub fn batches_of(cases: &[Case], alignment: Alignment) -> Vec<Case> {
    let elems = alignment.elems.map(|elems| elems as usize);
    let of = |case: &Case| {
        let shape = case.shape;
        let [a, b, c] = distances(&shape, 5);
        let apart = [a.next_multiple_of(elems[0]), b.next_multiple_of(elems[1]), c];
        let beside = |operand, elems: usize| shape.extents(operand).1.next_multiple_of(elems);
        let (beside_a, beside_c) = (beside(Operand::A, elems[0]), beside(Operand::C, 1));
        let wide = |ld: usize, beside: usize| ld.max(3 * beside).next_multiple_of(elems[0]);
        let side_by_side = GemmShape::with_transposes(
            shape.m(),
            shape.n(),
            shape.k(),
            [shape.transpose(Operand::A), shape.transpose(Operand::B)],
            [
                wide(shape.extents(Operand::A).2, beside_a),
                shape.extents(Operand::B).2,
                shape.extents(Operand::C).2.max(3 * beside_c + 1),
            ],
        );
        [
            ("batch", shape.with_batch(3, apart).ok()),
            ("batch, one A", shape.with_batch(2, [0, apart[1], apart[2]]).ok()),
            ("batch, one B", shape.with_batch(2, [apart[0], 0, apart[2]]).ok()),
            (
                "batch side by side",
                side_by_side
                    .and_then(|shape| shape.with_batch(3, [beside_a, apart[1], beside_c]))
                    .ok(),
            ),
        ]
    };
    let named = cases.iter().filter(|case| OF_BATCHES.contains(&case.name));
    let shapes = named.enumerate().flat_map(|(at, case)| {
        // Each way to lie once, of the first shapes; of the others one after the other.
        of(case).into_iter().take(if at == 0 { 4 } else { 1 })
    });
    shapes
        .filter_map(|(name, shape)| Some(Case { name, shape: shape? }))
        .collect()
}

/// These shapes with their rows in groups, for a kernel of groups: each B after the one before, with a gap.
pub fn groups(cases: &[Case], kernel: &Kernel) -> Vec<Case> {
    let of = |case: &Case| {
        let stride = case.shape.span_elems(Operand::B) + 5;
        // What is copied first may begin anywhere.
        let is_taken = case
            .shape
            .extents(Operand::B)
            .2
            .is_multiple_of(kernel.alignment.elems[1] as usize);
        let elems = if is_taken {
            kernel.alignment.elems[1] as usize
        } else {
            1
        };
        let shape = case.shape.with_groups(5, stride.next_multiple_of(elems)).ok()?;
        Some(Case { name: case.name, shape })
    };
    cases.iter().filter_map(of).collect()
}

/// Where the groups of a shape end, if it has some: long and short ones, an empty one, and rows of none after the
/// last.
pub fn group_ends(shape: &GemmShape) -> Option<Vec<u32>> {
    /// Parts of all rows, of the first group, the second, and so on.
    const PARTS: [usize; 5] = [3, 0, 1, 7, 2];
    let Batch {
        groups: true, count, ..
    } = shape.batch()
    else {
        return None;
    };
    let parts = |groups: usize| PARTS.into_iter().cycle().take(groups).sum::<usize>();
    let all = parts(count as usize) + 1;
    let end = |group: u32| (shape.m() * parts(group as usize + 1) / all) as u32;
    Some((0..count).map(end).collect())
}

/// Elements from the first of A, B and C to `gap` after their last.
fn distances(shape: &GemmShape, gap: usize) -> [usize; 3] {
    [Operand::A, Operand::B, Operand::C].map(|operand| shape.span_elems(operand) + gap)
}

/// The shapes for a product with a vector, of a matrix whose rows in memory are loaded `vector` elements at a time: C
/// of one column and of one row, the vector in one row of memory and in one column. The tile: lines, and elements along
/// K of a step.
pub fn vector_cases([w, _, d]: [usize; 3], major: Major, vector: usize) -> Vec<Case> {
    // Lines, elements along K, elements behind each row of the matrix and from one element of the vector and of C to
    // the next.
    let extents = [
        ("nothing to sum", w + 1, 0, 0, 1),
        ("one element", 1, 1, 0, 1),
        ("below one tile", w - 1, d - 1, 0, 1),
        ("one tile", w, d, 0, 1),
        ("above one tile", w + 1, d + 1, 0, 1),
        ("whole tiles", 2 * w, 2 * d, 0, 1),
        ("shallow", 3 * w + 5, 7, 0, 1),
        ("deep", 3, 5 * d + 3, 0, 1),
        ("padded", w + 3, d + 33, 5, 3),
    ];
    let mut cases = Vec::new();
    for (name, lines, k, gap, stride) in extents {
        for (is_column, vector_in_a_row) in [(true, true), (true, false), (false, true), (false, false)] {
            // Along K the rows of the matrix in memory are lines, across it they are elements of all lines.
            let (lines, k) = match major {
                Major::K => (lines, k.next_multiple_of(vector)),
                Major::Mn => (lines.next_multiple_of(vector), k),
            };
            let (row, matrix) = match (major, is_column) {
                (Major::K, true) => (k, Transpose::No),
                (Major::K, false) => (k, Transpose::Yes),
                (Major::Mn, true) => (lines, Transpose::Yes),
                (Major::Mn, false) => (lines, Transpose::No),
            };
            let matrix_ld = (row + gap).next_multiple_of(vector);
            let vector_ld = if vector_in_a_row { k.max(1) } else { stride };
            let shape = if is_column {
                let other = if vector_in_a_row { Transpose::Yes } else { Transpose::No };
                GemmShape::with_transposes(lines, 1, k, [matrix, other], [matrix_ld, vector_ld, stride])
            } else {
                let other = if vector_in_a_row { Transpose::No } else { Transpose::Yes };
                GemmShape::with_transposes(1, lines, k, [other, matrix], [vector_ld, matrix_ld, lines + gap])
            };
            cases.extend(shape.ok().map(|shape| Case { name, shape }));
        }
    }
    // Of one line C has one column and one row: the matrix is A.
    cases.retain(|case| matrix_of(&case.shape).is_some_and(|(_, of_matrix)| of_matrix == major));
    cases
}

/// A shape whose leading dimensions are multiples of what one load takes, and whose rows are unless they may have a
/// residue, with so many elements at least behind each row of A, B and C.
fn fitting(
    [m, n, k]: [usize; 3],
    gaps: [usize; 3],
    transpose: [Transpose; 2],
    alignment: Alignment,
) -> Option<GemmShape> {
    let [vector_a, vector_b] = alignment.elems.map(|elems| elems as usize);
    let (mut m, mut n, mut k) = (m, n, k);
    let [row_a, row_b] = if alignment.residue {
        [1; 2]
    } else {
        [vector_a, vector_b]
    };
    match transpose[0] {
        Transpose::Yes => m = m.next_multiple_of(row_a),
        Transpose::No => k = k.next_multiple_of(row_a),
    }
    match transpose[1] {
        Transpose::Yes => k = k.next_multiple_of(row_b),
        Transpose::No => n = n.next_multiple_of(row_b),
    }
    let packed = GemmShape::packed_transposed(m, n, k, transpose).ok()?;
    let ld = |operand, gap: usize, vector| (packed.extents(operand).2 + gap).next_multiple_of(vector);
    let lds = [
        ld(Operand::A, gaps[0], vector_a),
        ld(Operand::B, gaps[1], vector_b),
        ld(Operand::C, gaps[2], 1),
    ];
    GemmShape::with_transposes(m, n, k, transpose, lds).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tilewright_contract::{DType, KERNELS, Operands};

    use super::super::WIDTHS;
    use super::*;

    #[test]
    fn the_shapes_reach_every_edge() {
        for width in WIDTHS {
            let (w, cases) = (
                width as usize,
                cases([width as usize; 3], [Transpose::No; 2], Alignment::NONE),
            );
            let extents: Vec<_> = cases
                .iter()
                .map(|case| (case.shape.m(), case.shape.n(), case.shape.k()))
                .collect();
            for extent in [0, 1, w, w + 1].into_iter().chain((w > 1).then_some(w - 1)) {
                assert!(extents.iter().any(|&(m, ..)| m == extent), "{width}: m = {extent}");
                assert!(extents.iter().any(|&(_, n, _)| n == extent), "{width}: n = {extent}");
                assert!(extents.iter().any(|&(.., k)| k == extent), "{width}: k = {extent}");
            }
            for operand in [Operand::A, Operand::B, Operand::C] {
                let padded = |case: &Case| case.shape.extents(operand).2 > case.shape.extents(operand).1;
                assert!(cases.iter().any(padded), "{width}: {operand} padded");
            }
            assert_eq!(cases.len(), 16, "{width}: none was refused");
        }
    }

    #[test]
    fn every_kernel_that_loads_vectors_is_tried_with_operands_that_it_does_not_take() {
        let loads_vectors = |kernel: &&Kernel| {
            let is_single = !kernel.takes_vector() && !kernel.supports.groups;
            is_single && kernel.alignment != Alignment::NONE && kernel.dtype != DType::F64
        };
        for kernel in KERNELS.iter().filter(loads_vectors) {
            let cases = copied_cases([64, 64, 64], kernel);
            let copied = |case: &Case| kernel.copies(&case.shape).map(|copy| copy.is_some());
            if kernel.alignment.residue {
                // Each operand alone, and both; what is split is copied always.
                let expected = match kernel.splits_operands() {
                    false => [[true, false], [false, true], [true, true]],
                    true => [[true; 2]; 3],
                };
                let own: Vec<_> = cases.iter().take(3).map(copied).collect();
                assert_eq!(own, expected, "{}", kernel.symbol);
            }
            for of in [0, 1] {
                let is_copied = cases.iter().any(|case| copied(case)[of]);
                let is_aligned = kernel.alignment.elems[of] == 1;
                assert!(is_copied || is_aligned, "{}: operand {of}", kernel.symbol);
                let name = ["A in the other major", "B in the other major"][of];
                let is_transposed = cases.iter().any(|case| case.name == name);
                assert_eq!(is_transposed, kernel.may_transpose[of], "{}: {name}", kernel.symbol);
            }
        }
    }

    #[test]
    fn groups_are_of_every_length() {
        for kernel in KERNELS.iter().filter(|kernel| kernel.supports.groups) {
            let tile = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(|extent| extent as usize);
            let tall = [3 * tile[0] + 1, tile[1], tile[2]];
            let cases = groups(&cases(tall, kernel.transposes(), kernel.alignment), kernel);
            assert!(
                cases.len() > 12 && cases.iter().all(|case| kernel.accepts(&case.shape)),
                "{}",
                kernel.symbol
            );
            let ends = group_ends(&cases.iter().find(|case| case.name == "whole tiles").expect("one").shape);
            let ends = ends.expect("groups");
            let rows: Vec<_> = ends
                .iter()
                .scan(0, |start, end| Some(end - std::mem::replace(start, *end)))
                .collect();
            assert!(
                rows[1] == 0 && rows.iter().any(|&rows| rows > kernel.tile.m),
                "{rows:?}"
            );
            assert!(
                rows.iter().any(|&rows| rows > 0 && rows < kernel.tile.m) || kernel.tile.m < 64,
                "{rows:?}"
            );
        }
    }

    #[test]
    fn every_kernel_of_batches_is_tried_with_each_way_that_they_lie() {
        for kernel in KERNELS.iter().filter(|kernel| kernel.supports.batch) {
            let single = match kernel.operands {
                Operands::MatrixAndVector(major) => {
                    vector_cases([64, 64, 64], major, kernel.alignment.elems[0] as usize)
                }
                Operands::Matrices(_) => cases([64, 64, 64], kernel.transposes(), kernel.alignment),
            };
            let batches = batches(&single, kernel);
            let names: BTreeSet<_> = batches.iter().map(|case| case.name).collect();
            let is_copied = kernel.alignment != Alignment::NONE && kernel.dtype != DType::F64 && !kernel.takes_vector();
            let expected = if is_copied { 5 } else { 4 };
            assert_eq!(names.len(), expected, "{}: {names:?}", kernel.symbol);
            for Case { name, shape } in &batches {
                let is_copied = name.contains("odd") || kernel.splits_operands();
                let is_taken = kernel.taken(shape).is_some_and(|taken| (taken != *shape) == is_copied);
                assert!(is_taken && shape.batch().count > 1, "{}: {name}", kernel.symbol);
            }
        }
    }
}
