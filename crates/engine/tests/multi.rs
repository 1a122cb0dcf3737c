//! Update-with-start: started and updated in one step, whatever was there before.

use steadfast_engine::{Code, Detail, Error};
use steadfast_proto::{
    common::WorkflowType,
    enums::{
        UpdateWorkflowExecutionLifecycleStage as Stage, WorkflowIdConflictPolicy as Conflict,
        WorkflowIdReusePolicy as Reuse,
    },
    workflowservice as ws,
    workflowservice::execute_multi_operation_request as asked,
    workflowservice::execute_multi_operation_response::response::Response,
};

use crate::{
    common::{NAMESPACE, QUEUE, Rig, calls, complete, execution, queue, seconds, survives},
    updates::{accepted, done, say, success},
};

fn start(conflict: Conflict) -> ws::StartWorkflowExecutionRequest {
    ws::StartWorkflowExecutionRequest {
        workflow_id: "order-1".to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        workflow_id_conflict_policy: conflict.into(),
        ..ws::StartWorkflowExecutionRequest::default()
    }
}

fn update(id: &str) -> ws::UpdateWorkflowExecutionRequest {
    calls::update_of("order-1", id, Stage::Completed)
}

fn both(
    start: ws::StartWorkflowExecutionRequest,
    update: ws::UpdateWorkflowExecutionRequest,
) -> ws::ExecuteMultiOperationRequest {
    let operation = |it| asked::Operation { operation: Some(it) };
    ws::ExecuteMultiOperationRequest {
        namespace: NAMESPACE.to_owned(),
        operations: vec![
            operation(asked::operation::Operation::StartWorkflow(start)),
            operation(asked::operation::Operation::UpdateWorkflow(update)),
        ],
        ..ws::ExecuteMultiOperationRequest::default()
    }
}

async fn execute(
    rig: &Rig,
    request: ws::ExecuteMultiOperationRequest,
) -> Result<(ws::StartWorkflowExecutionResponse, ws::UpdateWorkflowExecutionResponse), Error> {
    let answer = rig.engine().execute_multi_operation(request).await?;
    let mut responses = answer.responses.into_iter().map(|it| it.response);
    match (responses.next().flatten(), responses.next().flatten(), responses.next()) {
        (Some(Response::StartWorkflow(start)), Some(Response::UpdateWorkflow(update)), None) => {
            Ok((start, update))
        }
        other => panic!("not a start and an update: {other:?}"),
    }
}

/// What is said of each operation.
fn statuses(error: &Error) -> Vec<(Code, String)> {
    assert_eq!(error.message, "Update-with-Start could not be executed.");
    match error.detail.as_deref() {
        Some(Detail::MultiOperation(statuses)) => {
            assert!(statuses.iter().all(|it| (it.code == Code::Aborted)
                == (it.detail.as_deref() == Some(&Detail::MultiOperationAborted))));
            statuses.iter().map(|it| (it.code, it.message.clone())).collect()
        }
        other => panic!("no statuses: {other:?}"),
    }
}

/// Completes the update that the next task carries.
async fn worker(rig: &Rig) -> Vec<String> {
    let task = rig.next_task(QUEUE).await;
    let id = task.messages.first().expect("an update").protocol_instance_id.clone();
    say(rig, &task, vec![accepted(&task), done(&id, "raised")], vec![]).await;
    task.history.expect("a history").events.iter().map(calls::name).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_task_of_a_new_run_carries_the_update() {
    // Whether a worker waits already or comes later.
    for early in [true, false] {
        let rig = Rig::new().await;
        let call = async {
            if early {
                rig.settle().await;
            }
            execute(&rig, both(start(Conflict::Fail), update("u-1"))).await
        };
        let work = async {
            if !early {
                rig.wait(1).await;
            }
            worker(&rig).await
        };
        let (answer, seen) = tokio::join!(call, work);
        let (started, updated) = answer.expect("both");
        assert!(started.started && !started.run_id.is_empty());
        assert_eq!(success(updated.outcome), "\"raised\"");
        let run = updated.update_ref.expect("a reference").workflow_execution.expect("a run");
        assert_eq!(run.run_id, started.run_id);
        let first = ["WorkflowExecutionStarted", "WorkflowTaskScheduled", "WorkflowTaskStarted"];
        assert_eq!(seen, first, "one task for both");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_run_is_used_replaced_or_in_the_way() {
    for (conflict, same_run) in
        [(Conflict::UseExisting, true), (Conflict::TerminateExisting, false)]
    {
        let rig = Rig::new().await;
        let run_id = rig.start("order-1").await;
        let call = execute(&rig, both(start(conflict), update("u-1")));
        let (answer, _) = tokio::join!(call, worker(&rig));
        let (started, updated) = answer.expect("both");
        assert_eq!((started.run_id == run_id, started.started), (same_run, !same_run));
        assert_eq!(success(updated.outcome), "\"raised\"");
    }
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let before = rig.text("order-1", "").await;
    let refused = execute(&rig, both(start(Conflict::Fail), update("u-1"))).await;
    let refused = refused.expect_err("taken");
    assert_eq!(refused.code, Code::AlreadyExists);
    let said = statuses(&refused);
    assert_eq!(said[0].0, Code::AlreadyExists);
    assert_eq!(said[1], (Code::Aborted, "Operation was aborted.".to_owned()));
    assert_eq!(rig.text("order-1", "").await, before);
}

#[tokio::test(start_paused = true)]
async fn the_same_request_again_starts_nothing_and_updates_nothing() {
    let told = survives(async |rig: &Rig| {
        let request = || {
            let mut start = start(Conflict::Fail);
            start.request_id = "start-1".to_owned();
            both(start, update("u-1"))
        };
        // A client sends it until it has the outcome.
        let first = loop {
            rig.point().await;
            let work = async {
                tokio::select! {
                    task = rig.next_task(QUEUE) => {
                        let messages = vec![accepted(&task), done("u-1", "raised")];
                        let commands = messages.iter().map(|it| crate::updates::command(&it.id));
                        // If it is not known any more the client asks again.
                        let _ = rig
                            .complete_task_with(&task, commands.collect(), |it| {
                                it.messages = messages;
                            })
                            .await;
                    }
                    () = rig.wait(60) => {}
                }
            };
            let (answer, ()) = tokio::join!(execute(rig, request()), work);
            if let Ok((started, updated)) = answer
                && updated.outcome.is_some()
            {
                break (started, updated);
            }
        };
        rig.point().await;
        let again = execute(rig, request()).await.expect("the same");
        assert_eq!((again.0.run_id, again.0.started), (first.0.run_id.clone(), true));
        assert_eq!(again.1, first.1);
        rig.signal("order-1", "finish").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.point().await;
        let closed = execute(rig, request()).await.expect("still the same");
        assert_eq!((closed.0.run_id, closed.1), (first.0.run_id, first.1));
        assert_eq!(rig.count("").await, Ok(1));
        let names = rig.names("order-1").await;
        names.iter().filter(|it| it.contains("UpdateCompleted")).count().to_string()
    });
    assert_eq!(told.await, "1");
}

#[tokio::test(start_paused = true)]
async fn a_closed_run_makes_room_for_a_new_one() {
    let rig = Rig::new().await;
    let old = rig.start("order-1").await;
    rig.step(vec![complete("done")]).await;
    let call = execute(&rig, both(start(Conflict::UseExisting), update("u-1")));
    let (answer, _) = tokio::join!(call, worker(&rig));
    assert_ne!(answer.expect("both").0.run_id, old);
}

#[tokio::test(start_paused = true)]
async fn an_update_that_a_closed_run_left_undone_is_begun_anew_or_refused() {
    for reuse in [Reuse::AllowDuplicate, Reuse::RejectDuplicate] {
        let rig = Rig::new().await;
        let wanted = || {
            let mut start = start(Conflict::UseExisting);
            start.workflow_id_reuse_policy = reuse.into();
            both(start, update("u-1"))
        };
        let close = async {
            let task = rig.next_task(QUEUE).await;
            say(&rig, &task, vec![accepted(&task)], vec![complete("done")]).await;
        };
        let (answer, ()) = tokio::join!(execute(&rig, wanted()), close);
        let (first, left) = answer.expect("both");
        assert!(success_is_missing(left.outcome), "the run ended without it");
        if reuse == Reuse::RejectDuplicate {
            let refused = execute(&rig, wanted()).await.expect_err("the id is used");
            assert_eq!(refused.code, Code::AlreadyExists);
            continue;
        }
        let (answer, _) = tokio::join!(execute(&rig, wanted()), worker(&rig));
        let (second, done) = answer.expect("both");
        assert_ne!(second.run_id, first.run_id);
        assert_eq!(success(done.outcome), "\"raised\"");
    }
}

fn success_is_missing(outcome: Option<steadfast_proto::update::Outcome>) -> bool {
    use steadfast_proto::update::outcome::Value;
    !matches!(outcome.and_then(|it| it.value), Some(Value::Success(_)))
}

#[tokio::test(start_paused = true)]
async fn bad_operations_are_refused_one_by_one_and_change_nothing() {
    let rig = Rig::new().await;
    let alone = |it| asked::Operation { operation: Some(it) };
    let mut twice = both(start(Conflict::Fail), update("u-1"));
    twice.operations.swap(0, 1);
    let single = ws::ExecuteMultiOperationRequest {
        operations: vec![alone(asked::operation::Operation::StartWorkflow(start(Conflict::Fail)))],
        ..both(start(Conflict::Fail), update("u-1"))
    };
    for request in [twice, single] {
        let refused = execute(&rig, request).await.expect_err("bad");
        assert_eq!((refused.code, refused.detail), (Code::InvalidArgument, None));
    }
    let cron = ws::StartWorkflowExecutionRequest {
        cron_schedule: "* * * * *".to_owned(),
        ..start(Conflict::Fail)
    };
    let eager = ws::StartWorkflowExecutionRequest {
        request_eager_execution: true,
        ..start(Conflict::Fail)
    };
    let delayed = ws::StartWorkflowExecutionRequest {
        workflow_start_delay: Some(seconds(5)),
        ..start(Conflict::Fail)
    };
    for start in [cron, eager, delayed] {
        let refused = execute(&rig, both(start, update("u-1"))).await.expect_err("bad");
        let codes: Vec<Code> = statuses(&refused).into_iter().map(|it| it.0).collect();
        assert_eq!(codes, [Code::InvalidArgument, Code::Aborted]);
    }
    let elsewhere = calls::update_of("order-2", "u-1", Stage::Completed);
    let run = ws::UpdateWorkflowExecutionRequest {
        workflow_execution: Some(execution("order-1", "00000000-0000-0000-0000-000000000000")),
        ..update("u-1")
    };
    let chain = ws::UpdateWorkflowExecutionRequest {
        first_execution_run_id: "00000000-0000-0000-0000-000000000000".to_owned(),
        ..update("u-1")
    };
    for update in [elsewhere, run, chain] {
        let refused = execute(&rig, both(start(Conflict::Fail), update)).await.expect_err("bad");
        let codes: Vec<Code> = statuses(&refused).into_iter().map(|it| it.0).collect();
        assert_eq!(codes, [Code::Aborted, Code::InvalidArgument]);
    }
    assert_eq!(rig.count("").await, Ok(0));
}
