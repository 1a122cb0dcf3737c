//! Batches: one operation for many runs. What is kept of each, in memory and in the store.
//!
//! ```text
//!   batches/<namespace>               the ids of its jobs
//!   batch/<namespace>/<job>           the job, and how far it is
//!   batch/<namespace>/<job>/<n>       the runs that it is for, a thousand at a time
//! ```

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_proto::{enums::BatchOperationState, workflowservice::StartBatchOperationRequest};
use steadfast_store::{Store, codec};

use crate::error::{Code, Error};

/// A job: its namespace's id, and its own.
pub(crate) type Key = (String, String);

/// What is kept of a job. A tag is never reused.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Batch {
    #[prost(message, optional, tag = "1")]
    pub(crate) request: Option<StartBatchOperationRequest>,
    #[prost(enumeration = "BatchOperationState", tag = "2")]
    pub(crate) state: i32,
    #[prost(int64, tag = "3")]
    pub(crate) started_at: i64,
    #[prost(int64, tag = "4")]
    pub(crate) closed_at: i64,
    /// Whether it is known which runs it is for.
    #[prost(bool, tag = "5")]
    pub(crate) selected: bool,
    #[prost(uint64, tag = "6")]
    pub(crate) total: u64,
    #[prost(uint64, tag = "7")]
    pub(crate) completed: u64,
    #[prost(uint64, tag = "8")]
    pub(crate) failed: u64,
}

/// Some of the runs that a job is for.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Targets {
    #[prost(message, repeated, tag = "1")]
    pub(crate) all: Vec<Target>,
}

/// A run that a job is for.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Target {
    #[prost(string, tag = "1")]
    pub(crate) workflow_id: String,
    /// Empty for the newest.
    #[prost(string, tag = "2")]
    pub(crate) run_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Index {
    #[prost(string, repeated, tag = "1")]
    jobs: Vec<String>,
}

/// All jobs.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    all: Mutex<BTreeMap<Key, Batch>>,
    /// Whoever changes one writes it too: one after the other.
    turn: tokio::sync::Mutex<()>,
}

impl Batch {
    pub(crate) fn is_running(&self) -> bool {
        self.state == i32::from(BatchOperationState::Running)
    }

    /// How many runs it has dealt with.
    pub(crate) fn done(&self) -> u64 {
        self.completed + self.failed
    }
}

impl Batches {
    /// The right to change jobs, for as long as it is held.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Batch> {
        self.lock().get(key).cloned()
    }

    /// The jobs of a namespace, the newest first.
    pub(crate) fn of_namespace(&self, namespace_id: &str) -> Vec<(String, Batch)> {
        let all = self.lock();
        let found = all.iter().filter(|((namespace, _), _)| namespace == namespace_id);
        let mut found: Vec<(String, Batch)> =
            found.map(|((_, job), batch)| (job.clone(), batch.clone())).collect();
        found.sort_by(|(a, one), (b, two)| two.started_at.cmp(&one.started_at).then(a.cmp(b)));
        found
    }

    /// Reads the jobs of a namespace. Gives those that are not done.
    pub(crate) async fn read(
        &self,
        store: &dyn Store,
        namespace_id: &str,
    ) -> Result<Vec<Key>, steadfast_store::Error> {
        let index = setting::<Index>(store, index_name(namespace_id)).await?.unwrap_or_default();
        let mut running = Vec::new();
        for job in index.jobs {
            let key = (namespace_id.to_owned(), job);
            let Some(batch) = setting::<Batch>(store, job_name(&key)).await? else { continue };
            if batch.is_running() {
                running.push(key.clone());
            }
            self.lock().insert(key, batch);
        }
        Ok(running)
    }

    /// Adds a job, or keeps what it has become.
    pub(crate) async fn put(&self, store: &dyn Store, key: Key, batch: Batch) -> Result<(), Error> {
        let is_new = self.get(&key).is_none();
        store.put_setting(job_name(&key), Some(codec::encode(&batch))).await?;
        if is_new {
            let mut jobs = self.jobs(&key.0);
            jobs.push(key.1.clone());
            self.put_index(store, &key.0, jobs).await?;
        }
        self.lock().insert(key, batch);
        Ok(())
    }

    /// Forgets a job.
    pub(crate) async fn remove(&self, store: &dyn Store, key: &Key) -> Result<(), Error> {
        let mut jobs = self.jobs(&key.0);
        jobs.retain(|job| *job != key.1);
        self.put_index(store, &key.0, jobs).await?;
        store.put_setting(job_name(key), None).await?;
        self.lock().remove(key);
        Ok(())
    }

    async fn put_index(
        &self,
        store: &dyn Store,
        namespace_id: &str,
        jobs: Vec<String>,
    ) -> Result<(), Error> {
        let index = (!jobs.is_empty()).then(|| codec::encode(&Index { jobs }));
        Ok(store.put_setting(index_name(namespace_id), index).await?)
    }

    fn jobs(&self, namespace_id: &str) -> Vec<String> {
        let all = self.lock();
        let found = all.keys().filter(|(namespace, _)| namespace == namespace_id);
        found.map(|(_, job)| job.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Batch>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a page of the runs that a job is for, or removes it.
pub(crate) async fn put_targets(
    store: &dyn Store,
    key: &Key,
    page: u64,
    targets: Option<&Targets>,
) -> Result<(), Error> {
    let name = format!("{}/{page}", job_name(key));
    Ok(store.put_setting(name, targets.map(codec::encode)).await?)
}

/// Reads a page of the runs that a job is for.
pub(crate) async fn targets(store: &dyn Store, key: &Key, page: u64) -> Result<Targets, Error> {
    let found = store.setting(format!("{}/{page}", job_name(key))).await?.unwrap_or_default();
    codec::decode(&found).map_err(|error| {
        Error::new(Code::Internal, format!("page {page} of batch {:?}: {error}", key.1))
    })
}

/// Reads a setting. One that cannot be read is as good as none, and is said so.
async fn setting<M: prost::Message + Default>(
    store: &dyn Store,
    name: String,
) -> Result<Option<M>, steadfast_store::Error> {
    let Some(bytes) = store.setting(name.clone()).await? else { return Ok(None) };
    let read = codec::decode(&bytes);
    if let Err(error) = &read {
        tracing::error!(%error, name, "a batch cannot be read");
    }
    Ok(read.ok())
}

fn index_name(namespace_id: &str) -> String {
    format!("batches/{namespace_id}")
}

fn job_name((namespace_id, job): &Key) -> String {
    format!("batch/{namespace_id}/{job}")
}

/// Runs on one page of those that a job is for.
pub(crate) const PAGE: u64 = 1_000;
