//! Whose child a run is.
//!
//! A parent that is reset lives on as another run. That run writes to each child that it still
//! waits for: a child that runs remembers where to send its end, and one that has ended sends it
//! again.

use crate::{
    input::{Adopt, Parent},
    machine::close,
    refused::Refused,
    run::Run,
    tx::Tx,
};

/// Whether the run is a child of whoever asks, where that is wanted.
pub(crate) fn check(run: &Run, wanted: Option<&Parent>) -> Result<(), Refused> {
    let Some(wanted) = wanted else { return Ok(()) };
    let same = run.parent().is_some_and(|parent| {
        parent.workflow_id == wanted.workflow_id && parent.run_id == wanted.run_id
    });
    if same { Ok(()) } else { Err(Refused::WrongRun) }
}

/// Another run of the parent takes this one on. Whoever does so twice changes nothing.
pub(crate) fn adopt(tx: &mut Tx<'_>, input: &Adopt) -> Result<(), Refused> {
    let parent = tx.run.parent().ok_or(Refused::WrongRun)?;
    let is_child = parent.workflow_id == input.parent.workflow_id
        && tx.run.started.parent_initiated_event_id == input.initiated_event_id;
    if !is_child || tx.run.follower().is_some() {
        return Err(Refused::WrongRun);
    }
    if parent.run_id == input.parent.run_id {
        return Ok(());
    }
    tx.run.state.parent_run_id.clone_from(&input.parent.run_id);
    tx.out.visible = true;
    if !tx.run.is_open() {
        close::tell_parent(tx);
    }
    Ok(())
}
