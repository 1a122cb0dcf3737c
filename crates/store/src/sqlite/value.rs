//! Values of search attributes as the database keeps them: a kind, and the value itself.

use rusqlite::types::{Type, Value as Sql, ValueRef};
use steadfast_retry::Timestamp;

use super::fault::Fault;
use crate::{compare::Family, filter::Value};

/// The name of a family in the column `kind`.
pub(super) fn kind(family: Family) -> &'static str {
    match family {
        Family::Bool => "bool",
        Family::Number => "number",
        Family::Time => "time",
        Family::Text => "text",
    }
}

/// The family with this name.
pub(super) fn family(kind: &str) -> Result<Family, Fault> {
    match kind {
        "bool" => Ok(Family::Bool),
        "number" => Ok(Family::Number),
        "time" => Ok(Family::Time),
        "text" => Ok(Family::Text),
        _ => Err(unreadable(Type::Text)),
    }
}

/// The value to store, or to compare a stored one with.
pub(super) fn write(value: &Value) -> Sql {
    match value {
        Value::Bool(value) => Sql::Integer(i64::from(*value)),
        Value::Int(value) => Sql::Integer(*value),
        Value::Double(value) => Sql::Real(*value),
        Value::Time(value) => Sql::Integer(value.nanos()),
        Value::Text(value) => Sql::Text(value.clone()),
    }
}

/// The value that was stored.
pub(super) fn read(family: Family, found: ValueRef<'_>) -> Result<Value, Fault> {
    match (family, found) {
        (Family::Bool, ValueRef::Integer(value)) => Ok(Value::Bool(value != 0)),
        (Family::Number, ValueRef::Integer(value)) => Ok(Value::Int(value)),
        (Family::Number, ValueRef::Real(value)) => Ok(Value::Double(value)),
        (Family::Time, ValueRef::Integer(value)) => Ok(Value::Time(Timestamp(value))),
        (Family::Text, found @ ValueRef::Text(_)) => {
            let text = found.as_str().map_err(rusqlite::Error::from)?;
            Ok(Value::Text(text.to_owned()))
        }
        (Family::Bool | Family::Number | Family::Time | Family::Text, found) => {
            Err(unreadable(found.data_type()))
        }
    }
}

fn unreadable(found: Type) -> Fault {
    rusqlite::Error::InvalidColumnType(0, "search_attributes.value".to_owned(), found).into()
}
