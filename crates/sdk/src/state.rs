//! What activities share: connections, settings, anything that is made once.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
    sync::Arc,
};

/// Values by their type.
#[derive(Clone, Default)]
pub(crate) struct States(Arc<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl States {
    /// With another value; one of its type is replaced.
    #[must_use]
    pub(crate) fn with<T: Send + Sync + 'static>(self, value: T) -> Self {
        let mut states = Arc::unwrap_or_clone(self.0);
        states.insert(TypeId::of::<T>(), Arc::new(value));
        Self(Arc::new(states))
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>()).cloned()?.downcast().ok()
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "States({})", self.0.len())
    }
}
