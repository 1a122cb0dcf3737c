//! What becomes of work that is given up in a namespace, and who is told.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast_core::{Ear, EndingRule, KeyRule, Listener};
use steadfast_retry::{Ending, pattern::NamePattern, span};

/// The settings of a namespace that concern failures.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// How often resumes that are due are looked for; 0 if each comes when it is due.
    #[serde(with = "span::text")]
    pub auto_resume_check_frequency: Duration,
    /// What becomes of an activity whose policy gives it up. The first that matches holds; one that
    /// none matches fails into its workflow.
    pub endings: Vec<EndingSetting>,
    /// After how many workers lost in a row work counts as poison and is parked; 0 for never.
    pub poison_after: u32,
    /// After how many failures in a row the workflow task of a run is parked; 0 for never.
    pub park_tasks_after: u32,
    /// Who is told, and of what.
    pub notify: Vec<Notify>,
    /// How long those whom activities call remember idempotency keys, where the author does not say
    /// it. The first that matches holds.
    pub idempotency: Vec<KeySetting>,
}

/// How long those whom certain activities call remember idempotency keys.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KeySetting {
    /// The workflow types: a name, a glob or a /regular expression/; all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<NamePattern>,
    /// The activity types, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<NamePattern>,
    /// How long.
    #[serde(with = "span::text")]
    pub ttl: Duration,
}

/// What becomes of certain activities that are given up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EndingSetting {
    /// The workflow types: a name, a glob or a /regular expression/; all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<NamePattern>,
    /// The activity types, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<NamePattern>,
    /// What becomes of them.
    pub ending: Ending,
    /// How long parked work is kept; for ever if not given.
    #[serde(default, with = "span::optional", skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Duration>,
    /// What becomes of it then.
    #[serde(default)]
    pub then: Ending,
}

/// Somebody who wants to know.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Notify {
    /// Of what; of everything if it is empty.
    #[serde(default)]
    pub on: Vec<Occasion>,
    /// An address that is sent a JSON document by POST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// A workflow that is sent a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalTarget>,
}

/// Something worth telling.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// Work was parked.
    Parked,
    /// Work was put aside for good.
    DeadLetter,
}

/// The workflow that hears of failures by a signal.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SignalTarget {
    /// Its id, in the same namespace.
    pub workflow_id: String,
    /// The signal's name.
    pub name: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            auto_resume_check_frequency: Duration::ZERO,
            endings: Vec::new(),
            poison_after: 0,
            park_tasks_after: 0,
            notify: Vec::new(),
            idempotency: Vec::new(),
        }
    }
}

impl Settings {
    /// Everything that is wrong with them.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let frequency = self.auto_resume_check_frequency;
        if !frequency.is_zero() && frequency < FREQUENCY_MIN {
            let fault = "autoResumeCheckFrequency must be at least 1s, or 0s to resume what is due at \
                         once";
            faults.push(fault.to_owned());
        }
        for (index, setting) in self.endings.iter().enumerate() {
            faults.extend(setting.faults().into_iter().map(|it| format!("endings[{index}].{it}")));
        }
        for (index, earlier) in self.endings.iter().enumerate().rev() {
            let hides_all = earlier.workflow_type.is_none() && earlier.activity.is_none();
            if hides_all && index + 1 < self.endings.len() {
                faults.push(format!(
                    "endings[{index}] takes every activity, so those after it can never match: put \
                     it last"
                ));
            }
        }
        for (index, notify) in self.notify.iter().enumerate() {
            faults.extend(notify.fault().map(|it| format!("notify[{index}].{it}")));
        }
        for (index, key) in self.idempotency.iter().enumerate() {
            let forgets = key.ttl.is_zero();
            faults.extend(forgets.then(|| format!("idempotency[{index}].ttl must be above 0")));
        }
        faults
    }

    pub(super) fn ending_rules(&self) -> Vec<EndingRule> {
        self.endings.iter().map(EndingSetting::rule).collect()
    }

    pub(super) fn key_rules(&self) -> impl Iterator<Item = KeyRule> {
        self.idempotency.iter().cloned().map(|it| KeyRule {
            workflow_type: it.workflow_type,
            activity: it.activity,
            ttl: it.ttl,
            ..KeyRule::default()
        })
    }

    pub(super) fn listeners(&self) -> Vec<Listener> {
        self.notify.iter().flat_map(Notify::listeners).collect()
    }
}

impl EndingSetting {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.ending == Ending::Compensate {
            let fault = "ending cannot be compensate: only the workflow's code can undo its work";
            faults.push(fault.to_owned());
        }
        if self.ttl.is_some() && self.ending != Ending::Park {
            faults.push("ttl is for ending \"park\" only".to_owned());
        }
        if !matches!(self.then, Ending::Fail | Ending::DeadLetter) {
            faults.push("then must be fail or dead_letter".to_owned());
        }
        if self.ttl.is_some_and(|ttl| ttl.is_zero()) {
            faults.push("ttl must not be 0; leave it out to keep parked work for ever".to_owned());
        }
        faults
    }

    fn rule(&self) -> EndingRule {
        EndingRule {
            workflow_type: self.workflow_type.clone(),
            activity: self.activity.clone(),
            ending: self.ending,
            ttl: self.ttl,
            then: self.then,
        }
    }
}

impl Notify {
    fn fault(&self) -> Option<String> {
        let is_http = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        match (&self.webhook, &self.signal) {
            (None, None) => Some("webhook or signal must be given".to_owned()),
            (Some(url), _) if !is_http(url) => {
                Some(format!("webhook must be an http:// or https:// address, not {url:?}"))
            }
            (_, Some(signal)) if signal.workflow_id.is_empty() || signal.name.is_empty() => {
                Some("signal needs both workflowId and name".to_owned())
            }
            _ => None,
        }
    }

    /// As the core tells it.
    fn listeners(&self) -> impl Iterator<Item = Listener> {
        let wants = |occasion| self.on.is_empty() || self.on.contains(&occasion);
        let (parked, dead) = (wants(Occasion::Parked), wants(Occasion::DeadLetter));
        let webhook = self.webhook.clone().map(Ear::Webhook);
        let signal = self
            .signal
            .clone()
            .map(|it| Ear::Signal { workflow_id: it.workflow_id, name: it.name });
        webhook.into_iter().chain(signal).map(move |ear| Listener { parked, dead, ear })
    }
}

const FREQUENCY_MIN: Duration = Duration::from_secs(1);
