//! Namespaces: registered, described, changed, listed.

use std::{collections::BTreeMap, time::Duration};

use steadfast_core::span;
use steadfast_proto::{
    enums::{ArchivalState, IndexedValueType, NamespaceState, ReplicationState},
    namespace::{BadBinaries, NamespaceConfig, NamespaceInfo, namespace_info},
    replication::{ClusterReplicationConfig, NamespaceReplicationConfig},
    workflowservice::{
        DescribeNamespaceRequest, DescribeNamespaceResponse, ListNamespacesRequest,
        ListNamespacesResponse, RegisterNamespaceRequest, RegisterNamespaceResponse,
        UpdateNamespaceRequest, UpdateNamespaceResponse,
    },
};

use super::{
    Engine, check_length,
    system::{CLUSTER, HAS_SCHEDULES, capabilities},
};
use crate::{
    error::{Code, Detail, Error},
    namespaces::{Namespace, NamespaceData},
    visibility::{
        Schema,
        schema::{built_in, wire_type},
    },
};

impl Engine {
    /// Creates a namespace. It can be used at once.
    pub async fn register_namespace(
        &self,
        request: RegisterNamespaceRequest,
    ) -> Result<RegisterNamespaceResponse, Error> {
        let name = request.namespace;
        if name.is_empty() {
            return Err(Error::invalid("Namespace not set on request."));
        }
        check_length("Namespace", &name, self.shared().limits.run.id_bytes_max)?;
        let retention = request.workflow_execution_retention_period.as_ref();
        let retention = checked_retention(
            retention.ok_or_else(|| Error::invalid("Retention period is not set on request."))?,
        )?;
        if self.namespace(&name).is_ok() {
            let message = format!("Namespace {name:?} already exists.");
            let error = Error::new(Code::AlreadyExists, message);
            return Err(error.with(Detail::NamespaceAlreadyExists));
        }
        let data = NamespaceData {
            description: request.description,
            owner_email: request.owner_email,
            data: request.data.into_iter().collect(),
            retention,
            state: NamespaceState::Registered.into(),
            ..NamespaceData::default()
        };
        let limits = &self.shared().limits.run;
        self.keep(Namespace::new(self.shared().ids.id(), name, data, limits)).await?;
        Ok(RegisterNamespaceResponse {})
    }

    /// Shows a namespace, by name or by id.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn describe_namespace(
        &self,
        request: DescribeNamespaceRequest,
    ) -> Result<DescribeNamespaceResponse, Error> {
        let namespace = if request.namespace.is_empty() && !request.id.is_empty() {
            self.shared().namespaces.with_id(&request.id)?
        } else {
            self.namespace(&request.namespace)?
        };
        Ok(describe(&namespace))
    }

    /// Shows all namespaces.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn list_namespaces(
        &self,
        _request: ListNamespacesRequest,
    ) -> Result<ListNamespacesResponse, Error> {
        let all = self.shared().namespaces.all();
        Ok(ListNamespacesResponse {
            namespaces: all.iter().map(|namespace| describe(namespace)).collect(),
            next_page_token: Vec::new(),
        })
    }

    /// Changes a namespace: what is given takes the place of what was, `data` key by key.
    pub async fn update_namespace(
        &self,
        request: UpdateNamespaceRequest,
    ) -> Result<UpdateNamespaceResponse, Error> {
        let old = self.namespace(&request.namespace)?;
        let mut data = old.data.clone();
        if let Some(info) = request.update_info {
            if !info.description.is_empty() {
                data.description = info.description;
            }
            if !info.owner_email.is_empty() {
                data.owner_email = info.owner_email;
            }
            data.data.extend(info.data);
        }
        let retention = request.config.and_then(|it| it.workflow_execution_retention_ttl);
        if let Some(retention) = retention {
            data.retention = checked_retention(&retention)?;
        }
        let limits = &self.shared().limits.run;
        let new = Namespace::new(old.id.clone(), old.name.clone(), data, limits);
        let described = describe(&new);
        self.keep(new).await?;
        Ok(UpdateNamespaceResponse {
            namespace_info: described.namespace_info,
            config: described.config,
            replication_config: described.replication_config,
            ..UpdateNamespaceResponse::default()
        })
    }

    /// Adds search attributes to a namespace. Those that are there with the same type are fine.
    pub async fn add_search_attributes(
        &self,
        namespace: &str,
        attributes: impl IntoIterator<Item = (String, IndexedValueType)>,
    ) -> Result<(), Error> {
        let old = self.namespace(namespace)?;
        let mut data = old.data.clone();
        let schema = Schema::new(old.search_attributes());
        for (name, kind) in attributes {
            schema.check_new(&name, kind)?;
            data.search_attributes.insert(name, kind.into());
        }
        let limits = &self.shared().limits.run;
        self.keep(Namespace::new(old.id.clone(), old.name.clone(), data, limits)).await
    }

    /// The search attributes of a namespace: those that were added to it, then those that every
    /// namespace has.
    pub fn search_attributes(&self, namespace: &str) -> Result<SearchAttributeTypes, Error> {
        let namespace = self.namespace(namespace)?;
        let kind = |number: &i32| IndexedValueType::try_from(*number).unwrap_or_default();
        let custom = namespace.data.search_attributes.iter();
        Ok(SearchAttributeTypes {
            custom: custom.map(|(name, number)| (name.clone(), kind(number))).collect(),
            system: built_in().map(|(name, kind)| (name.to_owned(), wire_type(kind))).collect(),
        })
    }

    async fn keep(&self, namespace: Namespace) -> Result<(), Error> {
        self.store().put_namespace(namespace.row()).await?;
        self.shared().namespaces.insert(namespace);
        Ok(())
    }
}

/// The search attributes of a namespace, by name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SearchAttributeTypes {
    /// Those that were added to it.
    pub custom: BTreeMap<String, IndexedValueType>,
    /// Those that every namespace has.
    pub system: BTreeMap<String, IndexedValueType>,
}

/// The namespace that everybody uses who does not ask for another one.
pub(crate) fn default_namespace(id: String, limits: &steadfast_core::Limits) -> Namespace {
    let data = NamespaceData {
        description: "The namespace for whoever names no other.".to_owned(),
        retention: i64::try_from(limits.retention.as_nanos()).unwrap_or(i64::MAX),
        state: NamespaceState::Registered.into(),
        ..NamespaceData::default()
    };
    Namespace::new(id, "default".to_owned(), data, limits)
}

fn checked_retention(wire: &steadfast_proto::prost_types::Duration) -> Result<i64, Error> {
    let retention = span::checked(Some(wire))
        .map_err(|fault| Error::invalid(format!("Invalid retention period: {fault}")))?;
    if retention < RETENTION_MIN {
        return Err(Error::invalid(format!(
            "Retention period is shorter than the minimum of {} s.",
            RETENTION_MIN.as_secs()
        )));
    }
    Ok(i64::try_from(retention.as_nanos()).unwrap_or(i64::MAX))
}

fn describe(namespace: &Namespace) -> DescribeNamespaceResponse {
    let data = &namespace.data;
    let retention = Duration::from_nanos(u64::try_from(data.retention).unwrap_or_default());
    let limits = &namespace.limits;
    let bytes = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
    DescribeNamespaceResponse {
        namespace_info: Some(NamespaceInfo {
            name: namespace.name.clone(),
            state: data.state,
            description: data.description.clone(),
            owner_email: data.owner_email.clone(),
            data: data.data.clone().into_iter().collect(),
            id: namespace.id.clone(),
            capabilities: Some(capabilities()),
            limits: Some(namespace_info::Limits {
                blob_size_limit_error: bytes(limits.blob_bytes_max),
                memo_size_limit_error: bytes(limits.memo_bytes_max),
                ..namespace_info::Limits::default()
            }),
            supports_schedules: HAS_SCHEDULES,
        }),
        config: Some(NamespaceConfig {
            workflow_execution_retention_ttl: span::to_wire(retention),
            bad_binaries: Some(BadBinaries::default()),
            history_archival_state: ArchivalState::Disabled.into(),
            visibility_archival_state: ArchivalState::Disabled.into(),
            ..NamespaceConfig::default()
        }),
        replication_config: Some(NamespaceReplicationConfig {
            active_cluster_name: CLUSTER.to_owned(),
            clusters: vec![ClusterReplicationConfig {
                cluster_name: CLUSTER.to_owned(),
                ..ClusterReplicationConfig::default()
            }],
            state: ReplicationState::Normal.into(),
        }),
        ..DescribeNamespaceResponse::default()
    }
}

const RETENTION_MIN: Duration = Duration::from_secs(3_600);
