//! Live change: another policy, other time limits or another input for what is already retrying.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_core::{ActivityChange, Selector};
use steadfast_engine::{Change, Moved, Preview};
use steadfast_proto::{activity::ActivityOptions, common::WorkflowExecution, prost_types};
use utoipa::ToSchema;

use super::{
    acting::Outcomes,
    call::Call,
    fault::Fault,
    input::Body,
    wire::{Select, Span, Time, draft, payloads},
};

/// Which errors are to be changed, and how.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ChangeErrors {
    select: Select,
    /// What is to become different; with `now`, nothing may be.
    #[serde(default)]
    change: Different,
    /// Whether a wait that is under way is reckoned anew; otherwise the change holds from the next
    /// failure on.
    now: Option<bool>,
    /// Why, for the record of changes.
    reason: Option<String>,
}

/// Which activities of a workflow are to be changed, and how.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ChangeActivities {
    which: Which,
    change: Different,
    /// Whether a wait that is under way is reckoned anew; otherwise the change holds from the next
    /// failure on.
    now: Option<bool>,
    /// Why, for the record of changes.
    reason: Option<String>,
}

/// Which activities of a workflow something is to be done with, and why.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ActivitiesAct {
    which: Which,
    /// Why, for the record of changes.
    reason: Option<String>,
}

/// Which activities of a workflow: exactly one of `activityId`, `activityType` and `all`.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = WhichActivities)]
pub(super) struct Which {
    /// The run; the latest if it is not said.
    run_id: Option<String>,
    activity_id: Option<String>,
    activity_type: Option<String>,
    all: Option<bool>,
}

/// What is to become different. What is not given stays as it is.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = ActivityChange)]
pub(super) struct Different {
    /// The retry policy. `{}` goes back to what the workflow asked for.
    #[schema(value_type = Option<Object>)]
    policy: Option<Value>,
    start_to_close_timeout: Option<Span>,
    schedule_to_close_timeout: Option<Span>,
    schedule_to_start_timeout: Option<Span>,
    heartbeat_timeout: Option<Span>,
    /// The number of attempts after which the workflow's own policy gives up.
    maximum_attempts: Option<u32>,
    /// The input: a list of arguments.
    #[schema(value_type = Option<Vec<Object>>)]
    input: Option<Vec<Value>>,
}

/// What a change would move.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ChangePreview)]
pub(super) struct Previewed {
    /// How many activities it is for.
    pending: u64,
    /// How many would be tried sooner.
    sooner: u64,
    /// How many would be tried later.
    later: u64,
    /// How many would not be tried again.
    ended: u64,
    /// How many would be parked.
    parked: u64,
    /// When the most of all that are pending would be tried at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak: Option<Peak>,
    /// Whether there are more than were looked at.
    cut: bool,
    moved: Vec<MovedActivity>,
}

/// The most attempts in one second.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = PreviewPeak)]
pub(super) struct Peak {
    /// How many.
    rate: u64,
    /// How long until then.
    after: Span,
}

/// An activity, and when it is tried next.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MovedActivity {
    workflow_id: String,
    run_id: String,
    activity_id: String,
    activity_type: String,
    /// When it is tried next as things are.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Time>,
    /// When it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Time>,
    /// Whether it would not be tried again.
    ends: bool,
    /// Whether it would be parked.
    parks: bool,
}

/// That it was done.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct Done {}

/// Changes errors.
pub(super) async fn change_errors(
    call: Call,
    Body(body): Body<ChangeErrors>,
) -> Result<Outcomes, Fault> {
    let change = body.change.for_call(&call, body.now, body.reason)?;
    let selection = body.select.engine()?;
    Ok(call.engine.change_errors(&call.namespace, selection, &change).await?.into())
}

/// Says what that would move.
pub(super) async fn preview_errors(
    call: Call,
    Body(body): Body<ChangeErrors>,
) -> Result<Previewed, Fault> {
    let change = body.change.for_call(&call, body.now, body.reason)?;
    let selection = body.select.engine()?;
    Ok(call.engine.preview_change(&call.namespace, selection, &change).await?.into())
}

/// Changes activities of a workflow, whether they have failed or not.
pub(super) async fn change_activities(
    call: Call,
    Body(body): Body<ChangeActivities>,
) -> Result<Done, Fault> {
    let change = body.change.for_call(&call, body.now, body.reason)?;
    let (execution, selector) = body.which.engine(&call)?;
    call.engine.change_activities(&call.namespace, &execution, selector, &change).await?;
    Ok(Done {})
}

/// Says what that would move.
pub(super) async fn preview_activities(
    call: Call,
    Body(body): Body<ChangeActivities>,
) -> Result<Previewed, Fault> {
    let change = body.change.for_call(&call, body.now, body.reason)?;
    let (execution, selector) = body.which.engine(&call)?;
    let seen = call.engine.preview_activities(&call.namespace, &execution, selector, &change);
    Ok(seen.await?.into())
}

/// Parks activities of a workflow, whether they have failed or not.
pub(super) async fn park_activities(
    call: Call,
    Body(body): Body<ActivitiesAct>,
) -> Result<Done, Fault> {
    let (execution, selector) = body.which.engine(&call)?;
    let who = call.who(body.reason);
    call.engine.park_activities(&call.namespace, &execution, selector, &who).await?;
    Ok(Done {})
}

/// Has activities of a workflow that wait for their next attempt be tried at once.
pub(super) async fn retry_activities_now(
    call: Call,
    Body(body): Body<ActivitiesAct>,
) -> Result<Done, Fault> {
    let (execution, selector) = body.which.engine(&call)?;
    let who = call.who(body.reason);
    call.engine.retry_activities_now(&call.namespace, &execution, selector, &who).await?;
    Ok(Done {})
}

impl Which {
    fn engine(self, call: &Call) -> Result<(WorkflowExecution, Selector), Fault> {
        let selector = match (self.activity_id, self.activity_type, self.all) {
            (Some(id), None, None | Some(false)) => Selector::Id(id),
            (None, Some(name), None | Some(false)) => Selector::Type(name),
            (None, None, Some(true)) => Selector::All,
            _ => {
                let message = "which: say which activities are meant, by exactly one of \
                               `activityId`, `activityType` and `all: true`";
                return Err(Fault::invalid(message).at("which"));
            }
        };
        let execution = WorkflowExecution {
            workflow_id: call.part("workflowId").to_owned(),
            run_id: self.run_id.unwrap_or_default(),
        };
        Ok((execution, selector))
    }
}

impl Different {
    fn for_call(
        self,
        call: &Call,
        now: Option<bool>,
        reason: Option<String>,
    ) -> Result<Change, Fault> {
        let now = now.unwrap_or_default();
        // Without a change, waits are reckoned anew by the rules that hold now.
        let what =
            if now && self.is_empty() { ActivityChange::default() } else { self.engine("change")? };
        Ok(Change { who: call.who(reason), what, now })
    }

    fn is_empty(&self) -> bool {
        let Self { policy, input, maximum_attempts, .. } = self;
        let spans = [
            self.start_to_close_timeout,
            self.schedule_to_close_timeout,
            self.schedule_to_start_timeout,
            self.heartbeat_timeout,
        ];
        let is_limited = spans.iter().any(Option::is_some) || maximum_attempts.is_some();
        policy.is_none() && input.is_none() && !is_limited
    }

    /// As the core has it; `field` is where it came from.
    pub(super) fn engine(self, field: &str) -> Result<ActivityChange, Fault> {
        let policy = self.policy.map(|policy| policy_text(field, policy)).transpose()?;
        let wire = |span: Option<Span>| span.map(|Span(span)| prost_duration(span));
        let options = ActivityOptions {
            start_to_close_timeout: wire(self.start_to_close_timeout),
            schedule_to_close_timeout: wire(self.schedule_to_close_timeout),
            schedule_to_start_timeout: wire(self.schedule_to_start_timeout),
            heartbeat_timeout: wire(self.heartbeat_timeout),
            retry_policy: self.maximum_attempts.map(|attempts| {
                steadfast_proto::common::RetryPolicy {
                    maximum_attempts: i32::try_from(attempts).unwrap_or(i32::MAX),
                    ..Default::default()
                }
            }),
            ..ActivityOptions::default()
        };
        let mask: Vec<String> = [
            (options.start_to_close_timeout.is_some(), "start_to_close_timeout"),
            (options.schedule_to_close_timeout.is_some(), "schedule_to_close_timeout"),
            (options.schedule_to_start_timeout.is_some(), "schedule_to_start_timeout"),
            (options.heartbeat_timeout.is_some(), "heartbeat_timeout"),
            (options.retry_policy.is_some(), "retry_policy.maximum_attempts"),
        ]
        .into_iter()
        .filter(|(is_given, _)| *is_given)
        .map(|(_, name)| name.to_owned())
        .collect();
        if policy.is_none() && mask.is_empty() && self.input.is_none() {
            let message = format!("{field}: say what is to become different");
            return Err(Fault::invalid(message).at(field));
        }
        let input = self.input.as_deref().map(payloads);
        Ok(ActivityChange { policy, options, mask, input })
    }
}

/// A policy as the core keeps it; an empty text goes back to the workflow's own.
fn policy_text(field: &str, value: Value) -> Result<String, Fault> {
    if value.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(String::new());
    }
    let field = format!("{field}.policy");
    let draft = draft(&field, value)?;
    if let Err(invalid) = steadfast_retry::Policy::new(draft.clone()) {
        return Err(Fault::invalid(format!("{field}: {invalid}")).at(field));
    }
    serde_json::to_string(&draft).map_err(|error| Fault::invalid(error.to_string()))
}

fn prost_duration(span: std::time::Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(span.subsec_nanos()).unwrap_or_default(),
    }
}

impl From<Preview> for Previewed {
    fn from(preview: Preview) -> Self {
        Self {
            pending: preview.pending,
            sooner: preview.sooner,
            later: preview.later,
            ended: preview.ended,
            parked: preview.parked,
            peak: preview.peak.map(|(rate, after)| Peak { rate, after: Span(after) }),
            cut: preview.is_cut,
            moved: preview.moved.into_iter().map(MovedActivity::from).collect(),
        }
    }
}

impl From<Moved> for MovedActivity {
    fn from(moved: Moved) -> Self {
        Self {
            workflow_id: moved.workflow_id,
            run_id: moved.run_id,
            activity_id: moved.activity_id,
            activity_type: moved.activity_type,
            from: moved.from.map(Time),
            to: moved.to.map(Time),
            ends: moved.ends,
            parks: moved.parks,
        }
    }
}
