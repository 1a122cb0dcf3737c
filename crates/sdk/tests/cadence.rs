//! Activities whose policy is said in Cadence's terms: what their failures are known by.

use steadfast::{Failure, RetryPolicy, WorkflowContext, testing::TestEnv};
use steadfast_retry::preset::cadence::{self, GENERIC, PANIC};

use crate::common::Notes;

/// Three attempts a second apart, but not for these reasons.
fn policy(reasons: &[String]) -> RetryPolicy {
    let policy = cadence::RetryPolicy {
        initial_interval: 1,
        backoff_coefficient: 1.0,
        maximum_attempts: 3,
        non_retriable_error_reasons: reasons.to_vec(),
        ..cadence::RetryPolicy::default()
    };
    policy.draft().expect("a good policy").into()
}

async fn panics(ctx: steadfast::ActivityContext, (): ()) -> Result<(), Failure> {
    ctx.state::<Notes>().expect("notes").leave("begun");
    panic!("index out of bounds")
}

async fn fails(ctx: steadfast::ActivityContext, (): ()) -> Result<(), Failure> {
    ctx.state::<Notes>().expect("notes").leave("begun");
    Err(Failure::new("plain"))
}

async fn calls_panics(ctx: WorkflowContext, reasons: Vec<String>) -> Result<(), Failure> {
    Ok(ctx.activity(panics, ()).retry(policy(&reasons)).await?)
}

async fn calls_fails(ctx: WorkflowContext, reasons: Vec<String>) -> Result<(), Failure> {
    Ok(ctx.activity(fails, ()).retry(policy(&reasons)).await?)
}

#[tokio::test]
async fn c_21_a_panic_is_known_by_one_name_and_leaves_the_worker_alive() {
    let notes = Notes::default();
    let kept = notes.clone();
    let env =
        TestEnv::start(move |app| app.workflow(calls_panics).activity(panics).state(kept.clone()));
    let env = env.await.unwrap();
    for (reasons, starts) in [(vec![PANIC.to_owned()], 1), (Vec::new(), 3)] {
        let before = notes.count("begun");
        let run = env.client().start(calls_panics, reasons).await.unwrap();
        let error = run.result().await.unwrap_err();
        assert_eq!(error.failure().unwrap().root_cause().message(), "index out of bounds");
        assert_eq!(notes.count("begun") - before, starts);
    }
}

#[tokio::test]
async fn c_22_an_error_without_a_type_is_known_by_one_name() {
    let notes = Notes::default();
    let kept = notes.clone();
    let env =
        TestEnv::start(move |app| app.workflow(calls_fails).activity(fails).state(kept.clone()));
    let env = env.await.unwrap();
    for (reasons, starts) in [(vec![GENERIC.to_owned()], 1), (vec![PANIC.to_owned()], 3)] {
        let before = notes.count("begun");
        let run = env.client().start(calls_fails, reasons).await.unwrap();
        assert!(run.result().await.is_err());
        assert_eq!(notes.count("begun") - before, starts);
    }
}
