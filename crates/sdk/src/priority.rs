//! Whose tasks come first when a queue has more than its workers can do.

use steadfast_proto::common;

/// Whose tasks come first when a queue has more than its workers can do.
///
/// ```
/// use steadfast::Priority;
///
/// let urgent = Priority::level(1);
/// let fair = Priority::default().fairness("tenant-7", 2.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Priority(common::Priority);

impl Priority {
    /// From 1, which comes first, to 5. Where nothing is said it is 3.
    pub fn level(level: u8) -> Self {
        Self(common::Priority { priority_key: level.into(), ..common::Priority::default() })
    }

    /// Shares what the workers can do with the other keys of the same level, by weight: a server that
    /// balances keys does so.
    #[must_use]
    pub fn fairness(mut self, key: impl Into<String>, weight: f32) -> Self {
        self.0.fairness_key = key.into();
        self.0.fairness_weight = weight;
        self
    }

    pub(crate) fn to_wire(&self) -> common::Priority {
        self.0.clone()
    }
}
