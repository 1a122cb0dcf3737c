//! Which errors a resume policy takes, and with what priority: as its author sees it over HTTP.

use serde_json::{Value, json};

use super::rig::{Flow, policy, survives};

impl Flow {
    /// The priority that a policy with these criteria gets.
    async fn priority(&self, name: &str, criteria: Value) -> i64 {
        let created = self.ask("POST", "resume-policies", policy(name, &criteria, 3, 1)).await;
        created["priority"].as_i64().expect("a priority")
    }

    /// How many of the errors a policy with these criteria would take.
    async fn takes(&self, criteria: Value) -> u64 {
        let tried = policy("tried", &criteria, 9, 1);
        let answer = self.ask("POST", "resume-policies/dry-run", tried).await;
        answer["count"].as_u64().expect("a count")
    }
}

#[tokio::test]
async fn d_20_to_d_27_the_priority_is_computed_from_the_criteria_unless_given() {
    survives(async |flow: &mut Flow| {
        let rows = [
            ("d_22", json!({ "errorSubstring": "JsonExcepti" }), 100),
            ("d_23", json!({ "errorSubstring": "JsonExcept" }), 50),
            ("d_24", json!({ "action": "smoke.Format" }), 100),
            ("d_25", json!({ "actionType": "EGRESS" }), 50),
            ("d_25 both", json!({ "action": "smoke.Egress", "actionType": "EGRESS" }), 100),
            ("d_26", json!({ "flow": "smoke" }), 50),
            (
                "d_27",
                json!({ "errorSubstring": "JsonException", "action": "smoke.A", "flow": "smoke" }),
                250,
            ),
            ("d_27 short", json!({ "errorSubstring": "x", "actionType": "T", "flow": "f" }), 150),
            ("d_20", json!({ "flow": "given", "priority": 7 }), 7),
        ];
        for (name, criteria, wanted) in rows {
            assert_eq!(flow.priority(name, criteria).await, wanted, "{name}");
        }
        flow.point().await;
        let kept = flow.ask("GET", "resume-policies", Value::Null).await;
        let priorities: Vec<i64> = kept["policies"]
            .as_array()
            .expect("policies")
            .iter()
            .filter_map(|it| it["priority"].as_i64())
            .collect();
        assert!(priorities.is_sorted_by(|a, b| a >= b), "d_08: the highest first: {priorities:?}");
        assert_eq!(priorities.len(), 9);
    })
    .await;
}

#[tokio::test]
async fn d_09_to_d_14_all_given_criteria_must_match_and_others_do_not_restrict() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_first("o-1", "passthrough", "read timeout after 5s").await;
        flow.fail_first("o-2", "passthrough", "no disk").await;
        flow.fail_first("o-3", "other", "read timeout after 5s").await;
        flow.point().await;
        let rows = [
            ("d_09", json!({ "errorSubstring": "timeout", "flow": "passthrough" }), 1),
            ("d_10", json!({ "flow": "passthrough" }), 2),
            ("d_11", json!({ "errorSubstring": "timeout" }), 2),
            ("d_11 case", json!({ "errorSubstring": "TIMEOUT" }), 0),
            ("d_12", json!({ "flow": "pass" }), 0),
            ("d_13", json!({ "action": "passthrough.First" }), 2),
            ("d_13 part", json!({ "action": "passthrough.Fir" }), 0),
            ("d_14", json!({ "flow": "passthrough", "actionType": "EGRESS" }), 0),
        ];
        for (name, criteria, wanted) in rows {
            assert_eq!(flow.takes(criteria).await, wanted, "{name}");
        }
        let (status, message) = flow
            .refuse("POST", "resume-policies", policy("x", &json!({ "action": "First" }), 3, 1))
            .await;
        assert_eq!(status, 400, "d_17: {message}");
        let bare = policy("bare", &json!({ "action": "NoEgressFlowConfiguredAction" }), 3, 1);
        flow.ask("POST", "resume-policies", bare).await;
    })
    .await;
}

#[tokio::test]
async fn d_08_d_19_of_several_the_one_of_the_highest_priority_is_applied() {
    survives(async |flow: &mut Flow| {
        for (name, criteria) in [
            ("low", json!({ "flow": "Order", "priority": 50 })),
            ("high", json!({ "errorSubstring": "boom", "priority": 60 })),
            ("lowest", json!({ "action": "Order.First", "priority": 1 })),
        ] {
            flow.ask("POST", "resume-policies", policy(name, &criteria, 5, 100)).await;
        }
        flow.point().await;
        flow.fail_first("o-1", "Order", "boom").await;
        flow.point().await;
        let error = flow.error().await;
        assert_eq!(error["nextAutoResumeReason"], "high", "{error}");
    })
    .await;
}
