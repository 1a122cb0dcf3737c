//! Errors: what has failed and is not settled.

use std::collections::BTreeMap;

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, create, identity, listed, wait, write};
use crate::{
    error_rows::{Acknowledged, ErrorRow, ErrorState, ErrorWrite},
    error_view::{ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorListing, ErrorPosition},
    filter::{Compare, ErrorField, Field, Filter, Value},
    rows::{RunIdentity, RunNumber, RunWrite},
    store::Order,
};

/// It is not an error that there is none.
pub fn what_never_failed_has_none(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    assert_eq!(wait(owner.store.error(RunNumber(1), 5)).expect("a read"), None);
    assert_eq!(page(&owner, ErrorFilter::default(), None, 9), ErrorListing::default());
    assert_eq!(count(&owner, ErrorFilter::default()), 0);
    assert_eq!(groups(&owner, ErrorFilter::default(), ErrorGroup::Cause), []);
    assert_eq!(wait(owner.store.errors_by_id(vec![(RunNumber(7), 5)])).expect("a read"), []);
}

/// Every column, with and without what is optional.
pub fn errors_come_back_as_they_were(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let full = ErrorRow {
        workflow_type: "Order".to_owned(),
        activity_id: "charge".to_owned(),
        activity_type: "Charge".to_owned(),
        kind: "payment".to_owned(),
        state: ErrorState::Parked,
        attempts: 7,
        error_type: "CardDeclined".to_owned(),
        cause: "card 'x' declined\0".to_owned(),
        fingerprint: u64::MAX,
        first_at: Timestamp(-3),
        last_at: Timestamp(5),
        next_at: Some(Timestamp(9)),
        reason: "resumed by nightly".to_owned(),
        acknowledged: Some(Acknowledged {
            at: Timestamp(6),
            by: "ada".to_owned(),
            reason: "known".to_owned(),
        }),
        resumes: 2,
    };
    let others = ErrorState::ALL.map(|state| ErrorRow { state, ..ErrorRow::default() });
    let all: Vec<_> = [full].into_iter().chain(others).zip(-1..).collect();
    let errors = all.iter().map(|(row, subject)| put(*subject, row.clone())).collect();
    owner.commit(vec![RunWrite { errors, ..create(1) }]);
    for (row, subject) in all {
        let expected = ErrorEntry { run: RunNumber(1), subject, identity: identity(1), row };
        let found = wait(owner.store.error(RunNumber(1), subject)).expect("a read");
        assert_eq!(found, Some(expected));
    }
}

/// Whatever of it is new: what comes next, a later failure, another state.
pub fn a_later_error_replaces_the_earlier_one(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let first = row("Order", "no answer", 1);
    let waits = ErrorRow { next_at: Some(Timestamp(9)), ..first.clone() };
    let again = ErrorRow { attempts: 2, last_at: Timestamp(2), ..first.clone() };
    let parked = ErrorRow { state: ErrorState::Parked, reason: "used up".to_owned(), ..again };
    let noted = Acknowledged { at: Timestamp(3), ..Acknowledged::default() };
    let seen = ErrorRow { acknowledged: Some(noted), ..parked.clone() };
    owner.commit(vec![create(1)]);
    for row in [first, waits, parked, seen] {
        owner.commit(vec![RunWrite { errors: vec![put(5, row.clone())], ..write(1) }]);
        let listed = page(&owner, ErrorFilter::default(), None, 9);
        let found: Vec<_> = listed.errors.into_iter().map(|entry| entry.row).collect();
        assert_eq!(found, [row]);
    }
}

/// And settling what is settled is fine.
pub fn a_settled_error_is_gone(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let errors = vec![put(5, row("Order", "x", 1)), put(6, row("Order", "x", 2))];
    owner.commit(vec![RunWrite { errors, ..create(1) }]);
    let settled = |subject| RunWrite { errors: vec![settle(subject)], ..write(1) };
    owner.commit(vec![settled(5)]);
    owner.commit(vec![settled(5)]);
    assert_eq!(names(&page(&owner, ErrorFilter::default(), None, 9)), [(1, 6)]);
    assert_eq!(count(&owner, ErrorFilter::default()), 1);
}

/// Nobody can do anything about them any more.
pub fn a_deleted_run_takes_its_errors_along(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let failed = |run| RunWrite { errors: vec![put(5, row("Order", "x", 1))], ..create(run) };
    owner.commit(vec![failed(1), failed(2)]);
    owner.commit(vec![RunWrite { delete: true, ..write(1) }]);
    assert_eq!(names(&page(&owner, ErrorFilter::default(), None, 9)), [(2, 5)]);
    assert_eq!(wait(owner.store.error(RunNumber(1), 5)).expect("a read"), None);
}

/// What happens to one error many times in a commit is its last content.
pub fn folded_writes_keep_the_last_of_each_error(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let mut folded = RunWrite { errors: vec![put(5, row("Order", "first", 1))], ..create(1) };
    folded.merge_all([
        RunWrite { errors: vec![put(6, row("Order", "other", 1))], ..write(1) },
        RunWrite { errors: vec![put(5, row("Order", "last", 2)), settle(6)], ..write(1) },
        RunWrite { errors: vec![put(7, row("Order", "third", 3))], ..write(1) },
    ]);
    owner.commit(vec![folded]);
    let found = page(&owner, ErrorFilter::default(), None, 9).errors;
    let causes: Vec<_> = found.iter().map(|it| (it.subject, it.row.cause.as_str())).collect();
    assert_eq!(causes, [(7, "third"), (5, "last")]);
}

/// And of those that failed at the same time, that of the newest run, and what was scheduled last.
pub fn the_last_to_fail_come_first_or_last(backend: &dyn Backend) {
    let owner = several(backend);
    let newest = [(4, 5), (3, 7), (3, 5), (2, 0), (1, 5)];
    assert_eq!(names(&page(&owner, ErrorFilter::default(), None, 9)), newest);
    let forward =
        wait(owner.store.errors("ns".to_owned(), ErrorFilter::default(), Order::Forward, None, 9));
    let oldest: Vec<_> = newest.into_iter().rev().collect();
    assert_eq!(names(&forward.expect("a read")), oldest);
}

/// In both directions, and the last page says so.
pub fn pages_continue_where_the_last_one_ended(backend: &dyn Backend) {
    let owner = several(backend);
    for order in [Order::Forward, Order::Backward] {
        let read = |after, limit| {
            let filter = ErrorFilter::default();
            wait(owner.store.errors("ns".to_owned(), filter, order, after, limit)).expect("a read")
        };
        let all = names(&read(None, 9));
        for size in 1..=5 {
            let mut found = Vec::new();
            let mut after: Option<ErrorPosition> = None;
            loop {
                let page = read(after, size);
                assert!(page.errors.len() <= size);
                found.extend(names(&page));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(found, all, "{order:?}, pages of {size}");
        }
    }
}

/// Each condition alone, and two together.
pub fn errors_are_found_by_what_is_asked(backend: &dyn Backend) {
    let owner = several(backend);
    let text = |text: &str| Some(text.to_owned());
    let any = ErrorFilter::default();
    let parked = vec![ErrorState::Parked];
    let table: [(ErrorFilter, &[(i64, i64)]); 15] = [
        (ErrorFilter { states: parked.clone(), ..any.clone() }, &[(4, 5), (3, 7)]),
        (ErrorFilter { states: ErrorState::ALL.into(), ..any.clone() }, ALL),
        (ErrorFilter { workflow_type: text("Order"), ..any.clone() }, &[(3, 7), (3, 5), (1, 5)]),
        (ErrorFilter { activity_type: text("Charge"), ..any.clone() }, &[(4, 5), (3, 7), (1, 5)]),
        (ErrorFilter { cause: text("no answer"), ..any.clone() }, &[(3, 5), (1, 5)]),
        (ErrorFilter { cause: text("no"), ..any.clone() }, &[]),
        (ErrorFilter { cause_contains: text("no"), ..any.clone() }, &[(3, 7), (3, 5), (1, 5)]),
        (ErrorFilter { cause_contains: text("%"), ..any.clone() }, &[]),
        (ErrorFilter { error_type: text("Down"), ..any.clone() }, &[(3, 5), (1, 5)]),
        (ErrorFilter { fingerprint: Some(u64::MAX), ..any.clone() }, &[(3, 5), (1, 5)]),
        (ErrorFilter { acknowledged: Some(true), ..any.clone() }, &[(3, 7)]),
        (
            ErrorFilter { since: Some(Timestamp(20)), until: Some(Timestamp(30)), ..any.clone() },
            &[(2, 0)],
        ),
        (ErrorFilter { workflow_id: text("workflow-3"), ..any.clone() }, &[(3, 7), (3, 5)]),
        (ErrorFilter { min_attempts: 3, ..any.clone() }, &[(4, 5), (3, 7), (3, 5)]),
        (ErrorFilter { acknowledged: Some(false), states: parked, ..any.clone() }, &[(4, 5)]),
    ];
    for (filter, expected) in table {
        check(&owner, &filter, expected);
    }
    let ids = vec![(RunNumber(4), 5), (RunNumber(9), 5), (RunNumber(1), 5), (RunNumber(1), 6)];
    check(&owner, &ErrorFilter { ids: ids.clone(), ..any }, &[(4, 5), (1, 5)]);
    let found = wait(owner.store.errors_by_id(ids)).expect("a read");
    let found: Vec<_> = found.iter().map(|it| (it.run.0, it.subject)).collect();
    assert_eq!(found, [(4, 5), (1, 5)], "in the order in which they were asked for");
}

/// Not even for those who know a run's number.
pub fn namespaces_do_not_mix(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let elsewhere = RunIdentity { namespace: "other".to_owned(), ..identity(2) };
    let errors = vec![put(5, row("Order", "x", 1))];
    owner.commit(vec![
        RunWrite { errors: errors.clone(), ..create(1) },
        RunWrite { errors, create: Some(elsewhere.into()), ..create(2) },
    ]);
    check(&owner, &ErrorFilter::default(), &[(1, 5)]);
    let ids = vec![(RunNumber(1), 5), (RunNumber(2), 5)];
    check(&owner, &ErrorFilter { ids, ..ErrorFilter::default() }, &[(1, 5)]);
    let workflow_id = Some("workflow-2".to_owned());
    check(&owner, &ErrorFilter { workflow_id, ..ErrorFilter::default() }, &[]);
}

/// The largest first, with how many are in which state.
pub fn errors_are_put_together_by_what_they_share(backend: &dyn Backend) {
    let owner = several(backend);
    let shown = |by| {
        let groups = groups(&owner, ErrorFilter::default(), by);
        groups.iter().map(|it| (key(it, by), it.count)).collect::<Vec<_>>()
    };
    let table = |rows: &[(&str, u64)]| -> Vec<_> {
        rows.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()
    };
    assert_eq!(shown(ErrorGroup::WorkflowType), table(&[("Order", 3), ("Refund", 1), ("Ship", 1)]));
    assert_eq!(
        shown(ErrorGroup::Activity),
        table(&[("Order Charge", 2), ("Refund Charge", 1), ("Order Notify", 1), ("Ship ", 1)])
    );
    assert_eq!(
        shown(ErrorGroup::Cause),
        table(&[("no answer", 2), ("", 1), ("no money", 1), ("lost", 1)])
    );
    assert_eq!(shown(ErrorGroup::Fingerprint), table(&[("0", 3), (&u64::MAX.to_string(), 2)]));
    let orders = &groups(&owner, ErrorFilter::default(), ErrorGroup::WorkflowType)[0];
    let example = wait(owner.store.error(RunNumber(3), 7)).expect("a read").expect("is there");
    let expected = ErrorGroupRow {
        example,
        count: 3,
        first_at: Timestamp(1),
        last_at: Timestamp(30),
        acknowledged: 1,
        states: BTreeMap::from([(ErrorState::Retrying, 2), (ErrorState::Parked, 1)]),
    };
    assert_eq!(*orders, expected);
}

/// A group is of those that match, and so is its example.
pub fn groups_are_of_what_is_asked(backend: &dyn Backend) {
    let owner = several(backend);
    let filter = ErrorFilter { states: vec![ErrorState::Retrying], ..ErrorFilter::default() };
    let found = groups(&owner, filter, ErrorGroup::WorkflowType);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].count, found[0].example.subject), (2, 5));
    let ids = vec![(RunNumber(3), 5), (RunNumber(2), 0)];
    let filter = ErrorFilter { ids, ..ErrorFilter::default() };
    assert_eq!(groups(&owner, filter, ErrorGroup::Fingerprint).len(), 2);
    let all = ErrorFilter::default();
    let two = wait(owner.store.error_groups("ns".to_owned(), all, ErrorGroup::Cause, 2));
    assert_eq!(two.expect("a read").len(), 2, "as many as asked for");
}

/// A run has as many values as it has errors.
pub fn runs_are_found_by_their_errors(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let parked = ErrorRow { state: ErrorState::Parked, ..row("Order", "no money", 9) };
    owner.commit(vec![
        listed(1, |_| ()),
        RunWrite { errors: vec![put(5, row("Order", "no answer", 1))], ..listed(2, |_| ()) },
        RunWrite {
            errors: vec![put(5, row("Order", "no answer", 1)), put(7, parked)],
            ..listed(3, |_| ())
        },
    ]);
    let field = Field::Error;
    let is = |field, compare, value| Filter::Compare(Field::Error(field), compare, value);
    let text = |text: &str| Value::Text(text.to_owned());
    let state = |state: ErrorState| Value::Int(state.number().into());
    let not = |filter| Filter::Not(Box::new(filter));
    let table: [(Filter, &[i64]); 11] = [
        (is(ErrorField::State, Compare::Equal, state(ErrorState::Parked)), &[3]),
        (is(ErrorField::State, Compare::Equal, state(ErrorState::Retrying)), &[3, 2]),
        (is(ErrorField::State, Compare::NotEqual, state(ErrorState::Parked)), &[2]),
        (not(is(ErrorField::State, Compare::Equal, state(ErrorState::Parked))), &[2, 1]),
        (Filter::IsNull(field(ErrorField::State)), &[1]),
        (is(ErrorField::Attempts, Compare::Greater, Value::Int(1)), &[3]),
        (is(ErrorField::Cause, Compare::Equal, text("no answer")), &[3, 2]),
        (Filter::StartsWith(field(ErrorField::Cause), "no m".to_owned()), &[3]),
        (Filter::In(field(ErrorField::ActivityType), vec![text("x"), text("Charge")]), &[3, 2]),
        (is(ErrorField::Fingerprint, Compare::Equal, Value::Int(-1)), &[3, 2]),
        (is(ErrorField::Cause, Compare::Equal, Value::Int(1)), &[]),
    ];
    for (filter, expected) in table {
        let listing = wait(owner.store.list("ns".to_owned(), filter.clone(), None, 9));
        let found: Vec<_> = listing.expect("a read").rows.iter().map(|(run, _)| run.0).collect();
        assert_eq!(found, expected, "{filter:?}");
        let counted = wait(owner.store.count("ns".to_owned(), filter.clone(), None));
        let count = usize::try_from(counted.expect("a read")[0].count).expect("few");
        assert_eq!(count, expected.len(), "{filter:?}");
    }
    let by = Some(Field::Error(ErrorField::State));
    let counted = wait(owner.store.count("ns".to_owned(), Filter::All, by)).expect("a read");
    let counted: Vec<_> = counted.into_iter().map(|group| (group.value, group.count)).collect();
    let expected =
        [(None, 1), (Some(state(ErrorState::Retrying)), 2), (Some(state(ErrorState::Parked)), 1)];
    assert_eq!(counted, expected, "a run counts in the group of each of its errors");
}

/// What [`several`] writes, newest first.
const ALL: &[(i64, i64)] = &[(4, 5), (3, 7), (3, 5), (2, 0), (1, 5)];

/// Five errors of four runs, no two of them alike in everything.
fn several(backend: &dyn Backend) -> Owner {
    let mut owner = Owner::of(backend);
    let charge = row("Order", "no answer", 1);
    let lost = ErrorRow {
        activity_type: String::new(),
        state: ErrorState::Failed,
        error_type: String::new(),
        fingerprint: 0,
        last_at: Timestamp(20),
        ..row("Ship", "lost", 2)
    };
    let notify = ErrorRow {
        activity_type: "Notify".to_owned(),
        last_at: Timestamp(30),
        attempts: 3,
        ..charge.clone()
    };
    let money = ErrorRow {
        state: ErrorState::Parked,
        error_type: "Declined".to_owned(),
        fingerprint: 0,
        last_at: Timestamp(30),
        acknowledged: Some(Acknowledged::default()),
        ..row("Order", "no money", 4)
    };
    let refund = ErrorRow {
        state: ErrorState::Parked,
        error_type: String::new(),
        fingerprint: 0,
        last_at: Timestamp(40),
        ..row("Refund", "", 5)
    };
    let with = |run, errors| RunWrite { errors, ..create(run) };
    owner.commit(vec![with(1, vec![put(5, charge)]), with(2, vec![put(0, lost)])]);
    owner.commit(vec![with(3, vec![put(5, notify), put(7, money)]), with(4, vec![put(5, refund)])]);
    owner
}

/// An error of the activity `Charge`, which was tried this often.
fn row(workflow_type: &str, cause: &str, attempts: u32) -> ErrorRow {
    ErrorRow {
        workflow_type: workflow_type.to_owned(),
        activity_type: "Charge".to_owned(),
        error_type: "Down".to_owned(),
        cause: cause.to_owned(),
        fingerprint: u64::MAX,
        attempts,
        first_at: Timestamp(1),
        last_at: Timestamp(attempts.into()),
        ..ErrorRow::default()
    }
}

fn put(subject: i64, row: ErrorRow) -> ErrorWrite {
    ErrorWrite { subject, row: Some(row) }
}

fn settle(subject: i64) -> ErrorWrite {
    ErrorWrite { subject, row: None }
}

/// That a page and a count of these are these.
fn check(owner: &Owner, filter: &ErrorFilter, expected: &[(i64, i64)]) {
    assert_eq!(names(&page(owner, filter.clone(), None, 9)), expected, "{filter:?}");
    let counted = usize::try_from(count(owner, filter.clone())).expect("few");
    assert_eq!(counted, expected.len(), "{filter:?}");
}

fn page(
    owner: &Owner,
    filter: ErrorFilter,
    after: Option<ErrorPosition>,
    limit: usize,
) -> ErrorListing {
    let read = owner.store.errors("ns".to_owned(), filter, Order::Backward, after, limit);
    wait(read).expect("a read")
}

fn count(owner: &Owner, filter: ErrorFilter) -> u64 {
    wait(owner.store.error_count("ns".to_owned(), filter)).expect("a read")
}

fn groups(owner: &Owner, filter: ErrorFilter, by: ErrorGroup) -> Vec<ErrorGroupRow> {
    wait(owner.store.error_groups("ns".to_owned(), filter, by, 9)).expect("a read")
}

fn key(group: &ErrorGroupRow, by: ErrorGroup) -> String {
    let row = &group.example.row;
    match by {
        ErrorGroup::WorkflowType => row.workflow_type.clone(),
        ErrorGroup::Activity => format!("{} {}", row.workflow_type, row.activity_type),
        ErrorGroup::Cause => row.cause.clone(),
        ErrorGroup::Fingerprint => row.fingerprint.to_string(),
    }
}

fn names(listing: &ErrorListing) -> Vec<(i64, i64)> {
    listing.errors.iter().map(|it| (it.run.0, it.subject)).collect()
}
