//! Clients that go away while they wait: what was meant for them goes to somebody else.

use steadfast_proto::workflowservice as ws;

use crate::common::{
    NAMESPACE, QUEUE, World, activity_poll, answer, call_activity, complete, payloads, query, soon,
    start, task_poll,
};

const TASK_POLLS: &str = r#"steadfast_rpc_in_flight{method="PollWorkflowTaskQueue"}"#;
const ACTIVITY_POLLS: &str = r#"steadfast_rpc_in_flight{method="PollActivityTaskQueue"}"#;

/// Somebody polls, with a connection of its own, and goes away while it waits.
async fn polls_and_leaves(world: &World, polls: &str) {
    let mut client = world.client().await;
    let poll = if polls == TASK_POLLS {
        tokio::spawn(async move { drop(client.poll_workflow_task_queue(task_poll(QUEUE)).await) })
    } else {
        tokio::spawn(
            async move { drop(client.poll_activity_task_queue(activity_poll(QUEUE)).await) },
        )
    };
    world.until(polls, 1).await;
    poll.abort();
    world.until(polls, 0).await;
}

#[tokio::test]
async fn a_workflow_task_goes_to_the_next_poller_at_once() {
    let world = World::new().await;
    let mut client = world.client().await;
    for round in 0..10 {
        polls_and_leaves(&world, TASK_POLLS).await;
        client.start_workflow_execution(start(&format!("order-{round}"))).await.expect("a start");
        let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a poll");
        let task = task.into_inner();
        assert_eq!(task.attempt, 1, "nobody else had it");
        client.respond_workflow_task_completed(complete(&task, "")).await.expect("it is ours");
    }
}

#[tokio::test]
async fn an_activity_goes_to_the_next_poller_at_once() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a poll");
    polls_and_leaves(&world, ACTIVITY_POLLS).await;
    let schedule = call_activity(&task.into_inner());
    client.respond_workflow_task_completed(schedule).await.expect("an answer");
    let work = soon(client.poll_activity_task_queue(activity_poll(QUEUE))).await.expect("a poll");
    assert_eq!(work.into_inner().attempt, 1, "nobody else had it");
}

#[tokio::test]
async fn a_query_goes_to_the_next_poller_at_once() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a poll");
    let rest = answer(&task.into_inner(), vec![]);
    client.respond_workflow_task_completed(rest).await.expect("an answer");
    polls_and_leaves(&world, TASK_POLLS).await;

    let mut worker = world.client().await;
    let answers = async {
        let task = worker.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a poll");
        let task = task.into_inner();
        assert!(task.query.is_some());
        let answer = ws::RespondQueryTaskCompletedRequest {
            task_token: task.task_token,
            completed_type: 1,
            query_result: Some(payloads("well")),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondQueryTaskCompletedRequest::default()
        };
        worker.respond_query_task_completed(answer).await.expect("taken");
    };
    let asked = client.query_workflow(query("order-1"));
    let (answer, ()) = soon(async { tokio::join!(asked, answers) }).await;
    assert_eq!(answer.expect("an answer").into_inner().query_result, Some(payloads("well")));
}

#[tokio::test]
async fn one_that_leaves_while_its_task_is_on_the_way_keeps_nobody_waiting_for_long() {
    let world = World::new().await;
    let mut client = world.client().await;
    let started = ws::StartWorkflowExecutionRequest {
        workflow_task_timeout: Some(crate::common::seconds(1)),
        ..start("order-1")
    };
    let mut gone = world.client().await;
    let poll =
        tokio::spawn(async move { drop(gone.poll_workflow_task_queue(task_poll(QUEUE)).await) });
    world.until(TASK_POLLS, 1).await;
    // The server may or may not have noticed when the task comes.
    poll.abort();
    client.start_workflow_execution(started).await.expect("a start");
    let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a poll");
    let done = complete(&task.into_inner(), "");
    client.respond_workflow_task_completed(done).await.expect("it is ours");
}
