//! Lists and counts.

use rusqlite::{Connection, Row, Transaction, params, params_from_iter, types::ValueRef};
use steadfast_retry::Timestamp;

use super::{
    fault::Fault,
    number,
    query::{self, Query},
    statements::Statements,
    value,
};
use crate::{
    check,
    compare::Family,
    filter::{Field, Filter, Value},
    rows::{Group, Listing, RunIdentity, RunNumber, RunWrite, VisibilityPosition, VisibilityRow},
};

pub(super) fn put(
    statements: &mut Statements<'_>,
    write: &RunWrite,
    row: &VisibilityRow,
) -> Result<(), Fault> {
    const UPDATE: &str = "UPDATE visibility SET workflow_type = ?2, task_queue = ?3, status = ?4,
            start_time = ?5, execution_time = ?6, close_time = ?7, history_length = ?8,
            history_size = ?9, state_transitions = ?10, parent_workflow_id = ?11,
            parent_run_id = ?12, root_workflow_id = ?13, root_run_id = ?14, memo = ?15,
            search_attributes = ?16, list_time = ?17
        WHERE run = ?1";
    const INSERT: &str = "INSERT INTO visibility (run, workflow_type, task_queue, status,
            start_time, execution_time, close_time, history_length, history_size,
            state_transitions, parent_workflow_id, parent_run_id, root_workflow_id, root_run_id,
            memo, search_attributes, list_time, namespace)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, number
        FROM runs JOIN namespace_numbers USING (namespace) WHERE id = ?1";
    let (parent, root) = (row.parent.as_ref(), row.root.as_ref());
    let given = params![
        write.run.0,
        row.workflow_type,
        row.task_queue,
        row.status,
        row.start_time.nanos(),
        row.execution_time.nanos(),
        row.close_time.map(Timestamp::nanos),
        row.history_length,
        row.history_size,
        row.state_transitions,
        parent.map(|(workflow_id, _)| workflow_id),
        parent.map(|(_, run_id)| run_id),
        root.map(|(workflow_id, _)| workflow_id),
        root.map(|(_, run_id)| run_id),
        row.memo,
        row.search_attributes,
        query::list_time(row.close_time),
    ];
    let is_there = write.create.is_none() && statements.get(UPDATE)?.execute(given)? == 1;
    if !is_there && statements.get(INSERT)?.execute(given)? == 0 {
        number_namespace(statements, write.run)?;
        statements.get(INSERT)?.execute(given)?;
    }
    if write.create.is_none() {
        let sql = "DELETE FROM search_attributes WHERE run = ?1";
        statements.get(sql)?.execute([write.run.0])?;
    }
    put_values(statements, write.run, &row.search_values)
}

/// Gives the namespace of a run a number: it is the first of its namespace.
fn number_namespace(statements: &mut Statements<'_>, run: RunNumber) -> Result<(), Fault> {
    let sql = "INSERT INTO namespace_numbers (namespace)
        SELECT namespace FROM runs WHERE id = ?1";
    statements.get(sql)?.execute([run.0])?;
    Ok(())
}

pub(super) fn list(
    db: &mut Connection,
    namespace: &str,
    filter: &Filter,
    after: Option<VisibilityPosition>,
    limit: usize,
) -> Result<Listing, Fault> {
    let tx = db.transaction()?;
    // One row more than asked for tells whether there is another page.
    let query = query::list(&tx, namespace, filter, after, limit.saturating_add(1))?;
    let mut rows = listed(&tx, &query)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    for (run, row) in &mut rows {
        row.search_values = values(&tx, *run)?;
    }
    let next = rows.last().filter(|_| more).map(|(run, row)| VisibilityPosition {
        close_time: row.close_time,
        start_time: row.start_time,
        run: *run,
    });
    Ok(Listing { rows, next })
}

pub(super) fn count(
    db: &mut Connection,
    namespace: &str,
    filter: &Filter,
    by: Option<&Field>,
) -> Result<Vec<Group>, Fault> {
    let tx = db.transaction()?;
    let query = query::count(&tx, namespace, filter, by)?;
    let family = by.map(Family::of_field);
    let mut select = tx.prepare_cached(&query.sql)?;
    let mut rows = select.query(params_from_iter(&query.given))?;
    let mut groups = Vec::new();
    while let Some(row) = rows.next()? {
        let value = match (family, row.get_ref(0)?) {
            (None, _) | (_, ValueRef::Null) => None,
            (Some(family), found) => Some(value::read(family, found)?),
        };
        groups.push(Group { value, count: number::unsigned("count", row.get(1)?)? });
    }
    Ok(groups)
}

fn put_values(
    statements: &mut Statements<'_>,
    run: RunNumber,
    values: &[(String, Value)],
) -> Result<(), Fault> {
    const PUT: &str = "INSERT INTO search_attributes (run, name, position, kind, value)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut previous: Option<String> = None;
    let mut position = 0_i64;
    for (name, found) in check::searchable(values) {
        position = if previous.as_ref() == Some(&name) { position + 1 } else { 0 };
        let kind = value::kind(Family::of_value(&found));
        statements.get(PUT)?.execute((run.0, &name, position, kind, value::write(&found)))?;
        previous = Some(name);
    }
    Ok(())
}

fn values(tx: &Transaction<'_>, run: RunNumber) -> Result<Vec<(String, Value)>, Fault> {
    let sql = "SELECT name, kind, value FROM search_attributes WHERE run = ?1
        ORDER BY name, position";
    let mut select = tx.prepare_cached(sql)?;
    let mut rows = select.query([run.0])?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        let family = value::family(row.get_ref(1)?.as_str().unwrap_or_default())?;
        values.push((row.get(0)?, value::read(family, row.get_ref(2)?)?));
    }
    Ok(values)
}

fn listed(tx: &Transaction<'_>, query: &Query) -> Result<Vec<(RunNumber, VisibilityRow)>, Fault> {
    let mut select = tx.prepare_cached(&query.sql)?;
    let rows = select.query_map(params_from_iter(&query.given), visibility)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Reads the columns that [`query::COLUMNS`] names.
fn visibility(row: &Row<'_>) -> rusqlite::Result<(RunNumber, VisibilityRow)> {
    let found = VisibilityRow {
        identity: RunIdentity {
            namespace: row.get(1)?,
            workflow_id: row.get(2)?,
            run_id: row.get(3)?,
        },
        workflow_type: row.get(4)?,
        task_queue: row.get(5)?,
        status: row.get(6)?,
        start_time: Timestamp(row.get(7)?),
        execution_time: Timestamp(row.get(8)?),
        close_time: row.get::<_, Option<i64>>(9)?.map(Timestamp),
        history_length: row.get(10)?,
        history_size: row.get(11)?,
        state_transitions: row.get(12)?,
        parent: both(row.get(13)?, row.get(14)?),
        root: both(row.get(15)?, row.get(16)?),
        memo: row.get(17)?,
        search_attributes: row.get(18)?,
        search_values: Vec::new(),
    };
    Ok((RunNumber(row.get(0)?), found))
}

fn both(workflow_id: Option<String>, run_id: Option<String>) -> Option<(String, String)> {
    Some((workflow_id?, run_id?))
}
