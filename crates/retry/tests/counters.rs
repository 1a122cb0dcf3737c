//! Counters kept apart, against a model: whatever happens in whatever order, nothing is counted twice
//! and nothing is lost.

use std::time::Duration;

use proptest::prelude::*;
use steadfast_retry::{
    Backoff, Behaviour, Class, CodePattern, Decision, Draft, Failure, Limits, Matcher, Policy,
    Reason, Rule, Seed, Signals, State, Timestamp, decide,
};

/// What can happen to a delivered attempt.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Error,
    Throttled,
    Crash,
    Snooze,
    /// The process restarts: the state is written and read back.
    Restart,
}

fn happenings() -> impl Strategy<Value = Vec<Happens>> {
    let each = prop_oneof![
        Just(Happens::Error),
        Just(Happens::Throttled),
        Just(Happens::Crash),
        Just(Happens::Snooze),
        Just(Happens::Restart),
    ];
    prop::collection::vec(each, 0..60)
}

fn policy(max_attempts: u32) -> Policy {
    let code = Some(CodePattern::new("429"));
    let mut throttle = Rule::retrying(
        Matcher { code, ..Matcher::default() },
        Backoff::constant(Duration::from_secs(30)),
    );
    throttle.then.counts = false;
    let draft = Draft {
        rules: vec![throttle],
        default: Some(Behaviour::retrying(Backoff::exponential(Duration::from_secs(1), 2.0))),
        limits: Limits::attempts(max_attempts),
        ..Draft::default()
    };
    Policy::new(draft).expect("valid")
}

/// The counts as a child would keep them.
#[derive(Debug, Default, PartialEq)]
struct Model {
    deliveries: u32,
    failures: u32,
    deferrals: u32,
    crashes: u32,
}

proptest! {
    #[test]
    fn counts_agree_with_a_model(happenings in happenings(), max_attempts in 1..20_u32) {
        let policy = policy(max_attempts);
        let mut state = State::started(Timestamp::default());
        let mut model = Model::default();
        for happens in happenings {
            let failure = match happens {
                Happens::Restart => {
                    let text = serde_json::to_string(&state).expect("text");
                    state = serde_json::from_str(&text).expect("a state");
                    continue;
                }
                Happens::Snooze => {
                    state.deliver();
                    state.defer();
                    model.deliveries += 1;
                    model.deferrals += 1;
                    continue;
                }
                Happens::Error => Failure::of_type("Io", "disk"),
                Happens::Throttled => Failure { code: Some("429"), ..Failure::default() },
                Happens::Crash => Failure { class: Some(Class::Crash), ..Failure::default() },
            };
            state.deliver();
            model.deliveries += 1;
            let (signals, now) = (Signals::default(), Timestamp::default());
            let decision = decide(Some(&policy), &state, &failure, &signals, now, Seed::new(&[]));
            state.record(&decision);
            match happens {
                Happens::Error => model.failures += 1,
                Happens::Crash => model.crashes += 1,
                Happens::Throttled | Happens::Snooze | Happens::Restart => model.deferrals += 1,
            }
            let begun = model.failures + model.crashes;
            let counts = !matches!(happens, Happens::Throttled);
            let spent = counts && begun >= max_attempts;
            prop_assert_eq!(decision.retry_at().is_none(), spent, "{}", decision);
            if let Decision::RetryAt { delay, .. } = decision {
                // The wait grows with what counts and with nothing else.
                let expected = if counts { 1 << (begun - 1) } else { 30 };
                prop_assert_eq!(delay, Duration::from_secs(expected));
            } else {
                let limit = max_attempts;
                prop_assert_eq!(decision.why().reason, Reason::MaxAttempts { limit });
                break;
            }
        }
        let State { deliveries, failures, deferrals, crashes, .. } = state;
        prop_assert_eq!(Model { deliveries, failures, deferrals, crashes }, model);
        prop_assert!(deliveries >= failures + deferrals + crashes);
    }
}

#[test]
fn instants_saturate_and_read_as_seconds() {
    let start = Timestamp::from_millis(-1_250);
    assert_eq!(start.to_string(), "-1.25");
    assert_eq!(Timestamp::from_secs(7).to_string(), "7");
    assert_eq!(format!("{:>5}|", Timestamp::from_millis(500)), "  0.5|");
    assert_eq!(Timestamp::from_secs(i64::MAX), Timestamp::MAX);
    assert_eq!(start.after(Duration::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::MAX.since(Timestamp(i64::MIN)), Duration::from_nanos(u64::MAX));
    assert_eq!(Timestamp(i64::MIN).since(Timestamp::MAX), Duration::ZERO);
}
