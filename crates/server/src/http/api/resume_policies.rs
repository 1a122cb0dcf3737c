//! Resume policies: when parked work goes on by itself.

use serde::{Deserialize, Serialize};
use steadfast_retry::resume;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    call::Call,
    fault::Fault,
    input::{Body, Nothing},
};

/// A policy as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct PolicyDraft(resume::Draft);

/// A policy as it is kept.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct PolicyItem(resume::Policy);

/// What both say. It is written down for the document; a test holds it to the type that is read.
#[derive(ToSchema)]
#[schema(as = ResumePolicy, rename_all = "camelCase")]
#[expect(dead_code, reason = "its fields are described, not read")]
struct Described {
    /// Made when it is not given.
    id: Option<String>,
    /// What people call it; no two have the same.
    name: String,
    /// Found somewhere in the error's cause.
    error_substring: Option<String>,
    /// Exactly this workflow type.
    flow: Option<String>,
    /// Exactly this activity, with its workflow type in front: `Order.Charge`.
    action: Option<String>,
    /// Exactly this kind of activity. `WORKFLOW` takes runs that have failed, which no other policy does:
    /// they go on from before the step that failed.
    action_type: Option<String>,
    /// Attempts in all, the first one included; at least 2.
    max_attempts: u32,
    /// Higher is asked first; computed from the criteria when it is not given.
    priority: Option<i64>,
    back_off: DescribedBackOff,
}

/// How long to wait, in seconds.
#[derive(ToSchema)]
#[schema(as = ResumeBackOff, rename_all = "camelCase")]
#[expect(dead_code, reason = "its fields are described, not read")]
struct DescribedBackOff {
    /// The wait; with `multiplier`, it is multiplied by that and by the attempts so far.
    delay: u64,
    /// The longest wait.
    max_delay: Option<u64>,
    multiplier: Option<u64>,
    /// Whether the wait is drawn between `delay` and `maxDelay`.
    random: Option<bool>,
}

/// Policies.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ResumePolicies)]
pub(super) struct PolicyList {
    /// In the order in which they are asked.
    policies: Vec<PolicyItem>,
    /// The version of the namespace's settings and policies. A change with `if-match` and this number
    /// is refused if somebody else has changed something since.
    version: u64,
}

/// Policies to be loaded.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = ResumePolicyLoad)]
pub(super) struct Load {
    /// Whether those that are there go away first.
    #[serde(default)]
    replace_all: bool,
    policies: Vec<PolicyDraft>,
    /// Why, for the record of changes.
    reason: Option<String>,
}

/// What came of each, in their order.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ResumePolicyLoaded)]
pub(super) struct Loaded {
    results: Vec<LoadResult>,
}

/// What came of one.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ResumePolicyResult)]
pub(super) struct LoadResult {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyItem>,
    /// Everything that is wrong with it.
    errors: Vec<String>,
}

/// How many errors a policy would take.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ResumePolicyDryRun)]
pub(super) struct DryRun {
    count: u64,
    info: String,
}

/// Policies to be applied to errors that are there.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = ResumePolicyApply)]
pub(super) struct Apply {
    /// Their names; the first that takes an error is its.
    names: Vec<String>,
    /// Why, for the record of changes.
    reason: Option<String>,
}

/// How many errors each took.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ResumePolicyApplied)]
pub(super) struct Applied {
    applied: Vec<AppliedPolicy>,
    /// The same in words.
    info: Vec<String>,
}

/// How many errors a policy took.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct AppliedPolicy {
    name: String,
    count: u64,
}

/// Lists them.
pub(super) async fn list(call: Call, _: Nothing) -> Result<PolicyList, Fault> {
    let book = call.engine.failure_book(&call.namespace)?;
    let policies = resume::Policies::new(book.resume_policies.iter().cloned());
    let policies = policies.in_order().cloned().map(PolicyItem).collect();
    Ok(PolicyList { policies, version: book.version })
}

/// Shows one, by its id or its name.
pub(super) async fn get(call: Call, _: Nothing) -> Result<PolicyItem, Fault> {
    let id = call.part("id");
    let book = call.engine.failure_book(&call.namespace)?;
    let found = book.resume_policies.iter().find(|it| it.id == id || it.name == id);
    let found = found.cloned().map(PolicyItem);
    found.ok_or_else(|| {
        Fault::not_found(format!("there is no resume policy with the id or name {id:?}"))
    })
}

/// Adds one.
pub(super) async fn create(
    call: Call,
    Body(draft): Body<PolicyDraft>,
) -> Result<PolicyItem, Fault> {
    let who = call.who(None);
    Ok(PolicyItem(call.engine.create_resume_policy(&call.namespace, draft.0, who).await?))
}

/// Puts another in the place of one.
pub(super) async fn update(
    call: Call,
    Body(draft): Body<PolicyDraft>,
) -> Result<PolicyItem, Fault> {
    let (id, who) = (call.part("id"), call.who(None));
    Ok(PolicyItem(call.engine.update_resume_policy(&call.namespace, id, draft.0, who).await?))
}

/// Removes one.
pub(super) async fn delete(call: Call, _: Nothing) -> Result<PolicyItem, Fault> {
    let (id, who) = (call.part("id"), call.who(None));
    Ok(PolicyItem(call.engine.delete_resume_policy(&call.namespace, id, who).await?))
}

/// Adds many.
pub(super) async fn load(call: Call, Body(load): Body<Load>) -> Result<Loaded, Fault> {
    let drafts = load.policies.into_iter().map(|draft| draft.0).collect();
    let who = call.who(load.reason);
    let loaded =
        call.engine.load_resume_policies(&call.namespace, drafts, load.replace_all, who).await?;
    Ok(Loaded { results: loaded.into_iter().map(LoadResult::from).collect() })
}

/// Says how many errors one would take.
pub(super) async fn dry_run(call: Call, Body(draft): Body<PolicyDraft>) -> Result<DryRun, Fault> {
    let count = call.engine.try_resume_policy(&call.namespace, draft.0).await?;
    Ok(DryRun { count, info: format!("can apply to {count} {}", errors(count)) })
}

/// Schedules resumes for the errors that are there.
pub(super) async fn apply(call: Call, Body(apply): Body<Apply>) -> Result<Applied, Fault> {
    if apply.names.is_empty() {
        return Err(Fault::invalid("names: name at least one resume policy").at("names"));
    }
    let who = call.who(apply.reason);
    let counts = call.engine.apply_resume_policies(&call.namespace, &apply.names, who).await?;
    let info = counts.iter().map(|(name, count)| match count {
        0 => format!("no errors for resume policy {name:?}"),
        _ => format!("applied resume policy {name:?} to {count} {}", errors(*count)),
    });
    Ok(Applied {
        info: info.collect(),
        applied: counts.into_iter().map(|(name, count)| AppliedPolicy { name, count }).collect(),
    })
}

fn errors(count: u64) -> &'static str {
    if count == 1 { "error" } else { "errors" }
}

impl From<Result<resume::Policy, resume::Invalid>> for LoadResult {
    fn from(result: Result<resume::Policy, resume::Invalid>) -> Self {
        match result {
            Ok(policy) => {
                Self { success: true, policy: Some(PolicyItem(policy)), errors: Vec::new() }
            }
            Err(invalid) => Self {
                success: false,
                policy: None,
                errors: invalid.faults.iter().map(ToString::to_string).collect(),
            },
        }
    }
}

impl PartialSchema for PolicyDraft {
    fn schema() -> RefOr<Schema> {
        Described::schema()
    }
}

impl ToSchema for PolicyDraft {
    fn name() -> std::borrow::Cow<'static, str> {
        Described::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Described::schemas(schemas);
    }
}

impl PartialSchema for PolicyItem {
    fn schema() -> RefOr<Schema> {
        Described::schema()
    }
}

impl ToSchema for PolicyItem {
    fn name() -> std::borrow::Cow<'static, str> {
        Described::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Described::schemas(schemas);
    }
}
