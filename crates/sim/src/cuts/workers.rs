//! The workers of the small world: one step, which fails for good until its cause is mended.

use std::{sync::Arc, time::Duration};

use steadfast_proto::{
    command::{
        Command, CompleteWorkflowExecutionCommandAttributes,
        FailWorkflowExecutionCommandAttributes, ScheduleActivityTaskCommandAttributes,
    },
    common::ActivityType,
    history::history_event::Attributes,
    workflowservice as ws,
};

use super::story::MENDED;
use crate::{wire, world::World};

/// Lets them loose.
pub(super) fn spawn(world: &Arc<World>) {
    drop(tokio::spawn(run_workflows(Arc::clone(world))));
    drop(tokio::spawn(run_steps(Arc::clone(world))));
}

async fn run_workflows(world: Arc<World>) {
    let request = ws::PollWorkflowTaskQueueRequest {
        namespace: wire::NAMESPACE.to_owned(),
        task_queue: Some(wire::queue(wire::QUEUE)),
        ..ws::PollWorkflowTaskQueueRequest::default()
    };
    loop {
        let poll = request.clone();
        let task =
            world.host.call(|engine| async move { engine.poll_workflow_task_queue(poll).await });
        match task.await {
            Ok(task) if !task.task_token.is_empty() => answer(&world, &task).await,
            Ok(_) => {}
            Err(_) => world.wait(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(world: &World, task: &ws::PollWorkflowTaskQueueResponse) {
    let request = ws::RespondWorkflowTaskCompletedRequest {
        task_token: task.task_token.clone(),
        namespace: wire::NAMESPACE.to_owned(),
        commands: next(task).into_iter().collect(),
        ..ws::RespondWorkflowTaskCompletedRequest::default()
    };
    let answered = world.insist(10, |engine| {
        let request = request.clone();
        async move { engine.respond_workflow_task_completed(request).await }
    });
    // A task that another process has handed out again is answered by whoever has it now.
    drop(answered.await);
}

/// What a workflow does next: its step, and then it ends as the step did.
fn next(task: &ws::PollWorkflowTaskQueueResponse) -> Option<Command> {
    let kind = task.workflow_type.as_ref().map_or("", |it| it.name.as_str());
    let events = &task.history.as_ref()?.events;
    let mut step = None;
    for attributes in events.iter().filter_map(|event| event.attributes.as_ref()) {
        match attributes {
            Attributes::ActivityTaskScheduledEventAttributes(_) => step = Some(None),
            Attributes::ActivityTaskCompletedEventAttributes(_) => step = Some(Some("done")),
            Attributes::ActivityTaskFailedEventAttributes(_) => step = Some(Some("given up")),
            _ => {}
        }
    }
    match (kind, step) {
        ("Listener", _) | (_, Some(None)) => None,
        (_, None) => Some(ask()),
        ("StartsOver", Some(Some("given up"))) => Some(fail()),
        (_, Some(Some(result))) => Some(complete(result)),
    }
}

fn ask() -> Command {
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id: "step".to_owned(),
        activity_type: Some(ActivityType { name: "Step".to_owned() }),
        task_queue: Some(wire::queue(wire::QUEUE)),
        start_to_close_timeout: wire::millis(3_000),
        retry_policy: Some(wire::policy(500, 0)),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    Command::of(attributes)
}

fn complete(result: &str) -> Command {
    let result = Some(wire::payloads(result));
    let attributes = CompleteWorkflowExecutionCommandAttributes { result };
    Command::of(attributes)
}

fn fail() -> Command {
    let failure = Some(wire::failure("the step failed", false));
    let attributes = FailWorkflowExecutionCommandAttributes { failure };
    Command::of(attributes)
}

async fn run_steps(world: Arc<World>) {
    let request = ws::PollActivityTaskQueueRequest {
        namespace: wire::NAMESPACE.to_owned(),
        task_queue: Some(wire::queue(wire::QUEUE)),
        ..ws::PollActivityTaskQueueRequest::default()
    };
    loop {
        let poll = request.clone();
        let task =
            world.host.call(|engine| async move { engine.poll_activity_task_queue(poll).await });
        match task.await {
            Ok(task) if !task.task_token.is_empty() => {
                if world.clock.elapsed() < MENDED {
                    fail_step(&world, task.task_token).await;
                } else {
                    complete_step(&world, task.task_token).await;
                }
            }
            Ok(_) => {}
            Err(_) => world.wait(Duration::from_millis(100)).await,
        }
    }
}

async fn fail_step(world: &World, task_token: Vec<u8>) {
    let request = ws::RespondActivityTaskFailedRequest {
        task_token,
        failure: Some(wire::failure("planned", true)),
        namespace: wire::NAMESPACE.to_owned(),
        ..ws::RespondActivityTaskFailedRequest::default()
    };
    let answered = world.insist(10, |engine| {
        let request = request.clone();
        async move { engine.respond_activity_task_failed(request).await }
    });
    drop(answered.await);
}

async fn complete_step(world: &World, task_token: Vec<u8>) {
    let request = ws::RespondActivityTaskCompletedRequest {
        task_token,
        namespace: wire::NAMESPACE.to_owned(),
        ..ws::RespondActivityTaskCompletedRequest::default()
    };
    let answered = world.insist(10, |engine| {
        let request = request.clone();
        async move { engine.respond_activity_task_completed(request).await }
    });
    drop(answered.await);
}
