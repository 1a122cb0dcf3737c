//! Numbers about failures and retries.

use std::{collections::BTreeMap, fmt, sync::atomic::Ordering};

use prometheus_client::{encoding::NoLabelSet, metrics::MetricType};
use steadfast_engine::{
    Engine, Timestamp,
    tally::{Name, Tally},
};
use steadfast_store::{ErrorGroupRow, ErrorState};

use super::text::{Writer, write_histogram};

/// The errors of each activity, as they are now.
#[derive(Debug, Default)]
pub(super) struct Failing {
    now: Timestamp,
    groups: Vec<(String, ErrorGroupRow)>,
    /// Documents that are sent again and again, and those that are set aside.
    undelivered: (usize, usize),
}

impl Failing {
    /// Looks how many errors there are. If the store does not say, the rest is told without them.
    pub(super) async fn look(engine: &Engine) -> Self {
        let groups = engine.failing().await.unwrap_or_default();
        Self { now: engine.now(), groups, undelivered: engine.count_undelivered() }
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let gauges = [
            ("steadfast_retry_pending", "Activities that are being retried", ErrorState::Retrying),
            ("steadfast_retry_parked", "Activities that wait for a resume", ErrorState::Parked),
            (
                "steadfast_failed_runs",
                "Runs that have failed and can be resumed",
                ErrorState::Failed,
            ),
            ("steadfast_dead_letters", "Dead letters", ErrorState::Dead),
        ];
        for (name, help, state) in gauges {
            let mut family = writer.family(name, help, MetricType::Gauge)?;
            for (namespace, group) in &self.groups {
                let Some(count) = group.states.get(&state) else { continue };
                let row = &group.example.row;
                let labels = [
                    ("namespace", namespace.as_str()),
                    ("workflow_type", row.workflow_type.as_str()),
                    ("activity", row.activity_type.as_str()),
                ];
                family.encode_family(&labels)?.encode_gauge(count)?;
            }
        }
        let help = "Documents that no webhook has taken yet";
        let mut family =
            writer.family("steadfast_webhooks_undelivered", help, MetricType::Gauge)?;
        let (retrying, set_aside) = self.undelivered;
        for (state, count) in [("retrying", retrying), ("set_aside", set_aside)] {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            family.encode_family(&[("state", state)])?.encode_gauge(&count)?;
        }
        let oldest = self.groups.iter().map(|(_, group)| group.first_at).min();
        let seconds = oldest.map_or(0, |at| self.now.since(at).as_secs());
        let help = "Since when the oldest error is open";
        writer.gauge("steadfast_retry_oldest_seconds", help, seconds)
    }
}

pub(super) fn write_tally(tally: &Tally, now: Timestamp, writer: &mut Writer<'_>) -> fmt::Result {
    counters(tally, writer)?;
    let mut family = writer.family(
        "steadfast_retry_amplification",
        "Attempts for each completion in the last five minutes",
        MetricType::Gauge,
    )?;
    for (name, activity) in tally.activities() {
        if let Some(amplification) = activity.amplification(now) {
            let labels = [("activity", name.as_str())];
            family.encode_family(&labels)?.encode_gauge(&amplification)?;
        }
    }
    let histogram = MetricType::Histogram;
    let help = "Waits before the next attempt, by where they come from";
    let mut family = writer.family("steadfast_retry_delay_seconds", help, histogram)?;
    for (source, delays) in tally.delays() {
        let labels = [("why", source)];
        write_histogram(&mut family.encode_family(&labels)?, &delays, 1e-3)?;
    }
    let help = "Attempts that it took to complete an activity";
    let mut family = writer.family("steadfast_attempts_per_completion", help, histogram)?;
    write_histogram(&mut family, tally.attempts_per_completion(), 1.0)?;
    let help = "From an activity's schedule to its completion, by attempts";
    let mut family = writer.family("steadfast_time_to_success_seconds", help, histogram)?;
    for (attempts, took) in tally.successes() {
        let labels = [("attempts", attempts)];
        write_histogram(&mut family.encode_family(&labels)?, took, 1e-3)?;
    }
    let help = "How late attempts were handed out that came after a wait";
    let mut family = writer.family("steadfast_retry_schedule_lag_seconds", help, histogram)?;
    write_histogram(&mut family, tally.lags(), 1e-3)
}

/// The counters, each family in one place; completed attempts are counted by their activities.
fn counters(tally: &Tally, writer: &mut Writer<'_>) -> fmt::Result {
    let mut families: BTreeMap<Name, Vec<(Vec<String>, u64)>> = BTreeMap::new();
    for ((name, labels), count) in tally.counters() {
        families.entry(name).or_default().push((labels, count));
    }
    let attempts = families.entry(Name::Attempts).or_default();
    for (activity, numbers) in tally.activities() {
        let completed = numbers.completed.load(Ordering::Relaxed);
        if completed > 0 {
            attempts.push((vec![activity, "completed".to_owned(), String::new()], completed));
        }
    }
    for (name, counters) in families {
        let (name, help, names) = name.describe();
        let mut family = writer.family(name, help, MetricType::Counter)?;
        for (values, count) in counters {
            let labels: Vec<(&str, &str)> =
                names.iter().copied().zip(values.iter().map(String::as_str)).collect();
            let labels = labels.as_slice();
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
    }
    Ok(())
}
