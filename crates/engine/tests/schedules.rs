//! Schedules through the public calls: made, looked at, changed, listed, and what they start.

use std::time::Duration;

use steadfast_core::{span, text};
use steadfast_engine::{Code, Timestamp};
use steadfast_proto::{
    common::{self, Memo},
    enums::{
        IndexedValueType as Type, ScheduleOverlapPolicy as Policy, WorkflowIdReusePolicy as Reuse,
    },
    history::history_event::Attributes,
    schedule::{Range, ScheduleSpec, ScheduleState, StructuredCalendarSpec},
    workflowservice as ws,
};
use steadfast_store::Store as _;

use crate::common::{
    NAMESPACE, Rig, action, attributes, backfill, complete, fail, payload, payloads, schedule,
    survives, trigger,
};

fn cron(text: &str) -> ScheduleSpec {
    ScheduleSpec { cron_string: vec![text.to_owned()], ..ScheduleSpec::default() }
}

fn instant(text: &str) -> Timestamp {
    let at: jiff::Timestamp = text.parse().expect("an instant");
    Timestamp(i64::try_from(at.as_nanosecond()).expect("not that far"))
}

async fn first_event(rig: &Rig, workflow_id: &str) -> steadfast_core::Started {
    let first = rig.history(workflow_id, "").await.into_iter().next().expect("an event");
    match first.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => *started,
        _ => panic!("the first event says how it started"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_schedule_starts_says_who_started_it_and_when() {
    let told = survives(async |rig: &Rig| {
        let mut wanted = schedule(Policy::Skip);
        action(&mut wanted).input = Some(payloads("input"));
        action(&mut wanted).search_attributes = Some(attributes("TemporalChangeVersion", "\"v1\""));
        rig.create_schedule("s", wanted).await;
        rig.at(101).await;
        let started = first_event(rig, "w-1970-01-12T13:48:20Z").await;
        assert_eq!(started.identity, "temporal-scheduler-default-s");
        assert_eq!(started.input, Some(payloads("input")));
        let mut fields: Vec<String> = started
            .search_attributes
            .unwrap_or_default()
            .indexed_fields
            .into_iter()
            .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(&value.data)))
            .collect();
        fields.sort();
        rig.point().await;
        let by_id = rig.list("TemporalScheduledById = 's'").await.expect("a list");
        let by_time = "TemporalScheduledStartTime = '1970-01-12T13:48:20Z'";
        assert_eq!(rig.list(by_time).await, Ok(by_id));
        fields.join("\n")
    });
    insta::assert_snapshot!(told.await, @r#"
    TemporalChangeVersion="v1"
    TemporalScheduledById="s"
    TemporalScheduledStartTime="1970-01-12T13:48:20Z"
    "#);
}

#[tokio::test(start_paused = true)]
async fn each_run_is_told_of_the_last_result_and_failure() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::Skip)).await;
        rig.at(101).await;
        rig.step(vec![complete("one")]).await;
        rig.at(201).await;
        let second = first_event(rig, "w-1970-01-12T13:50:00Z").await;
        assert_eq!(second.last_completion_result, Some(payloads("one")));
        assert_eq!(second.continued_failure, None);
        rig.step(vec![fail("no luck")]).await;
        rig.at(301).await;
        let third = first_event(rig, "w-1970-01-12T13:51:40Z").await;
        assert_eq!(third.last_completion_result, Some(payloads("one")));
        third.continued_failure.expect("the failure").message
    });
    assert_eq!(told.await, "no luck");
}

#[tokio::test(start_paused = true)]
async fn a_trigger_is_seen_at_once() {
    let told = survives(async |rig: &Rig| {
        let mut wanted = schedule(Policy::Skip);
        wanted.spec = None;
        let create = rig.create_schedule_with("s", wanted, |it| {
            it.initial_patch = Some(trigger(Policy::Unspecified));
        });
        create.await.expect("a schedule");
        let mut told = rig.schedule("s").await;
        rig.at(10).await;
        // Not with the plug pulled: asked twice it would count twice.
        if rig.schedule("s").await.contains("done 1") {
            let patch = trigger(Policy::AllowAll);
            rig.engine().patch_schedule(patch_of("s", patch)).await.expect("triggered");
        }
        told += &rig.schedule("s").await;
        told
    });
    insta::assert_snapshot!(told.await, @r"
     0  done 1 running [13:46:40] recent [13:46:40 Running]
    10  done 2 running [13:46:40] recent [13:46:40 Running, 13:46:50 Running]
    ");
}

fn patch_of(id: &str, patch: steadfast_proto::schedule::SchedulePatch) -> ws::PatchScheduleRequest {
    ws::PatchScheduleRequest {
        namespace: NAMESPACE.to_owned(),
        schedule_id: id.to_owned(),
        patch: Some(patch),
        request_id: "the same".to_owned(),
        ..ws::PatchScheduleRequest::default()
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_request_counts_once() {
    let rig = Rig::new().await;
    let first = rig.create_schedule_with("s", schedule(Policy::AllowAll), |_| {}).await;
    let again = rig.create_schedule_with("s", schedule(Policy::AllowAll), |_| {}).await;
    assert_eq!(first, again);
    let other = rig.create_schedule_with("s", schedule(Policy::AllowAll), |it| {
        it.request_id = "other".to_owned();
    });
    let refused = other.await.expect_err("the id is taken");
    assert_eq!(refused.code, Code::AlreadyExists);
    assert!(matches!(refused.detail.as_deref(), Some(steadfast_engine::Detail::AlreadyStarted(_))));
    for _ in 0..3 {
        let request = patch_of("s", trigger(Policy::Unspecified));
        rig.engine().patch_schedule(request).await.expect("patched");
    }
    assert!(rig.schedule("s").await.contains("done 1 "));
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_what_is_not_too_old_is_made_up_for() {
    let rig = Rig::new().await;
    let mut wanted = schedule(Policy::AllowAll);
    let window = span::to_wire(Duration::from_secs(250));
    wanted.policies.as_mut().expect("policies").catchup_window = window;
    rig.create_schedule("s", wanted).await;
    rig.engine().abandon();
    rig.at(1_010).await;
    rig.crash().await;
    rig.at(1_011).await;
    insta::assert_snapshot!(rig.schedule("s").await, @r"1011  done 3 missed 7 running [] recent [14:00:00 Running, 14:01:40 Running, 14:03:20 Running]");
}

#[tokio::test(start_paused = true)]
async fn a_backfill_minds_the_clocks_of_its_zone() {
    let told = survives(async |rig: &Rig| {
        let mut wanted = schedule(Policy::Skip);
        wanted.spec = Some(cron("CRON_TZ=America/New_York 30 2 * * *"));
        rig.create_schedule("s", wanted).await;
        // On 10 March 2024 there was no 02:30 in New York.
        let (start, end) = (instant("2024-03-09T00:00:00Z"), instant("2024-03-12T06:30:00Z"));
        let request = patch_of("s", backfill(start, end, Policy::BufferAll));
        rig.engine().patch_schedule(request).await.expect("patched");
        for _ in 0..3 {
            rig.step(vec![complete("done")]).await;
        }
        rig.at(10).await;
        let seen = rig.describe_schedule("s").await.expect("a schedule");
        let recent = seen.info.expect("an info").recent_actions;
        let ids = recent.into_iter().map(|it| it.start_workflow_result.unwrap_or_default());
        ids.map(|it| it.workflow_id).collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(told.await, @r"
    w-2024-03-09T07:30:00Z
    w-2024-03-11T06:30:00Z
    w-2024-03-12T06:30:00Z
    ");
}

#[tokio::test(start_paused = true)]
async fn a_paused_schedule_does_nothing_until_it_goes_on() {
    let told = survives(async |rig: &Rig| {
        let mut wanted = schedule(Policy::AllowAll);
        wanted.state =
            Some(ScheduleState { paused: true, notes: "not yet".to_owned(), ..Default::default() });
        rig.create_schedule("s", wanted).await;
        rig.at(350).await;
        let mut told = rig.schedule("s").await;
        let unpause = steadfast_proto::schedule::SchedulePatch {
            unpause: "now".to_owned(),
            ..Default::default()
        };
        rig.patch_schedule("s", unpause).await.expect("patched");
        rig.at(401).await;
        told += &rig.schedule("s").await;
        let pause = steadfast_proto::schedule::SchedulePatch {
            pause: "enough".to_owned(),
            ..Default::default()
        };
        rig.patch_schedule("s", pause).await.expect("patched");
        rig.at(601).await;
        told += &rig.schedule("s").await;
        told
    });
    insta::assert_snapshot!(told.await, @r#"
    350  done 0 running [] recent [] paused "not yet"
    401  done 1 running [] recent [13:53:20 Running]
    601  done 1 running [] recent [13:53:20 Running] paused "enough"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_pauses_its_schedule_if_it_is_to() {
    let told = survives(async |rig: &Rig| {
        let mut wanted = schedule(Policy::Skip);
        wanted.policies.as_mut().expect("policies").pause_on_failure = true;
        rig.create_schedule("s", wanted).await;
        rig.at(101).await;
        rig.step(vec![fail("no luck")]).await;
        rig.at(301).await;
        rig.schedule("s").await
    });
    insta::assert_snapshot!(told.await, @r#" 301  done 1 running [] recent [13:48:20 Failed] paused "paused due to workflow failure: w-1970-01-12T13:48:20Z: no luck""#);
}

#[tokio::test(start_paused = true)]
async fn a_limited_schedule_stops() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", limited()).await;
        rig.at(501).await;
        let told = rig.schedule("s").await;
        let seen = rig.describe_schedule("s").await.expect("a schedule");
        let state = seen.schedule.and_then(|it| it.state).expect("a state");
        assert_eq!(state.remaining_actions, 0);
        assert!(seen.info.expect("an info").future_action_times.is_empty());
        told
    });
    insta::assert_snapshot!(told.await, @r" 501  done 2 running [] recent [13:48:20 Running, 13:50:00 Running]");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_with_nothing_more_to_do_is_gone_after_a_week() {
    let rig = Rig::new().await;
    rig.create_schedule("s", limited()).await;
    rig.at(501).await;
    tokio::time::advance(Duration::from_secs(7 * 86_400 - 1_000)).await;
    rig.wait(1).await;
    assert!(rig.describe_schedule("s").await.is_ok());
    tokio::time::advance(Duration::from_secs(1_000)).await;
    rig.wait(1).await;
    let gone = rig.describe_schedule("s").await.expect_err("it is gone");
    assert_eq!(gone.code, Code::NotFound);
    assert_eq!(rig.list_schedules("").await, Ok(vec![]));
}

/// Twice and no more.
fn limited() -> steadfast_proto::schedule::Schedule {
    let mut wanted = schedule(Policy::AllowAll);
    wanted.state = Some(ScheduleState {
        limited_actions: true,
        remaining_actions: 2,
        ..ScheduleState::default()
    });
    wanted
}

#[tokio::test(start_paused = true)]
async fn an_original_workflow_id_is_used_again_and_again() {
    let told = survives(async |rig: &Rig| {
        let mut wanted = schedule(Policy::Skip);
        wanted.policies.as_mut().expect("policies").keep_original_workflow_id = true;
        rig.create_schedule("s", wanted).await;
        rig.at(101).await;
        rig.step(vec![complete("one")]).await;
        rig.at(201).await;
        rig.schedule("s").await
    });
    insta::assert_snapshot!(told.await, @r" 201  done 2 running [w] recent [w Completed, w Running]");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_has_seen_an_older_schedule_is_refused() {
    let rig = Rig::new().await;
    let created = rig.create_schedule_with("s", schedule(Policy::Skip), |_| {}).await;
    let stale = created.expect("a schedule").conflict_token;
    assert!(!stale.is_empty());
    let mut wanted = schedule(Policy::BufferAll);
    wanted.spec = Some(cron("0 12 * * MON # at noon"));
    rig.update_schedule("s", wanted, stale.clone()).await.expect("updated");
    let refused = rig.update_schedule("s", schedule(Policy::Skip), stale).await;
    assert_eq!(refused.expect_err("stale").code, Code::FailedPrecondition);
    let seen = rig.describe_schedule("s").await.expect("a schedule");
    let now = seen.schedule.expect("a schedule");
    assert_eq!(now.policies.expect("policies").overlap_policy(), Policy::BufferAll);
    let spec = now.spec.expect("a spec");
    let one = |start, end| vec![Range { start, end, step: 1 }];
    let expected = StructuredCalendarSpec {
        second: one(0, 0),
        minute: one(0, 0),
        hour: one(12, 12),
        day_of_month: one(1, 31),
        month: one(1, 12),
        day_of_week: one(1, 1),
        year: vec![],
        comment: "at noon".to_owned(),
    };
    assert_eq!(spec.structured_calendar, [expected]);
    assert!(spec.cron_string.is_empty());
    rig.update_schedule("s", schedule(Policy::Skip), Vec::new()).await.expect("whatever there is");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_schedule_is_gone_and_its_runs_go_on() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::Skip)).await;
        rig.at(101).await;
        rig.engine()
            .delete_schedule(ws::DeleteScheduleRequest {
                namespace: NAMESPACE.to_owned(),
                schedule_id: "s".to_owned(),
                ..ws::DeleteScheduleRequest::default()
            })
            .await
            .expect("deleted");
        rig.point().await;
        let gone = rig.describe_schedule("s").await.expect_err("gone");
        assert_eq!(gone.code, Code::NotFound);
        assert_eq!(rig.list_schedules("").await, Ok(vec![]));
        assert_eq!(rig.delete_schedule("s").await.expect_err("gone").code, Code::NotFound);
        rig.at(301).await;
        rig.step(vec![complete("done")]).await;
        // Another one may have its name, and does not hear of what the first one started.
        let again = rig.create_schedule_with("s", schedule(Policy::Skip), |it| {
            it.request_id = "again".to_owned();
        });
        again.await.expect("the name is free");
        rig.at(302).await;
        rig.schedule("s").await
    });
    insta::assert_snapshot!(told.await, @r" 302  done 0 running [] recent []");
}

#[tokio::test(start_paused = true)]
async fn search_attributes_come_with_their_types_and_are_gone_when_emptied() {
    let rig = Rig::new().await;
    rig.add_attributes(&[("Customer", Type::Keyword)]).await.expect("added");
    let mut wanted = schedule(Policy::Skip);
    action(&mut wanted).search_attributes = Some(attributes("Customer", "\"ann\""));
    let create = rig.create_schedule_with("s", wanted, |it| {
        it.search_attributes = Some(attributes("Customer", "\"ann\""));
    });
    create.await.expect("a schedule");
    let mut described = rig.describe_schedule("s").await.expect("there");
    let of_workflow = action(described.schedule.as_mut().expect("set")).search_attributes.clone();
    for told in [&described.search_attributes, &of_workflow] {
        let fields = &told.as_ref().expect("attributes").indexed_fields;
        assert_eq!(&fields["Customer"].metadata["type"], b"Keyword");
    }
    let update = ws::UpdateScheduleRequest {
        namespace: NAMESPACE.to_owned(),
        schedule_id: "s".to_owned(),
        schedule: described.schedule,
        search_attributes: Some(common::SearchAttributes::default()),
        ..ws::UpdateScheduleRequest::default()
    };
    rig.engine().update_schedule(update).await.expect("changed");
    assert_eq!(rig.describe_schedule("s").await.expect("there").search_attributes, None);
}

#[tokio::test(start_paused = true)]
async fn schedules_are_found_by_query_and_workflow_lists_do_not_show_them() {
    let told = survives(async |rig: &Rig| {
        rig.add_attributes(&[("Customer", Type::Keyword)]).await.expect("added");
        for (id, customer) in [("a", "\"ann\""), ("b", "\"bob\""), ("c", "\"ann\"")] {
            let create = rig.create_schedule_with(id, schedule(Policy::Skip), |it| {
                it.search_attributes = Some(attributes("Customer", customer));
                let fields = [("note".to_owned(), payload("\"mine\""))];
                it.memo = Some(Memo { fields: fields.into_iter().collect() });
            });
            create.await.expect("a schedule");
        }
        let pause = steadfast_proto::schedule::SchedulePatch {
            pause: "rest".to_owned(),
            ..Default::default()
        };
        rig.patch_schedule("c", pause).await.expect("patched");
        rig.point().await;
        let list = async |query: &str| rig.list_schedules(query).await.expect("a list").join(" ");
        assert_eq!(list("").await, "c b a");
        assert_eq!(list("Customer = 'ann'").await, "c a");
        assert_eq!(list("Customer = 'ann' AND TemporalSchedulePaused = false").await, "a");
        assert_eq!(list("TemporalSchedulePaused = true").await, "c");
        assert_eq!(list("ScheduleId = 'b'").await, "b");
        assert_eq!(list("ScheduleId STARTS_WITH 'x'").await, "");
        assert_eq!(rig.list("").await, Ok(vec![]), "no workflows");
        let count = ws::CountSchedulesRequest {
            namespace: NAMESPACE.to_owned(),
            query: "Customer = 'ann'".to_owned(),
        };
        assert_eq!(rig.engine().count_schedules(count).await.expect("a count").count, 2);
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_page_by_page_what_schedules_do() {
    let rig = Rig::new().await;
    for id in ["a", "b", "c"] {
        let mut wanted = schedule(Policy::Skip);
        wanted.state = Some(ScheduleState { notes: format!("about {id}"), ..Default::default() });
        action(&mut wanted).workflow_id = id.to_owned();
        let create = rig.create_schedule_with(id, wanted, |it| {
            let fields = [("note".to_owned(), payload("\"mine\""))];
            it.memo = Some(Memo { fields: fields.into_iter().collect() });
        });
        create.await.expect("a schedule");
    }
    rig.at(150).await;
    let mut request = ws::ListSchedulesRequest {
        namespace: NAMESPACE.to_owned(),
        maximum_page_size: 2,
        ..ws::ListSchedulesRequest::default()
    };
    let mut pages = Vec::new();
    loop {
        let page = rig.engine().list_schedules(request.clone()).await.expect("a page");
        let ids: Vec<_> = page.schedules.iter().map(|it| it.schedule_id.clone()).collect();
        pages.push(ids.join(" "));
        for entry in page.schedules {
            assert_eq!(entry.memo.expect("a memo").fields.len(), 1, "nothing of ours");
            assert!(entry.search_attributes.expect("attributes").indexed_fields.is_empty());
            let info = entry.info.expect("an info");
            assert_eq!(info.notes, format!("about {}", entry.schedule_id));
            assert_eq!(info.workflow_type.expect("a type").name, "Order");
            assert_eq!(info.recent_actions.len(), 1);
            let next = info.future_action_times.iter().map(|it| it.seconds - 1_000_000);
            assert_eq!(next.collect::<Vec<_>>(), [200, 300, 400, 500, 600]);
        }
        if page.next_page_token.is_empty() {
            break;
        }
        request.next_page_token = page.next_page_token;
    }
    assert_eq!(pages, ["c b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn the_times_of_a_schedule_can_be_asked_for() {
    let rig = Rig::new().await;
    let mut wanted = schedule(Policy::Skip);
    wanted.spec = Some(cron("CRON_TZ=Europe/Rome 0 9 * * *"));
    rig.create_schedule("s", wanted).await;
    let wire = |text| Some(span::instant_to_wire(instant(text)));
    let request = ws::ListScheduleMatchingTimesRequest {
        namespace: NAMESPACE.to_owned(),
        schedule_id: "s".to_owned(),
        start_time: wire("2024-03-29T08:00:00Z"),
        end_time: wire("2024-04-01T07:00:00Z"),
    };
    let found = rig.engine().list_schedule_matching_times(request).await.expect("times");
    // The clocks of Rome go forward on 31 March.
    let expected = [
        "2024-03-29T08:00:00Z",
        "2024-03-30T08:00:00Z",
        "2024-03-31T07:00:00Z",
        "2024-04-01T07:00:00Z",
    ];
    let expected: Vec<_> = expected.iter().map(|at| span::instant_to_wire(instant(at))).collect();
    assert_eq!(found.start_time, expected);
}

#[tokio::test(start_paused = true)]
async fn a_bad_schedule_is_refused_by_field() {
    let rig = Rig::new().await;
    let refused = async |id: &str, change: fn(&mut steadfast_proto::schedule::Schedule)| {
        let mut wanted = schedule(Policy::Skip);
        change(&mut wanted);
        let refused = rig.create_schedule_with(id, wanted, |_| {}).await.expect_err("bad");
        assert_eq!(refused.code, Code::InvalidArgument, "{refused}");
        refused.message
    };
    assert_eq!(refused("", |_| {}).await, "ScheduleId is not set on request.");
    let message = refused("s", |it| it.action = None).await;
    assert_eq!(message, "schedule.action.start_workflow is not set on request.");
    let message = refused("s", |it| action(it).workflow_id.clear()).await;
    assert_eq!(message, "WorkflowId is not set on request.");
    let message = refused("s", |it| action(it).cron_schedule = "@daily".to_owned()).await;
    assert!(message.contains("cron_schedule"), "{message}");
    let message = refused("s", |it| {
        action(it).workflow_id_reuse_policy = Reuse::RejectDuplicate.into();
    });
    assert!(message.await.contains("workflow_id_reuse_policy"));
    let message = refused("s", |it| it.spec = Some(cron("61 * * * *"))).await;
    assert!(message.starts_with("schedule.spec.minute: \"61\""), "{message}");
    let message = refused("s", |it| {
        it.policies.as_mut().expect("policies").overlap_policy = 77;
    });
    assert!(message.await.contains("overlap_policy"));
    let message = refused("s", |it| {
        action(it).search_attributes = Some(common::SearchAttributes {
            indexed_fields: [("Unknown".to_owned(), payload("1"))].into_iter().collect(),
        });
    });
    assert!(message.await.contains("Unknown"));
    assert_eq!(rig.list_schedules("").await, Ok(vec![]), "nothing has changed");
    for code in [
        rig.describe_schedule("none").await.map(drop),
        rig.patch_schedule("none", trigger(Policy::Skip)).await,
        rig.update_schedule("none", schedule(Policy::Skip), Vec::new()).await,
    ] {
        assert_eq!(code.expect_err("there is none").code, Code::NotFound);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_event_of_a_scheduled_run_is_an_ordinary_one() {
    let rig = Rig::new().await;
    rig.create_schedule("s", schedule(Policy::Skip)).await;
    rig.at(101).await;
    rig.step(vec![complete("done")]).await;
    let events = rig.history("w-1970-01-12T13:48:20Z", "").await;
    let told: Vec<String> = events.iter().map(text::line).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    WorkflowExecutionStarted Order
    WorkflowTaskScheduled
    WorkflowTaskStarted
    WorkflowTaskCompleted
    WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_takes_its_schedules_along() {
    let rig = Rig::new().await;
    let register = ws::RegisterNamespaceRequest {
        namespace: "shop".to_owned(),
        workflow_execution_retention_period: span::to_wire(Duration::from_secs(86_400)),
        ..ws::RegisterNamespaceRequest::default()
    };
    rig.engine().register_namespace(register).await.expect("registered");
    let create = rig.create_schedule_with("s", schedule(Policy::AllowAll), |it| {
        "shop".clone_into(&mut it.namespace);
    });
    create.await.expect("a schedule");
    rig.at(250).await;
    let delete = steadfast_proto::operatorservice::DeleteNamespaceRequest {
        namespace: "shop".to_owned(),
        ..Default::default()
    };
    rig.engine().delete_namespace(delete).await.expect("deleted");
    rig.at(350).await;
    let mut left = Vec::new();
    for shard in 0..4 {
        let shard = steadfast_store::ShardNumber(shard);
        left.extend(rig.store().due(shard, Timestamp::MAX, None, 100).await.expect("a read"));
    }
    assert_eq!(left, [], "nothing will come any more");
}
