//! Resume policies asked about failures: none matches but the last, so that each is looked at.

use anyhow::Result;
use steadfast_engine::Timestamp;
use steadfast_retry::{
    Unit,
    resume::{ActionError, BackOffDraft, Draft, Policies},
};

use crate::{
    args::FailuresPlan,
    report::{Counted, Line, percentile},
    shape::cause,
    usage::{self, Stopwatch, now},
};

/// The name of the case.
pub(super) const MATCHING: &str = "match_policies";

/// Asks the policies about each error.
pub(super) fn run(plan: &FailuresPlan) -> Result<Line> {
    let policies = policies(plan.policies)?;
    let causes: Vec<String> = (0..plan.errors).map(|id| cause(&format!("order-{id}"))).collect();
    usage::reset_peak();
    let watch = Stopwatch::start();
    let mut spans = Vec::with_capacity(causes.len());
    let mut found = 0;
    for cause in &causes {
        let error = ActionError {
            cause,
            flow: "Order",
            action: "Order.Charge",
            action_type: "",
            attempts: 1,
            stopped_at: Timestamp::from_secs(1_000),
        };
        let began = now();
        found += usize::from(policies.resume(&error, Unit::from_f64(0.5)).is_some());
        spans.push(began.elapsed());
    }
    anyhow::ensure!(found == causes.len(), "{found} of {} errors matched", causes.len());
    let median = percentile(&mut spans, 50).as_secs_f64() * 1e6;
    let slowest = percentile(&mut spans, 99).as_secs_f64() * 1e6;
    let counted = Counted {
        units: causes.len(),
        elapsed: watch.elapsed(),
        cpu: watch.cpu(),
        spans,
        ..Counted::default()
    };
    let line = Line::new(MATCHING, "none", counted, usage::peak_rss_mib());
    Ok(line.with("p50_us", median).with("p99_us", slowest))
}

fn policies(count: usize) -> Result<Policies> {
    let last = count.saturating_sub(1);
    let policy = |place: usize| {
        let words =
            if place == last { "did not answer".to_owned() } else { format!("odd {place}") };
        let draft = Draft {
            name: Some(format!("policy-{place}")),
            error_substring: Some(words),
            max_attempts: Some(20),
            // The one that matches is asked last.
            priority: Some(i64::try_from(count - place)?),
            back_off: Some(BackOffDraft { delay: Some(60), ..BackOffDraft::default() }),
            ..Draft::default()
        };
        Ok(draft.create(u128::try_from(place)?)?)
    };
    Ok(Policies::new((0..count).map(policy).collect::<Result<Vec<_>>>()?))
}
