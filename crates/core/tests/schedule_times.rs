//! The times of schedules, as tables, and what must hold of all of them.

use jiff::Timestamp as Instant;
use proptest::prelude::*;
use steadfast_core::{
    Timestamp,
    schedule::{Times, canonical},
    span,
};
use steadfast_proto::schedule::{
    CalendarSpec, IntervalSpec, Range, ScheduleSpec, StructuredCalendarSpec,
};

fn instant(text: &str) -> Timestamp {
    let at: Instant = text.parse().unwrap_or_else(|_| panic!("{text:?} is not an instant"));
    Timestamp(i64::try_from(at.as_nanosecond()).unwrap())
}

fn shown(at: Timestamp) -> String {
    Instant::from_nanosecond(i128::from(at.nanos())).unwrap().to_string()
}

fn cron(text: &str) -> ScheduleSpec {
    ScheduleSpec { cron_string: vec![text.to_owned()], ..ScheduleSpec::default() }
}

fn times(spec: &ScheduleSpec) -> Times {
    let spec = canonical(spec).unwrap_or_else(|why| panic!("{spec:?}: {why}"));
    Times::new(&spec, "schedule-1").expect("a canonical spec")
}

fn first(spec: &ScheduleSpec, after: &str, count: usize) -> Vec<String> {
    let all = times(spec);
    let turns = all.between(instant(after), Timestamp::MAX).take(count);
    turns.map(|turn| shown(turn.nominal)).collect()
}

#[test]
fn the_next_two_times_of_a_cron_string() {
    let table = "
        0 12 * * *                       | 2024-01-01T12:00:00Z | 2024-01-02T12:00:00Z | 2024-01-03T12:00:00Z
        0 12 * * *                       | 2024-01-01T11:59:59Z | 2024-01-01T12:00:00Z | 2024-01-02T12:00:00Z
        59 23 31 12 *                    | 2023-12-31T23:59:00Z | 2024-12-31T23:59:00Z | 2025-12-31T23:59:00Z
        */20 8-9 * * MON                 | 2024-01-01T09:00:00Z | 2024-01-01T09:20:00Z | 2024-01-01T09:40:00Z
        */20 8-9 * * MON                 | 2024-01-01T09:40:00Z | 2024-01-08T08:00:00Z | 2024-01-08T08:20:00Z
        5/25 * * * *                     | 2024-01-01T00:00:00Z | 2024-01-01T00:05:00Z | 2024-01-01T00:30:00Z
        0 0 29 2 *                       | 2024-03-01T00:00:00Z | 2028-02-29T00:00:00Z | 2032-02-29T00:00:00Z
        0 0 13 * FRI                     | 2024-01-01T00:00:00Z | 2024-09-13T00:00:00Z | 2024-12-13T00:00:00Z
        0 0 * * 5-7                      | 2024-01-01T00:00:00Z | 2024-01-05T00:00:00Z | 2024-01-06T00:00:00Z
        0 0 * * 7                        | 2024-01-01T00:00:00Z | 2024-01-07T00:00:00Z | 2024-01-14T00:00:00Z
        0 0 1 jan,July * 2025-2026       | 2024-01-01T00:00:00Z | 2025-01-01T00:00:00Z | 2025-07-01T00:00:00Z
        30 15 10 * * * 2030              | 2024-01-01T00:00:00Z | 2030-01-01T10:15:30Z | 2030-01-02T10:15:30Z
        @hourly                          | 2024-01-01T00:59:59Z | 2024-01-01T01:00:00Z | 2024-01-01T02:00:00Z
        @weekly                          | 2024-01-01T00:00:00Z | 2024-01-07T00:00:00Z | 2024-01-14T00:00:00Z
        @monthly # the first             | 2024-01-01T00:00:00Z | 2024-02-01T00:00:00Z | 2024-03-01T00:00:00Z
        @yearly                          | 2024-01-01T00:00:00Z | 2025-01-01T00:00:00Z | 2026-01-01T00:00:00Z
        @every 1h/10m                    | 2024-01-01T00:00:00Z | 2024-01-01T00:10:00Z | 2024-01-01T01:10:00Z
        @every 90s                       | 2024-01-01T00:00:00Z | 2024-01-01T00:01:30Z | 2024-01-01T00:03:00Z
        CRON_TZ=Asia/Kolkata 0 0 * * *   | 2024-01-01T00:00:00Z | 2024-01-01T18:30:00Z | 2024-01-02T18:30:00Z
        TZ=Pacific/Apia 0 0 30 12 * 2011 | 2011-01-01T00:00:00Z | -                    | -
    ";
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split('|').map(str::trim).collect();
        let mut found = first(&cron(words[0]), words[1], 2);
        found.resize(2, "-".to_owned());
        assert_eq!(found, words[2..4], "{line}");
    }
}

#[test]
fn a_local_time_that_a_clock_change_leaves_out_is_left_out() {
    let spec = cron("CRON_TZ=America/New_York 30 2 * * *");
    // On 10 March 2024 there is no 02:30 there.
    let found = first(&spec, "2024-03-08T12:00:00Z", 3);
    assert_eq!(found, ["2024-03-09T07:30:00Z", "2024-03-11T06:30:00Z", "2024-03-12T06:30:00Z"]);
}

#[test]
fn a_local_time_that_comes_twice_counts_once() {
    let spec = cron("CRON_TZ=America/New_York 30 1 * * *");
    // On 3 November 2024 there are two 01:30 there; the first is at 05:30 UTC.
    let found = first(&spec, "2024-11-02T12:00:00Z", 2);
    assert_eq!(found, ["2024-11-03T05:30:00Z", "2024-11-04T06:30:00Z"]);
    assert_eq!(first(&spec, "2024-11-03T06:10:00Z", 1), ["2024-11-04T06:30:00Z"]);
    let half_hours = cron("CRON_TZ=America/New_York */30 * * * *");
    let found = first(&half_hours, "2024-11-03T05:00:00Z", 2);
    assert_eq!(found, ["2024-11-03T05:30:00Z", "2024-11-03T07:00:00Z"]);
}

#[test]
fn a_zone_may_be_given_by_its_data() {
    let spec = ScheduleSpec {
        timezone_name: "mine".to_owned(),
        timezone_data: two_hours_ahead(),
        ..cron("0 9 * * *")
    };
    assert_eq!(first(&spec, "2024-07-01T00:00:00Z", 1), ["2024-07-01T07:00:00Z"]);
}

/// A `TZif` file: UTC+2 all year round.
fn two_hours_ahead() -> Vec<u8> {
    let mut data = Vec::new();
    for _ in 0..2 {
        data.extend(b"TZif2");
        data.extend([0; 15]);
        // utc/local, standard/wall, leap seconds, transitions, types, characters
        for count in [0_u32, 0, 0, 0, 1, 4] {
            data.extend(count.to_be_bytes());
        }
        data.extend(7_200_i32.to_be_bytes());
        data.extend([0, 0]);
        data.extend(b"+02\0");
    }
    data.extend(b"\n<+02>-2\n");
    data
}

#[test]
fn start_and_end_are_inclusive() {
    let wire = |text| Some(span::instant_to_wire(instant(text)));
    let spec = ScheduleSpec {
        start_time: wire("2024-01-02T00:00:00Z"),
        end_time: wire("2024-01-03T00:00:00Z"),
        ..cron("@daily")
    };
    let found = first(&spec, "2023-01-01T00:00:00Z", 5);
    assert_eq!(found, ["2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"]);
}

#[test]
fn excluded_times_are_left_out() {
    let weekend = StructuredCalendarSpec {
        second: vec![Range { start: 0, end: 59, step: 1 }],
        minute: vec![Range { start: 0, end: 59, step: 1 }],
        hour: vec![Range { start: 0, end: 23, step: 1 }],
        day_of_week: vec![Range { start: 6, ..Range::default() }, Range::default()],
        ..StructuredCalendarSpec::default()
    };
    let every_second = IntervalSpec { interval: span::to_wire(SECOND), phase: None };
    let spec = ScheduleSpec {
        interval: vec![every_second],
        exclude_structured_calendar: vec![weekend],
        timezone_name: "Europe/Rome".to_owned(),
        ..ScheduleSpec::default()
    };
    // From Friday midnight to Monday midnight, in Rome.
    let found = first(&spec, "2024-01-05T22:59:58Z", 2);
    assert_eq!(found, ["2024-01-05T22:59:59Z", "2024-01-07T23:00:00Z"]);
    let everything = ScheduleSpec {
        exclude_structured_calendar: vec![StructuredCalendarSpec {
            day_of_week: vec![],
            ..spec.exclude_structured_calendar[0].clone()
        }],
        end_time: Some(span::instant_to_wire(instant("2100-01-01T00:00:00Z"))),
        ..spec
    };
    assert!(first(&everything, "2024-01-05T00:00:00Z", 1).is_empty());
}

const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

#[test]
fn several_sources_are_merged_and_a_time_of_two_counts_once() {
    let spec = ScheduleSpec {
        cron_string: vec!["0 6 * * *".to_owned(), "0 */6 * * *".to_owned()],
        ..ScheduleSpec::default()
    };
    let found = first(&spec, "2024-01-01T00:00:00Z", 3);
    assert_eq!(found, ["2024-01-01T06:00:00Z", "2024-01-01T12:00:00Z", "2024-01-01T18:00:00Z"]);
}

#[test]
fn texts_become_ranges_that_leave_nothing_open() {
    let given = ScheduleSpec {
        cron_string: vec!["0 12 * * MON # at noon".to_owned(), "@every 1h/5m".to_owned()],
        calendar: vec![CalendarSpec {
            hour: "5-10/2,20".to_owned(),
            day_of_week: "fri-7".to_owned(),
            comment: "early".to_owned(),
            ..CalendarSpec::default()
        }],
        structured_calendar: vec![StructuredCalendarSpec {
            hour: vec![Range { start: 7, end: 3, step: 0 }],
            ..StructuredCalendarSpec::default()
        }],
        ..ScheduleSpec::default()
    };
    let spec = canonical(&given).expect("a good spec");
    assert!(spec.cron_string.is_empty() && spec.calendar.is_empty());
    let told: Vec<String> = spec.structured_calendar.iter().map(tell).collect();
    assert_eq!(
        told,
        [
            "s[] m[] h[7-7/1] dom[] mon[] y[] dow[] ",
            "s[0-0/1] m[0-0/1] h[5-10/2 20-20/1] dom[1-31/1] mon[1-12/1] y[] dow[0-0/1 5-6/1] early",
            "s[0-0/1] m[0-0/1] h[12-12/1] dom[1-31/1] mon[1-12/1] y[] dow[1-1/1] at noon",
        ]
    );
    assert_eq!(spec.interval.len(), 1);
    assert_eq!(canonical(&spec).as_ref(), Ok(&spec), "once is enough");
}

fn tell(spec: &StructuredCalendarSpec) -> String {
    let list = |ranges: &[Range]| {
        let one = |it: &Range| format!("{}-{}/{}", it.start, it.end, it.step);
        ranges.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    format!(
        "s[{}] m[{}] h[{}] dom[{}] mon[{}] y[{}] dow[{}] {}",
        list(&spec.second),
        list(&spec.minute),
        list(&spec.hour),
        list(&spec.day_of_month),
        list(&spec.month),
        list(&spec.year),
        list(&spec.day_of_week),
        spec.comment
    )
}

#[test]
fn a_bad_spec_is_refused_by_field() {
    let table = [
        ("60 * * * *", "minute: \"60\" is not a list such as 1,5-10,*/15 of 0 to 59"),
        ("* * * * mo", "day_of_week: \"mo\" is not a list such as 1,5-10,*/15 of 0 to 7"),
        ("*/0 * * * *", "minute: \"*/0\" is not a list such as 1,5-10,*/15 of 0 to 59"),
        ("5-1 * * * *", "minute: \"5-1\" is not a list such as 1,5-10,*/15 of 0 to 59"),
        (
            "* * *",
            "cron_string: \"* * *\" has 3 fields; it takes 5, 6 or 7, or a word such as @daily",
        ),
        ("@every x", "cron_string: \"x\" is not @every and a span such as 90s, 5m or 1h30m/10m"),
        (
            "@every 1s/2s",
            "interval.phase: it must not be negative and must be shorter than the interval",
        ),
        ("@every 10ms", "interval: it must be at least one second"),
        ("TZ=Mars/Base @daily", "timezone_name: \"Mars/Base\" is not an IANA time zone"),
    ];
    for (text, expected) in table {
        let refused = canonical(&cron(text)).expect_err(text);
        assert_eq!(refused.to_string(), expected);
    }
    let spec = ScheduleSpec {
        structured_calendar: vec![StructuredCalendarSpec {
            hour: vec![Range { start: 20, end: 24, step: 1 }],
            ..StructuredCalendarSpec::default()
        }],
        ..ScheduleSpec::default()
    };
    let refused = canonical(&spec).expect_err("no such hour");
    assert_eq!(refused.to_string(), "hour: the range 20 to 24 by 1 is not within 0 to 23");
    let spec = ScheduleSpec { timezone_name: "Europe/Rome".to_owned(), ..cron("TZ=UTC @daily") };
    assert!(canonical(&spec).is_err(), "two zones");
}

fn some_spec() -> impl Strategy<Value = ScheduleSpec> {
    let range = |min: i32, max: i32| {
        let one = (min..=max, 0..=(max - min), 1..=(max - min).max(1));
        let one = one.prop_map(move |(start, more, step)| Range {
            start,
            end: (start + more).min(max),
            step,
        });
        prop::collection::vec(one, 0..3)
    };
    let calendar =
        (range(0, 59), range(0, 59), range(0, 23), range(1, 31), range(1, 12), range(0, 7));
    let calendar = calendar.prop_map(|(second, minute, hour, day_of_month, month, day_of_week)| {
        StructuredCalendarSpec {
            second,
            minute,
            hour,
            day_of_month,
            month,
            day_of_week,
            ..StructuredCalendarSpec::default()
        }
    });
    let interval = (1_u64..100_000, 0_u64..100_000).prop_map(|(interval, phase)| IntervalSpec {
        interval: span::to_wire(std::time::Duration::from_secs(interval)),
        phase: span::to_wire(std::time::Duration::from_secs(phase % interval)),
    });
    let zone = prop::sample::select(vec!["", "Europe/Rome", "America/New_York", "Asia/Kolkata"]);
    let parts = (
        prop::collection::vec(calendar.clone(), 0..3),
        prop::collection::vec(calendar, 0..2),
        prop::collection::vec(interval, 0..2),
        zone,
        0_u64..1_000,
    );
    parts.prop_map(|(structured_calendar, exclude_structured_calendar, interval, zone, jitter)| {
        ScheduleSpec {
            structured_calendar,
            exclude_structured_calendar,
            interval,
            timezone_name: zone.to_owned(),
            jitter: span::to_wire(std::time::Duration::from_secs(jitter)),
            ..ScheduleSpec::default()
        }
    })
}

/// Whether a local time matches, by looking at each field.
fn matches(spec: &StructuredCalendarSpec, at: jiff::civil::DateTime) -> bool {
    let has = |ranges: &[Range], value: i8, otherwise: bool| {
        let value = i32::from(value);
        let in_range =
            |it: &Range| it.start <= value && value <= it.end && (value - it.start) % it.step == 0;
        ranges.iter().any(in_range) || (ranges.is_empty() && otherwise)
    };
    has(&spec.second, at.second(), at.second() == 0)
        && has(&spec.minute, at.minute(), at.minute() == 0)
        && has(&spec.hour, at.hour(), at.hour() == 0)
        && has(&spec.day_of_month, at.day(), true)
        && has(&spec.month, at.month(), true)
        && has(&spec.day_of_week, at.weekday().to_sunday_zero_offset(), true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn times_come_in_order_and_jitter_stays_before_the_next(
        spec in some_spec(),
        after in 946_684_800_i64..2_524_608_000,
    ) {
        let times = times(&spec);
        let after = Timestamp::from_secs(after);
        let mut last = None;
        for turn in times.between(after, Timestamp::MAX).take(20) {
            prop_assert!(turn.nominal > after);
            prop_assert!(turn.due >= turn.nominal);
            prop_assert!(last.is_none_or(|last| last <= turn.nominal), "{last:?} then {turn:?}");
            prop_assert_eq!(times.next(Timestamp(turn.nominal.nanos() - 1)), Some(turn), "the same again");
            last = Some(turn.due);
        }
    }

    #[test]
    fn no_time_of_the_next_day_is_missed_or_made_up(
        spec in some_spec(),
        after in 946_684_800_i64..2_524_608_000,
    ) {
        let spec = canonical(&ScheduleSpec { jitter: None, ..spec }).expect("a good spec");
        let times = times(&spec);
        let zone = match spec.timezone_name.as_str() {
            "" => jiff::tz::TimeZone::UTC,
            name => jiff::tz::TimeZone::get(name).expect("a zone"),
        };
        let span = 6 * 3_600;
        let mut expected = Vec::new();
        for second in after + 1..=after + span {
            let local = zone.to_datetime(Instant::from_second(second).expect("an instant"));
            let first = zone.to_ambiguous_timestamp(local).earlier().expect("an instant");
            let by_calendar = first.as_second() == second
                && spec.structured_calendar.iter().any(|it| matches(it, local));
            let by_interval = spec.interval.iter().any(|it| {
                let [every, phase] = [&it.interval, &it.phase].map(|it| it.as_ref().map_or(0, |it| it.seconds));
                (second - phase).rem_euclid(every) == 0
            });
            let excluded = spec.exclude_structured_calendar.iter().any(|it| matches(it, local));
            if (by_calendar || by_interval) && !excluded {
                expected.push(second);
            }
        }
        let until = Timestamp::from_secs(after + span);
        let found = times.between(Timestamp::from_secs(after), until);
        let found: Vec<i64> = found.map(|turn| turn.nominal.nanos() / 1_000_000_000).collect();
        prop_assert_eq!(found, expected);
    }
}
