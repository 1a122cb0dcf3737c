//! Numbers about failures and retries, for whoever watches.
//!
//! What goes well costs a look at a map and an addition. What fails is counted by name: there is
//! time for that while it waits.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use steadfast_core::{Attempt, AttemptOutcome, EndedActivity, TASK, Timestamp, Transition};

use crate::histogram::Histogram;

/// Numbers about failures and retries.
#[derive(Debug)]
pub struct Tally {
    activities: RwLock<BTreeMap<String, Arc<ActivityTally>>>,
    /// By name and labels.
    counters: Mutex<BTreeMap<Counter, u64>>,
    /// Waits before the next attempt, in milliseconds, by what they come from.
    delays: Mutex<BTreeMap<&'static str, Arc<Histogram>>>,
    /// Attempts that it took to complete an activity.
    attempts: Histogram,
    /// Milliseconds from an activity's schedule to its completion: at the first attempt, at one of
    /// the next four, later.
    successes: [Histogram; 3],
    /// How late attempts were that came after a wait, in milliseconds.
    lags: Histogram,
}

/// One counter: its name, and the values of its labels.
pub type Counter = (Name, Vec<String>);

/// What is counted by labels.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Name {
    /// Attempts that failed, by activity, outcome and class.
    Attempts,
    /// Retries, by activity, rule and where the wait comes from.
    Retries,
    /// Activities that were given up, by activity and what became of them.
    Exhausted,
    /// Retries that were put off by somebody else than their policy, by why.
    Deferred,
    /// Poison, by kind.
    Poison,
    /// Resumes by bulk jobs, by job and result.
    ResumeItems,
    /// Changes of policies and settings.
    PolicyChanges,
    /// Resumes by resume policies, by workflow type.
    AutoResumes,
}

/// The numbers of one type of activity.
#[derive(Debug, Default)]
pub struct ActivityTally {
    /// Attempts that gave a result.
    pub completed: AtomicU64,
    recent: Mutex<Recent>,
}

/// Attempts and completions of the last minutes.
#[derive(Debug, Default)]
struct Recent {
    minutes: [(i64, u64, u64); MINUTES],
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            activities: RwLock::default(),
            counters: Mutex::default(),
            delays: Mutex::default(),
            attempts: Histogram::new(ATTEMPTS),
            successes: [MILLIS, MILLIS, MILLIS].map(Histogram::new),
            lags: Histogram::new(MILLIS),
        }
    }
}

impl Tally {
    /// Counts what came of an input.
    pub(crate) fn count(&self, transition: &Transition, workflow_type: &str, now: Timestamp) {
        for attempt in &transition.attempts {
            self.count_attempt(attempt, now);
        }
        for ended in &transition.ended {
            self.count_end(ended, now);
        }
        if transition.resumed_by_policy > 0 {
            let labels = vec![workflow_type.to_owned()];
            self.add((Name::AutoResumes, labels), transition.resumed_by_policy.into());
        }
    }

    /// Counts one more of something.
    pub(crate) fn add_one<const N: usize>(&self, name: Name, labels: [&str; N]) {
        self.add((name, labels.map(str::to_owned).to_vec()), 1);
    }

    /// An attempt that came after a wait is handed out.
    pub(crate) fn count_lag(&self, late: Duration) {
        self.lags.record(millis(late));
    }

    /// The numbers of each type of activity.
    pub fn activities(&self) -> Vec<(String, Arc<ActivityTally>)> {
        let all = self.activities.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(name, tally)| (name.clone(), Arc::clone(tally))).collect()
    }

    /// All counters.
    pub fn counters(&self) -> BTreeMap<Counter, u64> {
        lock(&self.counters).clone()
    }

    /// Waits before the next attempt, in milliseconds, by what they come from.
    pub fn delays(&self) -> Vec<(&'static str, Arc<Histogram>)> {
        lock(&self.delays).iter().map(|(source, it)| (*source, Arc::clone(it))).collect()
    }

    /// Attempts that it took to complete an activity.
    pub fn attempts_per_completion(&self) -> &Histogram {
        &self.attempts
    }

    /// Milliseconds from an activity's schedule to its completion, by attempts.
    pub fn successes(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        ["1", "2-5", "6+"].into_iter().zip(&self.successes)
    }

    /// How late attempts were that came after a wait, in milliseconds.
    pub fn lags(&self) -> &Histogram {
        &self.lags
    }

    fn count_attempt(&self, attempt: &Attempt, now: Timestamp) {
        let activity = match attempt.scheduled_event_id {
            0 => "(run)",
            -1 => "(workflow task)",
            _ => attempt.activity_type.as_str(),
        };
        let outcome = match attempt.outcome {
            // These are counted with the activity's end.
            AttemptOutcome::Completed => return,
            AttemptOutcome::Cancelled => "cancelled",
            AttemptOutcome::Failed(_) => "failed",
            AttemptOutcome::TimedOut(_) => "timed_out",
        };
        self.add_one(Name::Attempts, [activity, outcome, attempt.class]);
        self.activity(activity).count(now, 1, 0);
        if outcome == "cancelled" {
            return;
        }
        match (attempt.parked, attempt.next_at) {
            (false, Some(_)) => self.count_retry(activity, attempt),
            (true, _) => self.add_one(Name::Exhausted, [activity, "park"]),
            (false, None) => {
                let dead = attempt.why.starts_with("dead_letter");
                let action = if dead { "dead_letter" } else { "fail" };
                self.add_one(Name::Exhausted, [activity, action]);
            }
        }
        if attempt.parked && attempt.scheduled_event_id == TASK {
            self.add_one(Name::Poison, ["workflow_task"]);
        } else if attempt.parked && attempt.class == "crash" {
            self.add_one(Name::Poison, ["activity"]);
        }
    }

    fn count_retry(&self, activity: &str, attempt: &Attempt) {
        let rule = if attempt.rule.is_empty() { "default" } else { attempt.rule.as_str() };
        self.add_one(Name::Retries, [activity, rule, attempt.source]);
        if !matches!(attempt.source, "backoff" | "") {
            self.add_one(Name::Deferred, [attempt.source]);
        }
        if let Some(delay) = attempt.delay {
            let mut delays = lock(&self.delays);
            let histogram =
                delays.entry(attempt.source).or_insert_with(|| Arc::new(Histogram::new(MILLIS)));
            histogram.record(millis(delay));
        }
    }

    fn count_end(&self, ended: &EndedActivity, now: Timestamp) {
        if !ended.completed {
            return;
        }
        let tally = self.activity(&ended.activity_type);
        tally.completed.fetch_add(1, Ordering::Relaxed);
        tally.count(now, 1, 1);
        self.attempts.record(ended.attempts.into());
        let [first, soon, late] = &self.successes;
        let successes = match ended.attempts {
            0 | 1 => first,
            2..=5 => soon,
            6.. => late,
        };
        successes.record(millis(ended.took));
    }

    fn activity(&self, name: &str) -> Arc<ActivityTally> {
        let all = self.activities.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = all.get(name) {
            return Arc::clone(tally);
        }
        let is_full = all.len() >= ACTIVITIES_MAX;
        drop(all);
        let mut all = self.activities.write().unwrap_or_else(PoisonError::into_inner);
        let name = if is_full { OTHERS } else { name };
        Arc::clone(all.entry(name.to_owned()).or_default())
    }

    fn add(&self, counter: Counter, count: u64) {
        let mut counters = lock(&self.counters);
        if counters.len() >= COUNTERS_MAX && !counters.contains_key(&counter) {
            let (name, labels) = counter;
            let others = labels.iter().map(|_| OTHERS.to_owned()).collect();
            *counters.entry((name, others)).or_default() += count;
            return;
        }
        *counters.entry(counter).or_default() += count;
    }
}

impl ActivityTally {
    /// Attempts for each completion in the last five minutes; `None` if nothing was completed.
    pub fn amplification(&self, now: Timestamp) -> Option<f64> {
        let minute = minute(now);
        let recent = lock(&self.recent);
        let current = recent.minutes.iter().filter(|(at, _, _)| minute - at < FIVE);
        let (attempts, completed) =
            current.fold((0, 0), |(a, c), (_, attempts, completed)| (a + attempts, c + completed));
        let float = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        (completed > 0).then(|| float(attempts) / float(completed))
    }

    fn count(&self, now: Timestamp, attempts: u64, completed: u64) {
        let minute = minute(now);
        let mut recent = lock(&self.recent);
        let place = usize::try_from(minute.rem_euclid(FIVE)).unwrap_or_default();
        if let Some(slot) = recent.minutes.get_mut(place) {
            if slot.0 != minute {
                *slot = (minute, 0, 0);
            }
            slot.1 += attempts;
            slot.2 += completed;
        }
    }
}

impl Name {
    /// What it is called, what it says, and the names of its labels.
    pub const fn describe(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Attempts => (
                "steadfast_attempts",
                "Attempts that have ended",
                &["activity", "outcome", "class"],
            ),
            Self::Retries => (
                "steadfast_retries",
                "Failed attempts after which there is another, by the rule that decided",
                &["activity", "rule", "why"],
            ),
            Self::Exhausted => (
                "steadfast_retry_exhausted",
                "Failed attempts after which there is no other, by what became of the work",
                &["activity", "action"],
            ),
            Self::Deferred => (
                "steadfast_retry_deferred",
                "Waits that are not the policy's own, by where they come from",
                &["why"],
            ),
            Self::Poison => {
                ("steadfast_poison", "Work that was parked for ending its workers", &["kind"])
            }
            Self::ResumeItems => (
                "steadfast_resume_items",
                "Errors that bulk resumes have dealt with",
                &["job", "result"],
            ),
            Self::PolicyChanges => (
                "steadfast_policy_changes",
                "Changes of policies and of settings about failures",
                &["namespace"],
            ),
            Self::AutoResumes => (
                "steadfast_auto_resumes",
                "Parked activities that a resume policy has brought back",
                &["workflow_type"],
            ),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn minute(now: Timestamp) -> i64 {
    now.nanos() / 60_000_000_000
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

const MINUTES: usize = 5;
const FIVE: i64 = 5;

/// Types of activities and counters that have numbers of their own; the others share one.
const ACTIVITIES_MAX: usize = 1_000;
const COUNTERS_MAX: usize = 10_000;
const OTHERS: &str = "(others)";

const ATTEMPTS: &[u64] = &[1, 2, 3, 5, 10, 20, 50, 100, 1_000];

const MILLIS: &[u64] = &[
    1,
    10,
    100,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    30_000,
    60_000,
    300_000,
    900_000,
    3_600_000,
    21_600_000,
    86_400_000,
    604_800_000,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplification_is_attempts_for_each_completion_of_the_last_minutes() {
        let tally = ActivityTally::default();
        let at = |minutes: i64| Timestamp::from_secs(60 * minutes);
        tally.count(at(100), 9, 1);
        assert_eq!(tally.amplification(at(100)), Some(9.0));
        tally.count(at(102), 1, 1);
        assert_eq!(tally.amplification(at(104)), Some(5.0));
        assert_eq!(tally.amplification(at(106)), Some(1.0), "what is older does not count");
        assert_eq!(tally.amplification(at(200)), None);
    }
}
