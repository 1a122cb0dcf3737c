//! What a policy means: the table, the horizon, and every warning both raised and not raised.

use std::time::Duration;

use steadfast_retry::{
    Action, Backoff, Behaviour, Class, Draft, Failure, Jitter, Layer, Limits, Matcher, Policy,
    Rule,
    explain::{Horizon, Lint, Setting, explain},
    pattern::TextPattern,
    span,
};

fn span(text: &str) -> Duration {
    span::parse(text).expect("a duration")
}

fn policy(backoff: Backoff, max_attempts: u32) -> Policy {
    with_rules(Vec::new(), backoff, max_attempts)
}

fn with_rules(rules: Vec<Rule>, backoff: Backoff, max_attempts: u32) -> Policy {
    let draft = Draft {
        name: "test".to_owned(),
        rules,
        default: Some(Behaviour::retrying(backoff.exact())),
        limits: Limits::attempts(max_attempts),
        on_exhausted: None,
        idempotency: None,
    };
    Policy::new(draft).expect("valid")
}

fn doubling(initial: &str, max: &str) -> Backoff {
    Backoff::exponential(span(initial), 2.0).capped(span(max))
}

fn lints(policy: &Policy, setting: &Setting<'_>) -> Vec<Lint> {
    explain(policy, setting).lints
}

/// The published table of horizons: seconds without jitter, then p5 and p50 of three jitters.
#[test]
fn horizons_are_as_published() {
    let table = [
        ("1s", "100s", 10, 327.0, [(208.0, 245.0), (86.0, 163.0), (27.0, 98.0)]),
        ("500ms", "60s", 70, 3_783.5, [(2_731.0, 2_835.0), (1_668.0, 1_895.0), (1_019.0, 1_881.0)]),
        ("1s", "60s", 5, 15.0, [(9.0, 11.0), (3.0, 8.0), (7.0, 16.0)]),
    ];
    for (initial, max, attempts, none, jittered) in table {
        let horizon = |jitter| {
            let policy = policy(doubling(initial, max).jittered(jitter), attempts);
            explain(&policy, &Setting::default()).horizon
        };
        assert_eq!(horizon(Jitter::None), Horizon::Exact(Duration::from_secs_f64(none)));
        let kinds = [Jitter::Equal, Jitter::Full, Jitter::Decorrelated];
        for (kind, (p5_table, p50_table)) in kinds.into_iter().zip(jittered) {
            let Horizon::Jittered { p5, p50, p95 } = horizon(kind) else { panic!("{kind:?}") };
            assert!(p5 < p50 && p50 < p95);
            // Decorrelated waits differ by design: our cap draws again, so it keeps them apart.
            let percent = if kind == Jitter::Decorrelated { 0.15 } else { 0.05 };
            for (ours, published) in [(p5, p5_table), (p50, p50_table)] {
                let apart = (ours.as_secs_f64() - published).abs();
                assert!(
                    apart <= (published * percent).max(0.6),
                    "{kind:?} {initial} {max} {attempts}: {ours:?}, not {published} s"
                );
            }
        }
    }
}

#[test]
fn an_explanation_reads_well() {
    let mut throttle = Rule::retrying(
        Matcher { code: Some(steadfast_retry::CodePattern::new("429")), ..Matcher::default() },
        doubling("5s", "10m").jittered(Jitter::Equal),
    );
    throttle.then.counts = false;
    let declined = Rule::ending(Matcher::exactly("CardDeclined"), Action::Fail);
    let own = Draft {
        name: "stripe-charge".to_owned(),
        rules: vec![throttle, declined],
        limits: Limits::attempts(6),
        ..Draft::default()
    };
    let layers = [(Layer::ActivityType, own), (Layer::Engine, Policy::engine_default())];
    let policy = Policy::merge(layers).expect("valid");
    let setting = Setting {
        failure: Failure { code: Some("503"), ..Failure::of_type("HttpError", "bad gateway") },
        nested_attempts: &[3, 2],
        ..Setting::default()
    };
    insta::assert_snapshot!(explain(&policy, &setting), @r"
    policy stripe-charge
          1  activity type  code=429: retry 5s x2 up to 10m, equal jitter; not counted
          2  activity type  type=CardDeclined: fail
          3  engine         class=auth: fail
          4  engine         class=data: fail
          5  engine         class=permanent: fail
          6  engine         class=throttle: retry 5s x2 up to 10m, equal jitter; not counted
    default  engine         any: retry 1s x2 up to 5m, equal jitter
      limit  6 attempts, 7d in all, then park

    attempt        wait  with jitter           since start
          1           -  -                              0s
          2          1s  500ms to 1s                    1s
          3          2s  1s to 2s                       3s
          4          4s  2s to 4s                       7s
          5          8s  4s to 8s                      15s
          6         16s  8s to 16s                     31s

    survives an outage of  23s (worst 5 %: 18s, best: 27s)
    calls at most          6
    with nested retries    36
    warning: gives up in an outage longer than 18s
    warning: one piece of work may make 36 calls
    ");
}

#[test]
fn no_retries_and_no_end() {
    let once = policy(doubling("1s", "1m"), 1);
    assert_eq!(lints(&once, &Setting::default()), [Lint::NoRetries]);
    let endless = policy(doubling("1s", "1m"), 0);
    assert_eq!(lints(&endless, &Setting::default()), [Lint::NoEnd]);
    assert_eq!(explain(&endless, &Setting::default()).horizon, Horizon::Endless);
    let bounded = Setting { schedule_to_close: Some(span("1d")), ..Setting::default() };
    assert_eq!(lints(&endless, &bounded), []);
    assert_eq!(explain(&endless, &bounded).calls, Some(1_445));
    assert_eq!(lints(&policy(doubling("1m", "5m"), 10), &Setting::default()), []);
}

#[test]
fn no_cap_and_no_delay() {
    let uncapped = policy(Backoff::exponential(span("1m"), 2.0), 10);
    assert_eq!(lints(&uncapped, &Setting::default()), [Lint::NoCap]);
    let level = policy(Backoff::exponential(span("5m"), 1.0), 10);
    assert_eq!(lints(&level, &Setting::default()), []);
    let spinning = policy(Backoff::constant(Duration::ZERO), 10);
    assert!(lints(&spinning, &Setting::default()).contains(&Lint::NoDelay));
}

#[test]
fn a_short_horizon() {
    let short = policy(Backoff::constant(span("1m")), 10);
    let horizon = span("9m");
    assert_eq!(lints(&short, &Setting::default()), [Lint::ShortHorizon { horizon }]);
    let enough = policy(Backoff::constant(span("1m")), 11);
    assert_eq!(lints(&enough, &Setting::default()), []);
}

#[test]
fn retries_after_the_idempotency_key_is_forgotten() {
    let policy = policy(Backoff::constant(span("3h")), 10);
    let with = |ttl| Setting { idempotency_ttl: Some(span(ttl)), ..Setting::default() };
    let lint = Lint::OutlivesIdempotencyKey { ttl: span("24h") };
    assert_eq!(lints(&policy, &with("24h")), [lint]);
    assert_eq!(lints(&policy, &with("27h")), []);
}

#[test]
fn attempts_that_outlast_the_deadline() {
    let policy = policy(Backoff::constant(span("5m")), 10);
    let setting = |schedule_to_close| Setting {
        start_to_close: Some(span("10m")),
        schedule_to_close: Some(span(schedule_to_close)),
        ..Setting::default()
    };
    let lint = Lint::AttemptsOutlastDeadline { attempts: span("100m"), deadline: span("99m") };
    assert_eq!(lints(&policy, &setting("99m")), [lint]);
    assert_eq!(lints(&policy, &setting("100m")), []);
}

#[test]
fn no_jitter_on_a_shared_downstream() {
    let shared = Setting { is_shared: true, ..Setting::default() };
    let plain = Backoff::constant(span("5m"));
    assert_eq!(lints(&policy(plain.clone(), 10), &shared), [Lint::NoJitterOnSharedKey]);
    assert_eq!(lints(&policy(plain.clone(), 10), &Setting::default()), []);
    assert_eq!(lints(&policy(plain.jittered(Jitter::Equal), 10), &shared), []);
}

#[test]
fn rules_that_hide_others() {
    let backoff = Backoff::constant(span("5m"));
    let any = Rule::retrying(Matcher::default(), backoff.clone());
    let auth = Rule::ending(Matcher::of_class(Class::Auth), Action::Fail);
    let hidden = with_rules(vec![any.clone(), auth.clone()], backoff.clone(), 10);
    let unreachable = Lint::Unreachable { rule: 2, by: Some(1) };
    assert_eq!(lints(&hidden, &Setting::default()), [unreachable, Lint::CatchAllFirst { rule: 1 }]);
    let open = with_rules(vec![auth, any], backoff.clone(), 10);
    assert_eq!(lints(&open, &Setting::default()), []);
    let mut spent = Rule::retrying(Matcher::of_class(Class::Data), backoff.clone());
    spent.then.limits = Limits::attempts(1);
    let never = with_rules(vec![spent], backoff, 10);
    assert_eq!(lints(&never, &Setting::default()), [Lint::Unreachable { rule: 1, by: None }]);
}

#[test]
fn a_rule_that_reads_the_message_where_the_type_would_do() {
    let backoff = Backoff::constant(span("5m"));
    let message = Some(TextPattern::new("/deadlock/").expect("a regex"));
    let reads = Rule::retrying(Matcher { message, ..Matcher::default() }, backoff.clone());
    let policy = with_rules(vec![reads], backoff, 10);
    let typed = Setting { failure: Failure::of_type("DbError", "deadlock"), ..Setting::default() };
    assert!(lints(&policy, &typed).contains(&Lint::MessagePattern { rule: 1 }));
    let untyped = Failure { message: "deadlock", ..Failure::default() };
    let setting = Setting { failure: untyped, ..Setting::default() };
    assert!(!lints(&policy, &setting).contains(&Lint::MessagePattern { rule: 1 }));
}

#[test]
fn nested_retries_multiply() {
    let policy = policy(Backoff::constant(span("5m")), 5);
    let nested = |nested_attempts| Setting { nested_attempts, ..Setting::default() };
    assert_eq!(lints(&policy, &nested(&[4])), []);
    assert_eq!(lints(&policy, &nested(&[4, 3])), [Lint::Amplification { calls: 60 }]);
}
