//! Batches: an operator has one thing done to many workflows, and watches how it goes.

mod operation;
mod work;

use prost::Message as _;
use steadfast_core::{Timestamp, span::instant_to_wire};
use steadfast_proto::{
    batch::BatchOperationInfo,
    common::Execution,
    enums::{BatchOperationState, ResourceExhaustedCause},
    workflowservice::{
        DescribeBatchOperationRequest, DescribeBatchOperationResponse, ListBatchOperationsRequest,
        ListBatchOperationsResponse, StartBatchOperationRequest, StartBatchOperationResponse,
        StopBatchOperationRequest, StopBatchOperationResponse,
    },
};

use super::{Engine, check_length};
use crate::{
    batch::Batch,
    error::{Code, Error},
    jobs::{Job as _, Key},
    namespaces::Namespace,
    token::{BatchesToken, page},
    visibility::{Schema, parse_list},
};

impl Engine {
    /// Has something done to many workflows, in the background. It goes on after a restart.
    pub async fn start_batch_operation(
        &self,
        request: StartBatchOperationRequest,
    ) -> Result<StartBatchOperationResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        check(&namespace, &request)?;
        let batches = &self.shared().batches;
        let _turn = batches.turn().await;
        let key = (namespace.id.clone(), request.job_id.clone());
        if batches.get(&key).is_some() {
            let message = format!("Batch operation {:?} already exists.", request.job_id);
            return Err(Error::new(Code::AlreadyExists, message));
        }
        let others = batches.of_namespace(&namespace.id);
        if others.iter().any(|(_, batch)| batch.is_running()) {
            let cause = ResourceExhaustedCause::ConcurrentLimit;
            return Err(Error::exhausted("Max concurrent batch operations is reached", cause));
        }
        // Nothing of them runs, so the oldest are done.
        for (job, _) in others.into_iter().skip(JOBS_MAX - 1) {
            batches.remove(&**self.store(), &(namespace.id.clone(), job)).await?;
        }
        let batch = Batch {
            request: Some(request),
            state: BatchOperationState::Running.into(),
            started_at: self.now().nanos(),
            ..Batch::default()
        };
        batches.put(&**self.store(), key.clone(), batch).await?;
        self.work_on(key);
        Ok(StartBatchOperationResponse {})
    }

    /// Stops a batch where it is.
    pub async fn stop_batch_operation(
        &self,
        request: StopBatchOperationRequest,
    ) -> Result<StopBatchOperationResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        if request.reason.is_empty() {
            return Err(Error::invalid("Reason is not set on request."));
        }
        let batches = &self.shared().batches;
        let _turn = batches.turn().await;
        let (key, batch) = self.batch(&namespace, &request.job_id)?;
        if batch.is_running() {
            let stopped = Batch {
                state: BatchOperationState::Failed.into(),
                closed_at: self.now().nanos(),
                ..batch
            };
            batches.put(&**self.store(), key, stopped).await?;
        }
        Ok(StopBatchOperationResponse {})
    }

    /// Shows how a batch goes.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn describe_batch_operation(
        &self,
        request: DescribeBatchOperationRequest,
    ) -> Result<DescribeBatchOperationResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let ((_, job_id), batch) = self.batch(&namespace, &request.job_id)?;
        let asked = batch.request.unwrap_or_default();
        let kind = asked.operation.as_ref().map(operation::kind).unwrap_or_default();
        let identity = asked.operation.as_ref().map(operation::identity).unwrap_or_default();
        let executions = explicit(&asked);
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Ok(DescribeBatchOperationResponse {
            operation_type: kind.into(),
            job_id,
            state: batch.state,
            start_time: Some(instant_to_wire(Timestamp(batch.started_at))),
            close_time: closed(batch.closed_at),
            total_operation_count: count(batch.total),
            complete_operation_count: count(batch.completed),
            failure_operation_count: count(batch.failed),
            identity: identity.to_owned(),
            reason: asked.reason,
            query: asked.visibility_query,
            executions,
        })
    }

    /// Lists the batches of a namespace, the newest first.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn list_batch_operations(
        &self,
        request: ListBatchOperationsRequest,
    ) -> Result<ListBatchOperationsResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let before = page::<BatchesToken>(&request.next_page_token)?.unwrap_or_default();
        let size = usize::try_from(request.page_size).ok().filter(|size| *size > 0);
        let size = size.unwrap_or(JOBS_MAX);
        let all = self.shared().batches.of_namespace(&namespace.id);
        let skip = all.iter().position(|(job, _)| *job == before.last).map_or(0, |at| at + 1);
        let info = |(job_id, batch): (String, Batch)| BatchOperationInfo {
            job_id,
            state: batch.state,
            start_time: Some(instant_to_wire(Timestamp(batch.started_at))),
            close_time: closed(batch.closed_at),
            operation_type: batch
                .request
                .and_then(|it| it.operation.as_ref().map(operation::kind))
                .unwrap_or_default()
                .into(),
        };
        let more = all.len() > skip + size;
        let found: Vec<BatchOperationInfo> =
            all.into_iter().skip(skip).take(size).map(info).collect();
        let last = found.last().filter(|_| more).map(|it| it.job_id.clone());
        let token = last.map(|last| BatchesToken { last }.encode_to_vec());
        Ok(ListBatchOperationsResponse {
            operation_info: found,
            next_page_token: token.unwrap_or_default(),
        })
    }

    fn batch(&self, namespace: &Namespace, job_id: &str) -> Result<(Key, Batch), Error> {
        if job_id.is_empty() {
            return Err(Error::invalid("JobId is not set on request."));
        }
        let key = (namespace.id.clone(), job_id.to_owned());
        let missing = || Error::not_found(format!("batch operation {job_id:?} not found"));
        let batch = self.shared().batches.get(&key).ok_or_else(missing)?;
        Ok((key, batch))
    }
}

fn check(namespace: &Namespace, request: &StartBatchOperationRequest) -> Result<(), Error> {
    if request.job_id.is_empty() {
        return Err(Error::invalid("JobId is not set on request."));
    }
    check_length("JobId", &request.job_id, namespace.limits.id_bytes_max)?;
    if request.reason.is_empty() {
        return Err(Error::invalid("Reason is not set on request."));
    }
    let executions = explicit(request);
    match (request.visibility_query.is_empty(), executions.is_empty()) {
        (true, true) => {
            return Err(Error::invalid("VisibilityQuery or Executions must be set on request."));
        }
        (false, false) => {
            return Err(Error::invalid(
                "VisibilityQuery and Executions are mutually exclusive: set one of them.",
            ));
        }
        (false, true) => {
            let schema = Schema::new(namespace.search_attributes());
            parse_list(&request.visibility_query, &schema)?;
        }
        (true, false) => {}
    }
    if executions.len() > EXECUTIONS_MAX {
        let message = format!("executions: more than {EXECUTIONS_MAX}; use a query instead");
        return Err(Error::invalid(message));
    }
    if executions.iter().any(|it| it.business_id.is_empty()) {
        return Err(Error::invalid("executions: WorkflowId is not set on request."));
    }
    let rate = request.max_operations_per_second;
    if !rate.is_finite() || rate < 0.0 {
        return Err(Error::invalid(
            "max_operations_per_second must be a number that is not negative",
        ));
    }
    let missing = || Error::invalid("The operation type is not set on request.");
    operation::check(request.operation.as_ref().ok_or_else(missing)?)
}

/// The runs that a request names one by one.
fn explicit(request: &StartBatchOperationRequest) -> Vec<Execution> {
    #[expect(deprecated, reason = "older tools name them there")]
    let older = request.executions.iter().map(|it| Execution {
        business_id: it.workflow_id.clone(),
        run_id: it.run_id.clone(),
        ..Execution::default()
    });
    older.chain(request.target_executions.iter().cloned()).collect()
}

fn closed(at: i64) -> Option<steadfast_proto::prost_types::Timestamp> {
    (at != 0).then(|| instant_to_wire(Timestamp(at)))
}

/// Jobs that a namespace remembers.
const JOBS_MAX: usize = 100;

/// Runs that a request may name one by one.
const EXECUTIONS_MAX: usize = 1_000;
