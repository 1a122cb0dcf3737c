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

use steadfast_retry::{Ending, Overlay, PlacedRule, pattern::NamePattern, resume};

/// What operators say about failures in one namespace.
#[derive(Clone, Debug, PartialEq)]
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
    /// Whether an activity whose attempts end their workers is parked.
    pub poison: bool,
    /// After how many such attempts in a row; 0 for never.
    pub poison_after: u32,
    /// Who wants to hear of work that is parked or given up.
    pub listeners: Vec<Listener>,
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
        let named = |pattern: &Option<NamePattern>, name: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
        };
        self.endings.iter().find(|rule| {
            named(&rule.workflow_type, workflow_type) && named(&rule.activity, activity)
        })
    }

    /// Whether an activity with so many attempts in a row that ended their workers is poison.
    pub(crate) fn is_poison(&self, crashes: u32) -> bool {
        self.poison && self.poison_after > 0 && crashes >= self.poison_after
    }
}

impl Default for Rulebook {
    fn default() -> Self {
        Self {
            version: 0,
            before: Vec::new(),
            after: Vec::new(),
            endings: Vec::new(),
            resume: resume::Policies::default(),
            sweep: None,
            poison: false,
            poison_after: 3,
            listeners: Vec::new(),
        }
    }
}
