//! How the time limits and the policy of an activity are filled, as its first event shows them.

use std::time::Duration;

use steadfast_core::{Timeouts, policy::cadence_timeouts, span::from_wire};
use steadfast_proto::history::{ActivityTaskScheduledEventAttributes, history_event::Attributes};
use steadfast_retry::preset::cadence;

use crate::common::World;

fn scheduled(start: &str, options: &str) -> ActivityTaskScheduledEventAttributes {
    let script = format!("0 run Order schedule(a,Charge,{options}) {start}");
    let world = World::default().play(&script);
    let event = world.story().events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(it)) => Some(it.clone()),
        _ => None,
    });
    *event.expect("an activity was scheduled")
}

fn seconds(event: &ActivityTaskScheduledEventAttributes) -> [u64; 4] {
    [
        event.schedule_to_close_timeout.as_ref(),
        event.schedule_to_start_timeout.as_ref(),
        event.start_to_close_timeout.as_ref(),
        event.heartbeat_timeout.as_ref(),
    ]
    .map(|wire| {
        assert!(wire.is_some(), "workers want all four to be present");
        from_wire(wire).as_secs()
    })
}

/// Run timeout, what was asked for, and what comes of it: s2c, s2s, stc, hb.
#[test]
fn time_limits_that_are_left_open_are_made_definite() {
    let table = "
        -        stc=10s                         0  0 10  0
        -        s2c=10s                        10 10 10  0
        -        s2c=10s,s2s=4s                 10  4 10  0
        -        s2c=10s,s2s=40s,stc=50s        10 10 10  0
        -        stc=10s,s2s=40s                 0 40 10  0
        -        stc=10s,hb=3s                   0  0 10  3
        -        stc=10s,hb=30s                  0  0 10 10
        run=20s  stc=10s                        20 20 10  0
        run=20s  stc=30s,hb=40s                 20 20 20 20
        run=20s  s2c=60s,s2s=50s,stc=40s,hb=30s 20 20 20 20
    ";
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected: Vec<u64> = words[2..].iter().map(|word| word.parse().unwrap()).collect();
        let start = if words[0] == "-" { "" } else { words[0] };
        assert_eq!(seconds(&scheduled(start, words[1])).to_vec(), expected, "{line}");
    }
}

#[test]
fn a_policy_that_is_left_open_is_filled() {
    let show = |options: &str| {
        let policy = scheduled("", options).retry_policy.expect("every activity has a policy");
        let interval = |wire: Option<&_>| format!("{:?}", from_wire(wire));
        format!(
            "{options:<28} {} x{} up to {} times {} {:?}",
            interval(policy.initial_interval.as_ref()),
            policy.backoff_coefficient,
            interval(policy.maximum_interval.as_ref()),
            policy.maximum_attempts,
            policy.non_retryable_error_types,
        )
    };
    let cases =
        ["stc=1s", "stc=1s,attempts=3", "stc=1s,init=2s", "stc=1s,init=2s,coef=1,max=3s,non=Bad"];
    insta::assert_snapshot!(cases.map(show).join("\n"), @r#"
    stc=1s                       1s x2 up to 100s times 0 []
    stc=1s,attempts=3            1s x2 up to 100s times 3 []
    stc=1s,init=2s               2s x2 up to 200s times 0 []
    stc=1s,init=2s,coef=1,max=3s,non=Bad 2s x1 up to 3s times 0 ["Bad"]
    "#);
}

fn in_cadences_terms(expiration_interval: i32, maximum_attempts: i32) -> [u64; 4] {
    let given = Timeouts {
        schedule_to_close: Duration::from_secs(5),
        schedule_to_start: Duration::from_secs(5),
        start_to_close: Duration::from_secs(3),
        heartbeat: Duration::ZERO,
    };
    let policy = cadence::RetryPolicy {
        initial_interval: 1,
        expiration_interval,
        maximum_attempts,
        ..cadence::RetryPolicy::default()
    };
    let limits = cadence_timeouts(given, &policy, Duration::from_secs(3_600));
    let options = format!(
        "s2c={}s,s2s={}s,stc={}s,attempts={maximum_attempts}",
        limits.schedule_to_close.as_secs(),
        limits.schedule_to_start.as_secs(),
        limits.start_to_close.as_secs(),
    );
    seconds(&scheduled("run=1h", &options))
}

#[test]
fn c_33_the_wait_for_a_worker_lasts_as_long_as_the_policy() {
    assert_eq!(in_cadences_terms(600, 0)[1], 600);
}

#[test]
fn c_34_all_attempts_together_may_take_as_long_as_the_policy() {
    assert_eq!(in_cadences_terms(600, 0)[0], 600);
}

#[test]
fn c_35_without_an_expiration_both_become_the_workflows_time_limit() {
    assert_eq!(in_cadences_terms(0, 3)[..2], [3_600, 3_600]);
}
