//! The table of errors: a row appears when something fails, changes with it, and goes when it is
//! settled.

use std::fmt::Write as _;

use steadfast_store::{ErrorEntry, ErrorFilter, Order, Store as _};

use crate::common::{Rig, activity, complete, retried, survives, typed_failure};

/// The errors of the rig's only namespace, the last to fail first, a line each.
async fn shown(rig: &Rig) -> String {
    let store = rig.store();
    let namespaces = store.namespaces().await.expect("a read");
    let namespace = namespaces.iter().find(|it| it.name == "default").expect("the default one");
    let filter = ErrorFilter::default();
    let errors = store.errors(namespace.id.clone(), filter, Order::Backward, None, 99);
    let lines: Vec<_> = errors.await.expect("a read").errors.iter().map(line).collect();
    if lines.is_empty() { "none".to_owned() } else { lines.join("\n") }
}

fn line(error: &ErrorEntry) -> String {
    let row = &error.row;
    let mut line = format!(
        "{} #{} {}/{} {} x{} {}:{:?}",
        error.identity.workflow_id,
        error.subject,
        row.workflow_type,
        row.activity_type,
        row.state.name(),
        row.attempts,
        row.error_type,
        row.cause
    );
    if row.next_at.is_some() {
        line.push_str(" next");
    }
    if row.fingerprint == 0 {
        line.push_str(" without fingerprint");
    }
    line
}

/// What is shown now, under what has happened.
async fn tell(rig: &Rig, what: &str, told: &mut String) {
    _ = writeln!(told, "{what}:\n{}", shown(rig).await);
}

#[tokio::test(start_paused = true)]
async fn an_error_appears_with_a_failure_and_goes_with_the_success() {
    let told = survives(async |rig: &Rig| {
        let mut told = String::new();
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 1.0, 10)]).await;
        tell(rig, "scheduled", &mut told).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        tell(rig, "failed", &mut told).await;
        let work = rig.next_activity().await;
        rig.fail_activity_as(&work, typed_failure("Down", "no power")).await.expect("taken");
        tell(rig, "failed again", &mut told).await;
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        tell(rig, "completed", &mut told).await;
        rig.step(vec![complete("done")]).await;
        told
    })
    .await;
    insta::assert_snapshot!(told, @r#"
    scheduled:
    none
    failed:
    order-1 #5 Order/Charge retrying x1 Boom:"no network" next
    failed again:
    order-1 #5 Order/Charge retrying x2 Down:"no power" next
    completed:
    none
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_ended_settles_its_errors() {
    let told = survives(async |rig: &Rig| {
        let mut told = String::new();
        rig.start("order-1").await;
        rig.step(vec![retried("a", 100, 1.0, 0)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        tell(rig, "failed", &mut told).await;
        rig.terminate("order-1").await.expect("taken");
        tell(rig, "terminated", &mut told).await;
        told
    })
    .await;
    insta::assert_snapshot!(told, @r#"
    failed:
    order-1 #5 Order/Charge retrying x1 Boom:"no network" next
    terminated:
    none
    "#);
}

#[tokio::test(start_paused = true)]
async fn runs_are_listed_and_counted_by_their_errors() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let _held = rig.next_activity().await;
    rig.start("order-2").await;
    rig.step(vec![retried("b", 100, 1.0, 0)]).await;
    let work = rig.next_activity().await;
    rig.fail_activity(&work, "no network").await.expect("taken");
    let store = rig.store();
    let namespaces = store.namespaces().await.expect("a read");
    let namespace = namespaces.into_iter().find(|it| it.name == "default").expect("it").id;
    let read = store.errors(namespace, ErrorFilter::default(), Order::Forward, None, 9);
    let fingerprint = read.await.expect("a read").errors[0].row.fingerprint;
    let table = [
        ("RetryState = 'retrying'".to_owned(), "order-2"),
        ("RetryState = 'parked'".to_owned(), ""),
        ("RetryState IS NULL".to_owned(), "order-1"),
        ("RetryAttempts >= 1".to_owned(), "order-2"),
        ("RetryingActivity = 'Charge'".to_owned(), "order-2"),
        ("ErrorCause = 'no network'".to_owned(), "order-2"),
        (format!("ErrorFingerprint = '{fingerprint:016x}'"), "order-2"),
    ];
    for (query, expected) in table {
        assert_eq!(rig.list(&query).await.expect("a good query").join(" "), expected, "{query}");
        let count = i64::from(!expected.is_empty());
        assert_eq!(rig.count(&query).await.expect("a good query"), count, "{query}");
    }
}
