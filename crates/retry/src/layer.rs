//! Who wrote a rule. Higher layers are asked first.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The layers, highest first.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// An operator, on a running system.
    Operator,
    /// The workflow, where it calls the activity.
    #[default]
    CallSite,
    /// The activity's registration.
    ActivityType,
    /// The task queue.
    TaskQueue,
    /// The namespace.
    Namespace,
    /// What the engine does when nobody said anything.
    Engine,
}

impl Layer {
    /// Every layer, highest first.
    pub const ALL: [Self; 6] = [
        Self::Operator,
        Self::CallSite,
        Self::ActivityType,
        Self::TaskQueue,
        Self::Namespace,
        Self::Engine,
    ];

    /// The name in explanations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::CallSite => "call site",
            Self::ActivityType => "activity type",
            Self::TaskQueue => "task queue",
            Self::Namespace => "namespace",
            Self::Engine => "engine",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
