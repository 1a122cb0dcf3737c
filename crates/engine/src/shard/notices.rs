//! What a run has to say to its parent, its children and its schedule, when it closes or takes another's place.
//!
//! ```text
//!   closed child ──── closed ────▶ parent (or the run that lives on after its reset)
//!   closed parent ── end, cancel ──▶ child
//!   reset parent ──── adopt ──────▶ child ── closed already? ──▶ closed
//!   closed run ────── closed ────▶ the schedule that started it
//!   parked work ───── signal ────▶ a workflow that wants to know, or an address
//! ```
//!
//! Each is a row of the sender's until it is acknowledged.

use std::sync::Arc;

use steadfast_core::{
    Adopt, CancelRequest, ChildClosed, Input, Notice, Run, Signal, Target, Terminate,
};
use steadfast_proto::{
    common,
    history::{
        HistoryEvent, WorkflowExecutionTerminatedEventAttributes as Terminated,
        history_event::Attributes,
    },
};
use steadfast_store::RunNumber;

use super::{
    Shared,
    desk::Desk,
    job::{Address, Job},
    outbox::{ENGINE, Sender, deliver, post},
    schedule,
};
use crate::{
    error::{Code, Error},
    history, schedules,
    webhooks::Post,
};

/// Sends one of a run's messages.
pub(super) fn send(desk: &mut Desk<'_>, from: RunNumber, message: u64) {
    let shared = Arc::clone(desk.shared());
    let Some(entry) = desk.entry(from) else { return };
    let run = &entry.run;
    let Some(letter) = run.messages().get(&message) else { return };
    let (Some(target), Some(notice)) = (letter.target.clone(), letter.notice.clone()) else {
        return;
    };
    if let Notice::Webhook(told) = notice {
        let post = Post { from: run.identity().clone(), message, told };
        desk.release(move || shared.webhooks.send(post));
        return;
    }
    let sender = Sender::of(&shared, from, run);
    let address = address_of(&target, &notice);
    let chain = run.first_run_id().to_owned();
    let close = entry.close_event.clone();
    let last_event_id = run.last_event_id();
    let request_id = run.state().create_request_id.clone();
    let job = NoticeJob { address, sender, message, notice, target, chain, request_id, close };
    let tells_how = matches!(job.notice, Notice::ChildClosed(_) | Notice::ScheduledClosed(_));
    if tells_how && job.close.is_none() {
        read_close_and_post(desk, job, last_event_id);
    } else {
        post(desk, job);
    }
}

fn address_of(target: &Target, notice: &Notice) -> Address {
    let Target { namespace_id, workflow_id, run_id, .. } = target;
    match notice {
        Notice::ScheduledClosed(_) => schedule::address(namespace_id, workflow_id),
        Notice::ChildClosed(_)
        | Notice::Terminate(_)
        | Notice::Cancel(_)
        | Notice::Adopt(_)
        | Notice::Signal(_)
        | Notice::Webhook(_) => Address::of(namespace_id, workflow_id, run_id),
    }
}

struct NoticeJob {
    address: Address,
    sender: Sender,
    message: u64,
    notice: Notice,
    /// Whom it is for, by all names.
    target: Target,
    /// The first run of the sender's chain.
    chain: String,
    /// The request that began the sender's chain.
    request_id: String,
    close: Option<Arc<HistoryEvent>>,
}

impl Job for NoticeJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        if let Some(elsewhere) = self.elsewhere(desk, found) {
            self.address = elsewhere;
            post(desk, *self);
            return;
        }
        match (found, self.input()) {
            (Some(number), None) => self.tell_schedule(desk, number),
            // A run that is closed has no more use for it.
            (Some(number), Some(input)) => drop(desk.apply(number, input)),
            (None, _) => self.answer_for_the_gone(desk),
        }
        let delivered = Input::MessageDelivered(self.message);
        self.sender.answer(desk, delivered);
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "a message to another run was lost");
    }
}

impl NoticeJob {
    /// Where the one lives that is meant, if it is another run than the one that was found.
    fn elsewhere(&self, desk: &Desk<'_>, found: Option<RunNumber>) -> Option<Address> {
        let run = found.and_then(|number| desk.run(number));
        let run_id = match self.notice {
            // A parent that was reset lives on as another run.
            Notice::ChildClosed(_) => {
                Some(run?.state().reset_run_id.as_str()).filter(|id| !id.is_empty())
            }
            Notice::Adopt(_) => self.child_elsewhere(run),
            Notice::Terminate(_)
            | Notice::Cancel(_)
            | Notice::ScheduledClosed(_)
            | Notice::Signal(_)
            | Notice::Webhook(_) => None,
        };
        let (namespace_id, workflow_id) = self.address.workflow()?;
        run_id.map(|run_id| Address::of(namespace_id, workflow_id, run_id))
    }

    /// The child's last run is meant, also when its id has another owner by now.
    fn child_elsewhere<'a>(&'a self, run: Option<&'a Run>) -> Option<&'a str> {
        match run.filter(|run| run.first_run_id() == self.target.first_run_id) {
            Some(run) => run.follower(),
            None => {
                matches!(self.address, Address::Current { .. }).then_some(&self.target.first_run_id)
            }
        }
    }

    /// A child that was deleted cannot say how it ended; its parent must not wait for it.
    fn answer_for_the_gone(&self, desk: &mut Desk<'_>) {
        let Notice::Adopt(initiated_event_id) = self.notice else { return };
        let identity = ENGINE.to_owned();
        let close = Attributes::from(Terminated { identity, ..Terminated::default() });
        let execution = self.child();
        let first_run_id = self.target.first_run_id.clone();
        let closed = ChildClosed { initiated_event_id, first_run_id, execution, close };
        self.sender.clone().answer(desk, Input::ChildClosed(Box::new(closed)));
    }

    fn child(&self) -> common::WorkflowExecution {
        let workflow_id = self.address.workflow().map_or("", |(_, id)| id).to_owned();
        common::WorkflowExecution { workflow_id, run_id: self.target.first_run_id.clone() }
    }

    /// A schedule is not a run, and takes other inputs.
    fn tell_schedule(&self, desk: &mut Desk<'_>, number: RunNumber) {
        if !matches!(self.notice, Notice::ScheduledClosed(_)) {
            return;
        }
        let mut execution = self.sender.execution();
        execution.run_id.clone_from(&self.chain);
        let last = self.close.as_ref().and_then(|event| event.attributes.as_ref());
        let closed = schedules::closed(self.request_id.clone(), execution, last);
        desk.tell_schedule(number, &self.target.run_id, closed);
    }

    /// What a run is told.
    fn input(&self) -> Option<Input> {
        Some(match &self.notice {
            Notice::ChildClosed(initiated_event_id) => {
                let close = self.close.as_ref()?.attributes.clone()?;
                Input::ChildClosed(Box::new(ChildClosed {
                    initiated_event_id: *initiated_event_id,
                    first_run_id: self.chain.clone(),
                    execution: self.sender.execution(),
                    close,
                }))
            }
            Notice::Terminate(_) => Input::Terminate(Terminate {
                reason: "by parent close policy".to_owned(),
                identity: ENGINE.to_owned(),
                child_of: Some(self.sender.parent()),
                ..Terminate::default()
            }),
            Notice::Cancel(_) => Input::RequestCancel(CancelRequest {
                reason: "by parent close policy".to_owned(),
                identity: ENGINE.to_owned(),
                child_of: Some(self.sender.parent()),
                ..CancelRequest::default()
            }),
            Notice::ScheduledClosed(_) | Notice::Webhook(_) => return None,
            Notice::Signal(told) => Input::Signal(Signal {
                name: told.to.clone(),
                input: Some(common::Payloads {
                    payloads: vec![common::Payload::json(told.body.as_str())],
                }),
                identity: ENGINE.to_owned(),
                request_id: format!("{}/{}", self.sender.execution().run_id, self.message),
                ..Signal::default()
            }),
            Notice::Adopt(initiated_event_id) => Input::Adopt(Adopt {
                parent: self.sender.parent(),
                initiated_event_id: *initiated_event_id,
            }),
        })
    }
}

/// How a run closed is read from its history first, if it was not in memory any more.
fn read_close_and_post(desk: &mut Desk<'_>, mut job: NoticeJob, last_event_id: i64) {
    let shared = Arc::clone(desk.shared());
    let number = job.sender.number;
    desk.release(move || {
        tokio::spawn(async move {
            job.close = read_one(&shared, number, last_event_id).await.map(Arc::new);
            deliver(&shared, Box::new(job));
        });
    });
}

/// One event, tried until the store answers.
async fn read_one(shared: &Shared, run: RunNumber, id: i64) -> Option<HistoryEvent> {
    loop {
        match history::page(&*shared.store, run, id, id, 1).await {
            Ok(events) => return events.into_iter().next(),
            Err(error) if error.code == Code::Unavailable => {
                shared.clock.sleep(shared.limits.commit_retry.1).await;
            }
            Err(_) => return None,
        }
    }
}
