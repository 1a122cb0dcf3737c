//! Policies as operators keep them: resume policies, retry policies, settings.

use serde_json::{Value, json};

use super::rig::{Flow, ids, policy, survives};

#[tokio::test]
async fn d_05_d_06_d_07_a_policy_is_read_back_as_it_was_written() {
    survives(async |flow: &mut Flow| {
        let full = json!({
            "id": "88bc7429-7adf-4bb1-b23f-3922993e0a1a", "name": "full", "errorSubstring": "boom",
            "flow": "Order", "action": "Order.First", "actionType": "TRANSFORM", "maxAttempts": 10,
            "priority": 7, "backOff": { "delay": 60, "maxDelay": 300, "multiplier": 1, "random": false },
        });
        assert_eq!(flow.ask("POST", "resume-policies", full.clone()).await, full);
        flow.point().await;
        assert_eq!(flow.ask("GET", "resume-policies/full", Value::Null).await, full);
        let made = flow.ask("POST", "resume-policies", policy("bare", &json!({ "flow": "X" }), 2, 0)).await;
        let id = made["id"].as_str().expect("an id");
        assert_eq!((id.len(), &id[14..15]), (36, "4"), "a random UUID");
        flow.point().await;
        let read = flow.ask("GET", &format!("resume-policies/{id}"), Value::Null).await;
        assert_eq!(read, made);
        assert_eq!(read["backOff"], json!({ "delay": 0, "random": false }));
        assert_eq!(read["priority"], 50, "computed");
    })
    .await;
}

#[tokio::test]
async fn d_101_all_faults_are_told_at_once_and_nothing_is_stored() {
    survives(async |flow: &mut Flow| {
        let wrong = json!({
            "maxAttempts": 1, "backOff": { "delay": -1, "maxDelay": -2, "multiplier": 0, "random": true },
        });
        let (status, told) = flow.refuse("POST", "resume-policies", wrong).await;
        assert_eq!(status, 400);
        for fault in ["name is required", "errorSubstring, flow", "maxAttempts", "delay must not", "multiplier"] {
            assert!(told.contains(fault), "no {fault:?} in {told}");
        }
        flow.point().await;
        let answer = flow.ask("GET", "resume-policies", Value::Null).await;
        assert_eq!(answer["policies"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn d_102_no_two_policies_have_one_name_or_the_same_criteria() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", policy("a", &json!({ "flow": "Order" }), 2, 1)).await;
        flow.point().await;
        for twin in [
            policy("a", &json!({ "errorSubstring": "other" }), 2, 1),
            policy("b", &json!({ "flow": "Order" }), 9, 9),
        ] {
            let (status, told) = flow.refuse("POST", "resume-policies", twin).await;
            assert_eq!(status, 400, "{told}");
            assert!(told.contains("duplicate name or criteria"), "{told}");
        }
        flow.point().await;
        let answer = flow.ask("GET", "resume-policies", Value::Null).await;
        assert_eq!(answer["policies"].as_array().expect("policies").len(), 1);
    })
    .await;
}

#[tokio::test]
async fn d_106_a_load_says_what_came_of_each_and_may_replace_all() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", policy("old", &json!({ "flow": "Old" }), 2, 1)).await;
        flow.point().await;
        let load = json!({ "replaceAll": true, "policies": [
            policy("one", &json!({ "flow": "A" }), 2, 1),
            policy("bad", &json!({ "flow": "B" }), 1, 1),
            policy("two", &json!({ "flow": "C" }), 2, 1),
        ]});
        let answer = flow.ask("POST", "resume-policies/load", load).await;
        let results = answer["results"].as_array().expect("results");
        let success: Vec<&Value> = results.iter().map(|result| &result["success"]).collect();
        assert_eq!(success, [true, false, true]);
        assert_eq!(results[1]["errors"], json!(["maxAttempts must be at least 2, not 1"]));
        flow.point().await;
        let kept = flow.ask("GET", "resume-policies", Value::Null).await;
        let names: Vec<&Value> =
            kept["policies"].as_array().expect("policies").iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["one", "two"]);
        // What is listed can be loaded as it is.
        let again = json!({ "replaceAll": true, "policies": kept["policies"] });
        let answer = flow.ask("POST", "resume-policies/load", again).await;
        assert_eq!(answer["results"][1]["policy"], kept["policies"][1]);
    })
    .await;
}

#[tokio::test]
async fn d_107_a_dry_run_counts_and_changes_nothing() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        for number in 0..7 {
            flow.fail_first(&format!("order-{number}"), "Order", "read timeout after 5s").await;
        }
        flow.fail_first("other", "Other", "read timeout after 5s").await;
        flow.fail_first("order-x", "Order", "disk full").await;
        flow.point().await;
        let before = flow.errors("").await;
        let tried = policy("try", &json!({ "flow": "Order", "errorSubstring": "timeout" }), 3, 5);
        let answer = flow.ask("POST", "resume-policies/dry-run", tried.clone()).await;
        assert_eq!(
            (&answer["count"], &answer["info"]),
            (&json!(7), &json!("can apply to 7 errors"))
        );
        let wrong = policy("try", &json!({ "flow": "Order" }), 1, 5);
        assert_eq!(flow.refuse("POST", "resume-policies/dry-run", wrong).await.0, 400);
        flow.point().await;
        assert_eq!(flow.errors("").await, before);
        let kept = flow.ask("GET", "resume-policies", Value::Null).await;
        assert_eq!(kept["policies"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn d_108_policies_are_applied_to_the_errors_that_there_are() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        for (number, cause) in ["slow", "slow", "full", "slow and full", "slow"].iter().enumerate()
        {
            flow.fail_first(&format!("order-{number}"), "Order", cause).await;
        }
        let errors = flow.errors("").await;
        flow.ask("POST", "errors/acknowledge", ids([&errors[4]])).await;
        flow.ask(
            "POST",
            "resume-policies",
            policy("slow", &json!({ "errorSubstring": "slow" }), 5, 30),
        )
        .await;
        flow.ask(
            "POST",
            "resume-policies",
            policy("full", &json!({ "errorSubstring": "full" }), 5, 60),
        )
        .await;
        flow.point().await;
        flow.pass(100);
        let unknown = json!({ "names": ["slow", "nobody"] });
        let (status, told) = flow.refuse("POST", "resume-policies/apply", unknown).await;
        assert_eq!(status, 404);
        assert!(told.contains("nobody"), "{told}");
        let free = |errors: &[Value]| errors.iter().all(|error| error["nextAutoResume"].is_null());
        assert!(free(&flow.errors("").await), "nothing was applied");
        let answer =
            flow.ask("POST", "resume-policies/apply", json!({ "names": ["slow", "full"] })).await;
        assert_eq!(
            answer["applied"],
            json!([{ "name": "slow", "count": 3 }, { "name": "full", "count": 1 }])
        );
        assert_eq!(answer["info"][0], "applied resume policy \"slow\" to 3 errors");
        flow.point().await;
        let errors = flow.errors("").await;
        let told: Vec<(&str, &str)> = errors
            .iter()
            .map(|error| {
                let said = |name: &str| error[name].as_str().unwrap_or("-");
                (said("nextAutoResumeReason"), said("nextAutoResume"))
            })
            .collect();
        let (soon, later) = ("1970-01-12T13:48:50Z", "1970-01-12T13:49:20Z");
        assert_eq!(
            told,
            [("slow", soon), ("slow", soon), ("full", later), ("slow", soon), ("-", "-")]
        );
        flow.pass(30);
        for _ in 0..3 {
            flow.attempt_of("First", 2).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_operators_rule_decides_before_the_authors_and_says_so() {
    survives(async |flow: &mut Flow| {
        let rule = json!({
            "scope": { "workflowType": "Order" },
            "policy": { "rules": [{ "match": { "type": "StepError" }, "action": "park" }] },
            "reason": "the depot is down",
        });
        let put = flow.ask("PUT", "policies/depot", rule.clone()).await;
        assert_eq!(put["version"], 1);
        flow.point().await;
        let (status, told) = flow.refuse("PUT", "policies/depot", rule.clone()).await;
        assert_eq!(status, 409, "{told}");
        assert!(told.contains("version 1") && told.contains("the depot is down"), "{told}");
        flow.fail_first("order-1", "Order", "boom").await;
        flow.point().await;
        assert_eq!(flow.error().await["state"], "parked", "its author would have had it fail");
        let attempts = flow.ask("GET", "workflows/order-1/attempts", Value::Null).await;
        let attempt = &attempts["tried"][0]["attempts"][0];
        assert_eq!(
            (&attempt["layer"], &attempt["policy"]),
            (&json!("operator"), &json!("depot@1"))
        );
        assert_eq!(attempt["rule"], "type=StepError workflow_type=Order");
        assert_eq!(attempt["parked"], true);
        // Somebody else has put another version in the meantime.
        let mut second = rule.clone();
        second["expectedVersion"] = json!(1);
        assert_eq!(flow.ask("PUT", "policies/depot", second.clone()).await["version"], 2);
        assert_eq!(flow.refuse("PUT", "policies/depot", second).await.0, 409);
        flow.point().await;
        let versions = flow.ask("GET", "policies/depot/versions", Value::Null).await;
        assert_eq!(versions["policies"].as_array().expect("versions").len(), 2);
        flow.ask("DELETE", "policies/depot?expectedVersion=2", Value::Null).await;
        assert_eq!(flow.refuse("GET", "policies/depot", Value::Null).await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn who_changes_what_somebody_else_has_changed_is_told_so() {
    survives(async |flow: &mut Flow| {
        let seen = flow.ask("GET", "settings", Value::Null).await;
        flow.park_what_is_given_up().await;
        flow.point().await;
        let (status, message) = flow.refuse("PUT", "settings", seen).await;
        assert_eq!(status, 409, "{message}");
        assert!(
            message.contains("at version 1, not 0") && message.contains("settings"),
            "{message}"
        );
        let now = flow.ask("GET", "settings", Value::Null).await;
        assert_eq!(now["endings"][0]["ending"], "park");
        flow.ask("PUT", "settings", now).await;
    })
    .await;
}
