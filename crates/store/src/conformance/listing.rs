//! Lists and counts: their order, their pages, their groups.

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, create, identity, listed, wait, write};
use crate::{
    filter::{Compare, Field, Filter, SearchType, Value},
    rows::{Group, Listing, Lookup, RunIdentity, RunWrite, VisibilityPosition, VisibilityRow},
};

/// By close, then by start, then by number.
pub fn open_runs_come_first_then_the_newest(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![
        times(1, 10, Some(100)),
        times(2, 10, None),
        times(3, 30, None),
        times(4, 10, Some(200)),
        times(5, 20, Some(100)),
        times(6, 20, Some(100)),
        times(7, 5, Some(-1)),
    ]);
    assert_eq!(numbers(&page(&owner, None, 100)), [3, 2, 4, 6, 5, 1, 7]);
}

/// Nothing twice, nothing missing, however small they are.
pub fn pages_continue_where_the_last_one_ended(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let run = |run: i64| times(run, run / 7, (run % 3 != 0).then_some(run / 5));
    owner.commit((1..=60).map(run).collect());
    let whole = numbers(&page(&owner, None, 100));
    for limit in [1, 2, 7, 59] {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let found = page(&owner, after, limit);
            seen.extend(numbers(&found));
            after = found.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, whole, "pages of {limit}");
    }
}

/// Also when it is full.
pub fn the_last_page_says_so(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit((1..=4).map(|run| times(run, 0, None)).collect());
    assert!(page(&owner, None, 3).next.is_some());
    assert_eq!(page(&owner, None, 4).next, None);
    assert_eq!(page(&owner, None, 5).next, None);
}

/// What is kept beside the runs of a namespace, under its own names, is neither listed nor counted
/// nor found as one of them.
pub fn a_space_beside_a_namespace_is_another_one(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let beside = |row: &mut VisibilityRow| {
        "ns/beside".clone_into(&mut row.identity.namespace);
        "workflow-1".clone_into(&mut row.identity.workflow_id);
    };
    owner.commit(vec![times(1, 10, None), listed(2, beside)]);
    assert_eq!(numbers(&page(&owner, None, 100)), [1]);
    let there = owner.store.list("ns/beside".to_owned(), Filter::All, None, 100);
    assert_eq!(numbers(&wait(there).expect("a read")), [2]);
    let current = |namespace: &str| {
        let workflow_id = "workflow-1".to_owned();
        let lookup = Lookup::Current { namespace: namespace.to_owned(), workflow_id };
        wait(owner.store.load(lookup)).expect("a read").map(|rows| rows.run.0)
    };
    assert_eq!((current("ns"), current("ns/beside")), (Some(1), Some(2)));
}

/// Every column. Values come by name.
pub fn rows_come_back_as_they_were(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let value = |name: &str, value| (name.to_owned(), value);
    let text = |text: &str| Value::Text(text.to_owned());
    let full = VisibilityRow {
        identity: identity(1),
        workflow_type: "Order".to_owned(),
        task_queue: "orders".to_owned(),
        status: 2,
        start_time: Timestamp(1),
        execution_time: Timestamp(2),
        close_time: Some(Timestamp(3)),
        history_length: 4,
        history_size: 5,
        state_transitions: 6,
        parent: Some(("parent".to_owned(), "parent-run".to_owned())),
        root: Some(("root".to_owned(), "root-run".to_owned())),
        memo: vec![7],
        search_attributes: vec![8],
        search_values: vec![
            value("bool", Value::Bool(true)),
            value("double", Value::Double(1.0)),
            value("int", Value::Int(1)),
            value("list", text("b")),
            value("list", text("a")),
            value("list", text("b")),
            value("time", Value::Time(Timestamp(9))),
        ],
    };
    let plain = VisibilityRow { identity: identity(2), ..VisibilityRow::default() };
    let rows = [full.clone(), plain.clone()];
    owner.commit(vec![listed(1, |row| *row = full), listed(2, |row| *row = plain)]);
    let found = page(&owner, None, 10);
    let found: Vec<_> = found.rows.into_iter().rev().map(|(_, row)| row).collect();
    assert_eq!(found, rows);
}

/// With its values, and its place in the order.
pub fn a_later_row_replaces_the_earlier_one(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let tagged = |run, tag: &str, close: Option<i64>| {
        let values = vec![("Tag".to_owned(), Value::Text(tag.to_owned()))];
        listed(run, |row| {
            row.search_values = values;
            row.close_time = close.map(Timestamp);
            row.workflow_type = format!("type {tag}");
        })
    };
    owner.commit(vec![tagged(1, "old", None), tagged(2, "other", None)]);
    owner.commit(vec![RunWrite { create: None, ..tagged(2, "new", Some(5)) }]);
    let found = page(&owner, None, 10);
    assert_eq!(numbers(&found), [1, 2]);
    assert_eq!(found.rows[1].1.workflow_type, "type new");
    assert_eq!(found.rows[1].1.search_values.len(), 1);
    let tag = Field::Custom("Tag".to_owned(), SearchType::Keyword);
    let by_tag = |tag_value: &str| {
        let wanted = Value::Text(tag_value.to_owned());
        let filter = Filter::Compare(tag.clone(), Compare::Equal, wanted);
        numbers(&wait(owner.store.list("ns".to_owned(), filter, None, 10)).expect("a read"))
    };
    assert_eq!((by_tag("other"), by_tag("new")), (vec![], vec![2]));
}

/// Neither in lists nor in counts.
pub fn namespaces_do_not_mix(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let other = RunIdentity { namespace: "other".to_owned(), ..identity(2) };
    owner.commit(vec![listed(1, |_| ()), listed(2, |row| row.identity = other)]);
    for (namespace, run) in [("ns", 1), ("other", 2)] {
        let found = wait(owner.store.list(namespace.to_owned(), Filter::All, None, 10));
        assert_eq!(numbers(&found.expect("a read")), [run]);
        let found = wait(owner.store.count(namespace.to_owned(), Filter::All, None));
        assert_eq!(found.expect("a read"), [Group { value: None, count: 1 }]);
    }
}

/// It exists all the same.
pub fn a_run_without_a_row_is_not_listed(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    assert_eq!(page(&owner, None, 10), Listing::default());
    let row = listed(1, |_| ()).visibility;
    owner.commit(vec![RunWrite { visibility: row, ..write(1) }]);
    assert_eq!(numbers(&page(&owner, None, 10)), [1]);
}

/// It is not an error.
pub fn an_unknown_namespace_is_empty(backend: &dyn Backend) {
    let owner = Owner::of(backend);
    let found = wait(owner.store.list("nowhere".to_owned(), Filter::All, None, 10));
    assert_eq!(found.expect("a read"), Listing::default());
    let found = wait(owner.store.count("nowhere".to_owned(), Filter::All, None));
    assert_eq!(found.expect("a read"), [Group { value: None, count: 0 }]);
    let found = wait(owner.store.count("nowhere".to_owned(), Filter::All, Some(Field::Status)));
    assert_eq!(found.expect("a read"), []);
}

/// What is listed is what is counted.
pub fn counts_add_up(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit((1..=9).map(|run| status(run, i32::from(run % 3 == 0))).collect());
    let filter = Filter::Compare(Field::Status, Compare::Equal, Value::Int(1));
    let found = wait(owner.store.count("ns".to_owned(), filter, None)).expect("a read");
    assert_eq!(found, [Group { value: None, count: 3 }]);
}

/// Each status with its number of runs.
pub fn counts_by_status_come_in_order(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let statuses = [7, 1, 2, 1, 1, 2];
    owner.commit((1..).zip(statuses).map(|(run, number)| status(run, number)).collect());
    let found = wait(owner.store.count("ns".to_owned(), Filter::All, Some(Field::Status)));
    let group = |number, count| Group { value: Some(Value::Int(number)), count };
    assert_eq!(found.expect("a read"), [group(1, 3), group(2, 2), group(7, 1)]);
}

/// Runs of another namespace are not in it, and one that ends changes its group. There are open runs
/// that are not running.
pub fn counts_by_status_follow_what_happens(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let elsewhere = listed(4, |row| "elsewhere".clone_into(&mut row.identity.namespace));
    owner.commit(vec![status(1, 1), status(2, 1), status(3, 8), elsewhere]);
    let counted = |owner: &Owner| {
        let found = wait(owner.store.count("ns".to_owned(), Filter::All, Some(Field::Status)));
        let group = |group: Group| (group.value, group.count);
        found.expect("a read").into_iter().map(group).collect::<Vec<_>>()
    };
    let of = |number, count| (Some(Value::Int(number)), count);
    assert_eq!(counted(&owner), [of(1, 2), of(8, 1)]);
    for (run, left) in [(1, vec![of(1, 1), of(2, 1), of(8, 1)]), (2, vec![of(2, 2), of(8, 1)])] {
        let ended = VisibilityRow {
            identity: identity(run),
            status: 2,
            close_time: Some(Timestamp(9)),
            ..VisibilityRow::default()
        };
        owner.commit(vec![RunWrite { visibility: Some(ended.into()), ..write(run) }]);
        assert_eq!(counted(&owner), left);
    }
}

/// Lists rely on it.
pub fn what_is_running_has_not_closed(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let mut run = status(1, 1);
    let row = run.visibility.as_mut().expect("a row");
    row.close_time = Some(Timestamp(9));
    assert_eq!(
        owner.refused(vec![run]),
        "run 1: its visibility row has it running though it is closed"
    );
}

/// First, without a value. A list counts under each of its values, once.
pub fn counts_by_attribute_show_those_without(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let tagged = |run, tags: &[&str]| {
        let value = |tag: &&str| ("Tag".to_owned(), Value::Text((*tag).to_owned()));
        listed(run, |row| row.search_values = tags.iter().map(value).collect())
    };
    owner.commit(vec![
        tagged(1, &["b", "a", "b"]),
        tagged(2, &["b"]),
        tagged(3, &[]),
        tagged(4, &[]),
    ]);
    let tag = Field::Custom("Tag".to_owned(), SearchType::KeywordList);
    let found = wait(owner.store.count("ns".to_owned(), Filter::All, Some(tag))).expect("a read");
    let group = |tag: Option<&str>, count| Group {
        value: tag.map(|tag| Value::Text(tag.to_owned())),
        count,
    };
    assert_eq!(found, [group(None, 2), group(Some("a"), 1), group(Some("b"), 2)]);
}

/// Read your writes.
pub fn a_listing_sees_what_was_just_committed(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    for run in 1..=30 {
        owner.commit(vec![times(run, run, None)]);
        assert_eq!(numbers(&page(&owner, None, 1)), [run]);
    }
}

fn times(run: i64, start: i64, close: Option<i64>) -> RunWrite {
    listed(run, |row| {
        row.start_time = Timestamp(start);
        row.close_time = close.map(Timestamp);
    })
}

fn status(run: i64, status: i32) -> RunWrite {
    listed(run, |row| row.status = status)
}

fn page(owner: &Owner, after: Option<VisibilityPosition>, limit: usize) -> Listing {
    wait(owner.store.list("ns".to_owned(), Filter::All, after, limit)).expect("a read")
}

fn numbers(listing: &Listing) -> Vec<i64> {
    listing.rows.iter().map(|(run, _)| run.0).collect()
}
