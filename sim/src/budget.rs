//! What a launch may spend.

use std::time::Duration;

use serde::Serialize;

/// The budget of a launch: a kernel that spends more ends with [`FaultKind::Budget`](crate::FaultKind::Budget).
///
/// [`Launch::time_limit`](crate::Launch::time_limit) starts anew at every synchronization, so that it does not end a
/// loop of barriers. A budget does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Wall time of the launch, over all its schedules. Default: an hour.
    pub time: Duration,
    /// Barriers of all its threads that one block may pass. Default: 2^20.
    pub barriers: u32,
    /// Turns that the threads of one block may take together: a turn lasts until the thread waits. Default: 2^28, which
    /// is about ten seconds of nothing but barriers.
    pub turns: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(3600),
            barriers: 1 << 20,
            turns: 1 << 28,
        }
    }
}
