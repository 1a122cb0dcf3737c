//! Activities whose policy says more than the public message can: it comes in a header.

use steadfast_engine::{Code, policy};
use steadfast_proto::{
    activity::ActivityOptions,
    command::Command,
    common::{Header, Metadata, Payload, Payloads},
    failure::{Failure, failure::FailureInfo},
    prost_types::FieldMask,
    workflowservice as ws,
};
use steadfast_retry::{Draft, preset::edda};

use crate::common::{
    NAMESPACE, QUEUE, Rig, activity_with, complete, execution, failure, payload, retries, seconds,
    survives, typed_failure,
};

/// An activity with this policy in its header.
fn declared(draft: &Draft) -> Command {
    with_header(policy::to_payload(draft))
}

fn with_header(field: Payload) -> Command {
    activity_with("a", |it| {
        let fields = [(policy::HEADER.to_owned(), field)].into_iter().collect();
        it.header = Some(Header { fields });
        // What other tools show is not what is followed.
        it.retry_policy = Some(retries(1_000, 1.0, 2));
    })
}

fn of_edda(policy: &edda::RetryPolicy) -> Command {
    declared(&policy.draft().expect("a good policy"))
}

fn of_json(json: &str) -> Command {
    with_header(payload(json))
}

fn types(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Fails an activity in these ways, one after the other, and says when its attempts began and how
/// it ended. There must be as many attempts as ways.
async fn tell(rig: &Rig, command: Command, took: u64, failures: &[Failure]) -> String {
    rig.start("order-1").await;
    rig.step(vec![command]).await;
    let mut starts = Vec::new();
    for failure in failures {
        let work = rig.next_activity().await;
        starts.push(rig.elapsed());
        if took > 0 {
            rig.wait(took).await;
        }
        rig.fail_activity_as(&work, failure.clone()).await.expect("taken");
    }
    rig.step(vec![complete("done")]).await;
    format!("{starts:?} {}", end(rig).await)
}

/// The last line about the activity.
async fn end(rig: &Rig) -> String {
    let text = rig.text("order-1", "").await;
    let end = text.lines().rfind(|line| line.contains("ActivityTask")).expect("an end");
    end.get(16..).expect("a line").to_owned()
}

fn of_types(names: &[&str]) -> Vec<Failure> {
    names.iter().map(|name| typed_failure(name, "no network")).collect()
}

/// A failure that says more about itself than the public message has fields for.
fn saying(name: &str, value: &str) -> Failure {
    let mut failure = failure("no network");
    let Some(FailureInfo::ApplicationFailureInfo(info)) = &mut failure.failure_info else {
        panic!("an application's failure")
    };
    let metadata = [(name.to_owned(), value.as_bytes().to_vec())].into_iter().collect();
    let detail = Payload { metadata, ..Payload::default() };
    info.details = Some(Payloads { payloads: vec![detail] });
    failure
}

#[tokio::test(start_paused = true)]
async fn e_19_it_ends_with_the_first_failure_after_its_time_and_before_its_last_attempt() {
    let policy = edda::RetryPolicy {
        max_attempts: Some(10),
        initial_interval: 0.5,
        backoff_coefficient: 1.5,
        max_interval: 30.0,
        max_duration: Some(120.0),
        ..edda::DEFAULT
    };
    let told = survives(async |rig: &Rig| {
        let told = tell(rig, of_edda(&policy), 20, &of_types(&["ConnectionError"; 6])).await;
        let (_, end) = told.split_once("] ").expect("starts and an end");
        assert!((126..=128).contains(&rig.elapsed()), "{}", rig.elapsed());
        end.to_owned()
    });
    assert_eq!(told.await, "ActivityTaskFailed #5 Timeout \"no network\"");
}

#[tokio::test(start_paused = true)]
async fn e_29_no_attempt_starts_after_the_longest_duration() {
    let policy = |max_duration| edda::RetryPolicy {
        max_attempts: None,
        initial_interval: 10.0,
        backoff_coefficient: 1.0,
        max_duration: Some(max_duration),
        ..edda::DEFAULT
    };
    let rig = Rig::new().await;
    let all = tell(&rig, of_edda(&policy(300.0)), 0, &of_types(&["ConnectionError"; 31])).await;
    let starts: Vec<u64> = (0..=30).map(|n| n * 10).collect();
    assert_eq!(all, format!("{starts:?} ActivityTaskFailed #5 Timeout \"no network\""));

    let told = survives(async |rig: &Rig| {
        tell(rig, of_edda(&policy(30.0)), 0, &of_types(&["ConnectionError"; 4])).await
    });
    let expected = "[0, 10, 20, 30] ActivityTaskFailed #5 Timeout \"no network\"";
    assert_eq!(told.await, expected);
}

#[tokio::test(start_paused = true)]
async fn e_31_only_the_retryable_types_and_what_derives_from_them_are_retried() {
    let policy = edda::RetryPolicy {
        max_attempts: Some(4),
        retryable_error_types: types(&["ConnectionError"]),
        ..edda::DEFAULT
    };
    let other = survives(async |rig: &Rig| {
        tell(rig, of_edda(&policy), 0, &of_types(&["ValueError"])).await
    });
    assert_eq!(other.await, "[0] ActivityTaskFailed #5 NonRetryableFailure \"no network\"");
    let retried = survives(async |rig: &Rig| {
        let failures = ["ConnectionError", "ConnectionRefusedError", "BrokenPipeError"];
        tell(rig, of_edda(&policy), 0, &of_types(&[&failures[..], &["ConnectionError"]].concat()))
            .await
    });
    // The waits grow over all the types together, and across a crash.
    let expected = "[0, 1, 3, 7] ActivityTaskFailed #5 MaximumAttemptsReached \"no network\"";
    assert_eq!(retried.await, expected);
}

#[tokio::test(start_paused = true)]
async fn e_32_a_type_that_is_not_retried_wins_over_one_that_is() {
    let policy = edda::RetryPolicy {
        retryable_error_types: types(&["Exception"]),
        non_retryable_error_types: types(&["ValueError"]),
        ..edda::DEFAULT
    };
    let told = survives(async |rig: &Rig| {
        tell(rig, of_edda(&policy), 0, &of_types(&["KeyError", "JSONDecodeError"])).await
    });
    assert_eq!(told.await, "[0, 1] ActivityTaskFailed #5 NonRetryableFailure \"no network\"");
}

#[tokio::test(start_paused = true)]
async fn what_a_rule_does_not_count_uses_up_no_attempts() {
    let policy = r#"{
        "rules": [{"match": {"class": "throttle"}, "backoff": {"kind": "constant",
            "initial": "10s", "jitter": "none"}, "counts": false}],
        "default": {"backoff": {"kind": "constant", "initial": "1s", "jitter": "none"}},
        "max_attempts": 2
    }"#;
    let told = survives(async |rig: &Rig| {
        let failures = [
            saying("steadfast-class", "throttle"),
            saying("steadfast-code", "429"),
            failure("no network"),
            saying("steadfast-code", "429"),
            failure("no network"),
        ];
        tell(rig, of_json(policy), 0, &failures).await
    });
    let expected =
        "[0, 10, 20, 21, 31] ActivityTaskFailed #5 MaximumAttemptsReached \"no network\"";
    assert_eq!(told.await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_rule_may_ask_for_the_activitys_kind_and_for_what_caused_a_failure() {
    let policy = r#"{
        "rules": [{"match": {"activity_kind": "EGRESS", "type": "CardDeclined"}, "action": "fail"}],
        "default": {"backoff": {"kind": "constant", "initial": "1s", "jitter": "none"}},
        "max_attempts": 2
    }"#;
    let declined = Failure {
        cause: Some(Box::new(typed_failure("CardDeclined", "no money"))),
        ..failure("no network")
    };
    for (kind, state, attempts) in
        [("EGRESS", "NonRetryableFailure", 1), ("TRANSFORM", "MaximumAttemptsReached", 2)]
    {
        let field = policy::to_payload(&serde_json::from_str(policy).expect("a draft"));
        let command = activity_with("a", |it| {
            let kind = (policy::KIND_HEADER.to_owned(), policy::kind_to_payload(kind));
            let fields = [(policy::HEADER.to_owned(), field), kind].into_iter().collect();
            it.header = Some(Header { fields });
        });
        let rig = Rig::new().await;
        let told = tell(&rig, command, 0, &vec![declined.clone(); attempts]).await;
        let expected = format!("ActivityTaskFailed #5 {state} \"no network\" after \"no money\"");
        assert!(told.ends_with(&expected), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_rule_or_the_end_of_a_policy_parks_waits_until_it_is_let_go() {
    let by_rule = r#"{"rules": [{"match": {"type": "Boom"}, "action": "park"}]}"#;
    let at_the_end = r#"{"max_attempts": 1, "on_exhausted": "park"}"#;
    for policy in [by_rule, at_the_end] {
        let told = survives(async |rig: &Rig| {
            rig.start("order-1").await;
            rig.step(vec![of_json(policy)]).await;
            let work = rig.next_activity().await;
            rig.fail_activity_as(&work, failure("no network")).await.expect("taken");
            rig.point().await;
            rig.wait(3_600).await;
            let mut described = rig.describe("order-1").await.expect("a run");
            let pending = described.pending_activities.remove(0);
            assert!(pending.paused && pending.last_failure.is_some(), "{pending:?}");
            unpause(rig).await;
            let work = rig.next_activity().await;
            rig.complete_activity(&work, "ok").await.expect("taken");
            rig.step(vec![complete("done")]).await;
            format!("{} {}", pending.attempt, end(rig).await)
        });
        assert_eq!(told.await, "2 ActivityTaskCompleted #5 \"ok\"");
    }
}

async fn unpause(rig: &Rig) {
    let request = ws::UnpauseActivityRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
        activity: Some(ws::unpause_activity_request::Activity::Id("a".to_owned())),
        ..ws::UnpauseActivityRequest::default()
    };
    rig.engine().unpause_activity(request).await.expect("goes on");
}

#[tokio::test(start_paused = true)]
async fn e_107_a_policy_that_cannot_be_followed_fails_the_task_and_names_every_fault() {
    let faults = r#"{"rules": [{"match": {}, "backoff": {"kind": "exponential", "initial": "1s",
        "coef": 0.5}}], "default": {"backoff": {"kind": "schedule", "delays": []}}}"#;
    let rows = [
        ("{", &["not the JSON of a retry policy"][..]),
        (r#"{"max_attempt": 3}"#, &["unknown field `max_attempt`"]),
        (faults, &["rule 1: coef", "default: delays"]),
    ];
    for (json, wanted) in rows {
        let rig = Rig::new().await;
        rig.start("order-1").await;
        let task = rig.next_task(QUEUE).await;
        let refused = rig.complete_task(&task, vec![of_json(json)]).await.expect_err("a bad one");
        assert_eq!(refused.code, Code::InvalidArgument);
        let message = &refused.message;
        assert!(message.contains("BadScheduleActivityAttributes"), "{message}");
        assert!(message.contains("header.fields[steadfast-retry-policy]: "), "{message}");
        for part in wanted {
            assert!(message.contains(part), "{part} is not in {message}");
        }
        assert!(!rig.names("order-1").await.contains(&"ActivityTaskScheduled".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_only_its_sender_can_read_is_refused() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let metadata = Metadata::encoding("binary/encrypted");
    let sealed = Payload { metadata, ..policy::to_payload(&Draft::default()) };
    let refused = rig.complete_task(&task, vec![with_header(sealed)]).await.expect_err("sealed");
    let message = refused.message;
    assert!(message.contains("must be json/plain, not \"binary/encrypted\""), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_operators_policy_takes_the_place_of_the_declared_one() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![of_edda(&edda::DEFAULT)]).await;
        for _ in 0..2 {
            let work = rig.next_activity().await;
            rig.fail_activity(&work, "no network").await.expect("taken");
        }
        let start_to_close_timeout = Some(seconds(45));
        let options = ActivityOptions { start_to_close_timeout, ..ActivityOptions::default() };
        change(rig, "start_to_close_timeout", options).await;
        // That was not about the policy: it waits for two seconds, as the declared one says.
        let work = rig.next_activity().await;
        let mut told = vec![rig.elapsed()];
        rig.fail_activity(&work, "no network").await.expect("taken");
        let retry_policy = Some(retries(50, 1.0, 0));
        let options = ActivityOptions { retry_policy, ..ActivityOptions::default() };
        change(rig, "retry_policy", options).await;
        let work = rig.next_activity().await;
        told.push(rig.elapsed());
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        format!("{told:?}")
    });
    assert_eq!(told.await, "[3, 53]");
}

#[tokio::test(start_paused = true)]
async fn a_pause_does_not_change_what_the_policy_has_counted() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![of_edda(&edda::DEFAULT)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        let work = rig.next_activity().await;
        rig.point().await;
        let pause = ws::PauseActivityRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(execution("order-1", "")),
            activity: Some(ws::pause_activity_request::Activity::Id("a".to_owned())),
            ..ws::PauseActivityRequest::default()
        };
        rig.engine().pause_activity(pause).await.expect("taken");
        rig.fail_activity(&work, "no network").await.expect("taken");
        rig.point().await;
        let unpause = ws::UnpauseActivityRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(execution("order-1", "")),
            activity: Some(ws::unpause_activity_request::Activity::Id("a".to_owned())),
            ..ws::UnpauseActivityRequest::default()
        };
        rig.engine().unpause_activity(unpause).await.expect("taken");
        let mut told = Vec::new();
        for _ in 0..3 {
            let work = rig.next_activity().await;
            told.push((work.attempt, rig.elapsed()));
            rig.fail_activity(&work, "no network").await.expect("taken");
        }
        rig.step(vec![complete("done")]).await;
        format!("{told:?} {}", end(rig).await)
    });
    // Waits of 1, 2, 4 and 8 seconds, and five attempts.
    let expected = "[(3, 3), (4, 7), (5, 15)] \
                    ActivityTaskFailed #5 MaximumAttemptsReached \"no network\"";
    assert_eq!(told.await, expected);
}

async fn change(rig: &Rig, path: &str, options: ActivityOptions) {
    rig.point().await;
    let request = ws::UpdateActivityOptionsRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution("order-1", "")),
        activity: Some(ws::update_activity_options_request::Activity::Id("a".to_owned())),
        activity_options: Some(options),
        update_mask: Some(FieldMask { paths: vec![path.to_owned()] }),
        ..ws::UpdateActivityOptionsRequest::default()
    };
    rig.engine().update_activity_options(request).await.expect("taken");
}
