//! Namespaces: kept in memory whole, because every request asks for one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use steadfast_core::Rulebook;
use steadfast_proto::{
    enums::{IndexedValueType, NamespaceState},
    errordetails::NamespaceNotFoundFailure,
};
use steadfast_store::{NamespaceRow, SearchType, codec};

use crate::{
    error::{Code, Detail, Error},
    visibility::schema::from_wire,
};

/// A namespace as the engine uses it.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: NamespaceData,
    /// The limits of its runs.
    pub(crate) limits: Arc<steadfast_core::Limits>,
    /// What operators say about the failures of its runs.
    pub(crate) rulebook: Arc<Rulebook>,
}

/// What is stored of a namespace. A tag is never reused.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NamespaceData {
    #[prost(string, tag = "1")]
    pub(crate) description: String,
    #[prost(string, tag = "2")]
    pub(crate) owner_email: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(crate) data: BTreeMap<String, String>,
    /// How long closed runs are kept, in nanoseconds.
    #[prost(int64, tag = "4")]
    pub(crate) retention: i64,
    #[prost(enumeration = "NamespaceState", tag = "5")]
    pub(crate) state: i32,
    /// Custom search attributes: the public number of each one's type.
    #[prost(btree_map = "string, int32", tag = "6")]
    pub(crate) search_attributes: BTreeMap<String, i32>,
}

/// All namespaces by name.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    all: RwLock<BTreeMap<String, Arc<Namespace>>>,
    /// How often one was changed: who keeps something of one looks here whether it still holds.
    changes: AtomicU64,
    /// Whoever changes one looks at it first: one after the other.
    turn: tokio::sync::Mutex<()>,
}

impl Namespace {
    pub(crate) fn new(
        id: String,
        name: String,
        data: NamespaceData,
        limits: &steadfast_core::Limits,
    ) -> Self {
        let nanos = u64::try_from(data.retention).unwrap_or_default();
        let retention = Duration::from_nanos(nanos);
        let limits = Arc::new(steadfast_core::Limits { retention, ..limits.clone() });
        Self { id, name, data, limits, rulebook: Arc::default() }
    }

    pub(crate) fn read(
        row: &NamespaceRow,
        limits: &steadfast_core::Limits,
    ) -> Result<Self, codec::Error> {
        let data = codec::decode(&row.data)?;
        Ok(Self::new(row.id.clone(), row.name.clone(), data, limits))
    }

    pub(crate) fn row(&self) -> NamespaceRow {
        NamespaceRow {
            id: self.id.clone(),
            name: self.name.clone(),
            data: codec::encode(&self.data),
        }
    }

    /// Whether it was deleted, and only its runs are not all gone yet.
    pub(crate) fn is_deleted(&self) -> bool {
        self.data.state == i32::from(NamespaceState::Deleted)
    }

    /// Its custom search attributes.
    pub(crate) fn search_attributes(&self) -> BTreeMap<String, SearchType> {
        let all = self.data.search_attributes.iter();
        all.filter_map(|(name, kind)| {
            Some((name.clone(), from_wire(IndexedValueType::try_from(*kind).ok()?)?))
        })
        .collect()
    }
}

impl Namespaces {
    /// The right to change namespaces, for as long as it is held.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Puts a namespace in the place of the one with the same id, whose rulebook stays.
    pub(crate) fn insert(&self, mut namespace: Namespace) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        // What operators say about failures is changed on its own.
        if let Some(old) = all.get(&namespace.name).filter(|old| old.id == namespace.id) {
            namespace.rulebook = Arc::clone(&old.rulebook);
        }
        // Only a deleted one has changed its name.
        if namespace.is_deleted() {
            all.retain(|_, old| old.id != namespace.id);
        }
        all.insert(namespace.name.clone(), Arc::new(namespace));
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// How often a namespace was changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Has other rules hold for the failures of a namespace.
    pub(crate) fn set_rulebook(&self, id: &str, rulebook: &Arc<Rulebook>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        for namespace in all.values_mut().filter(|namespace| namespace.id == id) {
            Arc::make_mut(namespace).rulebook = Arc::clone(rulebook);
        }
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Forgets a namespace.
    pub(crate) fn remove(&self, id: &str) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, old| old.id != id);
    }

    /// The namespace that a request names.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Namespace>, Error> {
        if name.is_empty() {
            return Err(Error::invalid("Namespace not set on request."));
        }
        let found = self.read(|all| all.get(name).cloned());
        found.filter(|it| !it.is_deleted()).ok_or_else(|| unknown(name))
    }

    /// The namespace with this id, deleted or not.
    pub(crate) fn with_id(&self, id: &str) -> Result<Arc<Namespace>, Error> {
        let found = self.read(|all| all.values().find(|it| it.id == id).cloned());
        found.ok_or_else(|| unknown(id))
    }

    /// All of them, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Namespace>> {
        self.read(|all| all.values().cloned().collect())
    }

    fn read<T>(&self, look: impl FnOnce(&BTreeMap<String, Arc<Namespace>>) -> T) -> T {
        look(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(crate) fn unknown(name: &str) -> Error {
    let detail = NamespaceNotFoundFailure { namespace: name.to_owned() };
    Error::new(Code::NotFound, format!("Namespace {name} is not found."))
        .with(Detail::NamespaceNotFound(detail))
}
