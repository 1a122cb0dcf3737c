//! Work that goes on in the background for long, and after a restart: what is kept of each job, in
//! memory and in the store.
//!
//! ```text
//!   <kinds>/<namespace>               the ids of its jobs
//!   <kind>/<namespace>/<job>          the job, and how far it is
//!   <kind>/<namespace>/<job>/<n>      what it is for, a thousand at a time
//! ```

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_store::{Store, codec};

use crate::error::{Code, Error};

/// A job: its namespace's id, and its own.
pub(crate) type Key = (String, String);

/// What is kept of a job of some kind. It is a message of our own, so that fields can be added.
pub(crate) trait Job: prost::Message + Default + Clone {
    /// What one of its kind is called in the store.
    const KIND: &'static str;

    /// What many of them are called there.
    const KINDS: &'static str;

    /// Whether it has to go on.
    fn is_running(&self) -> bool;

    /// When it was begun.
    fn started_at(&self) -> i64;

    /// How many things it is for.
    fn total(&self) -> u64;
}

#[derive(Clone, PartialEq, prost::Message)]
struct Index {
    #[prost(string, repeated, tag = "1")]
    jobs: Vec<String>,
}

/// All jobs of a kind.
#[derive(Debug)]
pub(crate) struct Jobs<J> {
    all: Mutex<BTreeMap<Key, J>>,
    /// Whoever changes one writes it too: one after the other.
    turn: tokio::sync::Mutex<()>,
}

impl<J> Default for Jobs<J> {
    fn default() -> Self {
        Self { all: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }
}

impl<J: Job> Jobs<J> {
    /// The right to change jobs, for as long as it is held.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    pub(crate) fn get(&self, key: &Key) -> Option<J> {
        self.lock().get(key).cloned()
    }

    /// The jobs of a namespace, the newest first.
    pub(crate) fn of_namespace(&self, namespace_id: &str) -> Vec<(String, J)> {
        let all = self.lock();
        let found = all.iter().filter(|((namespace, _), _)| namespace == namespace_id);
        let mut found: Vec<(String, J)> =
            found.map(|((_, id), job)| (id.clone(), job.clone())).collect();
        found.sort_by(|(a, one), (b, two)| two.started_at().cmp(&one.started_at()).then(a.cmp(b)));
        found
    }

    /// Reads the jobs of a namespace. Gives those that are not done.
    pub(crate) async fn read(
        &self,
        store: &dyn Store,
        namespace_id: &str,
    ) -> Result<Vec<Key>, steadfast_store::Error> {
        let name = index_name::<J>(namespace_id);
        let index = setting::<Index>(store, name).await?.unwrap_or_default();
        let mut running = Vec::new();
        for id in index.jobs {
            let key = (namespace_id.to_owned(), id);
            let Some(job) = setting::<J>(store, job_name::<J>(&key)).await? else { continue };
            if job.is_running() {
                running.push(key.clone());
            }
            self.lock().insert(key, job);
        }
        Ok(running)
    }

    /// Adds a job, or keeps what it has become.
    pub(crate) async fn put(&self, store: &dyn Store, key: Key, job: J) -> Result<(), Error> {
        let is_new = self.get(&key).is_none();
        store.put_setting(job_name::<J>(&key), Some(codec::encode(&job))).await?;
        if is_new {
            let mut ids = self.ids(&key.0);
            ids.push(key.1.clone());
            self.put_index(store, &key.0, ids).await?;
        }
        self.lock().insert(key, job);
        Ok(())
    }

    /// Forgets a job, and what it was for.
    pub(crate) async fn remove(&self, store: &dyn Store, key: &Key) -> Result<(), Error> {
        if let Some(job) = self.get(key) {
            self.forget_pages(store, key, &job).await?;
        }
        let mut ids = self.ids(&key.0);
        ids.retain(|id| *id != key.1);
        self.put_index(store, &key.0, ids).await?;
        store.put_setting(job_name::<J>(key), None).await?;
        self.lock().remove(key);
        Ok(())
    }

    /// Forgets the jobs of a namespace.
    pub(crate) async fn remove_all(
        &self,
        store: &dyn Store,
        namespace_id: &str,
    ) -> Result<(), Error> {
        let _turn = self.turn().await;
        for (id, _) in self.of_namespace(namespace_id) {
            self.remove(store, &(namespace_id.to_owned(), id)).await?;
        }
        Ok(())
    }

    /// Writes a page of what a job is for, or removes it.
    pub(crate) async fn put_page<P: prost::Message>(
        &self,
        store: &dyn Store,
        key: &Key,
        number: u64,
        page: Option<&P>,
    ) -> Result<(), Error> {
        let name = format!("{}/{number}", job_name::<J>(key));
        Ok(store.put_setting(name, page.map(codec::encode)).await?)
    }

    /// Reads a page of what a job is for.
    pub(crate) async fn page<P: prost::Message + Default>(
        &self,
        store: &dyn Store,
        key: &Key,
        number: u64,
    ) -> Result<P, Error> {
        let name = format!("{}/{number}", job_name::<J>(key));
        let found = store.setting(name).await?.unwrap_or_default();
        codec::decode(&found).map_err(|error| {
            let what = format!("page {number} of {} {:?}: {error}", J::KIND, key.1);
            Error::new(Code::Internal, what)
        })
    }

    /// Removes the pages of what a job is for.
    pub(crate) async fn forget_pages(
        &self,
        store: &dyn Store,
        key: &Key,
        job: &J,
    ) -> Result<(), Error> {
        for number in 0..=job.total() / PAGE {
            self.put_page::<Index>(store, key, number, None).await?;
        }
        Ok(())
    }

    async fn put_index(
        &self,
        store: &dyn Store,
        namespace_id: &str,
        jobs: Vec<String>,
    ) -> Result<(), Error> {
        let index = (!jobs.is_empty()).then(|| codec::encode(&Index { jobs }));
        Ok(store.put_setting(index_name::<J>(namespace_id), index).await?)
    }

    fn ids(&self, namespace_id: &str) -> Vec<String> {
        let all = self.lock();
        let found = all.keys().filter(|(namespace, _)| namespace == namespace_id);
        found.map(|(_, id)| id.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, J>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a setting. One that cannot be read is as good as none, and is said so.
async fn setting<M: prost::Message + Default>(
    store: &dyn Store,
    name: String,
) -> Result<Option<M>, steadfast_store::Error> {
    let Some(bytes) = store.setting(name.clone()).await? else { return Ok(None) };
    let read = codec::decode(&bytes);
    if let Err(error) = &read {
        tracing::error!(%error, name, "a job cannot be read");
    }
    Ok(read.ok())
}

fn index_name<J: Job>(namespace_id: &str) -> String {
    format!("{}/{namespace_id}", J::KINDS)
}

fn job_name<J: Job>((namespace_id, job): &Key) -> String {
    format!("{}/{namespace_id}/{job}", J::KIND)
}

/// Things on one page of what a job is for.
pub(crate) const PAGE: u64 = 1_000;

/// As many, where they are in memory.
pub(crate) fn page_len() -> usize {
    usize::try_from(PAGE).unwrap_or(usize::MAX)
}
