//! A long history, replayed from its start: what a workflow costs that is not in the cache.

use anyhow::Result;
use steadfast::{App, Replayer};

use super::shapes::{self, Times, chain};
use crate::{
    report::{Counted, Line, real},
    usage::{self, Stopwatch, now},
};

/// How often it is replayed.
const ROUNDS: usize = 20;
/// Events of one step: an activity is scheduled, started and completed, and so is a workflow task.
const EVENTS_PER_STEP: usize = 6;

pub(super) async fn run(case: &str, events: usize) -> Result<Line> {
    let app = shapes::register(App::builder("memory:"), &Times::default()).start().await?;
    let recorded = app.client().start(chain, events.div_ceil(EVENTS_PER_STEP)).await?;
    recorded.result().await?;
    let history = recorded.history().await?;
    app.shutdown().await;
    let replayer = Replayer::new().workflow(chain);
    usage::reset_peak();
    let mut counted = Counted { workflows: ROUNDS, units: ROUNDS, ..Counted::default() };
    for _ in 0..ROUNDS {
        let events = history.clone();
        let (watch, began) = (Stopwatch::start(), now());
        replayer.replay(events)?;
        counted.spans.push(began.elapsed());
        counted.elapsed += watch.elapsed();
        counted.cpu += watch.cpu();
    }
    let line = Line::new(case, "none", counted, usage::peak_rss_mib());
    Ok(line.with("events", real(history.len())))
}
