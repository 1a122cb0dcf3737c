//! What history may have that the code has forgotten: the mark of a change that was deprecated, and the
//! list of changes that was written with it.

use steadfast_proto::history::HistoryEvent;

use super::expect::fits;
use crate::workflow::{Issued, is_list, marks_deprecated};

/// Whether the event before was forgotten.
#[derive(Debug, Default)]
pub(super) struct Forgotten(bool);

impl Forgotten {
    /// Whether the code, which issues this next, has forgotten this event. Events come in order.
    pub(super) fn has(&mut self, event: &HistoryEvent, next: Option<&Issued>) -> bool {
        let may_be = marks_deprecated(event) || (self.0 && is_list(event));
        self.0 = may_be && !next.is_some_and(|issued| fits(issued, event));
        self.0
    }
}
