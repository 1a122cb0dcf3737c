//! What is due is resumed at once, or by searches that come round.

use serde_json::{Value, json};

use super::rig::{Flow, policy, survives};

impl Flow {
    /// What is due is looked for so often from now on.
    async fn sweep_every(&self, period: &str) {
        let body = json!({ "endings": [{ "ending": "park" }], "autoResumeCheckFrequency": period });
        let kept = self.ask("PUT", "settings", body).await;
        assert_eq!(kept["endings"][0]["ending"], "park");
    }

    /// Fails the first step of a workflow, which is to be resumed after so many seconds.
    async fn fails(&mut self, workflow_id: &str, delay: u64) {
        let name = delay.to_string();
        let again = policy(&name, &json!({ "errorSubstring": format!("wait {delay}.") }), 5, delay);
        self.ask("POST", "resume-policies", again).await;
        self.fail_first(workflow_id, "Order", &format!("wait {delay}.")).await;
        self.point().await;
        let due = self.errors(&format!("workflowId={workflow_id}")).await;
        assert_eq!(due[0]["nextAutoResumeReason"], name.as_str());
    }

    /// The second attempt comes, and is this workflow's.
    async fn is_resumed(&self, workflow_id: &str) {
        let task = self.attempt_of("First", 2).await;
        assert_eq!(task.workflow_execution.as_ref().expect("one").workflow_id, workflow_id);
    }
}

#[tokio::test]
async fn d_41_a_resume_is_never_early_and_waits_for_the_next_search() {
    survives(async |flow: &mut Flow| {
        flow.sweep_every("60s").await;
        flow.fails("order", 100).await;
        flow.pass(60);
        flow.is_idle("at 60").await;
        flow.point().await;
        flow.pass(40);
        flow.is_idle("at 100").await;
        flow.point().await;
        let error = &flow.errors("workflowId=order").await[0];
        assert_eq!(error["state"], "parked", "due, and not found yet");
        assert_eq!(error["nextAutoResume"], "1970-01-12T13:48:20Z", "it tells when it was due");
        flow.pass(19);
        flow.is_idle("at 119").await;
        flow.point().await;
        flow.pass(1);
        flow.is_resumed("order").await;
    })
    .await;
}

#[tokio::test]
async fn d_40_the_period_is_a_setting_and_a_change_holds_from_the_next_search() {
    survives(async |flow: &mut Flow| {
        flow.sweep_every("5s").await;
        flow.fails("a", 7).await;
        flow.pass(9);
        flow.is_idle("at 9").await;
        flow.pass(1);
        flow.is_resumed("a").await;
        // The last search was at 10: the next is an hour later, also for what was to be found sooner.
        flow.fails("b", 3).await;
        flow.pass(3);
        flow.is_idle("at 13").await;
        flow.sweep_every("1h").await;
        flow.point().await;
        flow.pass(3_596);
        flow.is_idle("at 3609").await;
        flow.pass(1);
        flow.is_resumed("b").await;
        // Due at 3615, found at 7210; but the period becomes shorter.
        flow.fails("c", 5).await;
        flow.pass(100);
        flow.is_idle("at 3710").await;
        flow.sweep_every("200s").await;
        flow.point().await;
        flow.pass(99);
        flow.is_idle("at 3809").await;
        flow.point().await;
        flow.pass(1);
        flow.is_resumed("c").await;
        // And at once, when there are no searches any more.
        flow.fails("d", 6).await;
        flow.pass(6);
        flow.is_idle("at 3816").await;
        flow.sweep_every("0s").await;
        flow.point().await;
        flow.is_resumed("d").await;
    })
    .await;
}

#[tokio::test]
async fn d_41_a_search_that_nobody_made_is_made_up_for() {
    survives(async |flow: &mut Flow| {
        flow.sweep_every("60s").await;
        flow.fails("order", 100).await;
        // Nobody was there from 0 to 130.
        flow.pass(130);
        flow.point().await;
        flow.is_resumed("order").await;
        // To put the same settings again is no change.
        flow.fails("other", 10).await;
        flow.pass(10);
        flow.is_idle("at 140").await;
        flow.sweep_every("60s").await;
        flow.point().await;
        flow.pass(39);
        flow.is_idle("at 179").await;
        flow.pass(1);
        flow.is_resumed("other").await;
    })
    .await;
}

#[tokio::test]
async fn what_is_due_is_resumed_at_once_unless_somebody_says_otherwise() {
    survives(async |flow: &mut Flow| {
        let settings = flow.ask("GET", "settings", Value::Null).await;
        assert_eq!(settings["autoResumeCheckFrequency"], "0s");
        flow.fails("order", 7).await;
        flow.pass(7);
        flow.is_resumed("order").await;
        let hasty = json!({ "autoResumeCheckFrequency": "10ms" });
        let (status, told) = flow.refuse("PUT", "settings", hasty).await;
        assert_eq!(status, 400);
        assert!(told.contains("autoResumeCheckFrequency must be at least 1s"), "{told}");
    })
    .await;
}
