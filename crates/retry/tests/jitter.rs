//! Is chance fair, does it survive the cap, does it replay, and does it help?

mod contention;

use std::collections::BTreeSet;
use std::time::Duration;

use contention::Contention;
use steadfast_retry::{Backoff, Draw, Jitter, Seed};

const KINDS: [Jitter; 5] = [
    Jitter::Full,
    Jitter::Equal,
    Jitter::Proportional(Jitter::SHARE),
    Jitter::Decorrelated,
    Jitter::Smooth,
];

fn backoff(jitter: Jitter) -> Backoff {
    let second = Duration::from_secs(1);
    Backoff::exponential(second, 2.0).capped(Duration::from_secs(60)).jittered(jitter)
}

/// The waits of one piece of work over `count` failures.
fn schedule(backoff: &Backoff, id: &str, count: u32) -> Vec<Duration> {
    let parts = ["shop", id, "charge"];
    let mut previous = None;
    let wait = |n: u32| {
        let draw = Draw { seed: Seed::new(&parts), failure: u64::from(n), previous };
        previous = backoff.delay(n, &draw);
        previous.expect("a wait")
    };
    (1..=count).map(wait).collect()
}

/// The largest distance between the share of samples below x and x.
fn kolmogorov_smirnov(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let count = f64::from(u32::try_from(samples.len()).expect("few"));
    (0..).zip(&samples).fold(0.0, |worst: f64, (rank, sample)| {
        let (below, above) = (f64::from(rank) / count, f64::from(rank + 1) / count);
        worst.max((sample - below).abs()).max((above - sample).abs())
    })
}

#[test]
fn neighbouring_ids_draw_uniformly() {
    let by_id: Vec<f64> = (0..100_000)
        .map(|id| Seed::new(&["shop", &format!("order-{id}"), "charge"]).unit(1, 0).get())
        .collect();
    let by_failure: Vec<f64> =
        (0..100_000).map(|failure| Seed::new(&["order-7"]).unit(failure, 0).get()).collect();
    for samples in [by_id, by_failure] {
        let distance = kolmogorov_smirnov(samples);
        // 1.95 / sqrt(n) is passed by chance once in a thousand; these samples are always the same.
        assert!(distance < 1.95 / 100_000_f64.sqrt(), "distance {distance}");
    }
    let skewed: Vec<f64> = (0..1_000).map(|n| (f64::from(n) / 1_000.0).powi(2)).collect();
    assert!(kolmogorov_smirnov(skewed) > 0.2, "the measure sees a skew");
}

#[test]
fn how_the_parts_are_cut_matters() {
    let unit = |parts: &[&str]| Seed::new(parts).unit(0, 0);
    assert_ne!(unit(&["a|b", "c"]), unit(&["a", "b|c"]));
    assert_ne!(unit(&["ab", "c"]), unit(&["a", "bc"]));
}

#[test]
fn no_two_ids_share_a_schedule() {
    for kind in KINDS {
        let backoff = backoff(kind);
        let schedules: BTreeSet<_> =
            (0..2_000).map(|id| schedule(&backoff, &id.to_string(), 4)).collect();
        assert_eq!(schedules.len(), 2_000, "{kind:?}");
    }
}

#[test]
fn jitter_survives_the_cap() {
    for kind in KINDS {
        let backoff = backoff(kind);
        let cap = Duration::from_secs(60);
        let at_cap: Vec<Duration> =
            (0..1_000).map(|id| schedule(&backoff, &id.to_string(), 1_000)[999]).collect();
        let distinct: BTreeSet<_> = at_cap.iter().collect();
        assert!(distinct.len() > 990, "{kind:?}: {} different waits", distinct.len());
        assert!(at_cap.iter().filter(|wait| **wait == cap).count() <= 1, "{kind:?}");
        let (longest, shortest) = at_cap.iter().max().zip(at_cap.iter().min()).expect("waits");
        let spread = longest.saturating_sub(*shortest);
        assert!(spread > Duration::from_secs(10), "{kind:?}: {spread:?}");
    }
}

#[test]
fn a_replay_waits_exactly_as_long() {
    for kind in KINDS {
        let backoff = backoff(kind);
        assert_eq!(schedule(&backoff, "order-7", 50), schedule(&backoff, "order-7", 50));
        assert_ne!(schedule(&backoff, "order-7", 50), schedule(&backoff, "order-8", 50));
    }
}

#[test]
fn the_first_waits_are_pinned() {
    let lines = KINDS.map(|kind| {
        let waits = schedule(&backoff(kind), "order-7", 5);
        let millis: Vec<String> = waits.iter().map(|wait| wait.as_millis().to_string()).collect();
        format!("{:<12} {}", kind.name(), millis.join(" "))
    });
    insta::assert_snapshot!(lines.join("\n"), @r"
    full         709 1520 2881 792 3533
    equal        854 1760 3440 4396 9766
    proportional 1083 2208 4352 6717 14213
    decorrelated 2418 5757 12723 4684 3882
    smooth       1090 1306 2298 1414 7202
    ");
}

/// The contention model, same seeds every time: clients try to change one row at once.
#[test]
fn contention_orders_the_jitters_as_published() {
    let sizes = [50, 100, 190];
    let results = sizes.map(Contention::run_all);
    for (size, result) in sizes.iter().zip(&results) {
        let [none, exponential, equal, full, decorrelated] = result;
        let apart = (full.calls - equal.calls).abs() / equal.calls;
        assert!(apart < 0.1, "full and equal make the same calls: {full:?} {equal:?} at {size}");
        assert!(decorrelated.calls > full.calls, "{decorrelated:?} {full:?} at {size}");
        for other in [exponential, equal, full, decorrelated] {
            assert!(none.millis < other.millis, "none is fastest at {size}: {other:?}");
            assert!(none.calls > other.calls, "none is costliest at {size}: {other:?}");
        }
    }
    let [_, exponential, equal, full, _] = &results[1];
    for jittered in [equal, full] {
        assert!(jittered.calls < 0.5 * exponential.calls, "{jittered:?} {exponential:?}");
    }
    assert!(exponential.millis > 8.0 * full.millis, "{exponential:?} {full:?}");
    // The calls of a hundred clients, as another port of the model had them, within 5 %.
    for (result, published) in results[1].iter().zip([2_424.0, 1_856.0, 812.0, 795.0, 999.0]) {
        assert!((result.calls / published - 1.0).abs() < 0.05, "{result:?}, not {published}");
    }
}
