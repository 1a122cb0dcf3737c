//! Reads which workflow ids the store has, for [`KnownIds`](crate::known_ids::KnownIds).
//!
//! ```text
//!   begin: ids that are created from now on are added by whoever creates them
//!     └─▶ every shard: all that was created before is durable
//!           └─▶ the store is read from end to end, a page at a time
//! ```

use std::sync::{Arc, Weak};

use tokio::sync::oneshot;

use super::{Mail, Shard, Shared};
use crate::committer::Saying;

impl Shard {
    /// Has the ids read, if that is worth it by now.
    pub(super) fn read_ids_if_wished(&self) {
        if self.shared.known_ids.is_wished() {
            tokio::spawn(read_ids(Arc::downgrade(&self.shared)));
        }
    }

    /// Tells `slot` when all is durable that was done here until now.
    pub(super) fn tell_when_durable(&mut self, slot: oneshot::Sender<()>) {
        self.sayings.push(Saying::free(Box::new(move || {
            // Whoever wanted to know it may have gone.
            let _ = slot.send(());
        })));
    }
}

/// Reads all ids. Holds on to nothing while the engine stops.
async fn read_ids(engine: Weak<Shared>) {
    let Some(waits) = engine.upgrade().map(|shared| begin(&shared)) else { return };
    for wait in waits {
        if wait.await.is_err() {
            return;
        }
    }
    let mut after = None;
    loop {
        let Some(shared) = engine.upgrade() else { return };
        let ids = match shared.store.workflow_ids(after, PAGE).await {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "workflow ids could not be read; the store is asked instead");
                return shared.known_ids.give_up();
            }
        };
        if !ids.iter().all(|(namespace, id)| shared.known_ids.found(namespace, id)) {
            return shared.known_ids.give_up();
        }
        if ids.len() < PAGE {
            return shared.known_ids.end();
        }
        after = ids.into_iter().next_back();
    }
}

/// Tells every shard. What to wait for.
fn begin(shared: &Shared) -> Vec<oneshot::Receiver<()>> {
    shared.known_ids.begin(shared.numbers.given());
    shared.ask_all(Mail::WhenDurable)
}

/// Ids in a page.
const PAGE: usize = 1_000;
