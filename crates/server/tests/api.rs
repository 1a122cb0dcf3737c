//! The HTTP API as programs meet it: its document, and what it says to those who ask wrongly.

use std::{env, fs};

use serde_json::Value;
use steadfast_engine::Limits;
use steadfast_server::{Key, KeyHash, Keys, Options as Doors, Right};

use crate::common::{NAMESPACE, World, doors};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

#[test]
fn the_page_about_the_http_api_is_what_the_code_says() {
    let document = steadfast_server::openapi().to_pretty_json().expect("JSON") + "\n";
    if env::var_os("STEADFAST_WRITE_DOCS").is_some() {
        fs::write(PAGE, &document).expect("writable");
    }
    let page = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(page == document, "docs/openapi.json is old: cargo xtask compatibility --write");
}

#[tokio::test]
async fn the_document_is_served_and_names_every_path() {
    let world = World::new().await;
    let (status, document) = world.ask("GET", "/api/v1/openapi.json", "").await;
    assert_eq!(status, 200);
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("paths");
    let mut count = 0;
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("methods") {
            // Asked in a namespace that is not there, whatever is served says so; or finds fault
            // with the empty body first.
            let path = path.replace("{namespace}", "nowhere").replace(['{', '}'], "");
            let (status, answer) = world.ask(&method.to_uppercase(), &path, "{}").await;
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            let known = ["not_found", "invalid_argument"].contains(&code);
            assert!(known, "{method} {path}: {status} {answer}");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.contains("no such path"), "{method} {path}: {message}");
            assert!(operation["operationId"].is_string(), "{method} {path} has no name");
            count += 1;
        }
    }
    assert!(count >= 30, "{count} calls");
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document: Value = serde_json::to_value(steadfast_server::openapi()).expect("JSON");
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 50, "{} references", references.len());
    for reference in references {
        let path = reference.strip_prefix('#').expect("within the document");
        assert!(document.pointer(path).is_some(), "{reference} leads nowhere");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            references.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|value| collect(value, references));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What is said to somebody who asks for something that cannot be.
async fn refused(world: &World, method: &str, path: &str, body: &str) -> (u16, String) {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/{path}");
    let (status, answer) = world.ask(method, &path, body).await;
    let error = &answer["error"];
    let text = |name: &str| error[name].as_str().unwrap_or("-").to_owned();
    (status, format!("{} at {}: {}", text("code"), text("field"), text("message")))
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_named() {
    let world = World::new().await;
    let mut told = Vec::new();
    for (method, path, body) in [
        ("GET", "errors?sate=parked", ""),
        ("GET", "errors?state=sad", ""),
        ("GET", "errors?limit=many", ""),
        ("GET", "errors?since=yesterday", ""),
        ("GET", "errors?pageToken=guess", ""),
        ("GET", "errors?fingerprint=xyz", ""),
        ("GET", "errors/groups", ""),
        ("GET", "errors/groups?by=colour", ""),
        ("GET", "errors/x-5", ""),
        ("GET", "settings?all=1", ""),
        ("POST", "errors/resume", "{}"),
        ("POST", "errors/resume", r#"{"select": {}}"#),
        ("POST", "errors/resume", r#"{"select": {"ids": ["1-5"], "all": true}}"#),
        ("POST", "errors/resume", r#"{"select": {"ids": ["x"]}}"#),
        ("POST", "errors/resume", r#"{"select": {"filter": {"flow": "Order"}}}"#),
        ("POST", "errors/resume", r#"{"select": {"filter": {}}}"#),
        ("POST", "errors/resume", r#"{"select": {"all": true}, "resume": {"spread": "soon"}}"#),
        ("POST", "errors/resume", r#"{"select": {"all": "yes"}}"#),
        ("POST", "errors/resume", r#"{"select": {"all": true}} and more"#),
        ("POST", "errors/resume", "{"),
        ("POST", "resume-policies", r#"{"name": "x", "backoff": {}}"#),
        ("POST", "resume-policies", r#"{"name": "x", "backOff": {"delay": "soon"}}"#),
        ("POST", "resume-policies/apply", r#"{"names": []}"#),
        ("PUT", "policies/stripe", r#"{"policy": {"rules": [{"match": {"typ": "X"}}]}}"#),
        ("PUT", "policies/stripe", r#"{"policy": {"rules": [{"match": {"message": "/(/"}}]}}"#),
        ("PUT", "settings", r#"{"endings": [{"ending": "explode"}]}"#),
        ("PATCH", "resume-jobs/none", r#"{"state": "completed"}"#),
        ("PATCH", "resume-jobs/none", "{}"),
        ("DELETE", "settings", ""),
        ("GET", "coffee", ""),
    ] {
        let (status, text) = refused(&world, method, path, body).await;
        told.push(format!("{method} {path} {body}\n  {status} {text}"));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn a_page_of_somebody_elses_changes_nothing() {
    let world = World::new().await;
    let address = world.server.http().expect("an HTTP door");
    let put = async |origin: &str| {
        let headers = format!("content-type: application/json\r\n{origin}");
        let body = r#"{"endings": [{"workflowType": "Order", "ending": "park"}]}"#;
        world.send("PUT", "/api/v1/namespaces/default/settings", &headers, body).await
    };
    for origin in ["origin: http://evil.test\r\n", "origin: null\r\n"] {
        let (status, answer) = put(origin).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &Value::from("permission_denied")));
    }
    let (_, settings) = world.ask("GET", "/api/v1/namespaces/default/settings", "").await;
    assert_eq!(settings["version"], 0, "{settings}");
    assert_eq!(put("").await.0, 200, "a program does not say where it comes from");
    assert_eq!(put(&format!("origin: http://{address}\r\n")).await.0, 200);
}

#[tokio::test]
async fn a_body_must_say_that_it_is_json_and_be_of_a_size() {
    let world = World::new().await;
    let path = format!("/api/v1/namespaces/{NAMESPACE}/errors/resume");
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let (status, answer) = world.send("POST", &path, form, "{}").await;
    assert_eq!((status, &answer["error"]["code"]), (415, &Value::from("unsupported_media_type")));
    let large = " ".repeat(5 * 1024 * 1024);
    let (status, answer) = world.ask("POST", &path, &large).await;
    assert_eq!((status, &answer["error"]["code"]), (413, &Value::from("payload_too_large")));
}

#[tokio::test]
async fn keys_open_the_http_api_as_they_open_the_other_door() {
    let key = |secret: &str, namespace: Option<&str>, right| Key {
        hash: KeyHash::of(secret.as_bytes()),
        namespace: namespace.map(str::to_owned),
        right,
    };
    let keys = Keys::new(vec![
        key("reader", Some(NAMESPACE), Right::Read),
        key("writer", Some(NAMESPACE), Right::Write),
        key("stranger", Some("other"), Right::Admin),
    ]);
    let world = World::with(Limits::default(), Doors { keys, ..doors() }).await;
    let list = format!("/api/v1/namespaces/{NAMESPACE}/resume-policies");
    let new = r#"{"name": "a", "flow": "Order", "maxAttempts": 2, "backOff": {"delay": 1}}"#;
    for (secret, get, post) in [
        ("", 401, 401),
        ("guess", 401, 401),
        ("stranger", 403, 403),
        ("reader", 200, 403),
        ("writer", 200, 200),
    ] {
        let key = match secret {
            "" => String::new(),
            secret => format!("authorization: Bearer {secret}\r\n"),
        };
        let headers = format!("content-type: application/json\r\n{key}");
        assert_eq!(world.send("GET", &list, &headers, "").await.0, get, "{secret} reads");
        assert_eq!(world.send("POST", &list, &headers, new).await.0, post, "{secret} writes");
    }
}
