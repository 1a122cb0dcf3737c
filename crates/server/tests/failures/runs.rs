//! A run that failed goes on by itself if a resume policy for workflows takes it.

use serde_json::{Value, json};
use steadfast_proto::{history::history_event::Attributes as Event, workflowservice as ws};

use super::rig::{Flow, ids, policy, seconds_between, survives};
use crate::common::{queue, seconds, start};

impl Flow {
    async fn resumes_runs(&self, attempts: u32, delay: u64) {
        let criteria = json!({ "flow": "Order", "actionType": "WORKFLOW" });
        self.ask("POST", "resume-policies", policy("runs", &criteria, attempts, delay)).await;
    }

    /// The run fails: its second step has.
    async fn fails_of_second(&mut self) {
        let task = self.attempt_of("Second", 1).await;
        self.fail(&task, "boom").await;
        self.advance().await;
        self.until("state=failed", |errors| errors.len() == 1).await;
    }

    /// The new run's code runs again from before the second step.
    async fn goes_on(&mut self, resumes: u32) {
        self.advance().await;
        self.point().await;
        self.is_well().await;
        let asked = self.asked_for("order-1").await;
        assert_eq!(asked, ["First", "Second"], "the first step is not done again");
        assert_eq!(self.resets("order-1").await, usize::try_from(resumes).expect("few"));
    }

    /// How often a workflow was reset, as its newest run tells.
    async fn resets(&self, workflow_id: &str) -> usize {
        let events = self.events(workflow_id).await;
        let failures = events.iter().filter_map(|event| {
            let Event::WorkflowTaskFailedEventAttributes(it) = event else { return None };
            (!it.base_run_id.is_empty()).then_some(())
        });
        failures.count()
    }
}

#[tokio::test]
async fn a_failed_run_goes_on_by_itself_as_often_as_its_policy_says() {
    survives(async |flow: &mut Flow| {
        flow.resumes_runs(3, 10).await;
        flow.start("order-1", "Order").await;
        let task = flow.attempt_of("First", 1).await;
        flow.complete(&task).await;
        flow.advance().await;
        for resumes in 0..2_u32 {
            flow.fails_of_second().await;
            flow.point().await;
            let error = flow.error().await;
            assert_eq!((&error["subject"], &error["state"]), (&json!("run"), &json!("failed")));
            assert_eq!(error["nextAutoResumeReason"], "runs", "{error}");
            assert_eq!(seconds_between(&error["lastAt"], &error["nextAutoResume"]), 10);
            assert_eq!(error["resumes"], resumes);
            flow.pass(9);
            flow.is_idle(&format!("early {resumes}")).await;
            flow.point().await;
            flow.pass(1);
            flow.point().await;
            flow.goes_on(resumes + 1).await;
        }
        flow.fails_of_second().await;
        flow.point().await;
        let error = flow.error().await;
        assert_eq!((&error["nextAutoResume"], &error["resumes"]), (&Value::Null, &json!(2)));
        flow.pass(1_000);
        flow.is_idle("later").await;
    })
    .await;
}

#[tokio::test]
async fn a_policy_for_activities_leaves_failed_runs_alone() {
    survives(async |flow: &mut Flow| {
        let parts = json!({ "flow": "Order", "errorSubstring": "a step failed" });
        flow.ask("POST", "resume-policies", policy("parts", &parts, 9, 10)).await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.advance().await;
        flow.until("state=failed", |errors| errors.len() == 1).await;
        flow.point().await;
        assert_eq!(flow.error().await["nextAutoResume"], Value::Null);
    })
    .await;
}

#[tokio::test]
async fn a_failed_run_is_acknowledged_or_called_off_and_stays_failed() {
    survives(async |flow: &mut Flow| {
        flow.resumes_runs(3, 10).await;
        for id in ["order-1", "order-2", "order-3"] {
            flow.fail_first(id, "Order", "boom").await;
            flow.advance().await;
        }
        let errors = flow.until("state=failed", |errors| errors.len() == 3).await;
        flow.ask("POST", "errors/acknowledge", ids([&errors[0]])).await;
        flow.ask("POST", "errors/cancel", ids([&errors[1]])).await;
        flow.point().await;
        let errors = flow.errors("state=failed").await;
        let next: Vec<bool> = errors.iter().map(|it| it["nextAutoResume"].is_null()).collect();
        assert_eq!(next, [true, true, false]);
        flow.pass(10);
        flow.point().await;
        flow.until("state=failed", |errors| errors.len() == 2).await;
        flow.advance().await;
        let task = flow.attempt_of("First", 1).await;
        assert_eq!(task.workflow_execution.as_ref().expect("one").workflow_id, "order-3");
        flow.pass(1_000);
        flow.is_idle("later").await;
    })
    .await;
}

#[tokio::test]
async fn a_policy_is_tried_on_and_applied_to_runs_that_have_failed() {
    survives(async |flow: &mut Flow| {
        for id in ["order-1", "order-2"] {
            flow.fail_first(id, "Order", "boom").await;
            flow.advance().await;
        }
        flow.until("state=failed", |errors| errors.len() == 2).await;
        flow.point().await;
        let criteria = json!({ "flow": "Order", "actionType": "WORKFLOW" });
        let tried = policy("tried", &criteria, 3, 30);
        let answer = flow.ask("POST", "resume-policies/dry-run", tried).await;
        assert_eq!(answer["count"], 2);
        flow.resumes_runs(3, 30).await;
        flow.ask("POST", "resume-policies/apply", json!({ "names": ["runs"] })).await;
        flow.point().await;
        flow.pass(30);
        flow.point().await;
        for _ in 0..2 {
            flow.advance().await;
            flow.attempt_of("First", 1).await;
        }
        flow.is_well().await;
        let resumed = r#"steadfast_auto_resumes_total{workflow_type="Order"}"#;
        assert!(flow.world().number(resumed).await <= 2, "each once, in one process or the other");
    })
    .await;
}

#[tokio::test]
async fn a_failed_run_that_another_one_has_followed_is_left_alone() {
    survives(async |flow: &mut Flow| {
        flow.resumes_runs(3, 10).await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.advance().await;
        flow.until("state=failed", |errors| errors.len() == 1).await;
        let request = ws::StartWorkflowExecutionRequest {
            request_id: "once more".to_owned(),
            ..start("order-1")
        };
        flow.client().start_workflow_execution(request).await.expect("a start");
        flow.advance().await;
        flow.point().await;
        flow.attempt_of("First", 1).await;
        flow.pass(10);
        flow.point().await;
        let failed = flow
            .until("state=failed", |errors| errors.iter().all(|it| it["nextAutoResume"].is_null()))
            .await;
        assert!(
            failed[0]["reason"].as_str().is_some_and(|it| it.contains("another run")),
            "{failed:?}"
        );
        assert_eq!(flow.resets("order-1").await, 0);
        assert_eq!(flow.asked_for("order-1").await, ["First"], "what was started since goes on");
    })
    .await;
}

#[tokio::test]
async fn failed_runs_wait_for_the_next_search_too() {
    survives(async |flow: &mut Flow| {
        flow.ask("PUT", "settings", json!({ "autoResumeCheckFrequency": "60s" })).await;
        flow.resumes_runs(3, 10).await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.advance().await;
        flow.until("state=failed", |errors| errors.len() == 1).await;
        flow.pass(10);
        flow.point().await;
        flow.is_idle("at 10").await;
        assert_eq!(flow.errors("state=failed").await.len(), 1);
        flow.pass(50);
        flow.point().await;
        flow.advance().await;
        flow.attempt_of("First", 1).await;
    })
    .await;
}

#[tokio::test]
async fn d_117_what_cannot_be_resumed_says_why_and_holds_nobody_up() {
    survives(async |flow: &mut Flow| {
        const MANY: usize = 40;
        flow.resumes_runs(3, 10).await;
        for number in 0..MANY {
            // Its time is over before its code has run: there is nothing to go back to.
            let request = ws::StartWorkflowExecutionRequest {
                task_queue: Some(queue("nobody is here")),
                workflow_run_timeout: Some(seconds(1)),
                ..start(&format!("stillborn-{number}"))
            };
            flow.client().start_workflow_execution(request).await.expect("a start");
        }
        flow.pass(1);
        let stillborn = "state=failed&limit=100&contains=workflow%20timeout";
        flow.until(stillborn, |errors| errors.len() == MANY).await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.advance().await;
        flow.until("workflowId=order-1", |errors| errors.len() == 1).await;
        flow.point().await;
        flow.pass(10);
        flow.point().await;
        let is_free = |error: &Value| error["nextAutoResume"].is_null();
        let left = flow.until(stillborn, |errors| errors.iter().all(is_free)).await;
        assert_eq!(left.len(), MANY);
        let why = left[0]["reason"].as_str().expect("a reason");
        assert!(why.contains("before its code ran"), "{why}");
        flow.advance().await;
        let task = flow.attempt_of("First", 1).await;
        assert_eq!(task.workflow_execution.as_ref().expect("one").workflow_id, "order-1");
    })
    .await;
}
