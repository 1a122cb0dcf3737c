//! Questions about errors as SQL. Values are bound, never written into the text.
//!
//! Both indexes hold all that most questions ask about, so that a page or the groups are found in
//! one of them alone, and rows are read only for what is given back.

use rusqlite::{Row, types::Value as Sql};
use steadfast_retry::Timestamp;

use super::number;
use crate::{
    error_rows::{ErrorRow, ErrorState},
    error_view::{ErrorFilter, ErrorGroup, ErrorPosition},
    store::Order,
};

/// A statement and what is bound to it.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) sql: String,
    pub(super) given: Vec<Sql>,
}

/// The columns of an error, in the order in which they are read.
pub(super) const COLUMNS: &str = "e.run, e.subject, r.namespace, r.workflow_id, r.run_id,
    e.workflow_type, e.activity_id, e.activity_type, e.kind, e.state, e.attempts, e.error_type,
    e.cause, e.fingerprint, e.first_at, e.last_at, e.next_at, e.reason, e.acknowledged_at,
    e.acknowledged_by, e.acknowledged_reason, e.resumes";

/// One page: first its places, from an index, then the rows there.
pub(super) fn list(
    namespace: &str,
    filter: &ErrorFilter,
    order: Order,
    after: Option<ErrorPosition>,
    limit: usize,
) -> Query {
    let look = Look::at_pages(filter);
    let mut found = Conditions::of(look, namespace, filter);
    let (beyond, way) = match order {
        Order::Forward => (">", "ASC"),
        Order::Backward => ("<", "DESC"),
    };
    if let Some(after) = after {
        let place = [after.last_at.nanos(), after.run.0, after.subject].map(Sql::Integer);
        found.and(&format!("(last_at, run, subject) {beyond} (?, ?, ?)"), place);
    }
    let by = format!("last_at {way}, run {way}, subject {way}");
    let Conditions { sql, mut given } = found;
    given.push(Sql::Integer(number::limit(limit)));
    let from = look.from();
    let outer = format!("e.last_at {way}, e.run {way}, e.subject {way}");
    let sql = format!(
        "SELECT {COLUMNS}
        FROM (SELECT run, subject FROM {from} WHERE {sql} ORDER BY {by} LIMIT ?) AS place
        CROSS JOIN errors e ON e.run = place.run AND e.subject = place.subject
        CROSS JOIN runs r ON r.id = e.run ORDER BY {outer}"
    );
    Query { sql, given }
}

/// How many.
pub(super) fn count(namespace: &str, filter: &ErrorFilter) -> Query {
    let look = Look::at_pages(filter);
    let Conditions { sql, given } = Conditions::of(look, namespace, filter);
    Query { sql: format!("SELECT count(*) FROM {} WHERE {sql}", look.from()), given }
}

/// Groups: two columns of what they have in common and the newest run, then the numbers.
///
/// The inner groups come in the order of the index and need no sorting; there are few of them
/// beside the errors.
pub(super) fn groups(namespace: &str, filter: &ErrorFilter, by: ErrorGroup, limit: usize) -> Query {
    let look = if names_few(filter) { Look::Rows } else { Look::ByKind };
    let Conditions { sql, mut given } = Conditions::of(look, namespace, filter);
    let (one, two) = key(by);
    let (from, inner) = (look.from(), index_key(by));
    let numbers = ErrorState::ALL.map(ErrorState::number);
    let counted = numbers.map(|state| format!("{} AS state_{state}", count_of(by, state)));
    let counted = counted.join(", ");
    let states = numbers.map(|state| format!("sum(state_{state})")).join(", ");
    given.push(Sql::Integer(number::limit(limit)));
    let sql = format!(
        "SELECT {one}, {two}, max(run), sum(n), min(first_at), max(last_at), sum(acknowledged),
            {states}
        FROM (SELECT {inner}, count(*) AS n, count(acknowledged_at) AS acknowledged,
                min(first_at) AS first_at, max(last_at) AS last_at, max(run) AS run, {counted}
            FROM {from} WHERE {sql} GROUP BY {inner})
        GROUP BY 1, 2 ORDER BY 4 DESC, 6 DESC, 3 DESC, 1, 2 LIMIT ?"
    );
    Query { sql, given }
}

/// One error of a group that [`groups`] found.
pub(super) fn example(
    namespace: &str,
    filter: &ErrorFilter,
    by: ErrorGroup,
    group: &Row<'_>,
) -> rusqlite::Result<Query> {
    let mut found = Conditions::of(Look::Rows, namespace, filter);
    let (one, two) = key(by);
    let common = [group.get(0)?, group.get(1)?, group.get(2)?];
    found.and(&format!("{one} = ? AND {two} = ? AND run = ?"), common);
    let Conditions { sql, given } = found;
    let sql = format!(
        "SELECT {COLUMNS}
        FROM (SELECT run, subject FROM errors WHERE {sql} ORDER BY subject DESC LIMIT 1) AS place
        CROSS JOIN errors e ON e.run = place.run AND e.subject = place.subject
        CROSS JOIN runs r ON r.id = e.run"
    );
    Ok(Query { sql, given })
}

/// What the errors of a group have in common, as two columns.
const fn key(by: ErrorGroup) -> (&'static str, &'static str) {
    match by {
        ErrorGroup::WorkflowType => ("workflow_type", "''"),
        ErrorGroup::Activity => ("workflow_type", "activity_type"),
        ErrorGroup::Cause => ("cause_hash", "''"),
        ErrorGroup::Fingerprint => ("fingerprint", "''"),
    }
}

/// The beginning of the index by kind that tells groups apart.
const fn index_key(by: ErrorGroup) -> &'static str {
    match by {
        ErrorGroup::WorkflowType => "workflow_type",
        ErrorGroup::Activity => "workflow_type, activity_type",
        ErrorGroup::Fingerprint => "workflow_type, activity_type, fingerprint",
        ErrorGroup::Cause => "workflow_type, activity_type, fingerprint, cause_hash, state",
    }
}

/// How many of an inner group are in a state. Where groups are small, the state is one more key and
/// counts once a group; where they are large, fewer keys cost less than counting row by row.
fn count_of(by: ErrorGroup, state: u8) -> String {
    match by {
        ErrorGroup::WorkflowType | ErrorGroup::Activity | ErrorGroup::Fingerprint => {
            format!("sum(state = {state})")
        }
        ErrorGroup::Cause => format!("iif(state = {state}, count(*), 0)"),
    }
}

/// Where to look.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Look {
    /// At the newest first, until there are enough.
    ByTime,
    /// At all of one kind.
    ByKind,
    /// At the rows themselves: those of a few runs, or all.
    Rows,
}

impl Look {
    fn at_pages(filter: &ErrorFilter) -> Self {
        let of_kind = filter.workflow_type.is_some()
            || filter.activity_type.is_some()
            || filter.cause.is_some()
            || filter.fingerprint.is_some()
            || filter.min_attempts > 0;
        // What no index has: reading all rows once costs less than looking for each of them.
        let elsewhere = filter.cause_contains.is_some() || filter.error_type.is_some();
        if names_few(filter) || elsewhere {
            Self::Rows
        } else if of_kind {
            Self::ByKind
        } else {
            Self::ByTime
        }
    }

    const fn from(self) -> &'static str {
        match self {
            Self::ByTime => "errors INDEXED BY errors_by_time",
            Self::ByKind => "errors INDEXED BY errors_by_kind",
            Self::Rows => "errors",
        }
    }
}

/// Whether it is said which errors or which runs are meant.
fn names_few(filter: &ErrorFilter) -> bool {
    !filter.ids.is_empty() || filter.workflow_id.is_some()
}

/// Conditions that must all hold, and what is bound to them.
struct Conditions {
    sql: String,
    given: Vec<Sql>,
}

impl Conditions {
    fn of(look: Look, namespace: &str, filter: &ErrorFilter) -> Self {
        // The unary plus hides the namespace from the choice of an index.
        let sql = if look == Look::Rows { "+namespace = ?" } else { "namespace = ?" };
        let given = vec![Sql::Text(namespace.to_owned())];
        let mut found = Self { sql: sql.to_owned(), given };
        found.of_names(filter);
        found.of_kind(filter);
        found.of_progress(filter);
        found
    }

    fn of_names(&mut self, filter: &ErrorFilter) {
        if let Some(id) = &filter.workflow_id {
            let namespace = self.given[0].clone();
            let sql = "run IN (SELECT id FROM runs WHERE namespace = ? AND workflow_id = ?)";
            self.and(sql, [namespace, Sql::Text(id.clone())]);
        }
        if !filter.ids.is_empty() {
            let ids: Vec<_> =
                filter.ids.iter().map(|(run, subject)| format!("[{},{subject}]", run.0)).collect();
            let sql = "(run, subject) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))";
            self.and(sql, [Sql::Text(format!("[{}]", ids.join(",")))]);
        }
    }

    fn of_kind(&mut self, filter: &ErrorFilter) {
        let text = |text: &String| Sql::Text(text.clone());
        let kinds = [
            ("workflow_type = ?", filter.workflow_type.as_ref().map(text)),
            ("activity_type = ?", filter.activity_type.as_ref().map(text)),
            // The number stands for the text: that two causes had the same would take billions.
            (
                "cause_hash = ?",
                filter.cause.as_ref().map(|cause| Sql::Integer(ErrorRow::cause_hash(cause))),
            ),
            ("instr(cause, ?)", filter.cause_contains.as_ref().map(text)),
            ("error_type = ?", filter.error_type.as_ref().map(text)),
            (
                "fingerprint = ?",
                filter.fingerprint.map(|fingerprint| Sql::Integer(fingerprint.cast_signed())),
            ),
        ];
        for (sql, given) in kinds {
            if let Some(given) = given {
                self.and(sql, [given]);
            }
        }
    }

    fn of_progress(&mut self, filter: &ErrorFilter) {
        if !filter.states.is_empty() {
            let states = filter.states.iter().map(|state| Sql::Integer(state.number().into()));
            let marks = vec!["?"; filter.states.len()].join(", ");
            self.and(&format!("state IN ({marks})"), states);
        }
        match filter.acknowledged {
            Some(true) => self.and("acknowledged_at IS NOT NULL", []),
            Some(false) => self.and("acknowledged_at IS NULL", []),
            None => (),
        }
        if filter.min_attempts > 0 {
            self.and("attempts >= ?", [Sql::Integer(filter.min_attempts.into())]);
        }
        if let Some(Timestamp(since)) = filter.since {
            self.and("last_at >= ?", [Sql::Integer(since)]);
        }
        if let Some(Timestamp(until)) = filter.until {
            self.and("last_at < ?", [Sql::Integer(until)]);
        }
    }

    fn and(&mut self, sql: &str, given: impl IntoIterator<Item = Sql>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.given.extend(given);
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};
    use steadfast_retry::Timestamp;

    use super::{Query, count, groups, list};
    use crate::{
        error_rows::ErrorState,
        error_view::{ErrorFilter, ErrorGroup, ErrorPosition},
        rows::RunNumber,
        sqlite::schema,
        store::Order,
    };

    const TIME: &str = "errors USING COVERING INDEX errors_by_time (namespace=?";
    const KIND: &str = "errors USING COVERING INDEX errors_by_kind (namespace=?";

    #[test]
    fn a_page_of_states_reads_an_index_in_order() {
        let parked = ErrorFilter {
            states: vec![ErrorState::Parked],
            acknowledged: Some(false),
            ..ErrorFilter::default()
        };
        for filter in [ErrorFilter::default(), parked] {
            let plan = plan(&list("ns", &filter, Order::Backward, None, 10));
            assert!(plan.contains(TIME), "{plan}");
            let (inner, _) = plan.split_once("SCAN place").expect("the rows of the page");
            assert!(!inner.contains("TEMP B-TREE"), "{plan}");
        }
        let after = ErrorPosition { last_at: Timestamp(5), run: RunNumber(5), subject: 5 };
        let plan = plan(&list("ns", &ErrorFilter::default(), Order::Backward, Some(after), 10));
        assert!(plan.contains("errors_by_time (namespace=? AND (last_at,run,subject)<"), "{plan}");
    }

    #[test]
    fn what_is_of_one_kind_is_found_in_an_index_alone() {
        let text = || Some("x".to_owned());
        let any = ErrorFilter::default;
        let kinds = [
            ErrorFilter { workflow_type: text(), ..any() },
            ErrorFilter { activity_type: text(), acknowledged: Some(true), ..any() },
            ErrorFilter { cause: text(), since: Some(Timestamp(1)), ..any() },
            ErrorFilter { fingerprint: Some(1), states: vec![ErrorState::Dead], ..any() },
            ErrorFilter { min_attempts: 2, ..any() },
        ];
        for filter in kinds {
            for query in [list("ns", &filter, Order::Forward, None, 10), count("ns", &filter)] {
                let plan = plan(&query);
                assert!(plan.contains(KIND), "{filter:?}\n{plan}");
            }
        }
    }

    #[test]
    fn groups_are_made_in_the_order_of_an_index() {
        for by in [
            ErrorGroup::WorkflowType,
            ErrorGroup::Activity,
            ErrorGroup::Cause,
            ErrorGroup::Fingerprint,
        ] {
            let filter = ErrorFilter { states: vec![ErrorState::Parked], ..ErrorFilter::default() };
            let plan = plan(&groups("ns", &filter, by, 10));
            assert!(plan.contains(KIND), "{plan}");
            let (inner, _) = plan.split_once("SCAN (subquery").expect("groups of groups");
            assert!(!inner.contains("TEMP B-TREE"), "{plan}");
        }
    }

    #[test]
    fn those_that_are_named_are_looked_up() {
        let ids = ErrorFilter { ids: vec![(RunNumber(1), 5)], ..ErrorFilter::default() };
        let run = ErrorFilter { workflow_id: Some("x".to_owned()), ..ErrorFilter::default() };
        for filter in [ids, run] {
            let plan = plan(&list("ns", &filter, Order::Backward, None, 10));
            assert!(plan.contains("errors USING PRIMARY KEY (run=?"), "{plan}");
        }
    }

    fn plan(query: &Query) -> String {
        let mut db = Connection::open_in_memory().expect("a database");
        schema::migrate(&mut db).expect("the schema");
        let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {}", query.sql)).expect("valid");
        let rows = explain.query_map(params_from_iter(&query.given), |row| row.get::<_, String>(3));
        rows.expect("a plan").collect::<Result<Vec<_>, _>>().expect("a plan").join("\n")
    }
}
