//! Optimistic concurrency on one row: read its version, write if it is still the same, else back off
//! and begin again, until the one write of each client has landed.
//!
//! The model that the jitters of the well-known article on backoff were compared with: base 5 ms, cap
//! 2 s, a network of about 10 ms each way, and a counter that is raised before the first backoff.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use steadfast_retry::{Backoff, Draw, Jitter, Seed};

/// Means over some trials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contention {
    /// Time until the last write landed.
    pub(crate) millis: f64,
    /// Writes tried.
    pub(crate) calls: f64,
}

impl Contention {
    /// None, exponential without jitter, equal, full, decorrelated.
    pub(crate) fn run_all(clients: usize) -> [Self; 5] {
        let (first, cap) = (Duration::from_millis(10), Duration::from_secs(2));
        let exponential = Backoff::exponential(first, 2.0).capped(cap).exact();
        let decorrelated = Backoff::exponential(first / 2, 2.0).capped(cap).exact();
        [
            Backoff::constant(Duration::ZERO).exact(),
            exponential.clone(),
            exponential.clone().jittered(Jitter::Equal),
            exponential.jittered(Jitter::Full),
            decorrelated.jittered(Jitter::Decorrelated),
        ]
        .map(|backoff| Self::run(&backoff, clients))
    }

    fn run(backoff: &Backoff, clients: usize) -> Self {
        let trials = (0..TRIALS).map(|trial| Trial::new(backoff, clients, trial).run());
        let (millis, calls) = trials
            .fold((0.0, 0.0), |sum, (millis, calls)| (sum.0 + millis, sum.1 + f64::from(calls)));
        let trials = f64::from(u16::try_from(TRIALS).expect("few"));
        Self { millis: millis / trials, calls: calls / trials }
    }
}

const TRIALS: u64 = 20;

struct Trial<'a> {
    backoff: &'a Backoff,
    clients: Vec<Client>,
    /// What arrives where, soonest first: time in nanoseconds, order of sending, who, what.
    mail: BinaryHeap<Reverse<(u128, u64, usize, Mail)>>,
    version: u64,
    sent: u64,
    calls: u32,
    name: String,
}

#[derive(Clone, Default)]
struct Client {
    failures: u32,
    previous: Option<Duration>,
}

#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Mail {
    Read,
    Version(u64),
    Write(u64),
    Conflict,
}

impl<'a> Trial<'a> {
    fn new(backoff: &'a Backoff, clients: usize, trial: u64) -> Self {
        Self {
            backoff,
            clients: vec![Client::default(); clients],
            mail: BinaryHeap::new(),
            version: 0,
            sent: 0,
            calls: 0,
            name: trial.to_string(),
        }
    }

    /// The time in milliseconds and the writes until all have landed.
    fn run(mut self) -> (f64, u32) {
        for client in 0..self.clients.len() {
            self.send(0, client, Mail::Read);
        }
        let mut landed = 0;
        while let Some(Reverse((now, _, client, mail))) = self.mail.pop() {
            match mail {
                Mail::Read => self.send(now, client, Mail::Version(self.version)),
                Mail::Version(version) => self.send(now, client, Mail::Write(version)),
                Mail::Write(version) if version == self.version => {
                    self.calls += 1;
                    self.version += 1;
                    landed = now;
                }
                Mail::Write(_) => {
                    self.calls += 1;
                    self.send(now, client, Mail::Conflict);
                }
                Mail::Conflict => {
                    let wait = self.back_off(client);
                    self.send(now + wait.as_nanos(), client, Mail::Read);
                }
            }
        }
        (
            Duration::from_nanos(u64::try_from(landed).expect("short")).as_secs_f64() * 1e3,
            self.calls,
        )
    }

    fn back_off(&mut self, client: usize) -> Duration {
        let name = client.to_string();
        let parts = [self.name.as_str(), name.as_str()];
        let client = &mut self.clients[client];
        client.failures += 1;
        let draw = Draw {
            seed: Seed::new(&parts),
            failure: u64::from(client.failures),
            previous: client.previous,
        };
        client.previous = self.backoff.delay(client.failures, &draw);
        client.previous.expect("a wait")
    }

    fn send(&mut self, now: u128, client: usize, mail: Mail) {
        self.sent += 1;
        let arrives = now + self.network().as_nanos();
        self.mail.push(Reverse((arrives, self.sent, client, mail)));
    }

    /// About ten milliseconds, give or take two, bell-shaped.
    fn network(&self) -> Duration {
        let parts = [self.name.as_str(), "network"];
        let unit = |stream| Seed::new(&parts).unit(self.sent, stream).get();
        let bell = (-2.0 * (1.0 - unit(0)).ln()).sqrt() * (std::f64::consts::TAU * unit(1)).cos();
        Duration::from_secs_f64((10.0 + 2.0 * bell).abs() / 1e3)
    }
}
