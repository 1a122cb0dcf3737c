//! An update: a request that the workflow may refuse, and that has an outcome.
//!
//! ```text
//!             asked for             on a workflow task          accepted            completed
//!  (absent) ────────────▶ Admitted ─────────────────▶ Sent ──────────────▶ Accepted ──────────▶ Completed
//!                            ▲     the task is lost    │  rejected
//!                            └─────────────────────────┼──────────▶ (absent)
//!                                                      ▼
//!                                            not answered: rejected for it
//! ```
//!
//! Until it is accepted it is not in the history, and a crash loses it: its caller asks again.

use prost::Message as _;
use steadfast_proto::{
    enums::WorkflowTaskFailedCause as FailedCause,
    failure::Failure,
    history,
    prost_types::Any,
    protocol::{Message, message::SequencingId},
    update::{Acceptance, Meta, Outcome, Rejection, Request, Response, outcome::Value},
};

use crate::{
    bad,
    failure::of_application,
    fold,
    machine::workflow_task,
    refused::{BadCommand, Refused},
    run::Run,
    state::Update,
    transition::{Aborted, Effect, UpdateProgress},
    tx::Tx,
};

const TYPE_PREFIX: &str = "type.googleapis.com/";
const CAUSE: FailedCause = FailedCause::BadUpdateWorkflowExecutionMessage;
/// From this attempt on a workflow task counts as failing.
const FAILING: u32 = 3;

/// Takes a request in. One that is known already changes nothing.
pub(crate) fn admit(tx: &mut Tx<'_>, request: Request) -> Result<(), Refused> {
    let id = id_of(&request);
    if id.is_empty() {
        let problem = "must be set".to_owned();
        return Err(Refused::Invalid { field: "update_id", problem });
    }
    if tx.run.updates.get(&id).is_some() {
        return Ok(());
    }
    if tx.run.is_closing() {
        return Err(Refused::Closing);
    }
    if is_failing(tx.run) {
        return Err(Refused::TaskFailing);
    }
    let limit = tx.limits.updates_in_flight_max;
    if tx.run.in_flight.len() >= limit {
        return Err(Refused::UpdatesInFlight { limit });
    }
    let limit = tx.limits.updates_max;
    if tx.run.updates.len() >= limit {
        return Err(Refused::UpdateLimit { limit });
    }
    fold::begin_update(tx.run, id, Update { request: Some(request), ..Update::default() });
    workflow_task::want_for_update(tx);
    Ok(())
}

/// Whether the workflow task fails over and over.
pub(crate) fn is_failing(run: &Run) -> bool {
    run.state.task.as_ref().is_some_and(|task| task.attempt >= FAILING)
}

/// Puts the waiting updates on the workflow task that was just started.
pub(crate) fn send(tx: &mut Tx<'_>) {
    let Some(task) = &tx.run.state.task else { return };
    let nonce = task.nonce;
    for id in waiting(tx.run) {
        if let Some(update) = tx.run.updates.get_mut(&id) {
            update.sent = nonce;
        }
    }
}

/// The workflow task that carried them is lost: they wait again.
pub(crate) fn take_back(tx: &mut Tx<'_>) {
    for id in sent(tx.run) {
        if let Some(update) = tx.run.updates.get_mut(&id) {
            update.sent = 0;
        }
    }
}

/// The workflow task that carried them was botched: their callers are told.
pub(crate) fn abort_sent(tx: &mut Tx<'_>) {
    let sent = sent(tx.run);
    abort(tx, sent);
}

/// Those that came with a reset stay: they are in the history, and nobody would ask again.
fn abort(tx: &mut Tx<'_>, updates: Vec<String>) {
    for update_id in updates {
        if tx.run.updates.get(&update_id).is_some_and(|update| update.row.admitted_event_id != 0) {
            continue;
        }
        forget(tx.run, &update_id);
        let progress = UpdateProgress::Aborted(Aborted::TaskFailed);
        tx.effect(Effect::UpdateChanged { update_id, progress });
    }
}

/// Whether updates wait for a workflow task.
pub(crate) fn are_waiting(run: &Run) -> bool {
    in_flight(run).any(|(_, update)| is_waiting(update))
}

/// What the workflow task that is under way says to the worker. An update that came with a reset is
/// in its history: SDKs make the message of that event themselves, and would take ours for a second
/// request.
pub(crate) fn messages(run: &Run) -> Vec<Message> {
    let Some(task) = run.state.task.as_ref().filter(|task| task.is_started()) else {
        return Vec::new();
    };
    let carried = in_flight(run)
        .filter(|(_, update)| update.sent == task.nonce && update.row.admitted_event_id == 0);
    let message = |(id, update): (&String, &Update)| {
        let request = update.request.as_ref()?;
        Some(Message {
            id: format!("{id}/request"),
            protocol_instance_id: id.clone(),
            body: Some(Any {
                type_url: format!("{TYPE_PREFIX}temporal.api.update.v1.Request"),
                value: request.encode_to_vec(),
            }),
            sequencing_id: Some(SequencingId::EventId(task.started_event_id - 1)),
        })
    };
    carried.filter_map(message).collect()
}

/// What the workflow says to one of its updates.
pub(crate) fn answer(tx: &mut Tx<'_>, message: &Message) -> Result<(), BadCommand> {
    let id = &message.protocol_instance_id;
    let body = message.body.clone().unwrap_or_default();
    match kind_of(&body) {
        Some("Acceptance") => accept(tx, id, decode(&body)?),
        Some("Response") => complete(tx, id, decode(&body)?),
        Some("Rejection") => refuse(tx, id, decode(&body)?),
        _ => Err(bad::command(CAUSE, format!("unknown message {:?}", body.type_url))),
    }
}

/// Whether the workflow says no.
pub(crate) fn is_rejection(message: &Message) -> bool {
    message.body.as_ref().is_some_and(|body| kind_of(body) == Some("Rejection"))
}

/// Rejects those that the workflow was given and said nothing to.
pub(crate) fn reject_unanswered(tx: &mut Tx<'_>) {
    for id in sent(tx.run) {
        let failure = of_application(
            "UnprocessedUpdate",
            "Workflow Update is rejected because it wasn't processed by worker. Probably, \
             Workflow Update is not supported by the worker.",
        );
        reject(tx, &id, Some(failure));
    }
}

fn accept(tx: &mut Tx<'_>, id: &str, acceptance: Acceptance) -> Result<(), BadCommand> {
    let known = tx.run.updates.get(&id.to_owned());
    if known.is_some_and(Update::is_accepted) {
        return Err(bad::command(CAUSE, format!("update {id} was accepted before")));
    }
    let is_in_history = known.is_some_and(|update| update.row.admitted_event_id != 0);
    let request = known.and_then(|update| update.request.clone()).or(acceptance.accepted_request);
    if request.is_none() && !is_in_history {
        return Err(bad::command(CAUSE, format!("update {id} is not known")));
    }
    tx.append(history::WorkflowExecutionUpdateAcceptedEventAttributes {
        protocol_instance_id: id.to_owned(),
        accepted_request_message_id: acceptance.accepted_request_message_id,
        accepted_request_sequencing_event_id: acceptance.accepted_request_sequencing_event_id,
        accepted_request: request.filter(|_| !is_in_history),
    });
    let progress = UpdateProgress::Accepted;
    tx.effect(Effect::UpdateChanged { update_id: id.to_owned(), progress });
    Ok(())
}

fn complete(tx: &mut Tx<'_>, id: &str, response: Response) -> Result<(), BadCommand> {
    let known = tx.run.updates.get(&id.to_owned());
    let Some(update) = known.filter(|update| update.is_accepted() && !update.is_completed()) else {
        return Err(bad::command(CAUSE, format!("update {id} is not under way")));
    };
    let accepted_event_id = update.row.accepted_event_id;
    let outcome = response.outcome.unwrap_or_default();
    let meta = Meta { update_id: id.to_owned(), ..response.meta.unwrap_or_default() };
    tx.append(history::WorkflowExecutionUpdateCompletedEventAttributes {
        meta: Some(meta),
        accepted_event_id,
        outcome: Some(outcome.clone()),
    });
    let progress = UpdateProgress::Completed(outcome);
    tx.effect(Effect::UpdateChanged { update_id: id.to_owned(), progress });
    Ok(())
}

fn refuse(tx: &mut Tx<'_>, id: &str, rejection: Rejection) -> Result<(), BadCommand> {
    match tx.run.updates.get(&id.to_owned()) {
        Some(update) if !update.is_accepted() => {
            reject(tx, id, rejection.failure);
            Ok(())
        }
        // A crash lost it while the worker had it, and whoever asked with it.
        None if rejection.rejected_request.is_some() => Ok(()),
        Some(_) => Err(bad::command(CAUSE, format!("update {id} was accepted before"))),
        None => Err(bad::command(CAUSE, format!("update {id} is not known"))),
    }
}

fn reject(tx: &mut Tx<'_>, id: &str, failure: Option<Failure>) {
    forget(tx.run, id);
    let outcome = Outcome { value: Some(Value::Failure(failure.unwrap_or_default())) };
    let progress = UpdateProgress::Completed(outcome);
    tx.effect(Effect::UpdateChanged { update_id: id.to_owned(), progress });
}

/// An update that is not accepted leaves no trace.
pub(crate) fn forget(run: &mut Run, id: &str) {
    run.updates.remove(&id.to_owned());
    fold::end_update(run, id);
}

/// The updates that are not completed, in the order in which they came.
pub(crate) fn in_flight(run: &Run) -> impl Iterator<Item = (&String, &Update)> {
    run.in_flight.iter().filter_map(|(_, id)| Some((id, run.updates.get(id)?)))
}

fn is_waiting(update: &Update) -> bool {
    update.sent == 0 && !update.is_accepted() && update.request.is_some()
}

fn waiting(run: &Run) -> Vec<String> {
    let waiting = in_flight(run).filter(|(_, update)| is_waiting(update));
    waiting.map(|(id, _)| id.clone()).collect()
}

fn sent(run: &Run) -> Vec<String> {
    let sent = in_flight(run).filter(|(_, update)| update.sent != 0 && !update.is_accepted());
    sent.map(|(id, _)| id.clone()).collect()
}

pub(crate) fn id_of(request: &Request) -> String {
    request.meta.as_ref().map(|meta| meta.update_id.clone()).unwrap_or_default()
}

fn kind_of(body: &Any) -> Option<&str> {
    body.type_url.rsplit('.').next()
}

fn decode<M: prost::Message + Default>(body: &Any) -> Result<M, BadCommand> {
    M::decode(body.value.as_slice())
        .map_err(|error| bad::command(CAUSE, format!("{} cannot be read: {error}", body.type_url)))
}
