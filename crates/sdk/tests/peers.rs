//! Faults of peers that a user of ours must never meet.

use std::time::Duration;

use proptest::prelude::*;
use steadfast::{
    ActivityContext, App, Failure, Replayer, WorkflowContext, WorkflowError, testing::TestEnv,
};

use crate::common::Notes;

async fn panics(_: String) -> Result<String, Failure> {
    panic!("the cat is on the keyboard")
}

async fn calls_it(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let policy = steadfast::RetryPolicy::new().max_attempts(2);
    Ok(ctx.activity(panics, "x").retry(policy).await?)
}

#[tokio::test]
async fn p_17_a_panic_is_a_failure_with_stable_words() {
    let env = TestEnv::start(|app| app.workflow(calls_it).activity(panics)).await.unwrap();
    for _ in 0..2 {
        let run = env.client().start(calls_it, ()).await.unwrap();
        let error = run.result().await.unwrap_err();
        let cause = error.failure().unwrap().root_cause();
        assert_eq!(
            (cause.error_type(), cause.message()),
            ("PanicError", "the cat is on the keyboard")
        );
    }
}

async fn slow(ctx: ActivityContext, (): ()) -> Result<(), Failure> {
    let notes = ctx.state::<Notes>().expect("it works");
    notes.leave("begun");
    ctx.cancelled().await;
    notes.leave("cancelled");
    ctx.check()?;
    Ok(())
}

async fn impatient(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    let waited = steadfast::select! {
        done = ctx.activity(slow, ()) => { done?; "done" },
        late = ctx.sleep(Duration::from_secs(5)) => { late?; "late" },
    };
    // It goes on: the slot must be free although the workflow is not closed.
    ctx.sleep(Duration::from_secs(60)).await?;
    if waited == "late" { Ok(()) } else { Err(Failure::new(waited)) }
}

#[tokio::test]
async fn p_12_a_cancellation_reaches_an_activity_that_does_not_heartbeat() {
    let notes = Notes::default();
    let kept = notes.clone();
    let env = TestEnv::start(move |app| app.workflow(impatient).activity(slow).state(kept.clone()))
        .await
        .unwrap();
    env.client().start(impatient, ()).await.unwrap().result().await.unwrap();
    assert_eq!(notes.all(), ["begun", "cancelled"]);
    assert!((5.0..6.0).contains(&notes.seconds()[1]), "{:?}", notes.seconds());
}

async fn votes(ctx: WorkflowContext, (): ()) -> Result<(u32, u32), Failure> {
    let mut signals = ctx.signals::<u32>("vote");
    let (mut good, mut bad) = (0, 0);
    while good < 150 {
        match signals.receive().await {
            Ok(_) => good += 1,
            Err(_) => bad += 1,
        }
    }
    Ok((good, bad))
}

#[tokio::test]
async fn p_19_a_signal_that_does_not_parse_is_an_error_that_code_can_handle() {
    let env = TestEnv::start(|app| app.workflow(votes)).await.unwrap();
    let run = env.client().start(votes, ()).await.unwrap();
    run.signal("vote", &"not a number").await.unwrap();
    for number in 0..150 {
        run.signal("vote", &number).await.unwrap();
    }
    assert_eq!(run.result().await.unwrap(), (150, 1));
}

#[tokio::test]
async fn p_23_signals_before_anybody_reads_are_kept_and_to_nobody_an_error() {
    async fn late(ctx: WorkflowContext, (): ()) -> Result<(u32, u32), Failure> {
        ctx.sleep(Duration::from_secs(60)).await?;
        votes(ctx, ()).await
    }
    let mut env = TestEnv::start(|app| app.workflow(late)).await.unwrap();
    let nobody = env.client().workflow::<()>("nobody").signal("vote", &1).await.unwrap_err();
    assert!(matches!(nobody, steadfast::ClientError::NotFound(_)), "{nobody}");
    let run = env.client().start(late, ()).id("w").await.unwrap();
    for number in 0..150 {
        run.signal("vote", &number).await.unwrap();
    }
    env.crash().await.unwrap();
    let run = env.client().workflow::<(u32, u32)>("w");
    assert_eq!(run.result().await.unwrap(), (150, 0));
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
enum Value {
    Unit,
    Text(String),
    Maybe(Option<String>),
    Number(i64),
    Big(u64),
    Real(f64),
    List(Vec<Self>),
    Map(std::collections::BTreeMap<String, Self>),
    Fields { flag: bool, inner: Option<Box<Self>> },
}

fn value() -> impl Strategy<Value = Value> {
    let awkward = prop_oneof![
        Just("\"quoted\"".to_owned()),
        Just("null".to_owned()),
        Just("123".to_owned()),
        Just("{}".to_owned()),
        ".*",
    ];
    let leaf = prop_oneof![
        Just(Value::Unit),
        awkward.clone().prop_map(Value::Text),
        prop::option::of(awkward.clone()).prop_map(Value::Maybe),
        any::<i64>().prop_map(Value::Number),
        any::<u64>().prop_map(Value::Big),
        (-1e300..1e300).prop_map(Value::Real),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(awkward.clone(), inner.clone(), 0..4).prop_map(Value::Map),
            (any::<bool>(), prop::option::of(inner.prop_map(Box::new)))
                .prop_map(|(flag, inner)| Value::Fields { flag, inner }),
        ]
    })
}

async fn echo(value: Value) -> Result<Value, Failure> {
    Ok(value)
}

async fn echoes(ctx: WorkflowContext, value: Value) -> Result<Value, Failure> {
    Ok(ctx.activity(echo, &value).await?)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Through the client, a workflow, an activity, and back.
    #[test]
    fn p_06_every_value_comes_back_as_it_was(value in value()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let sent = value.clone();
        let back = runtime.block_on(async move {
            let app = App::builder("memory:").workflow(echoes).activity(echo).start().await.unwrap();
            let run = app.client().start(echoes, &sent).await.unwrap();
            let back = run.result().await.unwrap();
            Replayer::new().workflow(echoes).replay(run.history().await.unwrap()).unwrap();
            back
        });
        prop_assert_eq!(value, back);
    }
}

async fn lost(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.activity_named::<()>("nobody has it", &()).start_to_close(Duration::from_secs(1)).await?;
    Ok(())
}

#[tokio::test]
async fn an_activity_that_nobody_has_says_so() {
    let env = TestEnv::start(|app| app.workflow(lost).activity(echo)).await.unwrap();
    let run = env.client().start(lost, ()).await.unwrap();
    let WorkflowError::Failed(failure) = run.result().await.unwrap_err() else { panic!() };
    let cause = failure.root_cause();
    assert_eq!(cause.error_type(), "UnknownActivity");
    assert_eq!(
        cause.message(),
        "no activity \"nobody has it\" is registered here; there are [\"echo\"]"
    );
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Page {
    text: String,
    left: u32,
}

async fn turn(page: Page) -> Result<Page, Failure> {
    Ok(Page { left: page.left - 1, ..page })
}

/// A hundred typed steps of 20 kB a run, then on as a new run.
async fn reader(ctx: WorkflowContext, mut page: Page) -> Result<(), Failure> {
    for _ in 0..100 {
        page = ctx.activity(turn, &page).await?;
    }
    if page.left == 0 { Ok(()) } else { ctx.continue_as_new(&page) }
}

/// On a file and on the real clock: what is measured is the process.
#[tokio::test]
async fn p_05_memory_does_not_grow_with_typed_steps() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::builder(format!("sqlite:{}", folder.path().join("book.db").display()))
        .synchronous(steadfast::Synchronous::Off)
        .workflow(reader)
        .activity(turn)
        .start()
        .await
        .unwrap();
    let read = async |left: u32| {
        let page = Page { text: "x".repeat(20_000), left };
        app.client().start(reader, page).await.unwrap().result().await.unwrap();
        resident_mib()
    };
    // By then the caches are full.
    let before = read(2_000).await;
    let after = read(2_000).await;
    assert!(after < before + 32, "{before} MiB after 2,000 steps, {after} MiB after as many more");
    app.shutdown().await;
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = status.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
    pages * 4096 / (1024 * 1024)
}
