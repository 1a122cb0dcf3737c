//! Search attributes: what the runs of a namespace can be found by, added and removed by operators.

use std::collections::BTreeMap;

use steadfast_proto::{
    enums::IndexedValueType,
    operatorservice::{
        AddSearchAttributesRequest, AddSearchAttributesResponse, ListSearchAttributesRequest,
        ListSearchAttributesResponse, RemoveSearchAttributesRequest,
        RemoveSearchAttributesResponse,
    },
    workflowservice::{GetSearchAttributesRequest, GetSearchAttributesResponse},
};

use super::Engine;
use crate::{
    error::Error,
    namespaces::{Namespace, NamespaceData},
    visibility::{
        Schema,
        schema::{built_in, is_reserved, to_wire},
    },
};

impl Engine {
    /// Adds search attributes to a namespace. Those that are there with the same type, in
    /// whatever case, are fine. They can be used at once.
    pub async fn add_search_attributes(
        &self,
        request: AddSearchAttributesRequest,
    ) -> Result<AddSearchAttributesResponse, Error> {
        let _turn = self.shared().namespaces.turn().await;
        let old = self.namespace(&request.namespace)?;
        if request.search_attributes.is_empty() {
            return Err(not_set());
        }
        let mut data = old.data.clone();
        let mut schema = Schema::new(old.search_attributes());
        let wanted: BTreeMap<String, i32> = request.search_attributes.into_iter().collect();
        for (name, number) in wanted {
            let kind = IndexedValueType::try_from(number).unwrap_or_default();
            if schema.add(&name, kind)? {
                data.search_attributes.insert(name, number);
            }
        }
        self.change(&old, data).await?;
        Ok(AddSearchAttributesResponse {})
    }

    /// Removes search attributes from a namespace. Runs that carry them keep them, but cannot be
    /// found by them.
    pub async fn remove_search_attributes(
        &self,
        request: RemoveSearchAttributesRequest,
    ) -> Result<RemoveSearchAttributesResponse, Error> {
        let _turn = self.shared().namespaces.turn().await;
        let old = self.namespace(&request.namespace)?;
        if request.search_attributes.is_empty() {
            return Err(not_set());
        }
        let mut data = old.data.clone();
        for name in request.search_attributes {
            if is_reserved(&name) {
                return Err(Error::invalid(format!(
                    "Unable to remove non-custom search attributes: {name}"
                )));
            }
            if data.search_attributes.remove(&name).is_none() {
                return Err(Error::not_found(format!("Search attribute {name} doesn't exist.")));
            }
        }
        self.change(&old, data).await?;
        Ok(RemoveSearchAttributesResponse {})
    }

    /// Shows the search attributes of a namespace: its own, and those that every namespace has.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn list_search_attributes(
        &self,
        request: ListSearchAttributesRequest,
    ) -> Result<ListSearchAttributesResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        Ok(ListSearchAttributesResponse {
            custom_attributes: namespace.data.search_attributes.clone().into_iter().collect(),
            system_attributes: system().collect(),
            ..ListSearchAttributesResponse::default()
        })
    }

    /// Shows all search attributes, in the older way of asking, which names no namespace.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn get_search_attributes(
        &self,
        _request: GetSearchAttributesRequest,
    ) -> Result<GetSearchAttributesResponse, Error> {
        let all = self.shared().namespaces.all();
        let custom = all.iter().flat_map(|it| it.data.search_attributes.clone());
        Ok(GetSearchAttributesResponse { keys: custom.chain(system()).collect() })
    }

    /// Keeps a namespace with other content.
    async fn change(&self, old: &Namespace, data: NamespaceData) -> Result<(), Error> {
        let limits = &self.shared().limits.run;
        self.keep(Namespace::new(old.id.clone(), old.name.clone(), data, limits)).await
    }
}

fn system() -> impl Iterator<Item = (String, i32)> {
    built_in().map(|(name, kind)| (name.to_owned(), to_wire(kind).into()))
}

fn not_set() -> Error {
    Error::invalid("SearchAttributes are not set on request.")
}
