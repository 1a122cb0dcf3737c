//! `steadfast activity`.

use insta::assert_snapshot;

use crate::{rig::Dev, worker::charge};

#[test]
fn a_pending_activity_shows_its_attempt_its_failure_and_when_it_goes_on() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    let described = dev.says(&["workflow", "describe", "-w", "order-1"]);
    let unattended = "Unattended   no worker polls task queue \"orders\" for activities\n";
    assert!(described.contains(unattended), "{described}");
    worker.fail_attempt("no money");
    assert_snapshot!(dev.says(&["workflow", "describe", "-w", "order-1"]), @r"
    Workflow id  order-1
    Run id       <id>
    Type         Order
    Status       Running
    Task queue   orders
    Started      <time> (<distance>)
    History      5 events, <size> bytes

    Pending activities:
      Activity      Charge charge-1
      State         Scheduled
      Attempt       2 of 5
      Last failure  CardError: no money
      Last started  <time> (<distance>)
      Next attempt  <time> (<distance>)
      Worker        worker-1
    ");
    assert_snapshot!(dev.says(&["activity", "list", "-w", "order-1"]), @r"
    ACTIVITY ID  TYPE    STATE      ATTEMPT  NEXT ATTEMPT                           LAST FAILURE
    charge-1     Charge  Scheduled  2 of 5   <time> (<distance>)  CardError: no money
    ");
}

#[test]
fn an_activity_is_paused_changed_and_unpaused() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    worker.fail_attempt("no money");
    let which = ["-w", "order-1", "-a", "charge-1"];
    let call = |command: &str, more: &[&str]| {
        dev.says(&[&["activity", command][..], &which[..], more].concat())
    };
    assert_snapshot!(call("pause", &["--reason", "the bank is closed"]), @"paused activity charge-1 of workflow order-1");
    let described = dev.says(&["workflow", "describe", "-w", "order-1"]);
    assert!(described.contains("tester@here: the bank is closed"), "{described}");
    let changed = call("update-options", &["--retry-maximum-attempts", "9"]);
    assert_snapshot!(changed, @r"
    Task queue      orders
    Start to close  1m
    Retry after     1h
    Backoff         1
    Longest wait    100h
    Attempts        9
    ");
    assert_snapshot!(call("unpause", &[]), @"unpaused activity charge-1 of workflow order-1");
    assert_snapshot!(call("reset", &[]), @"reset activity charge-1 of workflow order-1");
    worker.attempt();
    assert_snapshot!(call("fail", &["--reason", "by hand"]), @"failed activity charge-1 of workflow order-1");
    let listed = dev.says(&["activity", "list", "-w", "order-1"]);
    assert!(listed.contains("by hand"), "{listed}");
    let (code, error) = dev.refuses(&["activity", "update-options", "-w", "x", "-a", "y"]);
    assert_eq!(
        (code, error.as_str()),
        (2, "error: nothing to change; give an option, such as --task-queue\n")
    );
}
