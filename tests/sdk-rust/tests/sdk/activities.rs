//! Activities: tried again, given up, resumed, timed out, cancelled.

use steadfast_sdk_rust::workflows::{
    Delayed, Heartbeats, Local, NotRetried, Retried, TidiesUp, TimesOut, UsedUp,
};
use temporalio_client::errors::WorkflowGetResultError;
use temporalio_common::error::{ActivityFailureError, IncomingError};
use temporalio_sdk::{RetryState, TimeoutType};

use crate::rig::with_a_worker;

#[test]
fn are_tried_until_they_succeed() {
    with_a_worker(async |rig| {
        assert_eq!(rig.run("retried", Retried::run, "retried".to_owned()).await.unwrap(), 3);
        assert_eq!(rig.work.starts("retried"), 3);
    });
}

#[test]
fn are_tried_as_often_as_their_policy_says() {
    with_a_worker(async |rig| {
        let ended = rig.run("used-up", UsedUp::run, "used up".to_owned()).await;
        let failure = of_the_activity(ended.unwrap_err());
        assert_eq!(failure.retry_state(), RetryState::MaximumAttemptsReached);
        assert_eq!(rig.work.starts("used up"), 3);
    });
}

#[test]
fn are_not_tried_again_when_that_is_of_no_use() {
    with_a_worker(async |rig| {
        let ended = rig.run("fatal", NotRetried::run, "fatal".to_owned()).await;
        let failure = of_the_activity(ended.unwrap_err());
        assert_eq!(failure.retry_state(), RetryState::NonRetryableFailure);
        let Some(IncomingError::Application(cause)) = failure.cause() else {
            panic!("{failure:?} has no cause of its own");
        };
        assert_eq!(cause.type_name(), Some("Fatal"));
        assert_eq!(rig.work.starts("fatal"), 1);
    });
}

/// By its policy it would wait for an hour.
#[test]
fn come_back_when_they_say() {
    with_a_worker(async |rig| {
        assert_eq!(rig.run("delayed", Delayed::run, ()).await.unwrap(), 2);
    });
}

#[test]
fn go_on_from_their_last_heartbeat() {
    with_a_worker(async |rig| {
        assert_eq!(rig.run("heartbeats", Heartbeats::run, ()).await.unwrap(), 5);
    });
}

#[test]
fn time_out() {
    with_a_worker(async |rig| {
        let ended = rig.run("times-out", TimesOut::run, ()).await;
        let failure = of_the_activity(ended.unwrap_err());
        let timeout = failure.as_timeout().expect("it is a timeout");
        assert_eq!(timeout.timeout_type(), TimeoutType::StartToClose);
    });
}

#[test]
fn are_cancelled_with_their_workflow_which_may_tidy_up() {
    with_a_worker(async |rig| {
        let started = rig.start("tidies-up", TidiesUp::run, ()).await;
        rig.work.patient_is_at_work().await;
        started.cancel(Default::default()).await.unwrap();
        assert_eq!(started.get_result(Default::default()).await.unwrap(), "tidied up");
        assert_eq!(rig.work.starts("tidied"), 2);
    });
}

#[test]
fn can_be_local() {
    with_a_worker(async |rig| {
        assert_eq!(rig.run("local", Local::run, "local".to_owned()).await.unwrap(), 2);
        assert_eq!(rig.work.starts("local"), 2);
    });
}

fn of_the_activity(error: WorkflowGetResultError) -> ActivityFailureError {
    let WorkflowGetResultError::Failed(failure) = error else { panic!("{error} is not a failure") };
    let IncomingError::Activity(failure) = *failure else { panic!("{failure} is another's") };
    failure
}
