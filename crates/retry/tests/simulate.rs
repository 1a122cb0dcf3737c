//! The outage model: which policies let a downstream recover, and which keep it down.

use std::time::Duration;

use steadfast_retry::{
    Backoff, Behaviour, Draft, Jitter, Limits, Policy,
    simulate::outage::{Outage, Report},
};

/// 1 s doubling to 100 s, with this jitter and so many attempts.
fn policy(jitter: Jitter, max_attempts: u32) -> Policy {
    let backoff = Backoff::exponential(Duration::from_secs(1), 2.0)
        .capped(Duration::from_secs(100))
        .jittered(jitter);
    let draft = Draft {
        default: Some(Behaviour::retrying(backoff)),
        limits: Limits::attempts(max_attempts),
        ..Draft::default()
    };
    Policy::new(draft).expect("valid")
}

/// A twentieth of everything that is counted: the shape stays the same, the test is quick.
const SCALE: u32 = 20;

fn run(jitter: Jitter, max_attempts: u32) -> Report {
    Outage::default().scaled_down(SCALE).run(&policy(jitter, max_attempts))
}

/// Fails unless the number, scaled up again, is within `percent` of the one in the table.
#[track_caller]
fn near(number: impl Into<f64>, table: f64, percent: f64) {
    let scaled = number.into() * f64::from(SCALE);
    let apart = (scaled / table - 1.0).abs() * 100.0;
    assert!(apart <= percent, "{scaled} is {apart:.1} % off {table}");
}

fn count(number: u64) -> u32 {
    u32::try_from(number).expect("few")
}

#[test]
fn row_a_no_jitter_never_recovers() {
    let report = run(Jitter::None, 0);
    near(count(report.attempts_in_outage), 1_639_260.0, 0.0);
    near(report.peak_after, 7_320.0, 1.0);
    near(report.goodput, 0.3, 10.0);
    assert_eq!((report.drained_after, report.failed), (None, 0));
}

#[test]
fn row_b_full_jitter_makes_a_long_outage_worse() {
    let report = run(Jitter::Full, 0);
    near(count(report.attempts_in_outage), 2_628_683.0, 2.0);
    near(report.peak_after, 13_169.0, 15.0);
    near(report.goodput, 0.3, 10.0);
    assert_eq!((report.drained_after, report.failed), (None, 0));
}

#[test]
fn row_c_equal_jitter_is_in_between() {
    let report = run(Jitter::Equal, 0);
    near(count(report.attempts_in_outage), 1_966_127.0, 2.0);
    near(report.peak_after, 9_403.0, 15.0);
    assert_eq!((report.drained_after, report.failed), (None, 0));
}

#[test]
fn row_d_a_downstream_that_sheds_recovers_by_itself() {
    let model = Outage { shed_above: Some(500), ..Outage::default() };
    let report = model.scaled_down(SCALE).run(&policy(Jitter::None, 0));
    near(count(report.attempts_in_outage), 1_639_260.0, 0.0);
    near(report.peak_after, 1_500.0, 5.0);
    near(report.goodput, 90.0, 2.0);
    let drained = report.drained_after.expect("drained");
    assert!((2_600..=2_800).contains(&drained), "after {drained} s");
    assert_eq!(model.best_drain(), Some(2_700));
    assert_eq!(report.failed, 0);
}

#[test]
fn rows_f_and_g_a_limit_loses_work_and_still_does_not_recover() {
    let (none, full) = (run(Jitter::None, 10), run(Jitter::Full, 10));
    near(count(none.attempts_in_outage), 1_031_940.0, 0.0);
    near(count(full.attempts_in_outage), 1_055_559.0, 2.0);
    near(none.peak_after, 600.0, 5.0);
    near(count(none.failed), 729_080.0, 1.0);
    near(count(full.failed), 738_735.0, 1.0);
    for report in [none, full] {
        assert_eq!(report.drained_after, None);
        assert!(report.goodput * f64::from(SCALE) < 1.0, "{report:?}");
    }
}

#[test]
fn the_same_policy_gives_the_same_report() {
    let model = Outage { down_for: 300, observe: 600, ..Outage::default() }.scaled_down(SCALE);
    let run = || model.run(&policy(Jitter::Full, 0));
    assert_eq!(run(), run());
}

#[test]
fn waits_are_rounded_up_to_the_next_second() {
    let backoff = Backoff::constant(Duration::from_millis(1_500));
    let default = Some(Behaviour::retrying(backoff));
    let policy = Policy::new(Draft { default, ..Draft::default() }).expect("valid");
    let model = Outage { arrivals: 1, capacity: 1, down_for: 6, observe: 1, ..Outage::default() };
    // Those who came at second 0, 1, … 5 tried 3, 3, 2, 2, 1 and 1 times.
    assert_eq!(model.run(&policy).attempts_in_outage, 12);
}

#[test]
fn a_short_blip_is_worked_off_when_there_is_room() {
    let model =
        Outage { arrivals: 10, capacity: 100, down_for: 60, observe: 600, ..Outage::default() };
    let report = model.run(&policy(Jitter::None, 0));
    assert!(report.drained_after.is_some_and(|after| after < 60), "{report:?}");
    insta::assert_snapshot!(report, @r"
    attempts in the outage  3030
    peak a second after it  60
    goodput in hour one     11.0/s
    drained after           21s
    gave up                 0
    ");
}
