//! Why a schedule cannot be used. Each names the field and what it should be.

/// Why a schedule cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The time zone is not one.
    #[error("timezone_name: {0:?} is not an IANA time zone")]
    Zone(String),
    /// The time zone's data cannot be read.
    #[error("timezone_data of {0:?} is not a TZif file")]
    ZoneData(String),
    /// A cron string names another zone than the spec or than another cron string.
    #[error("cron_string names the time zone {found:?}, but the schedule has {other:?}")]
    Zones {
        /// The one that it names.
        found: String,
        /// The one that the schedule has already.
        other: String,
    },
    /// A text is not what a field takes.
    #[error("{field}: {text:?} is not a list such as 1,5-10,*/15 of {min} to {max}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What it says.
        text: String,
        /// The smallest that it takes.
        min: i32,
        /// The largest that it takes.
        max: i32,
    },
    /// A range is not within what a field takes.
    #[error("{field}: the range {start} to {end} by {step} is not within {min} to {max}")]
    Range {
        /// Which field.
        field: &'static str,
        /// Where it begins.
        start: i32,
        /// Where it ends.
        end: i32,
        /// Its step.
        step: i32,
        /// The smallest that the field takes.
        min: i32,
        /// The largest that the field takes.
        max: i32,
    },
    /// A cron string has the wrong number of fields.
    #[error(
        "cron_string: {text:?} has {found} fields; it takes 5, 6 or 7, or a word such as @daily"
    )]
    Fields {
        /// What it says.
        text: String,
        /// How many it has.
        found: usize,
    },
    /// What follows `@every` is no span, or not two.
    #[error("cron_string: {0:?} is not @every and a span such as 90s, 5m or 1h30m/10m")]
    Every(String),
    /// An interval is too short.
    #[error("interval: it must be at least one second")]
    Interval,
    /// A phase is not within its interval.
    #[error("interval.phase: it must not be negative and must be shorter than the interval")]
    Phase,
    /// A span is not one.
    #[error("{field}: {fault}")]
    Span {
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        fault: crate::span::NotASpan,
    },
    /// There are too many calendars and intervals.
    #[error("spec: it has {found} calendars and intervals; {max} is the most")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there may be.
        max: usize,
    },
}
