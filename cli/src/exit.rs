//! How a run ends: the one table of exit codes.

use serde::Serialize;
use tilewright::ErrorKind;

/// The end of a run. Every command uses this table and no other; `docs/command-line.md` repeats it.
///
/// The order is that of the codes: where several things went wrong, the largest says how the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Success = 0,
    /// The environment failed: memory, threads, a driver call, a tool, a file that cannot be written.
    Environment = 1,
    /// Usage, or an input or a request that cannot work, such as a tile that does not fit into shared memory.
    Input = 2,
    /// Nothing to run on: no driver, no GPU, or a tool that is not installed.
    Unavailable = 3,
    /// A wrong result, or a fault that the simulator found in a kernel.
    Wrong = 4,
}

impl Exit {
    /// All of them, by their codes.
    pub const ALL: [Exit; 5] = [
        Exit::Success,
        Exit::Environment,
        Exit::Input,
        Exit::Unavailable,
        Exit::Wrong,
    ];

    /// What the process returns.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What it means, for `--help` and the documentation.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "done",
            Exit::Environment => "the environment failed: memory, threads, a driver call, a tool, or writing a file",
            Exit::Input => "usage, or an input or request that cannot work, such as a tile that does not fit",
            Exit::Unavailable => "nothing to run on: no driver, no GPU, or a tool that is not installed",
            Exit::Wrong => "a wrong result, or a fault that the simulator found in a kernel",
        }
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Environment => Exit::Environment,
            ErrorKind::Input => Exit::Input,
            ErrorKind::Unavailable => Exit::Unavailable,
            ErrorKind::Wrong => Exit::Wrong,
        }
    }
}

/// The table as `--help` has it.
pub fn help() -> String {
    let rows = Exit::ALL.map(|exit| format!("  {}  {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_this_table() {
        let page = include_str!("../../docs/command-line.md");
        for exit in Exit::ALL {
            let kind = serde_json::to_string(&exit).expect("a name").replace('"', "`");
            let kind = if exit == Exit::Success { "" } else { &kind };
            let row = format!("| {} | {kind} | {} |", exit.code(), exit.meaning()).replace("|  |", "| |");
            assert!(page.contains(&row), "docs/command-line.md lacks `{row}`");
        }
    }

    #[test]
    fn the_gravest_kind_of_error_has_the_largest_code() {
        let kinds = [
            ErrorKind::Environment,
            ErrorKind::Input,
            ErrorKind::Unavailable,
            ErrorKind::Wrong,
        ];
        assert!(kinds.is_sorted() && kinds.map(Exit::from).is_sorted());
    }
}
