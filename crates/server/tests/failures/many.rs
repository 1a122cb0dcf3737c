//! Twelve thousand errors that are due at once.

use serde_json::{Value, json};
use steadfast_proto::{
    command::{Command, ScheduleActivityTaskCommandAttributes},
    common::{ActivityType, WorkflowType},
    workflowservice as ws,
};

use super::rig::{Flow, policy, survives};
use crate::common::{QUEUE, answer, queue, seconds, soon, start, task_poll};

impl Flow {
    /// Starts a workflow of type `Wide` that asks for many actions at once, which no worker takes.
    async fn start_wide(&self, workflow_id: &str) {
        let request = ws::StartWorkflowExecutionRequest {
            workflow_type: Some(WorkflowType { name: "Wide".to_owned() }),
            ..start(workflow_id)
        };
        let mut client = self.client();
        client.start_workflow_execution(request).await.expect("a start");
        let task = client.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a poll");
        let request = answer(&task.into_inner(), (0..ACTIONS).map(unattended).collect());
        client.respond_workflow_task_completed(request).await.expect("taken");
    }

    async fn parked(&self) -> Value {
        self.ask("GET", "errors/count?state=parked", Value::Null).await["count"].take()
    }

    async fn until_parked(&self, count: usize) {
        soon(async { while self.parked().await != json!(count) {} }).await;
    }
}

#[tokio::test]
async fn d_112_twelve_thousand_that_are_due_are_resumed_in_one_pass() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", policy("again", &json!({ "flow": "Wide" }), 2, 60))
            .await;
        for number in 0..FLOWS {
            flow.start_wide(&format!("wide-{number}")).await;
        }
        flow.pass(1);
        flow.until_parked(FLOWS * ACTIONS).await;
        flow.point().await;
        flow.pass(60);
        flow.until_parked(0).await;
        let retrying = flow.ask("GET", "errors/count?state=retrying", Value::Null).await;
        assert_eq!(retrying["count"], FLOWS * ACTIONS);
        let resumed = r#"steadfast_auto_resumes_total{workflow_type="Wide"}"#;
        assert_eq!(flow.world().number(resumed).await, 12_000, "each once");
    })
    .await;
}

/// An action that fails because nobody takes it within a second.
fn unattended(number: usize) -> Command {
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id: number.to_string(),
        activity_type: Some(ActivityType { name: "Step".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        schedule_to_start_timeout: Some(seconds(1)),
        schedule_to_close_timeout: Some(seconds(100_000)),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    Command::of(attributes)
}

const FLOWS: usize = 24;
const ACTIONS: usize = 500;
