//! Signals and cancel requests to other runs.

use crate::common::check;

#[test]
fn a_signal_to_another_run_is_sent_until_it_is_answered() {
    insta::assert_snapshot!(check("
        0 run Order signal-external(x,go) cancel-external(y)
        0 show effects work
        1 crash
        1 show work
        1 answered x
        2 answered y
        2 show work
    "), @r"
       5     0.000  SignalExternalWorkflowExecutionInitiated x go
       6     0.000  RequestCancelExternalWorkflowExecutionInitiated y
       7     1.000  ExternalWorkflowExecutionSignaled #5
       8     1.000  WorkflowTaskScheduled
       9     2.000  ExternalWorkflowExecutionCancelRequested #6
    effects at 0: send #5; send #6
    work at 0: true
    work at 1: true
    work at 2: true
    ");
}

#[test]
fn a_run_that_cannot_be_reached_is_told_to_the_workflow() {
    insta::assert_snapshot!(check("
        0 run Order signal-external(a,go) signal-external(b,go) signal-external(c,go) cancel-external(d) cancel-external(e)
        1 answered a not-found
        1 answered b no-namespace
        1 answered c too-many
        1 answered d not-found
        1 answered e no-namespace
    "), @r"
     5     0.000  SignalExternalWorkflowExecutionInitiated a go
     6     0.000  SignalExternalWorkflowExecutionInitiated b go
     7     0.000  SignalExternalWorkflowExecutionInitiated c go
     8     0.000  RequestCancelExternalWorkflowExecutionInitiated d
     9     0.000  RequestCancelExternalWorkflowExecutionInitiated e
    10     1.000  SignalExternalWorkflowExecutionFailed #5 ExternalWorkflowExecutionNotFound
    11     1.000  WorkflowTaskScheduled
    12     1.000  SignalExternalWorkflowExecutionFailed #6 NamespaceNotFound
    13     1.000  SignalExternalWorkflowExecutionFailed #7 SignalCountLimitExceeded
    14     1.000  RequestCancelExternalWorkflowExecutionFailed #8 ExternalWorkflowExecutionNotFound
    15     1.000  RequestCancelExternalWorkflowExecutionFailed #9 NamespaceNotFound
    ");
}

#[test]
fn an_answer_counts_once() {
    insta::assert_snapshot!(check("
        0 run Order signal-external(x,go)
        1 answered #5
        2 answered #5
        3 answered #99
    "), @r"
       5     0.000  SignalExternalWorkflowExecutionInitiated x go
       6     1.000  ExternalWorkflowExecutionSignaled #5
       7     1.000  WorkflowTaskScheduled
    refused at 2: workflow execution not found
    refused at 3: workflow execution not found
    ");
}

#[test]
fn the_request_keeps_its_id_over_a_restart_so_that_it_is_taken_once() {
    let world = crate::common::World::default().play("0 run Order signal-external(x,go)");
    let id = |world: &crate::common::World| {
        let (_, external) = world.story().run.externals().iter().next().unwrap();
        external.row.request_id.clone()
    };
    let before = id(&world);
    assert!(!before.is_empty());
    assert_eq!(id(&world.play("1 crash")), before);
}
