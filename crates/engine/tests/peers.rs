//! Faults that were found in others. None of them may be found here.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use steadfast_engine::{Code, Engine, Limits, Options};
use steadfast_proto::workflowservice as ws;
use steadfast_store::{Memory, ShardNumber, Sqlite, Store, sqlite};

use crate::common::{
    Base, Fault, NAMESPACE, QUEUE, Rig, activity, calls, cancel_timer, complete, queue, timer,
};

fn start(workflow_id: &str) -> ws::StartWorkflowExecutionRequest {
    ws::StartWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(steadfast_proto::common::WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        ..ws::StartWorkflowExecutionRequest::default()
    }
}

/// A worker for workflows with one activity: schedules it, then completes.
async fn work_workflows(engine: Engine) {
    loop {
        let Ok(task) = engine.poll_workflow_task_queue(calls::task_poll(QUEUE)).await else {
            return;
        };
        if task.task_token.is_empty() {
            continue;
        }
        let commands = if task.previous_started_event_id == 0 {
            vec![activity("a")]
        } else {
            vec![complete("ok")]
        };
        let answer = ws::RespondWorkflowTaskCompletedRequest {
            task_token: task.task_token,
            commands,
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondWorkflowTaskCompletedRequest::default()
        };
        match engine.respond_workflow_task_completed(answer).await {
            Ok(_) => {}
            Err(error) if matches!(error.code, Code::NotFound | Code::Unavailable) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A worker for activities, which counts how often it ran each.
async fn work_activities(engine: Engine, ran: Arc<std::sync::Mutex<BTreeMap<String, u32>>>) {
    loop {
        let Ok(work) = engine.poll_activity_task_queue(calls::activity_poll(QUEUE)).await else {
            return;
        };
        let Some(execution) = work.workflow_execution else { continue };
        *ran.lock().expect("whole").entry(execution.workflow_id).or_default() += 1;
        let answer = ws::RespondActivityTaskCompletedRequest {
            task_token: work.task_token,
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskCompletedRequest::default()
        };
        engine.respond_activity_task_completed(answer).await.expect("the result is kept");
    }
}

/// Runs `count` workflows with one activity each to their end, with 64 workers of each kind.
async fn run_all(engine: &Engine, count: usize) -> BTreeMap<String, u32> {
    let ran: Arc<std::sync::Mutex<BTreeMap<String, u32>>> = Arc::default();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..64 {
        workers.spawn(work_workflows(engine.clone()));
        workers.spawn(work_activities(engine.clone(), Arc::clone(&ran)));
    }
    let mut clients = tokio::task::JoinSet::new();
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for _ in 0..64 {
        let (engine, next) = (engine.clone(), Arc::clone(&next));
        clients.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= count {
                    return;
                }
                let id = format!("order-{n}");
                engine.start_workflow_execution(start(&id)).await.expect("a start");
                wait_closed(&engine, &id).await;
            }
        });
    }
    clients.join_all().await;
    workers.abort_all();
    Arc::try_unwrap(ran).map_or_else(
        |ran| ran.lock().expect("whole").clone(),
        |ran| ran.into_inner().expect("whole"),
    )
}

async fn wait_closed(engine: &Engine, workflow_id: &str) {
    let mut next_page_token = Vec::new();
    loop {
        let request = ws::GetWorkflowExecutionHistoryRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(crate::common::execution(workflow_id, "")),
            wait_new_event: true,
            history_event_filter_type: steadfast_proto::enums::HistoryEventFilterType::CloseEvent
                .into(),
            next_page_token,
            ..ws::GetWorkflowExecutionHistoryRequest::default()
        };
        let page = engine.get_workflow_execution_history(request).await.expect("a page");
        if !page.history.expect("a history").events.is_empty() {
            return;
        }
        next_page_token = page.next_page_token;
    }
}

async fn count(engine: &Engine, query: &str) -> i64 {
    let request = ws::CountWorkflowExecutionsRequest {
        namespace: NAMESPACE.to_owned(),
        query: query.to_owned(),
    };
    engine.count_workflow_executions(request).await.expect("a count").count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p_01_twelve_thousand_workflows_complete_while_others_hold_the_write_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.db");
    let options = sqlite::Options {
        synchronous: sqlite::Synchronous::Normal,
        busy_timeout: Duration::from_millis(20),
        ..sqlite::Options::default()
    };
    let store = Arc::new(Sqlite::open(&path, &options).expect("a store"));
    let engine = Engine::open(store, Options::default()).await.expect("an engine");
    let done = Arc::new(AtomicBool::new(false));
    let rival = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let db = rusqlite::Connection::open(path).expect("a connection");
            db.busy_timeout(Duration::from_secs(5)).expect("set");
            while !done.load(Ordering::Relaxed) {
                if db.execute_batch("BEGIN IMMEDIATE").is_ok() {
                    std::thread::park_timeout(Duration::from_millis(60));
                    db.execute_batch("ROLLBACK").expect("let go");
                }
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
    });
    let ran = run_all(&engine, 12_000).await;
    done.store(true, Ordering::Relaxed);
    rival.join().expect("the rival ends");
    assert_eq!(count(&engine, "ExecutionStatus = 'Completed'").await, 12_000);
    assert!(ran.values().all(|times| *times == 1), "an activity ran twice");
    assert!(engine.commit_stats().retries.load(Ordering::Relaxed) > 0, "there was contention");
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p_02_e_106_a_result_that_could_not_be_written_is_written_again_not_run_again() {
    let rig = Rig::new().await;
    let faults = [Fault::None, Fault::LostBefore, Fault::None, Fault::Busy, Fault::LostAfter];
    rig.store().fail_commits(faults.into_iter().cycle().take(20_000));
    let ran = run_all(&rig.engine(), 2_000).await;
    assert_eq!(ran.len(), 2_000);
    assert!(ran.values().all(|times| *times == 1), "0 duplicates of 2,000");
    assert_eq!(rig.count("ExecutionStatus = 'Completed'").await, Ok(2_000));
    assert!(rig.engine().commit_stats().retries.load(Ordering::Relaxed) > 10);
}

#[tokio::test(start_paused = true)]
async fn p_03_no_step_waits_for_a_poll_period() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    for n in 0..50 {
        rig.step(vec![activity(&format!("a{n}"))]).await;
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
    }
    rig.step(vec![complete("done")]).await;
    rig.closed("order-1", "").await;
    assert_eq!(rig.millis(), 0);
}

/// Bytes and reads that it takes to join `n` activities.
async fn join(n: usize) -> (u64, u64) {
    let limits = Limits { tail_events_max: 10_000, ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    rig.start("order-1").await;
    rig.step((0..n).map(|n| activity(&format!("a{n}"))).collect()).await;
    let mut left = n;
    while left > 0 {
        tokio::select! {
            biased;
            work = rig.next_activity() => {
                rig.complete_activity(&work, "ok").await.expect("taken");
                left -= 1;
            }
            task = rig.next_task(QUEUE) => {
                let request = |it: &mut ws::RespondWorkflowTaskCompletedRequest| {
                    it.sticky_attributes = Some(crate::common::sticky());
                };
                rig.complete_task_with(&task, vec![], request).await.expect("taken");
            }
        }
    }
    let tally = &rig.store().tally;
    (tally.bytes.load(Ordering::Relaxed), tally.histories.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn p_04_a_join_of_a_thousand_costs_ten_times_a_join_of_a_hundred() {
    let (small, _) = join(100).await;
    let (large, reads) = join(1_000).await;
    assert!(large < small * 12, "{small} bytes, then {large}");
    assert!(reads < 20, "the history is not read again and again: {reads} times");
}

#[tokio::test(start_paused = true)]
async fn p_08_a_second_answer_of_any_kind_changes_nothing() {
    for first in ["completed", "failed", "canceled"] {
        for second in ["completed", "failed", "canceled", "heartbeat"] {
            let rig = Rig::new().await;
            rig.start("order-1").await;
            let once = crate::common::retried("a", 1, 1.0, 1);
            rig.step(vec![once, timer("t", 1)]).await;
            let work = rig.next_activity().await;
            if first == "canceled" {
                rig.step(vec![crate::common::cancel_activity(5)]).await;
            }
            answer(&rig, first, &work).await.expect("the first counts");
            let before = rig.text("order-1", "").await;
            let refused = answer(&rig, second, &work).await.expect_err("the second does not");
            assert_eq!(refused.code, Code::NotFound, "{first} then {second}: {refused}");
            assert_eq!(rig.text("order-1", "").await, before, "{first} then {second}");
            rig.step(vec![complete("done")]).await;
        }
    }
}

async fn answer(rig: &Rig, how: &str, work: &calls::Work) -> Result<(), steadfast_engine::Error> {
    match how {
        "completed" => rig.complete_activity(work, "ok").await,
        "failed" => rig.fail_activity(work, "no luck").await,
        "canceled" => rig.cancel_activity(work).await,
        _ => rig.heartbeat(work, "still here").await.map(drop),
    }
}

#[tokio::test(start_paused = true)]
async fn p_13_a_race_that_is_settled_leaves_no_timer_behind() {
    let memory = Arc::new(Memory::new());
    let rig = Rig::on(Base::Memory(Arc::clone(&memory))).await;
    rig.start("order-1").await;
    rig.step(vec![activity("a"), timer("deadline", 600)]).await;
    let due = async || {
        let mut all = Vec::new();
        for shard in 0..4 {
            let until = rig.engine().now().after(Duration::from_secs(3_600));
            all.extend(memory.due(ShardNumber(shard), until, None, 10).await.expect("a page"));
        }
        all.len()
    };
    assert_eq!(due().await, 1);
    let work = rig.next_activity().await;
    rig.complete_activity(&work, "ok").await.expect("taken");
    rig.step(vec![cancel_timer("deadline")]).await;
    assert_eq!(due().await, 0);
    rig.signal("order-1", "end").await.expect("taken");
    rig.step(vec![complete("done")]).await;
    assert_eq!(due().await, 0);
}

#[tokio::test(start_paused = true)]
async fn p_14_a_type_that_nobody_registered_waits_and_can_be_seen_waiting() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.wait(3_600).await;
    let seen = rig.describe("order-1").await.expect("a run");
    let task = seen.pending_workflow_task.expect("it waits");
    assert_eq!(task.state(), steadfast_proto::enums::PendingWorkflowTaskState::Scheduled);
    let asked = ws::DescribeTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(QUEUE)),
        ..ws::DescribeTaskQueueRequest::default()
    };
    let seen = rig.engine().describe_task_queue(asked).await.expect("a queue");
    assert_eq!(seen.pollers, []);
    assert_eq!(seen.stats.expect("numbers").approximate_backlog_count, 1);
}

#[tokio::test(start_paused = true)]
async fn p_18_the_numbers_equal_what_history_says() {
    let rig = Rig::new().await;
    let ran = run_all(&rig.engine(), 100).await;
    let stats = rig.engine();
    let stats = stats.commit_stats();
    let store = rig.store();
    assert_eq!(stats.commits.load(Ordering::Relaxed), store.tally.commits.load(Ordering::Relaxed));
    assert_eq!(stats.retries.load(Ordering::Relaxed), 0);
    assert!(stats.works.load(Ordering::Relaxed) >= stats.commits.load(Ordering::Relaxed));
    assert_eq!(rig.count("").await, Ok(100));
    assert_eq!(rig.count("ExecutionStatus = 'Completed'").await, Ok(100));
    let mut activities = 0;
    for n in 0..100 {
        let names = rig.names(&format!("order-{n}")).await;
        activities += names.iter().filter(|name| *name == "ActivityTaskCompleted").count();
    }
    assert_eq!(activities, ran.len());
    assert!(ran.values().all(|times| *times == 1));
}

#[tokio::test(start_paused = true)]
async fn e_108_five_hundred_workflows_at_once_on_one_file_all_complete() {
    let rig = Rig::on(Base::sqlite()).await;
    let ran = run_all(&rig.engine(), 500).await;
    assert!(ran.values().all(|times| *times == 1));
    assert_eq!(rig.count("ExecutionStatus = 'Completed'").await, Ok(500));
}

#[tokio::test(start_paused = true)]
async fn p_22_a_poll_that_goes_away_at_any_point_loses_no_task() {
    // A poll is dropped after each number of turns that it may take to get its task.
    for turns in 0..25 {
        let rig = Rig::new().await;
        rig.start("order-1").await;
        let task = task_of(&rig, drop_after(turns, rig.poll_task(QUEUE)).await).await;
        rig.complete_task(&task, vec![activity("a")]).await.expect("taken");
        let work = work_of(&rig, drop_after(turns, rig.poll_activity(QUEUE)).await).await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        let task = task_of(&rig, drop_after(turns, rig.poll_task(QUEUE)).await).await;
        rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
        assert!(rig.elapsed() < 5, "{turns} turns: {} s late", rig.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn p_22_a_poll_that_goes_away_while_its_task_comes_loses_no_task() {
    for turns in 0..40 {
        let rig = Rig::new().await;
        let engine = rig.engine();
        let poll = tokio::spawn(async move {
            drop_after(turns, engine.poll_workflow_task_queue(calls::task_poll(QUEUE))).await
        });
        rig.start("order-1").await;
        let task = poll.await.expect("it ended").map(|answer| answer.expect("a poll"));
        let task = task_of(&rig, task).await;
        let engine = rig.engine();
        let poll = tokio::spawn(async move {
            drop_after(turns, engine.poll_activity_task_queue(calls::activity_poll(QUEUE))).await
        });
        rig.complete_task(&task, vec![activity("a")]).await.expect("taken");
        let work = poll.await.expect("it ended").map(|answer| answer.expect("a poll"));
        let work = work_of(&rig, work).await;
        assert_eq!(work.attempt, 1, "an attempt that nobody saw does not count");
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        assert!(rig.elapsed() < 5, "{turns} turns: {} s late", rig.elapsed());
    }
}

/// The task that a poll got, or the one that the next poll gets.
async fn task_of(rig: &Rig, got: Option<calls::Task>) -> calls::Task {
    match got {
        Some(task) if !task.task_token.is_empty() => task,
        _ => rig.next_task(QUEUE).await,
    }
}

async fn work_of(rig: &Rig, got: Option<calls::Work>) -> calls::Work {
    match got {
        Some(work) if !work.task_token.is_empty() => work,
        _ => rig.next_activity().await,
    }
}

/// Gives a call some turns, and then goes away. Gives its answer if it was there by then.
pub(crate) async fn drop_after<T>(turns: usize, call: impl Future<Output = T>) -> Option<T> {
    let mut call = std::pin::pin!(call);
    for _ in 0..turns {
        let turn = std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context)));
        if let Poll::Ready(answer) = turn.await {
            return Some(answer);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[tokio::test(start_paused = true)]
async fn p_11_time_in_the_queue_does_not_count_against_the_attempt() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    rig.wait(300).await;
    let work = rig.next_activity().await;
    assert_eq!(work.attempt, 1, "it has not timed out in the queue");
    rig.wait(55).await;
    rig.complete_activity(&work, "ok").await.expect("it had its whole minute");
}

#[tokio::test(start_paused = true)]
async fn p_12_a_cancellation_reaches_an_activity_with_its_next_heartbeat() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    assert!(!rig.heartbeat(&work, "1").await.expect("taken").cancel_requested);
    rig.cancel("order-1").await.expect("asked");
    rig.step(vec![crate::common::cancel_activity(5)]).await;
    assert!(rig.heartbeat(&work, "2").await.expect("taken").cancel_requested);
    assert_eq!(rig.millis(), 0);
    rig.cancel_activity(&work).await.expect("taken");
    rig.step(vec![crate::common::cancelled()]).await;
}

#[tokio::test(start_paused = true)]
async fn p_16_a_cancelled_workflow_can_clean_up_first() {
    let told = crate::common::survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![timer("t", 3_600)]).await;
        rig.cancel("order-1").await.expect("asked");
        rig.step(vec![cancel_timer("t"), activity("undo")]).await;
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "undone").await.expect("taken");
        rig.step(vec![crate::common::cancelled()]).await;
        rig.names("order-1").await.join(" ")
    });
    let told = told.await;
    assert!(told.contains("WorkflowExecutionCancelRequested"), "{told}");
    assert!(told.ends_with("WorkflowExecutionCanceled"), "{told}");
}
