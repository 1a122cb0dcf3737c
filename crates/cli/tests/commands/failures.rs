//! What fails, seen and steered from the command line.

use std::fs;

use crate::{
    rig::{Dev, masked, refusal, text},
    worker::charge,
};

/// A server whose HTTP door is open, with a workflow whose activity has failed once.
fn failing() -> (Dev, Vec<(String, String)>) {
    let dev = Dev::with(&["--metrics-port", "0"]);
    let http = dev.http.clone().expect("an HTTP door");
    dev.start_order("order-1");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    worker.fail_attempt("no money");
    (dev, vec![("STEADFAST_HTTP_ADDRESS".to_owned(), http)])
}

#[test]
fn what_fails_is_seen_parked_and_resumed() {
    let (dev, env) = failing();
    let says = |args: &[&str]| {
        let output = dev.command(args).envs(env.clone()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        masked(&text(&output.stdout))
    };
    let listed = says(&["errors"]);
    for part in ["retrying", "Order order-1", "Charge", "CardError: no money", "next attempt in"] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    assert!(says(&["errors", "--by", "cause"]).contains("no money"));
    assert!(says(&["attempts", "order-1"]).contains("retry in 1h: backoff"));
    assert!(says(&["park", "-w", "order-1", "--reason", "why not"]).contains("parked"));
    assert!(says(&["errors", "--state", "parked"]).contains("waits for a resume"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("policy.yaml");
    let policy = "name: cards\nflow: Order\nmaxAttempts: 5\nbackOff: {delay: 3600}\n";
    fs::write(&file, policy).expect("writable");
    let file = file.to_str().expect("text");
    assert_eq!(says(&["resume-policy", "dry-run", file]), "can apply to 1 error\n");
    assert!(says(&["resume-policy", "create", file]).contains("Priority  50"));
    let applied = says(&["resume-policy", "apply", "cards"]);
    assert_eq!(applied, "applied resume policy \"cards\" to 1 error\n");
    assert!(says(&["errors"]).contains("policy cards"));
    assert!(says(&["resume", "--all"]).contains("resumed"));
    let attempt = dev.worker().attempt();
    assert_eq!(attempt.attempt, 2);
    assert!(says(&["settings", "changes"]).contains("created resume policy cards"));
}

#[test]
fn what_cannot_be_is_refused_with_a_code() {
    let (dev, env) = failing();
    let refuses =
        |args: &[&str]| refusal(&dev.command(args).envs(env.clone()).output().expect("it starts"));
    let (code, told) = refuses(&["resume"]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("say which errors are meant"), "{told}");
    let (code, told) = refuses(&["errors", "show", "999-5"]);
    assert_eq!(code, 3, "{told}");
    let (code, told) = refuses(&["resume", "1-5"]);
    assert_eq!(code, 1, "{told}");
    let nowhere = ["errors", "--http-address", "127.0.0.1:1"];
    let (code, told) = refuses(&nowhere);
    assert_eq!(code, 4, "{told}");
    assert!(told.contains("--http-address"), "{told}");
}
