//! What the stories are told with: an activity that fails, a call with retry, and what became of it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use steadfast::{
    AppBuilder,
    orchestration::{
        ActivityContext, ActivityRegistry, Client, Event, EventKind, OrchestrationContext,
        OrchestrationRegistry, OrchestrationStatus, RetryPlan,
    },
    proto::history::HistoryEvent,
    testing::TestEnv,
};

/// More than any story takes.
pub(crate) const LONG: Duration = Duration::from_secs(24 * 60 * 60);
/// An activity that never succeeds.
pub(crate) const ALWAYS: u32 = u32::MAX;
/// The instance that stories are about.
pub(crate) const ONE: &str = "one";

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Takes its time.
pub(crate) async fn nap(span: Duration) {
    #[expect(clippy::disallowed_methods, reason = "what an activity does takes time")]
    tokio::time::sleep(span).await;
}

/// An activity whose first calls fail, with `e1`, `e2`, …, and whose others succeed with `ok`. A call
/// that is made again because a process died over it is the same call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flaky {
    fails: u32,
    takes: Duration,
    begun: Arc<AtomicU32>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Flaky {
    pub(crate) fn failing(fails: u32) -> Self {
        Self { fails, ..Self::default() }
    }

    /// Each attempt takes so long.
    pub(crate) fn taking(self, takes: Duration) -> Self {
        Self { takes, ..self }
    }

    /// How often it was begun.
    pub(crate) fn begun(&self) -> u32 {
        self.begun.load(Ordering::SeqCst)
    }

    /// How many calls came to their end.
    pub(crate) fn done(&self) -> usize {
        self.calls.lock().expect("nobody panicked with it").len()
    }

    pub(crate) async fn run(self, ctx: ActivityContext) -> Result<String, String> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        if !self.takes.is_zero() {
            nap(self.takes).await;
        }
        let number = self.number(ctx.idempotency_key());
        let fails = usize::try_from(self.fails).expect("it fits");
        if number <= fails { Err(format!("e{number}")) } else { Ok("ok".to_owned()) }
    }

    /// Which call this is, from 1.
    fn number(&self, key: String) -> usize {
        let mut calls = self.calls.lock().expect("nobody panicked with it");
        let known = calls.iter().position(|call| *call == key);
        let index = known.unwrap_or_else(|| {
            calls.push(key);
            calls.len() - 1
        });
        index + 1
    }

    /// As the activity `Flaky`.
    pub(crate) fn registered(&self) -> ActivityRegistry {
        let flaky = self.clone();
        let run = move |ctx: ActivityContext, _: String| flaky.clone().run(ctx);
        ActivityRegistry::builder().register("Flaky", run).build()
    }
}

/// The orchestration `Retry`, which calls `Flaky` by a plan.
pub(crate) fn retrying(plan: impl Into<RetryPlan>) -> OrchestrationRegistry {
    let plan = plan.into();
    let retry = move |ctx: OrchestrationContext, input: String| {
        let plan = plan.clone();
        async move { ctx.schedule_activity_with_retry("Flaky", input, plan).await }
    };
    OrchestrationRegistry::builder().register("Retry", retry).build()
}

/// A program under test.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) env: TestEnv,
    pub(crate) orchestrations: OrchestrationRegistry,
}

impl Stage {
    pub(crate) async fn new(
        activities: &ActivityRegistry,
        orchestrations: OrchestrationRegistry,
    ) -> Self {
        Self::built(activities, orchestrations, |app| app).await
    }

    pub(crate) async fn built(
        activities: &ActivityRegistry,
        orchestrations: OrchestrationRegistry,
        build: impl Fn(AppBuilder) -> AppBuilder + 'static,
    ) -> Self {
        let (ours, theirs) = (orchestrations.clone(), activities.clone());
        let env = TestEnv::start(move |app| build(app).orchestrations(&theirs, &ours));
        Self { env: env.await.expect("it starts"), orchestrations }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.env.client().clone())
    }

    pub(crate) async fn start(&self, orchestration: &str, input: &str) {
        self.client().start_orchestration(ONE, orchestration, input).await.expect("it starts");
    }

    /// How the instance ended.
    pub(crate) async fn result(&self) -> Result<String, String> {
        self.result_of(ONE).await
    }

    pub(crate) async fn result_of(&self, instance: &str) -> Result<String, String> {
        let ended = self.client().wait_for_orchestration(instance, LONG).await;
        let status = ended.expect("it ends");
        if let OrchestrationStatus::Completed { output } = status {
            return Ok(output);
        }
        let OrchestrationStatus::Failed { details } = status else {
            panic!("{instance} has not ended: {status:?}")
        };
        Err(details.to_string())
    }

    pub(crate) async fn events(&self, execution: u64) -> Vec<Event> {
        self.client().read_execution_history(ONE, execution).await.expect("a history")
    }

    pub(crate) async fn raw(&self, execution: u64) -> Vec<HistoryEvent> {
        self.client().read_raw_history(ONE, execution).await.expect("a history")
    }

    /// Replays all executions of the instance.
    pub(crate) async fn replays(&self) {
        for execution in self.client().list_executions(ONE).await.expect("an instance") {
            let history = self.raw(execution).await;
            self.orchestrations.replayer().replay(history).expect("it replays");
        }
    }
}

/// What became of a call with retry.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) result: Result<String, String>,
    pub(crate) events: Vec<Event>,
    pub(crate) raw: Vec<HistoryEvent>,
    pub(crate) took: Duration,
}

/// Calls `Flaky` by a plan. Its history is replayed, too.
pub(crate) async fn retried(flaky: &Flaky, plan: impl Into<RetryPlan>) -> Told {
    retried_with_crashes(flaky, plan, &[]).await
}

/// The same, with the plug pulled after each of these spans.
pub(crate) async fn retried_with_crashes(
    flaky: &Flaky,
    plan: impl Into<RetryPlan>,
    crashes: &[Duration],
) -> Told {
    let mut stage = Stage::new(&flaky.registered(), retrying(plan)).await;
    stage.start("Retry", "x").await;
    for span in crashes {
        stage.env.wait(*span).await;
        stage.env.crash().await.expect("it starts again");
    }
    let result = stage.result().await;
    let took = stage.env.elapsed();
    stage.replays().await;
    Told { result, events: stage.events(1).await, raw: stage.raw(1).await, took }
}

impl Told {
    /// How many events of this name there are.
    pub(crate) fn count(&self, name: &str) -> usize {
        count(&self.events, name)
    }

    /// How long the timers are, in milliseconds.
    pub(crate) fn timers(&self) -> Vec<u64> {
        timers(&self.events)
    }
}

pub(crate) fn count(events: &[Event], name: &str) -> usize {
    events.iter().filter(|event| event.kind.name() == name).count()
}

pub(crate) fn timers(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(length).collect()
}

/// How long a timer is, in milliseconds, if this is the start of one.
fn length(event: &Event) -> Option<u64> {
    let EventKind::TimerCreated { fire_at_ms } = event.kind else { return None };
    Some(fire_at_ms - event.timestamp_ms)
}

/// The names of the events, in order.
pub(crate) fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.name()).collect()
}

/// The events, a line each, with the times of timers told from when they were made.
pub(crate) fn listing(events: &[Event]) -> String {
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(event: &Event) -> String {
    let id = event.event_id;
    if let Some(span) = length(event) {
        return format!("[{id}] TimerCreated {{ fire_at_ms: now+{span} }}");
    }
    if let EventKind::TimerFired { .. } = event.kind {
        let source = event.source_event_id.expect("a timer that was made");
        return format!("[{id}] TimerFired {{ source_event_id: {source} }}");
    }
    event.to_string()
}
