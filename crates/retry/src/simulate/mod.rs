//! What would happen: the real `decide` on a virtual clock.
//!
//! [`activity`] plays one activity through its attempts; [`outage`] plays a whole downstream that goes
//! away and comes back, with everyone's retries falling on it.

pub mod activity;
pub mod outage;
