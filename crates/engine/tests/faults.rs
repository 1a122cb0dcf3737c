//! Storage that is full, busy or failing for a while; an engine that stops, or is replaced.

use std::sync::{Arc, atomic::Ordering};

use steadfast_engine::{Code, Engine, Limits, Options};
use steadfast_proto::{
    enums::WorkflowIdConflictPolicy, history::history_event::Attributes, workflowservice as ws,
};
use steadfast_store::{Memory, Store};

use crate::common::{
    Base, Fault, QUEUE, Rig, activity, activity_with,
    calls::{Work, activity_poll, start_request, task_poll},
    complete, payloads, survives, timer,
};

/// One workflow with one activity and one timer.
async fn tell(rig: &Rig) -> String {
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    rig.complete_activity(&work, "paid").await.expect("taken");
    rig.step(vec![timer("t", 60)]).await;
    rig.step(vec![complete("done")]).await;
    rig.names("order-1").await.join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_fails_in_any_way_at_any_time_is_made_good() {
    let expected = tell(&Rig::new().await).await;
    for fault in [Fault::Busy, Fault::Full, Fault::LostBefore, Fault::LostAfter] {
        for nth in 0..10 {
            let rig = Rig::new().await;
            let quiet = std::iter::repeat_n(Fault::None, nth);
            rig.store().fail_commits(quiet.chain([fault; 3]));
            assert_eq!(tell(&rig).await, expected, "{fault:?} at commit {nth}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_is_tried_again() {
    let expected = tell(&Rig::new().await).await;
    for nth in 0..6 {
        let rig = Rig::new().await;
        rig.start("order-1").await;
        rig.crash().await;
        let quiet = std::iter::repeat_n(Fault::None, nth);
        rig.store().fail_reads(quiet.chain([Fault::LostBefore; 3]));
        rig.step(vec![activity("a")]).await;
        rig.crash().await;
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "paid").await.expect("taken");
        rig.crash().await;
        rig.step(vec![timer("t", 60)]).await;
        rig.crash().await;
        rig.step(vec![complete("done")]).await;
        assert_eq!(rig.names("order-1").await.join(" "), expected, "at read {nth}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_while_the_disk_is_full_and_all_of_it_afterwards() {
    let rig = Rig::new().await;
    rig.store().fail_commits([Fault::Full; 12]);
    let mut starts = tokio::task::JoinSet::new();
    for n in 0..20 {
        let engine = rig.engine();
        starts.spawn(async move {
            engine.start_workflow_execution(start_request(&format!("order-{n}"))).await
        });
    }
    rig.wait(2).await;
    assert!(starts.try_join_next().is_none(), "nothing is durable yet");
    let started = starts.join_all().await;
    assert!(started.iter().all(Result::is_ok), "{started:?}");
    rig.crash().await;
    assert_eq!(rig.count("").await, Ok(20));
    assert!(rig.engine().commit_stats().retries.load(Ordering::Relaxed) < 12);
}

/// Starts so many workflows with 10 KB each, at once, and gives the ids of those that were refused.
async fn start_large(
    rig: &Rig,
    engine: &Engine,
    ids: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let mut starts = tokio::task::JoinSet::new();
    for id in ids {
        let engine = engine.clone();
        let input = Some(payloads(&"x".repeat(10_000)));
        let start = ws::StartWorkflowExecutionRequest { input, ..start_request(&id) };
        starts.spawn(async move { (id, engine.start_workflow_execution(start).await) });
    }
    rig.settle().await;
    let held = unwritten(rig);
    assert!(
        held <= rig.limits().unwritten_bytes_max + 4 * 11_000,
        "{held} bytes wait for the disk"
    );
    let mut refused = Vec::new();
    for (id, started) in starts.join_all().await {
        if let Err(error) = started {
            assert_eq!((error.code, error.to_string().as_str()), BEHIND);
            refused.push(id);
        }
    }
    refused
}

fn unwritten(rig: &Rig) -> usize {
    rig.engine().commit_stats().unwritten_bytes.load(Ordering::Relaxed)
}

const BEHIND: (Code, &str) = (Code::ResourceExhausted, "storage is behind; try again");

#[tokio::test(start_paused = true)]
async fn while_the_disk_is_full_no_more_is_taken_on_than_fits_into_memory() {
    let limits = Limits { unwritten_bytes_max: 400_000, ..Limits::default() };
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::with(base(), limits.clone()).await;
        rig.store().fail_commits([Fault::Full; 12]);
        let mut left =
            start_large(&rig, &rig.engine(), (0..200).map(|n| format!("order-{n}"))).await;
        assert!((150..=165).contains(&left.len()), "{} of 200 were refused", left.len());
        assert_eq!(unwritten(&rig), 0);
        for _ in 0..10 {
            left = start_large(&rig, &rig.engine(), left).await;
        }
        assert_eq!(left, Vec::<String>::new());
        rig.crash().await;
        assert_eq!(rig.count("").await, Ok(200));
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_disk_is_full_callers_in_the_process_wait() {
    let limits = Limits { unwritten_bytes_max: 400_000, ..Limits::default() };
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::with(base(), limits.clone()).await;
        rig.store().fail_commits([Fault::Full; 12]);
        let engine = rig.engine().for_own_callers();
        let ids = (0..200).map(|n| format!("order-{n}"));
        assert_eq!(start_large(&rig, &engine, ids).await, Vec::<String>::new());
        assert_eq!(unwritten(&rig), 0);
        assert!(rig.elapsed() > 5, "the disk was full for a while");
        rig.crash().await;
        assert_eq!(rig.count("").await, Ok(200));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_good_order_loses_nothing() {
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::on(base()).await;
        let mut starts = tokio::task::JoinSet::new();
        for n in 0..50 {
            let engine = rig.engine();
            starts.spawn(async move {
                engine.start_workflow_execution(start_request(&format!("order-{n}"))).await
            });
        }
        tokio::task::yield_now().await;
        rig.restart().await;
        let mut answered = 0;
        for answer in starts.join_all().await {
            match answer {
                Ok(_) => answered += 1,
                Err(error) => assert_eq!(error.code, Code::Unavailable, "{error}"),
            }
        }
        assert!(rig.count("").await.expect("a count") >= answered);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_stop_every_call_says_that_the_engine_stops() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let engine = rig.engine();
    let poll = tokio::spawn({
        let engine = engine.clone();
        async move { engine.poll_activity_task_queue(activity_poll(QUEUE)).await }
    });
    rig.settle().await;
    engine.stop().await;
    assert_eq!(
        rig.start_with("order-2", |_| {}).await.expect_err("stopped").code,
        Code::Unavailable
    );
    assert_eq!(rig.signal("order-1", "go").await.expect_err("stopped").code, Code::Unavailable);
    let stopped_at = rig.millis();
    assert_eq!(poll.await.expect("it ends"), Ok(Work::default()), "it was in vain");
    let again = engine.poll_activity_task_queue(activity_poll(QUEUE)).await;
    assert_eq!(again.expect_err("at once").code, Code::Unavailable);
    let again = engine.poll_workflow_task_queue(task_poll(QUEUE)).await;
    assert_eq!(again.expect_err("at once").code, Code::Unavailable);
    assert_eq!(rig.millis(), stopped_at, "nobody waits for an engine that has ended");
}

#[tokio::test(start_paused = true)]
async fn an_engine_whose_data_was_taken_over_acknowledges_nothing_more() {
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::on(base()).await;
        rig.start("order-1").await;
        let old = rig.engine();
        let new = rig.second().await;
        let poll = tokio::spawn({
            let old = old.clone();
            async move { old.poll_activity_task_queue(activity_poll(QUEUE)).await }
        });
        rig.settle().await;
        let refused = old.start_workflow_execution(start_request("order-2")).await;
        assert_eq!(refused.expect_err("not its data any more").code, Code::Unavailable);
        assert!(old.lost().is_some());
        let before = rig.millis();
        assert_eq!(poll.await.expect("it ends"), Ok(Work::default()), "it was in vain");
        assert_eq!(rig.millis(), before, "nobody polls an engine that has lost its data");
        assert!(new.lost().is_none());
        new.start_workflow_execution(start_request("order-3")).await.expect("its data");
        let refused = old.signal_workflow_execution(
            steadfast_proto::workflowservice::SignalWorkflowExecutionRequest {
                namespace: crate::common::NAMESPACE.to_owned(),
                workflow_execution: Some(crate::common::execution("order-1", "")),
                signal_name: "go".to_owned(),
                ..steadfast_proto::workflowservice::SignalWorkflowExecutionRequest::default()
            },
        );
        assert_eq!(refused.await.expect_err("not its data any more").code, Code::Unavailable);
        assert_eq!(rig.count("").await, Ok(2));
    }
}

#[tokio::test(start_paused = true)]
async fn p_21_after_a_kill_the_work_is_offered_at_once() {
    let told = survives(async |rig: &Rig| {
        for n in 0..6 {
            rig.start(&format!("order-{n}")).await;
        }
        for _ in 0..3 {
            rig.step(vec![activity("a")]).await;
        }
        rig.crash().await;
        let before = rig.millis();
        for _ in 0..3 {
            rig.step(vec![complete("done")]).await;
            rig.next_activity().await;
        }
        assert_eq!(rig.millis(), before, "no time passes");
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn runs_that_do_not_fit_into_memory_go_on_all_the_same() {
    let limits = Limits { cached_runs_max: 8, recovery_page_max: 4, ..Limits::default() };
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::with(base(), limits.clone()).await;
        for n in 0..60 {
            rig.start(&format!("order-{n}")).await;
        }
        for n in 0..60 {
            rig.step(vec![timer("t", 1_000 + n)]).await;
        }
        rig.crash().await;
        for _ in 0..60 {
            rig.step(vec![activity("a")]).await;
        }
        rig.crash().await;
        for _ in 0..60 {
            let work = rig.next_activity().await;
            rig.complete_activity(&work, "paid").await.expect("taken");
            rig.step(vec![complete("done")]).await;
        }
        assert_eq!(rig.count("ExecutionStatus = 'Completed'").await, Ok(60));
    }
}

#[tokio::test(start_paused = true)]
async fn large_inputs_do_not_stay_in_memory_while_no_worker_comes() {
    const INPUT: usize = 100_000;
    let limits = Limits { cached_bytes_max: 20 * INPUT, ..Limits::default() };
    let input = |id: &str| Some(payloads(&format!("{id} {}", "x".repeat(INPUT))));
    let is_bounded = |rig: &Rig| {
        // Each is kept more than once: in an event, and as what is pending or was started.
        let held = rig.engine().held();
        let (runs, bytes) = (held.runs, held.run_bytes);
        assert!((4..=10).contains(&runs), "{runs} runs take {bytes} bytes");
        assert!(bytes <= limits.cached_bytes_max, "{runs} runs take {bytes} bytes");
    };
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::with(base(), limits.clone()).await;
        for n in 0..60 {
            let id = format!("order-{n}");
            rig.start_with(&id, |start| start.input = input(&id)).await.expect("a start");
        }
        is_bounded(&rig);
        for _ in 0..60 {
            let task = rig.next_task(QUEUE).await;
            let first = task.history.as_ref().and_then(|it| it.events.first()).expect("an event");
            let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) =
                &first.attributes
            else {
                panic!("a history does not begin with {first:?}");
            };
            let id = &task.workflow_execution.as_ref().expect("a run").workflow_id;
            assert!(started.input == input(id), "{id} was started with something else");
            let charge = activity_with("a", |it| it.input.clone_from(&started.input));
            rig.complete_task(&task, vec![charge]).await.expect("taken");
        }
        is_bounded(&rig);
        for _ in 0..60 {
            let work = rig.next_activity().await;
            let id = &work.workflow_execution.as_ref().expect("a run").workflow_id;
            assert!(work.input == input(id), "{id} has another activity");
            rig.complete_activity(&work, "paid").await.expect("taken");
        }
        for _ in 0..60 {
            rig.step(vec![complete("done")]).await;
        }
        assert_eq!(rig.count("ExecutionStatus = 'Completed'").await, Ok(60));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_not_there_is_an_error_when_opening() {
    let memory = Memory::new();
    memory.close().await.expect("closed");
    let opened = Engine::open(Arc::new(memory), Options::default()).await;
    opened.expect_err("it is closed");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_the_store_refuses_is_read_anew_and_the_others_do_not_suffer() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.start("order-2").await;
    // The batch is refused, and then of its runs the first.
    rig.store().fail_commits([Fault::Rejected, Fault::Rejected]);
    let refused = rig.signal("order-1", "lost").await.expect_err("it is not kept");
    assert_eq!(refused.code, Code::Internal);
    assert!(refused.message.starts_with("the store refused"), "{refused}");
    rig.signal("order-2", "kept").await.expect("taken");
    rig.signal("order-1", "kept").await.expect("it goes on from what is durable");
    for _ in 0..2 {
        rig.step(vec![complete("done")]).await;
    }
    rig.crash().await;
    for id in ["order-1", "order-2"] {
        let text = rig.text(id, "").await;
        assert!(text.contains("Signaled kept") && !text.contains("lost"), "{text}");
        assert!(text.contains("WorkflowExecutionCompleted"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_the_store_refuses_takes_nobody_elses_answer_with_it() {
    let rig = Rig::new().await;
    // All of it is one batch: that is refused, and then of its runs the first.
    rig.store().fail_commits([Fault::Rejected, Fault::Rejected]);
    let mut starts = tokio::task::JoinSet::new();
    for n in 0..20 {
        let engine = rig.engine();
        starts.spawn(async move {
            engine.start_workflow_execution(start_request(&format!("order-{n}"))).await
        });
    }
    let started = starts.join_all().await;
    assert_eq!(started.iter().filter(|it| it.is_ok()).count(), 19, "{started:?}");
    assert_eq!(rig.count("").await, Ok(19));
    for n in 0..20 {
        let id = format!("order-{n}");
        let again = rig.start_with(&id, |it| {
            it.workflow_id_conflict_policy = WorkflowIdConflictPolicy::UseExisting.into();
        });
        again.await.expect("a start");
    }
    assert_eq!(rig.count("").await, Ok(20), "the one that was refused is free to start");
}
