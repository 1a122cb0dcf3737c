//! Lists and counts, by looking at every run.

use std::cmp::{Ordering, Reverse};

use steadfast_retry::Timestamp;

use super::{Data, Run};
use crate::{
    compare::{by_words, comparable, has_words, order},
    error_rows::ErrorRow,
    filter::{Compare, ErrorField, Field, Filter, Value},
    rows::{Group, Listing, RunNumber, VisibilityPosition, VisibilityRow},
};

impl Data {
    pub(super) fn list(
        &self,
        namespace: &str,
        filter: &Filter,
        after: Option<VisibilityPosition>,
        limit: usize,
    ) -> Listing {
        let mut found: Vec<_> = self
            .matching(namespace, filter)
            .map(|(number, _, row)| (position(number, row), row))
            .filter(|(place, _)| after.is_none_or(|after| rank(*place) > rank(after)))
            .collect();
        found.sort_by_key(|(place, _)| rank(*place));
        let more = found.len() > limit;
        found.truncate(limit);
        Listing {
            next: found.last().filter(|_| more).map(|(place, _)| *place),
            rows: found.into_iter().map(|(place, row)| (place.run, row.clone())).collect(),
        }
    }

    pub(super) fn count(&self, namespace: &str, filter: &Filter, by: Option<&Field>) -> Vec<Group> {
        let found = self.matching(namespace, filter);
        let Some(field) = by else {
            return vec![Group { value: None, count: size(found.count()) }];
        };
        let mut groups: Vec<Group> = Vec::new();
        for (_, run, row) in found {
            for value in distinct(values(run, row, field)) {
                match groups.iter_mut().find(|group| same(group.value.as_ref(), value.as_ref())) {
                    Some(group) => group.count += 1,
                    None => groups.push(Group { value, count: 1 }),
                }
            }
        }
        groups.sort_by(|a, b| match (&a.value, &b.value) {
            (Some(a), Some(b)) => order(a, b).unwrap_or(Ordering::Equal),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        groups
    }

    fn matching<'a>(
        &'a self,
        namespace: &'a str,
        filter: &'a Filter,
    ) -> impl Iterator<Item = (RunNumber, &'a Run, &'a VisibilityRow)> {
        self.runs
            .iter()
            .filter(move |(_, run)| run.identity.namespace == namespace)
            .filter_map(|(number, run)| Some((*number, run, run.visibility.as_ref()?)))
            .filter(move |(_, run, row)| matches(run, row, filter))
    }
}

/// Open runs first, then the newest: smaller ranks come first.
fn rank(place: VisibilityPosition) -> impl Ord {
    let close = place.close_time.unwrap_or(Timestamp::MAX);
    Reverse((close, place.start_time, place.run))
}

fn position(run: RunNumber, row: &VisibilityRow) -> VisibilityPosition {
    VisibilityPosition { close_time: row.close_time, start_time: row.start_time, run }
}

fn matches(run: &Run, row: &VisibilityRow, filter: &Filter) -> bool {
    match filter {
        Filter::All => true,
        Filter::And(a, b) => matches(run, row, a) && matches(run, row, b),
        Filter::Or(a, b) => matches(run, row, a) || matches(run, row, b),
        Filter::Not(inner) => !matches(run, row, inner),
        Filter::Compare(field, Compare::NotEqual, wanted) => {
            let found = values(run, row, field);
            comparable(field, wanted)
                && !found.is_empty()
                && !found.iter().any(|value| equal(field, value, wanted))
        }
        Filter::Compare(field, Compare::Equal, wanted) => {
            values(run, row, field).iter().any(|value| equal(field, value, wanted))
        }
        Filter::Compare(field, compare, wanted) => {
            values(run, row, field).iter().any(|value| compares(*compare, value, wanted))
        }
        Filter::In(field, wanted) => values(run, row, field)
            .iter()
            .any(|value| wanted.iter().any(|wanted| equal(field, value, wanted))),
        Filter::Between(field, low, high) => values(run, row, field).iter().any(|value| {
            compares(Compare::GreaterOrEqual, value, low)
                && compares(Compare::LessOrEqual, value, high)
        }),
        Filter::IsNull(field) => values(run, row, field).is_empty(),
        Filter::StartsWith(field, prefix) => values(run, row, field)
            .iter()
            .any(|value| matches!(value, Value::Text(text) if text.starts_with(prefix))),
    }
}

fn compares(compare: Compare, value: &Value, wanted: &Value) -> bool {
    order(value, wanted).is_some_and(|order| compare.holds(order))
}

fn equal(field: &Field, value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Text(text), Value::Text(wanted)) if by_words(field) => has_words(text, wanted),
        (value, wanted) => compares(Compare::Equal, value, wanted),
    }
}

/// What the run has there: nothing, one value, or those of a list.
fn values(run: &Run, row: &VisibilityRow, field: &Field) -> Vec<Value> {
    let closed = |value: i64| row.close_time.map(|_| Value::Int(value));
    let text = |value: &String| Some(Value::Text(value.clone()));
    let one = match field {
        Field::WorkflowId => text(&row.identity.workflow_id),
        Field::RunId => text(&row.identity.run_id),
        Field::WorkflowType => text(&row.workflow_type),
        Field::TaskQueue => text(&row.task_queue),
        Field::Status => Some(Value::Int(row.status.into())),
        Field::StartTime => Some(Value::Time(row.start_time)),
        Field::ExecutionTime => Some(Value::Time(row.execution_time)),
        Field::CloseTime => row.close_time.map(Value::Time),
        Field::ExecutionDuration => row
            .close_time
            .map(|close| Value::Int(close.nanos().saturating_sub(row.execution_time.nanos()))),
        Field::HistoryLength => closed(row.history_length),
        Field::HistorySize => closed(row.history_size),
        Field::StateTransitions => closed(row.state_transitions),
        Field::ParentWorkflowId => row.parent.as_ref().and_then(|(id, _)| text(id)),
        Field::ParentRunId => row.parent.as_ref().and_then(|(_, id)| text(id)),
        Field::RootWorkflowId => row.root.as_ref().and_then(|(id, _)| text(id)),
        Field::RootRunId => row.root.as_ref().and_then(|(_, id)| text(id)),
        Field::Error(field) => return run.errors.values().map(|row| error(row, *field)).collect(),
        Field::Custom(name, _) => return custom(row, field, name),
    };
    one.into_iter().collect()
}

fn error(row: &ErrorRow, field: ErrorField) -> Value {
    match field {
        ErrorField::State => Value::Int(row.state.number().into()),
        ErrorField::Attempts => Value::Int(row.attempts.into()),
        ErrorField::ActivityType => Value::Text(row.activity_type.clone()),
        ErrorField::Fingerprint => Value::Int(row.fingerprint.cast_signed()),
        ErrorField::Cause => Value::Text(row.cause.clone()),
    }
}

/// The values of a search attribute; those of another family than asked for do not count.
fn custom(row: &VisibilityRow, field: &Field, name: &str) -> Vec<Value> {
    row.search_values
        .iter()
        .filter(|(found, value)| found == name && comparable(field, value))
        .map(|(_, value)| value.clone())
        .collect()
}

/// Each value once; `None` if there is none.
fn distinct(values: Vec<Value>) -> Vec<Option<Value>> {
    let mut kept: Vec<Option<Value>> = Vec::new();
    for value in values {
        if !kept.iter().any(|other| same(other.as_ref(), Some(&value))) {
            kept.push(Some(value));
        }
    }
    if kept.is_empty() { vec![None] } else { kept }
}

fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => order(a, b).is_some_and(Ordering::is_eq),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
