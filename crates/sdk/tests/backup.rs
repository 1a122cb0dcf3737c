//! Copies of an application's file.

use steadfast::{App, BackupError, Failure, WorkflowContext};

async fn approval(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    let mut votes = ctx.signals::<u32>("vote");
    Ok(votes.receive().await? + votes.receive().await?)
}

#[tokio::test]
async fn an_application_on_a_copy_goes_on_from_its_moment() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let open = |name: &str| {
        App::builder(format!("sqlite:{}", file(name).display())).workflow(approval).start()
    };
    let app = open("a.db").await.unwrap();
    let run = app.client().start(approval, ()).id("a").await.unwrap();
    run.signal("vote", &1).await.unwrap();
    app.backup_to(file("copy.db")).await.unwrap();
    run.signal("vote", &2).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3);
    let again = app.backup_to(file("copy.db")).await.unwrap_err();
    assert!(again.to_string().contains("copy.db is there already"), "{again}");
    app.shutdown().await;

    let copy = open("copy.db").await.unwrap();
    let run = copy.client().workflow::<u32>("a");
    run.signal("vote", &41).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 42);
    copy.shutdown().await;
}

#[tokio::test]
async fn what_is_in_memory_has_no_file_to_copy() {
    let app = App::builder("memory:").workflow(approval).start().await.unwrap();
    let error = app.backup_to("never-made.db").await.unwrap_err();
    assert!(matches!(error, BackupError::NoFile), "{error}");
    app.shutdown().await;
}
