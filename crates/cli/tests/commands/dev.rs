//! `steadfast server start-dev`, as SDK test environments use it.

use std::{
    io::Read as _,
    process::Command,
    time::{Duration, Instant},
};

use crate::rig::Dev;

#[test]
fn namespaces_search_attributes_and_settings_are_there_from_the_start() {
    let mut dev = Dev::with(&[
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
    dev.child.kill().expect("it ends");
    let mut warnings = String::new();
    let mut stderr = dev.child.stderr.take().expect("piped");
    stderr.read_to_string(&mut warnings).expect("text");
    assert_eq!(warnings, "warning: --dynamic-config-value no.such.key: not known here\n");
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
