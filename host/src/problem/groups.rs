//! The products that a problem consists of: one, those of a strided batch, or those of groups of rows.

use tilewright_contract::GemmShape;

use crate::error::{Error, Result};

/// Where what belongs to a problem besides its matrices is: on the host, on the device, or stated without saying where.
pub trait Location {
    /// Where each group of rows ends, counted from the first row of all, in an order that does not fall.
    type GroupEnds: Copy;
}

impl<'a, T> Location for &'a [T] {
    type GroupEnds = &'a [u32];
}

impl Location for () {
    type GroupEnds = ();
}

/// Refuses ends of groups that are none of this shape: missing or too many, falling, or past the last row.
///
/// # Errors
/// [`Error::InvalidArgument`] with the numbers.
pub(crate) fn check_group_ends(shape: &GemmShape, group_ends: Option<&[u32]>) -> Result<()> {
    let groups = if shape.batch().groups { shape.batch().count } else { 0 };
    let refused = |text| Err(Error::InvalidArgument(text));
    let Some(ends) = group_ends else {
        return match shape.batch().groups {
            true => refused(format!("{shape}, and nothing says where the groups end")),
            false => Ok(()),
        };
    };
    if ends.len() != groups as usize {
        return refused(format!(
            "{shape} has {groups} groups, and {} group ends are given",
            ends.len()
        ));
    }
    if let Some(at) = ends.windows(2).position(|pair| pair[0] > pair[1]) {
        return refused(format!(
            "group {} ends at row {}, before group {at} does, at row {}",
            at + 1,
            ends[at + 1],
            ends[at]
        ));
    }
    match ends.last() {
        Some(&last) if last as usize > shape.m() => refused(format!(
            "the last group ends at row {last}, A and C have {} rows",
            shape.m()
        )),
        _ => Ok(()),
    }
}

/// The shape of each product, and where its A, B and C begin, in elements from the first of each. The ends of groups
/// have been [checked](check_group_ends).
pub(crate) fn products(
    shape: &GemmShape,
    group_ends: Option<&[u32]>,
) -> impl ExactSizeIterator<Item = (GemmShape, [usize; 3])> {
    let shape = *shape;
    (0..shape.batch().count as usize).map(move |index| match group_ends {
        Some(ends) => {
            let start = if index == 0 { 0 } else { ends[index - 1] };
            shape.group(index as u32, start, ends[index])
        }
        None => (shape.product(), shape.starts(index as u32)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_are_none_are_refused_with_the_numbers() {
        let single = GemmShape::packed(10, 4, 4).expect("small");
        let groups = single.with_groups(3, 16).expect("small");
        assert!(check_group_ends(&groups, Some(&[0, 7, 7])).is_ok() && check_group_ends(&single, None).is_ok());
        for (shape, ends, text) in [
            (
                groups,
                None,
                "10 x 4 x 4 in 3 groups, and nothing says where the groups end",
            ),
            (
                groups,
                Some(&[1, 2][..]),
                "10 x 4 x 4 in 3 groups has 3 groups, and 2 group ends are given",
            ),
            (
                single,
                Some(&[10]),
                "10 x 4 x 4 has 0 groups, and 1 group ends are given",
            ),
            (
                groups,
                Some(&[4, 2, 9]),
                "group 1 ends at row 2, before group 0 does, at row 4",
            ),
            (
                groups,
                Some(&[4, 5, 11]),
                "the last group ends at row 11, A and C have 10 rows",
            ),
        ] {
            assert_eq!(check_group_ends(&shape, ends).expect_err(text).to_string(), text);
        }
    }

    #[test]
    fn each_group_has_its_rows_and_its_b() {
        let shape = GemmShape::with_ld(10, 4, 5, 6, 7, 8).and_then(|shape| shape.with_groups(3, 40));
        let shape = shape.expect("small");
        let found: Vec<_> = products(&shape, Some(&[2, 2, 9]))
            .map(|(product, from)| (product.m(), from))
            .collect();
        assert_eq!(found, [(2, [0, 0, 0]), (0, [0, 40, 0]), (7, [12, 80, 16])]);
    }
}
