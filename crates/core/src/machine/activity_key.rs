//! The idempotency key of an activity that is resumed late.
//!
//! Whoever the activity calls remembers its key for a while. A resume after that would do the work once
//! more where it was done already, so it is refused, unless somebody wants just that and gives the
//! activity a new key.

use std::time::Duration;

use steadfast_retry::{Timestamp, span::Span};

use crate::{machine::activity_policy, refused::Refused, span::kept, state::ActivityRow, tx::Tx};

/// Refuses a resume that would come, after `delay`, when the key of an activity is forgotten.
pub(crate) fn check(tx: &Tx<'_>, id: i64, delay: Duration) -> Result<(), Refused> {
    let Some(activity) = tx.run.activities.get(&id) else { return Ok(()) };
    let Some(first) = first_delivered(&activity.row) else { return Ok(()) };
    let Some(ttl) = activity_policy::key_ttl(tx, activity) else { return Ok(()) };
    let since = tx.now.after(delay).since(first);
    if since <= ttl {
        return Ok(());
    }
    // Whole seconds are enough for people.
    let since = Duration::from_secs(since.as_secs());
    Err(Refused::KeyForgotten {
        activity: activity.scheduled.activity_id.clone(),
        since: Span(since).to_string(),
        ttl: Span(ttl).to_string(),
    })
}

/// Gives an activity a new key, from its next attempt on.
pub(crate) fn renew(row: &mut ActivityRow) {
    row.rekeyed = row.rekeyed.saturating_add(1);
    row.first_delivered_at = 0;
}

/// When it was first delivered under its present key. Of those that were under way before this was
/// kept, it is known when they first failed.
fn first_delivered(row: &ActivityRow) -> Option<Timestamp> {
    let first_failed = kept(row.first_failed_at).filter(|_| row.rekeyed == 0);
    kept(row.first_delivered_at).or(first_failed)
}
