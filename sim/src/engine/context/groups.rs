//! Asynchronous operations of a thread, in commit groups.

/// A thread's operations of one kind, in groups that it waits for in the order of their commits.
pub(super) struct Groups<T> {
    open: Vec<T>,
    committed: Vec<Vec<T>>,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            committed: Vec::new(),
        }
    }
}

impl<T: Copy> Groups<T> {
    /// Adds an operation to the open group.
    pub(super) fn start(&mut self, operation: T) {
        self.open.push(operation);
    }

    /// Commits the open group, which may be empty.
    pub(super) fn commit(&mut self) {
        self.committed.push(std::mem::take(&mut self.open));
    }

    /// The operations of all groups but the latest `pending`.
    pub(super) fn covered(&self, pending: u32) -> Vec<T> {
        let covered = self.committed.len().saturating_sub(pending as usize);
        self.committed[..covered].concat()
    }

    /// Forgets all groups but the latest `pending`.
    pub(super) fn forget(&mut self, pending: u32) {
        let covered = self.committed.len().saturating_sub(pending as usize);
        self.committed.drain(..covered);
    }
}
