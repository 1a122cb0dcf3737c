//! A signal to the run: written down, and the workflow is to hear of it.

use steadfast_proto::history;

use crate::{
    input::Signal,
    machine::{parent, workflow_task},
    refused::Refused,
    tx::{Note, Tx},
};

/// Takes a signal. A second one with the same request id changes nothing.
pub(crate) fn receive(tx: &mut Tx<'_>, signal: Signal) -> Result<(), Refused> {
    parent::check(tx.run, signal.child_of.as_ref())?;
    if !signal.request_id.is_empty() && tx.run.requests.get(&signal.request_id).is_some() {
        return Ok(());
    }
    if tx.run.is_closing() {
        return Err(Refused::Closing);
    }
    if tx.run.state.signals >= tx.limits.signals_max {
        return Err(Refused::SignalLimit);
    }
    let wakes = signal.wakes;
    write(tx, signal);
    if wakes {
        workflow_task::want_now(tx);
    } else {
        workflow_task::want(tx);
    }
    Ok(())
}

/// Writes the signal's event.
pub(crate) fn write(tx: &mut Tx<'_>, signal: Signal) {
    let event = history::WorkflowExecutionSignaledEventAttributes {
        signal_name: signal.name,
        input: signal.input,
        identity: signal.identity,
        header: signal.header,
        external_workflow_execution: signal.sender,
        request_id: signal.request_id,
        ..history::WorkflowExecutionSignaledEventAttributes::default()
    };
    tx.happen_at(tx.now, event, Note::of_links(signal.links));
}
