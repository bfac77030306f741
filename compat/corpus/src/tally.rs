//! Checks on the spot.

/// Counts calls, and those with an unexpected result.
pub struct Tally {
    surprises: u32,
    calls: u32,
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

impl Tally {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { surprises: 0, calls: 0 }
    }

    /// Counts one call.
    pub fn expect(&mut self, as_expected: bool) {
        self.calls += 1;
        self.surprises += !as_expected as u32;
    }

    /// Writes the surprises to the first word and the calls to the second.
    ///
    /// # Safety
    ///
    /// `out` must be valid for two writes.
    pub unsafe fn write(&self, out: *mut u32) {
        *out = self.surprises;
        *out.add(1) = self.calls;
    }
}
