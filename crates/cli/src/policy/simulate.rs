//! `steadfast policy simulate`: an outage, and everyone who waits for its end under a policy.

use anyhow::Result;
use serde_json::{Value, json};
use steadfast_retry::{
    Policy,
    simulate::outage::{Outage, Report},
    span::Span,
};

use crate::{
    file,
    output::{Progress, Table, View},
    time,
    trouble::Trouble,
};

/// Which policies, and what they are put through.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SimulateArgs {
    /// The policy, a JSON or YAML file; `-` is standard input
    file: String,

    /// Policies to put through the same, side by side
    #[arg(long, value_name = "FILE", num_args = 1..)]
    compare: Vec<String>,

    /// How long the other side is down
    #[arg(long, value_name = "DURATION", default_value = "30m")]
    outage: time::Span,

    /// New activities a second
    #[arg(long, value_name = "NUMBER", default_value_t = 60)]
    arrivals: u32,

    /// Answers a second, when it is up
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    capacity: u32,

    /// How long one attempt waits for its answer
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    client_timeout: time::Span,

    /// The other side turns calls away when so many wait
    #[arg(long, value_name = "NUMBER")]
    shed_above: Option<usize>,

    /// How long to look on after the outage
    #[arg(long, value_name = "DURATION", default_value = "3h")]
    watch: time::Span,
}

/// Does it.
pub(super) fn run(args: &SimulateArgs, view: &View) -> Result<()> {
    let outage = args.outage()?;
    let names: Vec<&String> = std::iter::once(&args.file).chain(&args.compare).collect();
    let mut reports = Vec::new();
    for (number, name) in (1..).zip(&names) {
        let policy = Policy::new(file::draft(name)?)
            .map_err(|invalid| Trouble::usage(format!("{name}: {invalid}")))?;
        let mut progress = Progress::new(format!("policy {number} of {}", names.len()));
        let seconds = u64::from(outage.seconds());
        let report = outage.run_watched(&policy, |played| progress.at(u64::from(played), seconds));
        progress.end();
        let title =
            if policy.name().is_empty() { (*name).clone() } else { policy.name().to_owned() };
        reports.push((title, report));
    }
    let value: Vec<Value> = reports.iter().map(|(name, report)| value(name, report)).collect();
    let best = outage.best_drain();
    view.answer_value(&json!({ "reports": value, "bestDrainSeconds": best }), || {
        text(&reports, best)
    })
}

impl SimulateArgs {
    fn outage(&self) -> Result<Outage> {
        let seconds = |flag: &str, span: time::Span| {
            u32::try_from(span.duration().as_secs())
                .ok()
                .filter(|seconds| *seconds <= LONGEST)
                .ok_or_else(|| Trouble::usage(format!("--{flag} is longer than a week")))
        };
        if self.arrivals > MOST || self.capacity > MOST {
            let message = format!("--arrivals and --capacity go up to {MOST} a second");
            return Err(Trouble::usage(message));
        }
        Ok(Outage {
            arrivals: self.arrivals,
            capacity: self.capacity,
            down_for: seconds("outage", self.outage)?,
            client_timeout: seconds("client-timeout", self.client_timeout)?,
            shed_above: self.shed_above,
            observe: seconds("watch", self.watch)?,
        })
    }
}

/// A line for each number, a column for each policy.
fn text(reports: &[(String, Report)], best: Option<u32>) -> String {
    let head = std::iter::once("").chain(reports.iter().map(|(name, _)| name.as_str()));
    let mut table = Table::wide(head);
    let mut line = |name: &str, show: &dyn Fn(&Report) -> String| {
        let cells = reports.iter().map(|(_, report)| show(report));
        table.wide_row(std::iter::once(name.to_owned()).chain(cells));
    };
    line("attempts in the outage", &|report| report.attempts_in_outage.to_string());
    line("peak a second after it", &|report| report.peak_after.to_string());
    line("goodput in hour one", &|report| format!("{:.1}/s", report.goodput));
    line("drained after", &|report| report.drained_after.map_or_else(|| "never".to_owned(), span));
    line("gave up", &|report| report.failed.to_string());
    let best = best.map_or_else(
        || "it is never drained: no capacity is left beside new work".to_owned(),
        |best| format!("no policy can drain it in less than {}", span(best)),
    );
    format!("{}\n{best}\n", table.text_or(""))
}

fn span(seconds: u32) -> String {
    Span(std::time::Duration::from_secs(seconds.into())).to_string()
}

fn value(name: &str, report: &Report) -> Value {
    json!({
        "policy": name,
        "attemptsInOutage": report.attempts_in_outage,
        "peakAfter": report.peak_after,
        "goodput": report.goodput,
        "drainedAfterSeconds": report.drained_after,
        "gaveUp": report.failed,
    })
}

/// A week.
const LONGEST: u32 = 7 * 24 * 3_600;
/// More is a number that this machine need not count to.
const MOST: u32 = 10_000;
