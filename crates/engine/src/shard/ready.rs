//! Workflow tasks wait for the rest of the mail.
//!
//! The first activity of many to end makes a workflow task; a worker that took it at once would hear of
//! that one alone, and the others, which may be in the mailbox already, would have to wait for the
//! next task. So tasks are offered when all letters at hand have been read.

use steadfast_store::RunNumber;

use super::{
    Shard,
    desk::{Desk, Wishes},
    job::{Address, Job},
};
use crate::error::Error;

impl Shard {
    /// Offers the workflow tasks that have become ready.
    pub(super) fn offer_ready(&mut self) {
        while let Some(number) = self.ready.pop_first() {
            // One that was set apart offers its task when it is read.
            if self.cache.get(number).is_some() {
                self.perform_when_settled(Box::new(OfferTaskJob(Address::Number(number))), number);
            }
        }
    }
}

impl Desk<'_> {
    /// A workflow task has become ready.
    pub(super) fn task_is_ready(&mut self, number: RunNumber, wishes: &mut Wishes) {
        if wishes.task_for.is_some() {
            self.offer_task(number, wishes);
        } else {
            self.shard.ready.insert(number);
        }
    }
}

struct OfferTaskJob(Address);

impl Job for OfferTaskJob {
    fn address(&self) -> &Address {
        &self.0
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        if let Some(number) = found {
            desk.offer_task(number, &mut Wishes::default());
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.0, "a workflow task could not be offered");
    }
}
