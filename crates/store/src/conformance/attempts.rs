//! Attempts: bounded, however often an activity is tried.

use std::{collections::BTreeMap, time::Duration};

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, create, identity, wait, write};
use crate::rows::{AttemptLog, AttemptOutcome, AttemptRow, RunIdentity, RunNumber, RunWrite};

/// It is not an error.
pub fn an_activity_that_was_never_tried_has_none(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    assert_eq!(read(&owner, 1, 5), AttemptLog::default());
    assert_eq!(read(&owner, 2, 5), AttemptLog::default());
}

/// Every column, with and without what is optional.
pub fn attempts_come_back_as_they_were(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let full = AttemptRow {
        activity: 5,
        activity_id: "charge".to_owned(),
        activity_type: "Charge".to_owned(),
        attempt: 1,
        worker: "worker@host".to_owned(),
        scheduled_at: Timestamp(1),
        started_at: Some(Timestamp(2)),
        ended_at: Timestamp(3),
        outcome: AttemptOutcome::TimedOut,
        error_type: "Timeout".to_owned(),
        message: "took 'too' long".to_owned(),
        fingerprint: u64::MAX,
        why: "retried: rule 2".to_owned(),
        next_at: Some(Timestamp(9)),
        rule: "type Timeout".to_owned(),
        layer: "before".to_owned(),
        policy: "nightly@3".to_owned(),
        source: "retry_after".to_owned(),
        delay: Some(Duration::new(5, 7)),
        class: "transient".to_owned(),
        parked: true,
    };
    let other = |attempt, outcome| AttemptRow { attempt, outcome, ..row(5, 0, 1 << 63) };
    let rows = vec![
        full,
        other(2, AttemptOutcome::Failed),
        other(3, AttemptOutcome::Cancelled),
        other(4, AttemptOutcome::Completed),
    ];
    owner.commit(vec![RunWrite { attempts: rows.clone(), ..create(1) }]);
    assert_eq!(read(&owner, 1, 5), AttemptLog { rows, dropped: BTreeMap::new() });
}

/// The workflow task, the run itself, then its activities; and no other run's.
pub fn all_attempts_of_a_run_come_by_subject(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let attempts = |subject: i64| (1..=60).map(move |attempt| row(subject, attempt, 7));
    let all = [7, -1, 0].into_iter().flat_map(attempts).collect();
    owner.commit(vec![
        RunWrite { attempts: all, ..create(1) },
        RunWrite { attempts: attempts(5).collect(), ..create(2) },
    ]);
    let found = wait(owner.store.run_attempts(RunNumber(1))).expect("a read");
    let expected: Vec<_> = [-1, 0, 7].map(|subject| read(&owner, 1, subject)).into();
    assert_eq!(found, expected);
    assert_eq!(wait(owner.store.run_attempts(RunNumber(3))).expect("a read"), []);
}

/// How it began and how it goes.
pub fn the_first_five_and_the_last_fifty_are_kept(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    let try_again = |attempts: std::ops::RangeInclusive<u32>| RunWrite {
        attempts: attempts.map(|attempt| row(5, attempt, 7)).collect(),
        ..write(1)
    };
    owner.commit(vec![try_again(1..=55)]);
    assert_eq!(kept(&owner), (1..=55).collect::<Vec<_>>());
    owner.commit(vec![try_again(56..=56)]);
    assert_eq!(kept(&owner), (1..=5).chain(7..=56).collect::<Vec<_>>());
    owner.commit(vec![try_again(57..=300)]);
    assert_eq!(kept(&owner), (1..=5).chain(251..=300).collect::<Vec<_>>());
}

/// Each is either a row or counted.
pub fn those_in_between_are_counted_by_fingerprint(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    for attempt in 1..=155 {
        let fingerprint = if attempt % 10 == 0 { u64::MAX } else { 7 };
        let attempts = vec![row(5, attempt, fingerprint)];
        owner.commit(vec![RunWrite { attempts, ..write(1) }]);
    }
    let log = read(&owner, 1, 5);
    assert_eq!(log.rows.len(), 55);
    assert_eq!(log.dropped, BTreeMap::from([(7, 90), (u64::MAX, 10)]));
}

/// Nothing is counted twice.
pub fn the_same_attempt_again_replaces_it(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let attempts = (1..=55).map(|attempt| row(5, attempt, 7)).collect();
    owner.commit(vec![RunWrite { attempts, ..create(1) }]);
    owner.commit(vec![RunWrite { attempts: vec![row(5, 3, 8), row(5, 55, 8)], ..write(1) }]);
    let log = read(&owner, 1, 5);
    assert_eq!((log.rows.len(), log.rows[2].fingerprint, log.rows[54].fingerprint), (55, 8, 8));
    assert_eq!(log.dropped, BTreeMap::new());
}

/// Activity 0 is the workflow itself.
pub fn activities_and_runs_do_not_mix(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let many = |activity| (1..=60).map(move |attempt| row(activity, attempt, 7));
    owner.commit(vec![
        RunWrite { attempts: many(5).collect(), ..create(1) },
        RunWrite { attempts: vec![row(5, 1, 7), row(0, 1, 7)], ..create(2) },
    ]);
    assert_eq!(read(&owner, 1, 5).dropped, BTreeMap::from([(7, 5)]));
    assert_eq!((read(&owner, 2, 5).rows.len(), read(&owner, 2, 0).rows.len()), (1, 1));
    assert_eq!(read(&owner, 1, 0), AttemptLog::default());
}

/// However many of the attempts in between were dropped.
pub fn those_that_were_tried_more_often_are_found_newest_first(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let other = RunIdentity { namespace: "other".to_owned(), ..identity(9) };
    let tried = |run, tries: &[(i64, u32)]| {
        let rows = tries.iter().flat_map(|(activity, n)| (1..=*n).map(|it| row(*activity, it, 7)));
        RunWrite { attempts: rows.collect(), ..create(run) }
    };
    owner.commit(vec![
        tried(1, &[(5, 1), (6, 2), (7, 60)]),
        tried(2, &[(5, 4), (6, 5), (7, 6)]),
        RunWrite { create: Some(other.into()), ..tried(9, &[(5, 200)]) },
    ]);
    for attempt in 61..=200 {
        owner.commit(vec![RunWrite { attempts: vec![row(7, attempt, 7)], ..write(1) }]);
    }
    let found = |more_than, after, limit| {
        let found = owner.store.retried("ns".to_owned(), more_than, after, limit);
        let found = wait(found).expect("a read").into_iter();
        found.map(|it| (it.run.0, it.last.activity, it.last.attempt)).collect::<Vec<_>>()
    };
    let all = [(2, 7, 6), (2, 6, 5), (2, 5, 4), (1, 7, 200), (1, 6, 2)];
    assert_eq!(found(1, None, 10), all);
    assert_eq!(found(1, None, 2), all[..2]);
    assert_eq!(found(1, Some((RunNumber(2), 6)), 2), all[2..4]);
    assert_eq!(found(3, None, 10), all[..4]);
    assert_eq!(found(4, None, 10), [(2, 7, 6), (2, 6, 5), (1, 7, 200)]);
    assert_eq!(found(5, None, 10), [(2, 7, 6), (1, 7, 200)]);
    assert_eq!(found(100, None, 10), [(1, 7, 200)]);
    assert_eq!(found(200, None, 10), []);
    let one = wait(owner.store.retried("ns".to_owned(), 100, None, 1)).expect("a read");
    assert_eq!(one[0].identity, identity(1));
}

fn row(activity: i64, attempt: u32, fingerprint: u64) -> AttemptRow {
    AttemptRow { activity, attempt, fingerprint, ..AttemptRow::default() }
}

fn kept(owner: &Owner) -> Vec<u32> {
    read(owner, 1, 5).rows.into_iter().map(|row| row.attempt).collect()
}

fn read(owner: &Owner, run: i64, activity: i64) -> AttemptLog {
    wait(owner.store.attempts(RunNumber(run), activity)).expect("a read")
}
