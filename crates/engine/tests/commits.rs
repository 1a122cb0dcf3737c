//! What shares a commit.

use std::{sync::atomic::Ordering, time::Duration};

use steadfast_engine::Limits;
use tokio::task::JoinSet;

use crate::common::{Base, Rig, calls::start_request};

/// Starts two workflows a millisecond for just as long as it takes to notice, and then one and ten
/// milliseconds later another; tells how many commits the last two took.
async fn two_after_many(commit_wait: Duration) -> u64 {
    let limits = Limits { commit_wait, ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    for millis in 0..=SPAN {
        let mut starts = JoinSet::new();
        for n in 0..2 {
            let (engine, start) = (rig.engine(), start_request(&format!("order-{millis}-{n}")));
            starts.spawn(async move { engine.start_workflow_execution(start).await });
        }
        assert!(starts.join_all().await.iter().all(Result::is_ok));
        rig.wait_millis(1).await;
    }
    let commits = || rig.store().tally.commits.load(Ordering::Relaxed);
    let before = commits();
    let later = async {
        rig.wait_millis(10).await;
        rig.start("later").await
    };
    tokio::join!(rig.start("sooner"), later);
    commits() - before
}

#[tokio::test(start_paused = true)]
async fn while_much_changes_a_commit_waits_for_company_if_it_is_told_to() {
    assert_eq!(Box::pin(two_after_many(Duration::from_millis(24))).await, 1);
    assert_eq!(Box::pin(two_after_many(Duration::ZERO)).await, 2);
}

#[tokio::test(start_paused = true)]
async fn many_changes_of_one_workflow_are_not_worth_a_wait() {
    let limits = Limits { commit_wait: Duration::from_secs(60), ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    rig.start("order").await;
    for _ in 0..=SPAN {
        let signal = || rig.signal("order", "paid");
        let (one, two, three) = tokio::join!(signal(), signal(), signal());
        one.and(two).and(three).unwrap();
        rig.wait_millis(2).await;
    }
    assert_eq!(rig.millis(), u128::from(2 * (SPAN + 1)));
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

/// How many milliseconds it takes to tell how much changes.
const SPAN: u64 = 25;
