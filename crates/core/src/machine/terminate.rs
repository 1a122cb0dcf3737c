//! The run ends at once; its code is not asked.

use steadfast_proto::history;

use crate::{
    input::Terminate,
    machine::{close, parent, workflow_task},
    refused::Refused,
    tx::{Note, Tx},
};

/// Ends the run for whoever asked.
pub(crate) fn request(tx: &mut Tx<'_>, input: Terminate) -> Result<(), Refused> {
    parent::check(tx.run, input.child_of.as_ref())?;
    terminate(tx, input);
    Ok(())
}

/// Ends the run because it broke a limit.
pub(crate) fn by_engine(tx: &mut Tx<'_>, reason: &str) {
    terminate(
        tx,
        Terminate {
            reason: reason.to_owned(),
            identity: workflow_task::ENGINE.to_owned(),
            ..Terminate::default()
        },
    );
}

fn terminate(tx: &mut Tx<'_>, input: Terminate) {
    workflow_task::end_for_close(tx);
    tx.run.state.ended_by_reset = !input.reset_run_id.is_empty();
    tx.run.state.reset_run_id = input.reset_run_id;
    if tx.run.state.ended_by_reset {
        close::leave_children(tx);
    }
    let event = history::WorkflowExecutionTerminatedEventAttributes {
        reason: input.reason,
        details: input.details,
        identity: input.identity,
    };
    close::close_noted(tx, event, Note::of_links(input.links));
}
