//! Orchestrations: the seed's promises and its testing plan, on virtual time.

mod api;
mod attempts;
mod backoff;
mod crashes;
mod drawn;
mod errors;
mod extras;
mod listings;
mod peers;
mod real;
mod replay;
mod rig;
mod stale;
mod timeouts;
mod typed;
