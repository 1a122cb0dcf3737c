//! A query that was on its way to a worker that went away: it is offered to the next one.

use steadfast_store::RunNumber;

use super::{
    desk::Desk,
    job::{Address, Job},
};
use crate::error::Error;

/// A query is offered again, if its caller still waits.
pub(super) struct OfferQueryJob {
    address: Address,
    id: String,
}

impl OfferQueryJob {
    pub(super) fn new(run: RunNumber, id: String) -> Self {
        Self { address: Address::Number(run), id }
    }
}

impl Job for OfferQueryJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let waits = desk.shared().queries.get(&self.id).is_some();
        if let Some(number) = found.filter(|_| waits) {
            desk.offer_query(number, &self.id, false);
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        // Its caller hears that it timed out.
        tracing::debug!(%error, query = self.id, "a query could not be offered again");
    }
}
