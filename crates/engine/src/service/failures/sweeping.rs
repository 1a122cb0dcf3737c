//! When what is due to be resumed is looked for: after a change, what waits for the next search learns
//! when that is.
//!
//! Each run wakes when its resume is due and reckons the next search itself; no search is made, and no
//! timer is kept. Only what is due already and waits has to be told of a change. Should a crash come in
//! between, the next engine tells it all again.

use std::sync::Arc;

use steadfast_core::Input;
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorPosition, ErrorState, Order};

use super::acting::address_of;
use crate::{error::Error, namespaces::Namespace, service::Engine};

impl Engine {
    /// Tells what is due and waits for the next search that it may be at another time, in the
    /// background.
    pub(crate) fn look_again(&self, namespace: &Namespace) {
        let running = Arc::downgrade(&self.running);
        let namespace_id = namespace.id.clone();
        self.running.spawn(async move {
            let mut after = None;
            loop {
                let Some(engine) = Self::upgrade(&running) else { return };
                match engine.tell_a_page(&namespace_id, &mut after).await {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(%error, namespace_id, "what is due is looked at again later");
                        let clock = Arc::clone(&engine.shared().clock);
                        let wait = engine.shared().limits.commit_retry.1;
                        drop(engine);
                        clock.sleep(wait).await;
                    }
                }
            }
        });
    }

    /// Tells the next of them. Whether that were all.
    async fn tell_a_page(
        &self,
        namespace_id: &str,
        after: &mut Option<ErrorPosition>,
    ) -> Result<bool, Error> {
        let page = self.resumable(namespace_id, *after, PAGE).await?;
        let now = self.now();
        let is_due = |entry: &&ErrorEntry| entry.row.next_at.is_some_and(|at| at <= now);
        for entry in page.0.iter().filter(is_due) {
            let told = self.apply(address_of(entry), String::new(), Input::SweepChanged, |_| ());
            match told.await {
                Err(error) if error.code.is_passing() => return Err(error),
                // It has gone on in the meantime, or is gone.
                Err(_) | Ok(()) => {}
            }
        }
        *after = page.1;
        Ok(after.is_none())
    }

    /// Some errors that a resume policy might take, and where the next ones begin.
    pub(super) async fn resumable(
        &self,
        namespace_id: &str,
        after: Option<ErrorPosition>,
        limit: usize,
    ) -> Result<(Vec<ErrorEntry>, Option<ErrorPosition>), Error> {
        let filter = ErrorFilter {
            states: vec![ErrorState::Parked, ErrorState::Failed],
            acknowledged: Some(false),
            ..ErrorFilter::default()
        };
        let id = namespace_id.to_owned();
        let page = self.store().errors(id, filter, Order::Forward, after, limit).await?;
        Ok((page.errors, page.next))
    }
}

/// Errors that are looked at in one go.
const PAGE: usize = 5_000;
