//! What schedules do, told as scripts: what happens on the left, what comes of it on the right.

use std::fmt::Write as _;

use steadfast_core::{
    Timestamp,
    schedule::{Closed, Input, Refused, Schedule, ScheduleState, canonical},
    span,
};
use steadfast_proto::{
    common,
    enums::{ScheduleOverlapPolicy as Policy, WorkflowExecutionStatus as Status},
    failure::Failure,
    schedule::{
        self, BackfillRequest, ScheduleAction, SchedulePatch, SchedulePolicies, ScheduleSpec,
        TriggerImmediatelyRequest, schedule_action::Action,
    },
    workflow::NewWorkflowExecutionInfo,
};

use crate::common::check;

const ID: &str = "schedule-1";

/// Noon on 1 January 2024.
fn noon(minutes: i64) -> Timestamp {
    Timestamp::from_secs(1_704_110_400 + 60 * minutes)
}

/// Every ten minutes.
fn asked(policy: Policy) -> schedule::Schedule {
    let spec =
        ScheduleSpec { cron_string: vec!["*/10 * * * *".to_owned()], ..ScheduleSpec::default() };
    let action = NewWorkflowExecutionInfo { workflow_id: "w".to_owned(), ..Default::default() };
    schedule::Schedule {
        spec: Some(canonical(&spec).expect("a good spec")),
        action: Some(ScheduleAction { action: Some(Action::StartWorkflow(action)) }),
        policies: Some(SchedulePolicies { overlap_policy: policy.into(), ..Default::default() }),
        state: None,
    }
}

struct Story {
    schedule: Schedule,
    told: String,
}

impl Story {
    fn new(policy: Policy) -> Self {
        Self::with(asked(policy), None)
    }

    fn with(asked: schedule::Schedule, patch: Option<SchedulePatch>) -> Self {
        let state = ScheduleState {
            schedule: Some(asked),
            incarnation: "i".to_owned(),
            ..ScheduleState::default()
        };
        let schedule = Schedule::create(state, ID, patch, noon(0)).expect("a good schedule");
        Self { schedule, told: String::new() }
    }

    fn apply(&mut self, minute: i64, what: &str, input: Input) {
        self.schedule.apply(input, ID, noon(minute)).expect("taken");
        let _ = writeln!(self.told, "{minute:>4}  {what:<14} {}", self.show());
    }

    fn tick(&mut self, minute: i64) {
        self.apply(minute, "tick", Input::Tick);
    }

    /// Everything that is on its way arrives.
    fn start(&mut self, minute: i64) {
        for start in self.schedule.state().starting.clone() {
            let run_id = format!("run-{}", start.workflow_id);
            self.apply(minute, "started", Input::Started { request_id: start.request_id, run_id });
        }
    }

    fn close(&mut self, minute: i64, status: Status) {
        let running = self.info().running_workflows;
        let execution = running.first().expect("something runs").clone();
        let closed = Closed {
            execution,
            status,
            failure: (status == Status::Failed)
                .then(|| Failure { message: "no luck".to_owned(), ..Failure::default() }),
            ..Closed::default()
        };
        self.apply(minute, "closed", Input::Closed(Box::new(closed)));
    }

    fn patch(&mut self, minute: i64, patch: SchedulePatch) {
        self.apply(minute, "patch", Input::Patch { patch, request_id: String::new() });
    }

    fn info(&self) -> schedule::ScheduleInfo {
        self.schedule.state().info.clone().unwrap_or_default()
    }

    fn show(&self) -> String {
        let state = self.schedule.state();
        let info = self.info();
        let short =
            |id: &str| id.trim_start_matches("w-2024-01-01T").trim_end_matches(":00Z").to_owned();
        let names = |ids: Vec<String>| ids.iter().map(|id| short(id)).collect::<Vec<_>>().join(",");
        let starting = names(state.starting.iter().map(|it| it.workflow_id.clone()).collect());
        let running =
            names(info.running_workflows.iter().map(|it| it.workflow_id.clone()).collect());
        let closing: Vec<&str> = state
            .closing
            .iter()
            .map(|it| if it.terminate { "terminate" } else { "cancel" })
            .collect();
        let mut told =
            format!("starting[{starting}] running[{running}] buffer {}", info.buffer_size);
        for (name, count) in [
            ("done", info.action_count),
            ("skipped", info.overlap_skipped),
            ("missed", info.missed_catchup_window),
            ("dropped", info.buffer_dropped),
        ] {
            if count != 0 {
                let _ = write!(told, " {name} {count}");
            }
        }
        if !closing.is_empty() {
            let _ = write!(told, " {}", closing.join(","));
        }
        let due = self.schedule.next_due().map(|at| at.since(noon(0)).as_secs() / 60);
        let _ = write!(told, " due {}", due.map_or_else(|| "-".to_owned(), |due| due.to_string()));
        told
    }
}

fn busy(policy: Policy) -> String {
    let mut story = Story::new(policy);
    story.tick(10);
    story.start(10);
    story.tick(20);
    story.tick(30);
    story.close(31, Status::Completed);
    story.start(31);
    story.told
}

#[test]
fn skip() {
    insta::assert_snapshot!(busy(Policy::Unspecified), @r"
    10  tick           starting[12:10] running[] buffer 0 due 20
    10  started        starting[] running[12:10] buffer 0 done 1 due 20
    20  tick           starting[] running[12:10] buffer 0 done 1 skipped 1 due 30
    30  tick           starting[] running[12:10] buffer 0 done 1 skipped 2 due 40
    31  closed         starting[] running[] buffer 0 done 1 skipped 2 due 40
    ");
}

#[test]
fn buffer_one() {
    insta::assert_snapshot!(busy(Policy::BufferOne), @r"
    10  tick           starting[12:10] running[] buffer 0 due 20
    10  started        starting[] running[12:10] buffer 0 done 1 due 20
    20  tick           starting[] running[12:10] buffer 1 done 1 due 30
    30  tick           starting[] running[12:10] buffer 1 done 1 skipped 1 due 40
    31  closed         starting[12:20] running[] buffer 0 done 1 skipped 1 due 40
    31  started        starting[] running[12:20] buffer 0 done 2 skipped 1 due 40
    ");
}

#[test]
fn buffer_all() {
    insta::assert_snapshot!(busy(Policy::BufferAll), @r"
    10  tick           starting[12:10] running[] buffer 0 due 20
    10  started        starting[] running[12:10] buffer 0 done 1 due 20
    20  tick           starting[] running[12:10] buffer 1 done 1 due 30
    30  tick           starting[] running[12:10] buffer 2 done 1 due 40
    31  closed         starting[12:20] running[] buffer 1 done 1 due 40
    31  started        starting[] running[12:20] buffer 1 done 2 due 40
    ");
}

#[test]
fn cancel_other() {
    insta::assert_snapshot!(busy(Policy::CancelOther), @r"
    10  tick           starting[12:10] running[] buffer 0 due 20
    10  started        starting[] running[12:10] buffer 0 done 1 due 20
    20  tick           starting[] running[12:10] buffer 1 done 1 cancel due 30
    30  tick           starting[] running[12:10] buffer 2 done 1 cancel due 40
    31  closed         starting[12:30] running[] buffer 0 done 1 skipped 1 due 40
    31  started        starting[] running[12:30] buffer 0 done 2 skipped 1 due 40
    ");
}

#[test]
fn terminate_other() {
    insta::assert_snapshot!(busy(Policy::TerminateOther), @r"
    10  tick           starting[12:10] running[] buffer 0 due 20
    10  started        starting[] running[12:10] buffer 0 done 1 due 20
    20  tick           starting[] running[12:10] buffer 1 done 1 terminate due 30
    30  tick           starting[] running[12:10] buffer 2 done 1 terminate due 40
    31  closed         starting[12:30] running[] buffer 0 done 1 skipped 1 due 40
    31  started        starting[] running[12:30] buffer 0 done 2 skipped 1 due 40
    ");
}

#[test]
fn allow_all() {
    let mut story = Story::new(Policy::AllowAll);
    story.tick(10);
    story.tick(20);
    story.start(20);
    insta::assert_snapshot!(story.told, @r"
    10  tick           starting[12:10] running[] buffer 0 due 20
    20  tick           starting[12:10,12:20] running[] buffer 0 due 30
    20  started        starting[12:20] running[] buffer 0 done 1 due 30
    20  started        starting[] running[] buffer 0 done 2 due 30
    ");
}

#[test]
fn what_was_missed_for_too_long_is_not_made_up_for() {
    let mut asked = asked(Policy::AllowAll);
    let window = span::to_wire(std::time::Duration::from_secs(15 * 60));
    asked.policies.as_mut().expect("policies").catchup_window = window;
    let mut story = Story::with(asked, None);
    story.tick(52);
    insta::assert_snapshot!(story.told, @r"  52  tick           starting[12:40,12:50] running[] buffer 0 missed 3 due 60");
}

#[test]
fn a_backfill_takes_both_ends_and_minds_neither_pauses_nor_limits() {
    let mut asked = asked(Policy::Skip);
    asked.state = Some(schedule::ScheduleState {
        paused: true,
        limited_actions: true,
        remaining_actions: 0,
        ..Default::default()
    });
    let mut story = Story::with(asked, None);
    let wire = |minute| Some(span::instant_to_wire(noon(minute)));
    let backfill = BackfillRequest {
        start_time: wire(-40),
        end_time: wire(-20),
        overlap_policy: Policy::BufferAll.into(),
    };
    story.patch(1, SchedulePatch { backfill_request: vec![backfill], ..Default::default() });
    story.start(1);
    story.close(2, Status::Completed);
    insta::assert_snapshot!(story.told, @r"
    1  patch          starting[11:20] running[] buffer 2 due -
    1  started        starting[] running[11:20] buffer 2 done 1 due -
    2  closed         starting[11:30] running[] buffer 1 done 1 due -
    ");
}

#[test]
fn a_long_backfill_goes_on_when_there_is_room() {
    let mut story = Story::new(Policy::BufferAll);
    let wire = |minute| Some(span::instant_to_wire(noon(minute)));
    let backfill =
        BackfillRequest { start_time: wire(-20_000), end_time: wire(-10), ..Default::default() };
    story.patch(0, SchedulePatch { backfill_request: vec![backfill], ..Default::default() });
    let mut done = 0;
    while story.schedule.is_starting() {
        story.start(0);
        story.close(0, Status::Completed);
        done += 1;
    }
    assert_eq!(done, 2_000);
    assert_eq!(story.info().action_count, 2_000);
    assert_eq!(story.info().buffer_dropped, 0);
}

#[test]
fn a_paused_schedule_sleeps_and_makes_up_for_nothing() {
    let mut story = Story::new(Policy::Skip);
    story.patch(1, SchedulePatch { pause: "tired".to_owned(), ..Default::default() });
    story.patch(35, SchedulePatch { unpause: "fresh".to_owned(), ..Default::default() });
    story.tick(40);
    insta::assert_snapshot!(story.told, @r"
     1  patch          starting[] running[] buffer 0 due -
    35  patch          starting[] running[] buffer 0 due 40
    40  tick           starting[12:40] running[] buffer 0 due 50
    ");
}

#[test]
fn a_limited_schedule_acts_so_often_and_is_then_over() {
    let mut asked = asked(Policy::AllowAll);
    asked.state = Some(schedule::ScheduleState {
        limited_actions: true,
        remaining_actions: 2,
        ..Default::default()
    });
    let mut story = Story::with(asked, None);
    assert_eq!(story.schedule.future(10, noon(0)), [noon(10), noon(20)]);
    story.tick(30);
    story.start(30);
    story.tick(40);
    let trigger = TriggerImmediatelyRequest::default();
    story.patch(41, SchedulePatch { trigger_immediately: Some(trigger), ..Default::default() });
    story.start(41);
    insta::assert_snapshot!(story.told, @r"
    30  tick           starting[12:10,12:20] running[] buffer 0 due -
    30  started        starting[12:20] running[] buffer 0 done 1 due -
    30  started        starting[] running[] buffer 0 done 2 due 10110
    40  tick           starting[] running[] buffer 0 done 2 due 10110
    41  patch          starting[12:41] running[] buffer 0 done 2 due -
    41  started        starting[] running[] buffer 0 done 3 due 10121
    ");
    let week = 7 * 24 * 60;
    assert!(!story.schedule.is_over(noon(40 + week)));
    assert!(story.schedule.is_over(noon(41 + week)));
}

#[test]
fn a_failure_pauses_if_it_is_asked_to() {
    for (status, notes) in [
        (Status::Failed, "paused due to workflow failure: w-2024-01-01T12:10:00Z: no luck"),
        (Status::TimedOut, "paused due to workflow timeout: w-2024-01-01T12:10:00Z"),
        (Status::Terminated, ""),
        (Status::Canceled, ""),
        (Status::Completed, ""),
    ] {
        let mut asked = asked(Policy::Skip);
        asked.policies.as_mut().expect("policies").pause_on_failure = true;
        let mut story = Story::with(asked, None);
        story.tick(10);
        story.start(10);
        story.close(11, status);
        let state =
            story.schedule.state().schedule.clone().and_then(|it| it.state).unwrap_or_default();
        assert_eq!((state.paused, state.notes.as_str()), (!notes.is_empty(), notes));
        assert_eq!(story.info().recent_actions[0].start_workflow_status(), status);
    }
}

#[test]
fn the_next_run_is_told_of_the_last() {
    let mut story = Story::new(Policy::Skip);
    story.tick(10);
    story.start(10);
    let running = story.info().running_workflows[0].clone();
    let result = Some(common::Payloads { payloads: vec![common::Payload::default()] });
    let closed = Closed {
        execution: running,
        status: Status::Completed,
        result: result.clone(),
        ..Closed::default()
    };
    story.apply(11, "closed", Input::Closed(Box::new(closed)));
    assert_eq!(story.schedule.state().last_completion_result, result);
    story.tick(20);
    story.start(20);
    story.close(21, Status::Failed);
    let state = story.schedule.state();
    assert_eq!(state.last_completion_result, result, "kept");
    assert_eq!(state.continued_failure.as_ref().map(|it| it.message.as_str()), Some("no luck"));
}

#[test]
fn an_end_that_is_heard_of_before_the_start_counts_once() {
    let mut story = Story::new(Policy::Skip);
    story.tick(10);
    let start = story.schedule.state().starting[0].clone();
    let execution =
        common::WorkflowExecution { workflow_id: start.workflow_id, run_id: "run".to_owned() };
    let closed = Closed {
        request_id: start.request_id.clone(),
        execution,
        status: Status::Completed,
        ..Closed::default()
    };
    for _ in 0..2 {
        story.apply(11, "closed", Input::Closed(Box::new(closed.clone())));
    }
    let late = Input::Started { request_id: start.request_id, run_id: "run".to_owned() };
    story.apply(11, "started", late);
    insta::assert_snapshot!(story.told, @r"
    10  tick           starting[12:10] running[] buffer 0 due 20
    11  closed         starting[] running[] buffer 0 done 1 due 20
    11  closed         starting[] running[] buffer 0 done 1 due 20
    11  started        starting[] running[] buffer 0 done 1 due 20
    ");
}

#[test]
fn a_change_that_has_not_seen_the_last_one_is_refused() {
    let mut story = Story::new(Policy::Skip);
    let stale = story.schedule.conflict_token();
    story.patch(1, SchedulePatch { pause: "tired".to_owned(), ..Default::default() });
    let update = |conflict_token: Vec<u8>| Input::Update {
        schedule: Box::new(asked(Policy::BufferAll)),
        search_attributes: None,
        memo: None,
        conflict_token,
        request_id: "r".to_owned(),
    };
    let before = story.schedule.state().clone();
    assert_eq!(story.schedule.apply(update(stale.clone()), ID, noon(2)), Err(Refused::Conflict));
    assert_eq!(*story.schedule.state(), before, "unchanged");
    let fresh = story.schedule.conflict_token();
    assert_eq!(story.schedule.apply(update(fresh), ID, noon(2)), Ok(()));
    assert_eq!(story.schedule.apply(update(stale), ID, noon(3)), Ok(()), "the same request again");
    assert_eq!(story.schedule.state().version, 3);
}

#[test]
fn the_same_request_triggers_once() {
    let mut story = Story::new(Policy::AllowAll);
    let trigger = || Input::Patch {
        patch: SchedulePatch {
            trigger_immediately: Some(TriggerImmediatelyRequest::default()),
            ..Default::default()
        },
        request_id: "r".to_owned(),
    };
    story.apply(1, "trigger", trigger());
    story.apply(2, "trigger", trigger());
    insta::assert_snapshot!(story.told, @r"
    1  trigger        starting[12:01] running[] buffer 0 due 10
    2  trigger        starting[12:01] running[] buffer 0 due 10
    ");
}

#[test]
fn a_row_of_an_older_release_is_still_read() {
    // Written by hand from the tags: what is never to change.
    let state = ScheduleState {
        version: 3,
        considered: 5,
        create_request_id: "r".to_owned(),
        incarnation: "i".to_owned(),
        ..ScheduleState::default()
    };
    let bytes = prost::Message::encode_to_vec(&state);
    assert_eq!(bytes, [0x2a, 1, b'r', 0x30, 3, 0x38, 5, 0x92, 1, 1, b'i']);
}

#[test]
fn a_schedule_hears_of_the_last_run_that_it_began() {
    insta::assert_snapshot!(check("
        0 start Order schedule=nightly
        0 take-task
        1 complete continue(Order2,input=state)
        1 show messages
        1 take-task
        2 complete done(ok)
        2 show messages
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  WorkflowExecutionContinuedAsNew initiator=Workflow
    run 2:
       1     0.000  WorkflowExecutionStarted Order2 initiator=Workflow
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  WorkflowExecutionCompleted ok
    messages at 1: none
    messages at 2: 0: scheduled-closed to nightly
    ");
}
