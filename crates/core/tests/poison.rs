//! Work that ends its workers, and workflow code that fails over and over.

use crate::common::check;

#[test]
fn what_ends_its_workers_is_tried_alone_and_then_parked() {
    insta::assert_snapshot!(check("
        0 rules poison=3
        0 run Order schedule(a,Charge,stc=50s,hb=5s,init=1s,coef=1)
        0 take a by=w1 company=4
        5 tick
        6 tick
        6 show alone
        6 take a by=w2 company=3
        11 tick
        12 tick
        12 show alone
        12 crash
        12 take a by=w3 company=1
        17 tick
        17 show activities errors attempts
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    alone at 6: none
    alone at 12: a
    activities at 17: a PAUSED attempt=4 last="activity Heartbeat timeout";
    errors at 17: #5 parked x3 "Timeout:HEARTBEAT" "activity Heartbeat timeout" 5..17 "3 attempts in a row ended with their worker"
    attempts at 17: a/1: retry in 1s: backoff, next 6; a/2: retry in 1s: backoff, next 12; a/3: park: 3 attempts in a row ended with their worker
    "#);
}

#[test]
fn a_report_of_any_kind_clears_it() {
    insta::assert_snapshot!(check("
        0 rules poison=2
        0 run Order schedule(a,Charge,stc=50s,hb=5s,init=1s,coef=1)
        0 take a by=w1
        5 tick
        6 tick
        6 show alone
        6 take a by=w2
        7 fail a boom
        8 tick
        8 show alone
        8 take a by=w1
        13 tick
        14 tick
        14 take a by=w2
        19 tick
        19 show errors
        20 resume a
        20 show alone
        20 take a by=w3
        25 tick
        26 resume a reset-attempts
        26 show alone errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    alone at 6: a
    alone at 8: none
    errors at 19: #5 parked x4 "Timeout:HEARTBEAT" "activity Heartbeat timeout" 5..19 "2 attempts in a row ended with their worker"
    alone at 20: a
    alone at 26: none
    errors at 26: #5 retrying x5 "Timeout:HEARTBEAT" "activity Heartbeat timeout" 5..25 next=26 "resumed by operator" resumes=2
    "#);
}

#[test]
fn one_worker_is_asked_more_often() {
    insta::assert_snapshot!(check("
        0 rules poison=2
        0 run Order schedule(a,Charge,stc=50s,hb=5s,init=1s,coef=1)
        0 take a
        5 tick
        6 tick
        6 take a
        11 tick
        12 tick
        12 take a
        17 tick
        17 show activities
        18 tick
        18 take a
        23 tick
        23 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 17: a SCHEDULED attempt=4 last="activity Heartbeat timeout" wait=1s;
    errors at 23: #5 parked x4 "Timeout:HEARTBEAT" "activity Heartbeat timeout" 5..23 "4 attempts in a row ended with their worker"
    "#);
}

#[test]
fn who_was_there_by_chance_is_not_condemned() {
    insta::assert_snapshot!(check("
        0 rules poison=2
        0 workers tenants=50
        0 run Order schedule(a,Charge,stc=50s,hb=5s,init=1s,coef=1)
        0 take a by=w1
        5 tick
        6 tick
        6 take a by=w2
        11 tick
        12 tick
        12 take a by=w3
        17 tick
        17 show activities
        18 tick
        18 workers tenants=1
        18 take a by=w4
        23 tick
        23 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 17: a SCHEDULED attempt=4 last="activity Heartbeat timeout" wait=1s;
    errors at 23: #5 parked x4 "Timeout:HEARTBEAT" "activity Heartbeat timeout" 5..23 "4 attempts in a row ended with their worker"
    "#);
}

#[test]
fn slow_work_is_told_from_work_that_ends_its_worker() {
    insta::assert_snapshot!(check("
        0 rules poison=1
        0 run Order schedule(a,Charge,stc=5s,init=1s,coef=1) schedule(b,Charge,stc=5s,hb=4s,init=1s,coef=1)
        0 take a by=w1
        0 take b by=w1
        3 beat b half
        5 tick
        5 show activities
        6 tick
        6 workers well=yes
        6 take a by=w1
        11 tick
        12 tick
        12 show alone
        12 workers well=no
        12 take a by=w1
        17 tick
        17 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    activities at 5: a SCHEDULED attempt=2 last="activity StartToClose timeout" wait=1s; b SCHEDULED attempt=2 last="activity StartToClose timeout" beat=half wait=1s;
    alone at 12: none
    errors at 17: #5 parked x3 "Timeout:START_TO_CLOSE" "activity StartToClose timeout" 5..17 "1 attempts in a row ended with their worker"; #6 retrying x1 "Timeout:START_TO_CLOSE" "activity StartToClose timeout" 5..5 next=6 "retry in 1s: backoff"
    "#);
}

#[test]
fn code_that_fails_over_and_over_is_parked_where_operators_say_so() {
    insta::assert_snapshot!(check("
        0 rules tasks=3
        0 start Order
        0 take-task
        0 fail-task nondeterminism broken
        1 take-task
        1 fail-task nondeterminism broken
        2 take-task
        12 tick
        12 show errors effects due attempts
        13 take-task
        14 signal s
        14 show effects
        3000 tick
        3000 crash
        3001 resume-task by=ann why=fixed id=r1
        3001 show errors effects
        3001 resume-task by=ann why=fixed id=r1
        3002 resume-task by=bob
        3003 take-task
        3004 fail-task nondeterminism broken
        3004 show errors
        3005 resume-task by=ann
        3006 take-task
        3007 complete done(ok)
        3007 show errors
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskFailed NonDeterministicError "broken"
       5    14.000  WorkflowExecutionSignaled s
       6  3003.000  WorkflowTaskScheduled
       7  3003.000  WorkflowTaskStarted
       8  3004.000  WorkflowTaskFailed NonDeterministicError "broken"
       9  3005.000  WorkflowTaskScheduled attempt=2
      10  3006.000  WorkflowTaskStarted
      11  3007.000  WorkflowTaskCompleted
      12  3007.000  WorkflowExecutionCompleted ok
    errors at 12: #-1 parked x3 "Timeout:START_TO_CLOSE" "workflow task timeout" 0..12 "park: 3 workflow tasks in a row have failed"
    effects at 12: none
    due at 12: never
    attempts at 12: /1: retry: workflow tasks are tried until one succeeds; /2: retry: workflow tasks are tried until one succeeds; /3: park: 3 workflow tasks in a row have failed
    refused at 13: Workflow task not found.
    effects at 14: none
    errors at 3001: #-1 retrying x3 "Timeout:START_TO_CLOSE" "workflow task timeout" 0..12 "resumed by ann: fixed"
    effects at 3001: task
    refused at 3002: the workflow task is not parked
    errors at 3004: #-1 parked x4 "NonDeterministicError" "broken" 0..3004 "park: 4 workflow tasks in a row have failed"
    errors at 3007: none
    "#);
}

#[test]
fn code_is_tried_for_ever_where_nobody_says_otherwise() {
    let failures = (0..20).map(|n| n * 1_000);
    let failures = failures.map(|at| format!("{at} tick\n{at} take-task\n{at} fail-task"));
    let end = "30000 tick\n30000 show errors effects\n30000 resume-task".to_owned();
    let lines = std::iter::once("0 start Order".to_owned()).chain(failures).chain([end]);
    let told = check(&lines.collect::<Vec<_>>().join("\n"));
    assert!(told.contains("#-1 retrying x20"), "{told}");
    assert!(told.contains("refused at 30000: the workflow task is not parked"), "{told}");
}
