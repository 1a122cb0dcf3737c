//! Work that is resumed when those whom it calls have forgotten its idempotency key.

use serde_json::{Value, json};
use steadfast_proto::workflowservice::PollActivityTaskQueueResponse as Work;

use super::rig::{Flow, ids, survives};

/// The key that an attempt is given.
fn key(work: &Work) -> String {
    let fields = &work.header.as_ref().expect("a header").fields;
    String::from_utf8_lossy(&fields["steadfast-idempotency-key"].data).into_owned()
}

#[tokio::test]
async fn f_13_a_late_resume_is_refused_unless_the_work_has_a_new_key() {
    survives(async |flow: &mut Flow| {
        let settings = json!({
            "endings": [{ "ending": "park" }],
            "idempotency": [{ "workflowType": "Order", "ttl": "1h" }],
        });
        let kept = flow.ask("PUT", "settings", settings).await;
        assert_eq!(kept["idempotency"], json!([{ "workflowType": "Order", "ttl": "1h" }]));
        flow.start("order-1", "Order").await;
        let work = flow.attempt().await;
        let first = key(&work);
        flow.fail(&work, "boom").await;
        flow.point().await;
        let which = ids(&flow.errors("").await);
        flow.pass(7_200);
        let resume = |how: Value| json!({ "select": which["select"], "resume": how });
        let told = flow.ask("POST", "errors/resume", resume(json!({}))).await;
        assert_eq!((&told["done"], &told["refused"]), (&json!(0), &json!(1)));
        let why = told["outcomes"][0]["error"]["message"].as_str().expect("why").to_owned();
        assert!(why.starts_with("activity First was first delivered 2h before"), "{why}");
        assert!(why.contains("remembered for 1h") && why.contains("rekey"), "{why}");
        flow.point().await;
        let told = flow.ask("POST", "errors/resume", resume(json!({ "rekey": true }))).await;
        assert_eq!(told["done"], 1);
        flow.point().await;
        let work = flow.attempt().await;
        let second = key(&work);
        assert_ne!(first, second);
        flow.fail(&work, "boom").await;
        flow.point().await;
        let told = flow.ask("POST", "errors/resume", resume(json!({}))).await;
        assert_eq!(told["done"], 1, "the new key is not forgotten yet");
        let work = flow.attempt().await;
        assert_eq!(key(&work), second, "it keeps it");
        flow.complete(&work).await;
        flow.is_well().await;
    })
    .await;
}

#[tokio::test]
async fn f_13_a_policy_says_it_too_and_a_job_passes_over_what_it_must_not_resume() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        let policy = json!({
            "policy": { "idempotency": { "ttl": "1h" } },
            "scope": { "workflowType": "Old" },
        });
        flow.ask("PUT", "policies/keys", policy).await;
        flow.fail_first("order-1", "Old", "boom").await;
        flow.fail_first("order-2", "Order", "boom").await;
        flow.point().await;
        flow.pass(7_200);
        let job = json!({ "id": "j", "select": { "all": true }, "rate": 100 });
        flow.ask("POST", "resume-jobs", job).await;
        let work = flow.attempt().await;
        let workflow = work.workflow_execution.as_ref().map(|it| it.workflow_id.as_str());
        assert_eq!(workflow, Some("order-2"));
        flow.complete(&work).await;
        loop {
            let told = flow.ask("GET", "resume-jobs/j", Value::Null).await;
            if told["turns"].is_null() && told["refused"] == 1 && told["succeeded"] == 1 {
                let why = told["refusals"][0]["reason"].as_str().expect("why");
                assert!(why.contains("rekey"), "{told}");
                assert_eq!(told["refusals"][0]["count"], 1);
                break;
            }
            flow.pass(1);
            tokio::task::yield_now().await;
        }
    })
    .await;
}
