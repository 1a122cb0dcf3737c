//! The attempts of one thing: when each ran, how it ended, and what was decided.

use maud::{Markup, html};
use steadfast_store::{AttemptLog, AttemptOutcome, AttemptRow};

use super::{chart, run::SAID, visit::Visit, words};

/// All attempts of one thing, as a picture and one by one.
pub(super) fn of(visit: &Visit, log: &AttemptLog) -> Markup {
    let Some(first) = log.rows.first() else { return html! {} };
    let dropped: u64 = log.dropped.values().sum();
    html! {
        h3 { (subject(first)) }
        (chart::of(visit.now, &log.rows))
        table {
            thead { tr { th.number { "Attempt" } th { "Outcome" } th { "Began" } th { "Took" } th { "Worker" } th { "Error" } th { "Decided" } th { "Next" } } }
            tbody { @for row in &log.rows { (line(visit, row)) } }
        }
        @if dropped > 0 {
            p.faint { (dropped) " attempts between the first and the last are counted, not kept." }
        }
    }
}

fn subject(row: &AttemptRow) -> Markup {
    html! {
        @match row.activity {
            0 => { "The run" }
            1.. => { (row.activity_type) " " span.faint { (row.activity_id) } }
            _ => { "Its workflow task" }
        }
    }
}

fn line(visit: &Visit, row: &AttemptRow) -> Markup {
    let error = words::caused(&row.error_type, &row.message);
    html! {
        tr {
            td.number { (row.attempt) }
            td { (words::badge(outcome(row.outcome))) }
            td.time { (row.started_at.map(words::clock).unwrap_or_default()) }
            td.time { (row.started_at.map(|at| words::span(row.ended_at.since(at))).unwrap_or_default()) }
            td { (row.worker) }
            td.said { (words::cut(&error, SAID)) }
            td { (row.why) @if !row.rule.is_empty() { " " span.faint { (row.layer) " " (row.policy) " " (row.rule) } } }
            td {
                @if row.parked { (words::badge("Parked")) " " }
                @if let Some(at) = row.next_at.filter(|at| *at > visit.now) { (words::moment(visit.now, at)) }
            }
        }
    }
}

/// How an attempt ended, in a word.
pub(super) const fn outcome(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Failed => "Failed",
        AttemptOutcome::TimedOut => "TimedOut",
        AttemptOutcome::Completed => "Completed",
        AttemptOutcome::Cancelled => "Cancelled",
    }
}
