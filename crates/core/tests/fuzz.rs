//! Whatever happens, in whatever order and at whatever time: nothing panics, and the rules hold.
//!
//! The harness checks its invariants after every step. When a script fails, proptest shrinks it and
//! prints it: paste it into a test of its theme.

use std::{collections::BTreeMap, fmt::Write as _};

use proptest::prelude::*;
use steadfast_core::{
    ErrorState, RUN, TASK,
    span::{from_wire, instant_from_wire},
};
use steadfast_proto::history::history_event::Attributes;

use crate::common::{
    Answer, World,
    words::{Call, split},
    world::Story,
};

/// A step: how far the clock goes, in tenths of seconds, and what happens then.
type Step = (i64, String);

fn activity() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b"), Just("c")]
}

fn timer() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("t1"), Just("t2")]
}

fn command() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (activity(), 1..4_u8, 1..20_u8).prop_map(|(id, attempts, stc)| {
            format!("schedule({id},Work,stc={stc}s,hb=4s,attempts={attempts})")
        }),
        2 => (activity(), 5..30_u8).prop_map(|(id, s2c)| {
            format!("schedule({id},Work,s2c={s2c}s,s2s=6s,max=3s)")
        }),
        2 => prop_oneof![2 => Just(6_u8), 1 => 5..40_u8].prop_map(|id| format!("cancel-activity(#{id})")),
        4 => (timer(), 1..20_u8).prop_map(|(id, span)| format!("timer({id},{span}s)")),
        2 => timer().prop_map(|id| format!("cancel-timer({id})")),
        1 => Just("marker(m)".to_owned()),
        2 => Just("child(c,Kid,close=cancel)".to_owned()),
        1 => Just("signal-external(x,go)".to_owned()),
        1 => Just("cancel-external(y)".to_owned()),
        1 => Just("memo(a=1)".to_owned()),
        1 => Just("timer(bad)".to_owned()),
    ]
}

fn close() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        24 => Just(""),
        1 => Just(" done(ok)"),
        1 => Just(" fail(boom)"),
        1 => Just(" cancelled"),
        1 => Just(" continue(Order)"),
        2 => Just(" force"),
        3 => Just(" sticky=mine"),
    ]
}

fn complete() -> impl Strategy<Value = String> {
    (prop::collection::vec(command(), 0..4), close())
        .prop_map(|(commands, close)| format!("complete {}{close}", commands.join(" ")))
}

/// What a worker does with a workflow task, and what may come in between.
fn task() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("take-task".to_owned()),
        2 => Just("take-task sticky=mine".to_owned()),
        6 => complete(),
        8 => complete().prop_map(|complete| format!("signal s; take-task; {complete}")),
        4 => (other(), complete()).prop_map(|(other, complete)| {
            format!("signal s; take-task; {other}; {complete}")
        }),
        1 => Just("complete old".to_owned()),
        2 => Just("fail-task nondeterminism oops".to_owned()),
        1 => Just("reset-sticky".to_owned()),
    ]
}

fn worker() -> impl Strategy<Value = String> {
    let token = (activity(), prop_oneof![4 => Just(""), 1 => Just("#1"), 1 => Just("#2")]);
    (token, 0..10_u8).prop_map(|((id, number), what)| match what {
        0..=2 => format!("take {id}"),
        3 => format!("take {id}; finish {id} ok"),
        4 => format!("take {id}; fail {id} boom"),
        5 => format!("fail {id}{number} boom"),
        6 => format!("fail {id}{number} boom final"),
        7 => format!("beat {id}{number} half"),
        8 => format!("finish {id}{number} ok"),
        _ => format!("cancelled {id}{number}"),
    })
}

fn other() -> impl Strategy<Value = String> {
    let verbs = [
        "signal s",
        "signal s id=r1",
        "child-started c",
        "child-started c",
        "child-closed c completed ok",
        "child-not-started c",
        "child-closed c completed ok",
        "child-closed c failed boom",
        "answered x",
        "answered y not-found",
        "delivered 0",
        "finish-id a ok",
        "fail-id b boom",
        "return a",
    ];
    prop::sample::select(verbs.to_vec()).prop_map(str::to_owned)
}

fn operator() -> impl Strategy<Value = String> {
    let verbs = [
        "pause",
        "unpause",
        "unpause",
        "reset-activity",
        "options stc=3s",
        "options restore",
        "park",
        "park",
        "resume",
        "resume",
        "resume id=r1",
        "resume reset-attempts delay=2s header=k:v",
        "give-up",
        "retry-now",
        "change attempts=2 now",
        "change init=2s",
        "clear-resume",
        "acknowledge",
        "change policy={\"max_attempts\":2,\"on_exhausted\":\"park\"} now",
    ];
    (prop::sample::select(verbs.to_vec()), activity()).prop_map(|(verb, id)| {
        match verb.split_once(' ') {
            Some((verb, rest)) => format!("{verb} {id} {rest}"),
            None => format!("{verb} {id}"),
        }
    })
}

/// What operators say about failures changes under way, too.
fn rules() -> impl Strategy<Value = String> {
    let books = [
        "rules",
        "rules ending=park",
        "rules ending=park ttl=9s then=dead_letter",
        "rules ending=dead_letter poison=1 tasks=2",
        "rules resume={\"name\":\"A\",\"flow\":\"Order\",\"maxAttempts\":4,\"backOff\":{\"delay\":3}}",
        "rules before={\"match\":{\"message\":\"boom\"},\"max_attempts\":3} ending=park",
    ];
    prop::sample::select(books.to_vec()).prop_map(str::to_owned)
}

fn update() -> impl Strategy<Value = String> {
    let verbs = [
        "update u1",
        "update u2",
        "update u1; take-task; complete accept(u1)",
        "update u1; take-task; complete accept(u1) respond(u1,yes)",
        "signal s; take-task; complete respond(u1,yes)",
        "update u2; take-task; complete reject(u2,no)",
        "complete accept(u2,with-request)",
    ];
    prop::sample::select(verbs.to_vec()).prop_map(str::to_owned)
}

/// Scripts of workers, callers and time.
fn script() -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![
        8 => task(),
        8 => worker(),
        5 => Just("tick".to_owned()),
        3 => other(),
        1 => Just("cancel".to_owned()),
    ];
    prop::collection::vec((pace(), what), 1..60)
}

/// As [`script`], with operators, updates and crashes.
fn wild_script() -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![
        8 => task(),
        8 => worker(),
        5 => Just("tick".to_owned()),
        3 => other(),
        5 => operator(),
        1 => rules(),
        3 => update(),
        1 => Just("crash".to_owned()),
        1 => prop_oneof![Just("cancel".to_owned()), Just("terminate why".to_owned())],
    ];
    prop::collection::vec((pace(), what), 1..60)
}

/// The clock mostly goes on, stands still now and then, and sometimes goes back.
fn pace() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 0..30_i64, 4 => Just(0_i64), 1 => -50..0_i64, 1 => 100..400_i64]
}

/// The script as lines, so that it can be read and played.
fn lines(steps: &[Step]) -> Vec<String> {
    let mut tenths: i64 = 0;
    let mut lines = Vec::new();
    for (pace, what) in steps {
        tenths = (tenths + pace).max(0);
        let at = format!("{}.{}", tenths / 10, tenths % 10);
        lines.extend(what.split("; ").map(|what| format!("{at} {what}")));
    }
    lines
}

const START: &str =
    "0 run Order timer(t1,3s) schedule(a,Work,stc=5s,attempts=3) attempts=3 run=600s";

fn no_timer_was_early(story: &Story) {
    let mut due = BTreeMap::new();
    for event in &story.events {
        let at = event.event_time.as_ref().map(instant_from_wire).unwrap_or_default();
        match &event.attributes {
            Some(Attributes::TimerStartedEventAttributes(timer)) => {
                let span = from_wire(timer.start_to_fire_timeout.as_ref());
                due.insert(event.event_id, at.after(span));
            }
            Some(Attributes::TimerFiredEventAttributes(timer)) => {
                assert!(at >= due[&timer.started_event_id], "a timer fired early");
            }
            _ => {}
        }
    }
}

fn no_attempt_is_beyond_the_policy(story: &Story) {
    for (_, activity) in story.run.activities().iter() {
        let limit = activity.retry_policy().map_or(0, |policy| policy.maximum_attempts);
        let limit = u32::try_from(limit).unwrap();
        let row = &activity.row;
        assert!(limit == 0 || row.attempt <= limit, "attempt {} of {limit}", row.attempt);
        assert!(limit == 0 || row.deliveries <= limit, "{} deliveries", row.deliveries);
    }
}

/// What is parked is with nobody, offered to nobody, and waits for nothing but its resume and the
/// end of its time.
fn what_is_parked_waits(story: &Story) {
    for (id, activity) in story.run.activities().iter().filter(|(_, it)| it.is_parked()) {
        assert!(!story.run.ready_activities().any(|ready| ready == *id), "{id} is offered");
        let error = story.run.error(*id).expect("what is parked is an error");
        assert_eq!(error.state, ErrorState::Parked);
        let park = activity.row.park.as_ref().expect("what is parked");
        assert_eq!(error.next_at.map_or(0, |at| at.0), park.resume_at);
        assert!(park.resume_at == 0 || error.acknowledged.is_none(), "noted, and yet resumed");
    }
}

/// What was written of the errors is what is the matter with the run.
fn errors_are_written(story: &Story) {
    for (subject, error) in &story.rows.errors {
        assert_eq!(story.run.error(*subject).as_ref(), Some(error));
    }
    let failed = |id: &i64| story.run.error(*id).is_some();
    let activities = story.run.activities().iter().map(|(id, _)| *id);
    let letters = story.run.letters().iter().map(|(id, _)| *id);
    let all = activities.chain(letters).chain([RUN, TASK]).filter(failed).count();
    assert_eq!(all, story.rows.errors.len());
}

/// Plays one line; what a worker has cannot be taken by another.
fn play(world: &mut World, line: &str) {
    let mut words = split(line, char::is_whitespace);
    let taken = words[1] == "take" && {
        let activities = world.story().run.activities();
        let row = activities.named(&words[2]).and_then(|id| activities.get(id));
        row.is_some_and(steadfast_core::Activity::is_started)
    };
    if taken {
        let verb = words.remove(1);
        let call = Call::new(&verb, words.split_off(1));
        assert_ne!(world.perform(&call), Answer::Taken, "one worker at a time");
    } else {
        world.line(line);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_hold_whatever_happens(steps in script()) {
        let mut world = World::default().play(START);
        for line in lines(&steps) {
            play(&mut world, &line);
            no_attempt_is_beyond_the_policy(world.story());
        }
        world.stories.iter().for_each(no_timer_was_early);
    }

    #[test]
    fn the_rules_hold_also_with_operators_updates_and_crashes(steps in wild_script()) {
        let mut world = World::default().play(START);
        for line in lines(&steps) {
            play(&mut world, &line);
            what_is_parked_waits(world.story());
            errors_are_written(world.story());
        }
        world.stories.iter().for_each(no_timer_was_early);
    }

    /// Each script is played straight through, and again with a restart between any two steps.
    #[test]
    fn restarts_make_no_difference(steps in script()) {
        let lines = lines(&steps);
        let straight = World::default().play(START).play(&lines.join("\n"));
        let mut broken = String::new();
        for line in &lines {
            let at = line.split(' ').next().unwrap_or_default();
            _ = write!(broken, "{line}\n{at} crash\n");
        }
        let broken = World::default().play(START).play(&broken);
        prop_assert_eq!(straight.text(), broken.text());
    }
}
