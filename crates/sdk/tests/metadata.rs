//! What is recorded of retries, and what an activity writes with its result.

use std::{path::Path, time::Duration};

use serde_json::json;
use steadfast::{
    ActivityContext, App, Failure, RetryPolicy, TerminalError, WorkflowContext, rusqlite,
    testing::TestEnv,
};

use crate::common::{ALWAYS, Notes, flaky};

async fn plain(ctx: WorkflowContext, failures: u32) -> Result<String, Failure> {
    Ok(ctx.activity(flaky, failures).await?)
}

async fn env() -> TestEnv {
    TestEnv::start(|app| {
        let app = app.workflow(plain).workflow(worse).activity(flaky).activity(sinking);
        app.state(Notes::default())
    })
    .await
    .expect("it starts")
}

#[tokio::test]
async fn e_05_e_51_e_52_e_53_e_54_e_55_e_56_e_57_e_58_e_59_metadata_of_a_success() {
    let mut env = env().await;
    env.client().start(plain, 2).id("w").await.unwrap().result().await.unwrap();
    env.crash().await.unwrap();
    let outcomes = env.client().workflow::<String>("w").activities().await.unwrap();
    let told = serde_json::to_value(&outcomes[0]).unwrap();
    let keys: Vec<_> = told.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["activity_name", "result", "retry_metadata"]);
    assert_eq!((&told["activity_name"], &told["result"]), (&json!("flaky"), &json!("ok")));
    let metadata = outcomes[0].retry_metadata.clone().unwrap();
    assert_eq!((metadata.total_attempts, metadata.exhausted), (3, false));
    assert!((3000..3100).contains(&metadata.total_duration_ms), "{metadata:?}");
    assert_eq!(metadata.last_error.error_type, "ConnectionError");
    assert_eq!(metadata.last_error.message, "Network timeout");
    let attempts: Vec<u32> = metadata.errors.iter().map(|error| error.attempt).collect();
    assert_eq!(attempts, [1, 2]);
    assert!(metadata.errors.iter().all(|error| error.error_type == "ConnectionError"));
    let gap = metadata.errors[1].timestamp_ms - metadata.errors[0].timestamp_ms;
    assert!((1000..1050).contains(&gap), "{gap}");
}

#[tokio::test]
async fn e_54_metadata_of_exhaustion() {
    let env = env().await;
    let run = env.client().start(plain, ALWAYS).await.unwrap();
    run.result().await.unwrap_err();
    let metadata = run.activities().await.unwrap()[0].retry_metadata.clone().unwrap();
    assert_eq!((metadata.total_attempts, metadata.exhausted), (5, true));
    assert_eq!(metadata.errors.len(), 5);
}

#[tokio::test]
async fn e_08_no_metadata_without_a_retry() {
    let env = env().await;
    let run = env.client().start(plain, 0).await.unwrap();
    run.result().await.unwrap();
    assert_eq!(run.activities().await.unwrap()[0].retry_metadata, None);
}

#[tokio::test]
async fn e_60_activities_that_were_tried_often_are_found_over_all_workflows() {
    let env = env().await;
    for (id, failures) in [("never", 0), ("twice", 2), ("four", 4), ("always", ALWAYS)] {
        // How it ends is not the question.
        let _ = env.client().start(plain, failures).id(id).await.unwrap().result().await;
    }
    let often = env.client().activities_tried_more_often(3).await.unwrap();
    let mut found: Vec<_> =
        often.iter().map(|it| (it.workflow_id.as_str(), it.total_attempts)).collect();
    found.sort_unstable();
    assert_eq!(found, [("always", 5), ("four", 5)]);
}

async fn sinking(ctx: ActivityContext, (): ()) -> Result<(), Failure> {
    match ctx.attempt() {
        1 => Err(Failure::new("Network timeout").of_type("ConnectionError")),
        _ => Err(TerminalError::new("it has sunk").into()),
    }
}

async fn worse(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    Ok(ctx.activity(sinking, ()).await?)
}

#[tokio::test]
async fn e_109_a_terminal_error_keeps_the_errors_before_it() {
    let env = env().await;
    let run = env.client().start(worse, ()).await.unwrap();
    run.result().await.unwrap_err();
    let metadata = run.activities().await.unwrap()[0].retry_metadata.clone().unwrap();
    let types: Vec<_> = metadata.errors.iter().map(|error| error.error_type.as_str()).collect();
    assert_eq!(types, ["ConnectionError", "TerminalError"]);
}

/// Writes a row for each attempt, fails twice, then succeeds.
async fn writes(ctx: ActivityContext, order: String) -> Result<(), Failure> {
    let attempt = ctx.attempt();
    ctx.write_with_result(move |db| {
        db.execute_batch("CREATE TABLE IF NOT EXISTS rows (order_id TEXT, attempt INTEGER)")?;
        db.execute("INSERT INTO rows VALUES (?1, ?2)", (&order, attempt))?;
        Ok(())
    });
    if attempt < 3 { Err(Failure::new("not yet")) } else { Ok(()) }
}

async fn writing(ctx: WorkflowContext, order: String) -> Result<(), Failure> {
    let policy = RetryPolicy::new().initial_interval(Duration::from_millis(200));
    Ok(ctx.activity(writes, &order).retry(policy).await?)
}

/// Violates a constraint at its first attempt.
async fn clumsy(ctx: ActivityContext, (): ()) -> Result<String, Failure> {
    let name = if ctx.attempt() == 1 { None } else { Some("Ann") };
    ctx.write_with_result(move |db| {
        db.execute_batch("CREATE TABLE IF NOT EXISTS names (name TEXT NOT NULL)")?;
        db.execute("INSERT INTO names VALUES (?1)", [name])?;
        Ok(())
    });
    Ok(format!("attempt {}", ctx.attempt()))
}

async fn clumsily(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let policy = RetryPolicy::new().initial_interval(Duration::from_millis(10));
    Ok(ctx.activity(clumsy, ()).retry(policy).await?)
}

/// Writes, and gives more than fits into a history.
async fn verbose(ctx: ActivityContext, (): ()) -> Result<String, Failure> {
    ctx.write_with_result(|db| Ok(db.execute_batch("CREATE TABLE written (x)")?));
    Ok("x".repeat(3_000_000))
}

async fn verbosely(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    Ok(ctx.activity(verbose, ()).await?)
}

async fn on_file(path: &Path) -> App {
    App::builder(format!("sqlite:{}", path.display()))
        .workflow(writing)
        .workflow(clumsily)
        .workflow(verbosely)
        .activity(writes)
        .activity(clumsy)
        .activity(verbose)
        .start()
        .await
        .expect("it starts")
}

fn rows(path: &Path) -> Vec<(String, u32)> {
    let db = rusqlite::Connection::open(path).expect("it works");
    let mut rows = db.prepare("SELECT order_id, attempt FROM rows").expect("it works");
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("it works")
        .map(Result::unwrap)
        .collect()
}

/// On the real clock: what is looked at is a file.
#[tokio::test]
async fn e_10_e_11_e_12_an_attempt_writes_with_its_result_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.db");
    let app = on_file(&path).await;
    let run = app.client().start(writing, "order 17").await.unwrap();
    // During the backoff no transaction is open: somebody else can write to the same file.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.busy_timeout(Duration::from_millis(100)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; CREATE TABLE others (x); COMMIT").unwrap();
    run.result().await.unwrap();
    assert_eq!(rows(&path), [("order 17".to_owned(), 3)]);
    app.abandon();
    assert_eq!(rows(&path), [("order 17".to_owned(), 3)]);
}

#[tokio::test]
async fn what_cannot_be_written_is_the_attempts_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.db");
    let app = on_file(&path).await;
    let run = app.client().start(clumsily, ()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "attempt 2");
    let metadata = run.activities().await.unwrap()[0].retry_metadata.clone().unwrap();
    assert_eq!(metadata.last_error.error_type, "WriteError");
    assert!(metadata.last_error.message.contains("NOT NULL"), "{metadata:?}");
    app.shutdown().await;
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_at_once_and_nothing_is_written_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.db");
    let app = on_file(&path).await;
    let failed = app.client().start(verbosely, ()).await.unwrap().result().await.unwrap_err();
    let told = failed.to_string();
    assert!(told.contains("result has 3000") && told.contains("at most 2097152"), "{told}");
    let db = rusqlite::Connection::open(&path).unwrap();
    assert!(!db.table_exists(None, "written").unwrap());
    app.shutdown().await;
}

/// Fails with how many failures it knows of, twice.
async fn remembering(ctx: ActivityContext, (): ()) -> Result<Vec<String>, Failure> {
    let known = ctx.previous_failures().await.map_err(|error| Failure::new(error.to_string()))?;
    let told = known.iter().map(|it| format!("{}: {}", it.attempt, it.message)).collect();
    if ctx.attempt() < 3 {
        return Err(Failure::new(format!("{} before", known.len())));
    }
    Ok(told)
}

async fn asking(ctx: WorkflowContext, (): ()) -> Result<Vec<String>, Failure> {
    Ok(ctx.activity(remembering, ()).await?)
}

#[tokio::test]
async fn an_attempt_knows_what_those_before_it_failed_with() {
    let env = TestEnv::start(|app| app.workflow(asking).activity(remembering)).await.unwrap();
    let known = env.client().start(asking, ()).await.unwrap().result().await.unwrap();
    assert_eq!(known, ["1: 0 before", "2: 1 before"]);
}
