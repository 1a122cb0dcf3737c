//! Something to be done when a call ends, however it ends: its client may just go away.

/// Does something when it is dropped.
pub(super) struct LeaveOnDrop<F: FnMut()>(F);

impl<F: FnMut()> LeaveOnDrop<F> {
    pub(super) fn new(leave: F) -> Self {
        Self(leave)
    }
}

impl<F: FnMut()> Drop for LeaveOnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
