//! What the engine does for its callers: the public requests in, the public responses out.
//!
//! Both doors call these functions, a remote worker through the network and an embedded one
//! directly. Each checks its request, sends a job to the shard that owns the workflow, and waits
//! for what is released.

mod activities;
mod asides;
mod batch;
mod call;
mod call_end;
mod caller;
mod deletion;
mod failures;
mod health;
mod history;
mod listing;
mod multi;
mod namespaces;
mod nexus;
mod operator;
mod polling;
mod query;
mod queues;
mod reset;
mod schedules;
mod search_attributes;
mod start;
mod system;
mod tasks;
mod update;
mod workers;
mod workflow;

pub use asides::AsideError;
pub use failures::{Change, Moved, Preview};
pub use health::Unwell;
pub(crate) use namespaces::default_namespace;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use steadfast_core::Timestamp;
use steadfast_proto::common;
use steadfast_store::{ShardNumber, Store};
use tokio::sync::oneshot;

use self::caller::Caller;
use crate::{
    error::{Code, Error},
    namespaces::Namespace,
    running::Running,
    shard::{Address, Job, Mailbox, Shared},
};

/// A running engine. Cheap to clone; all clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) running: Arc<Running>,
    caller: Caller,
}

impl Engine {
    pub(crate) fn new(running: Running) -> Self {
        Self::of(Arc::new(running))
    }

    /// The engine, if it is still in use.
    fn upgrade(running: &Weak<Running>) -> Option<Self> {
        running.upgrade().map(Self::of)
    }

    /// For whoever has said nothing of itself.
    fn of(running: Arc<Running>) -> Self {
        Self { running, caller: Caller::default() }
    }

    /// Goes on with what was under way in the background.
    pub(crate) async fn resume_background(&self) -> Result<(), steadfast_store::Error> {
        for namespace in self.shared().namespaces.all() {
            if namespace.is_deleted() {
                self.clear_away(&namespace);
            }
            let batches = &self.shared().batches;
            for key in batches.read(&**self.store(), &namespace.id).await? {
                self.work_on(key);
            }
            if self.shared().books.of(&namespace.id).swept_at.is_some() {
                self.look_again(&namespace);
            }
            for key in self.shared().resume_jobs.read(&**self.store(), &namespace.id).await? {
                self.go_on_with_resume(key);
            }
        }
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.running.shared
    }

    /// The store that it works on.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.running.shared.store
    }

    /// What time it is for the engine.
    pub fn now(&self) -> Timestamp {
        self.shared().now()
    }

    fn namespace(&self, name: &str) -> Result<Arc<Namespace>, Error> {
        self.shared().namespaces.named(name)
    }

    /// Waits for an answer.
    async fn answer<T>(&self, slot: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
        slot.await.unwrap_or_else(|_| Err(self.no_answer()))
    }

    /// Why an answer never comes: the engine stops, or the run could not become what it would have
    /// been with this request.
    fn no_answer(&self) -> Error {
        self.check_running().err().unwrap_or_else(|| {
            let what = "the store refused what a run would have become, or the run is broken; look \
                        at the run before you ask again";
            Error::new(Code::Internal, what)
        })
    }

    /// Refuses to wait for what an engine that has ended will not bring.
    fn check_running(&self) -> Result<(), Error> {
        let ended = &self.shared().ended;
        match ended.lost() {
            Some(lost) => Err(Error::unavailable(lost.to_string())),
            None if ended.is_set() => Err(Error::unavailable("the engine is stopping")),
            None => Ok(()),
        }
    }

    /// Sends a job to the shard that owns its workflow.
    fn send(&self, shard: ShardNumber, job: impl Job + 'static) {
        Self::put(self.shared().mailbox(shard), job);
    }

    fn put(mailbox: Option<&Mailbox>, job: impl Job + 'static) {
        match mailbox {
            Some(mailbox) => mailbox.job(job),
            None => Box::new(job).fail(Error::unavailable("the engine is starting")),
        }
    }
}

/// Waits for something, but not for longer than `span`, nor than the engine lasts.
async fn within<T>(shared: &Shared, span: Duration, wait: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        it = wait => Some(it),
        () = shared.ended.wait() => None,
        () = shared.clock.sleep(span) => None,
    }
}

/// The run that a request names.
fn address(
    namespace: &Namespace,
    execution: Option<&common::WorkflowExecution>,
) -> Result<Address, Error> {
    let missing = || Error::invalid("Execution is not set on request.");
    let execution = execution.ok_or_else(missing)?;
    checked_address(namespace, &execution.workflow_id, &execution.run_id)
}

fn checked_address(
    namespace: &Namespace,
    workflow_id: &str,
    run_id: &str,
) -> Result<Address, Error> {
    if workflow_id.is_empty() {
        return Err(Error::invalid("WorkflowId is not set on request."));
    }
    if !run_id.is_empty() && uuid::Uuid::try_parse(run_id).is_err() {
        return Err(Error::invalid("Invalid RunId."));
    }
    Ok(Address::of(&namespace.id, workflow_id, run_id))
}

/// There is no such run.
fn not_found(address: &Address) -> Error {
    match address {
        Address::Current { workflow_id, .. } => {
            Error::not_found(format!("workflow not found for ID: {workflow_id}"))
        }
        Address::Run { workflow_id, run_id, .. } => Error::not_found(format!(
            "workflow execution not found for workflow ID {workflow_id:?} and run ID {run_id:?}"
        )),
        Address::Number(_) => Error::not_found("workflow execution not found"),
    }
}

/// A name that must not be too long.
fn check_length(field: &str, text: &str, bytes_max: usize) -> Result<(), Error> {
    if text.len() > bytes_max {
        return Err(Error::invalid(format!("{field} exceeds length limit.")));
    }
    Ok(())
}
