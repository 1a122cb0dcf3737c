//! Activities that write tables of their own in the transaction that records their result.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use steadfast_engine::{AsideError, Code};
use steadfast_proto::{
    enums::{self, UpdateWorkflowExecutionLifecycleStage as Stage},
    workflowservice as ws,
};
use steadfast_store::Aside;

use crate::{
    common::{
        Base, Fault, NAMESPACE, QUEUE, Rig, activity,
        calls::{Work, activity_poll},
        complete, payloads, retried, survives_on,
    },
    updates,
};

/// Completes an activity, with something that is written with it.
async fn complete_with(rig: &Rig, work: &Work, aside: Aside) -> Result<(), AsideError> {
    rig.point().await;
    let request = ws::RespondActivityTaskCompletedRequest {
        task_token: work.task_token.clone(),
        result: Some(payloads("paid")),
        identity: "worker".to_owned(),
        namespace: NAMESPACE.to_owned(),
        ..ws::RespondActivityTaskCompletedRequest::default()
    };
    rig.engine().respond_activity_task_completed_with(request, aside).await.map(drop)
}

/// Writes a number, and then fails if it is told to.
fn note(number: i32, fails: bool) -> Aside {
    Aside::new(move |db| {
        db.execute("INSERT INTO notes VALUES (?1)", [number])?;
        if fails { Err("no network".into()) } else { Ok(()) }
    })
}

fn make_table(rig: &Rig) {
    let sql = "CREATE TABLE IF NOT EXISTS notes (number INTEGER NOT NULL)";
    rig.connect().execute_batch(sql).expect("a table");
}

fn notes(rig: &Rig) -> Vec<i32> {
    let db = rig.connect();
    let mut select = db.prepare("SELECT number FROM notes ORDER BY rowid").expect("a table");
    let rows = select.query_map((), |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("numbers")
}

fn reason(told: Result<(), AsideError>) -> String {
    match told.expect_err("it fails") {
        AsideError::Failed { reason } => reason,
        other @ (AsideError::Engine(_) | _) => panic!("not the aside's own failure: {other}"),
    }
}

async fn file() -> Rig {
    let rig = Rig::on(Base::sqlite()).await;
    make_table(&rig);
    rig
}

#[tokio::test(start_paused = true)]
async fn e_10_e_12_each_attempt_is_its_own_transaction_and_a_failed_one_leaves_nothing() {
    let told = survives_on(&[Base::sqlite], async |rig: &Rig| {
        make_table(rig);
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 2.0, 0)]).await;
        for attempt in 1..=2 {
            let work = rig.next_activity().await;
            let failed = complete_with(rig, &work, note(attempt, true)).await;
            assert_eq!(reason(failed), "no network");
            assert_eq!(notes(rig), [0; 0]);
            rig.fail_activity(&work, "no network").await.expect("it is still under way");
        }
        let work = rig.next_activity().await;
        complete_with(rig, &work, note(work.attempt, false)).await.expect("written");
        rig.step(vec![complete("done")]).await;
        let text = rig.text("order-1", "").await;
        assert!(text.contains("ActivityTaskStarted #5 attempt=3"), "{text}");
        format!("{:?} after {} s", notes(rig), rig.elapsed())
    });
    assert_eq!(told.await, "[3] after 3 s");
}

#[tokio::test(start_paused = true)]
async fn e_11_no_transaction_is_open_while_a_retry_is_waited_for() {
    let rig = file().await;
    rig.start("order-1").await;
    rig.step(vec![retried("a", 60, 1.0, 0)]).await;
    let work = rig.next_activity().await;
    reason(complete_with(&rig, &work, note(1, true)).await);
    rig.fail_activity(&work, "no network").await.expect("taken");
    let other = rig.connect();
    other.busy_timeout(Duration::from_millis(100)).expect("set");
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO notes VALUES (7); COMMIT").expect("its turn");
    assert_eq!(notes(&rig), [7]);
}

#[tokio::test(start_paused = true)]
async fn e_106_an_aside_whose_commit_is_tried_again_is_there_once() {
    let faults = [Fault::Busy, Fault::Full, Fault::LostBefore, Fault::LostAfter];
    for fault in faults {
        let rig = file().await;
        rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        let work = rig.next_activity().await;
        rig.store().fail_commits([fault, fault]);
        let runs = Arc::new(AtomicU32::new(0));
        let aside = {
            let runs = Arc::clone(&runs);
            Aside::new(move |db| {
                runs.fetch_add(1, Ordering::SeqCst);
                db.execute("INSERT INTO notes VALUES (1)", ())?;
                Ok(())
            })
        };
        complete_with(&rig, &work, aside).await.expect("written in the end");
        assert_eq!(notes(&rig), [1], "{fault:?}");
        assert_eq!(runs.load(Ordering::SeqCst), 1, "{fault:?}");
        rig.step(vec![complete("done")]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_came_leaves_both_or_neither_behind() {
    for (fault, written) in [(Fault::LostBefore, false), (Fault::LostAfter, true)] {
        let rig = file().await;
        rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        let work = rig.next_activity().await;
        rig.store().fail_commits([fault]);
        tokio::select! {
            biased;
            told = complete_with(&rig, &work, note(1, false)) => panic!("too early: {told:?}"),
            () = rig.settle() => {}
        }
        // The commit was not heard of, and now the plug is pulled.
        rig.crash().await;
        let is_done = rig.text("order-1", "").await.contains("ActivityTaskCompleted");
        assert_eq!((is_done, notes(&rig).len()), (written, usize::from(written)), "{fault:?}");
        let again = complete_with(&rig, &work, note(1, false)).await;
        assert_eq!(again.is_ok(), !written, "{again:?}");
        assert_eq!(notes(&rig), [1]);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_harms_nobody_else() {
    let rig = file().await;
    let mut works = Vec::new();
    for id in ["order-1", "order-2"] {
        rig.start(id).await;
        rig.step(vec![activity("a"), activity("b")]).await;
        works.push((rig.next_activity().await, rig.next_activity().await));
    }
    let (one, two) = (&works[0], &works[1]);
    let outcome = tokio::join!(
        rig.complete_activity(&one.0, "plain"),
        complete_with(&rig, &one.1, note(1, true)),
        rig.signal("order-1", "hello"),
        complete_with(&rig, &two.0, note(2, false)),
        complete_with(&rig, &two.1, note(3, false)),
        rig.describe("order-1"),
    );
    outcome.0.expect("taken");
    assert_eq!(reason(outcome.1), "no network");
    outcome.2.expect("taken");
    outcome.3.expect("written");
    outcome.4.expect("written");
    outcome.5.expect("a run");
    assert_eq!(notes(&rig), [2, 3]);
    complete_with(&rig, &one.1, note(4, false)).await.expect("written");
    rig.step(vec![complete("done")]).await;
    rig.step(vec![complete("done")]).await;
    let text = rig.text("order-1", "").await;
    assert_eq!(text.matches("ActivityTaskCompleted").count(), 2, "{text}");
    assert!(text.contains("WorkflowExecutionSignaled hello"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_run_goes_on_waiting_when_an_aside_fails() {
    let rig = file().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    let waiting = rig.history_page("order-1", |it| {
        it.wait_new_event = true;
        it.history_event_filter_type = enums::HistoryEventFilterType::CloseEvent.into();
    });
    let working = async {
        rig.settle().await;
        reason(complete_with(&rig, &work, note(1, true)).await);
        complete_with(&rig, &work, note(2, false)).await.expect("written");
        rig.step(vec![complete("done")]).await;
    };
    let (page, ()) = tokio::join!(waiting, working);
    let events = page.expect("a page").history.expect("a history").events;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].event_type(), enums::EventType::WorkflowExecutionCompleted);
}

#[tokio::test(start_paused = true)]
async fn what_the_database_refuses_at_the_very_end_is_the_asides_failure_too() {
    let rig = file().await;
    let tables = "CREATE TABLE parents (id INTEGER PRIMARY KEY);
        CREATE TABLE children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED)";
    rig.connect().execute_batch(tables).expect("tables");
    for id in ["order-1", "order-2"] {
        rig.start(id).await;
        rig.step(vec![activity("a")]).await;
    }
    let (one, two) = (rig.next_activity().await, rig.next_activity().await);
    let orphan = Aside::new(|db| {
        db.execute("INSERT INTO children VALUES (7)", ())?;
        Ok(())
    });
    let (failed, written) =
        tokio::join!(complete_with(&rig, &one, orphan), complete_with(&rig, &two, note(2, false)));
    assert!(reason(failed).contains("FOREIGN KEY constraint failed"));
    written.expect("the other one is written");
    assert_eq!(notes(&rig), [2]);
    rig.fail_activity(&one, "no parent").await.expect("it is still under way");
}

#[tokio::test(start_paused = true)]
async fn an_aside_is_not_run_for_an_attempt_that_is_over() {
    let rig = file().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    complete_with(&rig, &work, note(1, false)).await.expect("written");
    let told = complete_with(&rig, &work, note(2, false)).await.expect_err("it is over");
    let AsideError::Engine(error) = told else { panic!("not the aside's failure: {told}") };
    assert_eq!(error.code, Code::NotFound);
    assert_eq!(notes(&rig), [1]);
}

#[tokio::test(start_paused = true)]
async fn steadfasts_own_tables_are_not_an_asides_to_write() {
    let rig = file().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    let evil = Aside::new(|db| Ok(db.execute_batch("DELETE FROM runs")?));
    let reason = reason(complete_with(&rig, &work, evil).await);
    assert!(reason.contains("the table runs is Steadfast's own"), "{reason}");
    complete_with(&rig, &work, note(1, false)).await.expect("written");
    rig.step(vec![complete("done")]).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_in_memory_has_no_tables() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    let told = reason(complete_with(&rig, &work, note(1, false)).await);
    assert_eq!(told, "a store in memory has no tables to write; open one in a SQLite file");
    rig.complete_activity(&work, "ok").await.expect("it is still under way");
    rig.step_on(QUEUE, vec![complete("done")]).await;
}

/// Numbers that look as if they were drawn.
struct Chance(u64);

impl Chance {
    /// Whether something happens that happens once in `n` times.
    fn one_in(&mut self, n: u64) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33).is_multiple_of(n)
    }
}

const ORDERS: usize = 5;
const EACH: usize = 4;

/// One note for each activity that is completed in the histories, and none for the others.
async fn compare(rig: &Rig, seed: u64) -> usize {
    let mut completed = Vec::new();
    for order in 0..ORDERS {
        let text = rig.text(&format!("order-{order}"), "").await;
        completed.push(text.matches("ActivityTaskCompleted").count());
    }
    let mut found = notes(rig);
    let all = found.len();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), all, "one is there twice, with seed {seed}: {found:?}");
    assert_eq!(completed.iter().sum::<usize>(), all, "with seed {seed}: {completed:?} {found:?}");
    all
}

/// Which note an activity writes.
fn number_of(work: &Work) -> i32 {
    let order = &work.workflow_execution.as_ref().expect("a run").workflow_id;
    let digit = |name: &str| name.chars().find_map(|it| it.to_digit(10)).expect("a digit");
    i32::try_from(digit(order) * 10 + digit(&work.activity_id)).expect("small")
}

/// Answers an activity, perhaps with an aside that fails.
async fn answer(rig: &Rig, work: &Work, fails: bool) {
    if work.task_token.is_empty() {
        return;
    }
    match complete_with(rig, work, note(number_of(work), fails)).await {
        Ok(()) => assert!(!fails, "it was to fail"),
        Err(AsideError::Failed { reason }) => {
            assert_eq!((fails, reason.as_str()), (true, "no network"));
            rig.fail_activity(work, "no network").await.expect("it is still under way");
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn e_10_whatever_fails_or_dies_in_between_what_is_completed_is_written_once() {
    for seed in 1..=12 {
        let mut chance = Chance(seed);
        let rig = file().await;
        for order in 0..ORDERS {
            rig.start(&format!("order-{order}")).await;
            let commands = (0..EACH).map(|n| retried(&format!("a{n}"), 1, 1.0, 0));
            rig.step(commands.collect()).await;
        }
        for _ in 0..2_000 {
            let engine = rig.engine().within(Duration::from_secs(10));
            let poll = || engine.poll_activity_task_queue(activity_poll(QUEUE));
            let (one, two, three) = tokio::join!(poll(), poll(), poll());
            let works = [one, two, three].map(|work| work.expect("a poll"));
            if chance.one_in(3) {
                let faults = [Fault::Busy, Fault::LostBefore, Fault::LostAfter];
                let faults = faults.into_iter().filter(|_| chance.one_in(2));
                rig.store().fail_commits(faults.collect::<Vec<_>>());
            }
            let fails = [0; 3].map(|_| chance.one_in(3));
            let answers = async {
                tokio::join!(
                    answer(&rig, &works[0], fails[0]),
                    answer(&rig, &works[1], fails[1]),
                    answer(&rig, &works[2], fails[2]),
                )
            };
            if chance.one_in(4) {
                let turns = if chance.one_in(2) { 3 } else { 12 };
                tokio::select! {
                    biased;
                    _ = answers => {}
                    () = async { for _ in 0..turns { tokio::task::yield_now().await } } => {}
                }
                rig.crash().await;
            } else {
                answers.await;
            }
            if compare(&rig, seed).await == ORDERS * EACH {
                break;
            }
        }
        assert_eq!(compare(&rig, seed).await, ORDERS * EACH, "with seed {seed}");
    }
}

/// What is written while a worker has a workflow task shows in no event yet.
#[tokio::test(start_paused = true)]
async fn who_waits_for_an_update_goes_on_waiting_when_something_is_written() {
    let rig = file().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    updates::accept_update(&rig, "u-1").await;
    let worker = async {
        rig.signal("order-1", "go").await.expect("taken");
        let task = rig.next_task(QUEUE).await;
        complete_with(&rig, &work, note(1, false)).await.expect("written");
        rig.settle().await;
        updates::say(&rig, &task, vec![updates::done("u-1", "paid")], vec![]).await;
    };
    let (updated, ()) = tokio::join!(rig.update("order-1", "u-1", Stage::Completed), worker);
    assert_eq!(updates::success(updated.expect("an outcome").outcome), "\"paid\"");
    assert_eq!(notes(&rig), [1]);
}
