//! One calendar: the local times at which all its fields match.

use jiff::civil::{Date, DateTime, Time};
use steadfast_proto::schedule::StructuredCalendarSpec;

use super::field::{DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, YEAR, bits};

/// A calendar, ready to be searched: for each field a set of numbers as bits.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    second: u128,
    minute: u128,
    hour: u128,
    day_of_month: u128,
    month: u128,
    year: u128,
    day_of_week: u128,
}

impl Calendar {
    pub(super) fn new(spec: &StructuredCalendarSpec) -> Self {
        Self {
            second: bits(SECOND, &spec.second, Some(0)),
            minute: bits(MINUTE, &spec.minute, Some(0)),
            hour: bits(HOUR, &spec.hour, Some(0)),
            day_of_month: bits(DAY_OF_MONTH, &spec.day_of_month, None),
            month: bits(MONTH, &spec.month, None),
            year: bits(YEAR, &spec.year, None),
            day_of_week: bits(DAY_OF_WEEK, &spec.day_of_week, None),
        }
    }

    /// The first matching time after `after`, to the second.
    pub(super) fn next(&self, after: DateTime) -> Option<DateTime> {
        let mut date = after.date();
        if self.has_date(date)
            && let Some(time) = self.time_after(after.time())
        {
            return Some(date.to_datetime(time));
        }
        let first = self.first_time()?;
        loop {
            date = self.following(date)?;
            if self.has_date(date) {
                return Some(date.to_datetime(first));
            }
        }
    }

    /// The last second of which it is certain, without looking further, that it matches if `at`
    /// does: the end of the day, the hour or the minute, or `at` itself.
    pub(super) fn matches_until(&self, at: DateTime) -> Option<DateTime> {
        if !self.matches(at) {
            return None;
        }
        let all_seconds = self.second == bits(SECOND, &[], None);
        let all_minutes = all_seconds && self.minute == bits(MINUTE, &[], None);
        let all_hours = all_minutes && self.hour == bits(HOUR, &[], None);
        let time = at.time();
        let hour = if all_hours { 23 } else { time.hour() };
        let minute = if all_minutes { 59 } else { time.minute() };
        let second = if all_seconds { 59 } else { time.second() };
        Some(at.date().at(hour, minute, second, 0))
    }

    fn matches(&self, at: DateTime) -> bool {
        self.has_date(at.date())
            && has(self.hour, at.hour().into())
            && has(self.minute, at.minute().into())
            && has(self.second, at.second().into())
    }

    fn has_date(&self, date: Date) -> bool {
        has(self.year, date.year() - 2000)
            && has(self.month, i16::from(date.month()) - 1)
            && has(self.day_of_month, i16::from(date.day()) - 1)
            && has(self.day_of_week, date.weekday().to_sunday_zero_offset().into())
    }

    /// The next day that is worth a look: years and months that do not match are left out.
    fn following(&self, date: Date) -> Option<Date> {
        let next = date.tomorrow().ok()?;
        if next.year() > 2100 {
            return None;
        }
        if next.year() < 2000 {
            return Date::new(2000, 1, 1).ok();
        }
        if !has(self.year, next.year() - 2000) {
            return Date::new(next.year(), 12, 31).ok();
        }
        if !has(self.month, i16::from(next.month()) - 1) {
            return Some(next.last_of_month());
        }
        Some(next)
    }

    fn first_time(&self) -> Option<Time> {
        let first = |bits: u128| i8::try_from(bits.trailing_zeros()).ok();
        Time::new(first(self.hour)?, first(self.minute)?, first(self.second)?, 0).ok()
    }

    /// The first time of day after `after`, before midnight.
    fn time_after(&self, after: Time) -> Option<Time> {
        let from = after.checked_add(ONE_SECOND).ok()?;
        let [mut hour, mut minute, mut second] = [from.hour(), from.minute(), from.second()];
        let found = up(self.hour, hour)?;
        if found > hour {
            (hour, minute, second) = (found, 0, 0);
        }
        if let Some(found) = up(self.minute, minute) {
            if found > minute {
                (minute, second) = (found, 0);
            }
            if let Some(second) = up(self.second, second) {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = up(self.minute, minute + 1) {
                return Time::new(hour, minute, up(self.second, 0)?, 0).ok();
            }
        }
        let hour = up(self.hour, hour + 1)?;
        Time::new(hour, up(self.minute, 0)?, up(self.second, 0)?, 0).ok()
    }
}

const ONE_SECOND: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

fn has(bits: u128, number: i16) -> bool {
    u32::try_from(number).is_ok_and(|number| number < 128 && bits >> number & 1 == 1)
}

/// The smallest number in the set that is not below `from`.
fn up(bits: u128, from: i8) -> Option<i8> {
    let rest = bits.checked_shr(u32::try_from(from).ok()?).filter(|rest| *rest != 0)?;
    Some(from + i8::try_from(rest.trailing_zeros()).ok()?)
}
