//! When a schedule acts, and what it does about others.

use anyhow::Result;
use serde_json::{Map, Value};
use steadfast_proto::{
    enums::ScheduleOverlapPolicy,
    schedule::{CalendarSpec, IntervalSpec, SchedulePolicies, ScheduleSpec, ScheduleState},
};

use crate::{
    names,
    time::{Moment, Span},
    trouble::Trouble,
};

/// When it acts.
#[derive(Debug, clap::Args)]
pub(super) struct When {
    /// A cron rule, `30 12 * * Fri`; may be repeated
    #[arg(long, value_name = "CRON")]
    cron: Vec<String>,

    /// Every so often: `45m`, or `45m/5m` for five minutes past; may be repeated
    #[arg(long, value_name = "DURATION[/OFFSET]")]
    interval: Vec<String>,

    /// A calendar as JSON: `{"dayOfWeek":"Fri","hour":"3"}`; may be repeated
    #[arg(long, value_name = "JSON")]
    calendar: Vec<String>,

    /// The time zone of cron rules and calendars
    #[arg(long, value_name = "NAME")]
    time_zone: Option<String>,

    /// Not before
    #[arg(long, value_name = "TIME")]
    start_time: Option<Moment>,

    /// Not after
    #[arg(long, value_name = "TIME")]
    end_time: Option<Moment>,

    /// Up to so much later, by chance
    #[arg(long, value_name = "DURATION")]
    jitter: Option<Span>,
}

/// What it does about others, and in what state it begins.
#[derive(Debug, clap::Args)]
pub(super) struct Manner {
    /// What to do while what it started still runs: `Skip`, `BufferOne`, `BufferAll`,
    /// `CancelOther`, `TerminateOther`, `AllowAll`
    #[arg(long, value_name = "POLICY", value_parser = overlap)]
    overlap_policy: Option<ScheduleOverlapPolicy>,

    /// How long after its time an action may still be done
    #[arg(long, value_name = "DURATION")]
    catchup_window: Option<Span>,

    /// Rest after a workflow failed
    #[arg(
        long,
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true,
        value_name = "BOOL"
    )]
    pause_on_failure: Option<bool>,

    /// Rest until it is told to go on
    #[arg(
        long,
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true,
        value_name = "BOOL"
    )]
    paused: Option<bool>,

    /// A note about it
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,

    /// Act only so often
    #[arg(long, value_name = "COUNT")]
    remaining_actions: Option<i64>,
}

impl When {
    /// Changes what was named. Rules, intervals and calendars say together when it acts: those that
    /// were named stand for all that there were.
    pub(super) fn change(&self, spec: &mut ScheduleSpec) -> Result<()> {
        if !(self.cron.is_empty() && self.interval.is_empty() && self.calendar.is_empty()) {
            let calendar: Result<Vec<_>> = self.calendar.iter().map(|it| calendar(it)).collect();
            let interval: Result<Vec<_>> = self.interval.iter().map(|it| interval(it)).collect();
            spec.cron_string.clone_from(&self.cron);
            spec.calendar = calendar?;
            spec.interval = interval?;
            spec.structured_calendar.clear();
        }
        if let Some(name) = &self.time_zone {
            name.clone_into(&mut spec.timezone_name);
            spec.timezone_data.clear();
        }
        spec.start_time = self.start_time.map(Moment::wire).or(spec.start_time);
        spec.end_time = self.end_time.map(Moment::wire).or(spec.end_time);
        spec.jitter = self.jitter.map(Span::wire).or(spec.jitter);
        Ok(())
    }
}

impl Manner {
    /// Changes what was named of what it does about others.
    pub(super) fn change_policies(&self, policies: &mut SchedulePolicies) {
        if let Some(policy) = self.overlap_policy {
            policies.set_overlap_policy(policy);
        }
        let window = self.catchup_window.map(Span::wire);
        policies.catchup_window = window.or(policies.catchup_window);
        policies.pause_on_failure = self.pause_on_failure.unwrap_or(policies.pause_on_failure);
    }

    /// Changes what was named of the state that it is in.
    pub(super) fn change_state(&self, state: &mut ScheduleState) {
        if let Some(notes) = &self.notes {
            notes.clone_into(&mut state.notes);
        }
        state.paused = self.paused.unwrap_or(state.paused);
        if let Some(count) = self.remaining_actions {
            state.limited_actions = true;
            state.remaining_actions = count;
        }
    }
}

fn interval(text: &str) -> Result<IntervalSpec> {
    let (every, offset) = text.split_once('/').map_or((text, None), |(it, off)| (it, Some(off)));
    let span = |text: &str| {
        let wrong = |error| Trouble::usage(format!("--interval {text:?}: {error}"));
        text.parse::<Span>().map(Span::wire).map_err(wrong)
    };
    Ok(IntervalSpec { interval: Some(span(every)?), phase: offset.map(span).transpose()? })
}

fn calendar(text: &str) -> Result<CalendarSpec> {
    let wrong = |why: String| Trouble::usage(format!("--calendar {text}: {why}"));
    let fields: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| wrong(format!("no JSON object: {error}")))?;
    let mut spec = CalendarSpec::default();
    for (name, value) in fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let field = match name.as_str() {
            "second" => &mut spec.second,
            "minute" => &mut spec.minute,
            "hour" => &mut spec.hour,
            "dayOfMonth" => &mut spec.day_of_month,
            "month" => &mut spec.month,
            "year" => &mut spec.year,
            "dayOfWeek" => &mut spec.day_of_week,
            "comment" => &mut spec.comment,
            _ => return Err(wrong(format!("{name:?} is not a field of a calendar"))),
        };
        *field = value;
    }
    Ok(spec)
}

/// An overlap policy that was given as an argument.
pub(super) fn overlap(text: &str) -> Result<ScheduleOverlapPolicy, names::NotAName> {
    names::parse(
        text,
        "SCHEDULE_OVERLAP_POLICY_",
        ScheduleOverlapPolicy::from_str_name,
        "Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_and_calendars_are_read() {
        let spec = interval("45m/5m").expect("an interval");
        assert_eq!(spec.interval.expect("every").seconds, 2_700);
        assert_eq!(spec.phase.expect("offset").seconds, 300);
        let spec = calendar(r#"{"dayOfWeek":"Fri","hour":3}"#).expect("a calendar");
        assert_eq!((spec.day_of_week.as_str(), spec.hour.as_str()), ("Fri", "3"));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let refused = interval("often").expect_err("no interval").to_string();
        assert!(refused.starts_with("--interval \"often\": not a duration"), "{refused}");
        let refused = calendar(r#"{"weekday":"Fri"}"#).expect_err("no field").to_string();
        assert!(refused.contains("\"weekday\" is not a field"), "{refused}");
    }
}
