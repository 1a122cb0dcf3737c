//! A batch at work: first it is written down which runs it is for, then each of them has its turn.
//!
//! How far it is is written down now and then. After a crash the last few runs have their turn
//! once more, and take it for the same request: what was done is not done twice.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use steadfast_proto::enums::BatchOperationState;

use super::explicit;
use crate::{
    batch::{Batch, Target, Targets},
    error::{Code, Error},
    jobs::{Job as _, Key, PAGE, page_len},
    namespaces::Namespace,
    running::Running,
    service::Engine,
    visibility::{Schema, parse_list, without_internal},
};

impl Engine {
    /// Works on a batch in the background, until it is done.
    pub(in crate::service) fn work_on(&self, key: Key) {
        let running = Arc::downgrade(&self.running);
        self.running.spawn(work(running, key));
    }

    /// Does the next part of a batch. How long to wait before the one after it; `None` when it is
    /// done.
    async fn advance(&self, key: &Key) -> Result<Option<Duration>, Error> {
        let Some(batch) = self.shared().batches.get(key) else { return Ok(None) };
        let Ok(namespace) = self.shared().namespaces.with_id(&key.0) else { return Ok(None) };
        if namespace.is_deleted() {
            return Ok(None);
        }
        if !batch.is_running() {
            self.shared().batches.forget_pages(&**self.store(), key, &batch).await?;
            return Ok(None);
        }
        if !batch.selected {
            let total = self.select(key, &batch, &namespace).await?;
            self.record(key, |batch| {
                batch.selected = true;
                batch.total = total;
            })
            .await?;
            return Ok(Some(Duration::ZERO));
        }
        if batch.done() >= batch.total {
            self.record(key, |_| {}).await?;
            return Ok(Some(Duration::ZERO));
        }
        self.turns(key, &batch, &namespace).await.map(Some)
    }

    /// Writes down which runs a batch is for. How many they are.
    async fn select(&self, key: &Key, batch: &Batch, namespace: &Namespace) -> Result<u64, Error> {
        let request = batch.request.clone().unwrap_or_default();
        if request.visibility_query.is_empty() {
            let named = explicit(&request).into_iter();
            let all =
                named.map(|it| Target { workflow_id: it.business_id, run_id: it.run_id }).collect();
            return self.write_down(key, 0, all).await;
        }
        let schema = Schema::new(namespace.search_attributes());
        let filter = parse_list(&request.visibility_query, &schema)?;
        let filter = without_internal(filter);
        let (mut total, mut page, mut after) = (0, 0, None);
        loop {
            let listing =
                self.store().list(namespace.id.clone(), filter.clone(), after, page_len()).await?;
            let all = listing.rows.into_iter().map(|(_, row)| Target {
                workflow_id: row.identity.workflow_id,
                run_id: row.identity.run_id,
            });
            total += self.write_down(key, page, all.collect()).await?;
            page += 1;
            after = listing.next;
            if after.is_none() {
                return Ok(total);
            }
        }
    }

    async fn write_down(&self, key: &Key, page: u64, all: Vec<Target>) -> Result<u64, Error> {
        let count = u64::try_from(all.len()).unwrap_or(u64::MAX);
        let targets = Targets { all };
        self.shared().batches.put_page(&**self.store(), key, page, Some(&targets)).await?;
        Ok(count)
    }

    /// Some runs have their turn. How long to wait so that it does not go too fast.
    async fn turns(
        &self,
        key: &Key,
        batch: &Batch,
        namespace: &Namespace,
    ) -> Result<Duration, Error> {
        let begun = self.now();
        let request = batch.request.clone().unwrap_or_default();
        let rate = match request.max_operations_per_second {
            rate if rate > 0.0 => rate,
            _ => RATE,
        };
        let batches = &self.shared().batches;
        let page: Targets = batches.page(&**self.store(), key, batch.done() / PAGE).await?;
        let first = usize::try_from(batch.done() % PAGE).unwrap_or_default();
        let mut turns = 0;
        let (mut completed, mut failed) = (0, 0);
        let mut trouble = None;
        for target in page.all.iter().skip(first) {
            let is_running = self.shared().batches.get(key).is_some_and(|it| it.is_running());
            if turns >= TURNS_MAX || f32::from(turns) >= rate.max(1.0) || !is_running {
                break;
            }
            turns += 1;
            match self.operate(&key.1, &request, &namespace.name, target).await {
                Ok(()) => completed += 1,
                // It is gone, and there is nothing to do.
                Err(error) if error.code == Code::NotFound => completed += 1,
                // That is not the run's fault: it has its turn again when the trouble is over.
                Err(error) if error.code.is_passing() => {
                    trouble = Some(error);
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, batch = key.1, workflow = target.workflow_id, "failed");
                    failed += 1;
                }
            }
        }
        self.record(key, |batch| {
            batch.completed += completed;
            batch.failed += failed;
        })
        .await?;
        if let Some(error) = trouble {
            return Err(error);
        }
        let due = Duration::try_from_secs_f32(f32::from(turns) / rate).unwrap_or(Duration::MAX);
        Ok(due.saturating_sub(self.now().since(begun)))
    }

    /// Keeps what a batch has become, if it was not stopped meanwhile; it is done when all runs
    /// had their turn.
    async fn record(&self, key: &Key, change: impl FnOnce(&mut Batch)) -> Result<(), Error> {
        let batches = &self.shared().batches;
        let _turn = batches.turn().await;
        let Some(mut batch) = batches.get(key) else { return Ok(()) };
        change(&mut batch);
        if batch.is_running() && batch.selected && batch.done() >= batch.total {
            batch.state = BatchOperationState::Completed.into();
            batch.closed_at = self.now().nanos();
        }
        batches.put(&**self.store(), key.clone(), batch).await
    }

    /// Ends a batch that cannot go on: its query is not understood any more, or its runs cannot be
    /// read.
    async fn give_up(&self, key: &Key) {
        let ended = self.record(key, |batch| {
            batch.state = BatchOperationState::Failed.into();
            batch.closed_at = self.now().nanos();
        });
        if let Err(error) = ended.await {
            tracing::warn!(%error, batch = key.1, "a batch could not be ended; trying again");
        }
    }
}

async fn work(running: Weak<Running>, key: Key) {
    loop {
        let Some(engine) = Engine::upgrade(&running) else { return };
        let next = engine.advance(&key).await;
        let shared = Arc::clone(engine.shared());
        drop(engine);
        match next {
            Ok(Some(wait)) => shared.clock.sleep(wait).await,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, batch = key.1, "a batch could not go on");
                shared.clock.sleep(shared.limits.commit_retry.1).await;
                if !error.code.is_passing()
                    && let Some(engine) = Engine::upgrade(&running)
                {
                    engine.give_up(&key).await;
                }
            }
        }
    }
}

/// Operations a second, for whoever does not say.
const RATE: f32 = 50.0;

/// Turns after which it is written down how far the batch is.
const TURNS_MAX: u16 = 50;
