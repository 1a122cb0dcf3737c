//! Searching: which runs a filter means. Each case is a table of filters and runs.

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, listed, wait};
use crate::filter::{Compare, Field, Filter, SearchType, Value};

/// Every name, by every comparison.
pub fn names_and_types_are_compared(backend: &dyn Backend) {
    let owner = runs(backend);
    for (filter, expected) in [
        (compare(Field::WorkflowId, Compare::Equal, text("workflow-2")), vec![2]),
        (compare(Field::WorkflowId, Compare::NotEqual, text("workflow-2")), vec![1, 3, 4]),
        (compare(Field::WorkflowId, Compare::Greater, text("workflow-2")), vec![3, 4]),
        (
            is_in(Field::WorkflowId, vec![text("workflow-4"), text("x"), text("workflow-1")]),
            vec![1, 4],
        ),
        (compare(Field::RunId, Compare::Equal, text("run-3")), vec![3]),
        (compare(Field::RunId, Compare::Equal, text("RUN-3")), vec![]),
        (compare(Field::WorkflowType, Compare::Equal, text("Order")), vec![1, 2]),
        (compare(Field::TaskQueue, Compare::NotEqual, text("fast")), vec![2, 4]),
        (compare(Field::ParentWorkflowId, Compare::Equal, text("parent")), vec![2]),
        (compare(Field::ParentRunId, Compare::NotEqual, text("x")), vec![2]),
        (Filter::IsNull(Field::ParentWorkflowId), vec![1, 3, 4]),
        (compare(Field::RootWorkflowId, Compare::Equal, text("root")), vec![2]),
        (compare(Field::RootRunId, Compare::Equal, text("root-run")), vec![2]),
        (Filter::Between(Field::WorkflowId, text("workflow-2"), text("workflow-3")), vec![2, 3]),
        (is_in(Field::WorkflowType, vec![]), vec![]),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// Ends included or not, as asked.
pub fn times_and_numbers_are_compared(backend: &dyn Backend) {
    let owner = runs(backend);
    for (filter, expected) in [
        (compare(Field::StartTime, Compare::Less, time(20)), vec![1]),
        (compare(Field::StartTime, Compare::LessOrEqual, time(20)), vec![1, 2]),
        (compare(Field::StartTime, Compare::GreaterOrEqual, time(30)), vec![3, 4]),
        (Filter::Between(Field::StartTime, time(20), time(30)), vec![2, 3]),
        (compare(Field::ExecutionTime, Compare::Equal, time(25)), vec![2]),
        (compare(Field::CloseTime, Compare::Greater, time(100)), vec![4]),
        (compare(Field::Status, Compare::Equal, Value::Int(1)), vec![1, 2]),
        (compare(Field::Status, Compare::NotEqual, Value::Int(1)), vec![3, 4]),
        (is_in(Field::Status, vec![Value::Int(2), Value::Int(3)]), vec![3, 4]),
        (compare(Field::ExecutionDuration, Compare::GreaterOrEqual, Value::Int(155)), vec![4]),
        (compare(Field::HistoryLength, Compare::Equal, Value::Int(3)), vec![3]),
        (compare(Field::HistorySize, Compare::Equal, Value::Int(30)), vec![3]),
        (compare(Field::StateTransitions, Compare::Greater, Value::Int(2)), vec![3, 4]),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// Close time, duration and sizes are not set while a run is open.
pub fn what_an_open_run_lacks_matches_nothing(backend: &dyn Backend) {
    let owner = runs(backend);
    check(&owner, &Filter::IsNull(Field::CloseTime), &[1, 2]);
    for field in [Field::ExecutionDuration, Field::HistoryLength, Field::StateTransitions] {
        check(&owner, &Filter::IsNull(field.clone()), &[1, 2]);
        check(&owner, &compare(field.clone(), Compare::NotEqual, Value::Int(-7)), &[3, 4]);
        check(&owner, &compare(field, Compare::Less, Value::Int(1 << 40)), &[3, 4]);
    }
    check(&owner, &compare(Field::CloseTime, Compare::LessOrEqual, time(i64::MAX)), &[3, 4]);
}

/// What compares with nothing is false, and its opposite true.
pub fn not_is_the_plain_opposite(backend: &dyn Backend) {
    let owner = runs(backend);
    let closed_late = compare(Field::CloseTime, Compare::Greater, time(100));
    let priority = compare(custom("Priority", SearchType::Int), Compare::Greater, Value::Int(4));
    for (filter, expected) in [
        (not(closed_late.clone()), vec![1, 2, 3]),
        (not(not(closed_late.clone())), vec![4]),
        (not(priority.clone()), vec![1, 3, 4]),
        (not(and(closed_late.clone(), priority.clone())), vec![1, 2, 3, 4]),
        (not(or(closed_late, priority)), vec![1, 3]),
        (not(Filter::IsNull(Field::ParentRunId)), vec![2]),
        (not(is_in(Field::CloseTime, vec![time(100)])), vec![1, 2, 4]),
        (not(Filter::All), vec![]),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// As they are written, with or without an index.
pub fn and_with_or_nest(backend: &dyn Backend) {
    let owner = runs(backend);
    let order = compare(Field::WorkflowType, Compare::Equal, text("Order"));
    let closed = compare(Field::Status, Compare::NotEqual, Value::Int(1));
    let first = compare(Field::WorkflowId, Compare::Equal, text("workflow-1"));
    for (filter, expected) in [
        (and(order.clone(), first.clone()), vec![1]),
        (and(closed.clone(), first.clone()), vec![]),
        (or(closed.clone(), first.clone()), vec![1, 3, 4]),
        (and(or(order.clone(), closed.clone()), not(first)), vec![2, 3, 4]),
        (or(and(order, closed.clone()), closed), vec![3, 4]),
        (and(Filter::All, Filter::All), vec![1, 2, 3, 4]),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// Numbers as numbers, times as times, words as wholes.
pub fn attributes_are_compared_by_their_type(backend: &dyn Backend) {
    let owner = runs(backend);
    let priority = || custom("Priority", SearchType::Int);
    let customer = || custom("Customer", SearchType::Keyword);
    let price = || custom("Price", SearchType::Double);
    for (filter, expected) in [
        (compare(priority(), Compare::Equal, Value::Int(5)), vec![2]),
        (compare(priority(), Compare::NotEqual, Value::Int(5)), vec![1]),
        (compare(priority(), Compare::Less, Value::Int(5)), vec![1]),
        (Filter::Between(priority(), Value::Int(3), Value::Int(5)), vec![1, 2]),
        (Filter::IsNull(priority()), vec![3, 4]),
        (compare(customer(), Compare::Equal, text("acme")), vec![1, 3]),
        (compare(customer(), Compare::NotEqual, text("acme")), vec![2]),
        (compare(customer(), Compare::Greater, text("a")), vec![1, 2, 3]),
        (is_in(customer(), vec![text("Acme"), text("globex")]), vec![2]),
        (compare(price(), Compare::Greater, Value::Double(1.25)), vec![2]),
        (compare(custom("Vip", SearchType::Bool), Compare::Equal, Value::Bool(true)), vec![1]),
        (compare(custom("Vip", SearchType::Bool), Compare::NotEqual, Value::Bool(true)), vec![2]),
        (compare(custom("Due", SearchType::Datetime), Compare::Less, time(60)), vec![1]),
        (compare(custom("Nothing", SearchType::Int), Compare::NotEqual, Value::Int(1)), vec![]),
        (
            and(
                compare(customer(), Compare::Equal, text("acme")),
                compare(Field::Status, Compare::Equal, Value::Int(1)),
            ),
            vec![1],
        ),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// Equal means that it is among them; unequal, that there are some and it is not.
pub fn a_list_matches_by_what_it_contains(backend: &dyn Backend) {
    let owner = runs(backend);
    let tags = || custom("Tags", SearchType::KeywordList);
    for (filter, expected) in [
        (compare(tags(), Compare::Equal, text("red")), vec![1, 2]),
        (compare(tags(), Compare::Equal, text("blue")), vec![2]),
        (compare(tags(), Compare::NotEqual, text("blue")), vec![1]),
        (compare(tags(), Compare::NotEqual, text("green")), vec![1, 2]),
        (is_in(tags(), vec![text("blue"), text("green")]), vec![2]),
        (not(compare(tags(), Compare::Equal, text("blue"))), vec![1, 3, 4]),
        (Filter::IsNull(tags()), vec![3, 4]),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// All of them, in any order and case.
pub fn texts_match_by_words(backend: &dyn Backend) {
    let owner = runs(backend);
    let note = || custom("Note", SearchType::Text);
    for (filter, expected) in [
        (compare(note(), Compare::Equal, text("shipped")), vec![1, 2]),
        (compare(note(), Compare::Equal, text("PARIS, Shipped")), vec![1]),
        (compare(note(), Compare::Equal, text("ship")), vec![]),
        (compare(note(), Compare::Equal, text("")), vec![]),
        (compare(note(), Compare::NotEqual, text("paris")), vec![2]),
        (is_in(note(), vec![text("paris"), text("été")]), vec![1, 2]),
        (not(compare(note(), Compare::Equal, text("paris"))), vec![2, 3, 4]),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// Without patterns, case-sensitive.
pub fn prefixes_match_exactly(backend: &dyn Backend) {
    let owner = runs(backend);
    let starts = |field, prefix: &str| Filter::StartsWith(field, prefix.to_owned());
    let customer = || custom("Customer", SearchType::Keyword);
    for (filter, expected) in [
        (starts(Field::WorkflowId, "workflow-"), vec![1, 2, 3, 4]),
        (starts(Field::WorkflowId, "workflow-3"), vec![3]),
        (starts(Field::WorkflowId, "Workflow"), vec![]),
        (starts(Field::WorkflowId, "work%"), vec![]),
        (starts(Field::WorkflowType, ""), vec![1, 2, 3, 4]),
        (starts(Field::ParentWorkflowId, ""), vec![2]),
        (starts(customer(), "ac"), vec![1, 3]),
        (starts(customer(), "a*"), vec![]),
        (not(starts(customer(), "ac")), vec![2, 4]),
        (starts(Field::Status, ""), vec![]),
    ] {
        check(&owner, &filter, &expected);
    }
}

/// Not even as unequal. Its opposite matches all.
pub fn a_value_of_another_type_matches_nothing(backend: &dyn Backend) {
    let owner = runs(backend);
    let customer = || custom("Customer", SearchType::Keyword);
    for filter in [
        compare(Field::WorkflowId, Compare::NotEqual, Value::Int(1)),
        compare(Field::Status, Compare::NotEqual, text("Running")),
        compare(Field::StartTime, Compare::Greater, Value::Int(0)),
        compare(customer(), Compare::NotEqual, Value::Int(1)),
        compare(custom("Customer", SearchType::Int), Compare::NotEqual, Value::Int(1)),
        compare(custom("Price", SearchType::Double), Compare::NotEqual, Value::Double(f64::NAN)),
        is_in(customer(), vec![Value::Int(1), Value::Bool(true)]),
        Filter::Between(Field::StartTime, time(0), Value::Int(100)),
    ] {
        check(&owner, &filter, &[]);
        check(&owner, &not(filter), &[1, 2, 3, 4]);
    }
    check(&owner, &Filter::IsNull(custom("Customer", SearchType::Int)), &[1, 2, 3, 4]);
}

/// A whole number and a fraction compare exactly.
pub fn numbers_are_not_rounded(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let large = (1_i64 << 53) + 1;
    let number = |run, value| listed(run, |row| row.search_values = vec![("N".to_owned(), value)]);
    owner.commit(vec![
        number(1, Value::Int(large)),
        number(2, Value::Double(9_007_199_254_740_992.0)),
        number(3, Value::Double(f64::NAN)),
        number(4, Value::Double(f64::INFINITY)),
    ]);
    let n = || custom("N", SearchType::Double);
    check(&owner, &compare(n(), Compare::Equal, Value::Int(large)), &[1]);
    check(&owner, &compare(n(), Compare::Equal, Value::Double(9_007_199_254_740_992.0)), &[2]);
    check(&owner, &compare(n(), Compare::GreaterOrEqual, Value::Int(large)), &[1, 4]);
    check(&owner, &Filter::IsNull(n()), &[3]);
}

/// Whatever is in a name or a value, it is only compared.
pub fn hostile_values_are_only_values(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let hostile =
        ["' OR 1=1 --", "?1", "{}", "%_*", "\"; DROP TABLE visibility;", "\0", "\u{10ffff}"];
    let run = |(run, value): (i64, &&str)| {
        let pair = ((*value).to_owned(), text(value));
        listed(run, |row| row.search_values = vec![pair])
    };
    owner.commit((1..).zip(&hostile).map(run).collect());
    for (run, value) in (1..).zip(hostile) {
        let field = custom(value, SearchType::Keyword);
        check(&owner, &compare(field.clone(), Compare::Equal, text(value)), &[run]);
        check(&owner, &Filter::StartsWith(field.clone(), value.to_owned()), &[run]);
        check(&owner, &compare(Field::WorkflowId, Compare::Equal, text(value)), &[]);
        check(&owner, &not(Filter::IsNull(field)), &[run]);
    }
}

/// A list of a thousand ids is a normal question.
pub fn a_wide_filter_is_answered(backend: &dyn Backend) {
    let owner = runs(backend);
    let ids = (0..1000).map(|number| text(&format!("workflow-{number}"))).collect();
    check(&owner, &is_in(Field::WorkflowId, ids), &[1, 2, 3, 4]);
    let deep = (0..50).fold(Filter::All, |inner, _| and(not(not(inner)), Filter::All));
    check(&owner, &deep, &[1, 2, 3, 4]);
}

/// Two open runs and two closed ones, the first two with attributes.
fn runs(backend: &dyn Backend) -> Owner {
    let mut owner = Owner::of(backend);
    let named = |name: &str, value: Value| (name.to_owned(), value);
    let first = listed(1, |row| {
        [row.workflow_type, row.task_queue] = ["Order", "fast"].map(str::to_owned);
        (row.start_time, row.execution_time) = (Timestamp(10), Timestamp(10));
        row.search_values = vec![
            named("Priority", Value::Int(3)),
            named("Customer", text("acme")),
            named("Price", Value::Double(1.25)),
            named("Vip", Value::Bool(true)),
            named("Due", time(50)),
            named("Tags", text("red")),
            named("Note", text("Shipped to Paris!")),
        ];
    });
    let second = listed(2, |row| {
        [row.workflow_type, row.task_queue] = ["Order", "slow"].map(str::to_owned);
        (row.start_time, row.execution_time) = (Timestamp(20), Timestamp(25));
        row.parent = Some(("parent".to_owned(), "parent-run".to_owned()));
        row.root = Some(("root".to_owned(), "root-run".to_owned()));
        row.search_values = vec![
            named("Priority", Value::Int(5)),
            named("Customer", text("globex")),
            named("Price", Value::Double(1.5)),
            named("Vip", Value::Bool(false)),
            named("Due", time(60)),
            named("Tags", text("red")),
            named("Tags", text("blue")),
            named("Note", text("not shipped, l'Été")),
        ];
    });
    let third = listed(3, |row| {
        [row.workflow_type, row.task_queue] = ["Refund", "fast"].map(str::to_owned);
        row.status = 2;
        (row.start_time, row.execution_time) = (Timestamp(30), Timestamp(30));
        row.close_time = Some(Timestamp(100));
        (row.history_length, row.history_size, row.state_transitions) = (3, 30, 3);
        row.search_values = vec![named("Customer", text("acme"))];
    });
    let fourth = listed(4, |row| {
        row.status = 3;
        (row.start_time, row.execution_time) = (Timestamp(40), Timestamp(45));
        row.close_time = Some(Timestamp(200));
        (row.history_length, row.history_size, row.state_transitions) = (4, 40, 4);
    });
    owner.commit(vec![first, second, third, fourth]);
    owner
}

#[track_caller]
fn check(owner: &Owner, filter: &Filter, expected: &[i64]) {
    let namespace = || "ns".to_owned();
    let found = wait(owner.store.list(namespace(), filter.clone(), None, 100)).expect("a listing");
    let mut found: Vec<_> = found.rows.iter().map(|(run, _)| run.0).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{filter:?}");
    let counted = wait(owner.store.count(namespace(), filter.clone(), None)).expect("a count");
    assert_eq!(usize::try_from(counted[0].count), Ok(expected.len()), "{filter:?}");
}

fn compare(field: Field, compare: Compare, value: Value) -> Filter {
    Filter::Compare(field, compare, value)
}

fn is_in(field: Field, values: Vec<Value>) -> Filter {
    Filter::In(field, values)
}

fn and(a: Filter, b: Filter) -> Filter {
    Filter::And(Box::new(a), Box::new(b))
}

fn or(a: Filter, b: Filter) -> Filter {
    Filter::Or(Box::new(a), Box::new(b))
}

fn not(inner: Filter) -> Filter {
    Filter::Not(Box::new(inner))
}

fn custom(name: &str, kind: SearchType) -> Field {
    Field::Custom(name.to_owned(), kind)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn time(nanos: i64) -> Value {
    Value::Time(Timestamp(nanos))
}
