//! `steadfast server start-dev`, as SDK test environments use it.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    time::{Duration, Instant},
};

use steadfast_proto::history::history_event::Attributes;

use crate::rig::{Dev, command, free_port, refusal};

#[test]
fn namespaces_search_attributes_and_settings_are_there_from_the_start() {
    let dev = Dev::with(&[
        "--namespace",
        "one",
        "-n",
        "two",
        "--search-attribute",
        "Colour=Keyword",
        "--ui-port",
        "0",
        "--log-level",
        "warn",
        "--log-format",
        "pretty",
        "--dynamic-config-value",
        "frontend.enableUpdateWorkflowExecution=true",
        "--dynamic-config-value",
        "limit.blobSize.error=10",
        "--dynamic-config-value",
        "no.such.key=1",
    ]);
    for namespace in ["default", "one", "two"] {
        dev.says(&["namespace", "describe", namespace]);
        dev.says(&["workflow", "count", "-n", namespace, "-q", "Colour = 'red'"]);
    }
    let start = ["workflow", "start", "--type", "T", "-t", "q", "-i", "\"longer than ten\""];
    let (_, error) = dev.refuses(&start);
    assert!(error.contains("exceeds"), "{error}");
    let logged = logged(dev);
    let [pages, setting] = logged.lines().collect::<Vec<_>>()[..] else { panic!("{logged}") };
    assert!(pages.ends_with("--ui-port beside --headless has no effect here"), "{logged}");
    assert!(setting.ends_with("--dynamic-config-value no.such.key has no effect here"), "{logged}");
}

#[test]
fn the_log_is_as_loud_and_in_the_form_that_was_asked_for() {
    let in_vain = ["--sqlite-pragma", "cache_size=7"];
    let log = |flags: &[&str]| logged(Dev::with(&[&in_vain[..], flags].concat()));
    assert_eq!(log(&["--log-level", "error"]), "");
    assert_eq!(log(&["--log-level", "never"]), "");
    let json = log(&["--log-format", "json"]);
    let line: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(line["fields"]["message"], "--sqlite-pragma cache_size=7 has no effect here");
    let refused = command(&["server", "start-dev", "--log-level", "loud"]).output();
    let (code, error) = refusal(&refused.expect("the binary starts"));
    assert_eq!(code, 2);
    assert!(error.contains("--log-level: \"loud\" is not a level"), "{error}");
}

#[test]
fn numbers_and_health_are_where_they_were_asked_for() {
    assert_eq!(Dev::start().http, None);
    for flag in ["--metrics-port", "--http-port"] {
        let dev = Dev::with(&[flag, "0"]);
        let address = dev.http.as_ref().expect("an HTTP door");
        let answer = page(address, "/metrics");
        assert!(answer.contains("steadfast_rpc_in_flight"), "{flag}: {answer}");
    }
}

#[test]
fn there_is_one_http_door_and_who_asks_for_two_is_told() {
    let dev = Dev::with(&["--metrics-port", "0", "--http-port", "1"]);
    let address = dev.http.clone().expect("an HTTP door");
    assert!(!address.ends_with(":1"), "{address}");
    let logged = logged(dev);
    assert!(logged.contains("--http-port beside --metrics-port has no effect here"), "{logged}");
    let same = Dev::with(&["--metrics-port", "0", "--http-port", "0"]);
    assert_eq!(self::logged(same), "");
}

/// What is at an address of an HTTP door.
fn page(address: &str, path: &str) -> String {
    page_of(address, address, path)
}

/// The same, asked for by a name.
fn page_of(name: &str, address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn the_pages_are_where_they_were_asked_for_or_above_the_port() {
    let dev = Dev::shown("0", &["--ui-port", "0", "--namespace", "shop"]);
    let pages = page(dev.http.as_ref().expect("pages"), "/namespaces");
    assert!(pages.starts_with("HTTP/1.1 200 OK"), "{pages}");
    assert!(pages.contains("shop"), "{pages}");
    drop(dev);
    let port = free_port();
    let dev = Dev::shown(&port.to_string(), &[]);
    assert_eq!(dev.http, Some(format!("127.0.0.1:{}", port + 1_000)));
}

#[test]
fn pages_are_shown_under_the_names_that_were_given() {
    let dev = Dev::shown("0", &["--ui-port", "0", "--http-names", "flows.example,box"]);
    let address = dev.http.as_ref().expect("pages");
    for name in ["flows.example", "BOX:80", "localhost"] {
        let answer = page_of(name, address, "/namespaces");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{name}: {answer}");
    }
    let answer = page_of("evil.test", address, "/namespaces");
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden"), "{answer}");
}

#[test]
fn somebody_else_above_the_port_leaves_the_server_without_pages() {
    let port = free_port();
    let _somebody = TcpListener::bind(("127.0.0.1", port + 1_000)).expect("it is free");
    let dev = Dev::shown(&port.to_string(), &[]);
    assert_eq!(dev.http, None);
    dev.says(&["namespace", "describe", "default"]);
    let logged = logged(dev);
    assert!(logged.contains("there are no pages: cannot listen on"), "{logged}");
}

#[test]
fn other_machines_may_come_in_and_that_is_told() {
    let dev = Dev::with(&["--ip", "0.0.0.0"]);
    let port = dev.address.strip_prefix("0.0.0.0:").expect("every address");
    let here = format!("127.0.0.1:{port}");
    dev.says(&["namespace", "describe", "default", "--address", &here]);
    let logged = logged(dev);
    assert!(logged.contains("nothing asks who calls"), "{logged}");
}

#[test]
fn a_run_is_asked_to_continue_as_new_as_soon_as_was_said() {
    let suggest = "limit.historyCount.suggestContinueAsNew=2";
    let suggested = |dev: Dev| {
        dev.start_order("order-1");
        let shown = dev.worker().task().history.expect("a history");
        let Some(Attributes::WorkflowTaskStartedEventAttributes(it)) =
            shown.events.into_iter().next_back().and_then(|event| event.attributes)
        else {
            panic!("the task was started last");
        };
        it.suggest_continue_as_new
    };
    assert!(!suggested(Dev::start()));
    assert!(suggested(Dev::with(&["--dynamic-config-value", suggest])));
}

/// What it has logged when it ends.
fn logged(mut dev: Dev) -> String {
    dev.child.kill().expect("it ends");
    let mut logged = String::new();
    let mut stderr = dev.child.stderr.take().expect("piped");
    stderr.read_to_string(&mut logged).expect("text");
    logged
}

#[test]
fn what_is_in_a_file_is_there_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dev.db").display().to_string();
    let flags = ["--db-filename", file.as_str(), "--namespace", "one"];
    let mut dev = Dev::with(&flags);
    dev.start_order("order-1");
    signal(&dev, "INT");
    assert_eq!(dev.child.wait().expect("it ends").code(), Some(0));
    let dev = Dev::with(&flags);
    assert!(dev.says(&["workflow", "list"]).contains("order-1"));
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a process is timed by the machine's own clock")]
fn it_stops_at_once_even_while_workers_wait() {
    for name in ["INT", "TERM"] {
        let mut dev = Dev::start();
        let worker = dev.worker();
        worker.wait_in_vain();
        // The poll is there when the queue knows of it.
        while !dev.says(&["task-queue", "describe", "-t", "orders"]).contains("worker-1") {}
        let begun = Instant::now();
        signal(&dev, name);
        assert_eq!(dev.child.wait().expect("it ends").code(), Some(0), "{name}");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1), "{name}: {took:?}");
        let last = dev.lines.next().expect("a line").expect("text");
        assert_eq!(last, "stopped");
    }
}

/// Asks it to stop.
fn signal(dev: &Dev, name: &str) {
    let id = dev.child.id().to_string();
    let sent = Command::new("kill").args([format!("-{name}"), id]).status();
    assert!(sent.expect("kill starts").success());
}
