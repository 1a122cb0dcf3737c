//! Filters as SQL. Values are bound, never written into the text.
//!
//! Most listings read an index in their own order and stop when the page is full. When the filter
//! asks for something that few runs have (a workflow id, one value of an attribute), those runs
//! are found first and sorted afterwards: [`Begin`] says where a query begins.

use rusqlite::{Connection, params_from_iter, types::Value as Sql};
use steadfast_retry::Timestamp;

use super::{condition::Conditions, fault::Fault, number};
use crate::{
    compare::{Family, by_words, comparable},
    filter::{Compare, Field, Filter, Value},
    rows::VisibilityPosition,
    sqlite::value,
};

/// A statement and what is bound to it.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) sql: String,
    pub(super) given: Vec<Sql>,
}

/// The columns of a listing, in the order in which they are read.
const COLUMNS: &str = "v.run, r.namespace, r.workflow_id, r.run_id, v.workflow_type, v.task_queue,
    v.status, v.start_time, v.execution_time, v.close_time, v.history_length, v.history_size,
    v.state_transitions, v.parent_workflow_id, v.parent_run_id, v.root_workflow_id, v.root_run_id,
    v.memo, v.search_attributes";

/// The number of a namespace; none if it has no runs.
const NUMBER: &str = "(SELECT number FROM namespace_numbers WHERE namespace = ?)";

/// What lists are ordered by: those that are open come first.
pub(super) fn list_time(close_time: Option<Timestamp>) -> i64 {
    close_time.map_or(i64::MAX, Timestamp::nanos)
}

/// One page of a listing.
pub(super) fn list(
    db: &Connection,
    namespace: &str,
    filter: &Filter,
    after: Option<VisibilityPosition>,
    limit: usize,
) -> Result<Query, Fault> {
    let mut found = Conditions::new();
    let from = Begin::choose(db, namespace, filter)?.from(&mut found, namespace, true);
    found.and(filter);
    if let Some(after) = after {
        let place =
            [list_time(after.close_time), after.start_time.nanos(), after.run.0].map(Sql::Integer);
        found.and_sql("(v.list_time, v.start_time, v.run) < (?, ?, ?)", place);
    }
    let (condition, mut given) = found.into_parts();
    given.push(Sql::Integer(number::limit(limit)));
    let sql = format!(
        "SELECT {COLUMNS} FROM {from} WHERE {condition}
        ORDER BY v.list_time DESC, v.start_time DESC, v.run DESC LIMIT ?"
    );
    Ok(Query { sql, given })
}

/// A count, of all or by the value of a field: two columns, the value and how many.
pub(super) fn count(
    db: &Connection,
    namespace: &str,
    filter: &Filter,
    by: Option<&Field>,
) -> Result<Query, Fault> {
    if let (Filter::All, Some(Field::Status)) = (filter, by) {
        return Ok(count_by_status(namespace));
    }
    let mut found = Conditions::new();
    let names = names_runs(filter) || by.is_some_and(names_run);
    let from = Begin::choose(db, namespace, filter)?.from(&mut found, namespace, names);
    found.and(filter);
    let (condition, given) = found.into_parts();
    let sql = match by {
        None => format!("SELECT NULL, count(*) FROM {from} WHERE {condition}"),
        Some(Field::Custom(name, _)) => {
            return Ok(count_by_attribute(from, &condition, given, name, by));
        }
        // A run with several errors counts in the group of each.
        Some(field @ Field::Error(_)) => format!(
            "SELECT {}, count(DISTINCT v.run) FROM {from}
            LEFT JOIN errors e ON e.run = v.run
            WHERE {condition} GROUP BY 1 ORDER BY 1",
            Conditions::column(field)
        ),
        Some(field) => format!(
            "SELECT {}, count(*) FROM {from} WHERE {condition} GROUP BY 1 ORDER BY 1",
            Conditions::column(field)
        ),
    };
    Ok(Query { sql, given })
}

/// All runs of a namespace by their status, from indexes alone: those that are running are in none by
/// their status, and are the rest.
fn count_by_status(namespace: &str) -> Query {
    let here = "FROM visibility v WHERE v.namespace = (SELECT number FROM asked)";
    let sql = format!(
        "WITH asked AS (SELECT number FROM namespace_numbers WHERE namespace = ?),
            others AS (SELECT v.status, count(*) AS runs {here} AND v.status <> 1 GROUP BY 1),
            running AS (SELECT (SELECT count(*) {here}) - ifnull(sum(runs), 0) AS runs FROM others)
        SELECT 1, runs FROM running WHERE runs > 0
        UNION ALL SELECT status, runs FROM others ORDER BY 1"
    );
    Query { sql, given: vec![Sql::Text(namespace.to_owned())] }
}

/// A run with several values counts in the group of each.
fn count_by_attribute(
    from: &str,
    condition: &str,
    given: Vec<Sql>,
    name: &str,
    by: Option<&Field>,
) -> Query {
    let kind = value::kind(by.map_or(Family::Text, Family::of_field));
    let sql = format!(
        "SELECT g.value, count(DISTINCT v.run) FROM {from}
        LEFT JOIN search_attributes g ON g.run = v.run AND g.name = ? AND g.kind = ?
        WHERE {condition} GROUP BY 1 ORDER BY 1"
    );
    let mut bound = vec![Sql::Text(name.to_owned()), Sql::Text(kind.to_owned())];
    bound.extend(given);
    Query { sql, given: bound }
}

/// Which rows a query looks at first.
enum Begin {
    /// All of the namespace, in the order of the listing.
    Namespace,
    /// The runs that a workflow id or a run id names.
    Runs,
    /// The runs that have errors, of which there are few.
    Errors,
    /// The runs that have this value of an attribute.
    Attribute(String, &'static str, Sql),
}

impl Begin {
    /// Attributes with more runs than this are not worth sorting.
    const FEW: i64 = 2000;

    fn choose(db: &Connection, namespace: &str, filter: &Filter) -> Result<Self, Fault> {
        for part in conjuncts(filter) {
            match part {
                Filter::Compare(Field::WorkflowId | Field::RunId, Compare::Equal, _)
                | Filter::In(Field::WorkflowId | Field::RunId, _) => return Ok(Self::Runs),
                Filter::StartsWith(Field::WorkflowId, _) if few_runs(db, namespace, part)? => {
                    return Ok(Self::Runs);
                }
                Filter::Compare(Field::Error(_), ..)
                | Filter::In(Field::Error(_), _)
                | Filter::Between(Field::Error(_), ..)
                | Filter::StartsWith(Field::Error(_), _)
                    if few_errors(db, namespace)? =>
                {
                    return Ok(Self::Errors);
                }
                Filter::Compare(field @ Field::Custom(name, _), Compare::Equal, wanted)
                    if !by_words(field) && comparable(field, wanted) =>
                {
                    let kind = value::kind(Family::of_value(wanted));
                    if few_values(db, name, kind, wanted)? {
                        return Ok(Self::Attribute(name.clone(), kind, value::write(wanted)));
                    }
                }
                Filter::All
                | Filter::And(..)
                | Filter::Or(..)
                | Filter::Not(..)
                | Filter::Compare(..)
                | Filter::In(..)
                | Filter::Between(..)
                | Filter::IsNull(..)
                | Filter::StartsWith(..) => (),
            }
        }
        Ok(Self::Namespace)
    }

    /// The tables, in the order in which they are read (`CROSS JOIN` keeps it), and the
    /// condition that begins it. The unary plus hides a column from the choice of an index.
    fn from(self, found: &mut Conditions, namespace: &str, names: bool) -> &'static str {
        let namespace = [Sql::Text(namespace.to_owned())];
        let named = "visibility v CROSS JOIN runs r ON r.id = v.run";
        let visibility = if names { named } else { "visibility v" };
        match self {
            Self::Namespace => {
                found.and_sql(&format!("v.namespace = {NUMBER}"), namespace);
                visibility
            }
            Self::Runs => {
                found.and_sql("r.namespace = ?", namespace);
                "runs r CROSS JOIN visibility v ON v.run = r.id"
            }
            Self::Errors => {
                let [namespace] = namespace;
                found.and_sql(&format!("+v.namespace = {NUMBER}"), [namespace.clone()]);
                found.and_sql("v.run IN (SELECT run FROM errors WHERE namespace = ?)", [namespace]);
                visibility
            }
            Self::Attribute(name, kind, wanted) => {
                found.and_sql(&format!("+v.namespace = {NUMBER}"), namespace);
                let sql = "v.run IN (SELECT run FROM search_attributes
                    WHERE name = ? AND kind = ? AND value = ?)";
                found.and_sql(sql, [Sql::Text(name), Sql::Text(kind.to_owned()), wanted]);
                visibility
            }
        }
    }
}

/// The conditions that must all hold.
fn conjuncts(filter: &Filter) -> Vec<&Filter> {
    match filter {
        Filter::And(a, b) => [conjuncts(a), conjuncts(b)].concat(),
        Filter::All
        | Filter::Or(..)
        | Filter::Not(..)
        | Filter::Compare(..)
        | Filter::In(..)
        | Filter::Between(..)
        | Filter::IsNull(..)
        | Filter::StartsWith(..) => vec![filter],
    }
}

fn few_runs(db: &Connection, namespace: &str, filter: &Filter) -> Result<bool, Fault> {
    let mut found = Conditions::new();
    found.and_sql("r.namespace = ?", [Sql::Text(namespace.to_owned())]);
    found.and(filter);
    let (condition, given) = found.into_parts();
    few(db, &format!("SELECT 1 FROM runs r WHERE {condition}"), given)
}

fn few_errors(db: &Connection, namespace: &str) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM errors WHERE namespace = ?";
    few(db, sql, vec![Sql::Text(namespace.to_owned())])
}

fn few_values(db: &Connection, name: &str, kind: &str, wanted: &Value) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM search_attributes WHERE name = ? AND kind = ? AND value = ?";
    let given = vec![Sql::Text(name.to_owned()), Sql::Text(kind.to_owned()), value::write(wanted)];
    few(db, sql, given)
}

fn few(db: &Connection, select: &str, mut given: Vec<Sql>) -> Result<bool, Fault> {
    given.push(Sql::Integer(Begin::FEW));
    let sql = format!("SELECT count(*) FROM ({select} LIMIT ?)");
    let count: i64 =
        db.prepare_cached(&sql)?.query_row(params_from_iter(given), |row| row.get(0))?;
    Ok(count < Begin::FEW)
}

/// Whether the filter asks for names, which are in the table of runs.
fn names_runs(filter: &Filter) -> bool {
    match filter {
        Filter::All => false,
        Filter::And(a, b) | Filter::Or(a, b) => names_runs(a) || names_runs(b),
        Filter::Not(inner) => names_runs(inner),
        Filter::Compare(field, ..)
        | Filter::In(field, _)
        | Filter::Between(field, ..)
        | Filter::IsNull(field)
        | Filter::StartsWith(field, _) => names_run(field),
    }
}

fn names_run(field: &Field) -> bool {
    matches!(field, Field::WorkflowId | Field::RunId)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};
    use steadfast_retry::Timestamp;

    use super::{Query, count, list};
    use crate::{
        filter::{Compare, Field, Filter, SearchType, Value},
        rows::{RunNumber, VisibilityPosition},
        sqlite::schema,
    };

    #[test]
    fn a_listing_reads_an_index_in_order_and_sorts_nothing() {
        let text = |text: &str| Value::Text(text.to_owned());
        let equal = |field, value| Filter::Compare(field, Compare::Equal, value);
        let old = Filter::Compare(Field::CloseTime, Compare::Less, Value::Time(Timestamp(5)));
        let table = [
            (Filter::All, "visibility_by_time (namespace=?)"),
            (
                equal(Field::WorkflowType, text("x")),
                "visibility_by_type (namespace=? AND workflow_type=?)",
            ),
            (
                equal(Field::Status, Value::Int(3)),
                "visibility_by_status (namespace=? AND status=?)",
            ),
            (
                equal(Field::Status, Value::Int(1)),
                "visibility_by_time (namespace=? AND list_time=?)",
            ),
            (old, "visibility_by_time (namespace=? AND list_time<?)"),
        ];
        for (filter, index) in table {
            let plan = plan(&filter, None);
            assert!(plan.contains(index), "{filter:?}\n{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
        }
    }

    #[test]
    fn a_later_page_begins_where_the_last_one_ended() {
        let after =
            VisibilityPosition { close_time: None, start_time: Timestamp(7), run: RunNumber(7) };
        let plan = plan(&Filter::All, Some(after));
        let index = "visibility_by_time (namespace=? AND (list_time,start_time)<(?,?))";
        assert!(plan.contains(index), "{plan}");
    }

    #[test]
    fn what_few_runs_have_is_looked_up_first() {
        let text = |text: &str| Value::Text(text.to_owned());
        let customer = Field::Custom("Customer".to_owned(), SearchType::Keyword);
        let table = [
            (Field::WorkflowId, "runs_by_workflow_id (namespace=? AND workflow_id=?)"),
            (Field::RunId, "runs_by_run_id (run_id=?)"),
            (customer, "search_attributes_by_value (name=? AND kind=? AND value=?)"),
        ];
        for (field, index) in table {
            let plan = plan(&Filter::Compare(field, Compare::Equal, text("x")), None);
            assert!(plan.contains(index), "{plan}");
            assert!(!plan.contains("visibility_by"), "{plan}");
        }
    }

    #[test]
    fn a_count_by_status_looks_at_no_row() {
        let status = |number| Filter::Compare(Field::Status, Compare::Equal, Value::Int(number));
        let table = [
            (Filter::All, Some(Field::Status), "visibility_by_status (namespace=?)"),
            (Filter::All, Some(Field::Status), "visibility_by_time (namespace=?)"),
            (status(3), None, "visibility_by_status (namespace=? AND status=?)"),
            (status(1), None, "visibility_by_time (namespace=? AND list_time=?)"),
        ];
        for (filter, by, index) in table {
            let db = database();
            let query = count(&db, "ns", &filter, by.as_ref()).expect("a query");
            let plan = explain(&db, &query);
            assert!(plan.contains(&format!("COVERING INDEX {index}")), "{filter:?}\n{plan}");
        }
    }

    fn plan(filter: &Filter, after: Option<VisibilityPosition>) -> String {
        let db = database();
        explain(&db, &list(&db, "ns", filter, after, 10).expect("a query"))
    }

    fn database() -> Connection {
        let mut db = Connection::open_in_memory().expect("a database");
        schema::migrate(&mut db).expect("the schema");
        db
    }

    fn explain(db: &Connection, query: &Query) -> String {
        let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {}", query.sql)).expect("valid");
        let rows = explain.query_map(params_from_iter(&query.given), |row| row.get::<_, String>(3));
        rows.expect("a plan").collect::<Result<Vec<_>, _>>().expect("a plan").join("\n")
    }
}
