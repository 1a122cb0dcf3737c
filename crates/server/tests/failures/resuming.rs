//! What fails is kept; a person or a policy has it go on.

use serde_json::{Value, json};
use steadfast_proto::history::history_event::Attributes as Event;

use super::rig::{Flow, ids, policy, survives};

#[tokio::test]
async fn d_01_a_failed_action_is_kept_as_an_error_with_its_cause() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_second("order-1", "no such file").await;
        flow.point().await;
        let error = flow.error().await;
        assert_eq!(error["state"], "parked");
        assert_eq!(error["workflowId"], "order-1");
        assert_eq!(
            (&error["workflowType"], &error["activityType"]),
            (&json!("Order"), &json!("Second"))
        );
        assert_eq!(
            (&error["errorType"], &error["cause"]),
            (&json!("StepError"), &json!("no such file"))
        );
        assert_eq!((&error["attempts"], &error["nextAutoResume"]), (&json!(1), &Value::Null));
        let attempts = flow.ask("GET", "workflows/order-1/attempts", Value::Null).await;
        let attempt = &attempts["tried"][0]["attempts"][0];
        assert_eq!(
            (&attempt["message"], &attempt["worker"]),
            (&json!("no such file"), &json!("worker"))
        );
        assert_eq!(attempt["parked"], true);
    })
    .await;
}

#[tokio::test]
async fn d_02_nothing_further_runs_after_the_error() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_second("order-1", "boom").await;
        flow.point().await;
        assert_eq!(flow.asked_for("order-1").await, ["First", "Second"]);
        flow.pass(1_000_000);
        // What is started now is the only work that there is.
        flow.start("order-2", "Order").await;
        flow.attempt_of("First", 1).await;
        assert_eq!(flow.world().engine.backlog(), (0, 0));
        assert_eq!(flow.asked_for("order-1").await, ["First", "Second"]);
    })
    .await;
}

#[tokio::test]
async fn d_03_a_manual_resume_tries_the_failed_action_again_and_goes_on() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_second("order-1", "boom").await;
        flow.point().await;
        let error = flow.error().await;
        let answer = flow.ask("POST", "errors/resume", ids([&error])).await;
        assert_eq!((&answer["done"], &answer["refused"]), (&json!(1), &json!(0)), "{answer}");
        flow.point().await;
        let task = flow.attempt_of("Second", 2).await;
        flow.point().await;
        flow.complete(&task).await;
        flow.is_well().await;
        flow.advance().await;
        let task = flow.attempt_of("Third", 1).await;
        flow.complete(&task).await;
        flow.advance().await;
        assert_eq!(flow.asked_for("order-1").await, ["First", "Second", "Third"]);
        let last = flow.last_event("order-1").await;
        assert!(matches!(last, Event::WorkflowExecutionCompletedEventAttributes(_)), "{last:?}");
    })
    .await;
}

#[tokio::test]
async fn d_04_a_policy_schedules_the_resume_by_itself() {
    survives(async |flow: &mut Flow| {
        let new = policy("again", &json!({ "flow": "Order" }), 2, 10);
        flow.ask("POST", "resume-policies", new).await;
        flow.point().await;
        flow.fail_second("order-1", "boom").await;
        flow.point().await;
        let error = flow.error().await;
        assert_eq!(error["state"], "parked");
        assert_eq!(error["nextAutoResume"], "1970-01-12T13:46:50Z", "ten seconds on");
        assert_eq!(error["nextAutoResumeReason"], "again");
        flow.pass(10);
        flow.point().await;
        let task = flow.attempt_of("Second", 2).await;
        flow.complete(&task).await;
        flow.advance().await;
        flow.attempt_of("Third", 1).await;
    })
    .await;
}

#[tokio::test]
async fn d_15_attempts_so_far_must_be_below_the_policys() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.ask("POST", "resume-policies", policy("four", &json!({ "flow": "Order" }), 4, 1))
            .await;
        flow.start("order-1", "Order").await;
        for number in 1..4 {
            let task = flow.attempt_of("First", number).await;
            flow.fail(&task, "boom").await;
            assert_eq!(flow.error().await["nextAutoResumeReason"], "four", "after {number}");
            flow.pass(1);
            flow.point().await;
        }
        let task = flow.attempt_of("First", 4).await;
        flow.fail(&task, "boom").await;
        flow.point().await;
        let error = flow.error().await;
        assert_eq!((&error["state"], &error["nextAutoResume"]), (&json!("parked"), &Value::Null));
    })
    .await;
}

#[tokio::test]
async fn d_16_a_policy_that_is_used_up_gives_way_to_a_lower_one() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        let mut first = policy("a", &json!({ "flow": "Order" }), 2, 1);
        first["priority"] = json!(100);
        let mut second = policy("b", &json!({ "errorSubstring": "boom" }), 5, 1);
        second["priority"] = json!(50);
        flow.ask("POST", "resume-policies", first).await;
        flow.ask("POST", "resume-policies", second).await;
        flow.start("order-1", "Order").await;
        for (number, reason) in [(1, "a"), (2, "b"), (3, "b"), (4, "b")] {
            let task = flow.attempt_of("First", number).await;
            flow.fail(&task, "boom").await;
            assert_eq!(flow.error().await["nextAutoResumeReason"], reason, "after {number}");
            flow.pass(1);
            flow.point().await;
        }
        let task = flow.attempt_of("First", 5).await;
        flow.fail(&task, "boom").await;
        assert_eq!(flow.error().await["nextAutoResume"], Value::Null);
    })
    .await;
}

#[tokio::test]
async fn d_104_manual_resumes_count_as_attempts() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.ask("POST", "resume-policies", policy("three", &json!({ "flow": "Order" }), 3, 1_000))
            .await;
        flow.fail_first("order-1", "Order", "boom").await;
        for number in [2, 3] {
            let error = flow.error().await;
            assert_eq!(error["nextAutoResumeReason"], "three", "before attempt {number}");
            flow.ask("POST", "errors/resume", ids([&error])).await;
            flow.point().await;
            let task = flow.attempt_of("First", number).await;
            flow.fail(&task, "boom").await;
        }
        flow.point().await;
        let error = flow.error().await;
        assert_eq!((&error["attempts"], &error["nextAutoResume"]), (&json!(3), &Value::Null));
    })
    .await;
}

#[tokio::test]
async fn d_105_what_a_policy_has_scheduled_stays_when_it_changes_or_goes() {
    survives(async |flow: &mut Flow| {
        let made = policy("gone", &json!({ "flow": "Order" }), 2, 100);
        flow.ask("POST", "resume-policies", made).await;
        flow.fail_first("order-1", "Order", "boom").await;
        let scheduled = flow.error().await["nextAutoResume"].clone();
        flow.pass(25);
        let changed = policy("gone", &json!({ "flow": "Order" }), 2, 5_000);
        flow.ask("PUT", "resume-policies/gone", changed).await;
        flow.point().await;
        flow.pass(25);
        flow.ask("DELETE", "resume-policies/gone", Value::Null).await;
        flow.point().await;
        assert_eq!(flow.error().await["nextAutoResume"], scheduled);
        flow.pass(49);
        assert_eq!(flow.error().await["state"], "parked", "a second is left");
        flow.pass(1);
        flow.attempt_of("First", 2).await;
    })
    .await;
}

#[tokio::test]
async fn d_109_an_acknowledged_error_is_not_resumed_and_counts_as_seen_to() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", policy("again", &json!({ "flow": "Order" }), 5, 10))
            .await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.fail_first("order-2", "Order", "boom").await;
        let errors = flow.errors("").await;
        let mut body = ids([&errors[0]]);
        body["reason"] = json!("known since Monday");
        flow.ask("POST", "errors/acknowledge", body).await;
        flow.point().await;
        let seen = flow.errors("acknowledged=true").await;
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0]["nextAutoResume"], Value::Null);
        assert_eq!(seen[0]["acknowledged"]["reason"], "known since Monday");
        let open = flow.ask("GET", "errors/count?acknowledged=false", Value::Null).await;
        assert_eq!(open["count"], 1);
        // The other one is resumed at its time; this one was due earlier, and is not.
        flow.pass(10);
        flow.point().await;
        let task = flow.attempt_of("First", 2).await;
        assert_eq!(task.workflow_execution.as_ref().expect("one").workflow_id, "order-2");
        assert_eq!(flow.world().engine.backlog(), (0, 0));
        assert_eq!(flow.errors("acknowledged=true").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn d_110_an_error_with_a_schedule_can_be_cancelled() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", policy("again", &json!({ "flow": "Order" }), 5, 10))
            .await;
        flow.fail_first("order-1", "Order", "boom").await;
        let error = flow.error().await;
        assert_eq!(error["nextAutoResumeReason"], "again");
        flow.ask("POST", "errors/cancel", ids([&error])).await;
        flow.point().await;
        let left = flow.errors("").await;
        assert!(left.iter().all(|error| error["nextAutoResume"].is_null()), "{left:?}");
        flow.advance().await;
        let last = flow.last_event("order-1").await;
        assert!(matches!(last, Event::WorkflowExecutionCanceledEventAttributes(_)), "{last:?}");
        flow.point().await;
        flow.is_well().await;
    })
    .await;
}

#[tokio::test]
async fn d_111_what_is_gone_cannot_be_resumed_and_says_so() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_first("order-1", "Order", "boom").await;
        let error = flow.error().await;
        flow.delete("order-1").await;
        flow.until("", <[Value]>::is_empty).await;
        flow.point().await;
        let (status, told) = flow.refuse("POST", "errors/resume", ids([&error])).await;
        let id = error["id"].as_str().expect("an id");
        assert_eq!(
            (status, told),
            (404, format!("there is no error {id}: it is settled, or never was"))
        );
    })
    .await;
}

#[tokio::test]
async fn a_failed_run_goes_on_from_before_the_step_that_failed() {
    survives(async |flow: &mut Flow| {
        flow.fail_second("order-1", "boom").await;
        flow.advance().await;
        let error = flow.until("state=failed", |errors| errors.len() == 1).await.remove(0);
        assert_eq!(error["subject"], "run");
        flow.point().await;
        let answer = flow.ask("POST", "errors/resume", ids([&error])).await;
        assert!(answer["outcomes"][0]["newRunId"].is_string(), "{answer}");
        flow.point().await;
        flow.advance().await;
        let task = flow.attempt_of("Second", 1).await;
        flow.complete(&task).await;
        flow.advance().await;
        flow.attempt_of("Third", 1).await;
    })
    .await;
}

#[tokio::test]
async fn d_113_resumes_by_policies_are_counted_by_flow() {
    survives(async |flow: &mut Flow| {
        let again = policy("again", &json!({ "errorSubstring": "boom" }), 3, 10);
        flow.ask("POST", "resume-policies", again).await;
        for id in ["a", "b", "c"] {
            flow.fail_first(id, "Order", "boom").await;
        }
        flow.fail_first("d", "Bill", "boom").await;
        flow.point().await;
        flow.pass(10);
        for _ in 0..4 {
            flow.attempt_of("First", 2).await;
        }
        let number = async |name: &str| {
            flow.world()
                .number(&format!(r#"steadfast_auto_resumes_total{{workflow_type="{name}"}}"#))
                .await
        };
        assert_eq!((number("Order").await, number("Bill").await), (3, 1));
    })
    .await;
}
