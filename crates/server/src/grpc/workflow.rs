//! The service that workers and clients use.

use http::request::Parts;
use steadfast_proto::workflowservice;
use tonic::Status;

use super::unary::{self, Handler};
use crate::{
    keys::{Place, Wanted},
    rpc::{Right, Rpc, Rpcs, State, service},
};

service! {
    /// What of the workflow service is answered.
    WORKFLOW: "temporal.api.workflowservice.v1.WorkflowService", in workflowservice, by HANDLERS;
    serves {
        Admin cluster register_namespace(RegisterNamespaceRequest);
        Read namespace describe_namespace(DescribeNamespaceRequest);
        Read cluster list_namespaces(ListNamespacesRequest);
        Admin namespace update_namespace(UpdateNamespaceRequest);
        Write namespace start_workflow_execution(StartWorkflowExecutionRequest);
        Read namespace get_workflow_execution_history(GetWorkflowExecutionHistoryRequest);
        Read namespace get_workflow_execution_history_reverse(GetWorkflowExecutionHistoryReverseRequest);
        Write namespace poll_workflow_task_queue(PollWorkflowTaskQueueRequest);
        Write namespace respond_workflow_task_completed(RespondWorkflowTaskCompletedRequest);
        Write namespace respond_workflow_task_failed(RespondWorkflowTaskFailedRequest);
        Write namespace poll_activity_task_queue(PollActivityTaskQueueRequest);
        Write namespace poll_nexus_task_queue(PollNexusTaskQueueRequest);
        Write namespace record_activity_task_heartbeat(RecordActivityTaskHeartbeatRequest);
        Write namespace record_activity_task_heartbeat_by_id(RecordActivityTaskHeartbeatByIdRequest);
        Write namespace respond_activity_task_completed(RespondActivityTaskCompletedRequest);
        Write namespace respond_activity_task_completed_by_id(RespondActivityTaskCompletedByIdRequest);
        Write namespace respond_activity_task_failed(RespondActivityTaskFailedRequest);
        Write namespace respond_activity_task_failed_by_id(RespondActivityTaskFailedByIdRequest);
        Write namespace respond_activity_task_canceled(RespondActivityTaskCanceledRequest);
        Write namespace respond_activity_task_canceled_by_id(RespondActivityTaskCanceledByIdRequest);
        Write namespace request_cancel_workflow_execution(RequestCancelWorkflowExecutionRequest);
        Write namespace signal_workflow_execution(SignalWorkflowExecutionRequest);
        Write namespace signal_with_start_workflow_execution(SignalWithStartWorkflowExecutionRequest);
        Write namespace reset_workflow_execution(ResetWorkflowExecutionRequest);
        Write namespace terminate_workflow_execution(TerminateWorkflowExecutionRequest);
        Write namespace delete_workflow_execution(DeleteWorkflowExecutionRequest);
        Read namespace list_workflow_executions(ListWorkflowExecutionsRequest);
        Read namespace count_workflow_executions(CountWorkflowExecutionsRequest);
        Write namespace respond_query_task_completed(RespondQueryTaskCompletedRequest);
        Write namespace reset_sticky_task_queue(ResetStickyTaskQueueRequest);
        Read namespace query_workflow(QueryWorkflowRequest);
        Read namespace describe_workflow_execution(DescribeWorkflowExecutionRequest);
        Read namespace describe_task_queue(DescribeTaskQueueRequest);
        Write namespace update_workflow_execution(UpdateWorkflowExecutionRequest);
        Read namespace poll_workflow_execution_update(PollWorkflowExecutionUpdateRequest);
        Write namespace update_activity_options(UpdateActivityOptionsRequest);
        Write namespace pause_activity(PauseActivityRequest);
        Write namespace unpause_activity(UnpauseActivityRequest);
        Write namespace reset_activity(ResetActivityRequest);
        Read anyone get_system_info(GetSystemInfoRequest);
        Read anyone get_cluster_info(GetClusterInfoRequest);
        Write namespace execute_multi_operation(ExecuteMultiOperationRequest);
        Write namespace shutdown_worker(ShutdownWorkerRequest);
        Read namespace list_task_queue_partitions(ListTaskQueuePartitionsRequest);
        Write namespace record_worker_heartbeat(RecordWorkerHeartbeatRequest);
        Read namespace list_workers(ListWorkersRequest);
        Read namespace count_workers(CountWorkersRequest);
        Read namespace describe_worker(DescribeWorkerRequest);
        Read namespace list_open_workflow_executions(ListOpenWorkflowExecutionsRequest);
        Read namespace list_closed_workflow_executions(ListClosedWorkflowExecutionsRequest);
        Read namespace scan_workflow_executions(ScanWorkflowExecutionsRequest);
        Read cluster get_search_attributes(GetSearchAttributesRequest);
        Write namespace start_batch_operation(StartBatchOperationRequest);
        Write namespace stop_batch_operation(StopBatchOperationRequest);
        Read namespace describe_batch_operation(DescribeBatchOperationRequest);
        Read namespace list_batch_operations(ListBatchOperationsRequest);
        Write namespace create_schedule(CreateScheduleRequest);
        Read namespace describe_schedule(DescribeScheduleRequest);
        Write namespace update_schedule(UpdateScheduleRequest);
        Write namespace patch_schedule(PatchScheduleRequest);
        Read namespace list_schedule_matching_times(ListScheduleMatchingTimesRequest);
        Write namespace delete_schedule(DeleteScheduleRequest);
        Read namespace list_schedules(ListSchedulesRequest);
        Read namespace count_schedules(CountSchedulesRequest);
    }
    refuses {
        DeprecateNamespaceRequest;
        ListArchivedWorkflowExecutionsRequest;
        UpdateWorkerBuildIdCompatibilityRequest;
        GetWorkerBuildIdCompatibilityRequest;
        UpdateWorkerVersioningRulesRequest;
        GetWorkerVersioningRulesRequest;
        GetWorkerTaskReachabilityRequest;
        DescribeDeploymentRequest;
        DescribeWorkerDeploymentVersionRequest;
        ListDeploymentsRequest;
        GetDeploymentReachabilityRequest;
        GetCurrentDeploymentRequest;
        SetCurrentDeploymentRequest;
        SetWorkerDeploymentCurrentVersionRequest;
        DescribeWorkerDeploymentRequest;
        DeleteWorkerDeploymentRequest;
        DeleteWorkerDeploymentVersionRequest;
        SetWorkerDeploymentRampingVersionRequest;
        ListWorkerDeploymentsRequest;
        CreateWorkerDeploymentRequest;
        CreateWorkerDeploymentVersionRequest;
        UpdateWorkerDeploymentVersionComputeConfigRequest;
        ValidateWorkerDeploymentVersionComputeConfigRequest;
        UpdateWorkerDeploymentVersionMetadataRequest;
        SetWorkerDeploymentManagerRequest;
        RespondNexusTaskCompletedRequest;
        RespondNexusTaskFailedRequest;
        UpdateWorkflowExecutionOptionsRequest;
        CreateWorkflowRuleRequest;
        DescribeWorkflowRuleRequest;
        DeleteWorkflowRuleRequest;
        ListWorkflowRulesRequest;
        TriggerWorkflowRuleRequest;
        UpdateTaskQueueConfigRequest;
        FetchWorkerConfigRequest;
        UpdateWorkerConfigRequest;
        PauseWorkflowExecutionRequest;
        UnpauseWorkflowExecutionRequest;
        StartActivityExecutionRequest;
        StartNexusOperationExecutionRequest;
        DescribeActivityExecutionRequest;
        DescribeNexusOperationExecutionRequest;
        PollActivityExecutionRequest;
        PollNexusOperationExecutionRequest;
        ListActivityExecutionsRequest;
        ListNexusOperationExecutionsRequest;
        CountActivityExecutionsRequest;
        CountNexusOperationExecutionsRequest;
        RequestCancelActivityExecutionRequest;
        RequestCancelNexusOperationExecutionRequest;
        TerminateActivityExecutionRequest;
        DeleteActivityExecutionRequest;
        PauseActivityExecutionRequest;
        ResetActivityExecutionRequest;
        UnpauseActivityExecutionRequest;
        UpdateActivityExecutionOptionsRequest;
        TerminateNexusOperationExecutionRequest;
        DeleteNexusOperationExecutionRequest;
        PollWorkflowExecutionTimeSkippingRequest;
    }
}
