//! Reading histories: page by page, backwards, and waiting for what comes.

use steadfast_engine::{Code, Limits};
use steadfast_proto::{
    enums::HistoryEventFilterType as Which, history::HistoryEvent, prost::Message as _,
    workflowservice as ws,
};

use crate::common::{Base, NAMESPACE, QUEUE, Rig, complete, execution, payloads, survives};

/// A workflow with `signals + 2` events.
async fn with_signals(rig: &Rig, signals: usize) {
    rig.start("order-1").await;
    for n in 0..signals {
        rig.signal("order-1", &format!("s{n}")).await.expect("taken");
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_is_read_in_pages_of_the_size_that_was_asked_for() {
    let told = survives(async |rig: &Rig| {
        with_signals(rig, 8).await;
        rig.point().await;
        let mut ids = Vec::new();
        let mut token = Vec::new();
        loop {
            let page = rig.history_page("order-1", |it| {
                it.maximum_page_size = 3;
                it.next_page_token = token;
            });
            let page = page.await.expect("a page");
            let events = page.history.expect("a history").events;
            ids.push(events.iter().map(|it| it.event_id).collect::<Vec<_>>());
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        format!("{ids:?}")
    });
    assert_eq!(told.await, "[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10]]");
}

/// Of megabytes in few events, a page has a few, so that it fits into a message.
#[tokio::test(start_paused = true)]
async fn a_page_of_large_events_is_cut_short() {
    for base in [Base::memory, Base::sqlite] {
        let rig = Rig::with(base(), Limits::default()).await;
        rig.start("order-1").await;
        for _ in 0..8 {
            let large = payloads(&format!("{:?}", "x".repeat(1 << 20)));
            let signal = rig.signal_with("order-1", "s", |it| it.input = Some(large));
            signal.await.expect("taken");
        }
        rig.crash().await;
        let task = rig.next_task(QUEUE).await;
        let pages = rig.task_pages("order-1", &task).await;
        let bytes = |page: &Vec<HistoryEvent>| page.iter().map(HistoryEvent::encoded_len).sum();
        let largest: usize = pages.iter().map(bytes).max().expect("a page");
        assert!(largest < 6 << 20, "{largest} bytes on a page");
        let ids: Vec<i64> = pages.iter().flatten().map(|it| it.event_id).collect();
        assert_eq!(ids, (1..=task.started_event_id).collect::<Vec<_>>());
        rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_is_read_backwards() {
    let told = survives(async |rig: &Rig| {
        with_signals(rig, 5).await;
        rig.point().await;
        let mut ids = Vec::new();
        let mut next_page_token = Vec::new();
        loop {
            let request = ws::GetWorkflowExecutionHistoryReverseRequest {
                namespace: NAMESPACE.to_owned(),
                execution: Some(execution("order-1", "")),
                maximum_page_size: 3,
                next_page_token,
            };
            let page = rig.engine().get_workflow_execution_history_reverse(request).await;
            let page = page.expect("a page");
            ids.extend(page.history.expect("a history").events.iter().map(|it| it.event_id));
            next_page_token = page.next_page_token;
            if next_page_token.is_empty() {
                break;
            }
        }
        format!("{ids:?}")
    });
    assert_eq!(told.await, "[7, 6, 5, 4, 3, 2, 1]");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_news_gets_the_next_event_as_soon_as_it_is_there() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let first = rig.history_page("order-1", |it| it.wait_new_event = true).await.expect("a page");
    assert_eq!(first.history.expect("a history").events.len(), 2);
    let wait = rig.history_page("order-1", |it| {
        it.wait_new_event = true;
        it.next_page_token = first.next_page_token;
    });
    let signal = async {
        rig.wait(5).await;
        rig.signal("order-1", "go").await.expect("taken");
    };
    let (page, ()) = tokio::join!(wait, signal);
    let page = page.expect("a page");
    let ids: Vec<i64> =
        page.history.expect("a history").events.iter().map(|it| it.event_id).collect();
    assert_eq!(ids, [3]);
    assert_eq!(rig.elapsed(), 5);
    assert!(!page.next_page_token.is_empty(), "it is open");
}

#[tokio::test(start_paused = true)]
async fn who_waits_in_vain_gets_an_empty_page_and_may_go_on_waiting() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    for which in [Which::AllEvent, Which::CloseEvent] {
        let first = rig.history_page("order-1", |it| {
            it.wait_new_event = true;
            it.history_event_filter_type = which.into();
        });
        let first = first.await.expect("a page");
        let second = rig.history_page("order-1", |it| {
            it.wait_new_event = true;
            it.history_event_filter_type = which.into();
            it.next_page_token = first.next_page_token;
        });
        let second = second.await.expect("a page");
        assert_eq!(second.history.expect("a history").events, []);
        assert!(!second.next_page_token.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_close_gets_it_and_nothing_else() {
    let rig = Rig::new().await;
    let run_id = rig.start("order-1").await;
    let open = rig.history_page("order-1", |it| {
        it.history_event_filter_type = Which::CloseEvent.into();
    });
    let open = open.await.expect("a page");
    assert_eq!(open.history.expect("a history").events, []);
    assert!(open.next_page_token.is_empty());
    let work = async {
        rig.wait(100).await;
        rig.step(vec![complete("done")]).await;
    };
    let (close, ()) = tokio::join!(rig.closed("order-1", &run_id), work);
    assert_eq!(close.event_id, 5);
    assert_eq!(rig.elapsed(), 100);
    assert_eq!(rig.closed("order-1", &run_id).await.event_id, 5);
}

#[tokio::test(start_paused = true)]
async fn a_reader_stays_with_its_run_when_another_one_follows() {
    let rig = Rig::new().await;
    with_signals(&rig, 4).await;
    let page = rig.history_page("order-1", |it| it.maximum_page_size = 2).await.expect("a page");
    rig.terminate("order-1").await.expect("ended");
    rig.start("order-1").await;
    let rest = rig.history_page("order-1", |it| it.next_page_token = page.next_page_token);
    let events = rest.await.expect("a page").history.expect("a history").events;
    assert_eq!(events.last().expect("an event").event_id, 7);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_another_workflow_or_of_nobody_is_refused() {
    let rig = Rig::new().await;
    with_signals(&rig, 4).await;
    rig.start("order-2").await;
    let page = rig.history_page("order-1", |it| it.maximum_page_size = 2).await.expect("a page");
    for token in [page.next_page_token, b"nonsense".to_vec()] {
        let refused = rig.history_page("order-2", |it| it.next_page_token = token).await;
        let error = refused.expect_err("not its token");
        assert_eq!(error.code, Code::InvalidArgument);
        assert_eq!(error.message, "Next page token is invalid.");
    }
    let bad = rig.history_page("order-1", |it| it.execution = Some(execution("order-1", "x")));
    assert_eq!(bad.await.expect_err("no run id").message, "Invalid RunId.");
    let none = rig.history_page("order-1", |it| it.execution = None).await;
    assert_eq!(none.expect_err("nothing").message, "Execution is not set on request.");
}
