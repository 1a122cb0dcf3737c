//! The spec as it is kept and given back: checked, and without the two ways to write it as text.

use std::time::Duration;

use steadfast_proto::schedule::{IntervalSpec, ScheduleSpec, StructuredCalendarSpec};

use super::{
    field::{DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, YEAR},
    invalid::Invalid,
    text::{self, Rule},
    times::zone,
};
use crate::span;

/// The same spec with calendars in place of texts, and ranges that leave nothing open.
#[expect(deprecated, reason = "older clients still exclude by text")]
pub fn canonical(given: &ScheduleSpec) -> Result<ScheduleSpec, Invalid> {
    let mut spec = ScheduleSpec {
        calendar: Vec::new(),
        cron_string: Vec::new(),
        exclude_calendar: Vec::new(),
        structured_calendar: calendars(&given.structured_calendar)?,
        exclude_structured_calendar: calendars(&given.exclude_structured_calendar)?,
        ..given.clone()
    };
    for calendar in &given.calendar {
        spec.structured_calendar.push(text::calendar(calendar)?);
    }
    for calendar in &given.exclude_calendar {
        spec.exclude_structured_calendar.push(text::calendar(calendar)?);
    }
    for cron in &given.cron_string {
        add_cron(&mut spec, cron)?;
    }
    spec.interval.iter().try_for_each(check_interval)?;
    span::checked(spec.jitter.as_ref())
        .map_err(|fault| Invalid::Span { field: "jitter", fault })?;
    let found = spec.interval.len()
        + spec.structured_calendar.len()
        + spec.exclude_structured_calendar.len();
    if found > SOURCES_MAX {
        return Err(Invalid::TooMany { found, max: SOURCES_MAX });
    }
    zone(&spec)?;
    Ok(spec)
}

fn add_cron(spec: &mut ScheduleSpec, text: &str) -> Result<(), Invalid> {
    let cron = text::cron(text)?;
    if let Some(zone) = cron.zone {
        if !spec.timezone_name.is_empty() && spec.timezone_name != zone {
            return Err(Invalid::Zones { found: zone, other: spec.timezone_name.clone() });
        }
        spec.timezone_name = zone;
    }
    match cron.rule {
        Rule::Calendar(calendar) => spec.structured_calendar.push(calendar),
        Rule::Interval(interval) => spec.interval.push(interval),
    }
    Ok(())
}

fn calendars(given: &[StructuredCalendarSpec]) -> Result<Vec<StructuredCalendarSpec>, Invalid> {
    given.iter().map(calendar).collect()
}

fn calendar(given: &StructuredCalendarSpec) -> Result<StructuredCalendarSpec, Invalid> {
    Ok(StructuredCalendarSpec {
        second: SECOND.clean(&given.second)?,
        minute: MINUTE.clean(&given.minute)?,
        hour: HOUR.clean(&given.hour)?,
        day_of_month: DAY_OF_MONTH.clean(&given.day_of_month)?,
        month: MONTH.clean(&given.month)?,
        year: YEAR.clean(&given.year)?,
        day_of_week: DAY_OF_WEEK.clean(&given.day_of_week)?,
        comment: given.comment.clone(),
    })
}

fn check_interval(given: &IntervalSpec) -> Result<(), Invalid> {
    let interval = span::checked(given.interval.as_ref()).map_err(|_| Invalid::Interval)?;
    let phase = span::checked(given.phase.as_ref()).map_err(|_| Invalid::Phase)?;
    if interval < Duration::from_secs(1) {
        return Err(Invalid::Interval);
    }
    if phase >= interval { Err(Invalid::Phase) } else { Ok(()) }
}

/// Each is looked at for every start.
const SOURCES_MAX: usize = 200;
