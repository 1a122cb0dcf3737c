//! When a schedule acts.

use std::{
    ops::RangeInclusive,
    time::{Duration, SystemTime},
};

use steadfast_proto::schedule::{self as wire, IntervalSpec, Range, StructuredCalendarSpec};

use crate::span;

/// When a schedule acts: at all the times that it names, but for those that it excludes.
///
/// ```
/// use std::time::Duration;
/// use steadfast::{Calendar, ScheduleSpec};
///
/// // At three every morning, and on Fridays at noon, but not in August.
/// let spec = ScheduleSpec::new()
///     .cron("0 3 * * *")
///     .calendar(Calendar::new().hour(12).day_of_week(5))
///     .except(Calendar::new().hour(0..=23).minute(0..=59).second(0..=59).month(8))
///     .time_zone("Europe/Brussels")
///     .jitter(Duration::from_secs(60));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleSpec(pub(super) wire::ScheduleSpec);

impl ScheduleSpec {
    /// Never, so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// As a cron line says: `0 3 * * *`, `@daily`, `@every 1h`.
    #[must_use]
    pub fn cron(mut self, line: impl Into<String>) -> Self {
        self.0.cron_string.push(line.into());
        self
    }

    /// Again and again, counted from the beginning of 1970: every hour is on the hour.
    #[must_use]
    pub fn every(self, interval: Duration) -> Self {
        self.every_from(interval, Duration::ZERO)
    }

    /// As [`every`](Self::every), and so much later: every hour from nineteen minutes on is at nineteen
    /// past.
    #[must_use]
    pub fn every_from(mut self, interval: Duration, phase: Duration) -> Self {
        let (interval, phase) = (Some(span::to_wire(interval)), Some(span::to_wire(phase)));
        self.0.interval.push(IntervalSpec { interval, phase });
        self
    }

    /// At the times of a calendar.
    #[must_use]
    pub fn calendar(mut self, calendar: Calendar) -> Self {
        self.0.structured_calendar.push(calendar.0);
        self
    }

    /// Not at the times of a calendar.
    #[must_use]
    pub fn except(mut self, calendar: Calendar) -> Self {
        self.0.exclude_structured_calendar.push(calendar.0);
        self
    }

    /// Not before this time.
    #[must_use]
    pub fn from(mut self, time: SystemTime) -> Self {
        self.0.start_time = Some(span::time_to_wire(time));
        self
    }

    /// Not after this time.
    #[must_use]
    pub fn until(mut self, time: SystemTime) -> Self {
        self.0.end_time = Some(span::time_to_wire(time));
        self
    }

    /// Later by up to this much, each time by another amount.
    #[must_use]
    pub fn jitter(mut self, span: Duration) -> Self {
        self.0.jitter = Some(span::to_wire(span));
        self
    }

    /// Whose time calendars and cron lines are in: `Europe/Brussels`. UTC, if none is named.
    #[must_use]
    pub fn time_zone(mut self, name: impl Into<String>) -> Self {
        self.0.timezone_name = name.into();
        self
    }

    /// The public message.
    pub fn as_wire(&self) -> &wire::ScheduleSpec {
        &self.0
    }
}

/// Times of a calendar: those that fit all its fields. Unless something is said, that is midnight of
/// every day.
///
/// ```
/// use steadfast::{Calendar, CalendarField};
///
/// // Every quarter of an hour, at work.
/// let work = Calendar::new()
///     .minute(CalendarField::stepped(0..=59, 15))
///     .hour(9..=17)
///     .day_of_week(1..=5);
/// // On the first and the fifteenth, at six in the morning.
/// let wages = Calendar::new().hour(6).day_of_month([1, 15]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar(StructuredCalendarSpec);

/// Numbers that fit: one, several, or a range of them.
#[derive(Clone, Debug, PartialEq)]
pub struct CalendarField(Vec<Range>);

impl Calendar {
    /// Midnight of every day.
    pub fn new() -> Self {
        let all = |range: RangeInclusive<i32>| CalendarField::from(range).0;
        Self(StructuredCalendarSpec {
            second: all(0..=0),
            minute: all(0..=0),
            hour: all(0..=0),
            day_of_month: all(1..=31),
            month: all(1..=12),
            day_of_week: all(0..=6),
            ..StructuredCalendarSpec::default()
        })
    }

    /// From 0 to 59.
    #[must_use]
    pub fn second(mut self, field: impl Into<CalendarField>) -> Self {
        self.0.second = field.into().0;
        self
    }

    /// From 0 to 59.
    #[must_use]
    pub fn minute(mut self, field: impl Into<CalendarField>) -> Self {
        self.0.minute = field.into().0;
        self
    }

    /// From 0 to 23.
    #[must_use]
    pub fn hour(mut self, field: impl Into<CalendarField>) -> Self {
        self.0.hour = field.into().0;
        self
    }

    /// From 1 to 31.
    #[must_use]
    pub fn day_of_month(mut self, field: impl Into<CalendarField>) -> Self {
        self.0.day_of_month = field.into().0;
        self
    }

    /// From 1 to 12.
    #[must_use]
    pub fn month(mut self, field: impl Into<CalendarField>) -> Self {
        self.0.month = field.into().0;
        self
    }

    /// Any, if none is named.
    #[must_use]
    pub fn year(mut self, field: impl Into<CalendarField>) -> Self {
        self.0.year = field.into().0;
        self
    }

    /// From 0, which is Sunday, to 6.
    #[must_use]
    pub fn day_of_week(mut self, field: impl Into<CalendarField>) -> Self {
        self.0.day_of_week = field.into().0;
        self
    }

    /// What people should know about it.
    #[must_use]
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.0.comment = comment.into();
        self
    }
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new()
    }
}

impl CalendarField {
    /// Every so many of a range.
    pub fn stepped(range: RangeInclusive<i32>, step: i32) -> Self {
        Self(vec![Range { start: *range.start(), end: *range.end(), step }])
    }
}

impl From<i32> for CalendarField {
    fn from(number: i32) -> Self {
        Self::stepped(number..=number, 1)
    }
}

impl From<RangeInclusive<i32>> for CalendarField {
    fn from(range: RangeInclusive<i32>) -> Self {
        Self::stepped(range, 1)
    }
}

impl<const N: usize> From<[i32; N]> for CalendarField {
    fn from(numbers: [i32; N]) -> Self {
        Self(numbers.into_iter().flat_map(|number| Self::from(number).0).collect())
    }
}
