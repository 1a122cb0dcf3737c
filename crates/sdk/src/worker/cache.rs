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
    by_run: BTreeMap<String, Place>,
    by_use: BTreeMap<u64, String>,
}

#[derive(Debug)]
struct Place {
    used: u64,
    /// Whether the engine is known to have its last answer.
    is_settled: bool,
    execution: Execution,
}

/// An execution that was put back before the engine was known to have its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

impl Cache {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, kept: Mutex::default() }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().by_run.len()
    }

    /// Takes an execution out. Whoever has it is the only one.
    ///
    /// Its last answer may be on its way; whether the engine had it shows in the history that the next
    /// task brings.
    pub(crate) fn take(&self, run_id: &str) -> Option<Execution> {
        Some(self.lock().remove(run_id)?.execution)
    }

    /// Takes an execution out if the engine is known to have its last answer.
    pub(crate) fn take_settled(&self, run_id: &str) -> Option<Execution> {
        let mut kept = self.lock();
        kept.by_run.get(run_id).filter(|place| place.is_settled)?;
        Some(kept.remove(run_id)?.execution)
    }

    /// Puts an execution back.
    pub(crate) fn put(&self, run_id: String, execution: Execution) {
        self.insert(run_id, execution, true);
    }

    /// Puts an execution back whose answer is about to be sent: what that brings about may need it
    /// before the engine has said that it has the answer.
    pub(crate) fn put_ahead(&self, run_id: String, execution: Execution) -> Ticket {
        Ticket(self.insert(run_id, execution, false))
    }

    /// The engine has the answer, and says which task to go back to if that one is to be forgotten; or
    /// it has not: in that case the execution, which has commands that history does not, goes. If it
    /// has been taken out since, whoever has it knows better.
    pub(crate) fn settle(&self, run_id: &str, ticket: Ticket, back_to: Option<i64>) {
        let mut kept = self.lock();
        let Some(place) = kept.by_run.get_mut(run_id).filter(|it| it.used == ticket.0) else {
            return;
        };
        match back_to {
            Some(last_started) => {
                place.is_settled = true;
                if last_started != 0 {
                    place.execution.go_back(last_started);
                }
            }
            None => drop(kept.remove(run_id)),
        }
    }

    fn insert(&self, run_id: String, execution: Execution, is_settled: bool) -> u64 {
        let mut kept = self.lock();
        kept.clock += 1;
        let used = kept.clock;
        kept.by_use.insert(used, run_id.clone());
        let place = Place { used, is_settled, execution };
        if let Some(before) = kept.by_run.insert(run_id, place) {
            kept.by_use.remove(&before.used);
        }
        while kept.by_run.len() > self.room {
            let Some((_, oldest)) = kept.by_use.pop_first() else { break };
            kept.by_run.remove(&oldest);
        }
        used
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, run_id: &str) -> Option<Place> {
        let place = self.by_run.remove(run_id)?;
        self.by_use.remove(&place.used);
        Some(place)
    }
}
