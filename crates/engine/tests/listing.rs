//! Lists, counts and descriptions: what was just written can be read.

use steadfast_engine::Code;
use steadfast_proto::{
    enums::{IndexedValueType as Type, WorkflowExecutionStatus as Status},
    filter,
    history::history_event::Attributes,
    workflowservice as ws,
    workflowservice::{
        list_closed_workflow_executions_request::Filters as Closed,
        list_open_workflow_executions_request::Filters as Open,
    },
};

use crate::common::{
    NAMESPACE, QUEUE, Rig, attributes, child, child_with, complete, execution, fail, survives,
    timer, upsert,
};

async fn with_attributes(rig: &Rig) {
    rig.add_attributes(&[("Customer", Type::Keyword), ("Amount", Type::Int)]).await.expect("added");
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_at_once_what_was_started_closed_or_changed() {
    let told = survives(async |rig: &Rig| {
        with_attributes(rig).await;
        let start = rig.start_with("order-1", |it| {
            it.search_attributes = Some(attributes("Customer", "\"ann\""));
        });
        start.await.expect("a start");
        assert_eq!(rig.count("Customer = 'ann' AND ExecutionStatus = 'Running'").await, Ok(1));
        rig.step(vec![upsert("Customer", "\"bob\""), upsert("Amount", "7"), timer("t", 60)]).await;
        rig.point().await;
        assert_eq!(rig.count("Customer = 'ann'").await, Ok(0));
        assert_eq!(rig.list("Customer = 'bob' AND Amount > 5").await.expect("a list").len(), 1);
        rig.step(vec![upsert("Customer", "null"), complete("done")]).await;
        rig.point().await;
        assert_eq!(rig.count("Customer IS NULL AND ExecutionStatus = 'Completed'").await, Ok(1));
        String::new()
    });
    told.await;
}

/// SDKs read them by it; older ones do not send it.
#[tokio::test(start_paused = true)]
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events carry none")]
async fn attributes_have_their_types_in_the_history() {
    let rig = Rig::new().await;
    with_attributes(&rig).await;
    let start = rig.start_with("order-1", |it| {
        it.search_attributes = Some(attributes("Customer", "[\"ann\"]"));
    });
    start.await.expect("a start");
    let young = child_with("child-1", |it| {
        it.search_attributes = Some(attributes("Customer", "\"bob\""));
    });
    rig.step(vec![upsert("Amount", "[7]"), young]).await;
    let mut events = rig.history("order-1", "").await;
    events.extend(rig.history("child-1", "").await);
    let given = events.into_iter().filter_map(|event| match event.attributes? {
        Attributes::WorkflowExecutionStartedEventAttributes(it) => it.search_attributes,
        Attributes::UpsertWorkflowSearchAttributesEventAttributes(it) => it.search_attributes,
        Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(it) => it.search_attributes,
        _ => None,
    });
    let typed: Vec<_> = given
        .flat_map(|it| it.indexed_fields)
        .map(|(name, it)| (name, String::from_utf8_lossy(&it.metadata["type"]).into_owned()))
        .collect();
    let [customer, amount] =
        [("Customer", "Keyword"), ("Amount", "Int")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(typed, [customer.clone(), amount, customer.clone(), customer]);
}

#[tokio::test(start_paused = true)]
async fn a_workflow_that_sets_an_attribute_that_does_not_exist_fails_its_task() {
    let told = survives(async |rig: &Rig| {
        with_attributes(rig).await;
        rig.start("order-1").await;
        for (bad, said) in [
            (upsert("Colour", "\"red\""), "Colour"),
            (upsert("Amount", "\"many\""), "Amount"),
            (upsert("WorkflowId", "\"x\""), "WorkflowId"),
        ] {
            let refused = loop {
                let task = rig.next_task(QUEUE).await;
                let refused = rig.complete_task(&task, vec![bad.clone()]).await.expect_err("bad");
                if refused.code != Code::NotFound {
                    break refused;
                }
            };
            assert_eq!(refused.code, Code::InvalidArgument);
            assert!(refused.message.starts_with("BadSearchAttributes: "), "{refused}");
            assert!(refused.message.contains(said), "{refused}");
        }
        rig.step(vec![upsert("Amount", "7"), complete("done")]).await;
        let text = rig.text("order-1", "").await;
        let failed = text.lines().find(|line| line.contains("WorkflowTaskFailed")).expect("one");
        assert!(failed.contains("BadSearchAttributes"), "{failed}");
        assert_eq!(text.matches("UpsertWorkflowSearchAttributes").count(), 1, "{text}");
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn a_start_with_an_attribute_that_does_not_exist_is_refused() {
    let rig = Rig::new().await;
    with_attributes(&rig).await;
    for (name, json) in [("Colour", "\"red\""), ("Amount", "\"many\""), ("RunId", "\"x\"")] {
        let start = rig.start_with("order-1", |it| {
            it.search_attributes = Some(attributes(name, json));
        });
        let refused = start.await.expect_err("bad");
        assert_eq!(refused.code, Code::InvalidArgument);
        assert!(refused.message.contains(name), "{refused}");
    }
    assert_eq!(rig.count("").await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_list_comes_in_pages_open_ones_first_and_newest_first() {
    let rig = Rig::new().await;
    for n in 0..7 {
        rig.start(&format!("order-{n}")).await;
        if n < 3 {
            rig.step(vec![complete("done")]).await;
        }
        rig.wait(1).await;
    }
    let mut ids = Vec::new();
    let mut next_page_token = Vec::new();
    loop {
        let request = ws::ListWorkflowExecutionsRequest {
            namespace: NAMESPACE.to_owned(),
            page_size: 2,
            next_page_token,
            ..ws::ListWorkflowExecutionsRequest::default()
        };
        let page = rig.engine().list_workflow_executions(request).await.expect("a page");
        assert!(page.executions.len() <= 2);
        let page_ids = page.executions.into_iter().map(|it| it.execution.expect("one").workflow_id);
        ids.extend(page_ids);
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    let expected = [6, 5, 4, 3, 2, 1, 0].map(|n| format!("order-{n}"));
    assert_eq!(ids, expected);
}

#[tokio::test(start_paused = true)]
async fn internal_workflows_are_listed_only_when_they_are_asked_for() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let internal = rig.start_with("internal-1", |it| {
        it.search_attributes = Some(attributes("TemporalNamespaceDivision", "\"Scheduler\""));
    });
    internal.await.expect("a start");
    assert_eq!(rig.list("").await.expect("a list"), ["order-1"]);
    assert_eq!(rig.count("").await, Ok(1));
    let asked = rig.list("TemporalNamespaceDivision = 'Scheduler'").await.expect("a list");
    assert_eq!(asked, ["internal-1"]);
}

#[tokio::test(start_paused = true)]
async fn counts_can_be_grouped_by_status_and_bad_queries_are_refused() {
    let rig = Rig::new().await;
    for n in 0..5 {
        rig.start(&format!("order-{n}")).await;
        rig.step(vec![if n < 2 { fail("no luck") } else { complete("done") }]).await;
    }
    let request = ws::CountWorkflowExecutionsRequest {
        namespace: NAMESPACE.to_owned(),
        query: "GROUP BY ExecutionStatus".to_owned(),
    };
    let counted = rig.engine().count_workflow_executions(request).await.expect("counts");
    let groups: Vec<(String, i64)> = counted
        .groups
        .iter()
        .map(|it| (String::from_utf8_lossy(&it.group_values[0].data).into_owned(), it.count))
        .collect();
    assert_eq!(groups, [("\"Completed\"".to_owned(), 3), ("\"Failed\"".to_owned(), 2)]);
    for bad in ["WorkflowId =", "Colour = 'red'", "ExecutionStatus = 'Asleep'"] {
        let refused = rig.list(bad).await.expect_err("bad");
        assert_eq!(refused.code, Code::InvalidArgument, "{bad}");
        assert!(refused.message.starts_with("invalid query"), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_description_has_what_clients_look_at() {
    let told = survives(async |rig: &Rig| {
        let run_id = rig.start("order-1").await;
        rig.step(vec![child("child-1"), timer("t", 60)]).await;
        rig.step(vec![]).await;
        rig.point().await;
        let seen = rig.describe("order-1").await.expect("a run");
        let info = seen.workflow_execution_info.expect("an info");
        assert_eq!(info.execution, Some(execution("order-1", &run_id)));
        assert_eq!(info.r#type.as_ref().expect("a type").name, "Order");
        assert_eq!(info.status(), Status::Running);
        assert_eq!(info.start_time.expect("a time").seconds, 1_000_000);
        assert_eq!(info.execution_time.expect("a time").seconds, 1_000_000);
        assert_eq!(info.close_time, None);
        assert_eq!(info.task_queue, QUEUE);
        assert_eq!(info.first_run_id, run_id);
        assert_eq!(info.root_execution, Some(execution("order-1", &run_id)));
        assert!(info.memo.is_some() && info.search_attributes.is_some());
        assert!(info.history_size_bytes > 0);
        assert_eq!(seen.pending_children[0].workflow_id, "child-1");
        assert_eq!(seen.pending_workflow_task, None);
        let config = seen.execution_config.expect("a config");
        assert_eq!(config.task_queue.expect("a queue").name, QUEUE);
        let child = rig.describe("child-1").await.expect("a run");
        let child = child.workflow_execution_info.expect("an info");
        assert_eq!(child.parent_execution, Some(execution("order-1", &run_id)));
        assert_eq!(child.root_execution, Some(execution("order-1", &run_id)));
        rig.terminate("order-1").await.expect("ended");
        let seen = rig.describe("order-1").await.expect("a run");
        assert_eq!(seen.workflow_execution_info.expect("an info").status(), Status::Terminated);
        info.history_length.to_string()
    });
    assert_eq!(told.await, "10");
}

#[tokio::test(start_paused = true)]
async fn open_and_closed_workflows_are_listed_apart() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![complete("done")]).await;
    rig.wait(60).await;
    rig.start("order-2").await;
    rig.step(vec![fail("no luck")]).await;
    rig.start("order-3").await;
    rig.start_with("trip-1", |it| {
        it.workflow_type = Some(steadfast_proto::common::WorkflowType { name: "Trip".to_owned() });
    })
    .await
    .expect("started");
    let engine = rig.engine();
    let open = async |change: &dyn Fn(&mut ws::ListOpenWorkflowExecutionsRequest)| {
        let mut request = ws::ListOpenWorkflowExecutionsRequest {
            namespace: NAMESPACE.to_owned(),
            ..ws::ListOpenWorkflowExecutionsRequest::default()
        };
        change(&mut request);
        engine.list_open_workflow_executions(request).await.map(|it| ids(it.executions))
    };
    let closed = async |change: &dyn Fn(&mut ws::ListClosedWorkflowExecutionsRequest)| {
        let mut request = ws::ListClosedWorkflowExecutionsRequest {
            namespace: NAMESPACE.to_owned(),
            ..ws::ListClosedWorkflowExecutionsRequest::default()
        };
        change(&mut request);
        engine.list_closed_workflow_executions(request).await.map(|it| ids(it.executions))
    };
    let is = |text: &str| Ok(text.to_owned());
    assert_eq!(open(&|_| {}).await, is("trip-1 order-3"));
    assert_eq!(closed(&|_| {}).await, is("order-2 order-1"));
    let trip = filter::WorkflowTypeFilter { name: "Trip".to_owned() };
    assert_eq!(open(&|it| it.filters = Some(Open::TypeFilter(trip.clone()))).await, is("trip-1"));
    let third = filter::WorkflowExecutionFilter {
        workflow_id: "order-3".to_owned(),
        run_id: String::new(),
    };
    let by_id = open(&|it| it.filters = Some(Open::ExecutionFilter(third.clone()))).await;
    assert_eq!(by_id, is("order-3"));
    let status = |status: Status| filter::StatusFilter { status: status.into() };
    let failed =
        closed(&|it| it.filters = Some(Closed::StatusFilter(status(Status::Failed)))).await;
    assert_eq!(failed, is("order-2"));
    let running =
        closed(&|it| it.filters = Some(Closed::StatusFilter(status(Status::Running)))).await;
    assert_eq!(running.expect_err("not closed").code, Code::InvalidArgument);
    let at = |seconds: i64| Some(steadfast_proto::prost_types::Timestamp { seconds, nanos: 0 });
    let times = |from, to| filter::StartTimeFilter { earliest_time: at(from), latest_time: at(to) };
    let early = closed(&|it| it.start_time_filter = Some(times(0, 1_000_030))).await;
    assert_eq!(early, is("order-1"), "by when it closed");
    let late = open(&|it| it.start_time_filter = Some(times(1_000_030, 2_000_000))).await;
    assert_eq!(late, is("trip-1 order-3"), "by when it started");
    let backwards = open(&|it| it.start_time_filter = Some(times(10, 5))).await;
    assert_eq!(backwards.expect_err("backwards").code, Code::InvalidArgument);
    let scan = ws::ScanWorkflowExecutionsRequest {
        namespace: NAMESPACE.to_owned(),
        query: "WorkflowType = 'Order'".to_owned(),
        page_size: 2,
        ..ws::ScanWorkflowExecutionsRequest::default()
    };
    let page = engine.scan_workflow_executions(scan).await.expect("a page");
    assert_eq!(page.executions.len(), 2);
    assert!(!page.next_page_token.is_empty());
}

fn ids(executions: Vec<steadfast_proto::workflow::WorkflowExecutionInfo>) -> String {
    let id = |it: steadfast_proto::workflow::WorkflowExecutionInfo| {
        it.execution.expect("an execution").workflow_id
    };
    executions.into_iter().map(id).collect::<Vec<_>>().join(" ")
}
