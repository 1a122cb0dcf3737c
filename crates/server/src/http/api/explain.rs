//! What would become of a failure: which rule decides, from which layer, and what then.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_core::Rulebook;
use steadfast_retry::{
    Class, Decision, Failure, Layer, Overlay, Place, Policy, Seed, Signals, State, TimeoutKind,
    Timestamp, decide, preset::temporal, resume::ActionError,
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
    error: FailureBody,
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

/// A failure.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = Failure)]
pub(super) struct FailureBody {
    /// The author's name for it.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    message: String,
    /// `429`, `grpc:UNAVAILABLE`, `ECONNRESET`.
    code: Option<String>,
    /// What its author says it is: transient, throttle, timeout, auth, data, permanent, crash.
    #[schema(value_type = Option<String>)]
    class: Option<Class>,
    /// Which clock ran out: `start_to_close`, `heartbeat`, `schedule_to_start`, `schedule_to_close`.
    #[schema(value_type = Option<String>)]
    timeout: Option<TimeoutKind>,
    /// The author says that trying again cannot help.
    #[serde(default)]
    non_retryable: bool,
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
        let error = ActionError {
            cause: &self.error.message,
            flow: &self.workflow_type,
            action: &format!("{}.{}", self.workflow_type, self.activity),
            action_type: &self.activity_kind,
            attempts: self.attempt.unwrap_or(1),
            stopped_at: Timestamp::default(),
        };
        rules.resume.find(&error).map(|policy| policy.name.clone())
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

impl FailureBody {
    fn failure(&self) -> Failure<'_> {
        Failure {
            error_type: self.kind.as_deref(),
            message: &self.message,
            code: self.code.as_deref(),
            class: self.class,
            timeout: self.timeout,
            non_retryable: self.non_retryable,
            ..Failure::default()
        }
    }
}

/// Attempts that are reckoned through.
const ATTEMPTS_MAX: u32 = 10_000;
