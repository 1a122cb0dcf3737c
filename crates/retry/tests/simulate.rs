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

#[test]
fn print() {
    let model = Outage::default().scaled_down(10);
    for (name, jitter, max) in [
        ("A", Jitter::None, 0),
        ("B", Jitter::Full, 0),
        ("C", Jitter::Equal, 0),
        ("F", Jitter::None, 10),
        ("G", Jitter::Full, 10),
    ] {
        let report: Report = model.run(&policy(jitter, max));
        println!("{name} {report:?}");
    }
    let shed = Outage { shed_above: Some(500), ..Outage::default() }.scaled_down(10);
    println!("D {:?}", shed.run(&policy(Jitter::None, 0)));
}
