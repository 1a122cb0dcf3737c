//! What the tests share: an activity that fails as often as it is told, and who saw what when.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use steadfast::{
    ActivityContext, Failure,
    proto::{
        enums::EventType,
        history::{HistoryEvent, history_event::Attributes},
    },
    testing::TestEnv,
};

/// Has something done on one thread, in time that passes only when everybody waits.
pub(crate) fn on_virtual_time(story: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(story);
}

/// Notes that activities leave, with the second at which they were left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<(f64, String)>>>);

impl Notes {
    pub(crate) fn leave(&self, note: impl Into<String>) {
        self.0.lock().expect("it works").push((now(), note.into()));
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("it works").iter().map(|(_, note)| note.clone()).collect()
    }

    /// How many there are of one kind.
    pub(crate) fn count(&self, note: &str) -> usize {
        self.all().iter().filter(|it| *it == note).count()
    }

    /// When they were left, in tenths of a second since the first.
    pub(crate) fn seconds(&self) -> Vec<f64> {
        let notes = self.0.lock().expect("it works");
        let first = notes.first().map_or(0.0, |(at, _)| *at);
        notes.iter().map(|(at, _)| ((at - first) * 10.0).round() / 10.0).collect()
    }
}

fn now() -> f64 {
    thread_local! {
        static START: tokio::time::Instant = tokio::time::Instant::now();
    }
    START.with(|start| start.elapsed().as_secs_f64())
}

/// Fails this often, then succeeds.
pub(crate) async fn flaky(ctx: ActivityContext, failures: u32) -> Result<String, Failure> {
    ctx.state::<Notes>().expect("notes").leave("flaky");
    if ctx.attempt() <= failures {
        return Err(Failure::new("Network timeout").of_type("ConnectionError"));
    }
    Ok("ok".to_owned())
}

/// Leaves a note and succeeds.
pub(crate) async fn note(ctx: ActivityContext, text: String) -> Result<String, Failure> {
    ctx.state::<Notes>().expect("notes").leave(text.clone());
    Ok(text)
}

/// For ever, as far as attempts go.
pub(crate) const ALWAYS: u32 = u32::MAX;

/// The types of a history's events.
pub(crate) fn kinds(events: &[HistoryEvent]) -> Vec<EventType> {
    events.iter().map(HistoryEvent::event_type).collect()
}

pub(crate) fn count(events: &[HistoryEvent], kind: EventType) -> usize {
    kinds(events).into_iter().filter(|it| *it == kind).count()
}

/// The failure of the only activity that failed.
pub(crate) fn activity_failure(events: &[HistoryEvent]) -> Failure {
    let failed = events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskFailedEventAttributes(failed)) => failed.failure.clone(),
        _ => None,
    });
    Failure::from_wire(failed.expect("a failed activity"))
}

/// Lets time pass until something is so.
pub(crate) async fn eventually(env: &TestEnv, what: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if what() {
            return;
        }
        env.wait(Duration::from_millis(10)).await;
    }
    panic!("it never came to that");
}
