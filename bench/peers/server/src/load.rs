//! A worker and so many clients at a time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use temporalio_client::{Client, WorkflowStartOptions};
use temporalio_sdk::{
    Runtime, Worker, WorkerOptions,
    runtime::{
        PollerBehavior,
        worker_tuner::{FixedSizeSlotSupplier, TunerHolder},
    },
};
use tokio::task::JoinSet;

use crate::workflows::{Chain, FailTwice, INPUT, One, Signalled, Work};

const QUEUE: &str = "bench";
/// Tasks that a worker may have in hand.
const SLOTS: usize = 1_000;
/// Polls that wait at the server, of each kind.
const POLLS: usize = 16;

/// What a case does.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub shape: Shape,
    /// Workflows; signals if the shape is that.
    pub count: usize,
    pub concurrency: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    One,
    /// Its unit is a step.
    Chain,
    FailTwice,
    /// Its unit is a signal; all of them go to one workflow.
    Signals,
}

/// How long each unit took.
pub type Spans = Vec<Duration>;

/// What came of a case.
#[derive(Debug)]
pub struct Ran<C> {
    pub spans: Spans,
    pub elapsed: Duration,
    /// What was counted when the load began, and when it had ended.
    pub before: C,
    pub after: C,
}

/// Runs a case beside a worker.
pub async fn run<C>(
    client: Client,
    worker_client: Client,
    case: Case,
    count: impl Fn() -> Result<C>,
) -> Result<Ran<C>> {
    let work = Work::default();
    let mut worker = worker(worker_client, work.clone())?;
    let ask_to_stop = worker.shutdown_handle();
    let driven = async {
        // The worker is at its queue, and the first pages of code are in memory.
        let warm = Case { name: "warm", shape: Shape::One, count: 8, concurrency: 8 };
        workflows(&client, warm, Shape::One).await?;
        let (before, began) = (count()?, Instant::now());
        let spans = match case.shape {
            Shape::Signals => signals(&client, case).await?,
            shape => workflows(&client, case, shape).await?,
        };
        anyhow::Ok(Ran { spans, elapsed: began.elapsed(), before, after: count()? })
    };
    let driven = async {
        let driven = driven.await;
        ask_to_stop();
        driven
    };
    let (ran, driven) = tokio::join!(worker.run(), driven);
    ran?;
    let mut driven = driven?;
    if case.shape == Shape::Chain {
        driven.spans = gaps(&work.begun)?;
    }
    Ok(driven)
}

fn worker(client: Client, work: Work) -> Result<Worker> {
    let runtime = Runtime::from_current_tokio(Default::default())?;
    let slots = || FixedSizeSlotSupplier::new(SLOTS);
    let tuner = TunerHolder::builder()
        .workflow_task_slot_supplier(slots())
        .activity_task_slot_supplier(slots())
        .local_activity_task_slot_supplier(slots())
        .nexus_task_slot_supplier(slots())
        .build();
    let options = WorkerOptions::new(QUEUE)
        .max_cached_workflows(2 * SLOTS)
        .tuner(tuner)
        .workflow_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLS))
        .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLS))
        .graceful_shutdown_period(Duration::from_millis(100))
        .register_activities(work)
        .register_workflow::<One>()?
        .register_workflow::<Chain>()?
        .register_workflow::<FailTwice>()?
        .register_workflow::<Signalled>()?
        .build();
    Ok(Worker::new(&runtime, client, options)?)
}

/// Calls for each number, so many at a time.
async fn each<F>(case: Case, call: impl Fn(usize) -> F + Clone + Send + 'static) -> Result<Spans>
where
    F: Future<Output = Result<()>> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..case.concurrency.min(case.count) {
        let (next, call) = (Arc::clone(&next), call.clone());
        callers.spawn(async move {
            let mut spans = Spans::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= case.count {
                    return anyhow::Ok(spans);
                }
                let began = Instant::now();
                call(number).await?;
                spans.push(began.elapsed());
            }
        });
    }
    let mut spans = Spans::new();
    while let Some(done) = callers.join_next().await {
        spans.extend(done??);
    }
    Ok(spans)
}

async fn workflows(client: &Client, case: Case, shape: Shape) -> Result<Spans> {
    let client = client.clone();
    each(case, move |number| one(client.clone(), shape, format!("{}-{number}", case.name))).await
}

/// One workflow, from its start to its result.
async fn one(client: Client, shape: Shape, id: String) -> Result<()> {
    let options = WorkflowStartOptions::new(QUEUE, id).build();
    let input = INPUT.to_owned();
    let result = match shape {
        Shape::One | Shape::Signals => {
            let run = client.start_workflow(One::run, input, options).await?;
            run.get_result(Default::default()).await?
        }
        Shape::Chain => {
            let run = client.start_workflow(Chain::run, input, options).await?;
            run.get_result(Default::default()).await?
        }
        Shape::FailTwice => {
            let run = client.start_workflow(FailTwice::run, input, options).await?;
            run.get_result(Default::default()).await?
        }
    };
    anyhow::ensure!(result == INPUT, "{result} is not what was sent");
    Ok(())
}

/// One workflow hears all signals.
async fn signals(client: &Client, case: Case) -> Result<Spans> {
    let options = WorkflowStartOptions::new(QUEUE, case.name).build();
    let run = Arc::new(client.start_workflow(Signalled::run, case.count, options).await?);
    let target = Arc::clone(&run);
    let spans = each(case, move |_| {
        let run = Arc::clone(&target);
        async move { Ok(run.signal(Signalled::hear, INPUT.to_owned(), Default::default()).await?) }
    })
    .await?;
    let heard = run.get_result(Default::default()).await?;
    anyhow::ensure!(heard == case.count, "{heard} signals of {} were heard", case.count);
    Ok(spans)
}

/// The time from step to step. The first step of each chain has none before it.
fn gaps(begun: &Mutex<Vec<Instant>>) -> Result<Spans> {
    let begun = begun.lock().map_err(|_| anyhow!("a step panicked"))?;
    let chains = begun.chunks(crate::workflows::STEPS);
    Ok(chains.flat_map(|chain| chain.windows(2).map(|pair| pair[1] - pair[0])).collect())
}
