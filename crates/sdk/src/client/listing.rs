//! Lists of workflows, and what is kept beside them.

use serde::de::DeserializeOwned;
use steadfast_proto::{
    enums::IndexedValueType, operatorservice::AddSearchAttributesRequest,
    workflow::WorkflowExecutionInfo, workflowservice as ws,
};

use super::{Client, error::ClientError};
use crate::payload::{self, CodecError};

/// Lists of workflows.
impl Client {
    /// Workflows that a query matches, all of them; empty for all there are.
    ///
    /// ```no_run
    /// # async fn f(client: steadfast::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use steadfast::Noted as _;
    ///
    /// for run in client.list("ExecutionStatus = 'Running' AND Stage = 'packing'").await? {
    ///     let owner = run.memo_value::<String>("owner").transpose()?;
    ///     println!("{:?} is packed for {owner:?}", run.execution);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn list(&self, query: &str) -> Result<Vec<WorkflowExecutionInfo>, ClientError> {
        let mut found = Vec::new();
        let mut next_page_token = Vec::new();
        loop {
            let request = ws::ListWorkflowExecutionsRequest {
                namespace: self.namespace.clone(),
                query: query.to_owned(),
                next_page_token,
                ..ws::ListWorkflowExecutionsRequest::default()
            };
            let page = self.door.list_workflow_executions(request).await?;
            found.extend(page.executions);
            next_page_token = page.next_page_token;
            if next_page_token.is_empty() {
                return Ok(found);
            }
        }
    }

    /// How many workflows a query matches.
    ///
    /// ```no_run
    /// # async fn f(client: steadfast::Client) -> Result<(), steadfast::ClientError> {
    /// let failed = client.count("ExecutionStatus = 'Failed'").await?;
    /// # Ok(()) }
    /// ```
    pub async fn count(&self, query: &str) -> Result<u64, ClientError> {
        let request = ws::CountWorkflowExecutionsRequest {
            namespace: self.namespace.clone(),
            query: query.to_owned(),
        };
        let counted = self.door.count_workflow_executions(request).await?;
        Ok(u64::try_from(counted.count).unwrap_or_default())
    }

    /// Makes a search attribute known to the namespace, so that workflows can have it and lists can
    /// ask for it. One that is known already, and is of the same type, is fine.
    ///
    /// ```no_run
    /// # async fn f(client: steadfast::Client) -> Result<(), steadfast::ClientError> {
    /// use steadfast::SearchAttributeType;
    ///
    /// client.add_search_attribute("Stage", SearchAttributeType::Keyword).await?;
    /// # Ok(()) }
    /// ```
    pub async fn add_search_attribute(
        &self,
        name: impl Into<String>,
        kind: IndexedValueType,
    ) -> Result<(), ClientError> {
        let request = AddSearchAttributesRequest {
            namespace: self.namespace.clone(),
            search_attributes: [(name.into(), kind.into())].into(),
        };
        self.door.add_search_attributes(request).await?;
        Ok(())
    }
}

/// Something with a memo and search attributes: a workflow in a list, or as it is described.
///
/// ```no_run
/// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), Box<dyn std::error::Error>> {
/// use steadfast::Noted as _;
///
/// let described = order.describe().await?;
/// let stage = described.search_value::<String>("Stage").transpose()?;
/// # Ok(()) }
/// ```
pub trait Noted {
    /// What is kept beside it under this key.
    fn memo_value<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, CodecError>>;

    /// Its search attribute of this name.
    fn search_value<T: DeserializeOwned>(&self, name: &str) -> Option<Result<T, CodecError>>;
}

impl Noted for WorkflowExecutionInfo {
    fn memo_value<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, CodecError>> {
        self.memo.as_ref()?.fields.get(key).map(payload::decode)
    }

    fn search_value<T: DeserializeOwned>(&self, name: &str) -> Option<Result<T, CodecError>> {
        self.search_attributes.as_ref()?.indexed_fields.get(name).map(payload::decode)
    }
}

impl Noted for ws::DescribeWorkflowExecutionResponse {
    fn memo_value<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, CodecError>> {
        self.workflow_execution_info.as_ref()?.memo_value(key)
    }

    fn search_value<T: DeserializeOwned>(&self, name: &str) -> Option<Result<T, CodecError>> {
        self.workflow_execution_info.as_ref()?.search_value(name)
    }
}
