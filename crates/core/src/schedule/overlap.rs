//! What becomes of starts that wait, while others run.
//!
//! | policy | nothing runs | something runs, or is about to |
//! |---|---|---|
//! | skip | start | drop it |
//! | buffer one | start | keep it, if none is kept |
//! | buffer all | start | keep it |
//! | cancel other | start | ask the other to end and keep it |
//! | terminate other | start | end the other and keep it |
//! | allow all | start | start |

use steadfast_proto::enums::ScheduleOverlapPolicy as Policy;

use super::state::Pending;

/// What becomes of the starts that wait.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// Started now, beside whatever runs.
    pub(super) beside: Vec<Pending>,
    /// Started now, as the only one.
    pub(super) alone: Option<Pending>,
    /// Kept.
    pub(super) kept: Vec<Pending>,
    /// How many were dropped.
    pub(super) skipped: i64,
    /// Whether what runs is asked to end.
    pub(super) cancel: bool,
    /// Whether what runs is ended.
    pub(super) terminate: bool,
}

/// Decides about the starts that wait, in their order. `others` is what those without a policy of
/// their own do.
pub(super) fn judge(buffer: Vec<Pending>, others: Policy, running: bool) -> Verdict {
    let mut verdict = Verdict::default();
    for start in buffer {
        let policy = resolve(start.overlap_policy(), others);
        if policy == Policy::AllowAll {
            verdict.beside.push(start);
        } else if !running && verdict.alone.is_none() {
            verdict.alone = Some(start);
        } else {
            verdict.wait(start, policy, running);
        }
    }
    verdict
}

impl Verdict {
    fn wait(&mut self, start: Pending, policy: Policy, running: bool) {
        match policy {
            Policy::BufferOne if self.kept.is_empty() => self.kept.push(start),
            Policy::BufferAll => self.kept.push(start),
            Policy::CancelOther | Policy::TerminateOther if !running => {
                // What it is to replace has not even begun.
                self.alone = Some(start);
                self.skipped += 1;
            }
            Policy::CancelOther => {
                self.cancel = true;
                self.kept.push(start);
            }
            Policy::TerminateOther => {
                self.terminate = true;
                self.kept.push(start);
            }
            Policy::Unspecified | Policy::Skip | Policy::BufferOne | Policy::AllowAll => {
                self.skipped += 1;
            }
        }
    }
}

fn resolve(own: Policy, others: Policy) -> Policy {
    match (own, others) {
        (Policy::Unspecified, Policy::Unspecified) => Policy::Skip,
        (Policy::Unspecified, others) => others,
        (own, _) => own,
    }
}
