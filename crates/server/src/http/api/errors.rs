//! What is failing: one by one, in groups, and every attempt of a workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use steadfast_engine::{Timestamp, failures::ErrorId, fingerprint};
use steadfast_store::{ErrorEntry, ErrorGroup, ErrorGroupRow, ErrorPosition, Order, RunNumber};
use utoipa::{IntoParams, ToSchema};

use super::{
    call::Call,
    fault::Fault,
    input::{Nothing, Query, Split},
    wire::{Filter, StateName, Time},
};

/// How a list is cut into pages.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(super) struct Paging {
    /// Which come first, by their last failure; the newest if it is not said.
    #[param(inline)]
    order: Option<OrderName>,
    /// The most to list; 100 if it is not said.
    limit: Option<u16>,
    /// What the page before gave as `nextPageToken`.
    page_token: Option<String>,
}

/// How errors are put together.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(super) struct By {
    /// What those of one group have in common.
    #[param(inline)]
    by: GroupName,
    /// The most groups to list; 100 if it is not said.
    limit: Option<u16>,
}

/// Which come first.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Order)]
pub(super) enum OrderName {
    /// Those that failed last.
    Newest,
    /// Those that failed longest ago.
    Oldest,
}

/// What errors of a group have in common.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GroupBy)]
pub(super) enum GroupName {
    /// The type of their workflow.
    Flow,
    /// The types of their workflow and their activity.
    Activity,
    /// Their exact cause.
    Cause,
    /// Their fingerprint: causes that differ only in numbers, ids and quoted text.
    Fingerprint,
}

/// One error.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Error)]
pub(super) struct ErrorItem {
    /// Its id, by which it can be resumed, acknowledged, and so on.
    id: String,
    workflow_id: String,
    run_id: String,
    workflow_type: String,
    /// The activity's id; empty if the run itself or its workflow task has failed.
    activity_id: String,
    activity_type: String,
    /// The kind of action, if its author said so.
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    /// What of the workflow has failed.
    subject: Subject,
    state: StateName,
    /// How often it was tried.
    attempts: u32,
    /// The type of the last failure.
    error_type: String,
    /// What the last failure said.
    cause: String,
    /// Equal for causes that differ only in numbers, ids and quoted text.
    fingerprint: String,
    first_at: Time,
    last_at: Time,
    /// When it is tried next, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<Time>,
    /// When a policy resumes it: the same as `nextAt` while it is parked or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_auto_resume: Option<Time>,
    /// The name of that policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_auto_resume_reason: Option<String>,
    /// Why it is as it is.
    reason: String,
    /// How often it was resumed.
    resumes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    acknowledged: Option<Acknowledgement>,
}

/// What of a workflow has failed.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Subject {
    /// An activity.
    Activity,
    /// The run itself.
    Run,
    /// Its workflow task: the workflow's code cannot go on.
    WorkflowTask,
}

/// That somebody has seen to an error.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Acknowledgement {
    at: Time,
    by: String,
    reason: String,
}

/// A page of errors.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorPage {
    errors: Vec<ErrorItem>,
    /// What to ask for the next page with; there is none without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct Count {
    count: u64,
}

/// Errors that have something in common.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ErrorGroup)]
pub(super) struct Group {
    count: u64,
    /// How many of them are acknowledged.
    acknowledged: u64,
    /// How many of them are in which state.
    states: BTreeMap<String, u64>,
    first_at: Time,
    last_at: Time,
    /// One of them; what they have in common is in it.
    example: ErrorItem,
}

/// Groups, the largest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ErrorGroups)]
pub(super) struct Groups {
    groups: Vec<Group>,
}

/// Lists errors.
pub(super) async fn list(
    call: Call,
    Split(page, filter): Split<Paging, Filter>,
) -> Result<ErrorPage, Fault> {
    let order = match page.order {
        None | Some(OrderName::Newest) => Order::Backward,
        Some(OrderName::Oldest) => Order::Forward,
    };
    let after = page.page_token.as_deref().map(position).transpose()?;
    let limit = i32::from(page.limit.unwrap_or(LIMIT).max(1));
    let filter = filter.engine()?;
    let listing = call.engine.list_errors(&call.namespace, filter, order, after, limit).await?;
    Ok(ErrorPage {
        errors: listing.errors.into_iter().map(ErrorItem::from).collect(),
        next_page_token: listing.next.map(token),
    })
}

/// Counts errors.
pub(super) async fn count(call: Call, Query(filter): Query<Filter>) -> Result<Count, Fault> {
    let count = call.engine.count_errors(&call.namespace, filter.engine()?).await?;
    Ok(Count { count })
}

/// Shows one error.
pub(super) async fn get(call: Call, _: Nothing) -> Result<ErrorItem, Fault> {
    let id = call.part("id").parse();
    let id = id.map_err(|error| Fault::invalid(format!("id: {error}")).at("id"))?;
    Ok(call.engine.describe_error(&call.namespace, id).await?.into())
}

/// Puts errors together.
pub(super) async fn groups(
    call: Call,
    Split(by, filter): Split<By, Filter>,
) -> Result<Groups, Fault> {
    let limit = i32::from(by.limit.unwrap_or(LIMIT).max(1));
    let by = match by.by {
        GroupName::Flow => ErrorGroup::WorkflowType,
        GroupName::Activity => ErrorGroup::Activity,
        GroupName::Cause => ErrorGroup::Cause,
        GroupName::Fingerprint => ErrorGroup::Fingerprint,
    };
    let found = call.engine.group_errors(&call.namespace, filter.engine()?, by, limit).await?;
    Ok(Groups { groups: found.into_iter().map(Group::from).collect() })
}

impl From<ErrorEntry> for ErrorItem {
    fn from(entry: ErrorEntry) -> Self {
        let id = ErrorId::from(&entry);
        let row = entry.row;
        let state = StateName::from(row.state);
        let next_at = row.next_at.map(Time);
        let next_auto_resume = next_at.filter(|_| state != StateName::Retrying);
        Self {
            id: id.to_string(),
            workflow_id: entry.identity.workflow_id,
            run_id: entry.identity.run_id,
            workflow_type: row.workflow_type,
            activity_id: row.activity_id,
            activity_type: row.activity_type,
            kind: row.kind,
            subject: subject(entry.subject),
            state,
            attempts: row.attempts,
            error_type: row.error_type,
            cause: row.cause,
            fingerprint: fingerprint::text(row.fingerprint),
            first_at: Time(row.first_at),
            last_at: Time(row.last_at),
            next_at,
            next_auto_resume,
            next_auto_resume_reason: next_auto_resume.map(|_| row.reason.clone()),
            reason: row.reason,
            resumes: row.resumes,
            acknowledged: row.acknowledged.map(|it| Acknowledgement {
                at: Time(it.at),
                by: it.by,
                reason: it.reason,
            }),
        }
    }
}

impl From<ErrorGroupRow> for Group {
    fn from(row: ErrorGroupRow) -> Self {
        let states = row.states.into_iter().map(|(state, count)| (state.name().to_owned(), count));
        Self {
            count: row.count,
            acknowledged: row.acknowledged,
            states: states.collect(),
            first_at: Time(row.first_at),
            last_at: Time(row.last_at),
            example: row.example.into(),
        }
    }
}

/// What of a run a number means.
pub(super) fn subject(number: i64) -> Subject {
    match number {
        0 => Subject::Run,
        1.. => Subject::Activity,
        _ => Subject::WorkflowTask,
    }
}

/// A place in a list, as a text that means nothing to others.
fn token(position: ErrorPosition) -> String {
    use base64::Engine as _;
    let ErrorPosition { last_at, run, subject } = position;
    base64::engine::general_purpose::URL_SAFE_NO_PAD
        .encode(format!("{}.{}.{subject}", last_at.0, run.0))
}

fn position(token: &str) -> Result<ErrorPosition, Fault> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(token).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let numbers: Vec<i64> = text.split('.').filter_map(|part| part.parse().ok()).collect();
    let [last_at, run, subject] = numbers[..] else {
        let message = "pageToken: give back what the page before gave as nextPageToken";
        return Err(Fault::invalid(message).at("pageToken"));
    };
    Ok(ErrorPosition { last_at: Timestamp(last_at), run: RunNumber(run), subject })
}

/// Errors or groups in an answer, if it is not said.
const LIMIT: u16 = 100;
