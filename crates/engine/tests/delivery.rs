//! Tasks on their way to workers: sticky queues, eager tasks, long histories.

use steadfast_engine::{Code, Limits};
use steadfast_proto::{
    common::WorkerVersionStamp, enums, history::history_event::Attributes, workflowservice as ws,
};

use crate::common::{
    Base, NAMESPACE, QUEUE, Rig, activity, activity_with, calls, complete, execution, sticky,
    survives, timer,
};

fn sticking(request: &mut ws::RespondWorkflowTaskCompletedRequest) {
    request.sticky_attributes = Some(sticky());
}

async fn stuck(rig: &Rig) {
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    rig.complete_task_with(&task, vec![timer("t", 5)], sticking).await.expect("taken");
}

#[tokio::test(start_paused = true)]
async fn a_sticky_worker_gets_only_what_is_new() {
    let rig = Rig::new().await;
    stuck(&rig).await;
    let task = rig.poll_sticky().await;
    let ids: Vec<i64> =
        task.history.as_ref().expect("a history").events.iter().map(|it| it.event_id).collect();
    assert_eq!(ids, [4, 5, 6, 7, 8]);
    assert_eq!((task.previous_started_event_id, task.started_event_id), (3, 8));
    rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
}

#[tokio::test(start_paused = true)]
async fn the_queue_of_a_worker_that_has_gone_is_passed_over() {
    let rig = Rig::new().await;
    stuck(&rig).await;
    let task = rig.next_task(QUEUE).await;
    assert_eq!(rig.elapsed(), 5, "at once: nobody polled the sticky queue");
    assert_eq!(task.history.as_ref().expect("a history").events.len(), 8, "all of it");
    rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
}

#[tokio::test(start_paused = true)]
async fn a_sticky_worker_that_dies_with_a_task_on_its_queue_delays_it_by_seconds() {
    let rig = Rig::new().await;
    stuck(&rig).await;
    // It polls, goes away, and seems to be alive still.
    let nap = std::time::Duration::from_secs(4);
    tokio::select! {
        biased;
        task = rig.poll_sticky() => panic!("nothing to do: {task:?}"),
        () = steadfast_engine::Clock::sleep(&*rig.clock, nap) => {}
    }
    let task = rig.next_task(QUEUE).await;
    assert_eq!(rig.elapsed(), 15, "its ten seconds, and no more");
    assert_eq!(rig.engine().backlog(), (0, 0), "nothing is left of it where it was");
    assert_eq!(task.previous_started_event_id, 3);
    let names: Vec<String> =
        task.history.as_ref().expect("a history").events.iter().map(calls::name).collect();
    assert!(names.contains(&"WorkflowTaskTimedOut".to_owned()), "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reset_of_the_sticky_queue_sends_the_next_task_to_anybody() {
    let rig = Rig::new().await;
    stuck(&rig).await;
    let request = ws::ResetStickyTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
    };
    rig.engine().reset_sticky_task_queue(request).await.expect("reset");
    let task = rig.next_task(QUEUE).await;
    assert_eq!(task.history.as_ref().expect("a history").events.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn sticky_workers_survive_a_crash_of_the_engine() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        loop {
            let task = rig.next_task(QUEUE).await;
            if rig.complete_task_with(&task, vec![timer("t", 5)], sticking).await.is_ok() {
                break;
            }
        }
        let task = loop {
            rig.point().await;
            let (one, two) = tokio::join!(rig.poll_sticky(), rig.poll_task(QUEUE));
            if let Some(task) = [one, two].into_iter().find(|it| !it.task_token.is_empty()) {
                break task;
            }
        };
        let done = rig.complete_task(&task, vec![complete("done")]).await;
        if done.is_err() {
            rig.step(vec![complete("done")]).await;
        }
        let names = rig.names("order-1").await;
        names.last().expect("a close").clone()
    });
    assert_eq!(told.await, "WorkflowExecutionCompleted");
}

#[tokio::test(start_paused = true)]
async fn an_eager_start_brings_the_first_task_along_and_nobody_else_gets_it() {
    let rig = Rig::new().await;
    let started = rig.start_with("order-1", |it| it.request_eager_execution = true);
    let task = started.await.expect("a start").eager_workflow_task.expect("a task");
    assert_eq!(task.history.as_ref().expect("a history").events.len(), 3);
    assert_eq!((task.started_event_id, task.attempt), (3, 1));
    let (nobody, ()) = tokio::join!(rig.poll_task(QUEUE), async {
        rig.wait(1).await;
        rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
    });
    assert_eq!(nobody, calls::Task::default());
    let delayed = rig.start_with("order-2", |it| {
        it.request_eager_execution = true;
        it.workflow_start_delay = Some(crate::common::seconds(60));
    });
    assert_eq!(delayed.await.expect("a start").eager_workflow_task, None);
}

#[tokio::test(start_paused = true)]
async fn an_eager_task_that_is_dropped_comes_again() {
    let rig = Rig::new().await;
    let started = rig.start_with("order-1", |it| it.request_eager_execution = true).await;
    started.expect("a start").eager_workflow_task.expect("a task");
    let task = rig.next_task(QUEUE).await;
    assert_eq!(task.attempt, 2);
    assert_eq!(rig.elapsed(), 10);
    rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
}

#[tokio::test(start_paused = true)]
async fn eager_activities_come_back_with_the_task_and_only_those() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let eager = activity_with("a", |it| it.request_eager_execution = true);
    let done = rig.complete_task(&task, vec![eager, activity("b")]).await.expect("taken");
    let ids: Vec<&str> = done.activity_tasks.iter().map(|it| it.activity_id.as_str()).collect();
    assert_eq!(ids, ["a"]);
    assert_eq!(rig.next_activity().await.activity_id, "b");
    rig.complete_activity(&done.activity_tasks[0], "ok").await.expect("taken");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_asks_for_it_gets_the_next_task_with_its_answer() {
    // Whether it keeps the workflow or not, it has just seen what came before.
    for keeps in [true, false] {
        let rig = Rig::new().await;
        rig.start("order-1").await;
        let task = rig.next_task(QUEUE).await;
        rig.signal("order-1", "go").await.expect("taken");
        let done = rig.complete_task_with(&task, vec![], |it| {
            if keeps {
                sticking(it);
            }
            it.return_new_workflow_task = true;
        });
        let next = done.await.expect("taken").workflow_task.expect("the next task");
        assert_eq!(next.previous_started_event_id, 3);
        let first = next.history.as_ref().expect("a history").events[0].event_id;
        assert_eq!(first, 4);
        rig.complete_task(&next, vec![complete("done")]).await.expect("taken");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_history_comes_in_pages_that_end_with_the_task() {
    let limits = Limits { tail_events_max: 8, history_page_max: 10, ..Limits::default() };
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::with(base(), limits.clone()).await;
        rig.start("order-1").await;
        for n in 0..40 {
            rig.signal("order-1", &format!("s{n}")).await.expect("taken");
        }
        rig.crash().await;
        let task = rig.next_task(QUEUE).await;
        let pages = rig.task_pages("order-1", &task).await;
        let ids: Vec<i64> = pages.iter().flatten().map(|it| it.event_id).collect();
        assert_eq!(ids, (1..=task.started_event_id).collect::<Vec<_>>());
        rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_task_shows_its_worker_events_that_history_does_not_have_yet() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    rig.fail_task(&task).await.expect("taken");
    let task = rig.next_task(QUEUE).await;
    rig.fail_task(&task).await.expect("taken");
    let task = rig.next_task(QUEUE).await;
    assert_eq!(task.attempt, 3);
    let events = &task.history.as_ref().expect("a history").events;
    assert_eq!(events.last().expect("an event").event_id, task.started_event_id);
    assert_eq!(
        events.last().expect("an event").event_type(),
        enums::EventType::WorkflowTaskStarted
    );
    assert_eq!(rig.history("order-1", "").await.len(), 4, "in history it failed once");
}

#[tokio::test(start_paused = true)]
async fn tokens_of_nobody_are_refused_and_change_nothing() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let forged =
        |bytes: &[u8]| calls::Task { task_token: bytes.to_vec(), ..calls::Task::default() };
    let empty = rig.complete_task(&forged(b""), vec![]).await.expect_err("no token");
    assert_eq!(empty.message, "Task token not set on request.");
    let nonsense = rig.complete_task(&forged(b"nonsense"), vec![]).await.expect_err("no token");
    assert_eq!(nonsense.message, "Invalid TaskToken.");
    rig.complete_task(&task, vec![timer("t", 60)]).await.expect("taken");
    let twice = rig.complete_task(&task, vec![complete("x")]).await.expect_err("once only");
    assert_eq!((twice.code, twice.message.as_str()), (Code::NotFound, "Workflow task not found."));
    assert_eq!(rig.history("order-1", "").await.len(), 5);
}

/// Other servers begin their tokens like ours, and go on with a text where we have a number.
#[tokio::test(start_paused = true)]
async fn a_task_of_another_server_is_not_found() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let of_another = |token: &[u8]| [token, &[6 << 3 | 2, 1, b'5']].concat();
    let theirs = calls::Task { task_token: of_another(&task.task_token), ..task.clone() };
    let error = rig.complete_task(&theirs, vec![complete("x")]).await.expect_err("not ours");
    assert_eq!((error.code, error.message.as_str()), (Code::NotFound, "Workflow task not found."));
    rig.complete_task(&task, vec![activity("charge")]).await.expect("taken");
    let work = rig.next_activity().await;
    let theirs = calls::Work { task_token: of_another(&work.task_token), ..work.clone() };
    let error = rig.complete_activity(&theirs, "x").await.expect_err("not ours");
    assert_eq!(error.code, Code::NotFound, "{error}");
    rig.complete_activity(&work, "done").await.expect("taken");
}

#[tokio::test(start_paused = true)]
#[expect(deprecated, reason = "how workers still tell their build")]
async fn the_build_that_did_a_task_is_in_the_history() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let build = WorkerVersionStamp { build_id: "1.0".to_owned(), use_versioning: false };
    let stamp = Some(build.clone());
    rig.complete_task_with(&task, vec![], |it| it.worker_version_stamp = stamp)
        .await
        .expect("taken");
    let events = rig.history("order-1", "").await;
    let told = events.into_iter().find_map(|event| match event.attributes {
        Some(Attributes::WorkflowTaskCompletedEventAttributes(it)) => it.worker_version,
        _ => None,
    });
    assert_eq!(told, Some(build));
    let seen = rig.describe("order-1").await.expect("a run").workflow_execution_info;
    let shown = seen.and_then(|it| it.search_attributes).expect("attributes").indexed_fields;
    assert_eq!(shown["BuildIds"].data, br#"["unversioned","unversioned:1.0"]"#);
    assert_eq!(&shown["BuildIds"].metadata["type"], b"KeywordList");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_waits_hears_at_once_of_all_that_ended_together() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a"), activity("b"), activity("c")]).await;
    let works = [rig.next_activity().await, rig.next_activity().await, rig.next_activity().await];
    let end = |place: usize| rig.complete_activity(&works[place], "done");
    let ends = async {
        rig.settle().await;
        tokio::join!(end(0), end(1), end(2))
    };
    let (task, ended) = tokio::join!(rig.next_task(QUEUE), ends);
    assert_eq!(ended, (Ok(()), Ok(()), Ok(())));
    let names: Vec<String> =
        task.history.as_ref().expect("a history").events.iter().map(calls::name).collect();
    let ends = names.iter().filter(|name| *name == "ActivityTaskCompleted").count();
    assert_eq!(ends, 3, "{names:?}");
    rig.complete_task(&task, vec![complete("done")]).await.expect("nothing is left to hear of");
}
