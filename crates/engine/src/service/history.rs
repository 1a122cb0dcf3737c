//! Reading a workflow's history, and waiting for it to go on.

use std::sync::Arc;

use prost::Message as _;
use steadfast_core::{Run, WorkflowTask};
use steadfast_proto::{
    enums::HistoryEventFilterType,
    history::{History, HistoryEvent},
    workflowservice::{
        GetWorkflowExecutionHistoryRequest, GetWorkflowExecutionHistoryResponse,
        GetWorkflowExecutionHistoryReverseRequest, GetWorkflowExecutionHistoryReverseResponse,
    },
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, address, not_found, within};
use crate::{
    error::Error,
    history,
    shard::{Address, Desk, Job, Watcher},
    token::{HistoryToken, page},
};

impl Engine {
    /// Reads a page of history, or waits for the next event or for the close.
    pub async fn get_workflow_execution_history(
        &self,
        request: GetWorkflowExecutionHistoryRequest,
    ) -> Result<GetWorkflowExecutionHistoryResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let close_only = request.history_event_filter_type() == HistoryEventFilterType::CloseEvent;
        let execution = request.execution.clone().unwrap_or_default();
        let token: Option<HistoryToken> = page(&request.next_page_token)?;
        let address = match &token {
            None => address(&namespace, request.execution.as_ref())?,
            Some(token) if token.workflow_id == execution.workflow_id => {
                Address::of(&namespace.id, &token.workflow_id, &token.run_id)
            }
            Some(_) => return Err(Error::invalid("Next page token is invalid.")),
        };
        let first = token.as_ref().map_or(1, |token| token.next_event_id);
        let wait = request.wait_new_event.then_some(if close_only {
            WaitFor::Close
        } else {
            WaitFor::Event(first)
        });
        let seen = self.see(address, wait).await?;
        if close_only {
            return self.close_event(&seen, request.wait_new_event).await;
        }
        let page_max = page_size(request.maximum_page_size, self.shared().limits.history_page_max);
        let task = token.map_or(0, |token| token.task_started_event_id);
        self.events(&seen, first, page_max, request.wait_new_event, task).await
    }

    /// Reads a history newest first.
    pub async fn get_workflow_execution_history_reverse(
        &self,
        request: GetWorkflowExecutionHistoryReverseRequest,
    ) -> Result<GetWorkflowExecutionHistoryReverseResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let token: Option<HistoryToken> = page(&request.next_page_token)?;
        let address = match &token {
            None => address(&namespace, request.execution.as_ref())?,
            Some(token) => Address::of(&namespace.id, &token.workflow_id, &token.run_id),
        };
        let seen = self.see(address, None).await?;
        let last = token.map_or(seen.last_event_id, |token| token.next_event_id);
        let page_max = page_size(request.maximum_page_size, self.shared().limits.history_page_max);
        let events = history::page_back(&**self.store(), seen.number, last, page_max).await?;
        let next = events.last().map_or(0, |event| event.event_id - 1);
        let next_page_token = if next > 0 { seen.token(next, 0) } else { Vec::new() };
        Ok(GetWorkflowExecutionHistoryReverseResponse {
            history: Some(History { events }),
            next_page_token,
        })
    }

    async fn events(
        &self,
        seen: &Seen,
        first: i64,
        page_max: usize,
        wait: bool,
        task: i64,
    ) -> Result<GetWorkflowExecutionHistoryResponse, Error> {
        // A worker gets the history of its task, whatever has happened since.
        let last = if task > 0 { seen.last_event_id.min(task) } else { seen.last_event_id };
        let mut events = history::page(&**self.store(), seen.number, first, last, page_max).await?;
        let next = events.last().map_or(first, |event| event.event_id + 1);
        let is_whole = next > last;
        let for_its_task = task > last || (task == 0 && !wait && self.caller.reads_for_task);
        if is_whole && for_its_task {
            events.extend(seen.unwritten.iter().cloned());
        }
        let goes_on = !is_whole || (wait && seen.is_open);
        let next_page_token = if goes_on { seen.token(next, task) } else { Vec::new() };
        Ok(GetWorkflowExecutionHistoryResponse {
            history: Some(History { events }),
            next_page_token,
            ..GetWorkflowExecutionHistoryResponse::default()
        })
    }

    async fn close_event(
        &self,
        seen: &Seen,
        wait: bool,
    ) -> Result<GetWorkflowExecutionHistoryResponse, Error> {
        let mut events = Vec::new();
        let mut next_page_token = Vec::new();
        if seen.is_open {
            if wait {
                next_page_token = seen.token(1, 0);
            }
        } else if let Some(close) = &seen.close {
            events.push(HistoryEvent::clone(close));
        } else {
            let last = seen.last_event_id;
            events = history::page(&**self.store(), seen.number, last, last, 1).await?;
        }
        Ok(GetWorkflowExecutionHistoryResponse {
            history: Some(History { events }),
            next_page_token,
            ..GetWorkflowExecutionHistoryResponse::default()
        })
    }

    /// Looks at a run; if there is nothing new, waits a while for something.
    async fn see(&self, address: Address, wait: Option<WaitFor>) -> Result<Seen, Error> {
        let (slot, reply) = oneshot::channel();
        self.post(SeeJob { address: address.clone(), wait, slot });
        let (seen, watch) = self.answer(reply).await?;
        let Some(watch) = watch else { return Ok(seen) };
        let read_wait = self.patience(self.shared().limits.read_wait);
        match within(self.shared(), read_wait, watch).await {
            // The close is at hand: that is all that a waiter for it needs.
            Some(Ok(Some(close))) if matches!(wait, Some(WaitFor::Close)) => {
                let last_event_id = close.event_id;
                Ok(Seen { is_open: false, close: Some(close), last_event_id, ..seen })
            }
            Some(Ok(_)) => {
                let pinned = seen.address(&address);
                let (slot, reply) = oneshot::channel();
                self.post(SeeJob { address: pinned, wait: None, slot });
                Ok(self.answer(reply).await?.0)
            }
            Some(Err(_)) | None => Ok(seen),
        }
    }
}

/// What a reader waits for.
#[derive(Clone, Copy, Debug)]
enum WaitFor {
    Close,
    Event(i64),
}

/// What a reader needs to know of a run.
#[derive(Clone, Debug)]
struct Seen {
    number: RunNumber,
    workflow_id: String,
    run_id: String,
    last_event_id: i64,
    is_open: bool,
    close: Option<Arc<HistoryEvent>>,
    /// The events of the workflow task that a worker has, if they are not written yet: it must see
    /// them at the end.
    unwritten: Vec<HistoryEvent>,
}

impl Seen {
    fn of(number: RunNumber, run: &Run, limits: &steadfast_core::Limits) -> Self {
        let is_under_way = run.state().task.as_ref().is_some_and(WorkflowTask::is_started);
        Self {
            number,
            workflow_id: run.identity().workflow_id.clone(),
            run_id: run.identity().run_id.clone(),
            last_event_id: run.last_event_id(),
            is_open: run.is_open(),
            close: None,
            unwritten: if is_under_way { run.unwritten_events(limits) } else { Vec::new() },
        }
    }

    /// The very run that was seen, whatever has become the newest since.
    fn address(&self, asked: &Address) -> Address {
        match asked {
            Address::Current { namespace_id, .. } | Address::Run { namespace_id, .. } => {
                Address::of(namespace_id, &self.workflow_id, &self.run_id)
            }
            Address::Number(number) => Address::Number(*number),
        }
    }

    fn token(&self, next_event_id: i64, task_started_event_id: i64) -> Vec<u8> {
        HistoryToken {
            workflow_id: self.workflow_id.clone(),
            run_id: self.run_id.clone(),
            next_event_id,
            task_started_event_id,
        }
        .encode_to_vec()
    }
}

type Watch = oneshot::Receiver<Option<Arc<HistoryEvent>>>;

struct SeeJob {
    address: Address,
    wait: Option<WaitFor>,
    slot: oneshot::Sender<Result<(Seen, Option<Watch>), Error>>,
}

impl Job for SeeJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Self { address, wait, slot } = *self;
        let outcome = match found.and_then(|number| desk.entry(number)) {
            None => Err(not_found(&address)),
            Some(entry) => {
                let number = entry.number;
                let mut seen = Seen::of(number, &entry.run, &entry.limits);
                seen.close.clone_from(&entry.close_event);
                let close_only = matches!(wait, Some(WaitFor::Close));
                let waits = seen.is_open
                    && match wait {
                        None => false,
                        Some(WaitFor::Close) => true,
                        Some(WaitFor::Event(first)) => first > seen.last_event_id,
                    };
                let watch = waits.then(|| {
                    let (slot, watch) = oneshot::channel();
                    desk.watch(number, Watcher { close_only, slot });
                    watch
                });
                Ok((seen, watch))
            }
        };
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

fn page_size(asked: i32, page_max: usize) -> usize {
    match usize::try_from(asked) {
        Ok(asked) if asked > 0 => asked.min(page_max),
        _ => page_max,
    }
}
