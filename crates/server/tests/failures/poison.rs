//! Workflow code that fails over and over, as operators see it.

use serde_json::json;
use steadfast_proto::{enums::WorkflowTaskFailedCause, workflowservice as ws};

use super::rig::{Flow, ids, survives};
use crate::common::{NAMESPACE, QUEUE, soon, start, task_poll};

/// Runs the workflow's code, which fails. Whether it was still this worker's to run.
async fn fail_task(flow: &Flow) -> bool {
    let poll = soon(async { flow.client().poll_workflow_task_queue(task_poll(QUEUE)).await });
    let task = poll.await.expect("a poll").into_inner();
    let request = ws::RespondWorkflowTaskFailedRequest {
        task_token: task.task_token,
        namespace: NAMESPACE.to_owned(),
        cause: WorkflowTaskFailedCause::NonDeterministicError.into(),
        ..ws::RespondWorkflowTaskFailedRequest::default()
    };
    flow.client().respond_workflow_task_failed(request).await.is_ok()
}

#[tokio::test]
async fn f_14_code_that_always_fails_is_parked_and_resumed() {
    survives(async |flow: &mut Flow| {
        let kept = flow.ask("PUT", "settings", json!({ "parkTasksAfter": 2 })).await;
        assert_eq!(kept["parkTasksAfter"], 2);
        let request = start("order-1");
        flow.client().start_workflow_execution(request).await.expect("a start");
        let mut failed = 0;
        while failed < 2 {
            flow.point().await;
            failed += u32::from(fail_task(flow).await);
        }
        flow.point().await;
        let error = flow.error().await;
        assert_eq!((&error["state"], &error["attempts"]), (&json!("parked"), &json!(2)));
        assert_eq!(error["errorType"], "NonDeterministicError");
        assert!(error["id"].as_str().expect("an id").ends_with("-task"), "{error}");
        let mut resume = ids([&error]);
        resume["reason"] = json!("new code");
        flow.ask("POST", "errors/resume", resume).await;
        flow.point().await;
        let task = flow.error().await;
        assert_eq!(task["state"], "retrying", "{task}");
        flow.advance().await;
        flow.is_well().await;
    })
    .await;
}
