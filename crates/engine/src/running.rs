//! The parts of a running engine, which end together.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::task::JoinHandle;

use crate::shard::Shared;

/// The parts of a running engine.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) shared: Arc<Shared>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stopped: AtomicBool,
}

impl Running {
    pub(crate) fn new(shared: Arc<Shared>, tasks: Vec<JoinHandle<()>>) -> Self {
        Self { shared, tasks: Mutex::new(tasks), stopped: AtomicBool::new(false) }
    }

    /// Adds a part that does something in the background until it is done.
    pub(crate) fn spawn(&self, part: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.stopped.load(Ordering::Acquire) {
            tasks.retain(|task| !task.is_finished());
            tasks.push(tokio::spawn(part));
        }
    }

    /// Whether it is for the caller to stop it: only the first one is told so.
    pub(crate) fn begin_stop(&self) -> bool {
        self.shared.ended.set();
        !self.stopped.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends all parts where they are.
    pub(crate) fn abort(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.abort();
    }
}
