//! Which attributes the runs of a namespace have, and of which types.
//!
//! ```text
//!   system       what the engine knows of every run: asked about, never set
//!   predefined   what SDKs and tools note about a run: in every namespace, set by them
//!   custom       what the users of one namespace added
//! ```

use std::collections::BTreeMap;

use steadfast_proto::enums::IndexedValueType;
use steadfast_store::{ErrorField, Field, SearchType};

use crate::{
    error::{Code, Error},
    limits::SEARCH_NAME_BYTES_MAX,
};

/// The attributes of one namespace.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Schema {
    /// Those that its users added. None has the name of a system or predefined one.
    pub(crate) custom: BTreeMap<String, SearchType>,
    /// There are no others: what is asked about are no runs.
    only_custom: bool,
    /// Whether it is schedules that are asked about, which have an id of their own.
    schedules: bool,
}

impl Schema {
    /// The schema of a namespace with these custom attributes.
    pub(crate) fn new(custom: BTreeMap<String, SearchType>) -> Self {
        Self { custom, ..Self::default() }
    }

    /// The attributes of something that is no run.
    pub(crate) fn only(custom: BTreeMap<String, SearchType>) -> Self {
        Self { custom, only_custom: true, ..Self::default() }
    }

    /// The attributes of schedules.
    pub(crate) fn of_schedules(custom: BTreeMap<String, SearchType>) -> Self {
        Self { custom, schedules: true, ..Self::default() }
    }

    /// The attribute with this name, to ask about.
    pub(crate) fn lookup(&self, name: &str) -> Option<Field> {
        if self.only_custom {
            return Some(Field::Custom(name.to_owned(), *self.custom.get(name)?));
        }
        if self.schedules && name == "ScheduleId" {
            return Some(Field::WorkflowId);
        }
        match SYSTEM.iter().find(|(known, ..)| *known == name) {
            Some((_, field, _)) => Some(field.clone()),
            None => self.settable(name).map(|kind| Field::Custom(name.to_owned(), kind)),
        }
    }

    /// The type of the attribute with this name, if a run may carry it.
    pub(crate) fn settable(&self, name: &str) -> Option<SearchType> {
        predefined(name).or_else(|| self.custom.get(name).copied())
    }

    /// Adds a custom attribute; whether it is a new one. One that is there already, in whatever
    /// case, may be added again with the same type, and stays as it is.
    pub(crate) fn add(&mut self, name: &str, kind: IndexedValueType) -> Result<bool, Error> {
        check_name(name)?;
        let Some(kind) = from_wire(kind) else {
            return Err(Error::invalid(format!("Search attribute {name} has no valid type.")));
        };
        match self.custom.iter().find(|(known, _)| is_same(known, name)) {
            None => {
                self.custom.insert(name.to_owned(), kind);
                Ok(true)
            }
            Some((_, known)) if *known == kind => Ok(false),
            Some((name, known)) => Err(Error::new(
                Code::AlreadyExists,
                format!("Search attribute {name} already exists with type {}.", type_name(*known)),
            )),
        }
    }
}

/// Whether this is an attribute that nobody sets.
pub(crate) fn is_system(name: &str) -> bool {
    SYSTEM.iter().any(|(known, ..)| *known == name)
}

/// Whether no custom attribute may have this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with(RESERVED_PREFIX) || is_system(name) || predefined(name).is_some()
}

/// The attributes that every namespace has, settable or not.
pub(crate) fn built_in() -> impl Iterator<Item = (&'static str, SearchType)> {
    let system = SYSTEM.iter().map(|(name, _, kind)| (*name, *kind));
    system.chain(PREDEFINED.iter().copied())
}

/// The name of a type, as payloads carry it in their metadata.
pub(crate) const fn type_name(kind: SearchType) -> &'static str {
    match kind {
        SearchType::Bool => "Bool",
        SearchType::Datetime => "Datetime",
        SearchType::Double => "Double",
        SearchType::Int => "Int",
        SearchType::Keyword => "Keyword",
        SearchType::KeywordList => "KeywordList",
        SearchType::Text => "Text",
    }
}

/// A type as the public API numbers it.
pub(crate) const fn to_wire(kind: SearchType) -> IndexedValueType {
    match kind {
        SearchType::Bool => IndexedValueType::Bool,
        SearchType::Datetime => IndexedValueType::Datetime,
        SearchType::Double => IndexedValueType::Double,
        SearchType::Int => IndexedValueType::Int,
        SearchType::Keyword => IndexedValueType::Keyword,
        SearchType::KeywordList => IndexedValueType::KeywordList,
        SearchType::Text => IndexedValueType::Text,
    }
}

/// A type from the public API; `None` if it was left out.
pub(crate) fn from_wire(wire: IndexedValueType) -> Option<SearchType> {
    TYPES.into_iter().find(|kind| to_wire(*kind) == wire)
}

fn predefined(name: &str) -> Option<SearchType> {
    PREDEFINED.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// Whether two names differ in their case at the most.
fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn check_name(name: &str) -> Result<(), Error> {
    if is_reserved(name) || built_in().any(|(known, _)| is_same(known, name)) {
        return Err(Error::invalid(format!("Search attribute {name} is reserved by system.")));
    }
    if name.is_empty() || name.len() > SEARCH_NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Error::invalid(format!(
            "{name:?} is not a name for a search attribute: \
             1 to {SEARCH_NAME_BYTES_MAX} bytes without control characters"
        )));
    }
    Ok(())
}

/// Kept free for attributes that tools may set one day.
const RESERVED_PREFIX: &str = "Temporal";

const TYPES: [SearchType; 7] = [
    SearchType::Bool,
    SearchType::Datetime,
    SearchType::Double,
    SearchType::Int,
    SearchType::Keyword,
    SearchType::KeywordList,
    SearchType::Text,
];

static SYSTEM: [(&str, Field, SearchType); 21] = [
    ("WorkflowId", Field::WorkflowId, SearchType::Keyword),
    ("RunId", Field::RunId, SearchType::Keyword),
    ("WorkflowType", Field::WorkflowType, SearchType::Keyword),
    ("TaskQueue", Field::TaskQueue, SearchType::Keyword),
    ("ExecutionStatus", Field::Status, SearchType::Keyword),
    ("StartTime", Field::StartTime, SearchType::Datetime),
    ("ExecutionTime", Field::ExecutionTime, SearchType::Datetime),
    ("CloseTime", Field::CloseTime, SearchType::Datetime),
    ("ExecutionDuration", Field::ExecutionDuration, SearchType::Int),
    ("HistoryLength", Field::HistoryLength, SearchType::Int),
    ("HistorySizeBytes", Field::HistorySize, SearchType::Int),
    ("StateTransitionCount", Field::StateTransitions, SearchType::Int),
    ("ParentWorkflowId", Field::ParentWorkflowId, SearchType::Keyword),
    ("ParentRunId", Field::ParentRunId, SearchType::Keyword),
    ("RootWorkflowId", Field::RootWorkflowId, SearchType::Keyword),
    ("RootRunId", Field::RootRunId, SearchType::Keyword),
    ("RetryState", Field::Error(ErrorField::State), SearchType::Keyword),
    ("RetryAttempts", Field::Error(ErrorField::Attempts), SearchType::Int),
    ("RetryingActivity", Field::Error(ErrorField::ActivityType), SearchType::Keyword),
    ("ErrorFingerprint", Field::Error(ErrorField::Fingerprint), SearchType::Keyword),
    ("ErrorCause", Field::Error(ErrorField::Cause), SearchType::Keyword),
];

const PREDEFINED: [(&str, SearchType); 15] = [
    ("BatcherNamespace", SearchType::Keyword),
    ("BatcherUser", SearchType::Keyword),
    ("BinaryChecksums", SearchType::KeywordList),
    ("BuildIds", SearchType::KeywordList),
    ("TemporalChangeVersion", SearchType::KeywordList),
    ("TemporalNamespaceDivision", SearchType::Keyword),
    ("TemporalPauseInfo", SearchType::KeywordList),
    ("TemporalReportedProblems", SearchType::KeywordList),
    ("TemporalScheduledById", SearchType::Keyword),
    ("TemporalScheduledStartTime", SearchType::Datetime),
    ("TemporalSchedulePaused", SearchType::Bool),
    ("TemporalUsedWorkerDeploymentVersions", SearchType::KeywordList),
    ("TemporalWorkerDeployment", SearchType::Keyword),
    ("TemporalWorkerDeploymentVersion", SearchType::Keyword),
    ("TemporalWorkflowVersioningBehavior", SearchType::Keyword),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::new(BTreeMap::from([("Amount".to_owned(), SearchType::Double)]))
    }

    #[test]
    fn names_are_found_on_all_three_levels() {
        let schema = schema();
        let custom = |name: &str, kind| Some(Field::Custom(name.to_owned(), kind));
        assert_eq!(schema.lookup("HistorySizeBytes"), Some(Field::HistorySize));
        assert_eq!(schema.lookup("BuildIds"), custom("BuildIds", SearchType::KeywordList));
        assert_eq!(schema.lookup("Amount"), custom("Amount", SearchType::Double));
        assert_eq!(schema.lookup("amount"), None, "case counts");
        assert_eq!(schema.settable("WorkflowId"), None);
        assert_eq!(built_in().count(), 36);
    }

    #[test]
    fn types_survive_the_wire() {
        for kind in TYPES {
            assert_eq!(from_wire(to_wire(kind)), Some(kind));
        }
        assert_eq!(from_wire(IndexedValueType::Unspecified), None);
    }

    #[test]
    fn a_new_attribute_needs_a_free_name_and_a_type() {
        let mut schema = schema();
        let mut check = |name: &str, kind| schema.add(name, kind).map_err(|error| error.message);
        assert_eq!(check("python-test-x", IndexedValueType::Int), Ok(true));
        assert_eq!(check("Python-Test-X", IndexedValueType::Int), Ok(false), "just added");
        assert_eq!(check("Amount", IndexedValueType::Double), Ok(false), "there before");
        assert_eq!(check("amount", IndexedValueType::Double), Ok(false), "there in another case");
        let table = [
            ("RunId", IndexedValueType::Int, "Search attribute RunId is reserved by system."),
            ("BuildIds", IndexedValueType::Int, "Search attribute BuildIds is reserved by system."),
            (
                "TemporalAnything",
                IndexedValueType::Int,
                "Search attribute TemporalAnything is reserved by system.",
            ),
            ("New", IndexedValueType::Unspecified, "Search attribute New has no valid type."),
            (
                "Amount",
                IndexedValueType::Int,
                "Search attribute Amount already exists with type Double.",
            ),
            (
                "aMOUNT",
                IndexedValueType::Int,
                "Search attribute Amount already exists with type Double.",
            ),
            ("runid", IndexedValueType::Int, "Search attribute runid is reserved by system."),
            (
                "",
                IndexedValueType::Int,
                "\"\" is not a name for a search attribute: 1 to 255 bytes without control characters",
            ),
        ];
        for (name, kind, expected) in table {
            assert_eq!(check(name, kind), Err(expected.to_owned()));
        }
    }
}
