//! Updates: admitted, accepted, completed, refused; with the plug pulled in between.

use prost::Message as _;
use steadfast_engine::{Code, Detail};
use steadfast_proto::{
    command::{self, Command},
    enums::UpdateWorkflowExecutionLifecycleStage as Stage,
    prost_types::Any,
    protocol,
    update::{self, Outcome, outcome},
    workflowservice as ws,
};

use crate::common::{
    NAMESPACE, QUEUE, Rig,
    calls::{Task, update_of},
    complete, continue_as_new, execution, failure, payloads, survives, timer,
};

fn message(id: &str, update_id: &str, kind: &str, body: Vec<u8>) -> protocol::Message {
    protocol::Message {
        id: id.to_owned(),
        protocol_instance_id: update_id.to_owned(),
        body: Some(Any {
            type_url: format!("type.googleapis.com/temporal.api.update.v1.{kind}"),
            value: body,
        }),
        ..protocol::Message::default()
    }
}

pub(crate) fn command(message_id: &str) -> Command {
    let wanted = command::ProtocolMessageCommandAttributes { message_id: message_id.to_owned() };
    Command::of(wanted)
}

fn request_of(task: &Task) -> (&protocol::Message, update::Request) {
    let message = task.messages.first().expect("an update");
    let body = message.body.as_ref().expect("a body");
    (message, update::Request::decode(body.value.as_slice()).expect("a request"))
}

pub(crate) fn accepted(task: &Task) -> protocol::Message {
    let (asked, request) = request_of(task);
    let body = update::Acceptance {
        accepted_request_message_id: asked.id.clone(),
        accepted_request: Some(request),
        ..update::Acceptance::default()
    };
    message("accept", &asked.protocol_instance_id, "Acceptance", body.encode_to_vec())
}

pub(crate) fn done(update_id: &str, result: &str) -> protocol::Message {
    let body = update::Response {
        meta: Some(update::Meta { update_id: update_id.to_owned(), identity: String::new() }),
        outcome: Some(Outcome { value: Some(outcome::Value::Success(payloads(result))) }),
    };
    message("done", update_id, "Response", body.encode_to_vec())
}

fn rejected(task: &Task, why: &str) -> protocol::Message {
    let (asked, request) = request_of(task);
    let body = update::Rejection {
        rejected_request_message_id: asked.id.clone(),
        rejected_request: Some(request),
        failure: Some(failure(why)),
        ..update::Rejection::default()
    };
    message("reject", &asked.protocol_instance_id, "Rejection", body.encode_to_vec())
}

pub(crate) async fn say(
    rig: &Rig,
    task: &Task,
    messages: Vec<protocol::Message>,
    more: Vec<Command>,
) {
    let mut commands: Vec<Command> = messages.iter().map(|it| command(&it.id)).collect();
    commands.extend(more);
    let said = rig.complete_task_with(task, commands, |it| it.messages = messages).await;
    said.expect("a good completion");
}

pub(crate) fn success(outcome: Option<Outcome>) -> String {
    match outcome.and_then(|it| it.value) {
        Some(outcome::Value::Success(it)) => {
            String::from_utf8_lossy(&it.payloads[0].data).into_owned()
        }
        Some(outcome::Value::Failure(it)) => format!("failed: {}", it.message),
        None => "none".to_owned(),
    }
}

async fn asleep(rig: &Rig) {
    rig.start("order-1").await;
    rig.step(vec![timer("t", 3_600)]).await;
}

#[tokio::test(start_paused = true)]
async fn an_update_is_accepted_and_completed_in_one_task() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        let (asked, request) = request_of(&task);
        assert_eq!(asked.id, "u-1/request");
        assert_eq!(request.input.expect("an input").name, "raise");
        say(&rig, &task, vec![accepted(&task), done("u-1", "raised")], vec![]).await;
    };
    let (updated, ()) = tokio::join!(rig.update("order-1", "u-1", Stage::Completed), worker);
    let updated = updated.expect("an outcome");
    assert_eq!(updated.stage(), Stage::Completed);
    assert_eq!(success(updated.outcome), "\"raised\"");
    insta::assert_snapshot!(rig.text("order-1", "").await, @r"
     1     0.000  WorkflowExecutionStarted Order
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     0.000  WorkflowTaskCompleted
     5     0.000  TimerStarted t 3600s
     6     0.000  WorkflowTaskScheduled
     7     0.000  WorkflowTaskStarted
     8     0.000  WorkflowTaskCompleted
     9     0.000  WorkflowExecutionUpdateAccepted u-1
    10     0.000  WorkflowExecutionUpdateCompleted u-1
    ");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_was_accepted_survives_and_completes_later() {
    let told = survives(async |rig: &Rig| {
        asleep(rig).await;
        let updated = accept_update(rig, "u-1").await;
        assert_eq!(updated.outcome, None);
        rig.signal("order-1", "finish").await.expect("taken");
        rig.point().await;
        let poll = poll_update(rig, "u-1", Stage::Completed);
        let finish = async {
            loop {
                let task = rig.next_task(QUEUE).await;
                let message = done("u-1", "raised");
                let said = rig
                    .complete_task_with(&task, vec![command("done")], |it| {
                        it.messages = vec![message];
                    })
                    .await;
                if said.is_ok() {
                    break;
                }
            }
        };
        let (_, ()) = tokio::join!(poll, finish);
        rig.point().await;
        let polled = poll_update(rig, "u-1", Stage::Completed).await.expect("an outcome");
        rig.step(vec![complete("done")]).await;
        rig.point().await;
        let again = poll_update(rig, "u-1", Stage::Completed).await.expect("still there");
        assert_eq!(polled.outcome, again.outcome);
        success(again.outcome)
    });
    assert_eq!(told.await, "\"raised\"");
}

/// As SDKs do it: a refusal has no place among the commands.
async fn refuse_once(rig: &Rig) -> Result<i64, steadfast_engine::Error> {
    let task = rig.poll_task(QUEUE).await;
    let messages = vec![rejected(&task, "too late")];
    let said = rig.complete_task_with(&task, vec![], |it| {
        it.messages = messages;
        it.capabilities = Some(ws::respond_workflow_task_completed_request::Capabilities {
            discard_speculative_workflow_task_with_events: true,
        });
    });
    said.await.map(|it| it.reset_history_event_id)
}

#[tokio::test(start_paused = true)]
async fn a_refused_update_leaves_no_trace_and_its_worker_goes_back_to_the_task_before() {
    let told = survives(async |rig: &Rig| {
        asleep(rig).await;
        let refused = loop {
            let (updated, back_to) =
                tokio::join!(rig.update("order-1", "u-1", Stage::Completed), async {
                    tokio::select! { it = refuse_once(rig) => it.ok(), () = rig.wait(30) => None }
                });
            if let (Ok(updated), Some(back_to)) = (updated, back_to) {
                assert_eq!(back_to, 3);
                break success(updated.outcome);
            }
        };
        rig.point().await;
        rig.signal("order-1", "finish").await.expect("taken");
        let task = rig.next_task(QUEUE).await;
        let last = task.history.expect("a history").events.last().map(|event| event.event_id);
        assert_eq!(last, Some(task.started_event_id));
        format!("{refused}\n{}", rig.text("order-1", "").await)
    });
    insta::assert_snapshot!(told.await, @r"
    failed: too late
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     0.000  TimerStarted t 3600s
       6     0.000  WorkflowExecutionSignaled finish
       7     0.000  WorkflowTaskScheduled
       8     0.000  WorkflowTaskStarted
    ");
}

/// Has `order-1` accept an update. One that was only admitted is not kept when the plug is pulled:
/// its client sends it again.
pub(crate) async fn accept_update(rig: &Rig, id: &str) -> ws::UpdateWorkflowExecutionResponse {
    loop {
        let (updated, said) = tokio::join!(rig.update("order-1", id, Stage::Accepted), async {
            tokio::select! { said = worker_once(rig) => said, () = rig.wait(30) => Ok(()) }
        });
        if let (Ok(updated), Ok(())) = (updated, said)
            && updated.stage() == Stage::Accepted
        {
            return updated;
        }
    }
}

async fn worker_once(rig: &Rig) -> Result<(), steadfast_engine::Error> {
    let task = rig.poll_task(QUEUE).await;
    let message = accepted(&task);
    let said =
        rig.complete_task_with(&task, vec![command("accept")], |it| it.messages = vec![message]);
    said.await.map(drop)
}

async fn poll_update(
    rig: &Rig,
    update_id: &str,
    stage: Stage,
) -> Result<ws::PollWorkflowExecutionUpdateResponse, steadfast_engine::Error> {
    let request = ws::PollWorkflowExecutionUpdateRequest {
        namespace: NAMESPACE.to_owned(),
        update_ref: Some(update::UpdateRef {
            workflow_execution: Some(execution("order-1", "")),
            update_id: update_id.to_owned(),
        }),
        wait_policy: Some(update::WaitPolicy { lifecycle_stage: stage.into() }),
        ..ws::PollWorkflowExecutionUpdateRequest::default()
    };
    rig.engine().poll_workflow_execution_update(request).await
}

#[tokio::test(start_paused = true)]
async fn an_update_that_the_code_refuses_leaves_no_event_of_its_own() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        say(&rig, &task, vec![rejected(&task, "not today")], vec![]).await;
    };
    let (updated, ()) = tokio::join!(rig.update("order-1", "u-1", Stage::Completed), worker);
    let updated = updated.expect("an outcome");
    assert_eq!(success(updated.outcome), "failed: not today");
    assert!(!rig.text("order-1", "").await.contains("Update"));
}

#[tokio::test(start_paused = true)]
async fn the_same_update_asked_twice_is_one_update() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let worker = async {
        rig.wait(1).await;
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.messages.len(), 1);
        say(&rig, &task, vec![accepted(&task), done("u-1", "raised")], vec![]).await;
    };
    let (one, two, ()) = tokio::join!(
        rig.update("order-1", "u-1", Stage::Completed),
        rig.update("order-1", "u-1", Stage::Completed),
        worker
    );
    assert_eq!(one.expect("an outcome").outcome, two.expect("an outcome").outcome);
    let third = rig.update("order-1", "u-1", Stage::Completed).await.expect("the outcome");
    assert_eq!(success(third.outcome), "\"raised\"");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_takes_long_answers_how_far_it_is() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let seen = rig.update("order-1", "u-1", Stage::Completed).await.expect("no error");
    assert_eq!(seen.stage(), Stage::Admitted);
    assert_eq!(seen.outcome, None);
    assert!(rig.elapsed() <= 20);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_outcome_hears_that_it_was_accepted_at_least() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let update = rig.update("order-1", "u-1", Stage::Completed);
    let (seen, said) = tokio::join!(update, worker_once(&rig));
    said.expect("a good completion");
    let seen = seen.expect("no error");
    assert_eq!(seen.stage(), Stage::Accepted);
    assert_eq!(seen.outcome, None);
    let now = poll_update(&rig, "u-1", Stage::Admitted).await.expect("how far it is");
    assert_eq!(now.stage(), Stage::Accepted, "whoever polls for less does not wait");
}

#[tokio::test(start_paused = true)]
async fn an_update_outlives_the_workflow_tasks_that_fail_with_it() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        rig.fail_task(&task).await.expect("taken");
        // The second is lost: it times out.
        rig.next_task(QUEUE).await;
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.attempt, 3);
        say(&rig, &task, vec![accepted(&task), done("u-1", "raised")], vec![]).await;
    };
    let (updated, ()) = tokio::join!(rig.update("order-1", "u-1", Stage::Completed), worker);
    assert_eq!(success(updated.expect("an outcome").outcome), "\"raised\"");
}

#[tokio::test(start_paused = true)]
async fn an_update_of_a_workflow_that_closes_is_aborted() {
    for (how, code) in [
        ("complete", Code::NotFound),
        ("continue", Code::ResourceExhausted),
        ("terminate", Code::NotFound),
    ] {
        let rig = Rig::new().await;
        rig.start("order-1").await;
        let task = rig.next_task(QUEUE).await;
        let worker = async {
            rig.wait(1).await;
            let close = match how {
                "complete" => complete("done"),
                "continue" => continue_as_new(),
                _ => return rig.terminate("order-1").await.expect("ended"),
            };
            let closed = rig.complete_task(&task, vec![close.clone()]).await;
            if let Err(error) = closed {
                assert_eq!(error.message, "UnhandledCommand");
                rig.step(vec![close]).await;
            }
        };
        let (updated, ()) = tokio::join!(rig.update("order-1", "u-1", Stage::Completed), worker);
        let error = updated.expect_err("aborted");
        assert_eq!(error.code, code, "{how}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_that_was_accepted_fails_when_its_workflow_closes() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let worker = async {
        let task = rig.next_task(QUEUE).await;
        say(&rig, &task, vec![accepted(&task)], vec![complete("done")]).await;
    };
    let (updated, ()) = tokio::join!(rig.update("order-1", "u-1", Stage::Completed), worker);
    let said = success(updated.expect("an outcome").outcome);
    assert!(said.contains("completed before the Update completed"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_bad_update_is_refused_by_name_and_changes_nothing() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    let before = rig.text("order-1", "").await;
    let engine = rig.engine();
    let good = || update_of("order-1", "u-1", Stage::Accepted);
    let mut nameless = good();
    nameless.request.as_mut().expect("one").input.as_mut().expect("one").name = String::new();
    let admitted = update_of("order-1", "u-1", Stage::Admitted);
    let elsewhere = ws::UpdateWorkflowExecutionRequest {
        first_execution_run_id: "00000000-0000-0000-0000-000000000000".to_owned(),
        ..good()
    };
    let nothing = ws::UpdateWorkflowExecutionRequest { request: None, ..good() };
    for (request, code) in [
        (nameless, Code::InvalidArgument),
        (admitted, Code::PermissionDenied),
        (elsewhere, Code::NotFound),
        (nothing, Code::InvalidArgument),
        (update_of("order-2", "u-1", Stage::Accepted), Code::NotFound),
    ] {
        assert_eq!(engine.update_workflow_execution(request).await.expect_err("bad").code, code);
    }
    let unknown = poll_update(&rig, "u-9", Stage::Completed).await.expect_err("unknown");
    assert_eq!(unknown.message, "update \"u-9\" not found");
    assert_eq!(rig.text("order-1", "").await, before);
}

#[tokio::test(start_paused = true)]
async fn an_update_of_a_workflow_whose_tasks_keep_failing_fails_at_once() {
    let rig = Rig::new().await;
    asleep(&rig).await;
    rig.signal("order-1", "go").await.expect("taken");
    for _ in 0..3 {
        let task = rig.next_task(QUEUE).await;
        rig.fail_task(&task).await.expect("taken");
    }
    let refused = rig.update("order-1", "u-1", Stage::Accepted).await.expect_err("not now");
    assert_eq!(refused.detail, Some(Box::new(Detail::WorkflowNotReady)));
}
