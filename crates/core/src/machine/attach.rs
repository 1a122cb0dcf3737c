//! A start that found the run open and is to be remembered by it: written down, and nobody is woken.

use steadfast_proto::history::{
    WorkflowExecutionOptionsUpdatedEventAttributes as Updated, history_event::Attributes,
};

use crate::{
    input::Attach,
    refused::Refused,
    tx::{Note, Tx},
};

/// Takes note of a start. A second one with the same request id changes nothing.
pub(crate) fn receive(tx: &mut Tx<'_>, attach: Attach) -> Result<(), Refused> {
    if tx.run.requests.get(&attach.request_id).is_some() {
        return Ok(());
    }
    if tx.run.is_closing() {
        return Err(Refused::Closing);
    }
    let event = Updated {
        attached_request_id: attach.request_id,
        attached_completion_callbacks: attach.callbacks,
        identity: attach.identity,
        ..Updated::default()
    };
    let event = Attributes::from(event);
    tx.happen_at(tx.now, event, Note::of_links(attach.links));
    Ok(())
}
