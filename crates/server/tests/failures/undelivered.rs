//! What nobody takes is not lost: it stays in sight, and is sent again when somebody wants it to be.

use serde_json::{Value, json};

use super::rig::{Flow, survives};

#[tokio::test]
async fn what_no_webhook_takes_stays_in_sight_until_it_is_sent_or_dropped() {
    survives(async |flow: &mut Flow| {
        // An address that cannot be used is not tried again and again.
        let settings = json!({
            "endings": [{ "ending": "park" }],
            "notify": [{ "webhook": "http://" }],
        });
        flow.ask("PUT", "settings", settings).await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.point().await;
        let seen = set_aside(flow).await;
        assert_eq!((&seen["url"], &seen["workflowId"]), (&json!("http://"), &json!("order-1")));
        assert_eq!((&seen["attempts"], &seen["body"]["cause"]), (&json!(1), &json!("boom")));
        assert!(seen["problem"].as_str().is_some_and(|it| !it.is_empty()), "{seen}");
        let number = r#"steadfast_webhooks_undelivered{state="set_aside"}"#;
        assert_eq!(flow.world().number(number).await, 1);
        flow.point().await;
        // After a restart it is tried anew, and set aside again.
        set_aside(flow).await;
        assert_eq!(flow.ask("POST", "webhooks/resend", json!({})).await["count"], 1);
        let seen = set_aside(flow).await;
        let (status, told) = flow.refuse("POST", "webhooks/discard", json!({ "ids": [999] })).await;
        assert_eq!(status, 404, "{told}");
        flow.refuse("POST", "webhooks/discard", json!({ "ids": [] })).await;
        let dropped = flow.ask("POST", "webhooks/discard", json!({ "ids": [seen["id"]] })).await;
        assert_eq!(dropped["count"], 1);
        flow.point().await;
        let left = flow.ask("GET", "webhooks/undelivered", Value::Null).await;
        assert_eq!(left["undelivered"], json!([]), "it is gone for good");
        assert_eq!(flow.world().number(number).await, 0);
    })
    .await;
}

/// The only document, once it is set aside.
async fn set_aside(flow: &Flow) -> Value {
    loop {
        let told = flow.ask("GET", "webhooks/undelivered", Value::Null).await;
        match told["undelivered"].as_array().map(Vec::as_slice) {
            Some([one]) if one["state"] == "set_aside" => return one.clone(),
            _ => tokio::task::yield_now().await,
        }
    }
}
