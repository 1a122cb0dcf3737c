//! Errors: written when something fails, listed, counted and put into groups.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use steadfast_retry::Timestamp;

use super::{
    error_query::{self, COLUMNS, Query},
    fault::Fault,
    number,
    statements::Statements,
};
use crate::{
    error_rows::{Acknowledged, ErrorRow, ErrorState, ErrorWrite},
    error_view::{
        ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId, ErrorListing, ErrorPosition,
    },
    rows::{RunIdentity, RunNumber},
    store::Order,
};

pub(super) fn put(
    statements: &mut Statements<'_>,
    run: RunNumber,
    write: &ErrorWrite,
) -> Result<(), Fault> {
    if let Some(row) = &write.row {
        return put_row(statements, run, write.subject, row);
    }
    statements
        .get("DELETE FROM errors WHERE run = ?1 AND subject = ?2")?
        .execute((run.0, write.subject))?;
    Ok(())
}

pub(super) fn list(
    db: &mut Connection,
    namespace: &str,
    filter: &ErrorFilter,
    order: Order,
    after: Option<ErrorPosition>,
    limit: usize,
) -> Result<ErrorListing, Fault> {
    // One more than asked for tells whether there is another page.
    let query = error_query::list(namespace, filter, order, after, limit.saturating_add(1));
    let mut errors = entries(db, &query)?;
    let more = errors.len() > limit;
    errors.truncate(limit);
    let next = errors.last().filter(|_| more).map(ErrorEntry::position);
    Ok(ErrorListing { errors, next })
}

pub(super) fn count(
    db: &mut Connection,
    namespace: &str,
    filter: &ErrorFilter,
) -> Result<u64, Fault> {
    let query = error_query::count(namespace, filter);
    let mut select = db.prepare_cached(&query.sql)?;
    let count = select.query_row(params_from_iter(&query.given), |row| row.get(0))?;
    number::unsigned("count", count)
}

pub(super) fn groups(
    db: &mut Connection,
    namespace: &str,
    filter: &ErrorFilter,
    by: ErrorGroup,
    limit: usize,
) -> Result<Vec<ErrorGroupRow>, Fault> {
    let tx = db.transaction()?;
    let query = error_query::groups(namespace, filter, by, limit);
    let mut select = tx.prepare_cached(&query.sql)?;
    let mut rows = select.query(params_from_iter(&query.given))?;
    let mut groups = Vec::new();
    while let Some(row) = rows.next()? {
        let mut group = group(row)?;
        let example = error_query::example(namespace, filter, by, row)?;
        group.example = entries(&tx, &example)?.pop().unwrap_or_default();
        groups.push(group);
    }
    Ok(groups)
}

pub(super) fn one(
    db: &Connection,
    run: RunNumber,
    subject: i64,
) -> Result<Option<ErrorEntry>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM errors e JOIN runs r ON r.id = e.run
        WHERE e.run = ?1 AND e.subject = ?2"
    );
    let mut select = db.prepare_cached(&sql)?;
    Ok(select.query_row((run.0, subject), entry).optional()?)
}

pub(super) fn by_id(db: &mut Connection, ids: &[ErrorId]) -> Result<Vec<ErrorEntry>, Fault> {
    // One snapshot for all of them.
    let tx = db.transaction()?;
    let mut found = Vec::with_capacity(ids.len());
    for (run, subject) in ids {
        found.extend(one(&tx, *run, *subject)?);
    }
    Ok(found)
}

/// While nothing fails again, only what comes next changes, and no index has that: so this is tried
/// first.
fn put_row(
    statements: &mut Statements<'_>,
    run: RunNumber,
    subject: i64,
    row: &ErrorRow,
) -> Result<(), Fault> {
    const NEXT: &str = "UPDATE errors SET next_at = ?18, reason = ?19, resumes = ?20
        WHERE run = ?1 AND subject = ?2
          AND (workflow_type, activity_id, activity_type, kind, state, attempts, error_type, cause,
            cause_hash, fingerprint, first_at, last_at, acknowledged_at, acknowledged_by,
            acknowledged_reason)
          IS (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    const ALL: &str = "INSERT OR REPLACE INTO errors (run, subject, workflow_type, activity_id,
            activity_type, kind, state, attempts, error_type, cause, cause_hash, fingerprint,
            first_at, last_at, acknowledged_at, acknowledged_by, acknowledged_reason, next_at,
            reason, resumes, namespace)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20, (SELECT namespace FROM runs WHERE id = ?1))";
    let acknowledged = row.acknowledged.as_ref();
    for sql in [NEXT, ALL] {
        let changed = statements.get(sql)?.execute(params![
            run.0,
            subject,
            row.workflow_type,
            row.activity_id,
            row.activity_type,
            row.kind,
            row.state.number(),
            row.attempts,
            row.error_type,
            row.cause,
            ErrorRow::cause_hash(&row.cause),
            row.fingerprint.cast_signed(),
            row.first_at.nanos(),
            row.last_at.nanos(),
            acknowledged.map(|it| it.at.nanos()),
            acknowledged.map_or("", |it| &it.by),
            acknowledged.map_or("", |it| &it.reason),
            row.next_at.map(Timestamp::nanos),
            row.reason,
            row.resumes,
        ])?;
        if changed == 1 {
            break;
        }
    }
    Ok(())
}

fn entries(db: &Connection, query: &Query) -> Result<Vec<ErrorEntry>, Fault> {
    let mut select = db.prepare_cached(&query.sql)?;
    let rows = select.query_map(params_from_iter(&query.given), entry)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Reads the columns that [`COLUMNS`] names.
fn entry(row: &Row<'_>) -> rusqlite::Result<ErrorEntry> {
    let time = |column| row.get::<_, i64>(column).map(Timestamp);
    let acknowledged = match row.get::<_, Option<i64>>(18)? {
        Some(at) => {
            Some(Acknowledged { at: Timestamp(at), by: row.get(19)?, reason: row.get(20)? })
        }
        None => None,
    };
    let found = ErrorRow {
        workflow_type: row.get(5)?,
        activity_id: row.get(6)?,
        activity_type: row.get(7)?,
        kind: row.get(8)?,
        state: state(row.get(9)?)?,
        attempts: row.get(10)?,
        error_type: row.get(11)?,
        cause: row.get(12)?,
        fingerprint: row.get::<_, i64>(13)?.cast_unsigned(),
        first_at: time(14)?,
        last_at: time(15)?,
        next_at: row.get::<_, Option<i64>>(16)?.map(Timestamp),
        reason: row.get(17)?,
        acknowledged,
        resumes: row.get(21)?,
    };
    let identity =
        RunIdentity { namespace: row.get(2)?, workflow_id: row.get(3)?, run_id: row.get(4)? };
    Ok(ErrorEntry { run: RunNumber(row.get(0)?), subject: row.get(1)?, identity, row: found })
}

fn group(row: &Row<'_>) -> Result<ErrorGroupRow, Fault> {
    let mut states = BTreeMap::new();
    for (place, state) in ErrorState::ALL.into_iter().enumerate() {
        let count = number::unsigned("count", row.get(7 + place)?)?;
        if count > 0 {
            states.insert(state, count);
        }
    }
    Ok(ErrorGroupRow {
        count: number::unsigned("count", row.get(3)?)?,
        first_at: Timestamp(row.get(4)?),
        last_at: Timestamp(row.get(5)?),
        acknowledged: number::unsigned("count", row.get(6)?)?,
        states,
        ..ErrorGroupRow::default()
    })
}

fn state(number: i64) -> rusqlite::Result<ErrorState> {
    ErrorState::from_number(number).ok_or(rusqlite::Error::IntegralValueOutOfRange(9, number))
}
