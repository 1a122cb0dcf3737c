//! Queries: asked with a workflow task or by themselves, of workers that live or have died.

use steadfast_engine::{Code, Detail, Limits};
use steadfast_proto::{
    enums::{self, QueryRejectCondition as Reject},
    query::WorkflowQueryResult,
    workflowservice as ws,
};

use crate::common::{Base, NAMESPACE, QUEUE, Rig, calls, fail, failure, payloads, sticky, timer};

async fn asleep(rig: &Rig) {
    rig.start("order-1").await;
    rig.step(vec![timer("t", 3_600)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_query_of_a_workflow_at_rest_is_a_task_of_its_own_and_leaves_no_trace() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let before = rig.text("order-1", "").await;
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.query.as_ref().expect("a query").query_type, "state");
        assert_eq!((task.started_event_id, task.attempt), (0, 1));
        assert_eq!(task.previous_started_event_id, 3);
        assert_eq!(task.history.as_ref().expect("a history").events.len(), 5);
        rig.answer(&task, "asleep").await.expect("taken");
        rig.answer(&task, "again").await.expect_err("once is enough").code
    };
    let (answer, second) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("asleep")));
    assert_eq!(second, Code::NotFound);
    assert_eq!(rig.text("order-1", "").await, before);
}

#[tokio::test(start_paused = true)]
async fn a_query_after_a_signal_sees_the_signal() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    rig.signal("order-1", "go").await.expect("taken");
    let worker = async {
        rig.wait(1).await;
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.query, None);
        let events = &task.history.as_ref().expect("a history").events;
        assert!(events.iter().any(|event| calls::name(event) == "WorkflowExecutionSignaled"));
        let results = task.queries.keys().map(|id| (id.clone(), answered("signalled")));
        let results = results.collect();
        rig.complete_task_with(&task, vec![], |it| it.query_results = results)
            .await
            .expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("signalled")));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_large_to_be_kept_is_none() {
    let mut limits = Limits::default();
    limits.run.blob_bytes_max = 100;
    let large = "x".repeat(200);
    let rig = Rig::with(Base::memory(), limits).await;
    asleep(&rig).await;
    let alone = async {
        let task = rig.next_task(QUEUE).await;
        rig.answer(&task, &large).await.expect("taken");
    };
    let with_a_task = async {
        rig.wait(1).await;
        let task = rig.next_task(QUEUE).await;
        let results = task.queries.keys().map(|id| (id.clone(), answered(&large))).collect();
        rig.complete_task_with(&task, vec![], |it| it.query_results = results)
            .await
            .expect("taken");
    };
    let (first, ()) = tokio::join!(rig.query("order-1"), alone);
    rig.signal("order-1", "go").await.expect("taken");
    let (second, ()) = tokio::join!(rig.query("order-1"), with_a_task);
    for refused in [first, second] {
        let error = refused.expect_err("too large");
        assert_eq!(error.message, "Blob data size exceeds limit.");
        assert!(matches!(error.detail.as_deref(), Some(Detail::QueryFailed(_))), "{error:?}");
    }
}

fn answered(text: &str) -> WorkflowQueryResult {
    WorkflowQueryResult {
        result_type: enums::QueryResultType::Answered.into(),
        answer: Some(payloads(text)),
        ..WorkflowQueryResult::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_that_comes_while_a_task_is_under_way_is_asked_after_it() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let worker = async {
        rig.wait(1).await;
        rig.complete_task(&task, vec![timer("t", 3_600)]).await.expect("taken");
        let query = rig.next_task(QUEUE).await;
        rig.answer(&query, "asleep").await.expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("asleep")));
}

#[tokio::test(start_paused = true)]
async fn a_query_whose_workflow_task_fails_goes_with_the_next() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    rig.signal("order-1", "go").await.expect("taken");
    let worker = async {
        rig.wait(1).await;
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.queries.len(), 1);
        rig.fail_task(&task).await.expect("taken");
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.queries.len(), 1, "it is asked again");
        let results = task.queries.keys().map(|id| (id.clone(), answered("at last"))).collect();
        rig.complete_task_with(&task, vec![], |it| it.query_results = results)
            .await
            .expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("at last")));
}

#[tokio::test(start_paused = true)]
async fn a_query_whose_workflow_task_times_out_goes_with_the_next() {
    let limits = Limits { query_wait: std::time::Duration::from_secs(60), ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    asleep(&rig).await;
    rig.signal("order-1", "go").await.expect("taken");
    let worker = async {
        rig.wait(1).await;
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.queries.len(), 1);
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.attempt, 2);
        assert_eq!(task.queries.len(), 1, "it is asked again");
        let results = task.queries.keys().map(|id| (id.clone(), answered("at last"))).collect();
        rig.complete_task_with(&task, vec![], |it| it.query_results = results)
            .await
            .expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("at last")));
}

#[tokio::test(start_paused = true)]
async fn a_query_of_a_workflow_whose_tasks_keep_failing_fails_at_once() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![timer("t", 3_600)]).await;
    rig.signal("order-1", "go").await.expect("taken");
    for _ in 0..3 {
        let task = rig.next_task(QUEUE).await;
        rig.fail_task(&task).await.expect("taken");
    }
    let refused = rig.query("order-1").await.expect_err("it cannot answer");
    assert_eq!(refused.code, Code::FailedPrecondition);
    assert_eq!(refused.detail, Some(Box::new(Detail::WorkflowNotReady)));
    assert_eq!(rig.millis(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_query_finds_another_worker_when_the_one_that_knew_the_run_has_died() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let sticking = |it: &mut ws::RespondWorkflowTaskCompletedRequest| {
        it.sticky_attributes = Some(sticky());
    };
    // It polled its own queue just now, so it seems to be alive.
    rig.complete_task_with(&task, vec![timer("t", 3_600)], sticking).await.expect("taken");
    let poll = tokio::time::Duration::from_millis(10);
    tokio::select! {
        biased;
        task = rig.poll_sticky() => panic!("nothing to do: {task:?}"),
        () = steadfast_engine::Clock::sleep(&*rig.clock, poll) => {}
    }
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.history.as_ref().expect("a history").events.len(), 5, "all of it");
        rig.answer(&task, "asleep").await.expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("asleep")));
    assert!(rig.elapsed() < 9, "within what a client waits: {}", rig.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_query_of_a_sticky_worker_comes_without_history() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let sticking = |it: &mut ws::RespondWorkflowTaskCompletedRequest| {
        it.sticky_attributes = Some(sticky());
    };
    rig.complete_task_with(&task, vec![timer("t", 3_600)], sticking).await.expect("taken");
    let ask = async {
        rig.settle().await;
        rig.query("order-1").await
    };
    let worker = async {
        let task = rig.poll_sticky().await;
        assert_eq!(task.history.as_ref().expect("a history").events, []);
        rig.answer(&task, "asleep").await.expect("taken");
    };
    let (answer, ()) = tokio::join!(ask, worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("asleep")));
    assert_eq!(rig.millis(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_closed_workflow_answers_unless_the_client_does_not_want_it_to() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![fail("no luck")]).await;
    for condition in [Reject::NotOpen, Reject::NotCompletedCleanly] {
        let request = ws::QueryWorkflowRequest {
            query_reject_condition: condition.into(),
            ..calls::query("order-1")
        };
        let rejected = rig.engine().query_workflow(request).await.expect("no error");
        let status = rejected.query_rejected.expect("rejected").status();
        assert_eq!(status, enums::WorkflowExecutionStatus::Failed);
    }
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        rig.answer(&task, "failed").await.expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("failed")));
}

#[tokio::test(start_paused = true)]
async fn a_query_that_cannot_be_answered_is_an_error() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        let request = ws::RespondQueryTaskCompletedRequest {
            task_token: task.task_token,
            completed_type: enums::QueryResultType::Failed.into(),
            error_message: "unknown query".to_owned(),
            failure: Some(failure("unknown query")),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondQueryTaskCompletedRequest::default()
        };
        rig.engine().respond_query_task_completed(request).await.expect("taken");
    };
    let (refused, ()) = tokio::join!(rig.query("order-1"), worker);
    let refused = refused.expect_err("refused");
    assert_eq!((refused.code, refused.message.as_str()), (Code::InvalidArgument, "unknown query"));
    assert!(matches!(refused.detail.as_deref(), Some(Detail::QueryFailed(_))));
    rig.terminate("order-1").await.expect("ended");
    assert_eq!(rig.query("order-2").await.expect_err("no run").code, Code::NotFound);
    let closed = rig.start("order-3").await;
    assert!(!closed.is_empty());
    rig.terminate("order-3").await.expect("ended");
    let never = rig.query("order-3").await.expect_err("its code never ran");
    assert_eq!(never.detail, Some(Box::new(Detail::WorkflowNotReady)));
}

#[tokio::test(start_paused = true)]
async fn a_query_that_nobody_answers_says_whether_there_are_workers() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let slow = "query timed out before a worker could process it";
    for (waits, code, message) in [
        (false, Code::DeadlineExceeded, slow),
        (false, Code::FailedPrecondition, DOWN),
        // With a workflow task that nobody takes it is the same.
        (true, Code::FailedPrecondition, DOWN),
    ] {
        if waits {
            rig.signal("order-1", "go").await.expect("taken");
        }
        let patience = std::time::Duration::from_secs(15);
        let asked = rig.engine().within(patience).query_workflow(calls::query("order-1")).await;
        let nobody = asked.expect_err("nobody");
        assert_eq!((nobody.code, nobody.message.as_str()), (code, message), "{}", rig.elapsed());
    }
}

const DOWN: &str = "no poller seen for task queue recently, worker may be down";

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_with_the_end_of_the_workflow_counts() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    rig.signal("order-1", "go").await.expect("taken");
    let worker = async {
        rig.settle().await;
        let task = rig.next_task(QUEUE).await;
        let result = WorkflowQueryResult {
            result_type: enums::QueryResultType::Answered.into(),
            answer: Some(payloads("nearly done")),
            ..Default::default()
        };
        let answers = task.queries.keys().map(|id| (id.clone(), result.clone())).collect();
        let close = vec![crate::common::complete("done")];
        let done = rig.complete_task_with(&task, close, |it| it.query_results = answers);
        done.await.expect("taken");
    };
    let (answer, ()) = tokio::join!(rig.query("order-1"), worker);
    assert_eq!(answer.expect("an answer").query_result, Some(payloads("nearly done")));
    assert_eq!(rig.millis(), 0);
}
