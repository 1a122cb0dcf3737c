//! What the workflow notes about itself: markers, memo, search attributes.

use std::collections::BTreeMap;

use steadfast_core::{Limits, Run};
use steadfast_proto::common::Payload;

use crate::common::{World, check, check_within};

#[test]
fn markers_memo_and_search_attributes_are_events_in_their_order() {
    insta::assert_snapshot!(check("
        0 run Order marker(m) upsert(City=Oslo) memo(note=fragile)
    "), @r"
    5     0.000  MarkerRecorded m
    6     0.000  UpsertWorkflowSearchAttributes
    7     0.000  WorkflowPropertiesModified
    ");
}

#[test]
fn memo_and_search_attributes_are_merged_and_an_empty_value_removes_its_key() {
    let world = World::default().play(
        "
        0 run Order upsert(City=Oslo,Size=5) memo(a=1,b=2)
        1 signal s
        1 take-task
        1 complete upsert(City=Rome,Size=[]) memo(b=null,c=3)
        1 crash
    ",
    );
    let run = &world.story().run;
    let text = |fields: BTreeMap<&String, &Payload>| {
        let pair = |(name, value): (&&String, &&Payload)| {
            format!("{name}={}", String::from_utf8_lossy(&value.data))
        };
        fields.iter().map(pair).collect::<Vec<_>>().join(" ")
    };
    let attributes =
        |run: &Run| text(run.search_attributes().unwrap().indexed_fields.iter().collect());
    assert_eq!(attributes(run), "City=Rome");
    assert_eq!(text(run.memo().unwrap().fields.iter().collect()), "a=1 c=3");
}

#[test]
fn a_memo_that_grows_too_large_ends_the_run() {
    let limits = Limits { memo_bytes_max: 20, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 run Order memo(a=1)
        1 signal s
        1 take-task
        1 complete memo(b=0123456789)
    "), @r#"
       5     0.000  WorkflowPropertiesModified
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     1.000  WorkflowTaskStarted
       9     1.000  WorkflowTaskFailed BadModifyWorkflowPropertiesAttributes "BadModifyWorkflowPropertiesAttributes: Memo exceeds size limit."
      10     1.000  WorkflowExecutionTerminated BadModifyWorkflowPropertiesAttributes: Memo exceeds size limit.
    answered at 1: BadModifyWorkflowPropertiesAttributes: Memo exceeds size limit.
    "#);
}

#[test]
fn what_a_command_says_about_its_event_is_kept_with_every_kind_of_event() {
    let world = World::default().play("
        0 run Order schedule(a,Charge,stc=10s,note=n1) timer(t1,5s,note=n2) marker(m,note=n3) child(c,Kid,note=n4)
        1 signal s
        1 take-task
        1 complete cancel-activity(a,note=n5) cancel-timer(t1,note=n6) signal-external(x,go,note=n7) cancel-external(y,note=n8)
        1 take-task
        1 complete done(ok,note=n9)
    ");
    let noted = world.story().events.iter().filter_map(|event| {
        let summary = event.user_metadata.as_ref()?.summary.as_ref()?;
        Some(format!("{} {:?}", String::from_utf8_lossy(&summary.data), event.event_type()))
    });
    insta::assert_snapshot!(noted.collect::<Vec<_>>().join("\n"), @r"
    n1 ActivityTaskScheduled
    n2 TimerStarted
    n3 MarkerRecorded
    n4 StartChildWorkflowExecutionInitiated
    n5 ActivityTaskCancelRequested
    n6 TimerCanceled
    n7 SignalExternalWorkflowExecutionInitiated
    n8 RequestCancelExternalWorkflowExecutionInitiated
    n9 WorkflowExecutionCompleted
    ");
}
