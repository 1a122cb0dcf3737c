//! What is already retrying is changed; many are resumed by a job; a failure is explained beforehand.

use serde_json::{Value, json};

use super::rig::{Flow, ids, policy, survives};
use crate::common::soon;

#[tokio::test]
async fn a_policy_of_what_is_retrying_is_changed_after_a_look_ahead() {
    survives(async |flow: &mut Flow| {
        flow.fail_first("order-1", "Patient", "boom").await;
        let error = flow.error().await;
        assert_eq!(error["nextAt"], "1970-01-12T14:46:40Z", "in an hour");
        let mut body = ids([&error]);
        body["now"] = json!(true);
        let backoff = json!({ "kind": "constant", "initial": "30s", "jitter": "none" });
        body["change"] = json!({ "policy": { "default": { "backoff": backoff } } });
        let seen = flow.ask("POST", "errors/preview-change", body.clone()).await;
        assert_eq!((&seen["pending"], &seen["sooner"]), (&json!(1), &json!(1)));
        assert_eq!(seen["moved"][0]["to"], "1970-01-12T13:47:10Z");
        flow.point().await;
        assert_eq!(flow.error().await["nextAt"], error["nextAt"], "it was only looked at");
        flow.ask("POST", "errors/change", body).await;
        flow.point().await;
        assert_eq!(flow.error().await["nextAt"], "1970-01-12T13:47:10Z");
        flow.pass(30);
        flow.attempt_of("First", 2).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_retrying_is_tried_at_once_or_parked() {
    survives(async |flow: &mut Flow| {
        flow.fail_first("order-1", "Patient", "boom").await;
        let error = flow.error().await;
        flow.ask("POST", "errors/retry-now", ids([&error])).await;
        flow.point().await;
        let task = flow.attempt_of("First", 2).await;
        flow.fail(&task, "boom").await;
        flow.ask("POST", "errors/park", ids([&error])).await;
        flow.point().await;
        assert_eq!(flow.error().await["state"], "parked");
        flow.pass(10_000);
        flow.ask("POST", "errors/resume", ids([&error])).await;
        flow.point().await;
        flow.attempt_of("First", 3).await;
    })
    .await;
}

#[tokio::test]
async fn a_job_resumes_many_and_is_held_and_goes_on() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        for number in 0..6 {
            flow.fail_first(&format!("order-{number}"), "Order", "boom").await;
        }
        let select = json!({ "filter": { "workflowType": "Order", "state": ["parked"] } });
        let body = json!({ "id": "job", "select": select, "rate": 1, "maxFailures": 1 });
        let job = flow.ask("POST", "resume-jobs", body).await;
        assert_eq!((&job["id"], &job["total"]), (&json!("job"), &json!(6)));
        flow.ask("PATCH", "resume-jobs/job", json!({ "state": "paused" })).await;
        flow.point().await;
        let job = flow.ask("GET", "resume-jobs/job", Value::Null).await;
        assert_eq!(job["state"], "paused");
        flow.ask("PATCH", "resume-jobs/job", json!({ "state": "running", "rate": 100 })).await;
        flow.point().await;
        let finished = async {
            let mut tried = 0;
            while tried < 6 {
                flow.pass(1);
                let task = flow.attempt_of("First", 2).await;
                flow.complete(&task).await;
                tried += 1;
            }
            loop {
                flow.pass(1);
                let job = flow.ask("GET", "resume-jobs/job", Value::Null).await;
                if job["state"] == "completed" {
                    return job;
                }
            }
        };
        let job = soon(finished).await;
        assert_eq!((&job["succeeded"], &job["refused"]), (&json!(6), &json!(0)), "{job}");
        flow.is_well().await;
    })
    .await;
}

#[tokio::test]
async fn a_failure_is_explained_before_it_happens() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        let rule = json!({
            "scope": { "activity": "First" },
            "policy": { "rules": [{ "match": { "type": "Gone" }, "action": "fail" }] },
        });
        flow.ask("PUT", "policies/gone", rule).await;
        let again = policy("again", &json!({ "errorSubstring": "away" }), 5, 10);
        flow.ask("POST", "resume-policies", again).await;
        flow.point().await;
        let asked = json!({
            "error": { "type": "Gone", "message": "it went away" },
            "workflowType": "Order",
            "activity": "First",
        });
        let told = flow.ask("POST", "failures/explain", asked).await;
        assert_eq!(told["rule"], "type=Gone activity=First", "{told}");
        assert_eq!((&told["layer"], &told["policy"]), (&json!("operator"), &json!("gone@1")));
        assert_eq!((&told["ending"], &told["resumePolicy"]), (&json!("park"), &json!("again")));
        // A policy for the error's type takes it here as it does when it happens.
        let typed = policy("typed", &json!({ "errorSubstring": "Gone: it went" }), 5, 10);
        flow.ask("POST", "resume-policies", typed).await;
        let asked =
            json!({ "error": { "type": "Gone", "message": "it went" }, "activity": "First" });
        let told = flow.ask("POST", "failures/explain", asked).await;
        assert_eq!(told["resumePolicy"], "typed", "{told}");
        let other = json!({ "error": { "type": "Slow" }, "activity": "First" });
        let told = flow.ask("POST", "failures/explain", other).await;
        assert_eq!((&told["layer"], &told["retries"]), (&json!("call site"), &json!(true)));
        assert_eq!(told["delay"], "1s");
    })
    .await;
}
