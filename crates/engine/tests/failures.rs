//! What operators see of failures, and what they do about them.

use steadfast_engine::{
    Change, Code, Limits,
    failures::{
        Acted, EndingSetting, ErrorId, JobOrder, JobRate, JobState, NewPolicy, NewResumeJob,
        Position, Resume, Scope, Selection, Settings, Who,
    },
};
use steadfast_retry::{Ending, pattern::NamePattern, resume};
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorGroup, ErrorState, Order};

use crate::common::{
    Base, Fault, NAMESPACE, Rig, complete, execution, fail, payload, payloads, retried, survives,
};

fn who() -> Who {
    Who { identity: "ana".to_owned(), reason: "the bank is back".to_owned() }
}

fn park_everything() -> Settings {
    let parks = EndingSetting {
        workflow_type: None,
        activity: None,
        ending: Ending::Park,
        ttl: None,
        then: Ending::Fail,
    };
    Settings { endings: vec![parks], ..Settings::default() }
}

fn draft(json: &str) -> resume::Draft {
    serde_json::from_str(json).expect("a draft")
}

fn resume() -> Resume {
    Resume { who: who(), ..Resume::default() }
}

fn all_went_well(acted: &[Acted]) -> bool {
    acted.iter().all(|it| it.outcome.is_ok())
}

impl Rig {
    async fn parks(&self) {
        let engine = self.engine();
        engine.set_failure_settings(NAMESPACE, park_everything(), who()).await.expect("good");
    }

    /// A workflow whose first step has failed for good.
    async fn failed(&self, workflow_id: &str, message: &str) {
        self.start(workflow_id).await;
        self.step(vec![retried("a", 1, 1.0, 1)]).await;
        let work = self.next_activity().await;
        self.fail_activity(&work, message).await.expect("taken");
    }

    async fn errors(&self) -> Vec<ErrorEntry> {
        let all = ErrorFilter::default();
        let listing = self.engine().list_errors(NAMESPACE, all, Order::Forward, None, 0).await;
        listing.expect("a list").errors
    }

    /// What is listed, a line each.
    async fn listed(&self) -> String {
        let line = |it: &ErrorEntry| {
            let row = &it.row;
            let next =
                row.next_at.map(|at| at.since(steadfast_engine::Timestamp::from_secs(1_000_000)));
            let next = next.map_or(String::new(), |at| format!(", next at {}", at.as_secs()));
            let seen = row.acknowledged.as_ref().map_or("", |_| ", acknowledged");
            format!(
                "{} {} {} x{} {:?} ({}){next}{seen}",
                it.identity.workflow_id,
                row.activity_id,
                row.state.name(),
                row.attempts,
                row.cause,
                row.reason
            )
        };
        self.errors().await.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

#[tokio::test(start_paused = true)]
async fn d_01_d_02_d_03_what_fails_is_parked_and_resumed_from_there() {
    let told = survives(async |rig: &Rig| {
        rig.parks().await;
        rig.point().await;
        rig.failed("order-1", "no network").await;
        rig.point().await;
        let parked = rig.listed().await;
        let waiting = rig.names("order-1").await.len();
        rig.wait(3_600).await;
        assert_eq!(rig.names("order-1").await.len(), waiting, "nothing after it starts");
        let id = rig.errors().await[0].run;
        let ids = Selection::Ids(vec![ErrorId { run: id, subject: 5 }]);
        let acted = rig.engine().resume_errors(NAMESPACE, ids, &resume()).await.expect("good");
        assert!(all_went_well(&acted), "{acted:?}");
        rig.point().await;
        let work = rig.next_activity().await;
        assert_eq!((work.activity_id.as_str(), work.attempt), ("a", 2));
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.point().await;
        assert_eq!(rig.listed().await, "", "what is settled is not listed");
        rig.step(vec![complete("done")]).await;
        format!("{parked}\n{}", rig.text("order-1", "").await.lines().last().unwrap_or_default())
    });
    insta::assert_snapshot!(told.await, @r#"
    order-1 a parked x1 "no network" (max attempts (1) reached)
      11  3600.000  WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_request_resumes_once_whoever_resumes_in_between() {
    survives(async |rig: &Rig| {
        rig.parks().await;
        rig.failed("order-1", "no network").await;
        let ask = async |request: &str| {
            let ids = vec![ErrorId { run: rig.errors().await[0].run, subject: 5 }];
            let resume = Resume { request_id: request.to_owned(), ..resume() };
            let acted = rig.engine().resume_errors(NAMESPACE, Selection::Ids(ids), &resume).await;
            assert!(all_went_well(&acted.expect("good")));
            rig.point().await;
        };
        for (request, attempt) in [("job-1", 2), ("", 3), ("job-2", 4)] {
            ask(request).await;
            let work = rig.next_activity().await;
            assert_eq!(work.attempt, attempt);
            rig.fail_activity(&work, "no network").await.expect("taken");
        }
        let parked = rig.listed().await;
        for repeated in ["job-1", "job-2"] {
            ask(repeated).await;
            assert_eq!(rig.listed().await, parked, "{repeated} was heard before");
        }
        parked
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn d_114_selections_mean_exactly_what_they_say() {
    let rig = Rig::new().await;
    rig.parks().await;
    for (id, message) in [("o-1", "no network"), ("o-2", "no disk"), ("o-3", "no network")] {
        rig.failed(id, message).await;
    }
    let engine = rig.engine();
    let with = |cause: &str| {
        let cause = Some(cause.to_owned());
        Selection::Matching(ErrorFilter { cause, ..ErrorFilter::default() })
    };
    let ids = |acted: Vec<Acted>| acted.into_iter().map(|it| it.workflow_id).collect::<Vec<_>>();
    let acted = engine.acknowledge_errors(NAMESPACE, with("no disk"), &who()).await.expect("good");
    assert_eq!(ids(acted), ["o-2"]);
    let acted = engine.resume_errors(NAMESPACE, with("no network"), &resume()).await;
    assert_eq!(ids(acted.expect("good")), ["o-1", "o-3"]);
    let nothing = Selection::Matching(ErrorFilter::default());
    let refused = engine.resume_errors(NAMESPACE, nothing, &resume()).await.expect_err("all");
    assert_eq!(refused.code, Code::InvalidArgument);
    let unknown = Selection::Ids(vec!["999-5".parse().expect("an id")]);
    let refused = engine.resume_errors(NAMESPACE, unknown, &resume()).await.expect_err("gone");
    assert_eq!(refused.code, Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn d_115_errors_are_counted_by_kind() {
    let rig = Rig::new().await;
    rig.parks().await;
    for n in 0..5 {
        rig.failed(&format!("o-{n}"), &format!("order {n} is unknown")).await;
    }
    rig.failed("o-9", "no disk").await;
    let groups = rig
        .engine()
        .group_errors(NAMESPACE, ErrorFilter::default(), ErrorGroup::Fingerprint, 10)
        .await
        .expect("groups");
    let counts: Vec<u64> = groups.iter().map(|group| group.count).collect();
    assert_eq!(counts, [5, 1]);
    let parked = ErrorFilter { states: vec![ErrorState::Parked], ..ErrorFilter::default() };
    assert_eq!(rig.engine().count_errors(NAMESPACE, parked).await.expect("a count"), 6);
    assert_eq!(rig.count("RetryState = 'parked'").await.expect("a count"), 6);
}

#[tokio::test(start_paused = true)]
async fn an_operators_rule_holds_at_once_and_says_that_it_decided() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 1.0, 0)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        let work = rig.next_activity().await;
        let put = NewPolicy {
            name: "bank".to_owned(),
            position: Position::Before,
            scope: Scope {
                activity: Some(NamePattern::new("Charge").expect("a name")),
                ..Scope::default()
            },
            policy: serde_json::from_str(
                r#"{"rules": [{"match": {"message": "asleep"}, "action": "retry", "max_attempts": 5,
                    "backoff": {"kind": "constant", "initial": "7m"}}]}"#,
            )
            .expect("a policy"),
            ..NewPolicy::default()
        };
        let (version, warnings) =
            rig.engine().put_policy(NAMESPACE, put.clone(), who()).await.expect("good");
        assert_eq!((version.version, warnings), (1, Vec::new()));
        let second = rig.engine().put_policy(NAMESPACE, put, who()).await.expect_err("unseen");
        assert_eq!(second.code, Code::Aborted);
        assert!(second.message.contains("ana"), "{second}");
        rig.point().await;
        rig.fail_activity(&work, "the bank is asleep").await.expect("taken");
        rig.point().await;
        let listed = rig.listed().await;
        let attempts = rig.engine().workflow_attempts(NAMESPACE, &execution("order-1", "")).await;
        let attempts = attempts.expect("a log");
        let last = attempts[0].rows.last().expect("an attempt");
        format!("{listed}\n{} {} {} {}", last.policy, last.layer, last.rule, last.source)
    });
    insta::assert_snapshot!(told.await, @r#"
    order-1 a retrying x2 "the bank is asleep" (retry in 7m: backoff (rule 1)), next at 421
    bank@1 operator message="asleep" activity=Charge backoff
    "#);
}

#[tokio::test(start_paused = true)]
async fn many_are_resumed_at_a_pace_and_each_once() {
    let told = survives(async |rig: &Rig| {
        rig.parks().await;
        for n in 0..6 {
            rig.failed(&format!("o-{n:02}"), "no network").await;
        }
        let began = rig.elapsed();
        let job = NewResumeJob {
            id: "job-1".to_owned(),
            selection: Selection::Everything,
            resume: resume(),
            canary: 2,
            rate: JobRate::Fixed(0.5),
            max_failures: 0.5,
            order: JobOrder::Oldest,
        };
        rig.engine().start_resume_job(NAMESPACE, job).await.expect("good");
        rig.point().await;
        let mut tried = Vec::new();
        for _ in 0..6 {
            let work = rig.next_activity().await;
            assert_eq!(work.attempt, 2);
            tried.push(work.workflow_execution.clone().expect("a run").workflow_id);
            rig.complete_activity(&work, "ok").await.expect("taken");
        }
        tried.dedup();
        let took = rig.elapsed() - began;
        assert!((10..=17).contains(&took), "one every 2 s, after the canaries: {took}");
        rig.wait(5).await;
        let progress = rig.engine().describe_resume_job(NAMESPACE, "job-1").expect("a job");
        assert_eq!(progress.state, JobState::Completed);
        format!(
            "{} tried, {} resumed, {} succeeded",
            tried.len(),
            progress.resumed,
            progress.succeeded
        )
    });
    assert_eq!(told.await, "6 tried, 6 resumed, 6 succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_bulk_resume_stops_when_its_canaries_fail_again() {
    let rig = Rig::new().await;
    rig.parks().await;
    for n in 0..10 {
        rig.failed(&format!("o-{n}"), "no network").await;
    }
    let job = NewResumeJob {
        id: "job-1".to_owned(),
        selection: Selection::Everything,
        resume: resume(),
        canary: 3,
        rate: JobRate::Fixed(100.0),
        max_failures: 0.1,
        order: JobOrder::Oldest,
    };
    rig.engine().start_resume_job(NAMESPACE, job).await.expect("good");
    for _ in 0..3 {
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
    }
    rig.wait(5).await;
    let progress = rig.engine().describe_resume_job(NAMESPACE, "job-1").expect("a job");
    assert_eq!((progress.state, progress.resumed), (JobState::TooManyFailures, 3));
    assert_eq!(rig.errors().await.len(), 10, "all are parked again");
}

/// Has everything parked, and somebody told of it.
async fn park_and_tell(rig: &Rig, notify: &str) {
    let settings = format!(r#"{{"endings": [{{"ending": "park"}}], "notify": [{notify}]}}"#);
    let settings: Settings = serde_json::from_str(&settings).expect("settings");
    rig.engine().set_failure_settings(NAMESPACE, settings, who()).await.expect("good");
}

#[tokio::test(start_paused = true)]
async fn a_workflow_that_wants_to_know_is_told_once() {
    let told = survives(async |rig: &Rig| {
        let signal = r#"{"on": ["parked"], "signal": {"workflowId": "watch", "name": "parked"}}"#;
        park_and_tell(rig, signal).await;
        rig.start("watch").await;
        rig.step(vec![]).await;
        rig.failed("order-1", "no network").await;
        rig.point().await;
        rig.settle().await;
        rig.names("watch").await.iter().filter(|name| name.contains("Signaled")).count().to_string()
    });
    assert_eq!(told.await, "1");
}

/// Otherwise the next engine would tell it again, and the run could not be deleted before.
#[tokio::test(start_paused = true)]
async fn a_run_hears_that_its_document_was_taken_also_from_a_bad_disk() {
    let limits = Limits { cached_runs_max: 1, ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    park_and_tell(&rig, r#"{"on": ["parked"], "webhook": "https://hook.example.com"}"#).await;
    let door = rig.hook.door.acquire().await;
    rig.failed("order-1", "no network").await;
    for n in 2..5 {
        // Others take its place in memory.
        rig.start(&format!("order-{n}")).await;
        rig.settle().await;
    }
    rig.store().fail_reads([Fault::Busy; 7]);
    drop(door);
    rig.wait(60).await;
    assert_eq!(rig.hook.heard(), 1);
    rig.restart().await;
    rig.wait(600).await;
    assert_eq!(rig.hook.heard(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_make_sense_is_refused_with_all_that_is_wrong() {
    let rig = Rig::new().await;
    let engine = rig.engine();
    let wrong = draft(r#"{"name": "x", "maxAttempts": 1, "backOff": {"delay": -1}}"#);
    let refused = engine.create_resume_policy(NAMESPACE, wrong, who()).await.expect_err("wrong");
    for part in ["errorSubstring", "maxAttempts", "backOff.delay"] {
        assert!(refused.message.contains(part), "{refused}");
    }
    let one = r#"{"name": "x", "flow": "F", "maxAttempts": 3, "backOff": {"delay": 1}}"#;
    engine.create_resume_policy(NAMESPACE, draft(one), who()).await.expect("good");
    for (same, what) in
        [(one.replace("\"F\"", "\"G\""), "name"), (one.replace("\"x\"", "\"y\""), "criteria")]
    {
        let refused = engine.create_resume_policy(NAMESPACE, draft(&same), who()).await;
        assert!(refused.expect_err(what).message.contains("duplicate name or criteria"));
    }
    let all = NewPolicy {
        name: "all".to_owned(),
        policy: serde_json::from_str(r#"{"default": {"action": "fail"}}"#).expect("a policy"),
        ..NewPolicy::default()
    };
    let refused = engine.put_policy(NAMESPACE, all, who()).await.expect_err("takes everything");
    assert!(refused.message.contains("every failure"), "{refused}");
    assert_eq!(engine.failure_book(NAMESPACE).expect("a book").policies, []);
}
#[tokio::test(start_paused = true)]
async fn d_04_d_29_d_30_a_resume_policy_does_it_without_a_person() {
    let told = survives(async |rig: &Rig| {
        let policy = draft(
            r#"{"name": "again", "flow": "Order", "maxAttempts": 2, "backOff": {"delay": 10}}"#,
        );
        rig.engine().create_resume_policy(NAMESPACE, policy, who()).await.expect("good");
        rig.point().await;
        rig.failed("order-1", "no network").await;
        rig.point().await;
        let first = rig.listed().await;
        let work = rig.next_activity().await;
        assert_eq!((rig.elapsed(), work.attempt), (10, 2));
        // The policy is used up, and nothing parks what no policy takes.
        rig.fail_activity(&work, "no network").await.expect("taken");
        rig.point().await;
        rig.step(vec![fail("gave up")]).await;
        format!("{first}\n{}", rig.listed().await)
    });
    insta::assert_snapshot!(told.await, @r#"
    order-1 a parked x1 "no network" (again), next at 10
    order-1  failed x1 "gave up" (fail: no retry policy)
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_goes_on_from_before_the_step_that_failed() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 1.0, 1)]).await;
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "first").await.expect("taken");
        rig.step(vec![retried("b", 1, 1.0, 1)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        rig.step(vec![fail("the second step failed")]).await;
        rig.point().await;
        let failed = rig.listed().await;
        let acted = rig.engine().resume_errors(NAMESPACE, Selection::Everything, &resume()).await;
        let acted = acted.expect("good");
        assert!(acted[0].outcome.as_ref().is_ok_and(|run| !run.is_empty()), "{acted:?}");
        rig.point().await;
        rig.step(vec![retried("b", 1, 1.0, 1)]).await;
        let work = rig.next_activity().await;
        assert_eq!(work.activity_id, "b", "the first step is not done again");
        rig.complete_activity(&work, "second").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        format!("{failed}\nthen:{}", rig.listed().await)
    });
    insta::assert_snapshot!(told.await, @r#"
    order-1  failed x1 "the second step failed" (fail: no retry policy)
    then:
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_what_is_already_retrying_is_changed_with_a_look_ahead() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 3_600, 1.0, 0)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        rig.wait(10).await;
        rig.point().await;
        let mut change = Change { who: who(), now: true, ..Change::default() };
        change.what.policy =
            Some(r#"{"default": {"backoff": {"kind": "constant", "initial": "1m"}}}"#.to_owned());
        let engine = rig.engine();
        let seen =
            engine.preview_change(NAMESPACE, Selection::Everything, &change).await.expect("good");
        assert_eq!((seen.pending, seen.sooner, seen.later, seen.ended), (1, 1, 0, 0));
        let before = rig.listed().await;
        let acted = engine.change_errors(NAMESPACE, Selection::Everything, &change).await;
        assert!(all_went_well(&acted.expect("good")));
        rig.point().await;
        let after = rig.listed().await;
        let work = rig.next_activity().await;
        format!("{before}\n{after}\nattempt {} at {}", work.attempt, rig.elapsed())
    });
    insta::assert_snapshot!(told.await, @r#"
    order-1 a retrying x1 "no network" (retry in 1h: backoff), next at 3600
    order-1 a retrying x1 "no network" (policy changed by ana), next at 60
    attempt 2 at 60
    "#);
}

#[tokio::test(start_paused = true)]
async fn changed_metadata_reaches_the_next_attempt_only() {
    let rig = Rig::new().await;
    rig.parks().await;
    rig.failed("order-1", "no network").await;
    let metadata = [("region".to_owned(), payload("\"eu\""))].into();
    let mut with = Resume { metadata, ..resume() };
    with.change.input = Some(payloads("other"));
    let acted = rig.engine().resume_errors(NAMESPACE, Selection::Everything, &with).await;
    assert!(all_went_well(&acted.expect("good")));
    let work = rig.next_activity().await;
    assert_eq!(work.input, Some(payloads("other")));
    assert!(work.header.as_ref().is_some_and(|it| it.fields.contains_key("region")));
    rig.fail_activity(&work, "no network").await.expect("taken");
    let acted = rig.engine().resume_errors(NAMESPACE, Selection::Everything, &resume()).await;
    assert!(all_went_well(&acted.expect("good")));
    let work = rig.next_activity().await;
    assert_eq!(work.input, Some(payloads("other")));
    assert!(!work.header.as_ref().is_some_and(|it| it.fields.contains_key("region")));
}
