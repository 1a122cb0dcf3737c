//! A worker that was given the end of a history, and has forgotten its beginning, reads all of it.

use steadfast_proto::{
    history::HistoryEvent,
    taskqueue::{StickyExecutionAttributes, TaskQueue},
    update, workflowservice as ws,
};
use tonic::{Request, metadata::MetadataValue};

use crate::common::{
    Client, NAMESPACE, QUEUE, World, answer, execution, history, queue, seconds, start, task_poll,
};

const OWN: &str = "own";

/// Answers the first task, and has the next ones come to a queue of its own, with what is new.
async fn answer_the_first(worker: &mut Client) {
    let task = worker.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task");
    let sticky = StickyExecutionAttributes {
        worker_task_queue: Some(own_queue()),
        schedule_to_start_timeout: Some(seconds(10)),
    };
    let request = ws::RespondWorkflowTaskCompletedRequest {
        sticky_attributes: Some(sticky),
        ..answer(&task.into_inner(), Vec::new())
    };
    worker.respond_workflow_task_completed(request).await.expect("answered");
}

fn own_queue() -> TaskQueue {
    TaskQueue { kind: 2, normal_name: QUEUE.to_owned(), ..queue(OWN) }
}

/// Asks for an update, which nobody carries out.
fn ask(mut client: Client) {
    let request = ws::UpdateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1")),
        request: Some(update::Request {
            input: Some(update::Input { name: "add".to_owned(), ..update::Input::default() }),
            ..update::Request::default()
        }),
        wait_policy: Some(update::WaitPolicy { lifecycle_stage: 3 }),
        ..ws::UpdateWorkflowExecutionRequest::default()
    };
    drop(tokio::spawn(async move { client.update_workflow_execution(request).await }));
}

/// The whole history, as this program is shown it.
async fn read(client: &mut Client, name: &'static str) -> Vec<HistoryEvent> {
    let mut request = Request::new(history("order-1"));
    request.metadata_mut().insert("client-name", MetadataValue::from_static(name));
    let page = client.get_workflow_execution_history(request).await.expect("a history");
    page.into_inner().history.unwrap_or_default().events
}

#[tokio::test]
async fn the_history_of_a_task_that_is_not_written_ends_with_it_for_workers() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    answer_the_first(&mut client).await;
    ask(world.client().await);
    let poll = ws::PollWorkflowTaskQueueRequest { task_queue: Some(own_queue()), ..task_poll(OWN) };
    let task = client.poll_workflow_task_queue(poll).await.expect("a task").into_inner();
    let given = task.history.unwrap_or_default().events;
    assert_eq!(task.started_event_id, 6, "it has an update alone");
    assert_eq!(given.first().map(|event| event.event_id), Some(4), "what is new");
    let worker = read(&mut client, "temporal-go").await;
    let ids: Vec<i64> = worker.iter().map(|event| event.event_id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    assert_eq!(worker[3..], given);
    for people in ["temporal-cli", "temporal-ui", "steadfast-cli"] {
        assert_eq!(read(&mut client, people).await, worker[..4], "{people} sees what is written");
    }
}
