//! Local activities, between the code, the worker that runs them, and history.

use std::time::{Duration, SystemTime};

use steadfast_proto::history::history_event::Attributes as E;

use super::{broken::Broken, broken::NonDeterminism, execution::Execution};
use crate::workflow::{LocalTask, Mark, Outcome};

/// How a local activity ended.
#[derive(Debug)]
pub(crate) struct LocalEnd {
    /// The last attempt.
    pub(crate) attempt: u32,
    pub(crate) outcome: Outcome,
    /// The wait before the next attempt, if the code is to wait for it.
    pub(crate) backoff: Option<Duration>,
}

/// The mark of a local activity, if an event is one.
pub(super) fn mark(event_id: i64, attributes: &E) -> Option<Mark> {
    let E::MarkerRecordedEventAttributes(marker) = attributes else { return None };
    Mark::read(event_id, marker)
}

impl Execution {
    /// What the code wants a worker to run, if that has changed since this was asked: numbers, tasks,
    /// and whether they are to stop. A run that has closed wants nothing.
    pub(crate) fn local_changes(&mut self) -> Option<Vec<(u32, LocalTask, bool)>> {
        let changes = self.journal.state().locals.changes();
        if self.has_ended() { Some(Vec::new()) } else { changes }
    }

    /// Whether the code waits for some.
    pub(crate) fn wants_local(&self) -> bool {
        !self.has_ended() && self.journal.state().locals.are_wanted()
    }

    /// The name of the workflow.
    pub(crate) fn workflow_type(&self) -> String {
        self.journal.state().info.workflow_type.clone()
    }

    /// One has ended, so long after the code was asked. The code goes on.
    pub(crate) fn local_ended(
        &mut self,
        seq: u32,
        end: LocalEnd,
        after: Duration,
    ) -> Result<(), Broken> {
        let completed_at = self.asked_at + after;
        let mark = Mark::new(seq, end.attempt, completed_at, end.outcome, end.backoff);
        self.stir()?;
        self.go_on_with(mark)?;
        self.rest();
        Ok(())
    }

    /// When the code was asked, in the run's own time.
    pub(crate) fn asked_at(&self) -> SystemTime {
        self.asked_at
    }

    /// How long a worker may have a task for.
    pub(crate) fn task_timeout(&self) -> Duration {
        self.journal.state().info.task_timeout
    }

    /// Gives the code what history says of the local activities of its turn.
    pub(super) fn replay_local(&mut self) -> Result<(), Broken> {
        loop {
            let next = self.journal.state().locals.next_mark();
            let Some(mark) = next else { return Ok(()) };
            self.check_type(&mark)?;
            self.go_on_with(mark)?;
        }
    }

    /// The code is at rest: whoever runs local activities may look.
    pub(super) fn at_rest(&self) {
        self.journal.state().locals.rest();
    }

    fn go_on_with(&mut self, mark: Mark) -> Result<(), Broken> {
        self.journal.state().local_ended(mark);
        self.run()?;
        self.at_rest();
        Ok(())
    }

    fn check_type(&self, mark: &Mark) -> Result<(), NonDeterminism> {
        let state = self.journal.state();
        let asked = state.locals.task(mark.seq).map(|task| task.name.as_str());
        if asked == mark.recorded_type() {
            return Ok(());
        }
        let named = |name: Option<&str>| format!("local activity {:?}", name.unwrap_or_default());
        Err(NonDeterminism {
            event_id: mark.event_id(),
            history: named(mark.recorded_type()),
            code: format!("asks for {}", named(asked)),
        })
    }
}
