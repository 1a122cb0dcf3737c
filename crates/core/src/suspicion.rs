//! When an activity counts as poison: its attempts end the workers that run them.
//!
//! A worker that dies takes along all that it has in hand, and nothing says which of it was the cause.
//! So each of its `k` attempts is suspected a `k`th, and nobody is condemned for the company that he
//! was in:
//!
//! ```text
//!   a report of any kind                         lost again
//!        ┌────────────┐   lost         lost      ┌───────┐
//!        ▼            │                          ▼       │
//!    no suspicion ────┴──▶ 1, 2 … ──────▶ alone on a worker ──────▶ parked
//!                                               │       lost so often, on two workers or oftener
//!                                               │       on one, and the shares come to a whole
//!                                               └──▶ a report: no suspicion
//! ```
//!
//! The killer is lost with every worker; who stood beside it by chance is seldom beside it again, and
//! then is tried alone and comes back. A killer that is never alone is found too: of `k` in hand, it
//! is parked after `k` workers at the most.

use steadfast_retry::Timestamp;

/// A whole share: an attempt that was alone when its worker died.
const WHOLE: u32 = 1_000;

/// How many more workers must be lost if they were all the same one: what is wrong may be the worker.
const ON_ONE_WORKER: u32 = 2;

/// How far an activity is suspected of ending its workers. As in `state`, a tag is
/// never reused.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Suspicion {
    /// The shares of all losses in a row, in thousandths.
    #[prost(uint32, tag = "1")]
    pub share: u32,
    /// The first worker that was lost.
    #[prost(string, tag = "2")]
    pub worker: String,
    /// Whether another one was lost, too.
    #[prost(bool, tag = "3")]
    pub elsewhere: bool,
    /// How many workers were lost in a row.
    #[prost(uint32, tag = "4")]
    pub lost: u32,
}

impl Suspicion {
    /// A worker was lost that had `tenants` attempts in hand, one of them of this activity.
    pub fn count(&mut self, worker: &str, tenants: u32) {
        if self.lost == 0 {
            worker.clone_into(&mut self.worker);
        }
        self.elsewhere |= worker != self.worker;
        self.lost = self.lost.saturating_add(1);
        self.share = self.share.saturating_add((WHOLE / tenants.max(1)).max(1));
    }

    /// Whether it is poison, where `after` lost workers are too many; 0 for never.
    pub fn is_poison(&self, after: u32) -> bool {
        let often = self.lost >= after && (self.elsewhere || after < 2);
        let oftener = self.lost >= after.saturating_add(ON_ONE_WORKER);
        after > 0 && self.share >= WHOLE && (often || oftener)
    }

    /// Whether it is to be tried alone: one more loss, and it may be poison.
    pub fn is_grave(&self, after: u32) -> bool {
        after > 0 && self.lost >= after.saturating_sub(1).max(1)
    }
}

/// What is known of the workers that have the attempts of a run in hand.
pub trait Company: std::fmt::Debug {
    /// How many attempts the worker of this one had in hand when it was last known to be well, this
    /// one included; `None` if that is not known.
    fn tenants(&self, scheduled_event_id: i64) -> Option<u32>;

    /// Whether the worker of this attempt is well, or has fallen silent; `None` if that is not known.
    fn is_well(&self, scheduled_event_id: i64) -> Option<bool>;

    /// Since when workers are heard: who was silent before may have spoken to nobody.
    fn listened_to_since(&self) -> Timestamp;
}

/// Nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Company for Unknown {
    fn tenants(&self, _: i64) -> Option<u32> {
        None
    }

    fn is_well(&self, _: i64) -> Option<bool> {
        None
    }

    fn listened_to_since(&self) -> Timestamp {
        Timestamp(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(workers: &[(&str, u32)]) -> Suspicion {
        let mut suspicion = Suspicion::default();
        for (worker, tenants) in workers {
            suspicion.count(worker, *tenants);
        }
        suspicion
    }

    #[test]
    fn a_killer_is_found_with_the_third_worker_if_it_was_alone_there() {
        let killer = lost(&[("a", 25), ("b", 25)]);
        assert!(killer.is_grave(3) && !killer.is_poison(3));
        assert!(lost(&[("a", 25), ("b", 25), ("c", 1)]).is_poison(3));
    }

    #[test]
    fn one_worker_alone_must_be_lost_oftener() {
        let one = |times| lost(&vec![("a", 1); times]).is_poison(3);
        assert_eq!([one(3), one(4), one(5)], [false, false, true]);
        assert!(lost(&[("a", 1)]).is_poison(1), "who asks for one asks for any");
    }

    #[test]
    fn company_makes_a_long_trial_and_not_an_endless_one() {
        let workers: Vec<(String, u32)> = (0..25).map(|n| (n.to_string(), 25)).collect();
        let after = |count: usize| {
            let some: Vec<(&str, u32)> =
                workers.iter().take(count).map(|(name, k)| (name.as_str(), *k)).collect();
            lost(&some).is_poison(3)
        };
        assert!(!after(24) && after(25));
    }

    #[test]
    fn nothing_is_poison_or_grave_where_nobody_asked() {
        let worst = lost(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
        assert!(!worst.is_poison(0) && !worst.is_grave(0));
        assert!(!Suspicion::default().is_poison(1) && !Suspicion::default().is_grave(1));
    }
}
