//! A server that is killed again and again under an application of the Rust SDK, which is started once
//! and goes on by itself. On the real clock: what is killed is a real process.
//!
//! When it is killed, and how often it is missed before it is there again, comes from a seed, which is
//! printed; `STEADFAST_CRASH_SEED` gives the same ones again.

use std::{
    collections::BTreeMap,
    future::IntoFuture as _,
    hash::{BuildHasher as _, RandomState},
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use steadfast::{
    ActivityContext, App, Client, Failure, RetryPolicy, WorkflowContext, WorkflowError,
    WorkflowHandle,
    proto::history::{HistoryEvent, history_event::Attributes as E},
};
use tokio::sync::watch;

use crate::rig::{Dev, free_port};

const JOURNEYS: u32 = 60;
const KILLS: u32 = 5;
/// One that fails by itself, one a kill that ends unheard, and one that succeeds, with some to spare.
const ATTEMPTS: u32 = 10;

/// The attempts that have begun.
#[derive(Clone)]
struct Begun(watch::Sender<BTreeMap<Attempt, u32>>);

/// A run, an activity in it, and the number of the attempt.
type Attempt = (String, String, u32);

impl Begun {
    fn note(&self, ctx: &ActivityContext) {
        let info = ctx.info();
        let attempt = (info.run_id.clone(), info.activity_id.clone(), info.attempt);
        self.0.send_modify(|begun| *begun.entry(attempt).or_default() += 1);
        assert!(info.attempt <= info.max_attempts.unwrap_or(u32::MAX), "{info:?}");
    }

    /// Waits until there are so many.
    async fn reaches(&self, count: usize) {
        let mut seen = self.0.subscribe();
        seen.wait_for(|begun| begun.len() >= count).await.expect("the sender is here");
    }
}

/// Fails once.
async fn charge(ctx: ActivityContext, number: u32) -> Result<u32, Failure> {
    ctx.state::<Begun>().expect("a list").note(&ctx);
    if ctx.attempt() == 1 {
        return Err(Failure::new("the bank is asleep").of_type("BankAsleep"));
    }
    Ok(number + 1)
}

/// May be begun once, and never again.
async fn send_mail(ctx: ActivityContext, _: u32) -> Result<(), Failure> {
    ctx.state::<Begun>().expect("a list").note(&ctx);
    Ok(())
}

fn patient() -> RetryPolicy {
    RetryPolicy::new().max_attempts(ATTEMPTS).initial_interval(Duration::from_millis(20))
}

async fn journey(ctx: WorkflowContext, number: u32) -> Result<u32, Failure> {
    let charged = ctx.activity(charge, number).retry(patient()).start_to_close(LOST).await?;
    ctx.sleep(Duration::from_millis(20)).await?;
    let once = RetryPolicy::new().max_attempts(1);
    // A mail that was on its way to the worker when the server died is lost, and not sent again.
    let _ = ctx.activity(send_mail, number).retry(once).start_to_close(LOST).await;
    let luggage: u32 = ctx.signals("luggage").receive().await?;
    let child = ctx.child(stage, charged).id(format!("stage-{number}"));
    Ok(child.task_timeout(TASK_LOST).await? + luggage)
}

/// Nothing is said about its attempt's time: one that is lost is noticed by its missing signs of life.
async fn stage(ctx: WorkflowContext, number: u32) -> Result<u32, Failure> {
    let charged = ctx.activity(charge, number).retry(patient()).await?;
    ctx.sleep(Duration::from_millis(20)).await?;
    Ok(charged)
}

/// When a task counts as lost that was on its way when the server died.
const LOST: Duration = Duration::from_secs(2);
const TASK_LOST: Duration = Duration::from_secs(1);

/// A server on a file and a port, both of which stay.
struct Server {
    dev: Option<Dev>,
    port: u16,
    file: PathBuf,
    chance: Chance,
}

impl Server {
    fn start(folder: &Path, seed: u64) -> Self {
        let file = folder.join("journeys.db");
        let mut server = Self { dev: None, port: free_port(), file, chance: Chance(seed) };
        server.serve();
        server
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn serve(&mut self) {
        let file = self.file.display().to_string();
        self.dev = Some(Dev::at(&self.port.to_string(), &["--db-filename", &file]));
    }

    /// `kill -9`.
    fn kill(&mut self) {
        let mut dev = self.dev.take().expect("it runs");
        dev.child.kill().expect("killed");
        dev.child.wait().expect("it ends");
    }

    /// Kills it each time that some more attempts have begun, and starts it again when it was missed
    /// some times.
    async fn suffer(&mut self, begun: &Begun) {
        let mut count = 0;
        for kill in 1..=KILLS {
            count += 10 + self.chance.below(30);
            begun.reaches(count).await;
            self.kill();
            let misses = self.chance.below(4);
            let missed = self.address();
            tokio::task::spawn_blocking(move || {
                let door = TcpListener::bind(missed).expect("nobody else has the port");
                for _ in 0..misses {
                    door.accept().expect("somebody knocks");
                }
            })
            .await
            .expect("no panic");
            say(&format!("kill {kill} after {count} attempts, missed {misses} times"));
            self.serve();
        }
    }
}

/// Numbers that follow from a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit).expect("small")
    }
}

fn seed() -> u64 {
    let given = std::env::var("STEADFAST_CRASH_SEED").ok();
    let given = given.map(|seed| seed.parse().expect("STEADFAST_CRASH_SEED is a number"));
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(()));
    say(&format!("STEADFAST_CRASH_SEED={seed}"));
    seed
}

#[expect(clippy::print_stderr, reason = "whoever sees it fail needs the seed")]
fn say(line: &str) {
    eprintln!("{line}");
}

/// Starts a journey, sends it its luggage, and waits for its end: each call once. The later journeys
/// begin when the earlier ones are on their way, so that there are calls of all kinds at any time.
async fn travel(client: Client, begun: Begun, number: u32) -> (u32, Result<u32, WorkflowError>) {
    begun.reaches(usize::try_from(number).expect("small") * 2).await;
    let start = client.start(journey, number).id(format!("journey-{number}"));
    let run = start.task_timeout(TASK_LOST).into_future().await.expect("it is started");
    run.signal("luggage", &1000).await.expect("it is sent");
    (number, run.result().await)
}

/// What must be so in a history, however often the server died.
fn check(events: &[HistoryEvent], signals: usize) {
    let mut signalled = 0;
    for event in events {
        match &event.attributes {
            Some(E::WorkflowExecutionSignaledEventAttributes(_)) => signalled += 1,
            Some(E::ActivityTaskStartedEventAttributes(started)) => {
                let attempts = u32::try_from(started.attempt).expect("a number from 1");
                assert!(attempts <= limit(events, started.scheduled_event_id), "{started:?}");
            }
            _ => {}
        }
    }
    assert_eq!(signalled, signals, "a signal is sent once");
}

/// The most attempts that the policy of an activity permits.
fn limit(events: &[HistoryEvent], scheduled: i64) -> u32 {
    let scheduled = events.iter().find(|event| event.event_id == scheduled).expect("it is there");
    match &scheduled.attributes {
        Some(E::ActivityTaskScheduledEventAttributes(it)) => {
            let policy = it.retry_policy.as_ref().expect("a policy");
            u32::try_from(policy.maximum_attempts).expect("a limit")
        }
        other => panic!("no activity: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_outlives_every_death_of_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), seed());
    let begun = Begun(watch::Sender::default());
    let app = App::builder(server.address())
        .workflow(journey)
        .workflow(stage)
        .activity(charge)
        .activity(send_mail)
        .state(begun.clone())
        .task_queue("journeys")
        .lost_after(LOST)
        .start()
        .await
        .unwrap();
    let depart = |number| tokio::spawn(travel(app.client().clone(), begun.clone(), number));
    let journeys: Vec<_> = (0..JOURNEYS).map(depart).collect();
    server.suffer(&begun).await;
    for journey in journeys {
        let (number, result) = journey.await.unwrap();
        assert_eq!(result.unwrap(), number + 1002, "journey {number}");
        let run: WorkflowHandle<u32> = app.client().workflow(format!("journey-{number}"));
        check(&run.history().await.unwrap(), 1);
        let run: WorkflowHandle<u32> = app.client().workflow(format!("stage-{number}"));
        check(&run.history().await.unwrap(), 0);
    }
    let twice: Vec<_> = begun.0.borrow().clone().into_iter().filter(|(_, n)| *n > 1).collect();
    assert!(twice.is_empty(), "an attempt was begun twice: {twice:?}");
    // With nobody there to hear of it, too.
    server.kill();
    app.shutdown().await;
}
