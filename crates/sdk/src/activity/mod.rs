//! Activities: the steps that touch the world, each an async function.

mod context;
mod definition;
mod options;

pub use context::{ActivityContext, ActivityInfo};
pub use definition::{Activity, ActivityFn, WithContext, WithoutContext};
pub use options::ActivityOptions;
