//! A resume policy as it is written, and everything that can be wrong with it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BackOff, NO_EGRESS, Policy, priority::priority};

/// A policy as it is written. Numbers may be wrong; [`create`](Draft::create) says how.
///
/// ```
/// # use steadfast_retry::resume::Draft;
/// let draft: Draft = serde_json::from_str(r#"{
///     "name": "auto-resume-passthrough", "flow": "passthrough", "maxAttempts": 10,
///     "backOff": {"delay": 60, "maxDelay": 300, "multiplier": 1}
/// }"#)?;
/// let policy = draft.create(0)?;
/// assert_eq!(policy.priority, 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Draft {
    /// A UUID; made when not given.
    pub id: Option<String>,
    /// What people call it.
    pub name: Option<String>,
    /// Found somewhere in the error's cause.
    pub error_substring: Option<String>,
    /// Exactly this flow.
    pub flow: Option<String>,
    /// Exactly this action, with its flow in front.
    pub action: Option<String>,
    /// Exactly this kind of action.
    pub action_type: Option<String>,
    /// Attempts of the action in all, the first one included.
    pub max_attempts: Option<i64>,
    /// Higher is asked first; computed when not given.
    pub priority: Option<i64>,
    /// How long to wait.
    pub back_off: Option<BackOffDraft>,
}

/// The wait as it is written. Seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct BackOffDraft {
    /// The base; the only field that is required.
    pub delay: Option<i64>,
    /// The cap, or the upper end of the random range.
    pub max_delay: Option<i64>,
    /// Multiplies delay and attempts.
    pub multiplier: Option<i64>,
    /// Whether the wait is drawn between delay and the cap.
    pub random: Option<bool>,
}

/// Everything that is wrong with a policy; nothing was stored.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct Invalid {
    /// All faults, in the order of the fields.
    pub faults: Vec<Fault>,
}

/// One thing that is wrong with a policy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A given id that is empty.
    #[error("id must not be empty")]
    NoId,
    /// No name.
    #[error("name is required")]
    NoName,
    /// It would match every error.
    #[error("one of errorSubstring, flow, action or actionType is required")]
    NoCriterion,
    /// An action without its flow in front.
    #[error("action must carry its flow in front, like smoke.{action}")]
    NoFlowPrefix {
        /// What was given.
        action: String,
    },
    /// Fewer than two attempts never resume.
    #[error("maxAttempts must be at least 2, not {attempts}")]
    MaxAttempts {
        /// What was given; 0 when nothing was.
        attempts: i64,
    },
    /// No wait.
    #[error("backOff is required")]
    NoBackOff,
    /// No delay.
    #[error("backOff.delay is required")]
    NoDelay,
    /// Negative.
    #[error("backOff.delay must not be negative, not {seconds}")]
    Delay {
        /// What was given.
        seconds: i64,
    },
    /// Negative.
    #[error("backOff.maxDelay must not be negative, not {seconds}")]
    MaxDelay {
        /// What was given.
        seconds: i64,
    },
    /// A range turned round.
    #[error("backOff.maxDelay {max_delay} is less than backOff.delay {delay}")]
    MaxDelayBelowDelay {
        /// The cap given.
        max_delay: i64,
        /// The base given.
        delay: i64,
    },
    /// A range without an upper end.
    #[error("backOff.maxDelay required when random is true")]
    RandomWithoutMaxDelay,
    /// Not a factor.
    #[error("backOff.multiplier must be at least 1, not {multiplier}")]
    Multiplier {
        /// What was given.
        multiplier: i64,
    },
    /// Another policy is called the same, or is for the same errors.
    #[error("duplicate name or criteria: policy {with:?} has the same")]
    Duplicate {
        /// The other policy's name.
        with: String,
    },
}

impl Draft {
    /// Checks the draft and fills what was not given: the id from `random` bits, the priority from
    /// the criteria. On faults, all of them are returned together.
    pub fn create(self, random: u128) -> Result<Policy, Invalid> {
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(Invalid { faults });
        }
        Ok(Policy {
            priority: self.priority.unwrap_or_else(|| priority(&self)),
            id: self.id.unwrap_or_else(|| uuid(random)),
            name: self.name.unwrap_or_default(),
            error_substring: self.error_substring,
            flow: self.flow,
            action: self.action,
            action_type: self.action_type,
            max_attempts: saturated(self.max_attempts.unwrap_or_default()),
            back_off: self.back_off.map(BackOff::from).unwrap_or_default(),
        })
    }

    /// Everything that is wrong with it.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let is_empty = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        let attempts = self.max_attempts.unwrap_or_default();
        let criteria = [&self.error_substring, &self.flow, &self.action, &self.action_type];
        let mut faults = Vec::new();
        let mut check = |is_wrong: bool, fault: Fault| {
            if is_wrong {
                faults.push(fault);
            }
        };
        check(self.id.as_deref() == Some(""), Fault::NoId);
        check(is_empty(&self.name), Fault::NoName);
        check(criteria.into_iter().all(is_empty), Fault::NoCriterion);
        check(attempts < 2, Fault::MaxAttempts { attempts });
        faults.extend(self.prefix_fault());
        match &self.back_off {
            None => faults.push(Fault::NoBackOff),
            Some(back_off) => faults.extend(back_off.faults()),
        }
        faults
    }

    fn prefix_fault(&self) -> Option<Fault> {
        let action = self.action.as_ref().filter(|action| *action != NO_EGRESS)?;
        let has_prefix =
            action.split_once('.').is_some_and(|(flow, rest)| !flow.is_empty() && !rest.is_empty());
        (!has_prefix).then(|| Fault::NoFlowPrefix { action: action.clone() })
    }
}

impl BackOffDraft {
    fn faults(&self) -> Vec<Fault> {
        let negative = |seconds: &i64| *seconds < 0;
        let range = self.max_delay.zip(self.delay).filter(|(max_delay, delay)| max_delay < delay);
        let endless = self.random == Some(true) && self.max_delay.is_none();
        [
            self.delay.is_none().then_some(Fault::NoDelay),
            self.delay.filter(negative).map(|seconds| Fault::Delay { seconds }),
            self.max_delay.filter(negative).map(|seconds| Fault::MaxDelay { seconds }),
            range.map(|(max_delay, delay)| Fault::MaxDelayBelowDelay { max_delay, delay }),
            endless.then_some(Fault::RandomWithoutMaxDelay),
            self.multiplier
                .filter(|multiplier| *multiplier < 1)
                .map(|multiplier| Fault::Multiplier { multiplier }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl From<BackOffDraft> for BackOff {
    fn from(draft: BackOffDraft) -> Self {
        let seconds = |seconds: i64| u64::try_from(seconds).unwrap_or_default();
        Self {
            delay: seconds(draft.delay.unwrap_or_default()),
            max_delay: draft.max_delay.map(seconds),
            multiplier: draft.multiplier.map(seconds),
            random: draft.random.unwrap_or_default(),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        f.write_str(&faults.join("; "))
    }
}

fn saturated(attempts: i64) -> u32 {
    u32::try_from(attempts.max(0)).unwrap_or(u32::MAX)
}

/// The bits in the shape of a random UUID: version 4, the usual variant.
fn uuid(random: u128) -> String {
    let bits = random & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62;
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
