//! What would become of a failure: which rule decides, from which layer, and what then.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_core::{Resumable, Rulebook, failure};
use steadfast_retry::{
    Decision, FailureParts, Layer, Overlay, Place, Policy, Seed, Signals, State, Timestamp, decide,
    preset::temporal,
};
use utoipa::ToSchema;

use super::{
    call::Call,
    fault::Fault,
    input::Body,
    wire::{Span, draft},
};

/// A failure, where it happens, and whose policy it meets.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = ExplainFailure)]
pub(super) struct Asked {
    #[schema(value_type = FailureBody)]
    error: FailureParts,
    #[serde(default)]
    workflow_type: String,
    /// The activity's type.
    #[serde(default)]
    activity: String,
    /// The kind of activity.
    #[serde(default)]
    activity_kind: String,
    #[serde(default)]
    task_queue: String,
    /// Which attempt has failed, those before it having failed alike; the first if it is not said.
    attempt: Option<u32>,
    /// The author's policy; if it is not given, that of an activity whose author said nothing.
    #[schema(value_type = Option<Object>)]
    policy: Option<Value>,
}

/// A failure. It is written down for the document; a test holds it to the type that is read.
#[derive(ToSchema)]
#[schema(as = Failure, rename_all = "camelCase")]
#[expect(dead_code, reason = "its fields are described, not read")]
struct FailureBody {
    /// The author's name for it.
    r#type: Option<String>,
    message: Option<String>,
    /// `429`, `grpc:UNAVAILABLE`, `ECONNRESET`.
    code: Option<String>,
    /// What its author says it is: transient, throttle, timeout, auth, data, permanent, crash.
    class: Option<String>,
    /// Which clock ran out: `start_to_close`, `heartbeat`, `schedule_to_start`, `schedule_to_close`.
    timeout: Option<String>,
    /// The author says that trying again cannot help.
    non_retryable: Option<bool>,
}

/// What would become of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ExplainedFailure)]
pub(super) struct Told {
    /// What is decided, in words.
    decision: String,
    /// Whether it is tried again.
    retries: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Span>,
    /// The rule that decides; there is none if it is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// Who wrote it.
    layer: String,
    /// The operators' policy that it is from, with its version; empty if it is the author's.
    #[serde(skip_serializing_if = "String::is_empty")]
    policy: String,
    /// What becomes of the activity if it is not tried again, unless a resume policy takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<String>,
    /// The resume policy that would take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_policy: Option<String>,
}

/// Says what would become of a failure.
pub(super) async fn explain(call: Call, Body(asked): Body<Asked>) -> Result<Told, Fault> {
    let policy = match asked.policy.clone() {
        None => temporal::RetryPolicy::default().for_activity(),
        Some(policy) => Policy::new(draft("policy", policy)?)
            .map_err(|invalid| Fault::invalid(format!("policy: {invalid}")).at("policy"))?,
    };
    let rules = call.engine.failure_book(&call.namespace)?.rulebook();
    let decision = asked.decide(&policy, &rules)?;
    Ok(asked.told(&decision, &policy, &rules))
}

impl Asked {
    fn decide(&self, policy: &Policy, rules: &Rulebook) -> Result<Decision, Fault> {
        let attempt = self.attempt.unwrap_or(1);
        if !(1..=ATTEMPTS_MAX).contains(&attempt) {
            let message = format!("attempt: must be from 1 to {ATTEMPTS_MAX}, not {attempt}");
            return Err(Fault::invalid(message).at("attempt"));
        }
        let overlay = Overlay { before: &rules.before, after: &rules.after };
        let signals = Signals { place: self.place(), overlay, ..Signals::default() };
        let start = Timestamp::default();
        let (mut state, mut now, mut number) = (State::started(start), start, 1);
        loop {
            state.deliver();
            let seed = Seed::new(&[]);
            let decision = decide(Some(policy), &state, &self.error.failure(), &signals, now, seed);
            match decision.retry_at() {
                _ if number == attempt => return Ok(decision),
                Some(at) => now = at,
                None => {
                    let message = format!("attempt: there is none after {number}: {decision}");
                    return Err(Fault::invalid(message).at("attempt"));
                }
            }
            state.record(&decision);
            number += 1;
        }
    }

    fn told(&self, decision: &Decision, policy: &Policy, rules: &Rulebook) -> Told {
        let overlay = Overlay { before: &rules.before, after: &rules.after };
        let index = decision.why().rule.map(|rule| rule.index);
        let placed = index.and_then(|index| overlay.around(policy.rules()).nth(index));
        let layer: Layer = placed.map_or_else(|| policy.default_layer(), |placed| placed.layer);
        let delay = match decision {
            Decision::RetryAt { delay, .. } => Some(Span(*delay)),
            Decision::Park { .. } | Decision::Exhausted { .. } | Decision::Fail { .. } => None,
        };
        let is_over = decision.retry_at().is_none();
        let ending = || {
            let ending = rules.ending(&self.workflow_type, &self.activity);
            ending.map(|rule| rule.ending).unwrap_or_default().to_string()
        };
        Told {
            decision: decision.to_string(),
            retries: decision.retry_at().is_some(),
            delay,
            rule: placed.map(|placed| placed.rule.when.to_string()),
            layer: layer.to_string(),
            policy: placed.map(|placed| placed.source.to_string()).unwrap_or_default(),
            resume_policy: is_over.then(|| self.resume_policy(rules)).flatten(),
            ending: is_over.then(ending),
        }
    }

    /// The resume policy that takes the activity once it is not tried any more.
    fn resume_policy(&self, rules: &Rulebook) -> Option<String> {
        let timeout = self.error.timeout.map(failure::type_of_timeout);
        let error = Resumable {
            workflow_type: &self.workflow_type,
            activity_type: &self.activity,
            kind: &self.activity_kind,
            error_type: timeout.as_deref().or(self.error.error_type.as_deref()).unwrap_or_default(),
            cause: &self.error.message,
            attempts: self.attempt.unwrap_or(1),
            stopped_at: Timestamp::default(),
        };
        error.ask(|error| rules.resume.find(error)).map(|policy| policy.name.clone())
    }

    fn place(&self) -> Place<'_> {
        Place {
            activity: &self.activity,
            activity_kind: &self.activity_kind,
            task_queue: &self.task_queue,
            workflow_type: &self.workflow_type,
        }
    }
}

/// Attempts that are reckoned through.
const ATTEMPTS_MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use serde_json::json;
    use utoipa::{
        PartialSchema as _,
        openapi::{RefOr, Schema},
    };

    use super::*;

    #[test]
    fn the_document_describes_what_is_read() {
        let RefOr::T(Schema::Object(described)) = FailureBody::schema() else {
            panic!("an object is described");
        };
        let told: Vec<&str> = described.properties.keys().map(String::as_str).collect();
        let read = json!(FailureParts::default());
        let mut read: Vec<&str> =
            read.as_object().expect("an object").keys().map(String::as_str).collect();
        read.sort_unstable();
        let mut told = told;
        told.sort_unstable();
        assert_eq!(told, read);
    }
}
