//! Workers and clients of the Rust SDK at a server: the same code as in a program that embeds it.

use std::time::Duration;

use steadfast::{
    ActivityContext, App, ClientError, Failure, ReplayError, Replayer, RetryPolicy, StateCell,
    Workflow, WorkflowContext,
};

use crate::rig::{Dev, command, refusal, text};

async fn charge(ctx: ActivityContext, order: u32) -> Result<String, Failure> {
    if ctx.attempt() <= order % 3 {
        return Err(Failure::new("the bank is asleep").of_type("BankAsleep"));
    }
    Ok(format!("order {order} is paid"))
}

async fn order(ctx: WorkflowContext, order: u32) -> Result<String, Failure> {
    let policy = RetryPolicy::new().max_attempts(10).initial_interval(Duration::from_millis(50));
    let call = ctx.activity(charge, order).retry(policy);
    let paid = call.start_to_close(Duration::from_secs(2)).await?;
    ctx.sleep(Duration::from_millis(20)).await?;
    Ok(paid)
}

async fn approval(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    let total = StateCell::new(0);
    let (shown, changed) = (total.clone(), total.clone());
    ctx.on_query("total", move |(): ()| shown.get());
    ctx.on_update_if(
        "add",
        |add: &u32| if *add < 100 { Ok(()) } else { Err(Failure::new("too much")) },
        move |_, add: u32| {
            let total = changed.clone();
            async move {
                Ok::<_, Failure>(total.change(|it| {
                    *it += add;
                    *it
                }))
            }
        },
    );
    let mut votes = ctx.signals::<bool>("vote");
    while !votes.receive().await? {}
    Ok(total.get())
}

async fn app(address: &str) -> App {
    App::builder(address)
        .workflow(order)
        .workflow(approval)
        .activity(charge)
        .task_queue("orders")
        .start()
        .await
        .expect("it starts")
}

/// What one of them does would be done twice otherwise: each takes the other for dead.
#[tokio::test(flavor = "multi_thread")]
async fn e_103_a_file_is_not_worked_on_by_a_server_and_a_program_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.db").display().to_string();
    let program = || {
        let app = App::builder(format!("sqlite:{file}"));
        app.workflow(order).activity(charge).task_queue("orders").start()
    };
    let dev = Dev::with(&["--db-filename", &file]);
    dev.start_order("order-1");
    let error = program().await.expect_err("the server has it").to_string();
    assert!(error.contains("a.db is open in another process"), "{error}");
    assert!(dev.says(&["workflow", "list"]).contains("order-1"), "the server goes on");
    drop(dev);
    let app = program().await.expect("it is dead");
    let serve = ["server", "start-dev", "--port", "0", "--headless", "--db-filename", &file];
    let (code, error) = refusal(&command(&serve).output().expect("the binary starts"));
    assert_eq!(code, 1);
    assert!(error.contains(&format!("(process id {})", std::process::id())), "{error}");
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_errors_are_the_same_over_the_network() {
    let dev = Dev::start();
    let app = app(&dev.address).await;
    let run = app.client().start(approval, ()).id("w").await.unwrap();
    let again = app.client().start(approval, ()).id("w").await.unwrap_err();
    assert!(matches!(again, ClientError::AlreadyStarted { run_id, .. } if run_id == run.run_id()));
    assert_eq!(run.update::<u32>("add", &7).await.unwrap(), 7);
    let refused = run.update::<u32>("add", &100).await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused(failure) if failure.message() == "too much"));
    assert_eq!(run.query::<u32>("total", &()).await.unwrap(), 7);
    let unknown = run.query::<u32>("weather", &()).await.unwrap_err();
    assert!(unknown.to_string().contains("KnownQueryTypes"), "{unknown}");
    run.signal("vote", &true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    let nobody = app.client().workflow::<u32>("nobody").result().await.unwrap_err();
    assert!(nobody.to_string().contains("not found"), "{nobody}");
    app.shutdown().await;
}

/// Another step than what was recorded.
async fn order_of_today(ctx: WorkflowContext, _: u32) -> Result<String, Failure> {
    ctx.sleep(Duration::from_secs(1)).await?;
    Ok(String::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_history_is_replayed() {
    let dev = Dev::start();
    let app = app(&dev.address).await;
    app.client().start(order, 7).id("order-7").await.unwrap().result().await.unwrap();
    let shown = dev.output(&["workflow", "show", "-w", "order-7", "--output", "json"]);
    let history = text(&shown.stdout);
    Replayer::new().workflow(order).replay_json(&history).unwrap();
    let changed = Replayer::new().register_workflow(Workflow::new(order_of_today).named("order"));
    let broken = changed.replay_json(&history).unwrap_err();
    assert!(broken.to_string().contains("charge"), "{broken}");
    let truncated = Replayer::new().workflow(order).replay_json(&history[..history.len() / 2]);
    assert!(matches!(truncated, Err(ReplayError::Json(_))), "{truncated:?}");
    app.shutdown().await;
}
