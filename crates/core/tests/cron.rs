//! Cron schedules, as a table: schedule, when the last run began, now, when the next one begins.

use jiff::Timestamp as Instant;
use steadfast_core::{Timestamp, cron};

fn instant(text: &str) -> Timestamp {
    let at: Instant = text.parse().unwrap_or_else(|_| panic!("{text:?} is not an instant"));
    Timestamp(i64::try_from(at.as_nanosecond()).unwrap())
}

#[test]
fn the_next_time_comes_after_the_last_and_after_now() {
    let table = "
        * * * * *                      | 2024-01-01T00:00:00Z   | 2024-01-01T00:00:10Z   | 2024-01-01T00:01:00Z
        */5 * * * *                    | 2024-01-01T00:00:00Z   | 2024-01-01T00:00:01Z   | 2024-01-01T00:05:00Z
        */5 * * * *                    | 2024-01-01T00:00:00Z   | 2024-01-01T00:05:00Z   | 2024-01-01T00:10:00Z
        */5 * * * *                    | 2024-01-01T00:00:00Z   | 2024-01-01T07:03:00Z   | 2024-01-01T07:05:00Z
        30 8 * * *                     | 2024-01-01T00:00:00Z   | 2024-01-01T09:00:00Z   | 2024-01-02T08:30:00Z
        0 0 29 2 *                     | 2024-01-01T00:00:00Z   | 2024-03-01T00:00:00Z   | 2028-02-29T00:00:00Z
        0 9 * * 1-5                    | 2024-01-05T09:00:00Z   | 2024-01-05T10:00:00Z   | 2024-01-08T09:00:00Z
        0 9 * * MON,FRI                | 2024-01-01T09:00:00Z   | 2024-01-01T10:00:00Z   | 2024-01-05T09:00:00Z
        0 0 13 * 5                     | 2024-01-01T00:00:00Z   | 2024-01-06T00:00:00Z   | 2024-01-12T00:00:00Z
        0 0 13 * 5                     | 2024-01-01T00:00:00Z   | 2024-01-12T00:00:00Z   | 2024-01-13T00:00:00Z
        0 0 1 JAN,JUL *                | 2024-01-01T00:00:00Z   | 2024-01-02T00:00:00Z   | 2024-07-01T00:00:00Z
        @hourly                        | 2024-01-01T00:00:00Z   | 2024-01-01T00:10:00Z   | 2024-01-01T01:00:00Z
        @daily                         | 2024-01-01T00:00:00Z   | 2024-01-01T00:10:00Z   | 2024-01-02T00:00:00Z
        @weekly                        | 2024-01-01T00:00:00Z   | 2024-01-01T00:10:00Z   | 2024-01-07T00:00:00Z
        @monthly                       | 2024-01-01T00:00:00Z   | 2024-01-01T00:10:00Z   | 2024-02-01T00:00:00Z
        @yearly                        | 2024-01-01T00:00:00Z   | 2024-01-01T00:10:00Z   | 2025-01-01T00:00:00Z
        @every 90s                     | 2024-01-01T00:00:00Z   | 2024-01-01T00:00:10Z   | 2024-01-01T00:01:30Z
        @every 90s                     | 2024-01-01T00:00:00Z   | 2024-01-01T00:01:30Z   | 2024-01-01T00:03:00Z
        @every 1h30m                   | 2024-01-01T00:10:00Z   | 2024-01-01T05:00:00Z   | 2024-01-01T06:10:00Z
        @every 1.5s                    | 2024-01-01T00:00:00Z   | 2024-01-01T00:00:00Z   | 2024-01-01T00:00:01Z
        CRON_TZ=Europe/Rome 0 9 * * *  | 2024-01-01T08:00:00Z   | 2024-01-01T08:00:01Z   | 2024-01-02T08:00:00Z
        TZ=Europe/Rome 0 9 * * *       | 2024-07-01T07:00:00Z   | 2024-07-01T07:00:01Z   | 2024-07-02T07:00:00Z
        TZ=America/New_York 30 2 * * * | 2024-03-09T07:30:00Z   | 2024-03-09T08:00:00Z   | 2024-03-10T07:00:00Z
        TZ=Asia/Kolkata 0 0 * * *      | 2024-01-01T00:00:00Z   | 2024-01-01T00:00:00Z   | 2024-01-01T18:30:00Z
    ";
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split('|').map(str::trim).collect();
        let schedule = cron::parse(words[0]).unwrap_or_else(|why| panic!("{line}: {why}"));
        let (last, now) = (instant(words[1]), instant(words[2]));
        let next = schedule.wait(last, now).map(|wait| now.after(wait));
        let shown = next.map(|at| Instant::from_nanosecond(i128::from(at.nanos())).unwrap());
        assert_eq!(shown.map(|at| at.to_string()).as_deref(), Some(words[3]), "{line}");
    }
}

#[test]
fn a_wait_is_in_whole_seconds_and_never_nothing() {
    let schedule = cron::parse("* * * * *").unwrap();
    let minute = instant("2024-01-01T00:01:00Z");
    let before = |nanos: i64| Timestamp(minute.nanos() - nanos);
    let wait = |now: Timestamp| schedule.wait(now, now).unwrap().as_secs();
    assert_eq!(wait(before(1)), 1);
    assert_eq!(wait(before(1_000_000_001)), 2);
    assert_eq!(wait(minute), 60);
}

#[test]
fn a_text_that_is_no_schedule_is_refused_with_the_reason() {
    let cases = [
        "",
        "never",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "5-1 * * * *",
        "@sometimes",
        "@every",
        "@every soon",
        "@every 0s",
        "@every 500ms",
        "@every -5s",
        "TZ=Nowhere * * * * *",
        "CRON_TZ=Europe/Rome",
    ];
    let told = |text: &str| match cron::parse(text) {
        Ok(_) => format!("{text:<24} taken"),
        Err(why) => format!("{text:<24} {why}"),
    };
    insta::assert_snapshot!(cases.map(told).join("\n"), @r#"
                             "" is not five cron fields: it has 0
    never                    "never" is not five cron fields: it has 1
    * * * *                  "* * * *" is not five cron fields: it has 4
    * * * * * *              "* * * * * *" is not five cron fields: it has 6
    60 * * * *               "60 * * * *" is not five cron fields: Component error: Number out of bounds.
    * 24 * * *               "* 24 * * *" is not five cron fields: Component error: Number out of bounds.
    * * 0 * *                "* * 0 * *" is not five cron fields: Component error: Number out of bounds.
    * * * 13 *               "* * * 13 *" is not five cron fields: Component error: Number out of bounds.
    * * * * 8                "* * * * 8" is not five cron fields: Component error: Number out of bounds.
    */0 * * * *              "*/0 * * * *" is not five cron fields: Component error: Step cannot be zero.
    5-1 * * * *              "5-1 * * * *" is not five cron fields: Component error: Range out of bounds.
    @sometimes               "@sometimes" is not five cron fields: Invalid pattern: Pattern must have between 5 and 7 fields.
    @every                   "" is not a duration such as 90s, 5m or 1h30m
    @every soon              "soon" is not a duration such as 90s, 5m or 1h30m
    @every 0s                "0s" is not a duration such as 90s, 5m or 1h30m
    @every 500ms             "500ms" is not a duration such as 90s, 5m or 1h30m
    @every -5s               "-5s" is not a duration such as 90s, 5m or 1h30m
    TZ=Nowhere * * * * *     unknown time zone "Nowhere"
    CRON_TZ=Europe/Rome      "" is not five cron fields: it has 0
    "#);
}

#[test]
fn a_schedule_that_never_comes_has_no_next_time() {
    let schedule = cron::parse("0 0 31 2 *");
    let now = instant("2024-01-01T00:00:00Z");
    let next = schedule.ok().and_then(|schedule| schedule.wait(now, now));
    assert_eq!(next, None);
}
