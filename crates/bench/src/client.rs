//! Whoever starts workflows and waits for them.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use steadfast_engine::Engine;
use steadfast_proto::{
    common::{WorkflowExecution, WorkflowType},
    enums,
    workflowservice::{GetWorkflowExecutionHistoryRequest, StartWorkflowExecutionRequest},
};
use tokio::task::JoinSet;

use crate::{
    shape::payloads,
    usage::now,
    worker::{NAMESPACE, queue},
};

/// Has `workflows` workflows done, `concurrency` of them at any time, and tells how long each
/// took.
pub(crate) async fn run(
    engine: &Engine,
    prefix: &str,
    workflows: usize,
    concurrency: usize,
) -> Result<Vec<Duration>> {
    let spans = Arc::new(Mutex::new(Vec::with_capacity(workflows)));
    let each = {
        let (engine, spans) = (engine.clone(), Arc::clone(&spans));
        move |id: String| {
            let (engine, spans) = (engine.clone(), Arc::clone(&spans));
            async move {
                let began = now();
                let run_id = start(&engine, &id).await?;
                closed(&engine, &id, &run_id).await?;
                spans.lock().unwrap_or_else(PoisonError::into_inner).push(began.elapsed());
                Ok(())
            }
        }
    };
    for_all(prefix, workflows, concurrency, each).await?;
    let spans = std::mem::take(&mut *spans.lock().unwrap_or_else(PoisonError::into_inner));
    ensure!(spans.len() == workflows, "{} of {workflows} workflows were done", spans.len());
    Ok(spans)
}

/// Starts `workflows` workflows and does not wait for them to close.
pub(crate) async fn start_all(
    engine: &Engine,
    prefix: &str,
    workflows: usize,
    concurrency: usize,
) -> Result<()> {
    let engine = engine.clone();
    let each = move |id: String| {
        let engine = engine.clone();
        async move { start(&engine, &id).await.map(drop) }
    };
    for_all(prefix, workflows, concurrency, each).await
}

/// Starts one workflow and gives its run id.
pub(crate) async fn start(engine: &Engine, workflow_id: &str) -> Result<String> {
    start_as(engine, workflow_id, "Order").await
}

/// Starts one workflow of this type and gives its run id.
pub(crate) async fn start_as(engine: &Engine, workflow_id: &str, name: &str) -> Result<String> {
    let request = StartWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(WorkflowType { name: name.to_owned() }),
        task_queue: Some(queue()),
        input: Some(payloads()),
        identity: "client".to_owned(),
        ..StartWorkflowExecutionRequest::default()
    };
    Ok(engine.start_workflow_execution(request).await?.run_id)
}

/// Waits until a workflow has completed.
pub(crate) async fn closed(engine: &Engine, workflow_id: &str, run_id: &str) -> Result<()> {
    let (workflow_id, run_id) = (workflow_id.to_owned(), run_id.to_owned());
    let execution = WorkflowExecution { workflow_id, run_id };
    let mut next_page_token = Vec::new();
    loop {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(execution.clone()),
            wait_new_event: true,
            history_event_filter_type: enums::HistoryEventFilterType::CloseEvent.into(),
            next_page_token,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let page = engine.get_workflow_execution_history(request).await?;
        if let Some(event) = page.history.and_then(|history| history.events.into_iter().next_back())
        {
            let kind = event.event_type();
            let completed = kind == enums::EventType::WorkflowExecutionCompleted;
            ensure!(completed, "a workflow ended with {kind:?}");
            return Ok(());
        }
        next_page_token = page.next_page_token;
    }
}

/// Does something for so many workflow ids, so many at a time.
pub(crate) async fn for_all<F, W>(
    prefix: &str,
    workflows: usize,
    concurrency: usize,
    each: F,
) -> Result<()>
where
    F: Fn(String) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Result<()>> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients: JoinSet<Result<()>> = JoinSet::new();
    for _ in 0..concurrency.min(workflows) {
        let (next, each, prefix) = (Arc::clone(&next), each.clone(), prefix.to_owned());
        clients.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= workflows {
                    return Ok(());
                }
                each(format!("{prefix}-{number}")).await?;
            }
        });
    }
    while let Some(done) = clients.join_next().await {
        done??;
    }
    Ok(())
}
