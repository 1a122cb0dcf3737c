//! duroxide on a file: its own runtime, provider and client, used as its examples do.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use duroxide::{
    ActivityContext, BackoffStrategy, Client, OrchestrationContext, OrchestrationRegistry,
    OrchestrationStatus, RetryPolicy,
    providers::sqlite::SqliteProvider,
    runtime::{Runtime, RuntimeOptions, registry::ActivityRegistry},
};

use crate::{Case, large, usage};

const INPUT: &str = r#"{"order":"4711","amount":1250}"#;
const STEPS: usize = 100;
const WIDTH: usize = 20;
/// Activities of a workflow in the stress test, and how long each takes.
const TASKS: usize = 5;
const TASK: Duration = Duration::from_millis(10);
/// The provider's pool has this many connections.
const CONNECTIONS: usize = 5;

/// How the runtime is set up.
#[derive(Clone, Copy, Debug)]
pub enum Tuning {
    /// As it comes.
    Default,
    /// As its documents advise: the dispatchers of "Full Production Configuration" in its
    /// observability guide, and the poll interval that its provider guide gives for local SQLite.
    Tuned,
}

/// A runtime on a file.
pub struct System {
    runtime: Arc<Runtime>,
    provider: Arc<SqliteProvider>,
    name: &'static str,
    /// When each activity of a chain was begun.
    received: Arc<Mutex<Vec<Instant>>>,
}

impl System {
    pub async fn open(folder: &Path, sync: &str, tuning: Tuning) -> Result<Self> {
        let file = folder.join("peer.db");
        std::fs::File::create(&file)?;
        let url = format!("sqlite:{}", file.display());
        let provider = Arc::new(SqliteProvider::new(&url, None).await?);
        set_synchronous(&provider, sync).await?;
        let received = Arc::<Mutex<Vec<Instant>>>::default();
        let (name, options) = match tuning {
            Tuning::Default => ("duroxide", RuntimeOptions::default()),
            Tuning::Tuned => ("duroxide-tuned", tuned()),
        };
        let store = Arc::clone(&provider);
        let activities = activities(&received);
        let runtime =
            Runtime::start_with_options(store, activities, orchestrations(), options).await;
        Ok(Self { runtime, provider, name, received })
    }

    /// Runs a case and tells what it found, as one JSON object.
    pub async fn run(&self, case: Case, sync: &str) -> Result<serde_json::Value> {
        usage::reset_peak();
        let (began, cpu) = (Instant::now(), usage::cpu());
        let mut spans = self.run_all(case).await?;
        let elapsed = began.elapsed().as_secs_f64();
        let cpu = (usage::cpu() - cpu).as_secs_f64() * 1e3;
        // Under load it gives some workflows up with "database is locked"; those count as failed.
        let failed = case.workflows - spans.len();
        let mut units = spans.len();
        if case.by_step {
            units *= STEPS;
            spans = self.gaps();
        }
        Ok(serde_json::json!({
            "case": case.name,
            "system": self.name,
            "sync": sync,
            "throughput_per_s": units as f64 / elapsed,
            "p50_ms": usage::percentile_ms(&mut spans, 50),
            "p99_ms": usage::percentile_ms(&mut spans, 99),
            "cpu_ms_per_workflow": cpu / case.workflows as f64,
            "fsyncs_per_step": null,
            "rss_mib": usage::peak_rss_mib(),
            "failed": failed,
        }))
    }

    pub async fn close(self) {
        self.runtime.shutdown(Some(100)).await;
    }

    async fn run_all(&self, case: Case) -> Result<Vec<Duration>> {
        let client = Arc::new(Client::new(self.provider.clone()));
        let next = Arc::new(AtomicUsize::new(0));
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..case.concurrency.min(case.workflows) {
            let (client, next) = (Arc::clone(&client), Arc::clone(&next));
            clients.spawn(async move {
                let mut spans = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= case.workflows {
                        return Ok::<_, anyhow::Error>(spans);
                    }
                    spans.extend(one(&client, case, number).await?);
                }
            });
        }
        let mut spans = Vec::new();
        while let Some(done) = clients.join_next().await {
            spans.extend(done??);
        }
        Ok(spans)
    }

    fn gaps(&self) -> Vec<Duration> {
        let times = self.received.lock().expect("nobody panics with it");
        let chains = times.chunks(STEPS);
        chains.flat_map(|chain| chain.windows(2).map(|pair| pair[1] - pair[0])).collect()
    }
}

/// How long one workflow took; `None` if it failed.
async fn one(client: &Client, case: Case, number: usize) -> Result<Option<Duration>> {
    let began = Instant::now();
    let id = format!("order-{number}");
    client.start_orchestration(&id, case.orchestration, INPUT).await.map_err(other)?;
    let ended =
        client.wait_for_orchestration(&id, Duration::from_secs(600)).await.map_err(other)?;
    let completed = matches!(ended, OrchestrationStatus::Completed { .. });
    Ok(completed.then(|| began.elapsed()))
}

fn tuned() -> RuntimeOptions {
    RuntimeOptions {
        orchestration_concurrency: 4,
        worker_concurrency: 8,
        dispatcher_min_poll_interval: Duration::from_millis(10),
        ..RuntimeOptions::default()
    }
}

/// The provider has no option for it, so all connections of its pool are told.
async fn set_synchronous(provider: &SqliteProvider, sync: &str) -> Result<()> {
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = provider.get_pool().acquire().await?;
        let sql = format!("PRAGMA synchronous = {sync}");
        sqlx::query(&sql).execute(&mut *connection).await?;
        let level: i64 =
            sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *connection).await?;
        ensure!(level == if sync == "full" { 2 } else { 1 }, "synchronous is {level}");
        held.push(connection);
    }
    Ok(())
}

fn activities(received: &Arc<Mutex<Vec<Instant>>>) -> ActivityRegistry {
    let received = Arc::clone(received);
    let attempts = Arc::new(Mutex::new(std::collections::HashMap::<String, usize>::new()));
    large::activities(ActivityRegistry::builder())
        .register("Charge", |_: ActivityContext, input: String| async move { Ok(input) })
        .register("Slow", |_: ActivityContext, input: String| async move {
            tokio::time::sleep(TASK).await;
            Ok(input)
        })
        .register("Step", move |_: ActivityContext, input: String| {
            received.lock().expect("nobody panics with it").push(Instant::now());
            async move { Ok(input) }
        })
        .register("Flaky", move |context: ActivityContext, input: String| {
            let id = context.instance_id().to_owned();
            let mut attempts = attempts.lock().expect("nobody panics with it");
            let attempt = attempts.entry(id).or_default();
            *attempt += 1;
            let fails = *attempt <= 2;
            async move { if fails { Err("the card was declined".to_owned()) } else { Ok(input) } }
        })
        .build()
}

fn orchestrations() -> OrchestrationRegistry {
    large::orchestrations(OrchestrationRegistry::builder())
        .register("One", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Charge", input).await
        })
        .register("Chain", |ctx: OrchestrationContext, input: String| async move {
            let mut last = input;
            for _ in 0..STEPS {
                last = ctx.schedule_activity("Step", last).await?;
            }
            Ok(last)
        })
        .register("FanOut", |ctx: OrchestrationContext, input: String| async move {
            let all = (0..WIDTH).map(|_| ctx.schedule_activity("Charge", input.clone()));
            let done = ctx.join(all.collect()).await;
            done.into_iter().collect::<Result<Vec<_>, _>>().map(|all| all.concat())
        })
        .register("Stress", |ctx: OrchestrationContext, input: String| async move {
            let all = (0..TASKS).map(|_| ctx.schedule_activity("Slow", input.clone()));
            let done = ctx.join(all.collect()).await;
            done.into_iter().collect::<Result<Vec<_>, _>>().map(|all| all.concat())
        })
        .register("FailTwice", |ctx: OrchestrationContext, input: String| async move {
            let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::None);
            ctx.schedule_activity_with_retry("Flaky", input, policy).await
        })
        .build()
}

fn other(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}
