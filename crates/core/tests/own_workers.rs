//! Workers inside the engine's process: what they have in hand when it ends is taken back.

use crate::common::check;

#[test]
fn an_attempt_of_a_process_that_ended_fails_and_is_tried_again() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=1h,init=5s)
        0 take a process=3
        0 show work
        1 beat a half
        2 take-back 3
        2 show activities
        2 take-back 4
        2 show activities due
        7 tick
        7 take a process=4
        8 finish a ok
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     7.000  ActivityTaskStarted #5 attempt=2 "the process that ran this attempt ended"
       7     8.000  ActivityTaskCompleted #5 ok
       8     8.000  WorkflowTaskScheduled
    work at 0: true
    activities at 2: a STARTED attempt=1 beat=half;
    activities at 2: a SCHEDULED attempt=2 last="the process that ran this attempt ended" beat=half wait=5s;
    due at 2: 7
    "#);
}

#[test]
fn the_last_attempt_is_the_last_one_also_when_its_process_ends() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=1h,attempts=1)
        0 take a process=3
        2 take-back 4
        2 show work
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     2.000  ActivityTaskFailed #5 MaximumAttemptsReached "the process that ran this attempt ended"
       8     2.000  WorkflowTaskScheduled
    work at 2: true
    "#);
}

#[test]
fn an_attempt_of_a_worker_elsewhere_goes_on() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=1h)
        0 take a
        0 show work
        2 take-back 4
        3 finish a ok
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     3.000  ActivityTaskCompleted #5 ok
       8     3.000  WorkflowTaskScheduled
    work at 0: false
    ");
}

#[test]
fn a_workflow_task_of_a_process_that_ended_is_handed_out_again() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task process=3
        0 show work
        1 signal s
        2 take-back 3
        2 take-back 4
        2 show effects
        2 take-task process=4
        3 complete done(ok)
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskFailed ResetStickyTaskQueue "the process that ran this attempt ended"
       5     2.000  WorkflowExecutionSignaled s
       6     2.000  WorkflowTaskScheduled
       7     2.000  WorkflowTaskStarted
       8     3.000  WorkflowTaskCompleted
       9     3.000  WorkflowExecutionCompleted ok
    work at 0: true
    effects at 2: task
    "#);
}

#[test]
fn a_workflow_task_that_ends_its_process_again_and_again_has_to_wait() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task process=1
        0 take-back 2
        0 take-task process=2
        0 take-back 3
        0 take-task process=3
        0 take-back 4
        0 show work due
        5 tick
        5 show work
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskFailed ResetStickyTaskQueue "the process that ran this attempt ended"
    work at 0: false
    due at 0: 5
    work at 5: true
    "#);
}

#[test]
fn an_attempt_that_was_left_to_somebody_else_goes_on() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=1h)
        0 take a process=3
        0 beat a half
        1 leave a
        1 show work
        2 take-back 4
        2 show activities
        3 finish a ok
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     3.000  ActivityTaskCompleted #5 ok
       8     3.000  WorkflowTaskScheduled
    work at 1: false
    activities at 2: a STARTED attempt=1 beat=half;
    ");
}
