//! The times of a schedule, one after the other.
//!
//! A *nominal* time is one that the spec names, in whole seconds. It is *due* a little later if the
//! schedule has jitter: by how much depends on the schedule's name and the nominal time alone, so
//! it is the same whoever asks and however often.
//!
//! Calendars are searched in local time. A local time that a clock change leaves out is left out; one
//! that comes twice counts once, the first time.

use std::time::Duration;

use jiff::{
    Timestamp as Instant,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};
use steadfast_proto::schedule::{IntervalSpec, ScheduleSpec};
use steadfast_retry::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use super::{calendar::Calendar, invalid::Invalid, seconds};
use crate::span;

/// The times of a schedule.
#[derive(Clone, Debug)]
pub struct Times {
    zone: TimeZone,
    calendars: Vec<Calendar>,
    excluded: Vec<Calendar>,
    /// Interval and phase, in seconds.
    intervals: Vec<(i64, i64)>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    jitter: Duration,
    seed: String,
}

/// One time of a schedule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Turn {
    /// The time that the spec names.
    pub nominal: Timestamp,
    /// That time with jitter.
    pub due: Timestamp,
}

impl Times {
    /// The times of a spec that is [`canonical`](super::canonical). `seed` is what jitter depends
    /// on, such as the schedule's id.
    pub fn new(spec: &ScheduleSpec, seed: &str) -> Result<Self, Invalid> {
        Ok(Self {
            zone: zone(spec)?,
            calendars: spec.structured_calendar.iter().map(Calendar::new).collect(),
            excluded: spec.exclude_structured_calendar.iter().map(Calendar::new).collect(),
            intervals: spec.interval.iter().map(interval).collect(),
            start: spec.start_time.as_ref().map(span::instant_from_wire),
            end: spec.end_time.as_ref().map(span::instant_from_wire),
            jitter: span::from_wire(spec.jitter.as_ref()),
            seed: seed.to_owned(),
        })
    }

    /// The first time whose nominal time is after `after`.
    pub fn next(&self, after: Timestamp) -> Option<Turn> {
        let nominal = self.nominal(seconds::floor(after))?;
        let following = self.raw(nominal);
        let nominal = Timestamp::from_secs(nominal);
        let gap = following.map(|next| Timestamp::from_secs(next).since(nominal));
        let jitter = gap.map_or(self.jitter, |gap| self.jitter.min(gap));
        Some(Turn { nominal, due: nominal.after(self.delay(nominal, jitter)) })
    }

    /// The times after `after`, with the nominal ones up to `until`.
    pub fn between(&self, after: Timestamp, until: Timestamp) -> impl Iterator<Item = Turn> + '_ {
        let first = self.next(after);
        std::iter::successors(first, |turn| self.next(turn.nominal))
            .take_while(move |turn| turn.nominal <= until)
    }

    /// When the times after the nominal time `after` are due, without those that are over at `now`.
    pub fn future(&self, after: Timestamp, now: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        let due = self.between(after, Timestamp::MAX).map(|turn| turn.due);
        due.skip_while(move |due| *due <= now)
    }

    /// The next time that is neither excluded nor too late.
    fn nominal(&self, after: i64) -> Option<i64> {
        let mut after = after.max(self.start.map_or(i64::MIN, seconds::before));
        let end = self.end.map_or(i64::MAX, seconds::floor);
        for _ in 0..EXCLUDED_MAX {
            let next = self.raw(after).filter(|next| *next <= end)?;
            match self.excluded_until(next) {
                None => return Some(next),
                Some(until) => after = until.max(next),
            }
        }
        None
    }

    /// The next time of any source.
    fn raw(&self, after: i64) -> Option<i64> {
        let intervals = self.intervals.iter().filter_map(|(interval, phase)| {
            let passed = after.checked_sub(*phase)?.div_euclid(*interval).checked_add(1)?;
            passed.checked_mul(*interval)?.checked_add(*phase)
        });
        let calendars = self.calendars.iter().filter_map(|it| self.next_of(it, after));
        intervals.chain(calendars).min()
    }

    fn next_of(&self, calendar: &Calendar, after: i64) -> Option<i64> {
        let mut local = self.local(after)?;
        loop {
            local = calendar.next(local)?;
            let at = self.zone.to_ambiguous_timestamp(local);
            if matches!(at.offset(), AmbiguousOffset::Gap { .. }) {
                continue;
            }
            // The second hour of two is behind the first one in local time only.
            let at = at.earlier().ok()?.as_second();
            if at > after {
                return Some(at);
            }
        }
    }

    /// How long it is certain that times are excluded, if this one is.
    fn excluded_until(&self, at: i64) -> Option<i64> {
        let local = self.local(at)?;
        let until = self.excluded.iter().filter_map(|it| it.matches_until(local)).max()?;
        // Behind a clock change the end of the hour may be earlier or later: step by step then.
        let instant = self.zone.to_ambiguous_timestamp(until);
        let plain = matches!(instant.offset(), AmbiguousOffset::Unambiguous { .. });
        Some(if plain { instant.earlier().ok()?.as_second() } else { at })
    }

    fn local(&self, at: i64) -> Option<DateTime> {
        Some(self.zone.to_datetime(Instant::from_second(at).ok()?))
    }

    /// Less than `most`, and always the same for the same time.
    fn delay(&self, nominal: Timestamp, most: Duration) -> Duration {
        let most = most.as_nanos();
        if most == 0 {
            return Duration::ZERO;
        }
        let hash = xxh3_64(format!("{}/{}", self.seed, nominal.nanos()).as_bytes());
        let nanos = (u128::from(hash) * most) >> 64;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or_default())
    }
}

/// Interval and phase in seconds.
fn interval(spec: &IntervalSpec) -> (i64, i64) {
    let [interval, phase] = [&spec.interval, &spec.phase]
        .map(|wire| i64::try_from(span::from_wire(wire.as_ref()).as_secs()).unwrap_or(i64::MAX));
    (interval.max(1), phase)
}

/// The time zone of a spec.
pub(super) fn zone(spec: &ScheduleSpec) -> Result<TimeZone, Invalid> {
    let name = spec.timezone_name.as_str();
    if !spec.timezone_data.is_empty() {
        return TimeZone::tzif(name, &spec.timezone_data)
            .map_err(|_| Invalid::ZoneData(name.to_owned()));
    }
    if name.is_empty() {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| Invalid::Zone(name.to_owned()))
}

/// Times in a row that may be excluded: a schedule of which nearly everything is excluded ends.
const EXCLUDED_MAX: usize = 50_000;
