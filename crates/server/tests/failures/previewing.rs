//! What a retry policy would change, over HTTP.

use serde_json::{Value, json};

use super::rig::{Flow, survives};

#[tokio::test]
async fn f_08_a_policy_is_previewed_then_put_then_holds_for_what_waits() {
    survives(async |flow: &mut Flow| {
        flow.fail_first("order-1", "Patient", "boom").await;
        let waits = flow.error().await;
        flow.point().await;
        let policy = json!({
            "policy": { "rules": [{
                "match": { "type": "StepError" },
                "backoff": { "kind": "constant", "initial": "10m", "jitter": "none" },
            }] },
            "scope": { "workflowType": "Patient" },
        });
        let seen = flow.ask("POST", "policies/sooner/preview", policy.clone()).await;
        assert_eq!((&seen["pending"], &seen["sooner"]), (&json!(1), &json!(1)), "{seen}");
        assert_eq!(seen["peak"], json!({ "rate": 1, "after": "10m" }));
        assert_eq!(flow.error().await["nextAt"], waits["nextAt"], "nothing is changed");
        flow.point().await;
        flow.ask("PUT", "policies/sooner", policy).await;
        assert_eq!(flow.error().await["nextAt"], waits["nextAt"], "it holds from the next failure");
        let anew = json!({ "select": { "all": true }, "now": true });
        assert_eq!(flow.ask("POST", "errors/change", anew).await["done"], 1);
        flow.point().await;
        assert_eq!(flow.error().await["nextAt"], seen["moved"][0]["to"], "as it was said");
        let nothing = json!({ "select": { "all": true } });
        let (status, told) = flow.refuse("POST", "errors/change", nothing).await;
        assert_eq!(status, 400, "{told}");
        let (status, _) = flow.refuse("POST", "policies/x/preview", json!({ "policy": {} })).await;
        assert_eq!(status, 400);
        assert_eq!(flow.ask("GET", "policies", Value::Null).await["policies"][0]["name"], "sooner");
    })
    .await;
}
