//! Every state and every input: what comes of each pair is decided here, on purpose.
//!
//! ```text
//! yes   taken          -      taken, and nothing changes        yes!  taken, but not as meant
//! end   taken, and the run is closed then                       else  refused, and why
//! ```

use std::{collections::BTreeSet, fmt::Write as _};

use steadfast_core::{Input, Refused};

use crate::common::{
    Answer, World, inputs,
    words::{Call, split},
};

/// Everything that can happen, each with a good and a stale token where there is one.
const INPUTS: &[&str] = &[
    "0 signal s",
    "0 attach r9",
    "0 cancel",
    "0 terminate why",
    "0 update u9",
    "0 reset-sticky",
    "0 take-task",
    "0 take-task sticky=mine",
    "0 take-task attempt=9",
    "0 complete",
    "0 complete old",
    "0 complete force",
    "0 complete timer(t9,1s)",
    "0 complete timer(t9)",
    "0 complete done(ok)",
    "0 fail-task",
    "0 take a",
    "0 take a stamp=9",
    "0 return a",
    "0 finish a ok",
    "0 finish a#1 ok",
    "0 finish-id a ok",
    "0 fail a boom",
    "0 fail a boom final",
    "0 fail-id a boom",
    "0 cancelled a",
    "0 beat a half",
    "0 beat-id a half",
    "0 pause a id=r9",
    "0 unpause a",
    "0 reset-activity a",
    "0 options a stc=30m",
    "0 park a",
    "0 resume a",
    "0 schedule-resume a 9s n",
    "0 clear-resume a",
    "0 give-up a",
    "0 retry-now a",
    "0 change a stc=30m",
    "0 change a attempts=1 now",
    "0 acknowledge a",
    "0 acknowledge run",
    "0 acknowledge task",
    "0 sweep-changed",
    "0 resume-task",
    "0 resumed",
    "0 child-started c",
    "0 child-not-started c",
    "0 child-closed c completed",
    "0 adopt p",
    "0 answered x",
    "0 delivered 0",
    "0 take-back 1",
    "0 take-back 2",
    "0 tick",
    "4000 tick",
];

const RUNS: &[(&str, &str)] = &[
    ("delayed", "0 start Order delay=60s"),
    ("task", "0 start Order"),
    ("started", "0 start Order\n0 take-task"),
    ("within", "0 start Order\n0 take-task process=1"),
    ("idle", "0 run Order timer(t1,1h)"),
    ("again", "0 start Order\n0 take-task\n0 fail-task"),
    ("again+", "0 start Order\n0 take-task\n0 fail-task\n0 take-task"),
    ("sticky", "0 run Order sticky=mine\n0 signal s"),
    ("sticky+", "0 run Order sticky=mine\n0 signal s\n0 take-task sticky=mine"),
    ("buffer", "0 start Order\n0 take-task\n0 signal s"),
    ("closing", "0 start Order\n0 take-task\n0 signal s\n0 complete done(ok)\n0 take-task"),
    ("closed", "0 run Order done(ok)"),
    ("failed", "0 run Order fail(boom)"),
];

const ACTIVITIES: &[(&str, &str)] = &[
    ("queued", "0 run Order schedule(a,A,stc=1h)"),
    ("started", "0 run Order schedule(a,A,stc=1h)\n0 take a"),
    ("within", "0 run Order schedule(a,A,stc=1h)\n0 take a process=1"),
    ("backoff", "0 run Order schedule(a,A,stc=1h)\n0 take a\n0 fail a boom"),
    (
        "second",
        "0 run Order schedule(a,A,stc=1h,init=1ns)\n0 take a\n0 fail a boom\n0.1 tick\n0.1 take a",
    ),
    ("paused", "0 run Order schedule(a,A,stc=1h)\n0 pause a id=r1"),
    ("parked", PARKED),
    ("parking", "0 run Order schedule(a,A,stc=1h)\n0 take a\n0 park a"),
    ("pausing", "0 run Order schedule(a,A,stc=1h)\n0 take a\n0 pause a id=r1"),
    ("reset", "0 run Order schedule(a,A,stc=1h)\n0 take a\n0 reset-activity a"),
    (
        "cancel",
        "0 run Order schedule(a,A,stc=1h)\n0 take a\n0 signal s\n0 take-task\n0 complete cancel-activity(a)",
    ),
    ("ended", "0 run Order schedule(a,A,stc=1h)\n0 take a\n0 signal s\n0 take-task\n0 finish a ok"),
    ("closed", "0 run Order schedule(a,A,stc=1h)\n0 take a\n0 terminate why"),
];

const PARKED: &str = "0 rules ending=park
    0 run Order schedule(a,A,stc=1h,attempts=1)
    0 take a
    0 fail a boom";

const OTHERS: &[(&str, &str)] = &[
    ("child", "0 run Order child(c,Kid)"),
    ("child+", "0 run Order child(c,Kid)\n0 child-started c"),
    ("told", "0 run Order signal-external(x,go)"),
    ("message", "0 start Order parent=p\n0 terminate why"),
    ("update", "0 run Order\n0 update u9"),
    ("update+", "0 run Order\n0 update u9\n0 take-task"),
];

/// How every input ends in every state, a column each.
fn table(states: &[(&str, &str)]) -> String {
    let mut text = format!("{:<28}", "");
    for (name, _) in states {
        _ = write!(text, "{name:<9}");
    }
    for input in INPUTS {
        _ = write!(text, "\n{input:<28}");
        for (_, script) in states {
            let fate = fate(script, input);
            _ = write!(text, "{fate:<9}");
        }
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn fate(script: &str, line: &str) -> &'static str {
    let mut world = World::default().play(script);
    let mut words = split(line, char::is_whitespace);
    let at: u64 = words.remove(0).parse().unwrap();
    world.now =
        world.now.max(crate::common::world::BEGIN.after(std::time::Duration::from_secs(at)));
    let was_open = world.story().run.is_open();
    let verb = words.remove(0);
    match world.perform(&Call::new(&verb, words)) {
        Answer::Taken if was_open && !world.stories[0].run.is_open() => "end",
        Answer::Taken => "yes",
        Answer::Nothing => "-",
        Answer::But(_) => "yes!",
        Answer::Refused(why) => reason(&why),
    }
}

fn reason(why: &Refused) -> &'static str {
    match why {
        Refused::Closed => "closed",
        Refused::WrongRun => "wrong",
        Refused::Closing => "closing",
        Refused::TaskNotFound => "task?",
        Refused::TaskHeartbeatTimeout => "late",
        Refused::UnhandledCommand => "new",
        Refused::BadCommand(_) => "bad",
        Refused::ActivityNotFound => "gone",
        Refused::UnknownActivityId(_) => "id?",
        Refused::NoActivitySelected => "none?",
        Refused::AlreadyPaused => "paused",
        Refused::NotParked(_) | Refused::TaskNotParked => "unparked",
        Refused::KeyForgotten { .. } => "no-key",
        Refused::NotWaiting(..) => "no-wait",
        Refused::AtWork(_) => "at-work",
        Refused::Acknowledged(_) => "noted",
        Refused::NoError => "no-error",
        Refused::CancelNotRequested => "unasked",
        Refused::SignalLimit | Refused::UpdatesInFlight { .. } | Refused::UpdateLimit { .. } => {
            "many"
        }
        Refused::TaskFailing => "failing",
        Refused::Invalid { .. } => "invalid",
        other => panic!("a new reason: {other}"),
    }
}

/// Names every kind of input. A new kind does not compile until it has a name, and then fails
/// [`every_kind_of_input_is_in_the_tables`] until it has a line.
fn kind(input: &Input) -> &'static str {
    match input {
        Input::Signal(_) => "signal",
        Input::Attach(_) => "attach",
        Input::RequestCancel(_) => "request-cancel",
        Input::Terminate(_) => "terminate",
        Input::AdmitUpdate(_) => "admit-update",
        Input::ResetSticky => "reset-sticky",
        Input::StartWorkflowTask(_) => "start-task",
        Input::CompleteWorkflowTask(_) => "complete-task",
        Input::FailWorkflowTask(_) => "fail-task",
        Input::StartActivity(_) => "start-activity",
        Input::ReturnActivity(_) => "return-activity",
        Input::CompleteActivity(_) => "complete-activity",
        Input::FailActivity(_) => "fail-activity",
        Input::CancelActivity(_) => "cancel-activity",
        Input::Heartbeat(_) => "heartbeat",
        Input::PauseActivity(_) => "pause-activity",
        Input::UnpauseActivity(_) => "unpause-activity",
        Input::ResetActivity(_) => "reset-activity",
        Input::UpdateActivityOptions(_) => "update-activity-options",
        Input::ParkActivity(_) => "park-activity",
        Input::ResumeActivity(_) => "resume-activity",
        Input::ScheduleResume(_) => "schedule-resume",
        Input::ClearResume(_) => "clear-resume",
        Input::GiveUpActivity(_) => "give-up-activity",
        Input::RetryNow(_) => "retry-now",
        Input::ChangeActivity(_) => "change-activity",
        Input::AcknowledgeError(_) => "acknowledge-error",
        Input::SweepChanged => "sweep-changed",
        Input::Resumed(_) => "resumed",
        Input::ChildStarted(_) => "child-started",
        Input::ChildStartFailed(_) => "child-start-failed",
        Input::ChildClosed(_) => "child-closed",
        Input::Adopt(_) => "adopt",
        Input::ExternalAnswered(_) => "external-answered",
        Input::MessageDelivered(_) => "message-delivered",
        Input::TakeBack(_) => "take-back",
        Input::ResumeTask(_) => "resume-task",
        Input::Tick => "tick",
    }
}

const KINDS: usize = 38;

#[test]
fn every_kind_of_input_is_in_the_tables() {
    let world = World::default().play("0 run Order schedule(a,A,stc=1h)");
    let kinds: BTreeSet<&str> = INPUTS
        .iter()
        .map(|line| {
            let mut words = split(line, char::is_whitespace);
            words.remove(0);
            let verb = words.remove(0);
            kind(&inputs::input(world.story(), &Call::new(&verb, words)))
        })
        .collect();
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
}

#[test]
fn every_input_in_every_state_of_a_run() {
    insta::assert_snapshot!(table(RUNS), @r"
                                delayed  task     started  within   idle     again    again+   sticky   sticky+  buffer   closing  closed   failed
    0 signal s                  yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      closing  closed   closed
    0 attach r9                 yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      closing  closed   closed
    0 cancel                    yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      -        -
    0 terminate why             end      end      end      end      end      end      end      end      end      end      end      closed   closed
    0 update u9                 yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      closing  closed   closed
    0 reset-sticky              -        -        -        -        -        -        -        yes      yes      -        -        closed   closed
    0 take-task                 task?    yes      task?    task?    task?    yes      task?    yes      task?    task?    task?    task?    task?
    0 take-task sticky=mine     task?    task?    task?    task?    task?    task?    task?    yes      task?    task?    task?    task?    task?
    0 take-task attempt=9       task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?
    0 complete                  task?    task?    yes      yes      task?    task?    yes      task?    yes      yes      yes      task?    task?
    0 complete old              task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?
    0 complete force            task?    task?    yes      yes      task?    task?    yes      task?    yes      yes      yes      task?    task?
    0 complete timer(t9,1s)     task?    task?    yes      yes      task?    task?    yes      task?    yes      yes      yes      task?    task?
    0 complete timer(t9)        task?    task?    yes!     yes!     task?    task?    bad      task?    yes!     yes!     yes!     task?    task?
    0 complete done(ok)         task?    task?    end      end      task?    task?    end      task?    end      yes!     end      task?    task?
    0 fail-task                 task?    task?    yes      yes      task?    task?    yes      task?    yes      yes      yes      task?    task?
    0 take a                    gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 take a stamp=9            gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 return a                  gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 finish a ok               gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 finish a#1 ok             gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 finish-id a ok            id?      id?      id?      id?      id?      id?      id?      id?      id?      id?      id?      closed   closed
    0 fail a boom               gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 fail a boom final         gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 fail-id a boom            id?      id?      id?      id?      id?      id?      id?      id?      id?      id?      id?      closed   closed
    0 cancelled a               gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 beat a half               gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed   closed
    0 beat-id a half            id?      id?      id?      id?      id?      id?      id?      id?      id?      id?      id?      closed   closed
    0 pause a id=r9             none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 unpause a                 none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 reset-activity a          none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 options a stc=30m         none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 park a                    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 resume a                  none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 schedule-resume a 9s n    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 clear-resume a            none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 give-up a                 none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 retry-now a               none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 change a stc=30m          none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 change a attempts=1 now   none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    none?    closed   closed
    0 acknowledge a             no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error
    0 acknowledge run           no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error yes
    0 acknowledge task          no-error no-error no-error no-error no-error yes      yes      no-error no-error no-error no-error no-error no-error
    0 sweep-changed             -        -        -        -        -        -        -        -        -        -        -        -        -
    0 resume-task               unparked unparked unparked unparked unparked unparked unparked unparked unparked unparked unparked closed   closed
    0 resumed                   -        -        -        -        -        -        -        -        -        -        -        -        yes
    0 child-started c           wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed   closed
    0 child-not-started c       wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed   closed
    0 child-closed c completed  wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed   closed
    0 adopt p                   wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong
    0 answered x                wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed   closed
    0 delivered 0               -        -        -        -        -        -        -        -        -        -        -        -        -
    0 take-back 1               -        -        -        -        -        -        -        -        -        -        -        -        -
    0 take-back 2               -        -        -        yes      -        -        -        -        -        -        -        -        -
    0 tick                      -        -        -        -        -        -        -        -        -        -        -        -        -
    4000 tick                   yes      -        yes      yes      yes      -        yes      yes      yes      yes      yes      -        -
    ");
}

#[test]
fn every_input_in_every_state_of_an_activity() {
    insta::assert_snapshot!(table(ACTIVITIES), @r"
                                queued   started  within   backoff  second   paused   parked   parking  pausing  reset    cancel   ended    closed
    0 signal s                  yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      closed
    0 attach r9                 yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      closed
    0 cancel                    yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      -
    0 terminate why             end      end      end      end      end      end      end      end      end      end      end      end      closed
    0 update u9                 yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      closed
    0 reset-sticky              -        -        -        -        -        -        -        -        -        -        -        -        closed
    0 take-task                 task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?
    0 take-task sticky=mine     task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?
    0 take-task attempt=9       task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?
    0 complete                  task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    yes      task?
    0 complete old              task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?
    0 complete force            task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    yes      task?
    0 complete timer(t9,1s)     task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    yes      task?
    0 complete timer(t9)        task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    yes!     task?
    0 complete done(ok)         task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    yes!     task?
    0 fail-task                 task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    task?    yes      task?
    0 take a                    yes      gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed
    0 take a stamp=9            gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     gone     closed
    0 return a                  gone     yes      yes      gone     yes      gone     gone     yes      yes      yes      yes      gone     closed
    0 finish a ok               gone     yes      yes      gone     yes      gone     gone     yes      yes      yes      yes      gone     closed
    0 finish a#1 ok             gone     yes      yes      gone     gone     gone     gone     yes      yes      yes      yes      gone     closed
    0 finish-id a ok            yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      id?      closed
    0 fail a boom               gone     yes      yes      gone     yes      gone     gone     yes      yes      yes      yes      gone     closed
    0 fail a boom final         gone     yes      yes      gone     yes      gone     gone     yes      yes      yes      yes      gone     closed
    0 fail-id a boom            gone     yes      yes      gone     yes      gone     gone     yes      yes      yes      yes      id?      closed
    0 cancelled a               gone     unasked  unasked  gone     unasked  gone     gone     unasked  unasked  unasked  yes      gone     closed
    0 beat a half               gone     yes      yes      gone     yes      gone     gone     yes      yes      yes      yes      gone     closed
    0 beat-id a half            gone     yes      yes      gone     yes      gone     gone     yes      yes      yes      yes      id?      closed
    0 pause a id=r9             yes      yes      yes      yes      yes      paused   yes      yes      paused   yes      yes      none?    closed
    0 unpause a                 -        -        -        -        -        yes      yes      yes      yes      -        -        none?    closed
    0 reset-activity a          yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      none?    closed
    0 options a stc=30m         yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      none?    closed
    0 park a                    yes      yes      yes      yes      yes      yes      -        -        yes      yes      yes      none?    closed
    0 resume a                  unparked unparked unparked unparked unparked unparked yes      yes      unparked unparked unparked none?    closed
    0 schedule-resume a 9s n    unparked unparked unparked unparked unparked unparked yes      yes      unparked unparked unparked none?    closed
    0 clear-resume a            unparked unparked unparked unparked unparked unparked -        -        unparked unparked unparked none?    closed
    0 give-up a                 unparked unparked unparked unparked unparked unparked yes      at-work  unparked unparked unparked none?    closed
    0 retry-now a               no-wait  no-wait  no-wait  yes      no-wait  no-wait  no-wait  no-wait  no-wait  no-wait  no-wait  none?    closed
    0 change a stc=30m          yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      none?    closed
    0 change a attempts=1 now   yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      yes      none?    closed
    0 acknowledge a             no-error no-error no-error yes      yes      no-error yes      yes      no-error no-error no-error no-error no-error
    0 acknowledge run           no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error
    0 acknowledge task          no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error no-error
    0 sweep-changed             -        -        -        -        -        -        -        -        -        -        -        -        -
    0 resume-task               unparked unparked unparked unparked unparked unparked unparked unparked unparked unparked unparked unparked closed
    0 resumed                   -        -        -        -        -        -        -        -        -        -        -        -        -
    0 child-started c           wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed
    0 child-not-started c       wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed
    0 child-closed c completed  wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed
    0 adopt p                   wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong
    0 answered x                wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    wrong    closed
    0 delivered 0               -        -        -        -        -        -        -        -        -        -        -        -        -
    0 take-back 1               -        -        -        -        -        -        -        -        -        -        -        -        -
    0 take-back 2               -        -        yes      -        -        -        -        -        -        -        -        -        -
    0 tick                      -        -        -        -        -        -        -        -        -        -        -        -        -
    4000 tick                   -        yes      yes      yes      yes      -        -        yes      yes      yes      yes      yes      -
    ");
}

#[test]
fn every_input_while_something_else_is_pending() {
    insta::assert_snapshot!(table(OTHERS), @r"
                                child    child+   told     message  update   update+
    0 signal s                  yes      yes      yes      closed   yes      yes
    0 attach r9                 yes      yes      yes      closed   yes      yes
    0 cancel                    yes      yes      yes      -        yes      yes
    0 terminate why             end      end      end      closed   end      end
    0 update u9                 yes      yes      yes      closed   -        -
    0 reset-sticky              -        -        -        closed   -        -
    0 take-task                 task?    yes      task?    task?    yes      task?
    0 take-task sticky=mine     task?    task?    task?    task?    task?    task?
    0 take-task attempt=9       task?    task?    task?    task?    task?    task?
    0 complete                  task?    task?    task?    task?    task?    yes
    0 complete old              task?    task?    task?    task?    task?    task?
    0 complete force            task?    task?    task?    task?    task?    yes
    0 complete timer(t9,1s)     task?    task?    task?    task?    task?    yes
    0 complete timer(t9)        task?    task?    task?    task?    task?    yes!
    0 complete done(ok)         task?    task?    task?    task?    task?    end
    0 fail-task                 task?    task?    task?    task?    task?    yes
    0 take a                    gone     gone     gone     closed   gone     gone
    0 take a stamp=9            gone     gone     gone     closed   gone     gone
    0 return a                  gone     gone     gone     closed   gone     gone
    0 finish a ok               gone     gone     gone     closed   gone     gone
    0 finish a#1 ok             gone     gone     gone     closed   gone     gone
    0 finish-id a ok            id?      id?      id?      closed   id?      id?
    0 fail a boom               gone     gone     gone     closed   gone     gone
    0 fail a boom final         gone     gone     gone     closed   gone     gone
    0 fail-id a boom            id?      id?      id?      closed   id?      id?
    0 cancelled a               gone     gone     gone     closed   gone     gone
    0 beat a half               gone     gone     gone     closed   gone     gone
    0 beat-id a half            id?      id?      id?      closed   id?      id?
    0 pause a id=r9             none?    none?    none?    closed   none?    none?
    0 unpause a                 none?    none?    none?    closed   none?    none?
    0 reset-activity a          none?    none?    none?    closed   none?    none?
    0 options a stc=30m         none?    none?    none?    closed   none?    none?
    0 park a                    none?    none?    none?    closed   none?    none?
    0 resume a                  none?    none?    none?    closed   none?    none?
    0 schedule-resume a 9s n    none?    none?    none?    closed   none?    none?
    0 clear-resume a            none?    none?    none?    closed   none?    none?
    0 give-up a                 none?    none?    none?    closed   none?    none?
    0 retry-now a               none?    none?    none?    closed   none?    none?
    0 change a stc=30m          none?    none?    none?    closed   none?    none?
    0 change a attempts=1 now   none?    none?    none?    closed   none?    none?
    0 acknowledge a             no-error no-error no-error no-error no-error no-error
    0 acknowledge run           no-error no-error no-error no-error no-error no-error
    0 acknowledge task          no-error no-error no-error no-error no-error no-error
    0 sweep-changed             -        -        -        -        -        -
    0 resume-task               unparked unparked unparked closed   unparked unparked
    0 resumed                   -        -        -        -        -        -
    0 child-started c           yes      -        wrong    closed   wrong    wrong
    0 child-not-started c       yes      wrong    wrong    closed   wrong    wrong
    0 child-closed c completed  yes      yes      wrong    closed   wrong    wrong
    0 adopt p                   wrong    wrong    wrong    yes      wrong    wrong
    0 answered x                wrong    wrong    yes      closed   wrong    wrong
    0 delivered 0               -        -        -        yes      -        -
    0 take-back 1               -        -        -        -        -        -
    0 take-back 2               -        -        -        -        -        -
    0 tick                      -        -        -        -        -        -
    4000 tick                   -        -        -        -        -        yes
    ");
}
