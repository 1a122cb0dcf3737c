//! A request to cancel the run: the workflow is told, and decides itself how it ends.

use steadfast_proto::history;

use crate::{
    input::CancelRequest,
    machine::{parent, workflow_task},
    refused::Refused,
    tx::{Note, Tx},
};

/// Takes a cancel request. A second one changes nothing.
pub(crate) fn request(tx: &mut Tx<'_>, request: CancelRequest) -> Result<(), Refused> {
    parent::check(tx.run, request.child_of.as_ref())?;
    if tx.run.state.cancel_requested {
        return Ok(());
    }
    let (sender, initiated) = match request.sender {
        Some((execution, id)) => (Some(execution), id),
        None => (None, 0),
    };
    let event = history::WorkflowExecutionCancelRequestedEventAttributes {
        cause: request.reason,
        external_initiated_event_id: initiated,
        external_workflow_execution: sender,
        identity: request.identity,
    };
    tx.happen_at(tx.now, event, Note::of_links(request.links));
    workflow_task::want_now(tx);
    Ok(())
}
