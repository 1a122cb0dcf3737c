//! Whether a worker is one of those that a query asks for.

use std::cmp::Ordering;

use steadfast_proto::worker::WorkerHeartbeat;
use steadfast_store::{Compare, Field, Filter, Value};

use super::attributes;

/// Whether a worker matches.
pub(crate) fn matches(worker: &WorkerHeartbeat, filter: &Filter) -> bool {
    let any =
        |field: &Field, holds: &dyn Fn(&Value) -> bool| values(worker, field).iter().any(holds);
    match filter {
        Filter::All => true,
        Filter::And(a, b) => matches(worker, a) && matches(worker, b),
        Filter::Or(a, b) => matches(worker, a) || matches(worker, b),
        Filter::Not(inner) => !matches(worker, inner),
        Filter::Compare(field, Compare::NotEqual, wanted) => {
            let found = values(worker, field);
            !found.is_empty() && !found.contains(wanted)
        }
        Filter::Compare(field, compare, wanted) => {
            any(field, &|value| order(value, wanted).is_some_and(|it| compare.holds(it)))
        }
        Filter::In(field, wanted) => any(field, &|value| wanted.contains(value)),
        Filter::Between(field, low, high) => any(field, &|value| {
            order(value, low).is_some_and(Ordering::is_ge)
                && order(value, high).is_some_and(Ordering::is_le)
        }),
        Filter::IsNull(field) => values(worker, field).is_empty(),
        Filter::StartsWith(field, prefix) => {
            any(field, &|value| matches!(value, Value::Text(text) if text.starts_with(prefix)))
        }
    }
}

fn values(worker: &WorkerHeartbeat, field: &Field) -> Vec<Value> {
    // A query for workers has no other fields.
    let Field::Custom(name, _) = field else { return Vec::new() };
    attributes::values(worker, name)
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
