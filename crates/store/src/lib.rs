//! Where runs are kept.
//!
//! A [`Store`] keeps rows and knows nothing of what they mean: bytes that the engine encoded with
//! [`codec`], beside the few columns that it must find them by. Every write is a [`Batch`]: all of
//! it becomes durable, or none of it.

mod aside;
mod attempts;
mod check;
pub mod codec;
mod compare;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod error_rows;
mod error_view;
mod filter;
mod history;
mod memory;
mod rows;
pub mod sqlite;
mod store;

pub use aside::{Aside, Failure};
pub use error::{Error, Outcome};
pub use error_rows::{Acknowledged, ErrorRow, ErrorState, ErrorWrite};
pub use error_view::{
    ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId, ErrorListing, ErrorPosition,
};
pub use filter::{Compare, ErrorField, Field, Filter, SearchType, Value};
pub use memory::Memory;
pub use rows::{
    AttemptLog, AttemptOutcome, AttemptRow, Batch, Epoch, EventBatch, Group, Item, ItemKind,
    ItemWrite, Lease, Listing, Lookup, NamespaceRow, Retried, RunIdentity, RunNumber, RunRows,
    RunWrite, ShardNumber, StateRow, VisibilityPosition, VisibilityRow, Waking,
};
/// What an [`Aside`] speaks to the database with.
pub use rusqlite;
pub use sqlite::Sqlite;
pub use store::{Answer, Order, Store, WorkflowId};
