//! Named values that are kept beside something: a memo, search attributes.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::common::{Memo, Payload, SearchAttributes};

use crate::payload::{self, CodecError};

/// Named values, as history keeps them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields(BTreeMap<String, Payload>);

impl Fields {
    /// Those of a memo.
    pub(crate) fn of_memo(memo: Option<&Memo>) -> Self {
        Self::of(memo.map(|memo| memo.fields.iter()))
    }

    /// Those that lists can ask for.
    pub(crate) fn of_search_attributes(attributes: Option<&SearchAttributes>) -> Self {
        Self::of(attributes.map(|attributes| attributes.indexed_fields.iter()))
    }

    fn of<'a>(fields: Option<impl Iterator<Item = (&'a String, &'a Payload)>>) -> Self {
        let fields = fields.into_iter().flatten();
        Self(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// With one more.
    pub(crate) fn with<T: Serialize + ?Sized>(
        mut self,
        name: impl Into<String>,
        value: &T,
    ) -> Result<Self, CodecError> {
        self.0.insert(name.into(), payload::encode(value)?);
        Ok(self)
    }

    /// Sets a value. One that is null or an empty list is no value: the name is gone then, here as in
    /// the engine.
    pub(crate) fn put(&mut self, name: String, value: Payload) {
        if matches!(value.data.as_slice(), b"" | b"null" | b"[]") {
            self.0.remove(&name);
        } else {
            self.0.insert(name, value);
        }
    }

    /// The value of this name, if there is one.
    pub(crate) fn get<T: DeserializeOwned>(&self, name: &str) -> Option<Result<T, CodecError>> {
        self.0.get(name).map(payload::decode)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Whether the names are the same, whatever the values.
    pub(crate) fn has_names_of(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }

    /// As a memo; none, if there is nothing in it.
    pub(crate) fn into_memo(self) -> Option<Memo> {
        (!self.0.is_empty()).then(|| Memo { fields: self.0.into_iter().collect() })
    }

    /// As search attributes; none, if there are none.
    pub(crate) fn into_search_attributes(self) -> Option<SearchAttributes> {
        let some = !self.0.is_empty();
        some.then(|| SearchAttributes { indexed_fields: self.0.into_iter().collect() })
    }
}
