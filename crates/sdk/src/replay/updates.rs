//! Updates, between the messages of a workflow task, the code's handlers, and history.
//!
//! The code looks at them when it has seen all events of its turn, in the order in which they came:
//! then it is the same at a replay, where those that were accepted are read from history.

use std::{collections::BTreeSet, sync::Arc};

use steadfast_proto::{
    command::{Command, ProtocolMessageCommandAttributes},
    history::{WorkflowExecutionUpdateAdmittedEventAttributes, history_event::Attributes as E},
    prost::{Message as _, Name as _},
    prost_types::Any,
    protocol::{self, message::SequencingId},
    update,
};

use crate::{
    error::Failure,
    workflow::{Journal, Spawned, UpdateTurn},
};

/// An update that is in history although nobody has looked at it: a reset carried it over.
pub(crate) fn admit(
    journal: &Arc<Journal>,
    seen: &mut BTreeSet<String>,
    admitted: &WorkflowExecutionUpdateAdmittedEventAttributes,
    event_id: i64,
) {
    let Some(request) = admitted.request.clone() else { return };
    let Some(id) = request.meta.as_ref().map(|meta| meta.update_id.clone()) else { return };
    if seen.insert(id.clone()) {
        journal.state().updates.push_back(UpdateTurn {
            message_id: format!("{id}/request"),
            id,
            request,
            sequencing_event_id: event_id,
            accepted: false,
        });
    }
}

/// Gives the code the updates of a turn: those that came with the task, or, at a replay, those that
/// history says were accepted.
pub(crate) fn deliver<'a>(
    journal: &Arc<Journal>,
    seen: &mut BTreeSet<String>,
    messages: &[protocol::Message],
    answers: impl Iterator<Item = &'a E>,
    last_event: i64,
) {
    let mut turns: Vec<UpdateTurn> = journal.state().updates.drain(..).collect();
    for attributes in answers {
        if let E::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) = attributes {
            match turns.iter_mut().find(|turn| turn.id == accepted.protocol_instance_id) {
                Some(admitted) => admitted.accepted = true,
                None => turns.push(UpdateTurn {
                    id: accepted.protocol_instance_id.clone(),
                    request: accepted.accepted_request.clone().unwrap_or_default(),
                    message_id: accepted.accepted_request_message_id.clone(),
                    sequencing_event_id: accepted.accepted_request_sequencing_event_id,
                    accepted: true,
                }),
            }
        }
    }
    let requested = messages.iter().filter_map(|message| requested(message, last_event));
    // What was given to the code before is under way.
    turns.extend(requested.filter(|turn| !seen.contains(&turn.id)));
    for turn in turns {
        let id = turn.id.clone();
        // One that was refused may be asked again.
        if look_at(journal, turn) {
            seen.insert(id);
        } else {
            seen.remove(&id);
        }
    }
}

fn requested(message: &protocol::Message, last_event: i64) -> Option<UpdateTurn> {
    let body = message.body.as_ref()?;
    let request = update::Request::decode(body.value.as_slice()).ok()?;
    let sequencing_event_id = match message.sequencing_id {
        Some(SequencingId::EventId(event)) => event,
        Some(SequencingId::CommandIndex(_)) | None => last_event,
    };
    Some(UpdateTurn {
        id: message.protocol_instance_id.clone(),
        request,
        message_id: message.id.clone(),
        sequencing_event_id,
        accepted: false,
    })
}

/// Accepts an update and begins it, or refuses it. Whether it is accepted.
fn look_at(journal: &Arc<Journal>, turn: UpdateTurn) -> bool {
    let input = turn.request.input.clone().unwrap_or_default();
    let handler = {
        let state = journal.state();
        let handlers = &state.handlers.updates;
        handlers.get(&input.name).cloned().ok_or_else(|| {
            let known: Vec<_> = handlers.keys().collect();
            Failure::new(format!("unknown update {}. KnownUpdates={known:?}", input.name))
                .of_type("UnknownUpdate")
        })
    };
    let checked = handler.and_then(|handler| {
        if !turn.accepted {
            (handler.validate)(input.args.clone())?;
        }
        Ok(handler)
    });
    match checked {
        Ok(handler) => {
            accept(journal, &turn);
            let (journal_, handling) = (Arc::clone(journal), (handler.handle)(input.args));
            let done = async move {
                let outcome = handling.await;
                complete(&journal_, &turn, outcome);
                journal_.state().handling -= 1;
            };
            let mut state = journal.state();
            state.handling += 1;
            state.spawned.push(Spawned(Box::pin(done)));
            true
        }
        Err(failure) => {
            refuse(journal, &turn, failure);
            false
        }
    }
}

fn accept(journal: &Journal, turn: &UpdateTurn) {
    let acceptance = update::Acceptance {
        accepted_request_message_id: turn.message_id.clone(),
        accepted_request_sequencing_event_id: turn.sequencing_event_id,
        accepted_request: Some(turn.request.clone()),
    };
    let body = any(&update::Acceptance::type_url(), acceptance.encode_to_vec());
    send(journal, turn, "accept", body);
}

fn complete(
    journal: &Journal,
    turn: &UpdateTurn,
    outcome: Result<Option<steadfast_proto::common::Payloads>, Failure>,
) {
    use update::outcome::Value;
    let value = match outcome {
        Ok(result) => Value::Success(result.unwrap_or_default()),
        Err(failure) => Value::Failure(failure.into_wire()),
    };
    let response = update::Response {
        meta: turn.request.meta.clone(),
        outcome: Some(update::Outcome { value: Some(value) }),
    };
    let body = any(&update::Response::type_url(), response.encode_to_vec());
    send(journal, turn, "complete", body);
}

/// A refusal leaves no event, and has no place among those that do: a task that has nothing else to
/// say is forgotten.
fn refuse(journal: &Journal, turn: &UpdateTurn, failure: Failure) {
    let rejection = update::Rejection {
        rejected_request_message_id: turn.message_id.clone(),
        rejected_request_sequencing_event_id: turn.sequencing_event_id,
        rejected_request: Some(turn.request.clone()),
        failure: Some(failure.into_wire()),
    };
    let body = any(&update::Rejection::type_url(), rejection.encode_to_vec());
    say(journal, turn, "refuse", body);
}

/// Sends a message, and the command that says where it stands among the others.
fn send(journal: &Journal, turn: &UpdateTurn, what: &str, body: Any) {
    let message_id = say(journal, turn, what, body);
    journal.state().tell(Command::of(ProtocolMessageCommandAttributes { message_id }));
}

/// Sends a message; gives its id.
fn say(journal: &Journal, turn: &UpdateTurn, what: &str, body: Any) -> String {
    let id = format!("{}/{what}", turn.id);
    journal.state().messages.push(protocol::Message {
        id: id.clone(),
        protocol_instance_id: turn.id.clone(),
        body: Some(body),
        ..protocol::Message::default()
    });
    id
}

fn any(type_url: &str, value: Vec<u8>) -> Any {
    Any { type_url: format!("type.googleapis.com{type_url}"), value }
}
