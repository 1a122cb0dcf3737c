//! A worker keeps the workflows that it runs: a step goes on where the last one ended, and does not
//! begin from the first event.

use std::sync::atomic::{AtomicUsize, Ordering};

use steadfast::{App, Failure, WorkflowContext};

const STEPS: usize = 300;

static BEGUN: AtomicUsize = AtomicUsize::new(0);

async fn step(number: usize) -> Result<usize, Failure> {
    Ok(number + 1)
}

async fn chain(ctx: WorkflowContext, steps: usize) -> Result<usize, Failure> {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    let mut number = 0;
    while number < steps {
        number = ctx.activity(step, number).await?;
    }
    Ok(number)
}

/// What an answer brings about is often there before the word that the answer has arrived: on two
/// threads the next task of a workflow overtakes it all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_is_run_once_from_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("chain.db").display());
    let app = App::builder(&file).workflow(chain).activity(step).start().await.unwrap();
    let handle = app.client().start(chain, STEPS).await.unwrap();
    assert_eq!(handle.result().await.unwrap(), STEPS);
    app.shutdown().await;
    assert_eq!(BEGUN.load(Ordering::Relaxed), 1, "of {STEPS} steps, so many began anew");
}
