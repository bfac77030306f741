//! The layout of many 8 x 8 matrices.

/// Square matrices of [`Inverse8::SIDE`] rows, interleaved: the elements (i, j) of all matrices stand together, in the
/// order of the matrices.
///
/// Neighbouring threads, which have neighbouring matrices, then access neighbouring elements.
#[derive(Clone, Copy, Debug)]
pub struct Inverse8;

impl Inverse8 {
    /// Rows and columns of a matrix.
    pub const SIDE: u32 = 8;

    /// The most matrices, so that their elements can be counted in 32 bits.
    pub const MAX_COUNT: u32 = i32::MAX as u32 / (Self::SIDE * Self::SIDE);

    /// Elements of `count` matrices.
    #[inline(always)]
    pub const fn elems(count: u32) -> usize {
        (Self::SIDE * Self::SIDE) as usize * count as usize
    }

    /// Where element (i, j) of matrix `t` of `count` stands.
    #[inline(always)]
    pub const fn index(i: u32, j: u32, t: u32, count: u32) -> usize {
        (Self::SIDE * i + j) as usize * count as usize + t as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_place_of_its_own() {
        let count = 3;
        let mut taken = [false; Inverse8::elems(3)];
        for i in 0..Inverse8::SIDE {
            for j in 0..Inverse8::SIDE {
                for t in 0..count {
                    let place = &mut taken[Inverse8::index(i, j, t, count)];
                    assert!(!*place, "({i}, {j}) of matrix {t}");
                    *place = true;
                }
            }
        }
        assert!(taken.into_iter().all(|place| place));
        assert!(Inverse8::elems(Inverse8::MAX_COUNT) <= i32::MAX as usize);
    }
}
