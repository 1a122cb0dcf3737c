//! Retry policies of operators: named, in versions, asked before or after those of authors.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_engine::failures::{NewPolicy, OperatorPolicy, PolicyVersion, Position, Scope};
use steadfast_retry::pattern::NamePattern;
use utoipa::{IntoParams, ToSchema};

use super::{
    call::Call,
    changing::{Done, Previewed},
    fault::Fault,
    input::{Body, Nothing, Query},
    wire::{Time, draft},
};

/// A policy as somebody puts it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = PutPolicy)]
pub(super) struct Put {
    /// What it says.
    #[schema(value_type = Object)]
    policy: Value,
    /// When it is asked; before the author's if it is not said.
    #[serde(default)]
    position: PositionName,
    /// Which work it is for.
    #[serde(default)]
    scope: ScopeBody,
    /// The version that you have seen; leave it out if there is to be none yet.
    expected_version: Option<u32>,
    /// Whether it is meant to take every failure of the namespace.
    #[serde(default)]
    all: bool,
    /// Why, for the record of changes.
    reason: Option<String>,
}

/// When a policy is asked.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PolicyPosition)]
pub(super) enum PositionName {
    /// Before what the author of the workflow says.
    #[default]
    Before,
    /// After the author's rules, before the author's default.
    After,
    /// Not by itself: it is given to work that is already retrying.
    Named,
}

/// Which work a policy is for: names, globs or /regular expressions/. What is not given does not
/// restrict.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = PolicyScope)]
pub(super) struct ScopeBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    workflow_type: Option<NamePattern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    activity: Option<NamePattern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    activity_kind: Option<NamePattern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    task_queue: Option<NamePattern>,
}

/// A policy as it was from one change to the next.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PolicyVersion)]
pub(super) struct Kept {
    name: String,
    /// From 1.
    version: u32,
    /// When it was put.
    at: Time,
    by: String,
    reason: String,
    position: PositionName,
    scope: ScopeBody,
    /// What it says.
    #[schema(value_type = Object)]
    policy: Value,
    /// What looks wrong with it, told when it is put.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Policies, or the versions of one.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PolicyVersions)]
pub(super) struct Versions {
    policies: Vec<Kept>,
}

/// Which version is to be removed.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(super) struct Expected {
    /// The version that you have seen: if somebody has put another since, nothing is removed.
    expected_version: Option<u32>,
}

/// Which version is to be shown.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(super) struct Shown {
    /// The version; the one that holds if it is not said.
    version: Option<u32>,
}

/// Lists those that hold.
pub(super) async fn list(call: Call, _: Nothing) -> Result<Versions, Fault> {
    let book = call.engine.failure_book(&call.namespace)?;
    let current = |policy: &OperatorPolicy| {
        policy.current().map(|version| Kept::of(&policy.name, version.clone()))
    };
    Ok(Versions { policies: book.policies.iter().filter_map(current).collect() })
}

/// Shows one.
pub(super) async fn get(call: Call, Query(shown): Query<Shown>) -> Result<Kept, Fault> {
    let name = call.part("name");
    let all = versions_of(&call)?;
    let found = match shown.version {
        None => all.into_iter().next_back(),
        Some(number) => all.into_iter().find(|version| version.version == number),
    };
    found.ok_or_else(|| Fault::not_found(format!("policy {name:?} has no such version")))
}

/// Lists the versions of one, the oldest first.
pub(super) async fn versions(call: Call, _: Nothing) -> Result<Versions, Fault> {
    Ok(Versions { policies: versions_of(&call)? })
}

/// Says what one would change, if it were put.
pub(super) async fn preview(call: Call, Body(put): Body<Put>) -> Result<Previewed, Fault> {
    let new = put.engine(call.part("name"))?;
    Ok(call.engine.preview_policy(&call.namespace, new).await?.into())
}

/// Puts one, as its next version.
pub(super) async fn put(call: Call, Body(mut put): Body<Put>) -> Result<Kept, Fault> {
    let name = call.part("name").to_owned();
    let who = call.who(put.reason.take());
    let new = put.engine(&name)?;
    let (version, warnings) = call.engine.put_policy(&call.namespace, new, who).await?;
    Ok(Kept { warnings, ..Kept::of(&name, version) })
}

/// Removes one.
pub(super) async fn delete(call: Call, Query(expected): Query<Expected>) -> Result<Done, Fault> {
    let (name, who) = (call.part("name"), call.who(None));
    call.engine.delete_policy(&call.namespace, name, expected.expected_version, who).await?;
    Ok(Done {})
}

impl Put {
    /// As the engine has it.
    fn engine(self, name: &str) -> Result<NewPolicy, Fault> {
        Ok(NewPolicy {
            name: name.to_owned(),
            position: self.position.into(),
            scope: self.scope.into(),
            policy: draft("policy", self.policy)?,
            expected: self.expected_version,
            all: self.all,
        })
    }
}

fn versions_of(call: &Call) -> Result<Vec<Kept>, Fault> {
    let name = call.part("name");
    let book = call.engine.failure_book(&call.namespace)?;
    let found = book.policies.iter().find(|policy| policy.name == name);
    let found = found.ok_or_else(|| Fault::not_found(format!("there is no policy {name:?}")))?;
    Ok(found.versions.iter().map(|version| Kept::of(name, version.clone())).collect())
}

impl Kept {
    fn of(name: &str, version: PolicyVersion) -> Self {
        Self {
            name: name.to_owned(),
            version: version.version,
            at: Time(steadfast_engine::Timestamp(version.at)),
            by: version.who.identity,
            reason: version.who.reason,
            position: version.position.into(),
            scope: version.scope.into(),
            policy: serde_json::to_value(&version.policy).unwrap_or_default(),
            warnings: Vec::new(),
        }
    }
}

impl From<PositionName> for Position {
    fn from(name: PositionName) -> Self {
        match name {
            PositionName::Before => Self::Before,
            PositionName::After => Self::After,
            PositionName::Named => Self::Named,
        }
    }
}

impl From<Position> for PositionName {
    fn from(position: Position) -> Self {
        match position {
            Position::Before => Self::Before,
            Position::After => Self::After,
            Position::Named => Self::Named,
        }
    }
}

impl From<ScopeBody> for Scope {
    fn from(scope: ScopeBody) -> Self {
        let ScopeBody { workflow_type, activity, activity_kind, task_queue } = scope;
        Self { workflow_type, activity, activity_kind, task_queue }
    }
}

impl From<Scope> for ScopeBody {
    fn from(scope: Scope) -> Self {
        let Scope { workflow_type, activity, activity_kind, task_queue } = scope;
        Self { workflow_type, activity, activity_kind, task_queue }
    }
}
