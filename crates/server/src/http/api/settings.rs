//! The settings of a namespace that concern failures, and the record of what was changed.

use serde::{Deserialize, Serialize};
use steadfast_engine::failures::{
    BookChange, EndingSetting, KeySetting, Notify, Occasion, Settings, SignalTarget,
};
use steadfast_retry::{Ending, pattern::NamePattern};
use utoipa::ToSchema;

use super::{
    call::Call,
    fault::Fault,
    input::{Body, Nothing},
    wire::{Span, Time},
};

/// What becomes of work that is given up, and who is told.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = FailureSettings)]
pub(super) struct SettingsBody {
    /// How often resumes that are due are looked for, at least `1s`; `0s`, as when nothing is said, if each
    /// comes when it is due. Another period holds from the next search on.
    #[serde(default = "frequency")]
    auto_resume_check_frequency: Span,
    /// What becomes of an activity whose policy gives it up. The first that matches holds; one that
    /// none matches fails into its workflow.
    #[serde(default)]
    endings: Vec<EndingBody>,
    /// After how many workers lost in a row work counts as poison and is parked; 0 for never.
    #[serde(default)]
    poison_after: u32,
    /// After how many failures in a row the workflow task of a run is parked; 0 for never.
    #[serde(default)]
    park_tasks_after: u32,
    /// Who is told, and of what.
    #[serde(default)]
    notify: Vec<NotifyBody>,
    /// How long those whom activities call remember idempotency keys, where the author does not say
    /// it. The first that matches holds.
    #[serde(default)]
    idempotency: Vec<KeyBody>,
    /// The version of the namespace's settings and policies that these were read from. If it is given
    /// back, what somebody else has changed since is not overwritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

/// What becomes of certain activities that are given up.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = EndingSetting)]
pub(super) struct EndingBody {
    /// The workflow types: a name, a glob or a /regular expression/; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    workflow_type: Option<NamePattern>,
    /// The activity types, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    activity: Option<NamePattern>,
    /// What becomes of them.
    ending: EndingName,
    /// How long parked work is kept; for ever if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<Span>,
    /// What becomes of it then.
    #[serde(default)]
    then: EndingName,
}

/// How long those whom certain activities call remember idempotency keys.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = IdempotencySetting)]
pub(super) struct KeyBody {
    /// The workflow types: a name, a glob or a /regular expression/; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    workflow_type: Option<NamePattern>,
    /// The activity types, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    activity: Option<NamePattern>,
    /// How long.
    ttl: Span,
}

/// How work ends that is given up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Ending)]
pub(super) enum EndingName {
    /// It fails into its workflow.
    #[default]
    Fail,
    /// It is kept, and waits for a resume.
    Park,
    /// It fails into its workflow, and is kept to be looked at.
    DeadLetter,
    /// Not for settings: only the workflow's code can undo its work.
    Compensate,
}

/// Somebody who wants to know: by a webhook, a signal, or both.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = NotifySetting)]
pub(super) struct NotifyBody {
    /// Of what; of everything if it is empty.
    #[serde(default)]
    on: Vec<OccasionName>,
    /// An address that is sent a JSON document by POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<String>,
    /// A workflow that is sent a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<SignalBody>,
}

/// Something worth telling.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = NotifyOccasion)]
pub(super) enum OccasionName {
    /// Work was parked.
    Parked,
    /// Work was put aside for good.
    DeadLetter,
}

/// The workflow that hears of failures by a signal.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = SignalTarget)]
pub(super) struct SignalBody {
    /// Its id, in the same namespace.
    workflow_id: String,
    /// The signal's name.
    name: String,
}

/// What was changed in the settings and policies, the newest last.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Changes {
    changes: Vec<ChangeItem>,
}

/// One change.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Change)]
pub(super) struct ChangeItem {
    version: u64,
    at: Time,
    by: String,
    reason: String,
    what: String,
}

/// Shows the settings.
pub(super) async fn get(call: Call, _: Nothing) -> Result<SettingsBody, Fault> {
    let book = call.engine.failure_book(&call.namespace)?;
    Ok(SettingsBody { version: Some(book.version), ..book.settings.clone().into() })
}

/// Puts others in their place.
pub(super) async fn put(call: Call, Body(body): Body<SettingsBody>) -> Result<SettingsBody, Fault> {
    let who = call.who(None);
    let engine = match body.version {
        Some(version) => call.engine.if_book_is(version),
        None => call.engine.clone(),
    };
    engine.set_failure_settings(&call.namespace, body.into(), who).await?;
    get(call, Nothing).await
}

/// Lists what was changed.
pub(super) async fn changes(call: Call, _: Nothing) -> Result<Changes, Fault> {
    let book = call.engine.failure_book(&call.namespace)?;
    Ok(Changes { changes: book.changes.iter().cloned().map(ChangeItem::from).collect() })
}

fn frequency() -> Span {
    Span(Settings::default().auto_resume_check_frequency)
}

impl From<SettingsBody> for Settings {
    fn from(body: SettingsBody) -> Self {
        Self {
            auto_resume_check_frequency: body.auto_resume_check_frequency.0,
            endings: body.endings.into_iter().map(EndingSetting::from).collect(),
            poison_after: body.poison_after,
            park_tasks_after: body.park_tasks_after,
            notify: body.notify.into_iter().map(Notify::from).collect(),
            idempotency: body.idempotency.into_iter().map(KeySetting::from).collect(),
        }
    }
}

impl From<Settings> for SettingsBody {
    fn from(settings: Settings) -> Self {
        Self {
            auto_resume_check_frequency: Span(settings.auto_resume_check_frequency),
            endings: settings.endings.into_iter().map(EndingBody::from).collect(),
            poison_after: settings.poison_after,
            park_tasks_after: settings.park_tasks_after,
            notify: settings.notify.into_iter().map(NotifyBody::from).collect(),
            idempotency: settings.idempotency.into_iter().map(KeyBody::from).collect(),
            version: None,
        }
    }
}

impl From<EndingBody> for EndingSetting {
    fn from(body: EndingBody) -> Self {
        Self {
            workflow_type: body.workflow_type,
            activity: body.activity,
            ending: body.ending.into(),
            ttl: body.ttl.map(|span| span.0),
            then: body.then.into(),
        }
    }
}

impl From<EndingSetting> for EndingBody {
    fn from(setting: EndingSetting) -> Self {
        Self {
            workflow_type: setting.workflow_type,
            activity: setting.activity,
            ending: setting.ending.into(),
            ttl: setting.ttl.map(Span),
            then: setting.then.into(),
        }
    }
}

impl From<KeyBody> for KeySetting {
    fn from(body: KeyBody) -> Self {
        let KeyBody { workflow_type, activity, ttl } = body;
        Self { workflow_type, activity, ttl: ttl.0 }
    }
}

impl From<KeySetting> for KeyBody {
    fn from(setting: KeySetting) -> Self {
        let KeySetting { workflow_type, activity, ttl } = setting;
        Self { workflow_type, activity, ttl: Span(ttl) }
    }
}

impl From<EndingName> for Ending {
    fn from(name: EndingName) -> Self {
        match name {
            EndingName::Fail => Self::Fail,
            EndingName::Park => Self::Park,
            EndingName::DeadLetter => Self::DeadLetter,
            EndingName::Compensate => Self::Compensate,
        }
    }
}

impl From<Ending> for EndingName {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Fail => Self::Fail,
            Ending::Park => Self::Park,
            Ending::DeadLetter => Self::DeadLetter,
            Ending::Compensate => Self::Compensate,
        }
    }
}

impl From<NotifyBody> for Notify {
    fn from(body: NotifyBody) -> Self {
        let occasion = |name| match name {
            OccasionName::Parked => Occasion::Parked,
            OccasionName::DeadLetter => Occasion::DeadLetter,
        };
        let signal =
            body.signal.map(|it| SignalTarget { workflow_id: it.workflow_id, name: it.name });
        Self { on: body.on.into_iter().map(occasion).collect(), webhook: body.webhook, signal }
    }
}

impl From<Notify> for NotifyBody {
    fn from(notify: Notify) -> Self {
        let occasion = |occasion| match occasion {
            Occasion::Parked => OccasionName::Parked,
            Occasion::DeadLetter => OccasionName::DeadLetter,
        };
        let signal =
            notify.signal.map(|it| SignalBody { workflow_id: it.workflow_id, name: it.name });
        Self { on: notify.on.into_iter().map(occasion).collect(), webhook: notify.webhook, signal }
    }
}

impl From<BookChange> for ChangeItem {
    fn from(change: BookChange) -> Self {
        Self {
            version: change.version,
            at: Time(steadfast_engine::Timestamp(change.at)),
            by: change.who.identity,
            reason: change.who.reason,
            what: change.what,
        }
    }
}
