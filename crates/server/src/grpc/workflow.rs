//! The service that workers and clients use.

use steadfast_proto::{
    services::workflow::workflow_service_server::WorkflowService, workflowservice,
};
use tonic::{Request, Response, Status};

use super::door::Door;
use crate::{
    keys::{Place, Wanted},
    rpc::{Right, Rpc, Rpcs, State, service},
};

service! {
    /// What of the workflow service is answered.
    WORKFLOW: WorkflowService as "temporal.api.workflowservice.v1.WorkflowService", in workflowservice;
    serves {
        Admin cluster register_namespace(RegisterNamespaceRequest) -> RegisterNamespaceResponse;
        Read namespace describe_namespace(DescribeNamespaceRequest) -> DescribeNamespaceResponse;
        Read cluster list_namespaces(ListNamespacesRequest) -> ListNamespacesResponse;
        Admin namespace update_namespace(UpdateNamespaceRequest) -> UpdateNamespaceResponse;
        Write namespace start_workflow_execution(StartWorkflowExecutionRequest)
            -> StartWorkflowExecutionResponse;
        Read namespace get_workflow_execution_history(GetWorkflowExecutionHistoryRequest)
            -> GetWorkflowExecutionHistoryResponse;
        Read namespace get_workflow_execution_history_reverse(GetWorkflowExecutionHistoryReverseRequest)
            -> GetWorkflowExecutionHistoryReverseResponse;
        Write namespace poll_workflow_task_queue(PollWorkflowTaskQueueRequest)
            -> PollWorkflowTaskQueueResponse;
        Write namespace respond_workflow_task_completed(RespondWorkflowTaskCompletedRequest)
            -> RespondWorkflowTaskCompletedResponse;
        Write namespace respond_workflow_task_failed(RespondWorkflowTaskFailedRequest)
            -> RespondWorkflowTaskFailedResponse;
        Write namespace poll_activity_task_queue(PollActivityTaskQueueRequest)
            -> PollActivityTaskQueueResponse;
        Write namespace poll_nexus_task_queue(PollNexusTaskQueueRequest)
            -> PollNexusTaskQueueResponse;
        Write namespace record_activity_task_heartbeat(RecordActivityTaskHeartbeatRequest)
            -> RecordActivityTaskHeartbeatResponse;
        Write namespace record_activity_task_heartbeat_by_id(RecordActivityTaskHeartbeatByIdRequest)
            -> RecordActivityTaskHeartbeatByIdResponse;
        Write namespace respond_activity_task_completed(RespondActivityTaskCompletedRequest)
            -> RespondActivityTaskCompletedResponse;
        Write namespace respond_activity_task_completed_by_id(RespondActivityTaskCompletedByIdRequest)
            -> RespondActivityTaskCompletedByIdResponse;
        Write namespace respond_activity_task_failed(RespondActivityTaskFailedRequest)
            -> RespondActivityTaskFailedResponse;
        Write namespace respond_activity_task_failed_by_id(RespondActivityTaskFailedByIdRequest)
            -> RespondActivityTaskFailedByIdResponse;
        Write namespace respond_activity_task_canceled(RespondActivityTaskCanceledRequest)
            -> RespondActivityTaskCanceledResponse;
        Write namespace respond_activity_task_canceled_by_id(RespondActivityTaskCanceledByIdRequest)
            -> RespondActivityTaskCanceledByIdResponse;
        Write namespace request_cancel_workflow_execution(RequestCancelWorkflowExecutionRequest)
            -> RequestCancelWorkflowExecutionResponse;
        Write namespace signal_workflow_execution(SignalWorkflowExecutionRequest)
            -> SignalWorkflowExecutionResponse;
        Write namespace signal_with_start_workflow_execution(SignalWithStartWorkflowExecutionRequest)
            -> SignalWithStartWorkflowExecutionResponse;
        Write namespace reset_workflow_execution(ResetWorkflowExecutionRequest)
            -> ResetWorkflowExecutionResponse;
        Write namespace terminate_workflow_execution(TerminateWorkflowExecutionRequest)
            -> TerminateWorkflowExecutionResponse;
        Write namespace delete_workflow_execution(DeleteWorkflowExecutionRequest)
            -> DeleteWorkflowExecutionResponse;
        Read namespace list_workflow_executions(ListWorkflowExecutionsRequest)
            -> ListWorkflowExecutionsResponse;
        Read namespace count_workflow_executions(CountWorkflowExecutionsRequest)
            -> CountWorkflowExecutionsResponse;
        Write namespace respond_query_task_completed(RespondQueryTaskCompletedRequest)
            -> RespondQueryTaskCompletedResponse;
        Write namespace reset_sticky_task_queue(ResetStickyTaskQueueRequest)
            -> ResetStickyTaskQueueResponse;
        Read namespace query_workflow(QueryWorkflowRequest) -> QueryWorkflowResponse;
        Read namespace describe_workflow_execution(DescribeWorkflowExecutionRequest)
            -> DescribeWorkflowExecutionResponse;
        Read namespace describe_task_queue(DescribeTaskQueueRequest) -> DescribeTaskQueueResponse;
        Write namespace update_workflow_execution(UpdateWorkflowExecutionRequest)
            -> UpdateWorkflowExecutionResponse;
        Read namespace poll_workflow_execution_update(PollWorkflowExecutionUpdateRequest)
            -> PollWorkflowExecutionUpdateResponse;
        Write namespace update_activity_options(UpdateActivityOptionsRequest)
            -> UpdateActivityOptionsResponse;
        Write namespace pause_activity(PauseActivityRequest) -> PauseActivityResponse;
        Write namespace unpause_activity(UnpauseActivityRequest) -> UnpauseActivityResponse;
        Write namespace reset_activity(ResetActivityRequest) -> ResetActivityResponse;
        Read anyone get_system_info(GetSystemInfoRequest) -> GetSystemInfoResponse;
        Read anyone get_cluster_info(GetClusterInfoRequest) -> GetClusterInfoResponse;
        Write namespace execute_multi_operation(ExecuteMultiOperationRequest)
            -> ExecuteMultiOperationResponse;
        Write namespace shutdown_worker(ShutdownWorkerRequest) -> ShutdownWorkerResponse;
        Read namespace list_task_queue_partitions(ListTaskQueuePartitionsRequest)
            -> ListTaskQueuePartitionsResponse;
        Write namespace record_worker_heartbeat(RecordWorkerHeartbeatRequest)
            -> RecordWorkerHeartbeatResponse;
        Read namespace list_workers(ListWorkersRequest) -> ListWorkersResponse;
        Read namespace count_workers(CountWorkersRequest) -> CountWorkersResponse;
        Read namespace describe_worker(DescribeWorkerRequest) -> DescribeWorkerResponse;
        Read namespace list_open_workflow_executions(ListOpenWorkflowExecutionsRequest)
            -> ListOpenWorkflowExecutionsResponse;
        Read namespace list_closed_workflow_executions(ListClosedWorkflowExecutionsRequest)
            -> ListClosedWorkflowExecutionsResponse;
        Read namespace scan_workflow_executions(ScanWorkflowExecutionsRequest)
            -> ScanWorkflowExecutionsResponse;
        Read cluster get_search_attributes(GetSearchAttributesRequest)
            -> GetSearchAttributesResponse;
        Write namespace start_batch_operation(StartBatchOperationRequest)
            -> StartBatchOperationResponse;
        Write namespace stop_batch_operation(StopBatchOperationRequest)
            -> StopBatchOperationResponse;
        Read namespace describe_batch_operation(DescribeBatchOperationRequest)
            -> DescribeBatchOperationResponse;
        Read namespace list_batch_operations(ListBatchOperationsRequest)
            -> ListBatchOperationsResponse;
        Write namespace create_schedule(CreateScheduleRequest) -> CreateScheduleResponse;
        Read namespace describe_schedule(DescribeScheduleRequest) -> DescribeScheduleResponse;
        Write namespace update_schedule(UpdateScheduleRequest) -> UpdateScheduleResponse;
        Write namespace patch_schedule(PatchScheduleRequest) -> PatchScheduleResponse;
        Read namespace list_schedule_matching_times(ListScheduleMatchingTimesRequest)
            -> ListScheduleMatchingTimesResponse;
        Write namespace delete_schedule(DeleteScheduleRequest) -> DeleteScheduleResponse;
        Read namespace list_schedules(ListSchedulesRequest) -> ListSchedulesResponse;
        Read namespace count_schedules(CountSchedulesRequest) -> CountSchedulesResponse;
    }
    refuses {
        deprecate_namespace(DeprecateNamespaceRequest) -> DeprecateNamespaceResponse;
        list_archived_workflow_executions(ListArchivedWorkflowExecutionsRequest)
            -> ListArchivedWorkflowExecutionsResponse;
        update_worker_build_id_compatibility(UpdateWorkerBuildIdCompatibilityRequest)
            -> UpdateWorkerBuildIdCompatibilityResponse;
        get_worker_build_id_compatibility(GetWorkerBuildIdCompatibilityRequest)
            -> GetWorkerBuildIdCompatibilityResponse;
        update_worker_versioning_rules(UpdateWorkerVersioningRulesRequest)
            -> UpdateWorkerVersioningRulesResponse;
        get_worker_versioning_rules(GetWorkerVersioningRulesRequest)
            -> GetWorkerVersioningRulesResponse;
        get_worker_task_reachability(GetWorkerTaskReachabilityRequest)
            -> GetWorkerTaskReachabilityResponse;
        describe_deployment(DescribeDeploymentRequest) -> DescribeDeploymentResponse;
        describe_worker_deployment_version(DescribeWorkerDeploymentVersionRequest)
            -> DescribeWorkerDeploymentVersionResponse;
        list_deployments(ListDeploymentsRequest) -> ListDeploymentsResponse;
        get_deployment_reachability(GetDeploymentReachabilityRequest)
            -> GetDeploymentReachabilityResponse;
        get_current_deployment(GetCurrentDeploymentRequest) -> GetCurrentDeploymentResponse;
        set_current_deployment(SetCurrentDeploymentRequest) -> SetCurrentDeploymentResponse;
        set_worker_deployment_current_version(SetWorkerDeploymentCurrentVersionRequest)
            -> SetWorkerDeploymentCurrentVersionResponse;
        describe_worker_deployment(DescribeWorkerDeploymentRequest)
            -> DescribeWorkerDeploymentResponse;
        delete_worker_deployment(DeleteWorkerDeploymentRequest) -> DeleteWorkerDeploymentResponse;
        delete_worker_deployment_version(DeleteWorkerDeploymentVersionRequest)
            -> DeleteWorkerDeploymentVersionResponse;
        set_worker_deployment_ramping_version(SetWorkerDeploymentRampingVersionRequest)
            -> SetWorkerDeploymentRampingVersionResponse;
        list_worker_deployments(ListWorkerDeploymentsRequest) -> ListWorkerDeploymentsResponse;
        create_worker_deployment(CreateWorkerDeploymentRequest) -> CreateWorkerDeploymentResponse;
        create_worker_deployment_version(CreateWorkerDeploymentVersionRequest)
            -> CreateWorkerDeploymentVersionResponse;
        update_worker_deployment_version_compute_config(UpdateWorkerDeploymentVersionComputeConfigRequest)
            -> UpdateWorkerDeploymentVersionComputeConfigResponse;
        validate_worker_deployment_version_compute_config(ValidateWorkerDeploymentVersionComputeConfigRequest)
            -> ValidateWorkerDeploymentVersionComputeConfigResponse;
        update_worker_deployment_version_metadata(UpdateWorkerDeploymentVersionMetadataRequest)
            -> UpdateWorkerDeploymentVersionMetadataResponse;
        set_worker_deployment_manager(SetWorkerDeploymentManagerRequest)
            -> SetWorkerDeploymentManagerResponse;
        respond_nexus_task_completed(RespondNexusTaskCompletedRequest)
            -> RespondNexusTaskCompletedResponse;
        respond_nexus_task_failed(RespondNexusTaskFailedRequest) -> RespondNexusTaskFailedResponse;
        update_workflow_execution_options(UpdateWorkflowExecutionOptionsRequest)
            -> UpdateWorkflowExecutionOptionsResponse;
        create_workflow_rule(CreateWorkflowRuleRequest) -> CreateWorkflowRuleResponse;
        describe_workflow_rule(DescribeWorkflowRuleRequest) -> DescribeWorkflowRuleResponse;
        delete_workflow_rule(DeleteWorkflowRuleRequest) -> DeleteWorkflowRuleResponse;
        list_workflow_rules(ListWorkflowRulesRequest) -> ListWorkflowRulesResponse;
        trigger_workflow_rule(TriggerWorkflowRuleRequest) -> TriggerWorkflowRuleResponse;
        update_task_queue_config(UpdateTaskQueueConfigRequest) -> UpdateTaskQueueConfigResponse;
        fetch_worker_config(FetchWorkerConfigRequest) -> FetchWorkerConfigResponse;
        update_worker_config(UpdateWorkerConfigRequest) -> UpdateWorkerConfigResponse;
        pause_workflow_execution(PauseWorkflowExecutionRequest) -> PauseWorkflowExecutionResponse;
        unpause_workflow_execution(UnpauseWorkflowExecutionRequest)
            -> UnpauseWorkflowExecutionResponse;
        start_activity_execution(StartActivityExecutionRequest) -> StartActivityExecutionResponse;
        start_nexus_operation_execution(StartNexusOperationExecutionRequest)
            -> StartNexusOperationExecutionResponse;
        describe_activity_execution(DescribeActivityExecutionRequest)
            -> DescribeActivityExecutionResponse;
        describe_nexus_operation_execution(DescribeNexusOperationExecutionRequest)
            -> DescribeNexusOperationExecutionResponse;
        poll_activity_execution(PollActivityExecutionRequest) -> PollActivityExecutionResponse;
        poll_nexus_operation_execution(PollNexusOperationExecutionRequest)
            -> PollNexusOperationExecutionResponse;
        list_activity_executions(ListActivityExecutionsRequest) -> ListActivityExecutionsResponse;
        list_nexus_operation_executions(ListNexusOperationExecutionsRequest)
            -> ListNexusOperationExecutionsResponse;
        count_activity_executions(CountActivityExecutionsRequest)
            -> CountActivityExecutionsResponse;
        count_nexus_operation_executions(CountNexusOperationExecutionsRequest)
            -> CountNexusOperationExecutionsResponse;
        request_cancel_activity_execution(RequestCancelActivityExecutionRequest)
            -> RequestCancelActivityExecutionResponse;
        request_cancel_nexus_operation_execution(RequestCancelNexusOperationExecutionRequest)
            -> RequestCancelNexusOperationExecutionResponse;
        terminate_activity_execution(TerminateActivityExecutionRequest)
            -> TerminateActivityExecutionResponse;
        delete_activity_execution(DeleteActivityExecutionRequest)
            -> DeleteActivityExecutionResponse;
        pause_activity_execution(PauseActivityExecutionRequest) -> PauseActivityExecutionResponse;
        reset_activity_execution(ResetActivityExecutionRequest) -> ResetActivityExecutionResponse;
        unpause_activity_execution(UnpauseActivityExecutionRequest)
            -> UnpauseActivityExecutionResponse;
        update_activity_execution_options(UpdateActivityExecutionOptionsRequest)
            -> UpdateActivityExecutionOptionsResponse;
        terminate_nexus_operation_execution(TerminateNexusOperationExecutionRequest)
            -> TerminateNexusOperationExecutionResponse;
        delete_nexus_operation_execution(DeleteNexusOperationExecutionRequest)
            -> DeleteNexusOperationExecutionResponse;
        poll_workflow_execution_time_skipping(PollWorkflowExecutionTimeSkippingRequest)
            -> PollWorkflowExecutionTimeSkippingResponse;
    }
}
