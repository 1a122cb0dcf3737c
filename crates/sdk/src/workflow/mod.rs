//! Workflows: the code that decides what happens next, written as one async function.
//!
//! ```text
//!   code ──▶ WorkflowContext ──▶ Journal ──▶ commands
//!    ▲                              │
//!    └──────── futures wake ◀───────┘ ◀── history, event by event
//! ```
//!
//! The code of a run is polled after each event that concerns it, so what it sees is the order of
//! history and nothing else.

mod activity;
mod child;
mod context;
mod definition;
mod external;
mod handlers;
mod info;
mod journal;
mod local;
mod locals;
mod mark;
mod marker;
mod next;
mod patch;
mod pending;
mod properties;
mod registry;
mod rest;
mod saga;
mod scope;
mod signal;
mod tasks;
mod timer;

pub use activity::{ActivityCall, StartedActivity};
pub use child::{ChildCall, ChildHandle};
pub use context::{Until, WorkflowContext};
pub use definition::{Workflow, WorkflowFn};
pub use external::ExternalWorkflow;
pub use handlers::StateCell;
pub use info::{ParentWorkflow, WorkflowInfo};
pub use local::{LocalActivityCall, StartedLocalActivity};
pub use next::NextRun;
pub use pending::OnCancel;
pub use saga::Saga;
pub use scope::CancelScope;
pub use signal::Signals;
pub use timer::Timer;

pub(crate) use handlers::UpdateTurn;
pub(crate) use journal::{Ending, Issued, Journal, Outcome};
pub(crate) use locals::LocalTask;
pub(crate) use mark::Mark;
pub(crate) use marker::Marker;
pub(crate) use patch::{is_list, marks_deprecated};
pub(crate) use registry::Registry;
pub(crate) use rest::STRANGER;
pub(crate) use tasks::{Spawned, Tasks, words};
