//! `steadfast workflow`.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use insta::assert_snapshot;
use serde_json::json;

use crate::{
    rig::{Dev, masked, text},
    worker::{charge, complete, continue_as_new, fail},
};

#[test]
fn a_workflow_is_started_listed_counted_and_shown() {
    let dev = Dev::start();
    let said = dev.says(&[
        "workflow",
        "start",
        "--type",
        "Order",
        "-t",
        "orders",
        "-w",
        "order-1",
        "-i",
        "{\"n\":1}",
        "-i",
        "-2",
        "--memo",
        "note=hello",
    ]);
    assert_snapshot!(said, @"started workflow order-1, run <id>");
    assert_snapshot!(dev.says(&["workflow", "list"]), @r"
    STATUS   WORKFLOW ID  TYPE   STARTED                   CLOSED  RUN ID
    Running  order-1      Order  <time>          <id>
    ");
    let counted = ["workflow", "count", "-q", "GROUP BY ExecutionStatus"];
    assert_snapshot!(dev.says(&counted), @r#"
    COUNT  GROUP
    1      "Running"
    "#);
    assert_snapshot!(dev.says(&["workflow", "describe", "-w", "order-1"]), @r#"
    Workflow id    order-1
    Run id         <id>
    Type           Order
    Status         Running
    Task queue     orders
    Started        <time> (<distance>)
    History        2 events, <size> bytes
    Memo           note = "hello"
    Workflow task  Scheduled, attempt 1, scheduled <time> (<distance>)
    Unattended     no worker polls task queue "orders" for workflows
    "#);
    let mut worker = dev.worker();
    worker.step(vec![complete("\"done\"")]);
    assert_snapshot!(dev.says(&["workflow", "show", "-w", "order-1"]), @r#"
    1  <time>  WorkflowExecutionStarted          Order  attempt 1  input {"n":1}, -2
    2  <time>  WorkflowTaskScheduled             attempt 1
    3  <time>  WorkflowTaskStarted
    4  <time>  WorkflowTaskCompleted
    5  <time>  WorkflowExecutionCompleted        result "done"
    "#);
    assert_eq!(dev.says(&["workflow", "result", "-w", "order-1"]), "\"done\"\n");
}

#[test]
fn json_is_the_apis_own_with_payloads_decoded() {
    let dev = Dev::start();
    let run = dev.json(&[
        "workflow",
        "start",
        "--type",
        "Order",
        "-t",
        "orders",
        "-w",
        "order-1",
        "--memo",
        "note={\"a\":1}",
    ]);
    let listed = dev.json(&["workflow", "list"]);
    assert_eq!(listed[0]["execution"], json!({ "workflowId": "order-1", "runId": run["runId"] }));
    assert_eq!(listed[0]["status"], "WORKFLOW_EXECUTION_STATUS_RUNNING");
    assert_eq!(listed[0]["memo"]["fields"]["note"], json!({ "a": 1 }));
    dev.worker().step(vec![complete("{\"total\":7}")]);
    let result = dev.json(&["workflow", "result", "-w", "order-1"]);
    assert_eq!(
        result,
        json!({
            "workflowId": "order-1",
            "runId": run["runId"],
            "status": "COMPLETED",
            "result": { "total": 7 },
        })
    );
    let history = dev.json(&["workflow", "show", "-w", "order-1"]);
    let last = &history["events"][4]["workflowExecutionCompletedEventAttributes"];
    assert_eq!(last["result"]["payloads"][0]["data"], "eyJ0b3RhbCI6N30=", "as SDKs replay it");
}

#[test]
fn a_failed_workflow_is_told_with_its_causes_and_exits_with_5() {
    let dev = Dev::start();
    dev.start_order("order-1");
    dev.worker().step(vec![fail()]);
    let (code, error) = dev.refuses(&["workflow", "result", "-w", "order-1"]);
    assert_eq!(code, 5);
    assert_snapshot!(error, @r"
    error: workflow order-1 failed: OrderError: the order cannot be kept
    caused by: CardError: no money
    ");
    let output = dev.output(&["workflow", "result", "-w", "order-1", "-o", "json"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &answer["status"]), (Some(5), &json!("FAILED")));
    assert_eq!(answer["failure"]["cause"]["message"], "no money");
}

#[test]
fn the_history_of_a_retried_activity_shows_the_attempt_and_the_reason() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    worker.fail_attempt("no money");
    dev.says(&["activity", "reset", "-w", "order-1", "-a", "charge-1"]);
    worker.attempt();
    dev.says(&["activity", "complete", "-w", "order-1", "-a", "charge-1", "--result", "\"ok\""]);
    worker.step(vec![complete("null")]);
    assert_snapshot!(dev.says(&["workflow", "show", "-w", "order-1"]), @r#"
     1  <time>  WorkflowExecutionStarted          Order  attempt 1  input {"n":1}
     2  <time>  WorkflowTaskScheduled             attempt 1
     3  <time>  WorkflowTaskStarted
     4  <time>  WorkflowTaskCompleted
     5  <time>  ActivityTaskScheduled             Charge
     6  <time>  ActivityTaskStarted               Charge  attempt 1  after: CardError: no money
     7  <time>  ActivityTaskCompleted             Charge  result "ok"
     8  <time>  WorkflowTaskScheduled             attempt 1
     9  <time>  WorkflowTaskStarted
    10  <time>  WorkflowTaskCompleted
    11  <time>  WorkflowExecutionCompleted        result null
    "#);
    let coloured = dev.says(&["workflow", "show", "-w", "order-1", "--color", "always"]);
    assert!(coloured.contains("\u{1b}[32mActivityTaskCompleted"), "{coloured:?}");
}

#[test]
fn a_history_is_followed_until_the_run_has_closed() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let mut follower = dev
        .command(&["workflow", "show", "-w", "order-1", "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped")).lines();
    let mut line = || masked(&lines.next().expect("another line").expect("text"));
    assert!(line().contains("WorkflowExecutionStarted"));
    assert!(line().contains("WorkflowTaskScheduled"));
    dev.says(&["workflow", "signal", "-w", "order-1", "--name", "hurry", "-i", "\"now\""]);
    assert_snapshot!(line(), @r#"    3  <time>  WorkflowExecutionSignaled         hurry  input "now""#);
    dev.says(&["workflow", "terminate", "-w", "order-1", "--reason", "no more"]);
    assert_snapshot!(line(), @"    4  <time>  WorkflowExecutionTerminated       no more");
    assert_eq!(follower.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_query_is_answered_by_the_worker() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    let asking = dev
        .command(&["workflow", "query", "-w", "order-1", "--name", "state"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    worker.answer_query();
    let output = asking.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stdout), "\"state it is\"\n");
}

#[test]
fn a_reset_workflow_goes_on_as_another_run() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    let reset = ["workflow", "reset", "-w", "order-1", "-t", "LastWorkflowTask"];
    assert_snapshot!(dev.says(&reset), @"reset workflow order-1 to event 4; it goes on as run <id>");
    worker.step(vec![complete("null")]);
    dev.says(&["workflow", "delete", "-w", "order-1"]);
}

#[test]
fn a_reset_may_go_back_to_the_run_before() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let reset = ["workflow", "reset", "-w", "order-1", "-t", "LastContinuedAsNew"];
    let (code, error) = dev.refuses(&reset);
    assert_eq!(code, 2);
    assert!(error.contains("no run of workflow order-1 came before this one"), "{error}");
    let mut worker = dev.worker();
    worker.step(vec![charge()]);
    dev.says(&["activity", "complete", "-w", "order-1", "-a", "charge-1", "--result", "\"ok\""]);
    worker.step(vec![continue_as_new()]);
    worker.step(vec![complete("null")]);
    assert_snapshot!(dev.says(&reset), @"reset workflow order-1 to event 10; it goes on as run <id>");
    let shown = dev.says(&["workflow", "show", "-w", "order-1"]);
    assert!(shown.contains("ActivityTaskCompleted"), "it is the first run again: {shown}");
}

#[test]
fn a_cancelled_workflow_hears_of_it() {
    let dev = Dev::start();
    dev.start_order("order-1");
    let said = dev.says(&["workflow", "cancel", "-w", "order-1", "--reason", "changed my mind"]);
    assert_snapshot!(said, @"asked workflow order-1 to cancel itself");
    let shown = dev.says(&["workflow", "show", "-w", "order-1"]);
    assert!(shown.contains("WorkflowExecutionCancelRequested"), "{shown}");
    assert!(shown.contains("changed my mind"), "{shown}");
}
