//! Changes to the code of workflows that are running: which runs have them, and when they may be forgotten.

use std::{cell::Cell, rc::Rc, time::Duration};

use steadfast::{
    Failure, Replayer, Workflow, WorkflowContext,
    proto::{
        common::Payloads,
        history::{HistoryEvent, history_event::Attributes as E},
    },
    testing::TestEnv,
};

use crate::common::{Notes, kinds, note};

/// The same order, from release to release.
async fn first(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ship(&ctx).await
}

async fn second(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    if ctx.patched("insure") {
        ctx.activity(note, "insure").await?;
    }
    ship(&ctx).await
}

async fn third(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.deprecate_patch("insure");
    ctx.activity(note, "insure").await?;
    ship(&ctx).await
}

async fn fourth(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.activity(note, "insure").await?;
    ship(&ctx).await
}

async fn fifth(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.activity(note, "insure").await?;
    if ctx.patched("wrap") {
        ctx.activity(note, "wrap").await?;
    }
    ship(&ctx).await
}

async fn ship(ctx: &WorkflowContext) -> Result<(), Failure> {
    let _: () = ctx.signals("collected").receive().await?;
    ctx.activity(note, "ship").await?;
    Ok(())
}

fn release(number: u32) -> Workflow {
    let order = match number {
        1 => Workflow::new(first),
        2 => Workflow::new(second),
        3 => Workflow::new(third),
        4 => Workflow::new(fourth),
        _ => Workflow::new(fifth),
    };
    order.named("order")
}

/// A shop, with a release that can be changed.
struct Shop {
    env: TestEnv,
    release: Rc<Cell<u32>>,
    notes: Notes,
}

impl Shop {
    async fn open(number: u32) -> Self {
        let (current, notes) = (Rc::new(Cell::new(number)), Notes::default());
        let (its, kept) = (Rc::clone(&current), notes.clone());
        let build = move |app: steadfast::AppBuilder| {
            app.register_workflow(release(its.get())).activity(note).state(kept.clone())
        };
        Self { env: TestEnv::start(build).await.expect("it opens"), release: current, notes }
    }

    /// Pulls the plug, and goes on with another release.
    async fn release(&mut self, number: u32) {
        self.release.set(number);
        self.env.crash().await.expect("it opens");
    }

    /// An order that comes as far as it can by itself.
    async fn order(&self, id: &str) {
        self.env.client().start_named::<()>("order", &()).id(id).await.expect("it starts");
        self.env.wait(Duration::from_secs(1)).await;
    }

    /// Has it shipped; its history.
    async fn ship(&self, id: &str) -> Vec<HistoryEvent> {
        let order = self.env.client().workflow::<()>(id);
        order.signal("collected", &()).await.expect("it runs");
        order.result().await.expect("it ends well");
        order.history().await.expect("a history")
    }

    /// The orders that a query finds.
    async fn find(&self, query: &str) -> Vec<String> {
        let found = self.env.client().list(query).await.expect("a good query");
        let mut ids: Vec<_> =
            found.into_iter().map(|it| it.execution.unwrap_or_default().workflow_id).collect();
        ids.sort();
        ids
    }
}

#[tokio::test]
async fn runs_are_found_by_their_changes() {
    let mut shop = Shop::open(1).await;
    shop.order("old").await;
    shop.release(2).await;
    shop.order("new").await;
    assert_eq!(shop.find("TemporalChangeVersion = 'insure'").await, ["new"]);
    assert_eq!(shop.find("TemporalChangeVersion != 'insure'").await, ["old"]);
    shop.release(5).await;
    shop.order("newest").await;
    assert_eq!(shop.find("TemporalChangeVersion = 'wrap'").await, ["newest"]);
}

#[tokio::test]
async fn a_change_that_was_deprecated_may_be_forgotten() {
    for later in [4, 5] {
        let mut shop = Shop::open(3).await;
        shop.order("order").await;
        shop.release(later).await;
        let events = shop.ship("order").await;
        assert_eq!(shop.notes.all(), ["insure", "ship"], "{:?}", kinds(&events));
        for number in [2, 3, 4, 5] {
            let replayer = Replayer::new().register_workflow(release(number));
            replayer.replay(events.clone()).unwrap();
        }
    }
}

#[tokio::test]
async fn one_that_was_not_may_not() {
    let shop = Shop::open(2).await;
    shop.order("order").await;
    let events = shop.ship("order").await;
    for number in [2, 3] {
        Replayer::new().register_workflow(release(number)).replay(events.clone()).unwrap();
    }
    let error = Replayer::new().register_workflow(release(4)).replay(events).unwrap_err();
    assert_eq!(
        error.to_string(),
        "non-determinism at event 5: history has MarkerRecorded \"core_patch\", the code asks for \
         activity \"note\""
    );
}

#[tokio::test]
async fn marks_of_earlier_versions_are_understood() {
    let shop = Shop::open(2).await;
    shop.order("order").await;
    let events = earlier(shop.ship("order").await);
    for number in [2, 3] {
        Replayer::new().register_workflow(release(number)).replay(events.clone()).unwrap();
    }
}

/// The same history, as it was written before: an id, and no list.
fn earlier(mut events: Vec<HistoryEvent>) -> Vec<HistoryEvent> {
    let list = events.iter().position(|event| {
        matches!(event.attributes, Some(E::UpsertWorkflowSearchAttributesEventAttributes(_)))
    });
    let list = events.remove(list.expect("a list")).event_id;
    for event in &mut events {
        // What comes after it is one less, and so is what points there.
        let less = |id: &mut i64| *id -= i64::from(*id > list);
        less(&mut event.event_id);
        match &mut event.attributes {
            Some(E::ActivityTaskStartedEventAttributes(it)) => less(&mut it.scheduled_event_id),
            Some(E::ActivityTaskCompletedEventAttributes(it)) => less(&mut it.scheduled_event_id),
            Some(E::MarkerRecordedEventAttributes(it)) => {
                "steadfast_patch".clone_into(&mut it.marker_name);
                let mut details = it.details.remove("patch-data").expect("what it marks");
                details.payloads[0].data = b"\"insure\"".to_vec();
                it.details = [("value".to_owned(), Payloads { ..details })].into();
            }
            _ => {}
        }
    }
    events
}
