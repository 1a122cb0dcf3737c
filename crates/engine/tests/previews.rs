//! What a retry policy would change, said before it is put; and then it is so.

use steadfast_engine::{
    Change, Timestamp,
    failures::{NewPolicy, Scope, Selection, Who},
};
use steadfast_retry::pattern::NamePattern;
use steadfast_store::{ErrorFilter, ErrorState, Order};

use crate::common::{NAMESPACE, Rig, activity_with, retries, typed_failure};

fn put(json: &str) -> NewPolicy {
    let scope = Scope {
        activity: Some(NamePattern::new("Charge").expect("a pattern")),
        ..Scope::default()
    };
    let policy = serde_json::from_str(json).expect("a draft");
    NewPolicy { name: "p".to_owned(), scope, policy, ..NewPolicy::default() }
}

/// When what is listed is tried next, and what is parked.
async fn next(rig: &Rig) -> Vec<(String, Option<Timestamp>, ErrorState)> {
    let engine = rig.engine();
    let all = ErrorFilter::default();
    let listed = engine.list_errors(NAMESPACE, all, Order::Forward, None, 0).await.expect("a list");
    let mut all: Vec<_> = (listed.errors.into_iter())
        .map(|it| (it.row.activity_id, it.row.next_at, it.row.state))
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

/// Ten activities that wait an hour, each after another kind of failure.
async fn ten_waiting(rig: &Rig) {
    rig.start("order-1").await;
    let names: Vec<String> = (0..10).map(|n| format!("a{n}")).collect();
    let one = |id: &String| activity_with(id, |it| it.retry_policy = Some(retries(3_600, 1.0, 0)));
    rig.step(names.iter().map(one).collect()).await;
    for _ in 0..10 {
        let work = rig.next_activity().await;
        let number = work.activity_id[1..].parse::<u32>().expect("a number");
        let kind = ["Timeout", "Declined", "Down", "Odd", "Slow"]
            [usize::try_from(number % 5).expect("small")];
        rig.fail_activity_as(&work, typed_failure(kind, "boom")).await.expect("taken");
    }
    rig.wait(60).await;
}

#[tokio::test(start_paused = true)]
async fn f_08_a_preview_says_what_then_happens() {
    let drafts = [
        // Sooner, parked, given up, later; the rest as it is.
        r#"{"rules": [
            {"match": {"type": "Timeout"}, "backoff": {"kind": "constant", "initial": "2m", "jitter": "none"}},
            {"match": {"type": "Declined"}, "action": "park"},
            {"match": {"type": "Down"}, "action": "fail"},
            {"match": {"type": "Slow"}, "backoff": {"kind": "constant", "initial": "9h", "jitter": "none"}}
        ]}"#,
        // A rule that is used up leaves it to the others.
        r#"{"rules": [{"match": {"type": "Odd"}, "max_attempts": 1}]}"#,
        r#"{"rules": [{"match": {"type": "Nothing"}, "action": "park"}]}"#,
        // In the past: at once.
        r#"{"rules": [{"match": {"type": "Odd"}, "backoff": {"kind": "constant", "initial": "1s", "jitter": "none"}}]}"#,
    ];
    let mut told = Vec::new();
    for draft in drafts {
        let rig = Rig::new().await;
        ten_waiting(&rig).await;
        let engine = rig.engine();
        let before = next(&rig).await;
        let seen = engine.preview_policy(NAMESPACE, put(draft)).await.expect("good");
        assert_eq!(next(&rig).await, before, "nothing is changed");
        assert!(engine.failure_book(NAMESPACE).expect("a book").policies.is_empty(), "nor put");
        engine.put_policy(NAMESPACE, put(draft), Who::default()).await.expect("good");
        assert_eq!(next(&rig).await, before, "what waits goes on waiting");
        let anew = Change { now: true, ..Change::default() };
        let all = Selection::Everything;
        engine.change_errors(NAMESPACE, all, &anew).await.expect("good");
        let after = next(&rig).await;
        for (id, from, _) in &before {
            let then = after.iter().find(|(other, ..)| other == id);
            let moved = seen.moved.iter().find(|it| it.activity_id == *id);
            match (then, moved) {
                (Some((_, to, ErrorState::Retrying)), None) => assert_eq!(to, from, "{id} {draft}"),
                (Some((_, to, ErrorState::Retrying)), Some(moved)) => {
                    assert_eq!((*to, false), (moved.to, moved.parks), "{id} {draft}");
                }
                (Some((_, _, ErrorState::Parked)), Some(moved)) => assert!(moved.parks, "{id}"),
                (None, Some(moved)) => assert!(moved.ends, "{id} {draft}"),
                other => panic!("{id}: {other:?} by {draft}"),
            }
        }
        let peak = seen.peak.map(|(rate, after)| format!("{rate} in {}s", after.as_secs()));
        told.push(format!(
            "of {}: {} sooner, {} later, {} ended, {} parked, {}",
            seen.pending,
            seen.sooner,
            seen.later,
            seen.ended,
            seen.parked,
            peak.unwrap_or_default()
        ));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    of 10: 2 sooner, 2 later, 2 ended, 2 parked, 2 in 60s
    of 10: 0 sooner, 0 later, 0 ended, 0 parked, 10 in 3540s
    of 10: 0 sooner, 0 later, 0 ended, 0 parked, 10 in 3540s
    of 10: 2 sooner, 0 later, 0 ended, 0 parked, 8 in 3540s
    ");
}
