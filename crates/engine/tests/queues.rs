//! Task queues: what goes first, how fast, and what is told about them.

use std::time::Duration;

use steadfast_engine::Code;
use steadfast_proto::{
    common::Priority, enums, taskqueue::TaskQueueMetadata, workflowservice as ws,
};

use crate::common::{
    NAMESPACE, QUEUE, Rig, activity, activity_with, calls, complete, payloads, queue, timer,
};

fn urgent(id: &str, key: i32) -> steadfast_proto::command::Command {
    activity_with(id, |it| it.priority = Some(priority(key)))
}

fn priority(key: i32) -> Priority {
    Priority { priority_key: key, ..Priority::default() }
}

/// A poll of a worker that wants no more than so many activities a second.
fn slow_poll(rate: f64) -> ws::PollActivityTaskQueueRequest {
    ws::PollActivityTaskQueueRequest {
        task_queue_metadata: Some(TaskQueueMetadata { max_tasks_per_second: Some(rate) }),
        ..calls::activity_poll(QUEUE)
    }
}

/// When each of some polls got its activity, in milliseconds.
async fn taken_by(rig: &Rig, rate: f64, polls: usize) -> Vec<u128> {
    let mut taken = Vec::new();
    let mut open = tokio::task::JoinSet::new();
    for _ in 0..polls {
        let engine = rig.engine();
        open.spawn(async move { engine.poll_activity_task_queue(slow_poll(rate)).await });
    }
    while let Some(work) = open.join_next().await {
        let work = work.expect("no panic").expect("a poll");
        assert!(!work.task_token.is_empty());
        taken.push(rig.millis());
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn the_most_urgent_activity_goes_first_and_says_how_urgent_it_is() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![urgent("late", 5), activity("b"), activity("c"), urgent("first", 1)]).await;
    let mut order = Vec::new();
    for _ in 0..4 {
        let work = rig.next_activity().await;
        order.push((work.activity_id, work.priority.map_or(0, |it| it.priority_key)));
    }
    let order: Vec<(&str, i32)> = order.iter().map(|(id, key)| (id.as_str(), *key)).collect();
    assert_eq!(order, [("first", 1), ("b", 0), ("c", 0), ("late", 5)]);
}

#[tokio::test(start_paused = true)]
async fn the_tasks_and_activities_of_an_urgent_workflow_go_first() {
    let rig = Rig::new().await;
    rig.start("plain").await;
    rig.start_with("urgent", |it| it.priority = Some(priority(1))).await.expect("started");
    let first = rig.next_task(QUEUE).await;
    assert_eq!(first.workflow_execution.as_ref().expect("a run").workflow_id, "urgent");
    let second = rig.next_task(QUEUE).await;
    rig.complete_task(&second, vec![activity("of plain")]).await.expect("taken");
    rig.complete_task(&first, vec![activity("of urgent")]).await.expect("taken");
    assert_eq!(rig.next_activity().await.activity_id, "of urgent");
}

#[tokio::test(start_paused = true)]
async fn a_queue_lets_out_no_more_than_its_workers_want() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step((0..4).map(|n| activity(&format!("a{n}"))).collect()).await;
    // Whether the activities were there first or the polls, the pace is the same.
    let taken = taken_by(&rig, 0.5, 4).await;
    for (nth, at) in (0..).zip(taken) {
        assert!(at.abs_diff(nth * 2_000) < 20, "number {nth} at {at} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn polls_that_wait_get_what_comes_at_the_same_pace() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let commands = (0..6).map(|n| activity(&format!("a{n}"))).collect();
    let (taken, done) = tokio::join!(taken_by(&rig, 2.0, 6), async {
        rig.settle().await;
        rig.complete_task(&task, commands).await
    });
    done.expect("taken");
    let due = [0, 0, 500, 1_000, 1_500, 2_000];
    for (at, due) in taken.into_iter().zip(due) {
        assert!(at.abs_diff(due) < 20, "{at} ms, not {due} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_of_nothing_holds_everything_back_until_another_worker_wants_more() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let blocked = rig.engine().poll_activity_task_queue(slow_poll(0.0)).await.expect("a poll");
    assert_eq!((blocked, rig.elapsed()), (calls::Work::default(), 60));
    let engine = rig.engine();
    let waits = tokio::spawn(async move { engine.poll_activity_task_queue(slow_poll(0.0)).await });
    rig.wait(1).await;
    let other = rig.engine().within(Duration::from_secs(5));
    let got = other.poll_activity_task_queue(slow_poll(1.0)).await.expect("a poll");
    let waited = waits.await.expect("no panic").expect("a poll");
    assert_ne!(got.task_token.is_empty(), waited.task_token.is_empty(), "one of them has it");
    let bad = rig.engine().poll_activity_task_queue(slow_poll(-1.0)).await.expect_err("bad");
    assert_eq!(bad.code, Code::InvalidArgument);
}

#[tokio::test(start_paused = true)]
async fn a_slow_queue_loses_no_activity_when_polls_go_away() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step((0..3).map(|n| activity(&format!("a{n}"))).collect()).await;
    for _ in 0..2 {
        let engine = rig.engine().within(Duration::from_millis(300));
        drop(engine.poll_activity_task_queue(slow_poll(1.0)).await.expect("a poll"));
        let gone = rig.engine();
        let gone = tokio::spawn(async move { gone.poll_activity_task_queue(slow_poll(1.0)).await });
        rig.settle().await;
        gone.abort();
    }
    let begun = rig.elapsed();
    let taken = taken_by(&rig, 1.0, 2).await;
    assert_eq!(taken.len(), 2);
    assert!(rig.elapsed() - begun <= 3, "{} s", rig.elapsed() - begun);
}

#[tokio::test(start_paused = true)]
async fn a_poll_says_whether_more_or_fewer_are_needed() {
    let rig = Rig::new().await;
    let delta = |task: &calls::Task| {
        task.poller_scaling_decision.map(|it| it.poll_request_delta_suggestion)
    };
    rig.start("order-1").await;
    rig.start("order-2").await;
    rig.wait(1).await;
    assert_eq!(delta(&rig.next_task(QUEUE).await), Some(1), "another one has waited");
    assert_eq!(delta(&rig.next_task(QUEUE).await), None);
    let (task, _) = tokio::join!(rig.next_task(QUEUE), async {
        rig.wait(5).await;
        rig.start("order-3").await
    });
    assert_eq!(delta(&task), Some(-1), "it had nothing to do");
    rig.complete_task(&task, vec![timer("t", 3_600)]).await.expect("taken");
    rig.wait(60).await;
    let nothing = rig.poll_activity(QUEUE).await;
    assert_eq!(nothing, calls::Work::default(), "never without a task");
}

fn described(kind: enums::TaskQueueType) -> ws::DescribeTaskQueueRequest {
    ws::DescribeTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(QUEUE)),
        task_queue_type: kind.into(),
        ..ws::DescribeTaskQueueRequest::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_tells_what_waits_and_how_fast_it_moves() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step((0..6).map(|n| activity(&format!("a{n}"))).collect()).await;
    rig.engine().poll_activity_task_queue(slow_poll(2.0)).await.expect("a poll");
    rig.wait(10).await;
    let engine = rig.engine();
    let told = engine.describe_task_queue(described(enums::TaskQueueType::Activity)).await;
    let told = told.expect("an answer");
    assert_eq!((told.pollers.len(), told.pollers[0].identity.as_str()), (1, "worker"));
    assert!((told.pollers[0].rate_per_second - 2.0).abs() < 1e-6);
    let stats = told.stats.expect("stats");
    assert_eq!(stats.approximate_backlog_count, 5);
    assert_eq!(stats.approximate_backlog_age, Some(crate::common::seconds(10)));
    assert!((stats.tasks_add_rate - 0.2).abs() < 1e-3, "{}", stats.tasks_add_rate);
    let limit = told.effective_rate_limit.expect("a limit").requests_per_second;
    assert!((limit - 2.0).abs() < 1e-6);
    #[expect(deprecated, reason = "tools still ask this way")]
    let enhanced = ws::DescribeTaskQueueRequest {
        api_mode: enums::DescribeTaskQueueMode::Enhanced.into(),
        report_stats: true,
        report_pollers: true,
        ..described(enums::TaskQueueType::Unspecified)
    };
    let told = engine.describe_task_queue(enhanced).await.expect("an answer");
    let types = &told.versions_info[""].types_info;
    let kinds: std::collections::BTreeSet<i32> = types.keys().copied().collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(types[&2].stats.expect("stats").approximate_backlog_count, 5);
    let request = ws::ListTaskQueuePartitionsRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(QUEUE)),
    };
    let parts = engine.list_task_queue_partitions(request).await.expect("an answer");
    assert_eq!(parts.activity_task_queue_partitions[0].key, QUEUE);
    assert_eq!(parts.workflow_task_queue_partitions.len(), 1);
    rig.signal("order-1", "finish").await.expect("taken");
    rig.step(vec![complete("done")]).await;
}

#[tokio::test(start_paused = true)]
async fn work_of_runs_that_have_closed_does_not_fill_a_queue_without_workers() {
    let rig = Rig::new().await;
    for n in (0..1_000).step_by(2) {
        rig.start(&format!("order-{n}")).await;
        rig.step(vec![activity("a")]).await;
    }
    for n in (1..1_000).step_by(2) {
        rig.start(&format!("order-{n}")).await;
    }
    assert_eq!(rig.engine().backlog(), (500, 500));
    for n in 0..1_000 {
        match n % 200 {
            0 | 1 => {}
            2 => rig.delete(&format!("order-{n}")).await.expect("taken"),
            _ => rig.terminate(&format!("order-{n}")).await.expect("taken"),
        }
    }
    assert_eq!(rig.engine().backlog(), (5, 5), "whoever asks is told exactly");
    let told = rig.engine().describe_task_queue(described(enums::TaskQueueType::Workflow)).await;
    assert_eq!(told.expect("an answer").stats.expect("stats").approximate_backlog_count, 5);
    let loads = || rig.store().tally.loads.load(std::sync::atomic::Ordering::Relaxed);
    let before = loads();
    for n in [1, 201, 401, 601, 801] {
        let task = rig.next_task(QUEUE).await;
        let id = task.workflow_execution.as_ref().map(|it| it.workflow_id.clone());
        assert_eq!(id, Some(format!("order-{n}")));
    }
    for n in [0, 200, 400, 600, 800] {
        let work = rig.next_activity().await;
        let id = work.workflow_execution.as_ref().map(|it| it.workflow_id.clone());
        assert_eq!(id, Some(format!("order-{n}")));
    }
    let engine = rig.engine().within(Duration::from_secs(1));
    let none = engine.poll_workflow_task_queue(calls::task_poll(QUEUE)).await;
    assert_eq!(none, Ok(calls::Task::default()));
    let none = engine.poll_activity_task_queue(calls::activity_poll(QUEUE)).await;
    assert_eq!(none, Ok(calls::Work::default()));
    assert_eq!((rig.engine().backlog(), loads() - before), ((0, 0), 0), "none was looked at");
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_ends_while_it_waits_leaves_its_queue() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let brief = |it: &mut steadfast_proto::command::ScheduleActivityTaskCommandAttributes| {
        it.schedule_to_start_timeout = Some(crate::common::seconds(1));
    };
    for n in 0..3 {
        rig.step(vec![activity_with(&format!("a{n}"), brief)]).await;
        assert_eq!(rig.engine().backlog(), (0, 1));
        rig.wait(2).await;
        assert_eq!(rig.engine().backlog(), (1, 0), "it is too late for it");
    }
}

#[tokio::test(start_paused = true)]
async fn queries_whose_callers_have_gone_do_not_fill_a_queue_without_workers() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![timer("t", 36_000)]).await;
    for _ in 0..1_000 {
        let engine = rig.engine().within(Duration::from_secs(1));
        let unanswered = engine.query_workflow(calls::query("order-1")).await;
        unanswered.expect_err("there is no worker");
    }
    assert_eq!(rig.engine().backlog(), (0, 0));
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        rig.answer(&task, "asleep").await.expect("its caller still waits");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("asleep")));
    assert_eq!(rig.engine().backlog(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_closed_answers_queries_that_waited_for_a_worker() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![timer("t", 36_000)]).await;
    let worker = async {
        rig.settle().await;
        rig.terminate("order-1").await.expect("taken");
        let task = rig.next_task(QUEUE).await;
        assert!(task.query.is_some(), "{task:?}");
        rig.answer(&task, "gone").await.expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("gone")));
}
