//! All that operators say about failures in one namespace: read whole, replaced whole.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde::{Deserialize, Serialize};
use steadfast_core::{Rulebook, Timestamp};
use steadfast_retry::resume;
use steadfast_store::{Store, codec};

use super::{
    policies::{NewPolicy, OperatorPolicy, PolicyVersion, Position},
    resume_policies::{Loaded, checked, draft_of, load},
    settings::Settings,
};
use crate::error::{Code, Detail, Error};

/// What operators say about failures in one namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Book {
    /// Grows with every change.
    pub version: u64,
    /// The settings.
    pub settings: Settings,
    /// A search for what is due to be resumed, from which the others are counted, in nanoseconds since
    /// the epoch; nothing if there never was one.
    pub swept_at: Option<i64>,
    /// The retry policies, by name.
    pub policies: Vec<OperatorPolicy>,
    /// The resume policies.
    pub resume_policies: Vec<resume::Policy>,
    /// The last changes, the oldest first.
    pub changes: Vec<BookChange>,
}

/// Who changes something, and why.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Who {
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
}

/// A change of the book.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BookChange {
    /// The version of the book that it made.
    pub version: u64,
    /// When, in nanoseconds since the epoch.
    pub at: i64,
    /// By whom and why.
    #[serde(flatten)]
    pub who: Who,
    /// What was done.
    pub what: String,
}

/// The books of all namespaces.
#[derive(Debug, Default)]
pub(crate) struct Books {
    all: RwLock<BTreeMap<String, Arc<Book>>>,
    /// Whoever changes one looks at it first: one after the other.
    turn: tokio::sync::Mutex<()>,
}

impl Book {
    /// What the core is to ask about every failure.
    pub fn rulebook(&self) -> Rulebook {
        let placed = |position| {
            let mut all = Vec::new();
            self.policies.iter().for_each(|policy| policy.place(position, &mut all));
            all
        };
        Rulebook {
            version: self.version,
            before: placed(Position::Before),
            after: placed(Position::After),
            endings: self.settings.ending_rules(),
            resume: resume::Policies::new(self.resume_policies.iter().cloned()),
            sweep: self.sweep(),
            poison_after: self.settings.poison_after,
            tasks_park_after: self.settings.park_tasks_after,
            listeners: self.settings.listeners(),
            keys: (self.policies.iter().filter_map(OperatorPolicy::key_rule))
                .chain(self.settings.key_rules())
                .collect(),
        }
    }

    /// When what is due to be resumed is looked for, if it is not resumed at once.
    fn sweep(&self) -> Option<resume::Sweep> {
        let period = self.settings.auto_resume_check_frequency;
        let since = self.swept_at.filter(|_| !period.is_zero())?;
        Some(resume::Sweep { period, since: Timestamp(since) })
    }

    /// Refuses to change what somebody else has changed since this version.
    pub(crate) fn check_seen(&self, version: u64) -> Result<(), Error> {
        if version == self.version {
            return Ok(());
        }
        let last = self.changes.last().map(|it| {
            let Who { identity, reason } = &it.who;
            format!(": {} by {identity:?} ({reason})", it.what)
        });
        let message = format!(
            "the settings and policies are at version {}, not {version}{}; look at them, then change \
             what you see",
            self.version,
            last.unwrap_or_default()
        );
        Err(Error::new(Code::Aborted, message))
    }

    /// Writes down that it was changed.
    pub(crate) fn changed(&mut self, at: Timestamp, who: Who, what: String) {
        self.version += 1;
        self.changes.push(BookChange { version: self.version, at: at.nanos(), who, what });
        let surplus = self.changes.len().saturating_sub(CHANGES_MAX);
        self.changes.drain(..surplus);
    }

    /// Puts other settings in the place of these. Whether what is due is looked for at other times then.
    pub(crate) fn set(&mut self, settings: Settings, now: Timestamp) -> Result<bool, Error> {
        refuse(settings.faults())?;
        let period = settings.auto_resume_check_frequency;
        let has_changed = period != self.settings.auto_resume_check_frequency;
        if has_changed {
            let since = self.sweep().map_or(now, |it| it.with_period(period, now).since);
            self.swept_at = Some(since.nanos());
        }
        self.settings = settings;
        Ok(has_changed)
    }

    /// Puts a retry policy, as its next version. What looks wrong with it is given back.
    pub(crate) fn put_policy(
        &mut self,
        put: NewPolicy,
        at: Timestamp,
        who: Who,
    ) -> Result<(PolicyVersion, Vec<String>), Error> {
        refuse(put.faults())?;
        let warnings = put.warnings();
        let name = put.name.clone();
        let expected = put.expected;
        let place = match self.policies.binary_search_by(|it| it.name.cmp(&name)) {
            Ok(place) => {
                seen(&self.policies[place], expected)?;
                place
            }
            Err(_) if expected.is_some_and(|version| version > 0) => return Err(unknown(&name)),
            Err(place) => {
                self.policies.insert(place, OperatorPolicy { name, versions: Vec::new() });
                place
            }
        };
        let policy = &mut self.policies[place];
        let version = PolicyVersion::new(put, policy.version() + 1, at, who);
        policy.versions.push(version.clone());
        let surplus = policy.versions.len().saturating_sub(VERSIONS_MAX);
        policy.versions.drain(..surplus);
        Ok((version, warnings))
    }

    /// Removes a retry policy.
    pub(crate) fn delete_policy(&mut self, name: &str, expected: Option<u32>) -> Result<(), Error> {
        let policy = self.policy(name)?;
        if expected.is_some() {
            seen(policy, expected)?;
        }
        self.policies.retain(|it| it.name != name);
        Ok(())
    }

    /// A retry policy.
    pub(crate) fn policy(&self, name: &str) -> Result<&OperatorPolicy, Error> {
        self.policies.iter().find(|it| it.name == name).ok_or_else(|| unknown(name))
    }

    /// Adds a resume policy.
    pub(crate) fn create_resume_policy(
        &mut self,
        draft: resume::Draft,
        random: u128,
    ) -> Result<resume::Policy, Error> {
        let policy =
            checked(draft, &self.resume_policies, None, random).map_err(|it| invalid(&it))?;
        self.resume_policies.push(policy.clone());
        Ok(policy)
    }

    /// Puts another resume policy in the place of the one with this id.
    pub(crate) fn update_resume_policy(
        &mut self,
        id: &str,
        draft: resume::Draft,
    ) -> Result<resume::Policy, Error> {
        let place = self.resume_place(id)?;
        let draft = resume::Draft { id: Some(id.to_owned()), ..draft };
        let policy =
            checked(draft, &self.resume_policies, Some(id), 0).map_err(|it| invalid(&it))?;
        self.resume_policies[place] = policy.clone();
        Ok(policy)
    }

    /// Removes a resume policy. What it has scheduled stays scheduled.
    pub(crate) fn delete_resume_policy(&mut self, id: &str) -> Result<resume::Policy, Error> {
        let place = self.resume_place(id)?;
        Ok(self.resume_policies.remove(place))
    }

    /// Adds resume policies, in the place of all that there are if `replace_all`.
    pub(crate) fn load_resume_policies(
        &mut self,
        drafts: Vec<resume::Draft>,
        replace_all: bool,
        random: impl FnMut() -> u128,
    ) -> Loaded {
        if replace_all {
            self.resume_policies.clear();
        }
        load(&mut self.resume_policies, drafts, random)
    }

    /// A resume policy, by its id or its name.
    pub(crate) fn resume_policy(&self, name: &str) -> Result<&resume::Policy, Error> {
        let found = self.resume_policies.iter().find(|it| it.id == name || it.name == name);
        found.ok_or_else(|| no_resume_policy(name))
    }

    fn resume_place(&self, id: &str) -> Result<usize, Error> {
        let found = self.resume_policies.iter().position(|it| it.id == id || it.name == id);
        found.ok_or_else(|| no_resume_policy(id))
    }
}

impl Books {
    /// The right to change books, for as long as it is held.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The book of a namespace; an empty one if nothing was said.
    pub(crate) fn of(&self, namespace_id: &str) -> Arc<Book> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(namespace_id).cloned().unwrap_or_default()
    }

    /// Reads the book of a namespace.
    pub(crate) async fn read(
        &self,
        store: &dyn Store,
        namespace_id: &str,
    ) -> Result<Arc<Book>, steadfast_store::Error> {
        if let Some(bytes) = store.setting(setting_name(namespace_id)).await? {
            match read(&bytes) {
                Ok(book) => self.insert(namespace_id, book),
                Err(error) => {
                    tracing::error!(%error, namespace_id, "the rules for failures cannot be read");
                }
            }
        }
        Ok(self.of(namespace_id))
    }

    /// Writes the book of a namespace, and has it hold from now on.
    pub(crate) async fn put(
        &self,
        store: &dyn Store,
        namespace_id: &str,
        book: Book,
    ) -> Result<(), Error> {
        let json = serde_json::to_vec(&Kept::of(&book))
            .map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        let bytes = codec::encode(&Stored { json });
        store.put_setting(setting_name(namespace_id), Some(bytes)).await?;
        self.insert(namespace_id, book);
        Ok(())
    }

    /// Forgets the book of a namespace that is deleted.
    pub(crate) async fn remove(&self, store: &dyn Store, namespace_id: &str) -> Result<(), Error> {
        store.put_setting(setting_name(namespace_id), None).await?;
        self.all.write().unwrap_or_else(PoisonError::into_inner).remove(namespace_id);
        Ok(())
    }

    fn insert(&self, namespace_id: &str, book: Book) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(namespace_id.to_owned(), Arc::new(book));
    }
}

/// A book as it is stored. A tag is never reused.
#[derive(Clone, PartialEq, prost::Message)]
struct Stored {
    /// JSON, in the words in which policies are written.
    #[prost(bytes = "vec", tag = "1")]
    json: Vec<u8>,
}

/// The JSON of a book. Fields may be added, and are not renamed.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Kept {
    version: u64,
    settings: Settings,
    swept_at: Option<i64>,
    policies: Vec<OperatorPolicy>,
    resume_policies: Vec<resume::Draft>,
    changes: Vec<BookChange>,
}

impl Kept {
    fn of(book: &Book) -> Self {
        Self {
            version: book.version,
            settings: book.settings.clone(),
            swept_at: book.swept_at,
            policies: book.policies.clone(),
            resume_policies: book.resume_policies.iter().map(draft_of).collect(),
            changes: book.changes.clone(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error(transparent)]
    Codec(#[from] codec::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("resume policy: {0}")]
    Resume(#[from] resume::Invalid),
}

fn read(bytes: &[u8]) -> Result<Book, Unreadable> {
    let Kept { version, mut settings, swept_at, policies, resume_policies, changes } =
        serde_json::from_slice(&codec::decode::<Stored>(bytes)?.json)?;
    if swept_at.is_none() {
        // It was written when nothing hung on it.
        settings.auto_resume_check_frequency = Settings::default().auto_resume_check_frequency;
    }
    let resume_policies: Result<Vec<_>, _> =
        resume_policies.into_iter().map(|draft| draft.create(0)).collect();
    Ok(Book { version, settings, swept_at, policies, resume_policies: resume_policies?, changes })
}

/// Refuses to change what somebody else has changed in the meantime.
fn seen(policy: &OperatorPolicy, expected: Option<u32>) -> Result<(), Error> {
    let Some(current) = policy.current().filter(|it| Some(it.version) != expected) else {
        return Ok(());
    };
    let Who { identity, reason } = &current.who;
    let message = format!(
        "policy {:?} is at version {}, put by {identity:?} ({reason}): look at it, then put yours \
         with expected version {}",
        policy.name, current.version, current.version
    );
    Err(Error::new(Code::Aborted, message))
}

/// Refuses what has faults, and tells all of them.
pub(crate) fn refuse(faults: Vec<String>) -> Result<(), Error> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(faults.join("; ")).with(Detail::Faults(faults)))
}

fn invalid(invalid: &resume::Invalid) -> Error {
    let faults: Vec<String> = invalid.faults.iter().map(ToString::to_string).collect();
    Error::invalid(faults.join("; ")).with(Detail::Faults(faults))
}

fn unknown(name: &str) -> Error {
    Error::not_found(format!("there is no policy {name:?}"))
}

fn no_resume_policy(name: &str) -> Error {
    Error::not_found(format!("there is no resume policy with the id or name {name:?}"))
}

fn setting_name(namespace_id: &str) -> String {
    format!("failures/{namespace_id}")
}

/// Changes that are remembered.
const CHANGES_MAX: usize = 200;

/// Versions of a policy that are kept.
const VERSIONS_MAX: usize = 50;
