//! Executions that are kept between workflow tasks, so that a step does not read history again. The
//! one that was not used for longest goes first.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::replay::Execution;

/// Executions by run id.
#[derive(Debug)]
pub(crate) struct Cache {
    room: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    clock: u64,
    by_run: BTreeMap<String, (u64, Execution)>,
    by_use: BTreeMap<u64, String>,
}

impl Cache {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, kept: Mutex::default() }
    }

    /// Takes an execution out. Whoever has it is the only one.
    pub(crate) fn take(&self, run_id: &str) -> Option<Execution> {
        let mut kept = self.lock();
        let (used, execution) = kept.by_run.remove(run_id)?;
        kept.by_use.remove(&used);
        Some(execution)
    }

    /// Puts an execution back.
    pub(crate) fn put(&self, run_id: String, execution: Execution) {
        let mut kept = self.lock();
        kept.clock += 1;
        let used = kept.clock;
        kept.by_use.insert(used, run_id.clone());
        if let Some((before, _)) = kept.by_run.insert(run_id, (used, execution)) {
            kept.by_use.remove(&before);
        }
        while kept.by_run.len() > self.room {
            let Some((_, oldest)) = kept.by_use.pop_first() else { break };
            kept.by_run.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
