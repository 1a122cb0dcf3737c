//! Namespaces: registered, described, changed, listed.

use std::time::Duration;

use steadfast_core::span;
use steadfast_proto::{
    enums::{ArchivalState, NamespaceState, ReplicationState},
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
    system::{CLUSTER, capabilities},
};
use crate::{
    error::{Code, Detail, Error},
    namespaces::{Namespace, NamespaceData, unknown},
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
        let _turn = self.shared().namespaces.turn().await;
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
        let by_id = request.namespace.is_empty() && !request.id.is_empty();
        let named = if by_id {
            let found = self.shared().namespaces.with_id(&request.id)?;
            if found.is_deleted() {
                return Err(unknown(&request.id));
            }
            found
        } else {
            self.namespace(&request.namespace)?
        };
        Ok(self.describe(&named))
    }

    /// Shows the namespaces, by name. Those that are being deleted only to whoever asks for them.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn list_namespaces(
        &self,
        request: ListNamespacesRequest,
    ) -> Result<ListNamespacesResponse, Error> {
        let with_deleted = request.namespace_filter.is_some_and(|it| it.include_deleted);
        let after = String::from_utf8(request.next_page_token);
        let after = after.map_err(|_| Error::invalid("Next page token is invalid."))?;
        let size = usize::try_from(request.page_size).ok().filter(|size| *size > 0);
        let size = size.unwrap_or(PAGE).min(self.shared().limits.list_page_max);
        let mut found = self.shared().namespaces.all();
        found.retain(|it| it.name > after && (with_deleted || !it.is_deleted()));
        let more = found.len() > size;
        found.truncate(size);
        let last = found.last().filter(|_| more).map(|it| it.name.clone().into_bytes());
        Ok(ListNamespacesResponse {
            namespaces: found.iter().map(|namespace| self.describe(namespace)).collect(),
            next_page_token: last.unwrap_or_default(),
        })
    }

    /// Changes a namespace: what is given takes the place of what was, `data` key by key.
    pub async fn update_namespace(
        &self,
        request: UpdateNamespaceRequest,
    ) -> Result<UpdateNamespaceResponse, Error> {
        let _turn = self.shared().namespaces.turn().await;
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
        let described = self.describe(&new);
        self.keep(new).await?;
        Ok(UpdateNamespaceResponse {
            namespace_info: described.namespace_info,
            config: described.config,
            replication_config: described.replication_config,
            ..UpdateNamespaceResponse::default()
        })
    }

    pub(super) async fn keep(&self, namespace: Namespace) -> Result<(), Error> {
        self.store().put_namespace(namespace.row()).await?;
        self.shared().namespaces.insert(namespace);
        Ok(())
    }

    fn describe(&self, namespace: &Namespace) -> DescribeNamespaceResponse {
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
                capabilities: Some(capabilities(&self.shared().limits)),
                limits: Some(namespace_info::Limits {
                    blob_size_limit_error: bytes(limits.blob_bytes_max),
                    memo_size_limit_error: bytes(limits.memo_bytes_max),
                    ..namespace_info::Limits::default()
                }),
                supports_schedules: true,
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

/// Namespaces on a page, for whoever does not say.
const PAGE: usize = 100;

const RETENTION_MIN: Duration = Duration::from_secs(3_600);
