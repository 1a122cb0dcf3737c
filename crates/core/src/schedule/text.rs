//! Calendars written as text: one string a field, or one cron string for all of them.

use std::time::Duration;

use steadfast_proto::schedule::{CalendarSpec, IntervalSpec, StructuredCalendarSpec};

use super::{
    field::{DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, YEAR},
    invalid::Invalid,
};
use crate::span;

/// What a cron string says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cron {
    /// The zone in front of it.
    pub(super) zone: Option<String>,
    pub(super) rule: Rule,
}

/// When a cron string fires.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rule {
    Calendar(StructuredCalendarSpec),
    Interval(IntervalSpec),
}

/// Reads a calendar whose fields are texts.
pub(super) fn calendar(spec: &CalendarSpec) -> Result<StructuredCalendarSpec, Invalid> {
    Ok(StructuredCalendarSpec {
        second: SECOND.read(&spec.second, "0")?,
        minute: MINUTE.read(&spec.minute, "0")?,
        hour: HOUR.read(&spec.hour, "0")?,
        day_of_month: DAY_OF_MONTH.read(&spec.day_of_month, "*")?,
        month: MONTH.read(&spec.month, "*")?,
        year: YEAR.read(&spec.year, "*")?,
        day_of_week: DAY_OF_WEEK.read(&spec.day_of_week, "*")?,
        comment: spec.comment.clone(),
    })
}

/// Reads a cron string.
pub(super) fn cron(text: &str) -> Result<Cron, Invalid> {
    let (rest, comment) = text.split_once('#').unwrap_or((text, ""));
    let (zone, rest) = zone(rest.trim());
    if let Some(spans) = rest.strip_prefix("@every") {
        return Ok(Cron { zone, rule: Rule::Interval(every(spans.trim())?) });
    }
    let fields = word(rest).unwrap_or(rest);
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let (second, rest, year) = match fields.as_slice() {
        rest @ [_, _, _, _, _] => ("0", rest, "*"),
        [rest @ .., year] if fields.len() == 6 => ("0", rest, *year),
        [second, rest @ .., year] if fields.len() == 7 => (*second, rest, *year),
        _ => return Err(Invalid::Fields { text: text.to_owned(), found: fields.len() }),
    };
    let field = |place: usize| rest.get(place).copied().unwrap_or_default().to_owned();
    let spec = CalendarSpec {
        second: second.to_owned(),
        minute: field(0),
        hour: field(1),
        day_of_month: field(2),
        month: field(3),
        day_of_week: field(4),
        year: year.to_owned(),
        comment: comment.trim().to_owned(),
    };
    Ok(Cron { zone, rule: Rule::Calendar(calendar(&spec)?) })
}

fn zone(text: &str) -> (Option<String>, &str) {
    let named = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="));
    let Some(named) = named else { return (None, text) };
    let (zone, rest) = named.split_once(char::is_whitespace).unwrap_or((named, ""));
    (Some(zone.to_owned()), rest.trim())
}

fn word(text: &str) -> Option<&'static str> {
    Some(match text.to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return None,
    })
}

/// `90s`, or `1h/5m` with a phase.
fn every(text: &str) -> Result<IntervalSpec, Invalid> {
    let fault = || Invalid::Every(text.to_owned());
    let read = |text: &str| steadfast_retry::span::parse(text.trim()).map_err(|_| fault());
    let (interval, phase) = match text.split_once('/') {
        Some((interval, phase)) => (read(interval)?, read(phase)?),
        None => (read(text)?, Duration::ZERO),
    };
    Ok(IntervalSpec { interval: span::to_wire(interval), phase: span::to_wire(phase) })
}
