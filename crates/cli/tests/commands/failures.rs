//! What fails, seen and steered from the command line.

use std::fs;

use steadfast_proto::workflowservice::PollActivityTaskQueueResponse as Attempt;

use crate::{
    rig::{Dev, text},
    worker::charge,
};

/// A server whose HTTP door is open, with a workflow whose activity has failed once.
fn failing() -> Dev {
    failing_after().0
}

/// As [`failing`], with the attempt that has failed.
fn failing_after() -> (Dev, Attempt) {
    let dev = Dev::with(&["--metrics-port", "0"]);
    dev.start_order("order-1");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    let attempt = worker.fail_attempt("no money");
    (dev, attempt)
}

/// What a command says that is given a file with this document.
fn with_file(dev: &Dev, args: &[&str], document: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("document.yaml");
    fs::write(&file, document).expect("writable");
    dev.says(&[args, &[file.to_str().expect("text")]].concat())
}

#[test]
fn what_fails_is_seen_parked_and_resumed() {
    let dev = failing();
    let listed = dev.says(&["errors"]);
    for part in ["retrying", "Order order-1", "Charge", "CardError: no money", "next attempt in"] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    assert!(dev.says(&["errors", "--by", "cause"]).contains("no money"));
    assert!(dev.says(&["attempts", "order-1"]).contains("retry in 1h: backoff"));
    assert!(dev.says(&["park", "-w", "order-1", "--reason", "why not"]).contains("parked"));
    assert!(dev.says(&["errors", "--state", "parked"]).contains("waits for a resume"));
    let policy = "name: cards\nflow: Order\nmaxAttempts: 5\nbackOff: {delay: 3600}\n";
    assert_eq!(with_file(&dev, &["resume-policy", "dry-run"], policy), "can apply to 1 error\n");
    assert!(with_file(&dev, &["resume-policy", "create"], policy).contains("Priority  50"));
    let applied = dev.says(&["resume-policy", "apply", "cards"]);
    assert_eq!(applied, "applied resume policy \"cards\" to 1 error\n");
    assert!(dev.says(&["errors"]).contains("policy cards"));
    assert!(dev.says(&["resume", "--all"]).contains("resumed"));
    let attempt = dev.worker().attempt();
    assert_eq!(attempt.attempt, 2);
    assert!(dev.says(&["settings", "changes"]).contains("created resume policy cards"));
}

#[test]
fn what_cannot_be_is_refused_with_a_code() {
    let dev = failing();
    let (code, told) = dev.refuses(&["resume"]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("say which errors are meant"), "{told}");
    let (code, told) = dev.refuses(&["errors", "show", "999-5"]);
    assert_eq!(code, 3, "{told}");
    let (code, told) = dev.refuses(&["resume", "1-5"]);
    assert_eq!(code, 1, "{told}");
    let nowhere = ["errors", "--http-address", "127.0.0.1:1"];
    let (code, told) = dev.refuses(&nowhere);
    assert_eq!(code, 4, "{told}");
    assert!(told.contains("--http-address"), "{told}");
}

/// The key that an attempt is given.
fn key(attempt: &Attempt) -> &[u8] {
    &attempt.header.as_ref().expect("a header").fields["steadfast-idempotency-key"].data
}

#[test]
fn a_resume_that_comes_late_wants_a_new_idempotency_key() {
    let (dev, first) = failing_after();
    // Whoever is charged remembers it for so short a time that it is over whenever somebody resumes.
    with_file(&dev, &["settings", "put"], "idempotency: [{workflowType: Order, ttl: 1ms}]");
    dev.says(&["park", "--all"]);
    let refused = dev.output(&["resume", "--all"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    let told = text(&refused.stdout);
    assert!(told.contains("remembered for 1ms") && told.contains("rekey"), "{told}");
    assert!(dev.says(&["resume", "--all", "--rekey"]).contains("resumed"));
    let second = dev.worker().attempt();
    assert_eq!(second.attempt, 2);
    assert_ne!(key(&first), key(&second));
}

#[test]
fn what_no_webhook_takes_is_listed_sent_again_and_dropped() {
    let dev = failing();
    assert_eq!(dev.says(&["webhook", "list"]), "everything was taken\n");
    // An address that cannot be used is not tried again and again.
    with_file(&dev, &["settings", "put"], "notify: [{webhook: 'http://'}]");
    dev.says(&["park", "--all"]);
    let first = set_aside(&dev);
    let listed = dev.says(&["webhook", "list"]);
    for part in ["set_aside", "order-1", "http://", "the address cannot be used"] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    assert_eq!(dev.says(&["webhook", "resend"]), "1 document sent again\n");
    let second = set_aside(&dev);
    assert_ne!(first, second, "it was sent anew");
    let (code, told) = dev.refuses(&["webhook", "discard", "999"]);
    assert_eq!(code, 3, "{told}");
    assert_eq!(dev.says(&["webhook", "discard", &second]), "1 document dropped\n");
    assert_eq!(dev.says(&["webhook", "list"]), "everything was taken\n");
}

/// The id of the only document, once it is set aside.
fn set_aside(dev: &Dev) -> String {
    loop {
        let listed = dev.json(&["webhook", "list"]);
        match listed.as_array().map(Vec::as_slice) {
            Some([one]) if one["state"] == "set_aside" => return one["id"].to_string(),
            _ => {}
        }
    }
}
