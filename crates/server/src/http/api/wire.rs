//! Values that many calls share: times, spans, payloads, which errors are meant.

use std::{borrow::Cow, collections::BTreeMap, fmt, time::Duration};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor},
};
use serde_json::Value;
use steadfast_engine::{
    Timestamp,
    failures::{ErrorId, Selection},
    fingerprint,
};
use steadfast_proto::common::{Payload, Payloads};
use steadfast_retry::span;
use steadfast_store::{ErrorFilter, ErrorState};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type},
    },
};

use super::fault::Fault;

/// A time, as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Time(pub(super) Timestamp);

/// A span, as `90s` or `1h30m`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Span(pub(super) Duration);

/// What becomes of an error next.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorState)]
pub(super) enum StateName {
    /// It waits for its next attempt, or is at it.
    Retrying,
    /// It waits for a resume.
    Parked,
    /// Its run has failed, and can be resumed by a reset.
    Failed,
    /// It was given up, and is kept to be looked at.
    Dead,
}

/// States, as a list, or as a text with commas between them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct States(pub(super) Vec<StateName>);

/// What errors must be like. What is not given does not restrict.
#[derive(Clone, Debug, Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
#[schema(as = ErrorFilter)]
pub(super) struct Filter {
    /// In one of these states.
    #[schema(value_type = Option<Vec<StateName>>)]
    #[param(value_type = Option<Vec<StateName>>, style = Form, explode = false)]
    state: Option<States>,
    /// Of workflows of this type.
    workflow_type: Option<String>,
    /// Of activities of this type.
    activity_type: Option<String>,
    /// Of this workflow.
    workflow_id: Option<String>,
    /// With exactly this cause.
    cause: Option<String>,
    /// With this somewhere in the cause.
    contains: Option<String>,
    /// With this type of failure.
    error_type: Option<String>,
    /// With this fingerprint: 16 hexadecimal digits.
    fingerprint: Option<String>,
    /// Acknowledged, or not.
    acknowledged: Option<bool>,
    /// That failed for the last time at this time or later.
    since: Option<Time>,
    /// That failed for the last time before this time.
    until: Option<Time>,
    /// Tried this often or more.
    min_attempts: Option<u32>,
}

/// Which errors are meant: exactly one of `ids`, `filter` and `all`.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Select {
    /// These, by their ids.
    ids: Option<Vec<String>>,
    /// All that are like this. At least one thing must be asked of them.
    filter: Option<Filter>,
    /// All that can be meant. Without it, nothing takes every error of the namespace.
    all: Option<bool>,
}

impl Filter {
    /// As the engine has it.
    pub(super) fn engine(self) -> Result<ErrorFilter, Fault> {
        let fingerprint = self.fingerprint.map(|text| {
            fingerprint::parse(&text).ok_or_else(|| {
                let message = format!("fingerprint: {text:?} is not 16 hexadecimal digits");
                Fault::invalid(message).at("fingerprint")
            })
        });
        Ok(ErrorFilter {
            states: self.state.unwrap_or_default().0.into_iter().map(ErrorState::from).collect(),
            workflow_type: self.workflow_type,
            activity_type: self.activity_type,
            workflow_id: self.workflow_id,
            cause: self.cause,
            cause_contains: self.contains,
            error_type: self.error_type,
            fingerprint: fingerprint.transpose()?,
            acknowledged: self.acknowledged,
            since: self.since.map(|time| time.0),
            until: self.until.map(|time| time.0),
            min_attempts: self.min_attempts.unwrap_or_default(),
            ..ErrorFilter::default()
        })
    }
}

impl Select {
    /// As the engine has it.
    pub(super) fn engine(self) -> Result<Selection, Fault> {
        match (self.ids, self.filter, self.all) {
            (Some(ids), None, None | Some(false)) => Ok(Selection::Ids(parsed(&ids)?)),
            (None, Some(filter), None | Some(false)) => Ok(Selection::Matching(filter.engine()?)),
            (None, None, Some(true)) => Ok(Selection::Everything),
            _ => {
                let message = "select: say which errors are meant, by exactly one of `ids`, \
                               `filter` and `all: true`";
                Err(Fault::invalid(message).at("select"))
            }
        }
    }
}

fn parsed(ids: &[String]) -> Result<Vec<ErrorId>, Fault> {
    let parse = |(number, id): (usize, &String)| {
        id.parse::<ErrorId>().map_err(|error| {
            let field = format!("select.ids[{number}]");
            Fault::invalid(format!("{field}: {error}")).at(field)
        })
    };
    ids.iter().enumerate().map(parse).collect()
}

impl From<StateName> for ErrorState {
    fn from(name: StateName) -> Self {
        match name {
            StateName::Retrying => Self::Retrying,
            StateName::Parked => Self::Parked,
            StateName::Failed => Self::Failed,
            StateName::Dead => Self::Dead,
        }
    }
}

impl From<ErrorState> for StateName {
    fn from(state: ErrorState) -> Self {
        match state {
            ErrorState::Retrying => Self::Retrying,
            ErrorState::Parked => Self::Parked,
            ErrorState::Failed => Self::Failed,
            ErrorState::Dead => Self::Dead,
        }
    }
}

impl Time {
    /// The time, unless it is the zero that means that it never was.
    pub(super) fn known(nanos: i64) -> Option<Self> {
        (nanos != 0).then_some(Self(Timestamp(nanos)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_nanosecond(i128::from(self.0.0)) {
            Ok(time) => write!(f, "{time}"),
            // Nanoseconds of 64 bits are within the years that can be written.
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        let wrong = || {
            let message = format!("{text:?} is not a time; write it like 2026-01-31T08:00:00Z");
            serde::de::Error::custom(message)
        };
        let time: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
        let nanos = i64::try_from(time.as_nanosecond()).map_err(|_| wrong())?;
        Ok(Self(Timestamp(nanos)))
    }
}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl ToSchema for Time {}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&span::Span(self.0))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        span::parse(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl PartialSchema for Span {
    fn schema() -> RefOr<Schema> {
        let about = "A span such as `90s`, `1h30m` or `2d`.";
        ObjectBuilder::new().schema_type(Type::String).description(Some(about)).into()
    }
}

impl ToSchema for Span {}

impl<'de> Deserialize<'de> for States {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StatesVisitor)
    }
}

struct StatesVisitor;

impl<'de> Visitor<'de> for StatesVisitor {
    type Value = States;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("states: retrying, parked, failed, dead")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<States, E> {
        let name = |part: &str| {
            StateName::deserialize(serde::de::value::StrDeserializer::<E>::new(part.trim()))
        };
        text.split(',').map(name).collect::<Result<_, _>>().map(States)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<States, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element()? {
            names.push(name);
        }
        Ok(States(names))
    }
}

/// A value of JSON as workers read it.
pub(super) fn payload(value: &Value) -> Payload {
    Payload::json(value.to_string())
}

/// Arguments as workers read them.
pub(super) fn payloads(values: &[Value]) -> Payloads {
    Payloads { payloads: values.iter().map(payload).collect() }
}

/// Named values as workers read them.
pub(super) fn payload_map(values: &BTreeMap<String, Value>) -> BTreeMap<String, Payload> {
    values.iter().map(|(name, value)| (name.clone(), payload(value))).collect()
}

/// A retry policy that comes as JSON, with its field named if it is wrong.
pub(super) fn draft(field: &str, value: Value) -> Result<steadfast_retry::Draft, Fault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { field.to_owned() } else { format!("{field}.{path}") };
        Fault::invalid(format!("{field}: {}", error.into_inner())).at(field)
    })
}
