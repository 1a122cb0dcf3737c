//! Work that ends its workers, on whole engines: who is suspected, who is tried alone, who is parked.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{
    Clock as _, Engine,
    failures::{ErrorId, Resume, Selection, Settings, Who},
};
use steadfast_proto::{command::Command, workflowservice as ws};
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorState, Order};
use tokio::task::{JoinHandle, JoinSet};

use crate::common::{
    NAMESPACE, QUEUE, Rig, VirtualClock, activity_with,
    calls::{Work, activity_poll},
    complete, payloads, retries, seconds, survives,
};

fn settings(poison_after: u32, park_tasks_after: u32) -> Settings {
    Settings { poison_after, park_tasks_after, ..Settings::default() }
}

async fn set(rig: &Rig, settings: Settings) {
    rig.engine().set_failure_settings(NAMESPACE, settings, Who::default()).await.expect("good");
}

async fn parked(engine: &Engine) -> Vec<ErrorEntry> {
    let filter = ErrorFilter { states: vec![ErrorState::Parked], ..ErrorFilter::default() };
    let found = engine.list_errors(NAMESPACE, filter, Order::Forward, None, 0).await;
    found.expect("a list").errors
}

async fn poll(engine: &Engine, identity: &str) -> Work {
    let request =
        ws::PollActivityTaskQueueRequest { identity: identity.to_owned(), ..activity_poll(QUEUE) };
    engine.poll_activity_task_queue(request).await.expect("a poll")
}

/// Polls until there is something.
async fn given(engine: &Engine, identity: &str) -> Work {
    loop {
        let work = poll(engine, identity).await;
        if !work.task_token.is_empty() {
            return work;
        }
    }
}

/// Begins to poll.
fn poll_beside(engine: &Engine, identity: &'static str) -> JoinHandle<Work> {
    let engine = engine.clone();
    tokio::spawn(async move { poll(&engine, identity).await })
}

async fn answer(engine: &Engine, work: &Work) {
    let request = ws::RespondActivityTaskCompletedRequest {
        task_token: work.task_token.clone(),
        result: Some(payloads("ok")),
        namespace: NAMESPACE.to_owned(),
        ..ws::RespondActivityTaskCompletedRequest::default()
    };
    engine.respond_activity_task_completed(request).await.expect("it is this worker's");
}

/// Activities that send heartbeats every half minute, or are lost.
fn beating(ids: &[&str]) -> Vec<Command> {
    let one = |id: &&str| {
        activity_with(id, |it| {
            it.heartbeat_timeout = Some(seconds(30));
            it.start_to_close_timeout = Some(seconds(3_600));
            it.retry_policy = Some(retries(1, 1.0, 0));
        })
    };
    ids.iter().map(one).collect()
}

/// An engine where so many workers may be lost to an activity, with a run that has begun some.
async fn begun(poison_after: u32, activities: Vec<Command>) -> (Rig, Engine) {
    let rig = Rig::new().await;
    set(&rig, settings(poison_after, 0)).await;
    rig.start("order-1").await;
    rig.step(activities).await;
    let engine = rig.engine();
    (rig, engine)
}

#[tokio::test(start_paused = true)]
async fn f_14_a_killer_is_parked_and_what_is_known_of_it_survives() {
    let told = survives(async |rig: &Rig| {
        set(rig, settings(3, 0)).await;
        rig.start("order-1").await;
        rig.step(beating(&["a"])).await;
        let mut told = Vec::new();
        for worker in ["w1", "w2", "w3"] {
            rig.point().await;
            // A worker outlives a crash of the engine; these do not outlive their work.
            let work = given(&rig.engine(), worker).await;
            told.push(format!("{} on {worker}", work.attempt));
            rig.point().await;
            rig.wait(31).await;
        }
        rig.point().await;
        let errors = parked(&rig.engine()).await;
        told.push(errors.iter().map(|it| it.row.reason.clone()).collect());
        let ids = errors.iter().map(ErrorId::from).collect();
        let (engine, resume) = (rig.engine(), Resume::default());
        let acted = engine.resume_errors(NAMESPACE, Selection::Ids(ids), &resume).await;
        assert!(acted.expect("good").iter().all(|it| it.outcome.is_ok()));
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        told.join("; ")
    });
    assert_eq!(
        told.await,
        "1 on w1; 2 on w2; 3 on w3; 3 attempts in a row ended with their worker"
    );
}

#[tokio::test(start_paused = true)]
async fn f_14_who_is_tried_alone_is_alone() {
    let (rig, engine) = begun(2, beating(&["a"])).await;
    assert_eq!(poll(&engine, "w1").await.activity_id, "a");
    rig.wait(32).await;
    // It is suspected now: whoever has empty hands has it first, and nothing beside it.
    rig.start("order-2").await;
    rig.step(beating(&["b", "c"])).await;
    let alone = poll(&engine, "w2").await;
    assert_eq!((alone.activity_id.as_str(), alone.attempt), ("a", 2));
    let next = poll_beside(&engine, "w2");
    rig.wait(5).await;
    assert!(!next.is_finished(), "there are two that wait, and not for this one");
    assert_eq!(poll(&engine, "w3").await.activity_id, "b");
    answer(&engine, &alone).await;
    let next = next.await.expect("it polls");
    assert_eq!((next.activity_id.as_str(), rig.elapsed()), ("c", 37), "it may have more again");
}

#[tokio::test(start_paused = true)]
async fn f_14_a_worker_is_emptied_for_it_if_all_are_busy() {
    let (rig, engine) = begun(2, beating(&["a"])).await;
    poll(&engine, "w1").await;
    rig.wait(20).await;
    rig.start("order-2").await;
    rig.step(beating(&["b", "c", "d", "e"])).await;
    let (held, other) = (poll(&engine, "w2").await, poll(&engine, "w3").await);
    rig.wait(12).await;
    // Both are busy. The first that asks is given nothing new, the other one goes on.
    let emptied = poll_beside(&engine, "w2");
    rig.settle().await;
    assert_eq!(poll(&engine, "w3").await.activity_id, "d");
    answer(&engine, &other).await;
    assert_eq!(poll(&engine, "w3").await.activity_id, "e");
    assert!(!emptied.is_finished());
    answer(&engine, &held).await;
    let alone = emptied.await.expect("it polls");
    assert_eq!((alone.activity_id.as_str(), rig.elapsed()), ("a", 32));
}

#[tokio::test(start_paused = true)]
async fn f_14_nothing_waits_for_ever_for_a_worker_with_empty_hands() {
    let (rig, engine) = begun(2, beating(&["a"])).await;
    poll(&engine, "w1").await;
    rig.start("order-2").await;
    rig.step(vec![activity_with("long", |it| {
        it.start_to_close_timeout = Some(seconds(9_000));
    })])
    .await;
    // The only worker that is left has a hand full for hours.
    assert_eq!(poll(&engine, "w2").await.activity_id, "long");
    let work = given(&engine, "w2").await;
    assert_eq!((work.activity_id.as_str(), work.attempt), ("a", 2));
    assert_eq!(rig.elapsed(), 30 + 1 + 60, "lost, to be tried again, and waited for long enough");
}

#[tokio::test(start_paused = true)]
async fn f_14_slow_work_on_a_worker_that_is_well_is_not_suspected() {
    let slow = activity_with("a", |it| {
        it.start_to_close_timeout = Some(seconds(10));
        it.retry_policy = Some(retries(1, 1.0, 0));
    });
    let (rig, engine) = begun(1, vec![slow]).await;
    for attempt in 1..=3 {
        assert_eq!(given(&engine, "w1").await.attempt, attempt);
        if attempt < 3 {
            // It is well: it asks for more.
            tokio::spawn({
                let engine = engine.clone();
                async move { engine_poll_for(&engine, 15).await }
            });
        }
        rig.wait(11).await;
    }
    let errors = parked(&engine).await;
    assert_eq!(errors.len(), 1, "the third time it had fallen silent");
    assert_eq!(errors[0].row.attempts, 3);
}

/// A poll that its worker gives up after a while.
async fn engine_poll_for(engine: &Engine, seconds: u64) {
    let wait = Duration::from_secs(seconds);
    #[expect(clippy::disallowed_methods, reason = "virtual time")]
    let _ = tokio::time::timeout(wait, poll_other(engine)).await;
}

/// The same worker, at another queue.
async fn poll_other(engine: &Engine) -> Work {
    let request = ws::PollActivityTaskQueueRequest {
        identity: "w1".to_owned(),
        ..activity_poll("another queue")
    };
    engine.poll_activity_task_queue(request).await.expect("a poll")
}

/// What a seed decides: splitmix.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// A worker with 25 hands. It ends when it is given the killer, and all that it has in hand with it.
async fn work(engine: Engine, clock: Arc<VirtualClock>, identity: String, mut chance: Chance) {
    let mut polls = JoinSet::new();
    let mut hands = JoinSet::new();
    loop {
        while polls.len() < 2 && polls.len() + hands.len() < 25 {
            let (engine, identity) = (engine.clone(), identity.clone());
            polls.spawn(async move { poll(&engine, &identity).await });
        }
        tokio::select! {
            Some(Ok(work)) = polls.join_next() => {
                if work.activity_id == "killer" {
                    return;
                }
                if work.task_token.is_empty() {
                    continue;
                }
                let (engine, clock) = (engine.clone(), Arc::clone(&clock));
                let span = Duration::from_millis(500 + chance.below(20_000));
                hands.spawn(async move {
                    clock.sleep(span).await;
                    answer(&engine, &work).await;
                });
            }
            Some(_) = hands.join_next() => {}
        }
    }
}

/// One killer among 500, 20 workers. How many workers were lost, and which work was parked.
async fn one_killer(seed: u64) -> (usize, Vec<String>) {
    let rig = Rig::new().await;
    set(&rig, settings(3, 0)).await;
    let mut chance = Chance(seed);
    let killer = chance.below(500);
    for flow in 0..10 {
        rig.start(&format!("order-{flow}")).await;
        let ids: Vec<String> = (0..50).map(|n| (flow * 50 + n).to_string()).collect();
        let name = |id: &String| if *id == killer.to_string() { "killer" } else { id }.to_owned();
        let names: Vec<String> = ids.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        rig.step(beating(&names)).await;
    }
    let mut workers = JoinSet::new();
    for number in 0..20 {
        let (engine, clock) = (rig.engine(), Arc::clone(&rig.clock));
        let own = Chance(chance.below(u64::MAX));
        workers.spawn(work(engine, clock, format!("worker-{number}"), own));
    }
    let mut pending = 500;
    while pending > 1 {
        rig.wait(10).await;
        assert!(rig.elapsed() < 3_600, "{pending} are pending after an hour");
        pending = 0;
        for flow in 0..10 {
            let described = rig.describe(&format!("order-{flow}")).await.expect("it is there");
            pending += described.pending_activities.len();
        }
    }
    // Whatever is not over is parked: nothing is tried any more.
    rig.wait(300).await;
    let parked = parked(&rig.engine()).await.into_iter().map(|it| it.row.activity_id).collect();
    let lost = std::iter::from_fn(|| workers.try_join_next()).count();
    (lost, parked)
}

#[tokio::test(start_paused = true)]
async fn f_14_one_killer_among_five_hundred_costs_three_workers_and_condemns_nobody_else() {
    for seed in 0..25 {
        let (lost, parked) = one_killer(seed).await;
        assert_eq!((lost, parked), (3, vec!["killer".to_owned()]), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn f_14_code_that_always_fails_is_parked_listed_and_resumed() {
    let told = survives(async |rig: &Rig| {
        set(rig, settings(0, 5)).await;
        rig.start("order-1").await;
        let mut failed = 0;
        while failed < 5 {
            let task = rig.next_task(QUEUE).await;
            // A task that was handed out and lost with the engine is nobody's.
            failed += u32::from(rig.fail_task(&task).await.is_ok());
        }
        rig.point().await;
        rig.wait(1_800).await;
        assert!(rig.poll_task(QUEUE).await.task_token.is_empty(), "nobody is given it");
        let errors = parked(&rig.engine()).await;
        assert_eq!(errors.len(), 1);
        let told = format!(
            "{} x{} {}",
            ErrorId::from(&errors[0]),
            errors[0].row.attempts,
            errors[0].row.reason
        );
        let resume = Resume { request_id: "r".to_owned(), ..Resume::default() };
        let ids = || Selection::Ids(errors.iter().map(ErrorId::from).collect());
        for _ in 0..2 {
            let acted = rig.engine().resume_errors(NAMESPACE, ids(), &resume).await;
            assert!(acted.expect("good").iter().all(|it| it.outcome.is_ok()), "twice is once");
            rig.point().await;
        }
        rig.step(vec![complete("done")]).await;
        assert!(parked(&rig.engine()).await.is_empty());
        told
    });
    assert_eq!(told.await, "1-task x5 park: 5 workflow tasks in a row have failed");
}
