//! Callers that say how long they wait are answered before that.

use std::time::{Duration, Instant};

use steadfast_proto::{update, workflowservice as ws};
use tonic::Code;

use crate::common::{
    NAMESPACE, QUEUE, World, activity_poll, code_and_text, execution, history, query, start,
    task_poll, within,
};

const SPAN: Duration = Duration::from_secs(1);

/// The answer, which must come close before the caller gives up.
#[expect(clippy::disallowed_methods, reason = "a server in the machine's own time")]
async fn in_time<T>(call: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let answer = call.await;
    let took = began.elapsed();
    assert!(took < SPAN, "answered after {took:?}");
    assert!(took > SPAN / 4, "answered after {took:?}, without waiting");
    answer
}

#[tokio::test]
async fn polls_are_answered_empty() {
    let world = World::new().await;
    let mut client = world.client().await;
    let poll = client.poll_workflow_task_queue(within(SPAN, task_poll(QUEUE)));
    let task = in_time(poll).await.expect("an empty answer").into_inner();
    assert_eq!(task, ws::PollWorkflowTaskQueueResponse::default());
    let poll = client.poll_activity_task_queue(within(SPAN, activity_poll(QUEUE)));
    let work = in_time(poll).await.expect("an empty answer").into_inner();
    assert_eq!(work, ws::PollActivityTaskQueueResponse::default());
}

#[tokio::test]
async fn a_call_that_comes_with_no_time_left_does_nothing() {
    let world = World::new().await;
    let mut client = world.client().await;
    for number in 0..50 {
        let start = start(&format!("order-{number}"));
        let started = client.start_workflow_execution(within(Duration::ZERO, start)).await;
        let code = started.expect_err("no time").code();
        assert!(matches!(code, Code::DeadlineExceeded | Code::Cancelled), "{code:?}");
    }
    let count = ws::CountWorkflowExecutionsRequest {
        namespace: NAMESPACE.to_owned(),
        ..ws::CountWorkflowExecutionsRequest::default()
    };
    let counted = client.count_workflow_executions(count).await.expect("a count").into_inner();
    assert_eq!(counted.count, 0);
}

#[tokio::test]
async fn a_query_that_nobody_answers_tells_why() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let asked = in_time(client.query_workflow(within(SPAN, query("order-1")))).await;
    let status = asked.expect_err("nobody is there");
    let text = "no poller seen for task queue recently, worker may be down";
    assert_eq!(code_and_text(&status), (Code::FailedPrecondition, text));

    let mut worker = world.client().await;
    worker.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task, and no answer");
    let asked = in_time(client.query_workflow(within(SPAN, query("order-1")))).await;
    assert_eq!(asked.expect_err("nobody answers").code(), Code::DeadlineExceeded);
}

#[tokio::test]
async fn an_update_that_nobody_accepts_tells_that_its_time_is_over() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let request = ws::UpdateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1")),
        request: Some(update::Request {
            meta: Some(update::Meta { update_id: "u".to_owned(), ..update::Meta::default() }),
            input: Some(update::Input { name: "add".to_owned(), ..update::Input::default() }),
            ..update::Request::default()
        }),
        wait_policy: Some(update::WaitPolicy { lifecycle_stage: 3 }),
        ..ws::UpdateWorkflowExecutionRequest::default()
    };
    let answer = in_time(client.update_workflow_execution(within(SPAN, request))).await;
    assert_eq!(answer.expect_err("nobody is there").code(), Code::DeadlineExceeded);
}

#[tokio::test]
async fn a_history_without_news_is_answered_with_where_to_go_on() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let request = ws::GetWorkflowExecutionHistoryRequest {
        wait_new_event: true,
        history_event_filter_type: 2,
        ..history("order-1")
    };
    let answer = in_time(client.get_workflow_execution_history(within(SPAN, request))).await;
    let answer = answer.expect("a page").into_inner();
    assert!(!answer.next_page_token.is_empty());
    assert_eq!(answer.history.expect("a page").events, []);
}
