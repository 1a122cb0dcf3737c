//! What is heard of an attempt while it runs: what its code says, and that its worker lives.
//!
//! ```text
//!   the workflow asks for heartbeats   ──▶  the worker tells what the code says
//!   it does not, and the server knows  ──▶  the worker says by itself that it lives, too
//!   what a worker of ours promises
//! ```
//!
//! A worker that is killed, and an attempt that never reached one, are missed by it and not by the end of
//! the attempt's time, which may be a day away. What is left to somebody else is not waited for like that.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{Code, Error};
use steadfast_proto::{
    common::Payloads,
    workflowservice::{
        PollActivityTaskQueueResponse, RecordActivityTaskHeartbeatRequest,
        RecordActivityTaskHeartbeatResponse,
    },
};
use tokio::task::JoinSet;

use super::Shared;
use crate::{activity::Line, door::Door, header::is_spoken_for, span};

/// How often an attempt is heard of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rhythm {
    /// How long to wait after a heartbeat was told.
    pace: Duration,
    /// After how much time to say that the worker lives, if the code says nothing.
    sign: Option<Duration>,
    /// Whether somebody counts on it.
    is_counted_on: bool,
}

impl Rhythm {
    pub(super) fn of(task: &PollActivityTaskQueueResponse) -> Self {
        let limit = span::limit(task.heartbeat_timeout.as_ref());
        let pace = limit.map_or(BEAT, |limit| (limit * 4 / 5).min(BEAT));
        // Of three in a row one is heard.
        let sign = limit.filter(|_| is_spoken_for(task.header.as_ref())).map(|limit| limit / 3);
        Self { pace: pace.min(sign.unwrap_or(BEAT)), sign, is_counted_on: limit.is_some() }
    }
}

/// An attempt that may be heard of.
#[derive(Clone, Copy)]
pub(super) struct Heard<'a> {
    pub(super) token: &'a [u8],
    pub(super) line: &'a Arc<Line>,
    pub(super) rhythm: Rhythm,
}

impl Heard<'_> {
    /// Has it heard of from a thread of its own, if somebody counts on it and there may be a network
    /// between. Until what is returned is dropped.
    pub(super) fn apart(self, shared: &Arc<Shared>) -> Option<JoinSet<()>> {
        let pulse = self.rhythm.is_counted_on.then(|| shared.pulse.of(&shared.door)).flatten()?;
        let (token, line, rhythm) = (self.token.to_vec(), Arc::clone(self.line), self.rhythm);
        let (shared, door) = (Arc::clone(shared), pulse.door().clone());
        let mut beats = JoinSet::new();
        let heard = async move {
            Heard { token: &token, line: &line, rhythm }.told(&shared, &door).await;
        };
        beats.spawn_on(heard, pulse.runtime());
        Some(beats)
    }

    /// Tells the engine of heartbeats, not more often than makes sense, and the attempt of a
    /// cancellation. Ends when the attempt is not wanted any more: it timed out, or its workflow has
    /// closed.
    pub(super) async fn told(self, shared: &Shared, door: &Door) {
        let Self { token, line, rhythm } = self;
        loop {
            let sign = async {
                match rhythm.sign {
                    Some(span) => shared.clock.sleep(span).await,
                    None => std::future::pending().await,
                }
            };
            let (said, details) = tokio::select! {
                biased;
                beat = line.next_beat() => beat,
                () = sign => line.said(),
            };
            match Box::pin(beat(shared, door, token, details)).await {
                Ok(response) => {
                    line.heard(said);
                    if response.cancel_requested {
                        line.cancel();
                    }
                }
                Err(error) if error.code == Code::NotFound => return line.cancel(),
                Err(error) => tracing::debug!(%error, "a heartbeat was not heard"),
            }
            shared.clock.sleep(rhythm.pace).await;
        }
    }

    /// Leaves the attempt to somebody else, who will end it. What it said last is told with it.
    pub(super) async fn left(self, shared: &Shared) {
        let (door, mut failures) = (shared.door.leaving(), 0);
        loop {
            let (_, details) = self.line.said();
            match beat(shared, &door, self.token, details).await {
                Err(error) if shared.door.asks_again(&error) => shared.pause(&mut failures).await,
                Err(error) => {
                    // Somebody was very quick, or the attempt is not wanted any more.
                    tracing::debug!(%error, "an attempt could not be left to somebody else");
                    return;
                }
                Ok(_) => return,
            }
        }
    }
}

async fn beat(
    shared: &Shared,
    door: &Door,
    token: &[u8],
    details: Option<Payloads>,
) -> Result<RecordActivityTaskHeartbeatResponse, Error> {
    let mut request = RecordActivityTaskHeartbeatRequest {
        task_token: token.to_vec(),
        details,
        identity: shared.settings.identity.clone(),
        namespace: shared.settings.namespace.clone(),
        ..RecordActivityTaskHeartbeatRequest::default()
    };
    shared.codec.encode(&mut request)?;
    door.record_activity_task_heartbeat(request).await
}

/// The longest time between heartbeats that are told.
const BEAT: Duration = Duration::from_secs(1);
