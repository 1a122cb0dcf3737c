//! The calls that clients and workers make.

use steadfast_core::text;
use steadfast_engine::{Code, Error};
use steadfast_proto::{
    command::Command, common, enums, failure::Failure, history::HistoryEvent,
    operatorservice::AddSearchAttributesRequest, query::WorkflowQuery, update,
    workflowservice as ws,
};
use steadfast_store::AttemptRow;

use super::{NAMESPACE, QUEUE, Rig, execution, failure, payloads, queue, sticky_queue};

pub(crate) type Task = ws::PollWorkflowTaskQueueResponse;
pub(crate) type Work = ws::PollActivityTaskQueueResponse;

impl Rig {
    pub(crate) async fn start(&self, workflow_id: &str) -> String {
        self.start_with(workflow_id, |_| {}).await.expect("a good start").run_id
    }

    pub(crate) async fn start_with(
        &self,
        workflow_id: &str,
        change: impl FnOnce(&mut ws::StartWorkflowExecutionRequest),
    ) -> Result<ws::StartWorkflowExecutionResponse, Error> {
        self.point().await;
        let mut request = start_request(workflow_id);
        change(&mut request);
        self.engine().start_workflow_execution(request).await
    }

    pub(crate) async fn signal_with_start(
        &self,
        workflow_id: &str,
        signal: &str,
        change: impl FnOnce(&mut ws::SignalWithStartWorkflowExecutionRequest),
    ) -> Result<ws::SignalWithStartWorkflowExecutionResponse, Error> {
        self.point().await;
        let mut request = ws::SignalWithStartWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_id: workflow_id.to_owned(),
            workflow_type: Some(common::WorkflowType { name: "Order".to_owned() }),
            task_queue: Some(queue(QUEUE)),
            signal_name: signal.to_owned(),
            ..ws::SignalWithStartWorkflowExecutionRequest::default()
        };
        change(&mut request);
        self.engine().signal_with_start_workflow_execution(request).await
    }

    /// One poll of a queue.
    pub(crate) async fn poll_task(&self, name: &str) -> Task {
        self.engine().poll_workflow_task_queue(task_poll(name)).await.expect("a poll")
    }

    /// One poll of the sticky queue.
    pub(crate) async fn poll_sticky(&self) -> Task {
        let request = ws::PollWorkflowTaskQueueRequest {
            task_queue: Some(sticky_queue()),
            ..task_poll(QUEUE)
        };
        self.engine().poll_workflow_task_queue(request).await.expect("a poll")
    }

    /// One poll of a queue for activities.
    pub(crate) async fn poll_activity(&self, name: &str) -> Work {
        self.engine().poll_activity_task_queue(activity_poll(name)).await.expect("a poll")
    }

    /// The next workflow task, however long it takes.
    pub(crate) async fn next_task(&self, name: &str) -> Task {
        self.point().await;
        for _ in 0..2_000 {
            let task = self.poll_task(name).await;
            if !task.task_token.is_empty() {
                return task;
            }
        }
        panic!("no workflow task comes")
    }

    /// The next activity, however long it takes.
    pub(crate) async fn next_activity(&self) -> Work {
        self.point().await;
        for _ in 0..2_000 {
            let task = self.poll_activity(QUEUE).await;
            if !task.task_token.is_empty() {
                return task;
            }
        }
        panic!("no activity comes")
    }

    pub(crate) async fn complete_task(
        &self,
        task: &Task,
        commands: Vec<Command>,
    ) -> Result<ws::RespondWorkflowTaskCompletedResponse, Error> {
        self.complete_task_with(task, commands, |_| {}).await
    }

    pub(crate) async fn complete_task_with(
        &self,
        task: &Task,
        commands: Vec<Command>,
        change: impl FnOnce(&mut ws::RespondWorkflowTaskCompletedRequest),
    ) -> Result<ws::RespondWorkflowTaskCompletedResponse, Error> {
        self.point().await;
        let mut request = ws::RespondWorkflowTaskCompletedRequest {
            task_token: task.task_token.clone(),
            commands,
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondWorkflowTaskCompletedRequest::default()
        };
        change(&mut request);
        self.engine().respond_workflow_task_completed(request).await
    }

    pub(crate) async fn fail_task(&self, task: &Task) -> Result<(), Error> {
        self.point().await;
        let request = ws::RespondWorkflowTaskFailedRequest {
            task_token: task.task_token.clone(),
            cause: enums::WorkflowTaskFailedCause::WorkflowWorkerUnhandledFailure.into(),
            failure: Some(failure("a bug")),
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondWorkflowTaskFailedRequest::default()
        };
        self.engine().respond_workflow_task_failed(request).await.map(drop)
    }

    /// Takes the next workflow task and answers it.
    pub(crate) async fn step(&self, commands: Vec<Command>) {
        self.step_on(QUEUE, commands).await;
    }

    /// Takes the next workflow task of a queue and answers it. A task whose cause was not durable
    /// yet when the plug was pulled is not known any more; then it comes again.
    pub(crate) async fn step_on(&self, name: &str, commands: Vec<Command>) {
        for _ in 0..3 {
            let task = self.next_task(name).await;
            match self.complete_task(&task, commands.clone()).await {
                Ok(_) => return,
                Err(error) => assert_eq!(error.code, Code::NotFound, "{error}"),
            }
        }
        panic!("the task is not known again and again")
    }

    pub(crate) async fn complete_activity(&self, task: &Work, result: &str) -> Result<(), Error> {
        self.point().await;
        let request = ws::RespondActivityTaskCompletedRequest {
            task_token: task.task_token.clone(),
            result: Some(payloads(result)),
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskCompletedRequest::default()
        };
        self.engine().respond_activity_task_completed(request).await.map(drop)
    }

    pub(crate) async fn fail_activity(&self, task: &Work, message: &str) -> Result<(), Error> {
        self.fail_activity_as(task, failure(message)).await
    }

    pub(crate) async fn fail_activity_as(
        &self,
        task: &Work,
        failure: Failure,
    ) -> Result<(), Error> {
        self.point().await;
        let request = ws::RespondActivityTaskFailedRequest {
            task_token: task.task_token.clone(),
            failure: Some(failure),
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskFailedRequest::default()
        };
        self.engine().respond_activity_task_failed(request).await.map(drop)
    }

    pub(crate) async fn cancel_activity(&self, task: &Work) -> Result<(), Error> {
        self.point().await;
        let request = ws::RespondActivityTaskCanceledRequest {
            task_token: task.task_token.clone(),
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskCanceledRequest::default()
        };
        self.engine().respond_activity_task_canceled(request).await.map(drop)
    }

    /// How the attempts of a run's first activity went, a line each.
    pub(crate) async fn attempts(&self, workflow_id: &str) -> String {
        let execution = execution(workflow_id, "");
        let log = self.engine().activity_attempts(NAMESPACE, &execution, 5).await.expect("a run");
        let line = |row: &AttemptRow| {
            format!("{} {:?} {} {:?}", row.attempt, row.outcome, row.error_type, row.message)
        };
        log.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    pub(crate) async fn heartbeat(
        &self,
        task: &Work,
        details: &str,
    ) -> Result<ws::RecordActivityTaskHeartbeatResponse, Error> {
        self.point().await;
        let request = ws::RecordActivityTaskHeartbeatRequest {
            task_token: task.task_token.clone(),
            details: Some(payloads(details)),
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RecordActivityTaskHeartbeatRequest::default()
        };
        self.engine().record_activity_task_heartbeat(request).await
    }

    pub(crate) async fn signal(&self, workflow_id: &str, name: &str) -> Result<(), Error> {
        self.signal_with(workflow_id, name, |_| {}).await
    }

    pub(crate) async fn signal_with(
        &self,
        workflow_id: &str,
        name: &str,
        change: impl FnOnce(&mut ws::SignalWorkflowExecutionRequest),
    ) -> Result<(), Error> {
        self.point().await;
        let mut request = ws::SignalWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution(workflow_id, "")),
            signal_name: name.to_owned(),
            ..ws::SignalWorkflowExecutionRequest::default()
        };
        change(&mut request);
        self.engine().signal_workflow_execution(request).await.map(drop)
    }

    pub(crate) async fn cancel(&self, workflow_id: &str) -> Result<(), Error> {
        self.point().await;
        let request = ws::RequestCancelWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution(workflow_id, "")),
            ..ws::RequestCancelWorkflowExecutionRequest::default()
        };
        self.engine().request_cancel_workflow_execution(request).await.map(drop)
    }

    pub(crate) async fn terminate(&self, workflow_id: &str) -> Result<(), Error> {
        self.point().await;
        let request = ws::TerminateWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution(workflow_id, "")),
            reason: "enough".to_owned(),
            ..ws::TerminateWorkflowExecutionRequest::default()
        };
        self.engine().terminate_workflow_execution(request).await.map(drop)
    }

    pub(crate) async fn delete(&self, workflow_id: &str) -> Result<(), Error> {
        self.point().await;
        let request = ws::DeleteWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution(workflow_id, "")),
        };
        self.engine().delete_workflow_execution(request).await.map(drop)
    }

    pub(crate) async fn reset(&self, workflow_id: &str, to: i64) -> Result<String, Error> {
        self.reset_as("reset-1", workflow_id, to).await
    }

    pub(crate) async fn reset_as(
        &self,
        request_id: &str,
        workflow_id: &str,
        to: i64,
    ) -> Result<String, Error> {
        let named = |it: &mut ws::ResetWorkflowExecutionRequest| {
            request_id.clone_into(&mut it.request_id);
        };
        self.reset_with(workflow_id, to, named).await
    }

    pub(crate) async fn reset_with(
        &self,
        workflow_id: &str,
        to: i64,
        change: impl FnOnce(&mut ws::ResetWorkflowExecutionRequest),
    ) -> Result<String, Error> {
        self.point().await;
        let mut request = ws::ResetWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution(workflow_id, "")),
            reason: "once more".to_owned(),
            workflow_task_finish_event_id: to,
            request_id: "reset-1".to_owned(),
            ..ws::ResetWorkflowExecutionRequest::default()
        };
        change(&mut request);
        Ok(self.engine().reset_workflow_execution(request).await?.run_id)
    }

    pub(crate) async fn query(
        &self,
        workflow_id: &str,
    ) -> Result<ws::QueryWorkflowResponse, Error> {
        self.engine().query_workflow(query(workflow_id)).await
    }

    /// Answers a query that came as a task of its own.
    pub(crate) async fn answer(&self, task: &Task, text: &str) -> Result<(), Error> {
        let request = ws::RespondQueryTaskCompletedRequest {
            task_token: task.task_token.clone(),
            completed_type: enums::QueryResultType::Answered.into(),
            query_result: Some(payloads(text)),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondQueryTaskCompletedRequest::default()
        };
        self.engine().respond_query_task_completed(request).await.map(drop)
    }

    pub(crate) async fn update(
        &self,
        workflow_id: &str,
        update_id: &str,
        stage: enums::UpdateWorkflowExecutionLifecycleStage,
    ) -> Result<ws::UpdateWorkflowExecutionResponse, Error> {
        self.engine().update_workflow_execution(update_of(workflow_id, update_id, stage)).await
    }

    pub(crate) async fn describe(
        &self,
        workflow_id: &str,
    ) -> Result<ws::DescribeWorkflowExecutionResponse, Error> {
        self.describe_run(workflow_id, "").await
    }

    pub(crate) async fn describe_run(
        &self,
        workflow_id: &str,
        run_id: &str,
    ) -> Result<ws::DescribeWorkflowExecutionResponse, Error> {
        let request = ws::DescribeWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(execution(workflow_id, run_id)),
        };
        self.engine().describe_workflow_execution(request).await
    }

    pub(crate) async fn count(&self, query: &str) -> Result<i64, Error> {
        let request = ws::CountWorkflowExecutionsRequest {
            namespace: NAMESPACE.to_owned(),
            query: query.to_owned(),
        };
        Ok(self.engine().count_workflow_executions(request).await?.count)
    }

    /// The workflow ids of those that match, in the order of the list.
    pub(crate) async fn list(&self, query: &str) -> Result<Vec<String>, Error> {
        let request = ws::ListWorkflowExecutionsRequest {
            namespace: NAMESPACE.to_owned(),
            query: query.to_owned(),
            ..ws::ListWorkflowExecutionsRequest::default()
        };
        let listed = self.engine().list_workflow_executions(request).await?;
        let id = |it: steadfast_proto::workflow::WorkflowExecutionInfo| {
            it.execution.expect("an execution").workflow_id
        };
        Ok(listed.executions.into_iter().map(id).collect())
    }

    pub(crate) async fn add_attributes(
        &self,
        wanted: &[(&str, enums::IndexedValueType)],
    ) -> Result<(), Error> {
        self.point().await;
        let kinds = wanted.iter().map(|(name, kind)| ((*name).to_owned(), i32::from(*kind)));
        let request = AddSearchAttributesRequest {
            namespace: NAMESPACE.to_owned(),
            search_attributes: kinds.collect(),
        };
        self.engine().add_search_attributes(request).await.map(drop)
    }

    pub(crate) async fn history_page(
        &self,
        workflow_id: &str,
        change: impl FnOnce(&mut ws::GetWorkflowExecutionHistoryRequest),
    ) -> Result<ws::GetWorkflowExecutionHistoryResponse, Error> {
        let mut request = ws::GetWorkflowExecutionHistoryRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(execution(workflow_id, "")),
            ..ws::GetWorkflowExecutionHistoryRequest::default()
        };
        change(&mut request);
        self.engine().get_workflow_execution_history(request).await
    }

    pub(crate) async fn history(&self, workflow_id: &str, run_id: &str) -> Vec<HistoryEvent> {
        let mut events = Vec::new();
        let mut token = Vec::new();
        loop {
            let page = self.history_page(workflow_id, |request| {
                request.execution = Some(execution(workflow_id, run_id));
                request.next_page_token = token;
            });
            let page = page.await.expect("a page");
            events.extend(page.history.expect("a history").events);
            token = page.next_page_token;
            if token.is_empty() {
                return events;
            }
        }
    }

    /// The history that a worker reads for its task: what came with it, and the pages after that.
    pub(crate) async fn task_pages(
        &self,
        workflow_id: &str,
        task: &Task,
    ) -> Vec<Vec<HistoryEvent>> {
        let mut pages = vec![task.history.clone().expect("a history").events];
        let mut token = task.next_page_token.clone();
        while !token.is_empty() {
            let page = self.history_page(workflow_id, |it| it.next_page_token = token);
            let page = page.await.expect("a page");
            pages.push(page.history.expect("a history").events);
            token = page.next_page_token;
        }
        pages
    }

    /// The history as text, one line an event.
    pub(crate) async fn text(&self, workflow_id: &str, run_id: &str) -> String {
        text::history(&self.history(workflow_id, run_id).await)
    }

    /// The names of a workflow's events, in order.
    pub(crate) async fn names(&self, workflow_id: &str) -> Vec<String> {
        let events = self.history(workflow_id, "").await;
        events.iter().map(name).collect()
    }

    /// Waits for the run to close and gives its last event.
    pub(crate) async fn closed(&self, workflow_id: &str, run_id: &str) -> HistoryEvent {
        let mut token = Vec::new();
        loop {
            let page = self.history_page(workflow_id, |request| {
                request.execution = Some(execution(workflow_id, run_id));
                request.wait_new_event = true;
                request.history_event_filter_type =
                    enums::HistoryEventFilterType::CloseEvent.into();
                request.next_page_token = token;
            });
            let page = page.await.expect("a page");
            if let Some(event) = page.history.expect("a history").events.pop() {
                return event;
            }
            token = page.next_page_token;
        }
    }
}

/// An event's name.
pub(crate) fn name(event: &HistoryEvent) -> String {
    text::line(event).split(' ').next().expect("a name").to_owned()
}

pub(crate) fn task_poll(name: &str) -> ws::PollWorkflowTaskQueueRequest {
    ws::PollWorkflowTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(name)),
        identity: "worker".to_owned(),
        ..ws::PollWorkflowTaskQueueRequest::default()
    }
}

pub(crate) fn activity_poll(name: &str) -> ws::PollActivityTaskQueueRequest {
    ws::PollActivityTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(name)),
        identity: "worker".to_owned(),
        ..ws::PollActivityTaskQueueRequest::default()
    }
}

pub(crate) fn query(workflow_id: &str) -> ws::QueryWorkflowRequest {
    ws::QueryWorkflowRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution(workflow_id, "")),
        query: Some(WorkflowQuery { query_type: "state".to_owned(), ..WorkflowQuery::default() }),
        ..ws::QueryWorkflowRequest::default()
    }
}

pub(crate) fn update_of(
    workflow_id: &str,
    update_id: &str,
    stage: enums::UpdateWorkflowExecutionLifecycleStage,
) -> ws::UpdateWorkflowExecutionRequest {
    ws::UpdateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution(workflow_id, "")),
        wait_policy: Some(update::WaitPolicy { lifecycle_stage: stage.into() }),
        request: Some(update::Request {
            meta: Some(update::Meta {
                update_id: update_id.to_owned(),
                identity: "client".to_owned(),
            }),
            input: Some(update::Input {
                name: "raise".to_owned(),
                args: Some(payloads("5")),
                ..update::Input::default()
            }),
            ..update::Request::default()
        }),
        ..ws::UpdateWorkflowExecutionRequest::default()
    }
}

/// The start of an order.
pub(crate) fn start_request(workflow_id: &str) -> ws::StartWorkflowExecutionRequest {
    ws::StartWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(common::WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        identity: "client".to_owned(),
        ..ws::StartWorkflowExecutionRequest::default()
    }
}
