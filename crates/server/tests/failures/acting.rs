//! What operators do about errors, and which errors they mean.

use serde_json::{Value, json};

use super::rig::{Flow, ids, survives};

/// Resumes what is selected, and tells which workflows that were.
async fn resumed(flow: &Flow, select: Value) -> Vec<String> {
    let answer = flow.ask("POST", "errors/resume", json!({ "select": select })).await;
    let outcomes = answer["outcomes"].as_array().expect("outcomes");
    let mut names: Vec<String> = outcomes
        .iter()
        .map(|outcome| outcome["workflowId"].as_str().expect("a workflow").to_owned())
        .collect();
    names.sort();
    for _ in &names {
        let task = flow.attempt_of("First", 2).await;
        let workflow = &task.workflow_execution.as_ref().expect("one").workflow_id;
        assert!(names.contains(workflow), "{workflow} was not meant");
        flow.complete(&task).await;
    }
    names
}

#[tokio::test]
async fn d_114_errors_are_resumed_by_id_by_flow_by_cause_and_by_filter() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        for (id, kind, cause) in [
            ("a", "Order", "full"),
            ("b", "Order", "full disk"),
            ("c", "Bill", "full"),
            ("d", "Bill", "slow"),
            ("e", "Order", "slow"),
        ] {
            flow.fail_first(id, kind, cause).await;
        }
        flow.point().await;
        let errors = flow.errors("workflowId=e").await;
        assert_eq!(resumed(flow, ids(&errors)["select"].clone()).await, ["e"]);
        flow.point().await;
        assert_eq!(resumed(flow, json!({ "filter": { "cause": "full" } })).await, ["a", "c"]);
        assert_eq!(resumed(flow, json!({ "filter": { "workflowType": "Bill" } })).await, ["d"]);
        flow.point().await;
        let filter =
            json!({ "filter": { "contains": "disk", "state": ["parked"], "minAttempts": 1 } });
        assert_eq!(resumed(flow, filter).await, ["b"]);
        flow.is_well().await;
        let (status, told) =
            flow.refuse("POST", "errors/resume", json!({ "select": { "filter": {} } })).await;
        assert_eq!(status, 400, "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_second_resume_with_the_same_id_changes_nothing() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_first("order-1", "Order", "boom").await;
        let error = flow.error().await;
        let mut body = ids([&error]);
        body["resume"] = json!({ "requestId": "click" });
        flow.ask("POST", "errors/resume", body.clone()).await;
        flow.point().await;
        let task = flow.attempt_of("First", 2).await;
        flow.fail(&task, "boom").await;
        flow.point().await;
        flow.ask("POST", "errors/resume", body).await;
        let error = flow.error().await;
        assert_eq!((&error["state"], &error["resumes"]), (&json!("parked"), &json!(1)));
    })
    .await;
}

#[tokio::test]
async fn d_114_changed_metadata_is_seen_by_the_next_attempt_alone() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_first("order-1", "Order", "boom").await;
        let error = flow.error().await;
        let mut body = ids([&error]);
        body["resume"] = json!({ "metadata": { "region": "north" } });
        flow.ask("POST", "errors/resume", body).await;
        flow.point().await;
        let task = flow.attempt_of("First", 2).await;
        let header = task.header.as_ref().expect("a header");
        assert_eq!(header.fields["region"].data, b"\"north\"");
        flow.fail(&task, "boom").await;
        flow.point().await;
        flow.ask("POST", "errors/resume", ids([&flow.error().await])).await;
        let task = flow.attempt_of("First", 3).await;
        assert!(!task.header.is_some_and(|header| header.fields.contains_key("region")));
    })
    .await;
}

#[tokio::test]
async fn what_is_parked_fails_into_its_workflow_when_somebody_says_so() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.fail_first("order-1", "Order", "boom").await;
        let error = flow.error().await;
        flow.ask("POST", "errors/fail", ids([&error])).await;
        flow.point().await;
        flow.advance().await;
        let failed = flow.until("state=failed", |errors| errors.len() == 1).await;
        assert_eq!(failed[0]["subject"], "run");
    })
    .await;
}
