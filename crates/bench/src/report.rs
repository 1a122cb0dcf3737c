//! What a case found, as a line for people and as an object for programs.

use std::{
    fmt::{self, Display},
    io::Write as _,
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// What one case found on one system.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Line {
    /// Which case.
    pub case: String,
    /// On which system.
    pub system: String,
    /// What a commit waited for: `full` or `normal`.
    pub sync: String,
    /// Workflows a second; steps a second where one workflow is a chain of them.
    pub throughput_per_s: f64,
    /// Latency of a workflow; of a step where one workflow is a chain of them.
    pub p50_ms: f64,
    /// The same, of the slowest in a hundred.
    pub p99_ms: f64,
    /// CPU of the whole process: workers and clients are in it, unless the case drives a server.
    /// `null` if the process is not known.
    pub cpu_ms_per_workflow: Option<f64>,
    /// Commits that wait for the disk, by activity; `null` if the system does not tell.
    pub fsyncs_per_step: Option<f64>,
    /// The most memory that the process used.
    pub rss_mib: f64,
    /// What else the case is about, by name.
    #[serde(flatten)]
    pub more: std::collections::BTreeMap<String, serde_json::Value>,
}

/// What was counted while a case ran.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Workflows that closed.
    pub workflows: usize,
    /// Activities that completed.
    pub steps: usize,
    /// What throughput counts: workflows, or steps.
    pub units: usize,
    /// How long it took.
    pub elapsed: Duration,
    /// CPU of the process.
    pub cpu: Duration,
    /// Commits.
    pub commits: u64,
    /// How long each unit took.
    pub spans: Vec<Duration>,
}

impl Counted {
    /// Adds what was counted later.
    pub fn add(&mut self, later: Self) {
        self.workflows += later.workflows;
        self.steps += later.steps;
        self.units += later.units;
        self.elapsed += later.elapsed;
        self.cpu += later.cpu;
        self.commits += later.commits;
        self.spans.extend(later.spans);
    }
}

impl Line {
    /// Makes a line of what was counted.
    pub fn new(case: &str, sync: &str, mut counted: Counted, rss_mib: f64) -> Self {
        Self {
            case: case.to_owned(),
            system: "steadfast".to_owned(),
            sync: sync.to_owned(),
            throughput_per_s: ratio(real(counted.units), counted.elapsed.as_secs_f64()),
            p50_ms: ms(percentile(&mut counted.spans, 50)),
            p99_ms: ms(percentile(&mut counted.spans, 99)),
            cpu_ms_per_workflow: Some(ratio(ms(counted.cpu), real(counted.workflows))),
            fsyncs_per_step: Some(ratio(real(counted.commits), real(counted.steps))),
            rss_mib,
            more: std::collections::BTreeMap::new(),
        }
    }

    /// Adds a number that only this case has.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.more.insert(name.to_owned(), rounded(value).into());
        self
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<18} {:<16} {:<6} {:>10.1}/s  p50 {:>8.3} ms  p99 {:>8.3} ms",
            self.case, self.system, self.sync, self.throughput_per_s, self.p50_ms, self.p99_ms,
        )?;
        if let Some(cpu) = self.cpu_ms_per_workflow {
            write!(f, "  cpu {cpu:>7.3} ms/workflow")?;
        }
        if let Some(fsyncs) = self.fsyncs_per_step {
            write!(f, "  {fsyncs:.4} fsyncs/step")?;
        }
        write!(f, "  rss {:.0} MiB", self.rss_mib)?;
        self.more.iter().try_for_each(|(name, value)| write!(f, "  {name} {value}"))
    }
}

/// Prints what a case found, for programs or for people.
pub fn show(json: bool, line: &Line) {
    if json { say(serde_json::json!(line)) } else { say(line) }
}

/// Prints a line. Whoever reads may have gone, as `| head` does: what was begun comes to its end, and
/// leaves no files behind.
pub fn say(line: impl Display) {
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// The span that `percent` of all spans do not exceed. Sorts them.
pub fn percentile(spans: &mut [Duration], percent: usize) -> Duration {
    spans.sort_unstable();
    let place = (spans.len() * percent).div_ceil(100).max(1) - 1;
    spans.get(place).copied().unwrap_or_default()
}

/// A span in milliseconds.
pub fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// A count as a number to divide by.
pub fn real(count: impl TryInto<u32>) -> f64 {
    count.try_into().map_or(f64::MAX, f64::from)
}

/// One by the other; 0 if there is nothing to divide by.
pub fn ratio(one: f64, other: f64) -> f64 {
    if other > 0.0 { one / other } else { 0.0 }
}

/// Four digits after the point are more than the measurement has.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::percentile;

    #[test]
    fn a_percentile_is_one_of_the_spans() {
        let mut spans: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut spans, 50), Duration::from_millis(50));
        assert_eq!(percentile(&mut spans, 99), Duration::from_millis(99));
        assert_eq!(percentile(&mut [], 99), Duration::ZERO);
    }
}
