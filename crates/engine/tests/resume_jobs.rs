//! Bulk resumes: in which order, how fast if nobody says it, and what they tell of those that did not
//! go on.

use std::{collections::BTreeSet, time::Duration};

use steadfast_engine::{
    Engine,
    failures::{
        EndingSetting, JobOrder, JobProgress, JobRate, JobState, NewResumeJob, Resume, Selection,
        Settings, Who,
    },
};
use steadfast_proto::common::Priority;
use steadfast_retry::Ending;

use crate::common::{
    NAMESPACE, QUEUE, Rig, activity_with, calls::Work, retried, retries, seconds, survives,
};

fn job(order: JobOrder, rate: JobRate) -> NewResumeJob {
    NewResumeJob {
        id: "job".to_owned(),
        selection: Selection::Everything,
        resume: Resume::default(),
        canary: 0,
        rate,
        max_failures: 1.0,
        order,
    }
}

async fn park_everything(rig: &Rig) {
    let parks = EndingSetting {
        workflow_type: None,
        activity: None,
        ending: Ending::Park,
        ttl: None,
        then: Ending::Fail,
    };
    let settings = Settings { endings: vec![parks], ..Settings::default() };
    rig.engine().set_failure_settings(NAMESPACE, settings, Who::default()).await.expect("good");
}

fn told(engine: &Engine) -> JobProgress {
    engine.describe_resume_job(NAMESPACE, "job").expect("it is there")
}

fn workflow(work: &Work) -> String {
    work.workflow_execution.as_ref().map(|it| it.workflow_id.clone()).unwrap_or_default()
}

/// Four that have failed one after the other, and the order in which they are resumed.
async fn resumed(rig: &Rig, order: JobOrder) -> String {
    park_everything(rig).await;
    let all =
        [("plain", 0, 0, 0), ("soon", 0, 5_000, 0), ("late", 9_000, 0, 5), ("urgent", 0, 0, 1)];
    for (id, run, whole, key) in all {
        let timeout = (run > 0).then(|| seconds(run));
        rig.start_with(id, |it| it.workflow_run_timeout = timeout).await.expect("a start");
        rig.step(vec![activity_with("a", |it| {
            it.retry_policy = Some(retries(1, 1.0, 1));
            it.schedule_to_close_timeout = (whole > 0).then(|| seconds(whole));
            it.priority = Some(Priority { priority_key: key, ..Priority::default() });
        })])
        .await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "down").await.expect("taken");
        rig.wait(1).await;
    }
    let wanted = job(order, JobRate::Fixed(0.1));
    rig.engine().start_resume_job(NAMESPACE, wanted).await.expect("good");
    let mut told = Vec::new();
    while told.len() < all.len() {
        let work = rig.next_activity().await;
        told.push(workflow(&work));
        rig.fail_activity(&work, "still down").await.expect("taken");
    }
    told.join(" ")
}

#[tokio::test(start_paused = true)]
async fn f_09_a_job_takes_the_most_urgent_first_if_it_is_asked_to() {
    for (order, expected) in [
        (JobOrder::Oldest, "plain soon late urgent"),
        (JobOrder::Newest, "urgent late soon plain"),
        (JobOrder::Deadline, "soon late plain urgent"),
        (JobOrder::Priority, "urgent plain soon late"),
    ] {
        assert_eq!(resumed(&Rig::new().await, order).await, expected, "{order:?}");
    }
    let told = survives(async |rig: &Rig| resumed(rig, JobOrder::Deadline).await);
    assert_eq!(told.await, "soon late plain urgent");
}

/// Many parked activities of one run each.
async fn many(rig: &Rig, count: u32) {
    park_everything(rig).await;
    for number in 0..count {
        rig.start(&format!("order-{number}")).await;
        rig.step(vec![retried("a", 1, 1.0, 1)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, &format!("no answer after {number} ms")).await.expect("taken");
    }
}

/// Answers all that is there for so many seconds; those that `fails` says fail.
async fn serve(rig: &Rig, span: u64, fails: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let end = rig.elapsed() + span;
    while rig.elapsed() < end {
        #[expect(clippy::disallowed_methods, reason = "virtual time")]
        let polled = tokio::time::timeout(Duration::from_secs(1), rig.poll_activity(QUEUE)).await;
        let Ok(work) = polled else { continue };
        assert!(seen.insert(workflow(&work)), "each is resumed once");
        if fails(&workflow(&work)) {
            rig.fail_activity(&work, &format!("no answer after {span} ms")).await.expect("taken");
        } else {
            rig.complete_activity(&work, "ok").await.expect("taken");
        }
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn f_09_a_rate_that_nobody_gave_grows_while_all_goes_well() {
    let rig = Rig::new().await;
    many(&rig, 400).await;
    let engine = rig.engine();
    let begun = engine.start_resume_job(NAMESPACE, job(JobOrder::Oldest, JobRate::Auto)).await;
    let begun = begun.expect("good");
    assert!(begun.is_auto && (begun.rate - 1.0).abs() < 1e-9);
    assert_eq!(begun.left, Duration::from_secs(400), "what is left, at this rate");
    let mut seen = serve(&rig, 45, |_| false).await;
    let fast = told(&engine);
    assert!(fast.rate > 4.0, "{fast:?}");
    assert_eq!(fast.failed, 0);
    // Whoever goes on after a crash begins at the floor.
    rig.crash().await;
    rig.wait(1).await;
    let slow = told(&rig.engine());
    assert!((slow.rate - 1.0).abs() < 1e-9, "{slow:?}");
    // It goes well, then one in four fails: it is halved again and again.
    seen.append(&mut serve(&rig, 45, |_| false).await);
    let before = told(&rig.engine()).rate;
    seen.append(&mut serve(&rig, 40, |id| id.ends_with('7') || id.ends_with('3')).await);
    let after = told(&rig.engine());
    assert!(after.rate < before, "{before} then {after:?}");
    assert!(after.failed > 0 && after.failures.len() == 1, "{after:?}");
    assert_eq!(after.failures[0].count, after.failed, "alike, so they are told together");
    assert!(after.failures[0].text.contains("no answer after 40 ms"), "{after:?}");
    let (engine, rate) = (rig.engine(), Some(JobRate::Fixed(50.0)));
    let fixed = engine.change_resume_job(NAMESPACE, "job", None, rate);
    assert!(!fixed.await.expect("good").is_auto);
    seen.append(&mut serve(&rig, 30, |_| false).await);
    let ended = told(&rig.engine());
    assert_eq!((ended.state, seen.len()), (JobState::Completed, 400), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn f_09_a_job_that_finds_its_own_rate_stops_when_too_many_fail() {
    let rig = Rig::new().await;
    many(&rig, 40).await;
    let wanted = NewResumeJob { max_failures: 0.5, ..job(JobOrder::Oldest, JobRate::Auto) };
    rig.engine().start_resume_job(NAMESPACE, wanted).await.expect("good");
    let seen = serve(&rig, 60, |_| true).await;
    let ended = told(&rig.engine());
    assert_eq!(ended.state, JobState::TooManyFailures);
    assert!(seen.len() < 5, "{} were tried in vain", seen.len());
}
