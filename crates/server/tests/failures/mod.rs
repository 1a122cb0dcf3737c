//! Failures through the HTTP door, each story once more for each of its points with the plug pulled
//! there. Waiting is in time that stands still until the story lets it pass.

mod acting;
mod changing;
mod many;
mod matching;
mod poison;
mod policies;
mod previewing;
mod rekeying;
mod resuming;
pub(crate) mod rig;
mod runs;
mod sweeping;
mod telling;
mod undelivered;
mod views;
mod waiting;
