//! Who has which attempts in hand, as the shards tell and ask it.

use std::time::Duration;

use steadfast_core::{Activity, Company, Timestamp};
use steadfast_store::RunNumber;

use super::{Shared, desk::Desk};
use crate::{
    hands::Worker,
    task::{ActivityOffer, Taker, Waits as _},
};

/// What is known of the workers that have attempts of one run in hand.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) shared: &'a Shared,
    pub(super) run: RunNumber,
}

impl Company for Known<'_> {
    fn tenants(&self, scheduled_event_id: i64) -> Option<u32> {
        self.shared.hands.tenants((self.run, scheduled_event_id))
    }

    /// A worker with a hand free always asks for more. One whose hands are full and that sends no
    /// heartbeats cannot be told from one that is dead.
    fn is_well(&self, scheduled_event_id: i64) -> Option<bool> {
        let (worker, heard_at) = self.shared.hands.worker((self.run, scheduled_event_id))?;
        let is_heard = self.shared.now().since(heard_at) <= BETWEEN_POLLS;
        Some(is_heard || self.shared.activities.is_waiting(&worker))
    }

    fn listened_to_since(&self) -> Timestamp {
        self.shared.listening.since()
    }
}

impl Desk<'_> {
    /// A worker takes an attempt. How many it has in hand with it, if that matters.
    pub(super) fn take_in_hand(&mut self, offer: &ActivityOffer, taker: &Taker) -> u32 {
        let Some(place) = offer.watched() else { return 0 };
        let now = self.now();
        let Some(run) = self.run(offer.run) else { return 0 };
        let activity = run.activities().get(&place.1);
        let span = activity.map(|it| it.timeouts().start_to_close).unwrap_or_default();
        let worker = Worker::new(&run.identity().namespace_id, &taker.identity);
        self.shared().hands.begin(place, &worker, offer.is_for_alone, (now, span))
    }

    /// It did not have it after all.
    pub(super) fn take_back(&mut self, offer: &ActivityOffer) {
        if let Some(place) = offer.watched() {
            self.shared().hands.take_back(place);
        }
    }

    /// Whether a worker may have an attempt beside what it has.
    pub(super) fn may_have_more(&mut self, offer: &ActivityOffer, taker: &Taker) -> bool {
        let now = self.now();
        let Some(run) = self.run(offer.run) else { return false };
        self.shared().hands.may_have_more(&run.identity().namespace_id, &taker.identity, now)
    }

    /// A run has changed: what is over is in nobody's hand, and who has empty hands looks again.
    pub(super) fn empty_hands(&self, number: RunNumber) {
        let shared = self.shared();
        if shared.hands.is_empty() {
            return;
        }
        let run = self.run(number);
        let is_under_way = |id: i64| {
            run.and_then(|run| run.activities().get(&id)).is_some_and(Activity::is_started)
        };
        for worker in shared.hands.settle(number, is_under_way) {
            shared.activities.look_again(&worker);
        }
    }
}

/// How long a worker that is well may take from one poll to the next.
const BETWEEN_POLLS: Duration = Duration::from_secs(2);
