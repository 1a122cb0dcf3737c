//! Curves and caps: golden vectors first, then what must hold for every curve.

use std::time::Duration;

use proptest::prelude::*;
use steadfast_retry::{
    Backoff, Curve, Draw, Jitter, Seed, Then,
    span::{self, Span},
};

/// The base waits after failures 1, 2, 3, …, as text.
fn bases(backoff: &Backoff, count: u32) -> String {
    let texts: Vec<String> = (1..=count)
        .map(|n| backoff.base(n).map_or_else(|| "none".to_owned(), |wait| Span(wait).to_string()))
        .collect();
    texts.join(" ")
}

fn span(text: &str) -> Duration {
    span::parse(text).expect("a duration")
}

#[test]
fn golden_vectors() {
    let second = span("1s");
    let cases = [
        (Backoff::constant(span("2s")), "2s 2s 2s 2s 2s 2s"),
        (
            Backoff::new(Curve::Linear { initial: second, step: span("500ms") }),
            "1s 1.5s 2s 2.5s 3s 3.5s",
        ),
        (Backoff::exponential(second, 2.0), "1s 2s 4s 8s 16s 32s"),
        (Backoff::exponential(span("500ms"), 1.5), "500ms 750ms 1.125s 1.6875s 2.53125s 3.796875s"),
        (Backoff::exponential(span("100ms"), 1.5), "100ms 150ms 225ms 337.5ms 506.25ms 759.375ms"),
        (Backoff::exponential(second, 1.1), "1s 1.1s 1.21s 1.331s 1.4641s 1.61051s"),
        (Backoff::exponential(second, 1.7), "1s 1.7s 2.89s 4.913s 8.3521s 14.19857s"),
        (Backoff::exponential(second, 1.0), "1s 1s 1s 1s 1s 1s"),
        (Backoff::exponential(second, 10.0).capped(span("1m")), "1s 10s 1m 1m 1m 1m"),
        (Backoff::new(Curve::Polynomial { initial: second, power: 2 }), "1s 4s 9s 16s 25s 36s"),
        (
            Backoff::new(Curve::Polynomial { initial: second, power: 4 }),
            "1s 16s 1m21s 4m16s 10m25s 21m36s",
        ),
        (Backoff::new(Curve::Fibonacci { initial: second }), "1s 1s 2s 3s 5s 8s"),
        (Backoff::schedule([second, span("10s")], Then::Repeat), "1s 10s 10s 10s 10s 10s"),
        (Backoff::schedule([second, span("10s")], Then::Exhaust), "1s 10s none none none none"),
    ];
    for (backoff, expected) in cases {
        assert_eq!(bases(&backoff, 6), expected, "{backoff}");
    }
}

#[test]
fn the_largest_attempt_saturates_at_once() {
    let (hour, cap) = (span("1h"), span("1d"));
    let curves = [
        Curve::Linear { initial: hour, step: Duration::MAX },
        Curve::Exponential { initial: hour, coef: 1.000_001 },
        Curve::Exponential { initial: hour, coef: f64::MAX },
        Curve::Polynomial { initial: hour, power: u32::MAX },
        Curve::Fibonacci { initial: hour },
    ];
    for curve in curves {
        for n in [100_000_000, u32::MAX] {
            let capped = Backoff::new(curve.clone()).capped(cap);
            assert_eq!(capped.base(n), Some(cap), "{curve:?} at {n}");
        }
        let uncapped = Backoff::new(curve.clone()).base(u32::MAX).expect("a wait");
        assert!(uncapped > cap, "{curve:?} gives {uncapped:?}");
    }
}

#[test]
fn a_zero_initial_wait_stays_zero_and_the_floor_lifts_it() {
    let zero = Backoff::exponential(Duration::ZERO, 2.0);
    assert_eq!(zero.base(u32::MAX), Some(Duration::ZERO));
    let draw = Draw { seed: Seed::new(&[]), failure: 0, previous: None };
    assert_eq!(zero.delay(5, &draw), Some(Duration::from_millis(1)));
    assert_eq!(zero.exact().delay(5, &draw), Some(Duration::ZERO));
}

#[test]
fn durations_read_as_they_are_written() {
    for text in ["0s", "1ns", "1.5us", "337.5ms", "30s", "1h30m", "7d", "1d2h3m4.5s"] {
        assert_eq!(Span(span(text)).to_string(), text);
    }
    assert_eq!(span("0"), Duration::ZERO);
    assert_eq!(span("0.1s"), Duration::from_millis(100));
    assert_eq!(span("90m"), span("1h30m"));
    for wrong in ["", "5", "s", "-1s", "1 fortnight", "1..5s", "1.s2"] {
        let refused = span::parse(wrong).expect_err(wrong);
        assert!(refused.to_string().starts_with("not a duration: "), "{refused}");
    }
}

fn curves() -> impl Strategy<Value = Curve> {
    let initial = (0..10_u64.pow(13)).prop_map(Duration::from_nanos);
    prop_oneof![
        initial.clone().prop_map(|initial| Curve::Constant { initial }),
        (initial.clone(), 0..10_u64.pow(12)).prop_map(|(initial, step)| Curve::Linear {
            initial,
            step: Duration::from_nanos(step)
        }),
        (initial.clone(), 1.0..100.0)
            .prop_map(|(initial, coef)| Curve::Exponential { initial, coef }),
        (initial.clone(), 0..9_u32)
            .prop_map(|(initial, power)| Curve::Polynomial { initial, power }),
        initial.prop_map(|initial| Curve::Fibonacci { initial }),
    ]
}

proptest! {
    #[test]
    fn without_jitter_waits_never_shrink(curve in curves(), n in 1..u32::MAX) {
        let backoff = Backoff::new(curve).capped(span("30d"));
        let (now, next) = (backoff.base(n), backoff.base(n + 1));
        prop_assert!(now <= next, "{now:?} then {next:?}");
        prop_assert!(next <= Some(span("30d")));
    }

    #[test]
    fn every_wait_is_within_its_range(
        curve in curves(),
        n in 1..u32::MAX,
        failure in any::<u64>(),
        previous in prop::option::of(0..10_u64.pow(13)),
    ) {
        let jitters = [
            Jitter::None,
            Jitter::Full,
            Jitter::Equal,
            Jitter::Proportional(0.2),
            Jitter::Smooth,
            Jitter::Decorrelated,
        ];
        let max = span("1h");
        let draw = Draw {
            seed: Seed::new(&["range"]),
            failure,
            previous: previous.map(Duration::from_nanos),
        };
        for jitter in jitters {
            let backoff = Backoff::new(curve.clone()).capped(max).jittered(jitter).exact();
            let wait = backoff.delay(n, &draw).expect("a wait");
            let (shortest, longest) = backoff.range(n).expect("a range");
            let over = if jitter == Jitter::Proportional(0.2) { 1.2 } else { 1.0 };
            prop_assert!(wait.as_secs_f64() <= max.as_secs_f64() * over + 1e-9, "{jitter:?}: {wait:?}");
            // How far a decorrelated wait goes depends on the one before, which is any here.
            if jitter != Jitter::Decorrelated {
                prop_assert!(shortest <= wait && wait <= longest, "{jitter:?}: {wait:?}");
            }
            prop_assert_eq!(backoff.delay(n, &draw), Some(wait));
        }
    }
}
