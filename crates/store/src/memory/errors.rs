//! Errors, by looking at every run.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{Data, Run};
use crate::{
    error_rows::ErrorRow,
    error_view::{
        ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId, ErrorListing, ErrorPosition,
    },
    rows::RunNumber,
    store::Order,
};

impl Data {
    pub(super) fn errors(
        &self,
        namespace: &str,
        filter: &ErrorFilter,
        order: Order,
        after: Option<ErrorPosition>,
        limit: usize,
    ) -> ErrorListing {
        let mut errors: Vec<_> = self.troubled(namespace, filter).collect();
        errors.sort_by_key(ErrorEntry::position);
        match order {
            Order::Forward => errors.retain(|it| after.is_none_or(|after| it.position() > after)),
            Order::Backward => {
                errors.retain(|it| after.is_none_or(|after| it.position() < after));
                errors.reverse();
            }
        }
        let more = errors.len() > limit;
        errors.truncate(limit);
        let next = errors.last().filter(|_| more).map(ErrorEntry::position);
        ErrorListing { errors, next }
    }

    pub(super) fn error_groups(
        &self,
        namespace: &str,
        filter: &ErrorFilter,
        by: ErrorGroup,
        limit: usize,
    ) -> Vec<ErrorGroupRow> {
        let mut groups: BTreeMap<Key, ErrorGroupRow> = BTreeMap::new();
        for entry in self.troubled(namespace, filter) {
            groups.entry(key(&entry.row, by)).or_default().add(entry);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(key, group)| {
            let newest = Reverse((group.count, group.last_at, group.example.run));
            (newest, key.clone())
        });
        groups.into_iter().map(|(_, group)| group).take(limit).collect()
    }

    pub(super) fn error_count(&self, namespace: &str, filter: &ErrorFilter) -> u64 {
        u64::try_from(self.troubled(namespace, filter).count()).unwrap_or(u64::MAX)
    }

    pub(super) fn error(&self, run: RunNumber, subject: i64) -> Option<ErrorEntry> {
        let found = self.runs.get(&run)?;
        found.errors.get(&subject).map(|row| found.entry(run, subject, row))
    }

    pub(super) fn errors_by_id(&self, ids: &[ErrorId]) -> Vec<ErrorEntry> {
        ids.iter().filter_map(|(run, subject)| self.error(*run, *subject)).collect()
    }

    fn troubled(&self, namespace: &str, filter: &ErrorFilter) -> impl Iterator<Item = ErrorEntry> {
        let runs = self.runs.iter().filter(move |(_, run)| run.identity.namespace == namespace);
        let entries = runs.flat_map(|(number, run)| {
            run.errors.iter().map(|(subject, row)| run.entry(*number, *subject, row))
        });
        entries.filter(|entry| is_meant(entry, filter))
    }
}

impl Run {
    fn entry(&self, run: RunNumber, subject: i64, row: &ErrorRow) -> ErrorEntry {
        ErrorEntry { run, subject, identity: self.identity.clone(), row: row.clone() }
    }
}

impl ErrorGroupRow {
    /// Adds one that comes after those that are there, by run and subject.
    fn add(&mut self, entry: ErrorEntry) {
        let row = &entry.row;
        let first = if self.count == 0 { row.first_at } else { self.first_at };
        let last = if self.count == 0 { row.last_at } else { self.last_at };
        self.first_at = first.min(row.first_at);
        self.last_at = last.max(row.last_at);
        self.count += 1;
        self.acknowledged += u64::from(row.acknowledged.is_some());
        *self.states.entry(row.state).or_default() += 1;
        self.example = entry;
    }
}

/// What the errors of a group have in common, as it is ordered where all else is equal.
type Key = (i64, String, String);

fn key(row: &ErrorRow, by: ErrorGroup) -> Key {
    match by {
        ErrorGroup::WorkflowType => (0, row.workflow_type.clone(), String::new()),
        ErrorGroup::Activity => (0, row.workflow_type.clone(), row.activity_type.clone()),
        ErrorGroup::Cause => (ErrorRow::cause_hash(&row.cause), String::new(), String::new()),
        ErrorGroup::Fingerprint => (row.fingerprint.cast_signed(), String::new(), String::new()),
    }
}

fn is_meant(entry: &ErrorEntry, filter: &ErrorFilter) -> bool {
    let row = &entry.row;
    let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|it| it == found);
    let ErrorFilter {
        states,
        workflow_type,
        activity_type,
        cause,
        cause_contains,
        error_type,
        fingerprint,
        acknowledged,
        since,
        until,
        workflow_id,
        ids,
        min_attempts,
    } = filter;
    (states.is_empty() || states.contains(&row.state))
        && is(workflow_type, &row.workflow_type)
        && is(activity_type, &row.activity_type)
        && is(cause, &row.cause)
        && cause_contains.as_ref().is_none_or(|part| row.cause.contains(part))
        && is(error_type, &row.error_type)
        && fingerprint.is_none_or(|it| it == row.fingerprint)
        && acknowledged.is_none_or(|it| it == row.acknowledged.is_some())
        && since.is_none_or(|since| row.last_at >= since)
        && until.is_none_or(|until| row.last_at < until)
        && is(workflow_id, &entry.identity.workflow_id)
        && (ids.is_empty() || ids.contains(&(entry.run, entry.subject)))
        && row.attempts >= *min_attempts
}
