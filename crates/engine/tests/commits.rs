//! What shares a commit.

use std::{sync::atomic::Ordering, time::Duration};

use steadfast_engine::Limits;
use tokio::task::JoinSet;

use crate::common::{Base, Rig, calls::start_request};

/// Starts many workflows at once, and then one and ten seconds later another; tells how many commits
/// the two took.
async fn two_after_many(commit_wait: Duration) -> u64 {
    let limits = Limits { commit_wait, ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    let mut starts = JoinSet::new();
    for n in 0..100 {
        let (engine, start) = (rig.engine(), start_request(&format!("order-{n}")));
        starts.spawn(async move { engine.start_workflow_execution(start).await });
    }
    assert!(starts.join_all().await.iter().all(Result::is_ok));
    let commits = || rig.store().tally.commits.load(Ordering::Relaxed);
    let before = commits();
    let later = async {
        rig.wait(10).await;
        rig.start("later").await
    };
    tokio::join!(rig.start("sooner"), later);
    commits() - before
}

#[tokio::test(start_paused = true)]
async fn a_commit_after_a_large_one_waits_for_company_if_it_is_told_to() {
    assert_eq!(Box::pin(two_after_many(Duration::from_secs(60))).await, 1);
    assert_eq!(Box::pin(two_after_many(Duration::ZERO)).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_commit_after_a_small_one_does_not_wait() {
    let limits = Limits { commit_wait: Duration::from_secs(60), ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    for n in 0..3 {
        rig.start(&format!("order-{n}")).await;
    }
    assert_eq!(rig.millis(), 0);
}
