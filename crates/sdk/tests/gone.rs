//! An application whose file is taken away.

#![cfg(unix)]

use std::fs;

use steadfast::{App, Failure, WorkflowContext};

async fn approval(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    Ok(ctx.signals::<u32>("vote").receive().await?)
}

#[tokio::test]
async fn an_application_whose_file_is_removed_acknowledges_nothing_more_and_can_tell_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let builder = || App::builder(format!("sqlite:{}", file.display())).workflow(approval);
    let app = builder().start().await.unwrap();
    let run = app.client().start(approval, ()).id("a").await.unwrap();
    fs::remove_file(&file).unwrap();
    fs::remove_file(file.with_extension("db-wal")).unwrap();

    let words = "a.db was removed, renamed or replaced";
    let refused = run.signal("vote", &1).await.unwrap_err();
    assert!(refused.to_string().contains(words), "{refused}");
    let unknown = run.result().await.unwrap_err();
    assert!(unknown.to_string().contains(words), "{unknown}");
    let lost = app.engine().unwrap().wait_until_lost().await;
    assert!(lost.to_string().contains(words), "{lost}");
    app.shutdown().await;

    let anew = builder().start().await.unwrap();
    let run = anew.client().start(approval, ()).id("a").await.unwrap();
    run.signal("vote", &2).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 2);
    anew.shutdown().await;
}
