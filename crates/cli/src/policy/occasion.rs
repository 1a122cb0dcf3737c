//! The failure that a policy is asked about, as flags tell it.

use anyhow::Result;
use serde_json::{Value, json};
use steadfast_retry::{Class, Failure, FailureParts, Place, TimeoutKind};

use crate::trouble::Trouble;

/// What failed, and where.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The failure")]
pub(crate) struct OccasionArgs {
    /// The failure, as type=…,message=…,code=…,class=…,timeout=…; a bare `non-retryable` is one
    /// that its author does not want tried again
    #[arg(long, value_name = "PARTS")]
    pub(crate) error: Option<Parts>,

    /// Which attempt fails, from 1
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt: u32,

    /// The activity's type
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    activity: String,

    /// The kind of activity: the tag of its registration
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    activity_kind: String,

    /// The task queue
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    task_queue: String,

    /// The workflow's type
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    workflow_type: String,
}

/// The parts of a failure, as a flag tells them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Parts(FailureParts);

impl OccasionArgs {
    /// The failure; without one, a failure that has nothing to go by.
    pub(crate) fn failure(&self) -> Failure<'_> {
        self.error.as_ref().map(|parts| parts.0.failure()).unwrap_or_default()
    }

    /// What the server is asked about it.
    pub(crate) fn value(&self) -> Value {
        json!({
            "error": self.error.as_ref().map_or_else(|| json!({}), |parts| json!(parts.0)),
            "attempt": self.attempt,
            "activity": self.activity,
            "activityKind": self.activity_kind,
            "taskQueue": self.task_queue,
            "workflowType": self.workflow_type,
        })
    }

    /// Where it happens.
    pub(crate) fn place(&self) -> Place<'_> {
        Place {
            activity: &self.activity,
            activity_kind: &self.activity_kind,
            task_queue: &self.task_queue,
            workflow_type: &self.workflow_type,
        }
    }
}

#[cfg(test)]
impl OccasionArgs {
    /// One that is asked in a test.
    pub(super) fn asking(error: Parts, attempt: u32) -> Self {
        let none = String::new;
        Self {
            error: Some(error),
            attempt,
            activity: none(),
            activity_kind: none(),
            task_queue: none(),
            workflow_type: none(),
        }
    }
}

impl Parts {
    fn set(&mut self, name: &str, value: &str) -> Result<(), NoPart> {
        let unknown =
            |values| NoPart::Value { name: name.to_owned(), value: value.to_owned(), values };
        match name {
            "type" => self.0.error_type = Some(value.to_owned()),
            "message" => value.clone_into(&mut self.0.message),
            "code" => self.0.code = Some(value.to_owned()),
            "class" => self.0.class = Some(Class::named(value).ok_or_else(|| unknown(CLASSES))?),
            "timeout" => {
                let kind = TimeoutKind::ALL.into_iter().find(|kind| kind.name() == value);
                self.0.timeout = Some(kind.ok_or_else(|| unknown(TIMEOUTS))?);
            }
            _ => return Err(NoPart::Name { name: name.to_owned() }),
        }
        Ok(())
    }
}

/// A text that is no failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoPart {
    #[error("{name:?} is not one of type, message, code, class, timeout, non-retryable")]
    Name { name: String },
    #[error("{name} {value:?} is not one of {values}")]
    Value { name: String, value: String, values: &'static str },
}

impl std::str::FromStr for Parts {
    type Err = NoPart;

    /// A comma ends a part only where another one begins, so that messages may have theirs.
    fn from_str(text: &str) -> Result<Self, NoPart> {
        let mut parts: Vec<(&str, String)> = Vec::new();
        let mut found = Self::default();
        for piece in text.split(',') {
            let begins = piece.split_once('=').filter(|(name, _)| NAMES.contains(&name.trim()));
            match (begins, parts.last_mut()) {
                (Some((name, value)), _) => parts.push((name.trim(), value.to_owned())),
                (None, _) if piece.trim() == "non-retryable" => found.0.non_retryable = true,
                (None, Some((_, value))) => *value = format!("{value},{piece}"),
                (None, None) => {
                    let name = piece.split('=').next().unwrap_or(piece).to_owned();
                    return Err(NoPart::Name { name });
                }
            }
        }
        for (name, value) in parts {
            found.set(name, &value)?;
        }
        Ok(found)
    }
}

/// A number of attempts that was asked for and that cannot be.
pub(crate) fn no_such_attempt(attempt: u32, calls: u32) -> anyhow::Error {
    Trouble::usage(format!("--attempt {attempt}: the policy makes {calls} at most"))
}

const NAMES: [&str; 5] = ["type", "message", "code", "class", "timeout"];
const CLASSES: &str = "transient, throttle, timeout, auth, data, permanent, crash, unknown";
const TIMEOUTS: &str = "start_to_close, heartbeat, schedule_to_start, schedule_to_close";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_may_have_commas() {
        let parts: Parts = "type=Http,message=no, not a=1, today,code=503".parse().expect("parts");
        assert_eq!(parts.0.error_type.as_deref(), Some("Http"));
        assert_eq!(parts.0.message, "no, not a=1, today");
        assert_eq!(parts.0.code.as_deref(), Some("503"));
        assert!(!parts.0.non_retryable);
    }

    #[test]
    fn what_is_no_part_is_named() {
        let told = |text: &str| text.parse::<Parts>().expect_err("refused").to_string();
        assert!(told("kind=X").starts_with("\"kind\" is not one of type"), "{}", told("kind=X"));
        assert!(
            told("class=odd").starts_with("class \"odd\" is not one of"),
            "{}",
            told("class=odd")
        );
        assert!("code=429,non-retryable".parse::<Parts>().expect("parts").0.non_retryable);
    }
}
