//! Somebody has taken note of an error: it is his now, and no policy resumes it.

use crate::{
    input::AcknowledgeError,
    machine::activity_change::record,
    parked::Acknowledged,
    refused::Refused,
    trouble::{RUN, TASK},
    tx::Tx,
};

/// Takes note of an error, also of a run that is closed.
pub(crate) fn acknowledge(tx: &mut Tx<'_>, input: &AcknowledgeError) -> Result<(), Refused> {
    let error = tx.run.error(input.subject).ok_or(Refused::NoError)?;
    let same = |it: &Acknowledged| it.identity == input.identity && it.reason == input.reason;
    if error.acknowledged.as_ref().is_some_and(same) {
        return Ok(());
    }
    let now = tx.now.0;
    let trouble = match input.subject {
        RUN => {
            tx.run.state.resume = None;
            tx.run.state.trouble.as_mut()
        }
        TASK => tx.run.state.task_trouble.as_mut(),
        id if tx.run.activities.get(&id).is_some() => {
            of_activity(tx, id, input);
            None
        }
        id => tx.run.letters.get_mut(&id).and_then(|letter| letter.trouble.as_mut()),
    };
    if let Some(trouble) = trouble {
        trouble.acknowledged = Some(note(now, input));
    }
    Ok(())
}

fn of_activity(tx: &mut Tx<'_>, id: i64, input: &AcknowledgeError) {
    let now = tx.now.0;
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    let row = &mut activity.row;
    row.acknowledged = Some(note(now, input));
    if let Some(park) = &mut row.park {
        park.resume_at = 0;
        park.resume_reason.clear();
    }
    record(row, now, (&input.identity, &input.reason), "acknowledged");
}

fn note(at: i64, input: &AcknowledgeError) -> Acknowledged {
    let AcknowledgeError { identity, reason, .. } = input.clone();
    Acknowledged { at, identity, reason }
}
