//! Deleting a namespace: its name is free at once, its runs go in the background.
//!
//! ```text
//!   registered ──▶ deleted, under another name ──▶ runs deleted, page by page ──▶ gone
//!                  (durable)                        └── goes on after a restart
//! ```

use std::sync::{Arc, Weak};

use steadfast_proto::{
    enums::NamespaceState,
    operatorservice::{DeleteNamespaceRequest, DeleteNamespaceResponse},
};
use steadfast_store::{Filter, RunIdentity};

use super::Engine;
use crate::{
    error::{Code, Error},
    namespaces::{Namespace, NamespaceData, unknown},
    running::Running,
    shard::Address,
};

impl Engine {
    /// Deletes a namespace with all its runs. From now on nobody finds it under its name.
    pub async fn delete_namespace(
        &self,
        request: DeleteNamespaceRequest,
    ) -> Result<DeleteNamespaceResponse, Error> {
        let _turn = self.shared().namespaces.turn().await;
        let old = self.to_be_deleted(&request)?;
        let prefix: String = old.id.chars().take(5).collect();
        let name = format!("{}-deleted-{prefix}", old.name);
        let data = NamespaceData { state: NamespaceState::Deleted.into(), ..old.data.clone() };
        let limits = &self.shared().limits.run;
        let deleted = Namespace::new(old.id.clone(), name.clone(), data, limits);
        self.keep(deleted.clone()).await?;
        self.clear_away(&deleted);
        Ok(DeleteNamespaceResponse { deleted_namespace: name })
    }

    /// Has the runs of a deleted namespace removed, and then itself.
    pub(super) fn clear_away(&self, namespace: &Namespace) {
        let running = Arc::downgrade(&self.running);
        self.running.spawn(clear_away(running, namespace.id.clone()));
    }

    fn to_be_deleted(&self, request: &DeleteNamespaceRequest) -> Result<Arc<Namespace>, Error> {
        match (request.namespace.as_str(), request.namespace_id.as_str()) {
            (name, "") => self.namespace(name),
            ("", id) => {
                let found = self.shared().namespaces.with_id(id)?;
                if found.is_deleted() { Err(unknown(id)) } else { Ok(found) }
            }
            _ => Err(Error::invalid("Only one of namespace name or Id should be set on request.")),
        }
    }

    /// Removes a page of a namespace's schedules or, if there are none, of its runs. Whether there
    /// was anything left to remove.
    async fn delete_some(&self, namespace_id: &str) -> Result<bool, Error> {
        // They would start more runs.
        if self.delete_schedules(namespace_id, RUNS_AT_ONCE).await? {
            return Ok(true);
        }
        let namespace = namespace_id.to_owned();
        let page = self.store().list(namespace, Filter::All, None, RUNS_AT_ONCE).await?;
        let deletions: Vec<_> = page
            .rows
            .into_iter()
            .map(|(_, row)| {
                let engine = self.clone();
                tokio::spawn(async move { engine.delete(address(&row.identity)).await })
            })
            .collect();
        let found = deletions.len();
        let mut gone_before = 0;
        for deletion in deletions {
            match deletion.await {
                // Its time may have come just now.
                Ok(Err(error)) if error.code == Code::NotFound => gone_before += 1,
                Ok(outcome) => outcome?,
                Err(error) => return Err(Error::new(Code::Internal, error.to_string())),
            }
        }
        if found > 0 && gone_before == found {
            return Err(Error::unavailable("runs that are gone are still listed"));
        }
        Ok(found > 0)
    }

    async fn forget_namespace(&self, id: &str) -> Result<(), Error> {
        let (shared, store) = (self.shared(), &**self.store());
        shared.batches.remove_all(store, id).await?;
        shared.resume_jobs.remove_all(store, id).await?;
        shared.books.remove(store, id).await?;
        self.store().delete_namespace(id.to_owned()).await?;
        self.shared().namespaces.remove(id);
        Ok(())
    }
}

async fn clear_away(running: Weak<Running>, namespace_id: String) {
    loop {
        let Some(engine) = Engine::upgrade(&running) else { return };
        let done = match engine.delete_some(&namespace_id).await {
            Ok(true) => Ok(false),
            Ok(false) => engine.forget_namespace(&namespace_id).await.map(|()| true),
            Err(error) => Err(error),
        };
        match done {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, namespace_id, "a deleted namespace has still runs");
                let shared = Arc::clone(engine.shared());
                drop(engine);
                shared.clock.sleep(shared.limits.commit_retry.1).await;
            }
        }
    }
}

fn address(run: &RunIdentity) -> Address {
    Address::of(&run.namespace, &run.workflow_id, &run.run_id)
}

/// Runs that are deleted together.
const RUNS_AT_ONCE: usize = 100;
