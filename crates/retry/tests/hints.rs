//! Hints: the headers they come in, and how far each mode follows them.

use std::time::Duration;

use proptest::prelude::*;
use steadfast_retry::{
    Backoff, Behaviour, Beyond, Decision, Draft, Failure, Hint, HintMode, Hints, Jitter, Limits,
    Policy, Seed, Signals, State, Timestamp, decide, header,
    span::{self, Span},
};

/// Sun, 15 Nov 2026 08:49:37 GMT.
const NOW: Timestamp = Timestamp::from_secs(1_794_732_577);

fn read(headers: &str) -> String {
    let headers: Vec<(&str, &str)> =
        headers.split(';').filter_map(|line| line.trim().split_once(": ")).collect();
    match header::hint(headers, NOW) {
        None => "nothing".to_owned(),
        Some(Hint::Never) => "never".to_owned(),
        Some(Hint::After(Duration::MAX)) => "too long".to_owned(),
        Some(Hint::After(wait)) => Span(wait).to_string(),
    }
}

#[test]
fn headers_say_when_to_come_back() {
    let table = "
        Retry-After: 120                                                  | 2m
        Retry-After: 0                                                    | 0s
        Retry-After: 1                                                    | 1s
        retry-after: 30                                                   | 30s
        RETRY-AFTER:   30                                                 | 30s
        Retry-After: 1.5                                                  | 1.5s
        Retry-After: 86400                                                | 1d
        Retry-After: 99999999999999999999999                              | too long
        Retry-After: -1                                                   | nothing
        Retry-After: +5                                                   | nothing
        Retry-After: 1e3                                                  | nothing
        Retry-After: soon                                                 | nothing
        Retry-After: 5 seconds                                            | nothing
        Retry-After: .5                                                   | nothing
        Retry-After: NaN                                                  | nothing
        Retry-After: inf                                                  | nothing
        Retry-After: Sun, 15 Nov 2026 08:51:37 GMT                        | 2m
        Retry-After: Sunday, 15-Nov-26 08:51:37 GMT                       | 2m
        Retry-After: Sun Nov 15 08:51:37 2026                             | 2m
        Retry-After: Sun Dec  6 08:49:37 2026                             | 21d
        Retry-After: Sun, 15 Nov 2026 08:49:37 GMT                        | 0s
        Retry-After: Sun, 15 Nov 2026 08:49:00 GMT                        | 0s
        Retry-After: Thu, 01 Jan 1970 00:00:00 GMT                        | 0s
        Retry-After: Mon, 16 Nov 2026 08:49:37 GMT                        | 1d
        Retry-After: Tue, 29 Feb 2028 00:00:00 GMT                        | 470d15h10m23s
        Retry-After: Sun, 15 Nov 2026 08:50:60 GMT                        | 1m22s
        Retry-After: Sun, 15 Nov 2026 25:00:00 GMT                        | nothing
        Retry-After: Sun, 15 Foo 2026 08:51:37 GMT                        | nothing
        Retry-After: Sun, 15 Nov 2026 08:51:37 PST                        | nothing
        Date: Sun, 15 Nov 2026 09:49:37 GMT; Retry-After: Sun, 15 Nov 2026 09:50:37 GMT | 1m
        Date: garbage; Retry-After: Sun, 15 Nov 2026 08:50:37 GMT         | 1m
        Retry-After: soon; Retry-After: 7                                 | 7s
        Retry-After: 7; Retry-After: 9                                    | 7s
        X-RateLimit-Reset: 1794732637                                      | 1m
        X-RateLimit-Reset: 2000000000                                     | 2375d18h43m43s
        X-RateLimit-Reset: 2000000000000                                  | 2375d18h43m43s
        X-RateLimit-Reset: 1000000000                                     | 0s
        X-RateLimit-Reset: 60                                             | 1m
        X-RateLimit-Reset: 0                                              | 0s
        X-RateLimit-Reset: -60                                            | nothing
        X-RateLimit-Reset: tomorrow                                       | nothing
        Retry-After: 5; X-RateLimit-Reset: 60                             | 5s
        Retry-After: soon; X-RateLimit-Reset: 60                          | 1m
        grpc-retry-pushback-ms: 1500                                      | 1.5s
        grpc-retry-pushback-ms: 0                                         | 0s
        grpc-retry-pushback-ms: -1                                        | never
        grpc-retry-pushback-ms: later                                     | never
        Content-Type: text/plain                                          | nothing
    ";
    let mut rows = 0;
    for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (headers, expected) = row.split_once('|').expect("two cells");
        assert_eq!(read(headers.trim()), expected.trim(), "{row}");
        rows += 1;
    }
    assert!(rows >= 40, "{rows} rows");
}

/// A policy that waits 10 s by itself and follows hints like this.
fn policy(hints: Hints) -> Policy {
    let backoff = Backoff::constant(Duration::from_secs(10));
    let default = Behaviour { hints, ..Behaviour::retrying(backoff) };
    Policy::new(Draft { default: Some(default), ..Draft::default() }).expect("valid")
}

fn follow(hints: Hints, hint: Option<Hint>) -> Decision {
    let failure = Failure { next_delay: hint, ..Failure::of_type("Busy", "") };
    decided(&policy(hints), &failure, &Signals::default())
}

fn decided(policy: &Policy, failure: &Failure<'_>, signals: &Signals<'_>) -> Decision {
    let state = State::started(Timestamp::default());
    decide(Some(policy), &state, failure, signals, Timestamp::default(), Seed::new(&["hint"]))
}

fn hints(mode: HintMode) -> Hints {
    Hints { mode, ..Hints::default() }
}

fn after(text: &str) -> Option<Hint> {
    span::parse(text).ok().map(Hint::After)
}

#[test]
fn zero_unset_over_the_cap_and_never_are_told_apart() {
    let exact = hints(HintMode::Exact);
    let table = [
        (None, "retry in 10s: backoff"),
        (after("0"), "retry in 0s: the failure says when"),
        (after("3s"), "retry in 3s: the failure says when"),
        (after("24h"), "retry in 1d: the failure says when"),
        (after("25h"), "park until 90000: the asked-for wait is too long"),
        (Some(Hint::Never), "fail: the downstream asks not to be called again"),
    ];
    for (hint, expected) in table {
        assert_eq!(follow(exact, hint).to_string(), expected);
    }
    let clamped = Hints { beyond: Beyond::Clamp, ..exact };
    assert_eq!(follow(clamped, after("25h")).to_string(), "retry in 1d: the failure says when");
    let endless = Hints { max: None, ..exact };
    assert_eq!(follow(endless, after("25h")).to_string(), "retry in 1d1h: the failure says when");
}

#[test]
fn modes_put_hint_and_backoff_together() {
    let bounded = hints(HintMode::Bounded(Duration::from_secs(5)));
    let table = [
        (bounded, "1s", "retry in 10s: the failure says when"),
        (bounded, "12s", "retry in 12s: the failure says when"),
        (bounded, "1h", "retry in 15s: the failure says when"),
        (hints(HintMode::Ignore), "1h", "retry in 10s: backoff"),
        (hints(HintMode::Ignore), "25h", "retry in 10s: backoff"),
        (hints(HintMode::AtLeast), "4s", "retry in 10s: backoff"),
        (hints(HintMode::AtLeast), "0", "retry in 10s: backoff"),
    ];
    for (hints, hint, expected) in table {
        assert_eq!(follow(hints, after(hint)).to_string(), expected, "{hints:?} {hint}");
    }
    let never = follow(hints(HintMode::Ignore), Some(Hint::Never));
    assert_eq!(never.to_string(), "retry in 10s: backoff");
}

#[test]
fn the_failures_own_delay_comes_before_the_downstreams() {
    let policy = policy(hints(HintMode::Exact));
    let signals = Signals { retry_after: after("7s"), ..Signals::default() };
    let plain = Failure::of_type("Busy", "");
    let told = decided(&policy, &plain, &signals);
    assert_eq!(told.to_string(), "retry in 7s: the downstream says when");
    let own = Failure { next_delay: after("3s"), ..plain };
    let told = decided(&policy, &own, &signals);
    assert_eq!(told.to_string(), "retry in 3s: the failure says when");
}

#[test]
fn a_hint_past_the_deadline_is_not_waited_for() {
    let policy = policy(hints(HintMode::Exact))
        .limited(Limits { max_elapsed: Some(Duration::from_secs(60)), ..Limits::default() });
    let failure = Failure { next_delay: after("61s"), ..Failure::of_type("Busy", "") };
    let late = decided(&policy, &failure, &Signals::default());
    assert_eq!(late.to_string(), "exhausted, fail: max duration (1m) would be passed");
}

#[test]
fn a_hint_does_not_make_the_wait_grow_unless_it_counts() {
    for (counts, expected) in [(true, "retry in 2s: backoff"), (false, "retry in 1s: backoff")] {
        let backoff = Backoff::exponential(Duration::from_secs(1), 2.0);
        let hints = hints(HintMode::Exact);
        let default = Behaviour { hints, counts, ..Behaviour::retrying(backoff) };
        let policy =
            Policy::new(Draft { default: Some(default), ..Draft::default() }).expect("valid");
        let mut state = State::started(Timestamp::default());
        let mut step = |next_delay| {
            let failure = Failure { next_delay, ..Failure::of_type("Busy", "") };
            let (signals, now) = (Signals::default(), Timestamp::default());
            let decision = decide(Some(&policy), &state, &failure, &signals, now, Seed::new(&[]));
            state.record(&decision);
            decision.to_string()
        };
        step(after("9s"));
        assert_eq!(step(None), expected, "counts: {counts}");
    }
}

proptest! {
    #[test]
    fn never_earlier_than_the_hint(millis in 0..86_400_000_u64, computed in 0..600_000_u64, id in any::<u32>()) {
        let hint = Duration::from_millis(millis);
        let id = id.to_string();
        for mode in [HintMode::Exact, HintMode::AtLeast] {
            let backoff = Backoff::constant(Duration::from_millis(computed)).jittered(Jitter::Full);
            let default = Behaviour { hints: hints(mode), ..Behaviour::retrying(backoff) };
            let draft = Draft { default: Some(default), ..Draft::default() };
            let policy = Policy::new(draft).expect("valid");
            let failure = Failure { next_delay: Some(Hint::After(hint)), ..Failure::default() };
            let state = State::started(NOW);
            let parts = [id.as_str()];
            let decision =
                decide(Some(&policy), &state, &failure, &Signals::default(), NOW, Seed::new(&parts));
            let at = decision.retry_at().expect("a retry");
            prop_assert!(at >= NOW.after(hint), "{at} for a hint of {hint:?}");
            let latest = hint + (hint / 2).min(Duration::from_secs(60));
            let latest = latest.max(Duration::from_millis(computed.max(1)));
            prop_assert!(at <= NOW.after(latest), "{at} for a hint of {hint:?}");
        }
    }
}

#[test]
fn everyone_told_the_same_second_comes_spread_out() {
    let policy = policy(hints(HintMode::AtLeast));
    let failure = Failure { next_delay: after("2m"), ..Failure::of_type("Busy", "") };
    let mut minutes: Vec<Duration> = (0..1_000)
        .map(|id: u32| {
            let id = id.to_string();
            let parts = [id.as_str()];
            let (state, now) = (State::started(NOW), NOW);
            let signals = Signals::default();
            let decision =
                decide(Some(&policy), &state, &failure, &signals, now, Seed::new(&parts));
            let Decision::RetryAt { delay, .. } = decision else { panic!("{decision}") };
            delay
        })
        .collect();
    minutes.sort_unstable();
    minutes.dedup();
    assert_eq!(minutes.len(), 1_000);
    assert!(minutes[0] < Duration::from_secs(121) && minutes[999] > Duration::from_secs(178));
}
