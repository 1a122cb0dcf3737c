//! Callers that wait no longer than they can, and callers that go away.

use std::time::Duration;

use steadfast_engine::{Code, Engine, Limits};
use steadfast_proto::{
    enums::{self, UpdateWorkflowExecutionLifecycleStage as Stage},
    workflowservice as ws,
};

use tokio::task::JoinSet;

use crate::{
    common::{Base, NAMESPACE, QUEUE, Rig, calls, complete, execution, payloads, timer},
    peers::drop_after,
    updates,
};

const SHORT: Duration = Duration::from_secs(3);

async fn asleep(rig: &Rig) {
    rig.start("order-1").await;
    rig.step(vec![timer("t", 3_600)]).await;
}

fn close_of(workflow_id: &str) -> ws::GetWorkflowExecutionHistoryRequest {
    ws::GetWorkflowExecutionHistoryRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution(workflow_id, "")),
        wait_new_event: true,
        history_event_filter_type: enums::HistoryEventFilterType::CloseEvent.into(),
        ..ws::GetWorkflowExecutionHistoryRequest::default()
    }
}

#[tokio::test(start_paused = true)]
async fn polls_answer_empty_before_their_callers_give_up() {
    let rig = Rig::new().await;
    let engine = rig.engine().within(SHORT);
    let task = engine.poll_workflow_task_queue(calls::task_poll(QUEUE)).await.expect("a poll");
    assert_eq!((task, rig.elapsed()), (calls::Task::default(), 3));
    let late = engine.poll_activity_task_queue(calls::activity_poll(QUEUE)).await.expect("a poll");
    assert_eq!((late, rig.elapsed()), (calls::Work::default(), 3), "no time was left");
    let patient = rig.engine().within(Duration::from_secs(1_000));
    patient.poll_activity_task_queue(calls::activity_poll(QUEUE)).await.expect("a poll");
    assert_eq!(rig.elapsed(), 63, "no longer than the engine lets anybody wait");
}

#[tokio::test(start_paused = true)]
async fn readers_updates_and_queries_answer_before_their_callers_give_up() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let request = close_of("order-1");
    let page = rig.engine().within(SHORT).get_workflow_execution_history(request).await;
    assert!(!page.expect("a page").next_page_token.is_empty(), "it goes on");
    assert_eq!(rig.elapsed(), 3);
    let update = calls::update_of("order-1", "u-1", Stage::Completed);
    let seen = rig.engine().within(SHORT).update_workflow_execution(update).await;
    assert_eq!(seen.expect_err("nobody").code, Code::DeadlineExceeded);
    assert_eq!(rig.elapsed(), 6);
    let update = calls::update_of("order-1", "u-1", Stage::Completed);
    let patient = rig.engine().within(Duration::from_secs(1_000));
    let seen = patient.update_workflow_execution(update).await.expect("an answer");
    assert_eq!((seen.stage(), rig.elapsed()), (Stage::Admitted, 26), "as far as it is");
    let asked = rig.engine().within(SHORT).query_workflow(calls::query("order-1")).await;
    let unasked = asked.expect_err("nobody has polled for long");
    assert_eq!((unasked.code, rig.elapsed()), (Code::FailedPrecondition, 29));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_kept_waiting_when_the_engine_stops() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let engine = rig.engine();
    let update = calls::update_of("order-1", "u-1", Stage::Completed);
    let (task, work, updated, asked, ()) = tokio::join!(
        engine.poll_workflow_task_queue(calls::task_poll("other")),
        engine.poll_activity_task_queue(calls::activity_poll(QUEUE)),
        engine.update_workflow_execution(update),
        engine.query_workflow(calls::query("order-1")),
        async {
            rig.settle().await;
            engine.stop().await;
        }
    );
    assert_eq!(task.expect("as after any poll in vain"), calls::Task::default());
    assert_eq!(work.expect("as after any poll in vain"), calls::Work::default());
    assert_eq!(updated.expect_err("nobody").code, Code::Unavailable);
    assert_eq!(asked.expect_err("nobody").code, Code::Unavailable);
    assert_eq!(rig.elapsed(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_query_that_waits_for_a_worker_hears_that_the_engine_stops() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let (engine, stopping) = (rig.engine(), rig.engine());
    let stop = async {
        rig.settle().await;
        stopping.stop().await;
    };
    let (asked, ()) = tokio::join!(engine.query_workflow(calls::query("order-1")), stop);
    assert_eq!(asked.expect_err("nobody").code, Code::Unavailable);
    assert_eq!(rig.elapsed(), 0);
}

#[tokio::test(start_paused = true)]
async fn p_22_a_poll_that_goes_away_with_a_query_leaves_it_to_the_next() {
    for turns in 0..25 {
        let rig = Rig::new().await;
        asleep(&rig).await;
        let worker = async {
            let got = drop_after(turns, rig.poll_task(QUEUE)).await;
            let task = match got {
                Some(task) if !task.task_token.is_empty() => task,
                _ => rig.next_task(QUEUE).await,
            };
            assert!(task.query.is_some());
            rig.answer(&task, "asleep").await.expect("taken");
        };
        let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
        assert_eq!(answer.expect("an answer").query_result, Some(payloads("asleep")));
        assert!(rig.elapsed() < 5, "{turns} turns: {} s late", rig.elapsed());
        rig.signal("order-1", "go").await.expect("taken");
        rig.step(vec![complete("done")]).await;
    }
}

/// Waits once for a run to close, and gives the name of its last event if it did.
async fn wait_once(engine: Engine, id: String) -> Option<String> {
    let page = engine.get_workflow_execution_history(close_of(&id)).await.expect("a page");
    page.history.expect("a history").events.last().map(calls::name)
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_long_leaves_nothing_behind() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![timer("t", 40_000)]).await;
    for _ in 0..1_000 {
        assert_eq!(wait_once(rig.engine(), "order-1".to_owned()).await, None);
    }
    assert_eq!(rig.elapsed(), 20_000, "each has waited for its time");
    rig.signal("order-1", "wake").await.expect("taken");
    let held = rig.engine().held().watchers;
    assert!(held < 100, "{held} are remembered who have gone");
    rig.step(vec![complete("done")]).await;
    assert_eq!(rig.engine().held().watchers, 0);
}

#[tokio::test(start_paused = true)]
async fn runs_that_are_waited_for_leave_the_memory_and_all_hear_of_their_end() {
    let limits = Limits { cached_runs_max: 8, ..Limits::default() };
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::with(base(), limits.clone()).await;
        let mut waiting = JoinSet::new();
        for n in 0..60 {
            let id = format!("order-{n}");
            rig.start(&id).await;
            rig.step(vec![timer("t", 10)]).await;
            waiting.spawn(wait_once(rig.engine(), id));
        }
        rig.settle().await;
        let held = rig.engine().held();
        assert_eq!(held.watchers, 60);
        assert!(held.runs <= 8, "{} runs are held", held.runs);
        for _ in 0..60 {
            rig.step(vec![complete("done")]).await;
        }
        let ends = waiting.join_all().await;
        assert_eq!(ends, vec![Some("WorkflowExecutionCompleted".to_owned()); 60]);
        assert_eq!((rig.elapsed(), rig.engine().held().watchers), (10, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_an_update_is_heard_though_its_run_left_the_memory() {
    let limits = Limits { cached_runs_max: 4, ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    asleep(&rig).await;
    updates::accept_update(&rig, "u-1").await;
    let worker = async {
        rig.settle().await;
        for n in 2..40 {
            rig.start(&format!("order-{n}")).await;
            rig.step(vec![timer("t", 3_600)]).await;
        }
        let held = rig.engine().held();
        assert!(held.runs <= 4 && held.watchers == 1, "{held:?}");
        let before = rig.store().tally.loads.load(std::sync::atomic::Ordering::Relaxed);
        rig.signal("order-1", "go").await.expect("taken");
        let after = rig.store().tally.loads.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(after - before, 1, "it had left the memory");
        let task = rig.next_task(QUEUE).await;
        updates::say(&rig, &task, vec![updates::done("u-1", "paid")], vec![]).await;
    };
    let (updated, ()) = tokio::join!(rig.update("order-1", "u-1", Stage::Completed), worker);
    assert_eq!(updates::success(updated.expect("an outcome").outcome), "\"paid\"");
    assert_eq!(rig.elapsed(), 0);
}
