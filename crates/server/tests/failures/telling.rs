//! Whoever wants to know is told when work is parked.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};

use super::rig::{Flow, survives};
use crate::common::soon;

/// Takes one document, and answers with a status.
async fn take(listener: &TcpListener, status: &str) -> (String, Value) {
    let (stream, _) = soon(listener.accept()).await.expect("a connection");
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.expect("a line");
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.get_mut().write_all(answer.as_bytes()).await.expect("it is sent");
    (head, serde_json::from_slice(&body).expect("JSON"))
}

#[tokio::test]
async fn parked_work_is_told_to_a_webhook_until_it_takes_it() {
    survives(async |flow: &mut Flow| {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let settings = json!({
            "endings": [{ "ending": "park" }],
            "notify": [{ "on": ["parked"], "webhook": format!("http://{address}/hook?a=1") }],
        });
        flow.ask("PUT", "settings", settings).await;
        flow.point().await;
        flow.fail_first("order-1", "Order", "boom").await;
        let (head, told) = take(&listener, "503 Busy").await;
        assert!(head.starts_with("POST /hook?a=1 HTTP/1.1"), "{head}");
        assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
        assert_eq!((&told["event"], &told["workflowId"]), (&json!("parked"), &json!("order-1")));
        assert_eq!((&told["cause"], &told["activityType"]), (&json!("boom"), &json!("First")));
        flow.point().await;
        let again = async {
            // It is sent again after a while, or at once by the engine that comes after a crash.
            let mut taking = Box::pin(take(&listener, "204 Taken"));
            loop {
                flow.pass(1);
                tokio::select! {
                    biased;
                    taken = &mut taking => return taken.1,
                    () = tokio::task::yield_now() => {}
                }
            }
        };
        assert_eq!(soon(again).await, told);
    })
    .await;
}

#[tokio::test]
async fn a_webhook_that_is_no_address_is_refused() {
    survives(async |flow: &mut Flow| {
        let settings = json!({ "notify": [{ "webhook": "ftp://example.com" }] });
        let (status, told) = flow.refuse("PUT", "settings", settings).await;
        assert_eq!(status, 400);
        assert!(told.contains("notify[0].webhook"), "{told}");
    })
    .await;
}
