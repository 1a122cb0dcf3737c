//! The condition of a query, piece by piece.
//!
//! SQL has three truth values and a filter has two: what compares with nothing is false, and its
//! opposite true. Outside of `NOT` an unknown is as good as false; inside, each piece is made
//! definite first (`IS TRUE`), which costs it the index.

use rusqlite::types::Value as Sql;

use super::value;
use crate::{
    compare::{Family, by_words, comparable},
    filter::{Compare, ErrorField, Field, Filter, Value},
    rows::RUNNING,
};

/// Conditions that must all hold, and what is bound to them.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    sql: String,
    given: Vec<Sql>,
    negated: bool,
}

impl Conditions {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a condition in SQL.
    pub(super) fn and_sql(&mut self, sql: &str, given: impl IntoIterator<Item = Sql>) {
        self.joint();
        self.sql.push_str(sql);
        self.given.extend(given);
    }

    /// Adds a filter.
    pub(super) fn and(&mut self, filter: &Filter) {
        self.joint();
        self.filter(filter);
    }

    /// The condition, and what is bound to it.
    pub(super) fn into_parts(self) -> (String, Vec<Sql>) {
        (self.sql, self.given)
    }

    /// What a field is called in SQL; NULL where the run does not have it.
    pub(super) fn column(field: &Field) -> &'static str {
        match field {
            Field::WorkflowId => "r.workflow_id",
            Field::RunId => "r.run_id",
            Field::WorkflowType => "v.workflow_type",
            Field::TaskQueue => "v.task_queue",
            Field::Status => "v.status",
            Field::StartTime => "v.start_time",
            Field::ExecutionTime => "v.execution_time",
            Field::CloseTime => "v.close_time",
            Field::ExecutionDuration => "(v.close_time - v.execution_time)",
            Field::HistoryLength => "iif(v.close_time IS NULL, NULL, v.history_length)",
            Field::HistorySize => "iif(v.close_time IS NULL, NULL, v.history_size)",
            Field::StateTransitions => "iif(v.close_time IS NULL, NULL, v.state_transitions)",
            Field::ParentWorkflowId => "v.parent_workflow_id",
            Field::ParentRunId => "v.parent_run_id",
            Field::RootWorkflowId => "v.root_workflow_id",
            Field::RootRunId => "v.root_run_id",
            Field::Error(ErrorField::State) => "e.state",
            Field::Error(ErrorField::Attempts) => "e.attempts",
            Field::Error(ErrorField::ActivityType) => "e.activity_type",
            Field::Error(ErrorField::Fingerprint) => "e.fingerprint",
            Field::Error(ErrorField::Cause) => "e.cause",
            Field::Custom(..) => "s.value",
        }
    }

    fn joint(&mut self) {
        if !self.sql.is_empty() {
            self.sql.push_str(" AND ");
        }
    }

    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::All => self.push("1", []),
            Filter::And(a, b) => self.both(a, " AND ", b),
            Filter::Or(a, b) => self.both(a, " OR ", b),
            Filter::Not(inner) => self.not(inner),
            Filter::Compare(field, compare, wanted) => self.compare(field, *compare, wanted),
            Filter::In(field, wanted) => self.one_of(field, wanted),
            Filter::Between(field, low, high) => self.between(field, low, high),
            Filter::IsNull(field) => self.is_null(field),
            Filter::StartsWith(field, prefix) => self.starts_with(field, prefix),
        }
    }

    fn both(&mut self, a: &Filter, word: &str, b: &Filter) {
        self.sql.push('(');
        self.filter(a);
        self.sql.push_str(word);
        self.filter(b);
        self.sql.push(')');
    }

    fn not(&mut self, inner: &Filter) {
        let outer = std::mem::replace(&mut self.negated, true);
        self.sql.push_str("NOT (");
        self.filter(inner);
        self.sql.push(')');
        self.negated = outer;
    }

    fn compare(&mut self, field: &Field, compare: Compare, wanted: &Value) {
        if !comparable(field, wanted) {
            return self.never();
        }
        let given = value::write(wanted);
        let sql = match compare {
            Compare::Equal if *field == Field::Status => Self::status_is(&given),
            Compare::Equal if by_words(field) => "has_words({}, ?)",
            Compare::Equal => "{} = ?",
            Compare::NotEqual => return self.not_equal(field, given),
            Compare::Less => "{} < ?",
            Compare::LessOrEqual => "{} <= ?",
            Compare::Greater => "{} > ?",
            Compare::GreaterOrEqual => "{} >= ?",
        };
        self.holds(field, sql, [given]);
    }

    /// With what else holds of a run of that status, which is what its index is by.
    fn status_is(wanted: &Sql) -> &'static str {
        match wanted {
            Sql::Integer(status) if *status == i64::from(RUNNING) => {
                "({} = ? AND v.list_time = 9223372036854775807)"
            }
            Sql::Integer(_) => "({} = ? AND {} <> 1)",
            Sql::Null | Sql::Real(_) | Sql::Text(_) | Sql::Blob(_) => "{} = ?",
        }
    }

    /// Has some, but not this.
    fn not_equal(&mut self, field: &Field, given: Sql) {
        if !field.is_many() {
            return self.holds(field, "{} <> ?", [given]);
        }
        let equal = if by_words(field) { "has_words({}, ?)" } else { "{} = ?" };
        self.sql.push('(');
        self.holds(field, "1", []);
        self.sql.push_str(" AND NOT ");
        self.holds(field, equal, [given]);
        self.sql.push(')');
    }

    fn one_of(&mut self, field: &Field, wanted: &[Value]) {
        let wanted: Vec<_> =
            wanted.iter().filter(|one| comparable(field, one)).map(value::write).collect();
        if wanted.is_empty() {
            return self.never();
        }
        let sql = if by_words(field) {
            vec!["has_words({}, ?)"; wanted.len()].join(" OR ")
        } else {
            format!("{{}} IN ({})", vec!["?"; wanted.len()].join(", "))
        };
        self.holds(field, &format!("({sql})"), wanted);
    }

    fn between(&mut self, field: &Field, low: &Value, high: &Value) {
        if !comparable(field, low) || !comparable(field, high) {
            return self.never();
        }
        self.holds(field, "{} BETWEEN ? AND ?", [value::write(low), value::write(high)]);
    }

    fn is_null(&mut self, field: &Field) {
        if field.is_many() {
            self.sql.push_str("NOT ");
            return self.holds(field, "1", []);
        }
        self.push(&format!("{} IS NULL", Self::column(field)), []);
    }

    /// A range, so that an index can be used: from the prefix to the first text after all those
    /// that begin with it.
    fn starts_with(&mut self, field: &Field, prefix: &str) {
        if Family::of_field(field) != Family::Text {
            return self.never();
        }
        let begin = Sql::Text(prefix.to_owned());
        match after_prefix(prefix) {
            Some(end) => self.holds(field, "({0} >= ? AND {0} < ?)", [begin, Sql::Text(end)]),
            None => self.holds(field, "{} >= ?", [begin]),
        }
    }

    /// That the field, or one of the values of an attribute, is as `sql` says of `{}`.
    fn holds(&mut self, field: &Field, sql: &str, given: impl IntoIterator<Item = Sql>) {
        let of = |column| sql.replace("{0}", column).replace("{}", column);
        let sql = of(Self::column(field));
        if let Field::Custom(name, _) = field {
            let kind = value::kind(Family::of_field(field)).to_owned();
            self.push(
                "EXISTS (SELECT 1 FROM search_attributes s
                    WHERE s.run = v.run AND s.name = ? AND s.kind = ? AND ",
                [Sql::Text(name.clone()), Sql::Text(kind)],
            );
            self.push(&format!("{sql})"), given);
        } else if let Field::Error(_) = field {
            let any = format!("EXISTS (SELECT 1 FROM errors e WHERE e.run = v.run AND {sql})");
            self.push(&any, given);
        } else if self.negated {
            self.push(&format!("({sql}) IS TRUE"), given);
        } else if *field == Field::CloseTime {
            // The same again of the column that is in the indexes.
            let given: Vec<_> = given.into_iter().collect();
            self.push(&format!("({} AND ", of("v.list_time")), given.clone());
            self.push(&format!("{sql})"), given);
        } else {
            self.push(&sql, given);
        }
    }

    fn never(&mut self) {
        self.push("0", []);
    }

    fn push(&mut self, sql: &str, given: impl IntoIterator<Item = Sql>) {
        self.sql.push_str(sql);
        self.given.extend(given);
    }
}

/// The first text after all those that begin with `prefix`, if there is one.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut rest = prefix.to_owned();
    while let Some(last) = rest.pop() {
        // The range of characters skips the surrogates, as text does.
        if let Some(next) = (last..=char::MAX).nth(1) {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::after_prefix;

    #[test]
    fn the_text_after_a_prefix() {
        let table = [
            ("order-", Some("order.")),
            ("", None),
            ("a\u{10ffff}", Some("b")),
            ("\u{10ffff}", None),
            ("\u{d7ff}", Some("\u{e000}")),
        ];
        for (prefix, expected) in table {
            assert_eq!(after_prefix(prefix).as_deref(), expected, "{prefix:?}");
        }
    }
}
