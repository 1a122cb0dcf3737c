//! What may be asked of an attribute: which operators it knows, and what a literal means to it.

use std::fmt;

use steadfast_proto::enums::WorkflowExecutionStatus as Status;
use steadfast_retry::Timestamp;
use steadfast_store::{ErrorField, ErrorState, Field, SearchType, Value};

use super::{literal, schema};
use crate::fingerprint;

/// The attribute that a condition is about, as the query names it.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) field: Field,
    pub(super) name: String,
}

/// A value as it was written.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    Text(String),
    Number(String),
    Bool(bool),
}

/// What operators need of an attribute.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Need {
    /// That its values have an order.
    Order,
    /// That its values have a beginning.
    Prefix,
}

impl Subject {
    /// Refuses an operator that means nothing to this attribute.
    pub(super) fn check(&self, operator: &str, need: Need) -> Result<(), String> {
        let kind = Kind::of(&self.field);
        let knows = match need {
            Need::Order => kind.has_order(),
            Need::Prefix => kind == Kind::Typed(SearchType::Keyword),
        };
        if knows {
            return Ok(());
        }
        let Self { name, .. } = self;
        Err(format!("operator {operator} is not supported for search attribute {name} of {kind}"))
    }

    /// What `literal` means to this attribute.
    pub(super) fn value(&self, literal: &Literal) -> Result<Value, String> {
        let kind = Kind::of(&self.field);
        kind.value(literal).ok_or_else(|| {
            let Self { name, .. } = self;
            let expected = kind.expected();
            format!("invalid value {literal} for search attribute {name} of {kind}: {expected}")
        })
    }

    /// Whether every run has this attribute, so that "is not" and "has it and is not" are the same.
    pub(super) fn is_always_set(&self) -> bool {
        match self.field {
            Field::WorkflowId
            | Field::RunId
            | Field::WorkflowType
            | Field::TaskQueue
            | Field::Status
            | Field::StartTime
            | Field::ExecutionTime => true,
            Field::CloseTime
            | Field::ExecutionDuration
            | Field::HistoryLength
            | Field::HistorySize
            | Field::StateTransitions
            | Field::ParentWorkflowId
            | Field::ParentRunId
            | Field::RootWorkflowId
            | Field::RootRunId
            | Field::Error(_)
            | Field::Custom(..) => false,
        }
    }
}

/// How the values of an attribute are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Status,
    Span,
    /// What becomes of an error next.
    ErrorState,
    /// 16 hexadecimal digits.
    Fingerprint,
    Typed(SearchType),
}

impl Kind {
    fn of(field: &Field) -> Self {
        match field {
            Field::Status => Self::Status,
            Field::ExecutionDuration => Self::Span,
            Field::Error(ErrorField::State) => Self::ErrorState,
            Field::Error(ErrorField::Fingerprint) => Self::Fingerprint,
            Field::Error(ErrorField::Attempts) => Self::Typed(SearchType::Int),
            Field::Error(ErrorField::ActivityType | ErrorField::Cause) => {
                Self::Typed(SearchType::Keyword)
            }
            Field::StartTime | Field::ExecutionTime | Field::CloseTime => {
                Self::Typed(SearchType::Datetime)
            }
            Field::HistoryLength | Field::HistorySize | Field::StateTransitions => {
                Self::Typed(SearchType::Int)
            }
            Field::WorkflowId
            | Field::RunId
            | Field::WorkflowType
            | Field::TaskQueue
            | Field::ParentWorkflowId
            | Field::ParentRunId
            | Field::RootWorkflowId
            | Field::RootRunId => Self::Typed(SearchType::Keyword),
            Field::Custom(_, kind) => Self::Typed(*kind),
        }
    }

    fn has_order(self) -> bool {
        match self {
            Self::Status | Self::ErrorState | Self::Fingerprint => false,
            Self::Span => true,
            Self::Typed(kind) => match kind {
                SearchType::Datetime
                | SearchType::Double
                | SearchType::Int
                | SearchType::Keyword => true,
                SearchType::Bool | SearchType::KeywordList | SearchType::Text => false,
            },
        }
    }

    fn value(self, literal: &Literal) -> Option<Value> {
        match self {
            Self::Status => status(literal),
            Self::ErrorState => error_state(literal),
            Self::Fingerprint => fingerprint(literal),
            Self::Span => match literal {
                Literal::Text(text) | Literal::Number(text) => literal::span(text).map(Value::Int),
                Literal::Bool(_) => None,
            },
            Self::Typed(kind) => match kind {
                SearchType::Bool => boolean(literal),
                SearchType::Datetime => instant(literal),
                SearchType::Double => number(literal).and_then(double),
                SearchType::Int => number(literal).and_then(whole),
                SearchType::Keyword | SearchType::KeywordList | SearchType::Text => text(literal),
            },
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Status => "expected a status such as 'Running' or its number",
            Self::ErrorState => "expected 'retrying', 'parked', 'failed' or 'dead'",
            Self::Fingerprint => "expected 16 hexadecimal digits in quotes",
            Self::Span => "expected nanoseconds, a duration such as '1h5m', or 'hh:mm:ss'",
            Self::Typed(kind) => match kind {
                SearchType::Bool => "expected true or false",
                SearchType::Datetime => {
                    "expected an RFC 3339 time such as '2024-01-02T03:04:05Z', or nanoseconds"
                }
                SearchType::Double | SearchType::Int => "expected a number",
                SearchType::Keyword | SearchType::KeywordList | SearchType::Text => {
                    "expected a text in quotes"
                }
            },
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Status | Self::ErrorState | Self::Fingerprint => {
                schema::type_name(SearchType::Keyword)
            }
            Self::Span => schema::type_name(SearchType::Int),
            Self::Typed(kind) => schema::type_name(*kind),
        };
        write!(f, "type {name}")
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Number(number) => f.write_str(number),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

fn status(literal: &Literal) -> Option<Value> {
    let status = match literal {
        Literal::Text(name) => literal::status(name),
        Literal::Number(number) => {
            number.parse().ok().and_then(|number: i32| Status::try_from(number).ok())
        }
        Literal::Bool(_) => None,
    };
    let known = status.filter(|status| *status != Status::Unspecified)?;
    Some(Value::Int(i32::from(known).into()))
}

fn error_state(literal: &Literal) -> Option<Value> {
    let Literal::Text(name) = literal else { return None };
    ErrorState::from_name(name).map(|state| Value::Int(state.number().into()))
}

fn fingerprint(literal: &Literal) -> Option<Value> {
    let Literal::Text(digits) = literal else { return None };
    fingerprint::parse(digits).map(|fingerprint| Value::Int(fingerprint.cast_signed()))
}

fn boolean(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Bool(value) => Some(Value::Bool(*value)),
        Literal::Text(text) if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
        Literal::Text(text) if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
        Literal::Text(_) | Literal::Number(_) => None,
    }
}

fn instant(literal: &Literal) -> Option<Value> {
    let at = match literal {
        Literal::Text(text) => literal::instant(text)?,
        Literal::Number(nanos) => Timestamp(nanos.parse().ok()?),
        Literal::Bool(_) => return None,
    };
    Some(Value::Time(at))
}

fn number(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::Text(text) | Literal::Number(text) => Some(text),
        Literal::Bool(_) => None,
    }
}

/// A whole attribute may well be compared with a fraction: `HistoryLength > 2.5`.
fn whole(number: &str) -> Option<Value> {
    number.parse().map(Value::Int).ok().or_else(|| double(number))
}

fn double(number: &str) -> Option<Value> {
    number.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Double)
}

fn text(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Text(text) => Some(Value::Text(text.clone())),
        Literal::Number(_) | Literal::Bool(_) => None,
    }
}
