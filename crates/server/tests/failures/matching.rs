//! Which errors a resume policy takes, and with what priority: as its author sees it over HTTP.

use serde_json::{Value, json};

use steadfast_retry::resume::NO_EGRESS;

use super::{
    rig::{Flow, policy, seconds_between, survives},
    waiting::{json_errors, passthrough},
};

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
async fn d_20_d_22_d_23_d_24_d_25_d_26_d_27_the_priority_is_computed_from_the_criteria_unless_given()
 {
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
async fn d_09_d_10_d_11_d_12_d_13_d_14_d_17_all_given_criteria_must_match_and_others_do_not_restrict()
 {
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
            ("d_14 same", json!({ "flow": "passthrough", "actionType": "TRANSFORM" }), 2),
            ("d_11 context", json!({ "errorSubstring": "at step" }), 0),
        ];
        for (name, criteria, wanted) in rows {
            assert_eq!(flow.takes(criteria).await, wanted, "{name}");
        }
        let (status, message) = flow
            .refuse("POST", "resume-policies", policy("x", &json!({ "action": "First" }), 3, 1))
            .await;
        assert_eq!(status, 400, "d_17: {message}");
    })
    .await;
}

#[tokio::test]
async fn d_18_the_one_name_that_stands_alone_is_taken_and_matches() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        let bare = policy("bare", &json!({ "action": NO_EGRESS }), 3, 1);
        flow.ask("POST", "resume-policies", bare).await;
        flow.point().await;
        flow.fail_first("o-1", "Bare", "nowhere to go").await;
        flow.fail_first("o-2", "Order", "nowhere to go").await;
        flow.point().await;
        let taken = async |id: &str| {
            flow.errors(&format!("workflowId={id}")).await[0]["nextAutoResumeReason"].clone()
        };
        assert_eq!((taken("o-1").await, taken("o-2").await), (json!("bare"), Value::Null));
    })
    .await;
}

#[tokio::test]
async fn d_21_d_28_a_more_specific_policy_has_the_higher_priority_from_50_to_250() {
    survives(async |flow: &mut Flow| {
        const CRITERIA: [(&str, &str); 4] = [
            ("errorSubstring", "JsonException"),
            ("flow", "smoke"),
            ("action", "smoke.A"),
            ("actionType", "EGRESS"),
        ];
        let mut priorities = Vec::new();
        for chosen in 1_usize..16 {
            let is_in = |place: usize| chosen >> place & 1 == 1;
            let criteria = CRITERIA.iter().enumerate().filter(|(place, _)| is_in(*place));
            let criteria = criteria.map(|(_, (name, value))| ((*name).to_owned(), json!(value)));
            let criteria = Value::Object(criteria.collect());
            priorities.push((chosen, flow.priority(&chosen.to_string(), criteria).await));
        }
        flow.point().await;
        let all = priorities.iter().map(|(_, priority)| *priority);
        assert_eq!((all.clone().min(), all.max()), (Some(50), Some(250)));
        let mut compared = 0;
        for (wide, low) in &priorities {
            for (narrow, high) in &priorities {
                let only_adds_a_kind = narrow - wide.min(narrow) == 0b1000 && wide & 0b100 != 0;
                if wide == narrow || wide & narrow != *wide || only_adds_a_kind {
                    continue;
                }
                compared += 1;
                assert!(high > low, "{narrow:04b} has {high}, {wide:04b} has {low}");
            }
        }
        assert_eq!(compared, 46, "pairs of which one asks for more");
        let kept = flow.ask("GET", "resume-policies", Value::Null).await;
        assert_eq!(kept["policies"].as_array().map(Vec::len), Some(15));
    })
    .await;
}

#[tokio::test]
async fn d_45_the_examples_have_the_priorities_that_the_rule_computes() {
    survives(async |flow: &mut Flow| {
        let first = flow.ask("POST", "resume-policies", passthrough()).await;
        let second = flow.ask("POST", "resume-policies", json_errors()).await;
        assert_eq!((&first["priority"], &second["priority"]), (&json!(50), &json!(150)));
        flow.point().await;
        let kept = flow.ask("GET", "resume-policies", Value::Null).await;
        assert_eq!(kept["policies"], json!([second, first]), "the highest first");
    })
    .await;
}

#[tokio::test]
async fn d_08_d_19_of_several_the_one_of_the_highest_priority_is_applied() {
    survives(async |flow: &mut Flow| {
        let low = policy("low", &json!({ "flow": "Order", "priority": 50 }), 5, 100);
        let high = policy("high", &json!({ "errorSubstring": "boom", "priority": 60 }), 5, 200);
        let lowest = policy("lowest", &json!({ "action": "Order.First", "priority": 1 }), 5, 300);
        for policy in [&low, &high, &lowest] {
            flow.ask("POST", "resume-policies", policy.clone()).await;
        }
        flow.point().await;
        flow.fail_first("o-1", "Order", "boom").await;
        flow.point().await;
        let (mut low, mut high) = (low, high);
        low["priority"] = json!(60);
        high["priority"] = json!(50);
        flow.ask("PUT", "resume-policies/low", low).await;
        flow.ask("PUT", "resume-policies/high", high).await;
        flow.fail_first("o-2", "Order", "boom").await;
        flow.point().await;
        let errors = flow.errors("").await;
        let told = |error: &Value| {
            let wait = seconds_between(&error["lastAt"], &error["nextAutoResume"]);
            (error["nextAutoResumeReason"].clone(), wait)
        };
        assert_eq!(told(&errors[0]), (json!("high"), 200), "and no other");
        assert_eq!(told(&errors[1]), (json!("low"), 100), "after they have changed places");
    })
    .await;
}

#[tokio::test]
async fn d_117_of_equal_priority_the_first_by_name_is_applied() {
    survives(async |flow: &mut Flow| {
        for (name, criteria) in [
            ("b", json!({ "flow": "Order", "priority": 50 })),
            ("a", json!({ "errorSubstring": "boom", "priority": 50 })),
            ("c", json!({ "action": "Order.First", "priority": 50 })),
        ] {
            flow.ask("POST", "resume-policies", policy(name, &criteria, 5, 100)).await;
            flow.point().await;
        }
        flow.fail_first("o-1", "Order", "boom").await;
        assert_eq!(flow.error().await["nextAutoResumeReason"], "a");
    })
    .await;
}
