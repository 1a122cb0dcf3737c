//! What operators say about failures in one namespace, beside what the authors say.
//!
//! ```text
//!  a failed attempt ──▶ rules before ──▶ the author's policy ──▶ rules after ──▶ its default
//!                                                 │ no more attempts
//!                       resume policies ◀─────────┘
//!                              │ none takes it
//!                              ▼
//!                           endings: fail, park, dead letter
//! ```

use std::time::Duration;

use steadfast_retry::{Ending, Overlay, Place, PlacedRule, pattern::NamePattern, resume};

/// What operators say about failures in one namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rulebook {
    /// Grows with every change.
    pub version: u64,
    /// Rules asked before the author's.
    pub before: Vec<PlacedRule>,
    /// Rules asked after the author's.
    pub after: Vec<PlacedRule>,
    /// How activities end that are not to be tried again; the first that matches decides.
    pub endings: Vec<EndingRule>,
    /// When parked activities, and runs that failed, are resumed.
    pub resume: resume::Policies,
    /// When what is due is resumed, if not at once.
    pub sweep: Option<resume::Sweep>,
    /// After how many lost workers an activity counts as poison and is parked; 0 for never.
    pub poison_after: u32,
    /// After how many failures in a row the workflow task of a run is parked; 0 for never.
    pub tasks_park_after: u32,
    /// Who wants to hear of work that is parked or given up.
    pub listeners: Vec<Listener>,
    /// How long idempotency keys are remembered; the first that matches decides.
    pub keys: Vec<KeyRule>,
}

/// How long whoever some activities call remembers their idempotency keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRule {
    /// Of these workflow types only.
    pub workflow_type: Option<NamePattern>,
    /// Of these activity types only.
    pub activity: Option<NamePattern>,
    /// Of these kinds only.
    pub activity_kind: Option<NamePattern>,
    /// On these task queues only.
    pub task_queue: Option<NamePattern>,
    /// How long.
    pub ttl: Duration,
    /// Whether it holds even if the author says otherwise.
    pub over_author: bool,
}

/// Somebody who wants to hear of failures.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listener {
    /// Of work that is parked.
    pub parked: bool,
    /// Of dead letters.
    pub dead: bool,
    /// Who.
    pub ear: Ear,
}

/// How somebody hears of failures.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ear {
    /// By a document that is sent to this address.
    Webhook(String),
    /// By a signal to a workflow of the namespace.
    Signal {
        /// The workflow's id.
        workflow_id: String,
        /// The signal's name.
        name: String,
    },
}

/// How some activities end that are not to be tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct EndingRule {
    /// Of these workflow types only.
    pub workflow_type: Option<NamePattern>,
    /// Of these activity types only.
    pub activity: Option<NamePattern>,
    /// How they end.
    pub ending: Ending,
    /// How long a parked one is kept; for ever if it is not said.
    pub ttl: Option<Duration>,
    /// How it ends after that: it fails, or is dead-lettered.
    pub then: Ending,
}

impl Rulebook {
    /// The rules beside the author's.
    pub(crate) fn overlay(&self) -> Overlay<'_> {
        Overlay { before: &self.before, after: &self.after }
    }

    /// How activities of this type end; `None` leaves it to the author.
    pub fn ending(&self, workflow_type: &str, activity: &str) -> Option<&EndingRule> {
        self.endings.iter().find(|rule| {
            named(rule.workflow_type.as_ref(), workflow_type)
                && named(rule.activity.as_ref(), activity)
        })
    }

    /// How long the key of an activity is remembered, as operators say it and its author.
    pub(crate) fn key_ttl(&self, place: Place<'_>, author: Option<Duration>) -> Option<Duration> {
        let found = |over_author| {
            let mut all = self.keys.iter().filter(|rule| rule.over_author == over_author);
            all.find(|rule| rule.takes(place)).map(|rule| rule.ttl)
        };
        found(true).or(author).or_else(|| found(false))
    }

    /// Whether it matters which activities end their workers.
    pub fn watches_workers(&self) -> bool {
        self.poison_after > 0
    }
}

impl KeyRule {
    fn takes(&self, place: Place<'_>) -> bool {
        named(self.workflow_type.as_ref(), place.workflow_type)
            && named(self.activity.as_ref(), place.activity)
            && named(self.activity_kind.as_ref(), place.activity_kind)
            && named(self.task_queue.as_ref(), place.task_queue)
    }
}

fn named(pattern: Option<&NamePattern>, name: &str) -> bool {
    pattern.is_none_or(|pattern| pattern.matches(name))
}
