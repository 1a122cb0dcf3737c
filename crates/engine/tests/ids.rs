//! Workflow ids and request ids: what is taken, what is the same request once more.

use steadfast_engine::{Code, Detail, Error};
use steadfast_proto::{
    common::{
        Callback,
        callback::{Nexus, Variant as HowCalled},
        link::{Variant, workflow_event::Reference},
    },
    enums::{
        EventType, WorkflowExecutionStatus as Status, WorkflowIdConflictPolicy as Conflict,
        WorkflowIdReusePolicy as Reuse,
    },
    workflow::OnConflictOptions,
    workflowservice::{StartWorkflowExecutionRequest, StartWorkflowExecutionResponse},
};

use crate::common::{QUEUE, Rig, calls::start_request, cancelled, complete, fail, survives};

async fn close(rig: &Rig, how: &str) {
    match how {
        "open" => {}
        "completed" => rig.step(vec![complete("done")]).await,
        "failed" => rig.step(vec![fail("no luck")]).await,
        "canceled" => {
            rig.cancel("order-1").await.expect("asked");
            rig.step(vec![cancelled()]).await;
        }
        _ => rig.terminate("order-1").await.expect("ended"),
    }
}

fn reuse(name: &str) -> Reuse {
    match name {
        "allow" => Reuse::AllowDuplicate,
        "failed-only" => Reuse::AllowDuplicateFailedOnly,
        "reject" => Reuse::RejectDuplicate,
        _ => Reuse::Unspecified,
    }
}

fn conflict(name: &str) -> Conflict {
    match name {
        "fail" => Conflict::Fail,
        "existing" => Conflict::UseExisting,
        "terminate" => Conflict::TerminateExisting,
        _ => Conflict::Unspecified,
    }
}

/// What came of a second start: the same run, another one, or the words of the refusal.
async fn second(rig: &Rig, reuse: Reuse, conflict: Conflict, first: &str) -> String {
    let start = rig.start_with("order-1", |it| {
        it.workflow_id_reuse_policy = reuse.into();
        it.workflow_id_conflict_policy = conflict.into();
    });
    match start.await {
        Ok(started) if started.run_id == first => {
            assert!(!started.started, "it is not of this request");
            "same".to_owned()
        }
        Ok(started) => {
            assert!(started.started);
            "new".to_owned()
        }
        Err(error) => refusal(&error, first),
    }
}

fn refusal(error: &Error, first: &str) -> String {
    match (&error.code, error.detail.as_deref()) {
        (Code::AlreadyExists, Some(Detail::AlreadyStarted(detail))) => {
            assert_eq!(detail.run_id, first);
            assert!(error.message.contains(first), "{error}");
            "taken".to_owned()
        }
        (Code::InvalidArgument, _) => "invalid".to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn p_14_whether_an_id_can_be_used_again_depends_on_its_run_and_on_both_policies() {
    let table = "
        open        -            -          taken
        open        -            fail       taken
        open        -            existing   same
        open        -            terminate  new
        open        reject       existing   same
        open        reject       terminate  invalid
        open        failed-only  -          taken
        completed   -            -          new
        completed   allow        existing   new
        completed   failed-only  -          taken
        completed   reject       -          taken
        failed      failed-only  -          new
        failed      reject       -          taken
        canceled    failed-only  -          new
        terminated  failed-only  -          new
        terminated  reject       existing   taken
    ";
    for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let rig = Rig::new().await;
        let first = rig.start("order-1").await;
        close(&rig, words[0]).await;
        let before = rig.text("order-1", &first).await;
        let outcome = second(&rig, reuse(words[1]), conflict(words[2]), &first).await;
        assert_eq!(outcome, words[3], "{row}");
        let after = rig.text("order-1", &first).await;
        if words[2] == "terminate" && outcome == "new" {
            assert!(after.ends_with("TerminateIfRunning WorkflowIdReusePolicy\n"), "{after}");
        } else {
            assert_eq!(before, after, "{row}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_start_sent_twice_starts_one_run_also_after_it_has_closed() {
    let told = survives(async |rig: &Rig| {
        let again = async || {
            let start = rig.start_with("order-1", |it| it.request_id = "r-1".to_owned());
            start.await.expect("a start")
        };
        let first = again().await;
        let second = again().await;
        assert_eq!((first.run_id.as_str(), second.started), (second.run_id.as_str(), true));
        rig.step(vec![complete("done")]).await;
        let third = again().await;
        assert_eq!((first.run_id.as_str(), third.started), (third.run_id.as_str(), true));
        assert_eq!(third.status(), Status::Completed);
        assert_eq!(rig.count("").await, Ok(1));
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn a_start_that_finds_an_open_run_is_remembered_by_it_if_it_wants_to_be() {
    let told = survives(async |rig: &Rig| {
        let first = rig.start_with("order-1", |_| ()).await.expect("a start");
        let (event_id, kind) = event_of(&first).expect("a link to its first event");
        assert_eq!((event_id, kind), (1, EventType::WorkflowExecutionStarted));
        // No plug is pulled before it: a worker may have its task before that is durable, and would
        // not have it any more.
        let again = async |options: OnConflictOptions| {
            let request = StartWorkflowExecutionRequest {
                request_id: "r-2".to_owned(),
                workflow_id_conflict_policy: Conflict::UseExisting.into(),
                on_conflict_options: Some(options),
                completion_callbacks: vec![callback("http://bell")],
                ..start_request("order-1")
            };
            rig.engine().start_workflow_execution(request).await
        };
        let unlinked = again(OnConflictOptions::default()).await.expect("it is there");
        assert_eq!(event_of(&unlinked), event_of(&first));
        let attached = OnConflictOptions {
            attach_request_id: true,
            attach_completion_callbacks: true,
            attach_links: false,
        };
        let task = rig.next_task(QUEUE).await;
        for _ in 0..2 {
            let second = again(attached).await.expect("it is there");
            assert_eq!((&second.run_id, second.started), (&first.run_id, false));
            assert_eq!(request_of(&second).as_deref(), Some("r-2"));
            rig.point().await;
        }
        let nameless =
            OnConflictOptions { attach_completion_callbacks: true, ..OnConflictOptions::default() };
        let refused = again(nameless).await.expect_err("nothing tells it from the next");
        assert!(refused.message.contains("attach_request_id"), "{refused}");
        let waiting = remembered(rig).await;
        rig.complete_task(&task, Vec::new()).await.expect("taken");
        rig.point().await;
        rig.step(vec![complete("done")]).await;
        rig.point().await;
        let events = rig.history("order-1", "").await;
        let ignored = events.iter().filter(|event| event.worker_may_ignore);
        assert_eq!(ignored.map(|event| event.event_id).collect::<Vec<_>>(), [5]);
        format!("{waiting}{}{}", rig.text("order-1", "").await, remembered(rig).await)
    });
    insta::assert_snapshot!(told.await, @r#"
    r-2 is WorkflowExecutionOptionsUpdated #0, called ["r-2"]
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     0.000  WorkflowExecutionOptionsUpdated
       6     0.000  WorkflowTaskScheduled
       7     0.000  WorkflowTaskStarted
       8     0.000  WorkflowTaskCompleted
       9     0.000  WorkflowExecutionCompleted "done"
    r-2 is WorkflowExecutionOptionsUpdated #5, called ["r-2"]
    "#);
}

fn callback(url: &str) -> Callback {
    let nexus = Nexus { url: url.to_owned(), ..Nexus::default() };
    Callback { variant: Some(HowCalled::Nexus(nexus)), ..Callback::default() }
}

/// What a description says of the starts that a run remembers.
async fn remembered(rig: &Rig) -> String {
    let described = rig.describe("order-1").await.expect("a run");
    let infos = described.workflow_extended_info.expect("more").request_id_infos;
    let second = infos.get("r-2").expect("it is remembered");
    assert_eq!(infos.len(), 2, "and so is the first");
    let called: Vec<_> = described.callbacks.into_iter().map(|it| it.request_id).collect();
    format!("r-2 is {:?} #{}, called {called:?}\n", second.event_type(), second.event_id)
}

fn reference(started: &StartWorkflowExecutionResponse) -> Reference {
    let variant = started.link.as_ref().and_then(|link| link.variant.clone());
    let Some(Variant::WorkflowEvent(event)) = variant else { panic!("{started:?}") };
    assert_eq!((event.workflow_id.as_str(), &event.run_id), ("order-1", &started.run_id));
    event.reference.expect("an event")
}

fn event_of(started: &StartWorkflowExecutionResponse) -> Option<(i64, EventType)> {
    match reference(started) {
        Reference::EventRef(event) => Some((event.event_id, event.event_type())),
        Reference::RequestIdRef(_) => None,
    }
}

fn request_of(started: &StartWorkflowExecutionResponse) -> Option<String> {
    match reference(started) {
        Reference::EventRef(_) => None,
        Reference::RequestIdRef(request) => Some(request.request_id),
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_signal_sent_twice_counts_once_and_without_an_id_twice() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        for _ in 0..2 {
            let once = rig.signal_with("order-1", "once", |it| it.request_id = "s-1".to_owned());
            once.await.expect("taken");
            rig.signal("order-1", "each").await.expect("taken");
        }
        rig.step(vec![complete("done")]).await;
        rig.text("order-1", "").await
    });
    insta::assert_snapshot!(told.await, @r#"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowExecutionSignaled once
    4     0.000  WorkflowExecutionSignaled each
    5     0.000  WorkflowExecutionSignaled each
    6     0.000  WorkflowTaskStarted
    7     0.000  WorkflowTaskCompleted
    8     0.000  WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_signal_with_start_starts_once_and_signals_each_time() {
    let told = survives(async |rig: &Rig| {
        let signal = async |request_id: &str| {
            let sent = rig.signal_with_start("order-1", "go", |it| {
                it.request_id = request_id.to_owned();
            });
            sent.await.expect("taken").started
        };
        assert!(signal("r-1").await);
        signal("r-1").await;
        assert!(!signal("r-2").await);
        rig.step(vec![complete("done")]).await;
        rig.text("order-1", "").await
    });
    insta::assert_snapshot!(told.await, @r#"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowExecutionSignaled go
    3     0.000  WorkflowTaskScheduled
    4     0.000  WorkflowExecutionSignaled go
    5     0.000  WorkflowTaskStarted
    6     0.000  WorkflowTaskCompleted
    7     0.000  WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_signal_with_start_of_a_closed_workflow_follows_the_reuse_policy() {
    let rig = Rig::new().await;
    let first = rig.start("order-1").await;
    rig.step(vec![complete("done")]).await;
    let refused = rig.signal_with_start("order-1", "go", |it| {
        it.workflow_id_reuse_policy = Reuse::RejectDuplicate.into();
    });
    assert_eq!(refusal(&refused.await.expect_err("taken"), &first), "taken");
    let fails = rig.signal_with_start("order-1", "go", |it| {
        it.workflow_id_conflict_policy = Conflict::Fail.into();
    });
    assert_eq!(fails.await.expect_err("senseless").code, Code::InvalidArgument);
    let started = rig.signal_with_start("order-1", "go", |_| {}).await.expect("a new run");
    assert!(started.started);
    assert_ne!(started.run_id, first);
}

#[tokio::test(start_paused = true)]
async fn a_closed_workflow_takes_cancel_but_not_signal_or_terminate() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![complete("done")]).await;
    rig.cancel("order-1").await.expect("nothing to do");
    for refused in [rig.signal("order-1", "go").await, rig.terminate("order-1").await] {
        let error = refused.expect_err("it is closed");
        assert_eq!(error.code, Code::NotFound);
        assert_eq!(error.message, "workflow execution already completed");
    }
    for unknown in [rig.signal("order-2", "go").await, rig.cancel("order-2").await] {
        let error = unknown.expect_err("there is none");
        assert_eq!(error.message, "workflow not found for ID: order-2");
        assert_eq!(error.detail, Some(Box::new(Detail::NotFound)));
    }
}
