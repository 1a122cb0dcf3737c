//! One field of a calendar: which numbers it takes, and how it is written.

use steadfast_proto::schedule::Range;

use super::invalid::Invalid;

/// One field of a calendar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) min: i32,
    pub(super) max: i32,
    /// Names of its numbers, from `min` on.
    names: &'static [&'static str],
}

pub(super) const SECOND: Field = Field::plain("second", 0, 59);
pub(super) const MINUTE: Field = Field::plain("minute", 0, 59);
pub(super) const HOUR: Field = Field::plain("hour", 0, 23);
pub(super) const DAY_OF_MONTH: Field = Field::plain("day_of_month", 1, 31);
pub(super) const MONTH: Field = Field { name: "month", min: 1, max: 12, names: &MONTHS };
pub(super) const YEAR: Field = Field::plain("year", 2000, 2100);
/// Sunday is 0, and 7 too.
pub(super) const DAY_OF_WEEK: Field = Field { name: "day_of_week", min: 0, max: 7, names: &DAYS };

impl Field {
    const fn plain(name: &'static str, min: i32, max: i32) -> Self {
        Self { name, min, max, names: &[] }
    }

    /// Reads a list such as `1,5-10,*/15,mon`; nothing is `otherwise`. All years are no ranges.
    pub(super) fn read(self, text: &str, otherwise: &str) -> Result<Vec<Range>, Invalid> {
        let text = if text.trim().is_empty() { otherwise } else { text.trim() };
        if text == "*" && self == YEAR {
            return Ok(Vec::new());
        }
        let mut ranges = Vec::new();
        for part in text.split(',') {
            let range = self.part(part.trim()).ok_or_else(|| self.fault(text))?;
            ranges.extend(self.without_seven(range));
        }
        Ok(ranges)
    }

    /// Checks ranges and makes definite what they leave open.
    pub(super) fn clean(self, ranges: &[Range]) -> Result<Vec<Range>, Invalid> {
        let mut clean = Vec::new();
        for &Range { start, end, step } in ranges {
            let end = end.max(start);
            let fault =
                Invalid::Range { field: self.name, start, end, step, min: self.min, max: self.max };
            if start < self.min || end > self.max || step < 0 {
                return Err(fault);
            }
            clean.extend(self.without_seven(Range { start, end, step: step.max(1) }));
        }
        Ok(clean)
    }

    fn part(self, text: &str) -> Option<Range> {
        let (span, step) = match text.split_once('/') {
            Some((span, step)) => (span, Some(step.parse().ok().filter(|step| *step > 0)?)),
            None => (text, None),
        };
        let (start, end) = match (span, span.split_once('-')) {
            ("*", _) => (self.min, self.max),
            (_, Some((start, end))) => (self.number(start)?, self.number(end)?),
            // With a step, a number is where it begins.
            (one, None) if step.is_some() => (self.number(one)?, self.max),
            (one, None) => (self.number(one)?, self.number(one)?),
        };
        (start <= end).then_some(Range { start, end, step: step.unwrap_or(1) })
    }

    fn number(self, text: &str) -> Option<i32> {
        let text = text.trim();
        let named = self.names.iter().position(|name| {
            text.len() >= 3 && text.is_ascii() && name.starts_with(&text.to_ascii_lowercase())
        });
        let number = match named {
            Some(place) => self.min + i32::try_from(place).ok()?,
            None => text.parse().ok()?,
        };
        (self.min..=self.max).contains(&number).then_some(number)
    }

    /// Sunday is written as 0 only: `5-7` is `0` and `5-6`.
    fn without_seven(self, range: Range) -> Vec<Range> {
        let Range { start, end, step } = range;
        if self != DAY_OF_WEEK || end != 7 {
            return vec![range];
        }
        let sunday = Range { start: 0, end: 0, step: 1 };
        if start == 7 {
            return vec![sunday];
        }
        let rest = Range { start, end: 6, step };
        let hits_seven = (7 - start) % step == 0;
        if hits_seven && start > 0 { vec![sunday, rest] } else { vec![rest] }
    }

    fn fault(self, text: &str) -> Invalid {
        Invalid::Field { field: self.name, text: text.to_owned(), min: self.min, max: self.max }
    }
}

/// The numbers of some ranges, as bits from `field.min` on; none are `otherwise`.
pub(super) fn bits(field: Field, ranges: &[Range], otherwise: Option<i32>) -> u128 {
    let bit =
        |number: i32| 1_u128 << u32::try_from(number - field.min).unwrap_or_default().min(127);
    if ranges.is_empty() {
        return otherwise.map_or_else(|| (field.min..=field.max).map(bit).sum(), bit);
    }
    let mut bits = 0;
    for range in ranges {
        let step = usize::try_from(range.step.max(1)).unwrap_or(1);
        let numbers = (range.start.max(field.min)..=range.end.min(field.max)).step_by(step);
        bits |= numbers.map(bit).fold(0, |all, one| all | one);
    }
    bits
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
