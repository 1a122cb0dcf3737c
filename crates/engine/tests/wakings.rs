//! Runs are woken when they are due, though the store may know an earlier time.

use std::time::Duration;

use steadfast_engine::Limits;
use steadfast_proto::command::Command;

use crate::common::{Base, QUEUE, Rig, activity_with, complete, retries, seconds, survives, timer};

/// An activity that is tried once, for so long.
fn within(id: &str, limit: i64) -> Command {
    activity_with(id, |it| {
        it.start_to_close_timeout = Some(seconds(limit));
        it.retry_policy = Some(retries(1, 1.0, 1));
    })
}

/// When the store wakes the only run, in milliseconds.
async fn due(rig: &Rig) -> Option<i64> {
    // To count all is to have all of it in the tables.
    rig.count("").await.expect("a count");
    let nanos = rig.connect().query_row("SELECT next_due FROM runs", (), |row| row.get(0));
    let nanos: Option<i64> = nanos.expect("one run");
    nanos.map(|nanos| nanos / 1_000_000)
}

#[tokio::test(start_paused = true)]
async fn a_run_in_the_middle_of_its_steps_stays_where_the_store_finds_it() {
    let rig = Rig::on(Base::sqlite()).await;
    rig.start("order-1").await;
    rig.step(vec![within("a-0", 10)]).await;
    let first = rig.next_activity().await;
    let found = due(&rig).await.expect("the attempt has a limit");
    rig.complete_activity(&first, "ok").await.expect("taken");
    for n in 1..=6 {
        rig.wait(1).await;
        rig.step(vec![within(&format!("a-{n}"), 30)]).await;
        let task = rig.next_activity().await;
        assert_eq!(due(&rig).await, Some(found), "at step {n}");
        rig.complete_activity(&task, "ok").await.expect("taken");
    }
    // Whoever sleeps for long is not woken before, and whoever is done not at all.
    rig.step(vec![timer("t", 3_600)]).await;
    assert_eq!(due(&rig).await, Some(found - 10_000 + 6_000 + 3_600_000));
    rig.step(vec![complete("done")]).await;
    assert!(due(&rig).await.is_none_or(|at| at > found + 3_600_000));
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_kept_to_the_moment_though_the_store_knows_an_earlier_one() {
    let told = survives(async |rig: &Rig| {
        let run_id = rig.start("order-1").await;
        rig.step(vec![within("a", 10)]).await;
        let first = rig.next_activity().await;
        rig.wait(1).await;
        rig.complete_activity(&first, "ok").await.expect("taken");
        rig.step(vec![within("b", 60)]).await;
        let second = rig.next_activity().await;
        rig.wait(2).await;
        rig.point().await;
        // The time that the store knew comes, and goes.
        rig.wait(20).await;
        rig.point().await;
        rig.wait(20).await;
        rig.point().await;
        let task = rig.next_task(QUEUE).await;
        assert_eq!(rig.elapsed(), 61);
        rig.complete_activity(&second, "late").await.expect_err("it is over");
        rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
        rig.text("order-1", &run_id).await
    });
    insta::assert_snapshot!(told.await, @r#"
     1     0.000  WorkflowExecutionStarted Order
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     0.000  WorkflowTaskCompleted
     5     0.000  ActivityTaskScheduled a Charge
     6     0.000  ActivityTaskStarted #5 attempt=1
     7     1.000  ActivityTaskCompleted #5 "ok"
     8     1.000  WorkflowTaskScheduled
     9     1.000  WorkflowTaskStarted
    10     1.000  WorkflowTaskCompleted
    11     1.000  ActivityTaskScheduled b Charge
    12     1.000  ActivityTaskStarted #11 attempt=1
    13    61.000  ActivityTaskTimedOut #11 MaximumAttemptsReached "activity StartToClose timeout"
    14    61.000  WorkflowTaskScheduled
    15    61.000  WorkflowTaskStarted
    16    61.000  WorkflowTaskCompleted
    17    61.000  WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_looked_at_for_nothing_is_found_again_when_it_is_due() {
    // The next page of due runs is read every five seconds, and nobody stays in memory.
    let limits =
        Limits { due_horizon: Duration::from_secs(10), cached_runs_max: 1, ..Limits::default() };
    let rig = Rig::with(Base::sqlite(), limits).await;
    let run_id = rig.start("order-1").await;
    rig.step(vec![within("a", 10)]).await;
    let first = rig.next_activity().await;
    rig.complete_activity(&first, "ok").await.expect("taken");
    rig.step(vec![within("b", 60)]).await;
    let _lost = rig.next_activity().await;
    for n in 0..5 {
        rig.start(&format!("other-{n}")).await;
        rig.wait(5).await;
    }
    rig.be_away(1).await;
    rig.wait(33).await;
    let open = rig.text("order-1", &run_id).await;
    assert!(!open.contains("TimedOut"), "{open}");
    rig.wait(2).await;
    let over = rig.text("order-1", &run_id).await;
    assert!(over.contains("60.000  ActivityTaskTimedOut"), "{over}");
}
