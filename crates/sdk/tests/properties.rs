//! What a run notes about itself: memo and search attributes.

use std::time::Duration;

use steadfast::{
    Failure, Noted as _, ParentClosePolicy, Replayer, SearchAttributeType, WorkflowContext,
    proto::enums::EventType, testing::TestEnv,
};

use crate::common::{count, kinds};

async fn order(ctx: WorkflowContext, rounds: u32) -> Result<String, Failure> {
    let text = |ctx: &WorkflowContext| ctx.info().search_attribute::<String>("Stage").transpose();
    let before = text(&ctx)?.unwrap_or_default();
    ctx.upsert_search_attribute("Stage", "packing")?;
    ctx.upsert_search_attribute("Weight", &7)?;
    ctx.upsert_memo("owner", "Ada")?;
    ctx.remove_memo("draft");
    assert_eq!(text(&ctx)?.as_deref(), Some("packing"));
    assert!(ctx.info().memo::<bool>("draft").is_none());
    ctx.sleep(Duration::from_secs(60)).await?;
    ctx.remove_search_attribute("Weight");
    assert!(ctx.info().search_attribute::<u32>("Weight").is_none());
    if rounds > 0 {
        return ctx.continue_as_new(&(rounds - 1));
    }
    Ok(format!("{before}, {}", ctx.info().memo::<String>("owner").transpose()?.unwrap_or_default()))
}

async fn env() -> TestEnv {
    let env = TestEnv::start(|app| app.workflow(order).workflow(parent)).await.expect("it works");
    let client = env.client();
    client.add_search_attribute("Stage", SearchAttributeType::Keyword).await.expect("it works");
    client.add_search_attribute("Weight", SearchAttributeType::Int).await.expect("it works");
    // Known already, and the same: fine.
    client.add_search_attribute("Stage", SearchAttributeType::Keyword).await.expect("it works");
    let other =
        client.add_search_attribute("Stage", SearchAttributeType::Int).await.expect_err("it fails");
    assert!(other.to_string().contains("Stage"), "{other}");
    env
}

#[tokio::test]
async fn a_run_is_found_by_what_its_code_notes() {
    let mut env = env().await;
    let start = env.client().start(order, 0).id("w").memo("draft", &true).unwrap();
    start.search_attribute("Stage", &"new").unwrap().await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    env.crash().await.unwrap();
    let found = env.client().list("Stage = 'packing' AND Weight > 6").await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].memo_value::<String>("owner").unwrap().unwrap(), "Ada");
    assert_eq!(found[0].search_value::<u32>("Weight").unwrap().unwrap(), 7);
    assert!(found[0].memo_value::<bool>("draft").is_none());
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.result().await.unwrap(), "new, Ada");
    let described = run.describe().await.unwrap();
    assert_eq!(described.search_value::<String>("Stage").unwrap().unwrap(), "packing");
    assert!(described.search_value::<u32>("Weight").is_none());
    assert_eq!(env.client().count("Weight > 6").await.unwrap(), 0);
    let events = run.history().await.unwrap();
    // What is noted one after the other is one command.
    let upserts = count(&events, EventType::UpsertWorkflowSearchAttributes);
    assert_eq!(upserts, 2, "{:?}", kinds(&events));
    assert_eq!(count(&events, EventType::WorkflowPropertiesModified), 1);
    Replayer::new().workflow(order).replay(events).unwrap();
}

#[tokio::test]
async fn what_a_run_has_noted_the_next_one_knows() {
    let env = env().await;
    let run = env.client().start(order, 2).id("w").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "packing, Ada");
    assert_eq!(env.client().count("WorkflowId = 'w' AND Stage = 'packing'").await.unwrap(), 3);
}

async fn forgetful(ctx: WorkflowContext, _: u32) -> Result<String, Failure> {
    ctx.upsert_search_attribute("Colour", "red")?;
    Ok(String::new())
}

#[tokio::test]
async fn code_that_notes_something_else_is_told_so() {
    let env = env().await;
    let run = env.client().start(order, 0).id("w").await.unwrap();
    run.result().await.unwrap();
    let changed = steadfast::Workflow::new(forgetful).named("order");
    let replayer = Replayer::new().register_workflow(changed);
    let broken = replayer.replay(run.history().await.unwrap()).unwrap_err().to_string();
    assert!(broken.contains("history has UpsertWorkflowSearchAttributes"), "{broken}");
    assert!(broken.contains("the code sets search attributes [\"Colour\"]"), "{broken}");
}

async fn parent(ctx: WorkflowContext, (): ()) -> Result<Option<String>, Failure> {
    let child = ctx.child(order, 0).id("child").memo("owner", &"Bob")?;
    let child = child.search_attribute("Stage", &"inherited")?;
    let child = child.parent_close(ParentClosePolicy::Abandon).summary("a child").start().await?;
    let told = child.result().await?;
    Ok(ctx.info().parent.map(|parent| parent.workflow_id).or(Some(told)))
}

#[tokio::test]
async fn a_child_begins_with_what_its_parent_says() {
    let env = env().await;
    let run = env.client().start(parent, ()).id("p").await.unwrap();
    assert_eq!(run.result().await.unwrap().as_deref(), Some("inherited, Ada"));
    Replayer::new().workflow(parent).replay(run.history().await.unwrap()).unwrap();
}

async fn chain(ctx: WorkflowContext, left: u32) -> Result<(u32, String, bool), Failure> {
    let info = ctx.info();
    if left > 0 {
        let next = ctx.next_run(&(left - 1)).after(Duration::from_secs(3600));
        return next.memo("left", &left)?.run_timeout(Duration::from_secs(50)).go();
    }
    let memo = info.memo("left").transpose()?.unwrap_or_default();
    let limit = format!("{:?}", info.run_timeout);
    Ok((memo, limit, info.continued_run_id.is_some() && info.first_run_id != info.run_id))
}

#[tokio::test]
async fn more_can_be_said_about_the_next_run() {
    let env = TestEnv::start(|app| app.workflow(chain)).await.unwrap();
    let run = env.client().start(chain, 2).id("w").await.unwrap();
    assert_eq!(run.result().await.unwrap(), (1, "Some(50s)".to_owned(), true));
    assert_eq!(env.elapsed().as_secs(), 2 * 3600);
}
