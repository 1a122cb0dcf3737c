//! Cron schedules: five fields, the usual `@` words, `@every`, and a time zone in front.

use std::{str::FromStr as _, time::Duration};

use croner::Cron;
use jiff::{Timestamp as Instant, tz::TimeZone};
use steadfast_retry::Timestamp;

/// Why a text is no schedule.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The zone in front is not one.
    #[error("unknown time zone {0:?}")]
    Zone(String),
    /// What follows `@every` is no span.
    #[error("{0:?} is not a duration such as 90s, 5m or 1h30m")]
    Every(String),
    /// The fields are not right.
    #[error("{text:?} is not five cron fields: {reason}")]
    Fields {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    zone: TimeZone,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Every(Duration),
    Fields(Box<Cron>),
}

/// Reads a schedule.
pub fn parse(text: &str) -> Result<Schedule, Invalid> {
    let (zone, rest) = zone(text.trim())?;
    let rule = match rest.strip_prefix("@every") {
        Some(span) => Rule::Every(every(span.trim())?),
        None => Rule::Fields(Box::new(fields(rest)?)),
    };
    Ok(Schedule { zone, rule })
}

impl Schedule {
    /// How long to wait from `now` for the first time after `last` that is not over yet, in whole
    /// seconds and never less than one. `None` if there is no such time.
    pub fn wait(&self, last: Timestamp, now: Timestamp) -> Option<Duration> {
        let next = self.next(last, now)?;
        let seconds = next.since(now).as_nanos().div_ceil(1_000_000_000).max(1);
        Some(Duration::from_secs(u64::try_from(seconds).ok()?))
    }

    fn next(&self, last: Timestamp, now: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            Rule::Every(span) => {
                let passed = now.since(last).as_nanos() / span.as_nanos() + 1;
                let nanos = u64::try_from(passed.checked_mul(span.as_nanos())?).ok()?;
                Some(last.after(Duration::from_nanos(nanos)))
            }
            Rule::Fields(cron) => {
                let from = Instant::from_nanosecond(i128::from(last.max(now).nanos())).ok()?;
                let next =
                    cron.find_next_occurrence(&from.to_zoned(self.zone.clone()), false).ok()?;
                Some(Timestamp(i64::try_from(next.timestamp().as_nanosecond()).ok()?))
            }
        }
    }
}

fn zone(text: &str) -> Result<(TimeZone, &str), Invalid> {
    let named = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="));
    let Some(named) = named else { return Ok((TimeZone::UTC, text)) };
    let (name, rest) = named.split_once(' ').unwrap_or((named, ""));
    let zone = TimeZone::get(name).map_err(|_| Invalid::Zone(name.to_owned()))?;
    Ok((zone, rest.trim()))
}

/// Whole seconds, at least one.
fn every(text: &str) -> Result<Duration, Invalid> {
    let fault = || Invalid::Every(text.to_owned());
    let span: Duration = steadfast_retry::span::parse(text).map_err(|_| fault())?;
    let whole = Duration::from_secs(span.as_secs());
    if whole.is_zero() { Err(fault()) } else { Ok(whole) }
}

fn fields(text: &str) -> Result<Cron, Invalid> {
    let fault = |reason: String| Invalid::Fields { text: text.to_owned(), reason };
    let words = text.split_whitespace().count();
    if words != 5 && !text.starts_with('@') {
        return Err(fault(format!("it has {words}")));
    }
    Cron::from_str(text).map_err(|error| fault(error.to_string()))
}
