//! What an operator may do to pending activities: hold, let go, start over, change.

use steadfast_engine::{Code, Error};
use steadfast_proto::{
    activity::ActivityOptions, enums::PendingActivityState as State, prost_types::FieldMask,
    workflow::PendingActivityInfo, workflowservice as ws,
};

use crate::common::{
    NAMESPACE, QUEUE, Rig, activity, calls::Work, complete, execution, queue, retried, seconds,
    survives,
};

async fn pause(rig: &Rig, id: &str) -> Result<(), Error> {
    rig.point().await;
    let request = ws::PauseActivityRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
        activity: Some(ws::pause_activity_request::Activity::Id(id.to_owned())),
        request_id: "p-1".to_owned(),
        ..ws::PauseActivityRequest::default()
    };
    rig.engine().pause_activity(request).await.map(drop)
}

async fn unpause(rig: &Rig, id: &str, reset_attempts: bool) -> Result<(), Error> {
    rig.point().await;
    let request = ws::UnpauseActivityRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
        activity: Some(ws::unpause_activity_request::Activity::Id(id.to_owned())),
        reset_attempts,
        ..ws::UnpauseActivityRequest::default()
    };
    rig.engine().unpause_activity(request).await.map(drop)
}

async fn reset(rig: &Rig, id: &str) -> Result<(), Error> {
    rig.point().await;
    let request = ws::ResetActivityRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
        activity: Some(ws::reset_activity_request::Activity::Id(id.to_owned())),
        ..ws::ResetActivityRequest::default()
    };
    rig.engine().reset_activity(request).await.map(drop)
}

async fn change(
    rig: &Rig,
    paths: &[&str],
    options: ActivityOptions,
) -> Result<ActivityOptions, Error> {
    rig.point().await;
    let request = ws::UpdateActivityOptionsRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
        activity: Some(ws::update_activity_options_request::Activity::Id("a".to_owned())),
        activity_options: Some(options),
        update_mask: Some(FieldMask { paths: paths.iter().map(|it| (*it).to_owned()).collect() }),
        ..ws::UpdateActivityOptionsRequest::default()
    };
    let changed = rig.engine().update_activity_options(request).await?;
    Ok(changed.activity_options.expect("options"))
}

async fn pending(rig: &Rig) -> PendingActivityInfo {
    rig.describe("order-1").await.expect("a run").pending_activities.remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_paused_activity_is_not_handed_out_until_it_may_go_on() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        pause(rig, "a").await.expect("paused");
        pause(rig, "a").await.expect("the same request once more");
        rig.point().await;
        assert_eq!(rig.poll_activity(QUEUE).await, Work::default());
        assert_eq!(pending(rig).await.state(), State::Paused);
        unpause(rig, "a", false).await.expect("goes on");
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.names("order-1").await.join(" ")
    });
    let told = told.await;
    assert!(told.ends_with("WorkflowExecutionCompleted"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn what_was_withdrawn_and_is_offered_again_goes_to_a_worker() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a"), activity("b")]).await;
    for _ in 0..3 {
        pause(&rig, "a").await.expect("paused");
        pause(&rig, "b").await.expect("paused");
        assert_eq!(rig.engine().backlog(), (0, 0), "neither is to be had");
        unpause(&rig, "a", false).await.expect("goes on");
        unpause(&rig, "b", false).await.expect("goes on");
    }
    assert_eq!(rig.engine().backlog(), (0, 2));
    let taken = [rig.next_activity().await, rig.next_activity().await].map(|it| it.activity_id);
    assert_eq!(taken, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_is_paused_while_it_runs_hears_so_and_is_not_tried_again() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    pause(&rig, "a").await.expect("paused");
    assert_eq!(pending(&rig).await.state(), State::PauseRequested);
    assert!(rig.heartbeat(&work, "1").await.expect("taken").activity_paused);
    rig.fail_activity(&work, "no network").await.expect("taken");
    assert_eq!(rig.poll_activity(QUEUE).await, Work::default());
    assert_eq!(pending(&rig).await.attempt, 2);
    unpause(&rig, "a", true).await.expect("goes on");
    assert_eq!(rig.next_activity().await.attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_paused_and_reset_while_it_runs_hears_of_both() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    pause(&rig, "a").await.expect("paused");
    reset(&rig, "a").await.expect("reset");
    let heard = rig.heartbeat(&work, "1").await.expect("taken");
    assert!(heard.activity_paused && heard.activity_reset, "{heard:?}");
    rig.fail_activity(&work, "no network").await.expect("taken");
    assert_eq!(rig.poll_activity(QUEUE).await, Work::default());
    reset(&rig, "a").await.expect("now it waits, and goes on");
    assert_eq!(rig.next_activity().await.attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn c_101_one_attempt_is_at_most_one_also_through_a_pause() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 1.0, 1)]).await;
        let work = rig.next_activity().await;
        pause(rig, "a").await.expect("paused");
        rig.fail_activity(&work, "no network").await.expect("taken");
        rig.point().await;
        unpause(rig, "a", false).await.expect("goes on");
        rig.point().await;
        assert_eq!(rig.poll_activity(QUEUE).await, Work::default());
        rig.step(vec![complete("done")]).await;
        let text = rig.text("order-1", "").await;
        let lines = text.lines().filter(|line| line.contains("Activity"));
        lines.map(|line| line[16..].to_owned()).collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(told.await, @r#"
    ActivityTaskScheduled a Charge
    ActivityTaskStarted #5 attempt=1
    ActivityTaskFailed #5 MaximumAttemptsReached "no network"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_reset_activity_starts_over_at_once() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1_000, 1.0, 2)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        reset(rig, "a").await.expect("reset");
        let work = rig.next_activity().await;
        assert_eq!((work.attempt, rig.elapsed()), (1, 0));
        rig.complete_activity(&work, "ok").await.expect("taken");
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn changed_options_hold_for_the_next_attempt_and_the_rest_stays() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        let options = ActivityOptions {
            task_queue: Some(queue("q2")),
            start_to_close_timeout: Some(seconds(7)),
            ..ActivityOptions::default()
        };
        let paths = ["taskQueue.name", "startToCloseTimeout"];
        let changed = change(rig, &paths, options).await.expect("changed");
        assert_eq!(changed.start_to_close_timeout, Some(seconds(7)));
        assert!(changed.retry_policy.is_some(), "what was not named stays");
        rig.point().await;
        let work = rig.poll_activity("q2").await;
        assert_eq!(work.start_to_close_timeout, Some(seconds(7)));
        rig.complete_activity(&work, "ok").await.expect("taken");
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_refused_and_changes_nothing() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let before = pending(&rig).await;
    for refused in [pause(&rig, "b").await, unpause(&rig, "b", false).await, reset(&rig, "b").await]
    {
        assert_eq!(refused.expect_err("there is none").code, Code::NotFound);
    }
    let nothing = change(&rig, &[], ActivityOptions::default()).await.expect_err("no field");
    assert_eq!(nothing.code, Code::InvalidArgument);
    let unknown = change(&rig, &["colour"], ActivityOptions::default()).await;
    let unknown = unknown.expect_err("no such field");
    assert_eq!(unknown.code, Code::InvalidArgument);
    assert!(unknown.message.contains("colour"), "{unknown}");
    let request = ws::PauseActivityRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
        ..ws::PauseActivityRequest::default()
    };
    let none = rig.engine().pause_activity(request).await.expect_err("none named");
    assert_eq!(none.code, Code::InvalidArgument);
    assert_eq!(pending(&rig).await, before);
}
