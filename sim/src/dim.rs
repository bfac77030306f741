//! Extents and positions in three dimensions.

use serde::Serialize;

/// An extent of a grid in blocks or of a block in threads; `x` varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dim3 {
    /// Along x.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim3 {
    /// The product of the extents.
    pub fn count(self) -> u64 {
        // Three extents of a valid launch have a product below 2^64 (grids: 2^31 * 65535 * 65535); others are refused,
        // here they saturate.
        u64::from(self.x)
            .saturating_mul(u64::from(self.y))
            .saturating_mul(u64::from(self.z))
    }

    /// The position of the `linear`-th, counted along x first.
    pub fn position(self, linear: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.x.max(1)), u64::from(self.y.max(1)));
        [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
    }

    /// The inverse of [`Dim3::position`].
    pub(crate) fn linear(self, [x, y, z]: [u32; 3]) -> u64 {
        u64::from(x) + u64::from(self.x) * (u64::from(y) + u64::from(self.y) * u64::from(z))
    }

    /// As x, y, z.
    pub fn to_array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x, y, z }
    }
}

impl std::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} x {}", self.x, self.y, self.z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_varies_fastest() {
        let dim = Dim3::from((3, 2, 2));
        assert_eq!(dim.count(), 12);
        let positions: Vec<_> = (0..12).map(|linear| dim.position(linear)).collect();
        assert_eq!(positions[0], [0, 0, 0]);
        assert_eq!(positions[2], [2, 0, 0]);
        assert_eq!(positions[3], [0, 1, 0]);
        assert_eq!(positions[11], [2, 1, 1]);
    }

    #[test]
    fn impossible_extents_do_not_wrap() {
        assert_eq!(Dim3::from((u32::MAX, u32::MAX, u32::MAX)).count(), u64::MAX);
        assert_eq!(Dim3::from((0, 5, 5)).count(), 0);
    }
}
