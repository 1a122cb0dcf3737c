//! Activities: the steps that touch the world, each a function.

mod blocking;
mod context;
mod definition;
mod line;
mod options;
mod token;

pub use blocking::Blocking;
pub use context::{ActivityContext, ActivityInfo};
pub use definition::{Activity, ActivityFn, WithContext, WithoutContext};
pub use options::ActivityOptions;
pub use token::{ActivityToken, InvalidToken};

pub(crate) use context::Surroundings;
pub(crate) use line::{Line, Write};
