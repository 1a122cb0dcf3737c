//! What people look at: the first page of errors, and their groups.

use std::future::Future;

use anyhow::{Result, ensure};
use steadfast_engine::{Engine, Error};
use steadfast_proto::workflowservice::ListWorkflowExecutionsRequest;
use steadfast_store::{ErrorFilter, ErrorGroup, ErrorState, Order};

use crate::{
    args::FailuresPlan,
    report::{Counted, Line},
    usage::{self, Stopwatch, now},
    worker::NAMESPACE,
};

/// Looks at everything, each view some times.
pub(super) async fn run(plan: &FailuresPlan, engine: &Engine) -> Result<Vec<Line>> {
    let all = ErrorFilter::default;
    let parked = || ErrorFilter {
        states: vec![ErrorState::Parked],
        acknowledged: Some(false),
        ..ErrorFilter::default()
    };
    let rare = || ErrorFilter { cause_contains: Some("no such words".to_owned()), ..all() };
    let groups = async |by| {
        let found = engine.group_errors(NAMESPACE, all(), by, 50).await?;
        Ok(!found.is_empty())
    };
    let page = async |filter| {
        let found = engine.list_errors(NAMESPACE, filter, Order::Backward, None, 50).await?;
        Ok(!found.errors.is_empty())
    };
    Ok(vec![
        look(plan, "view_page", || page(all())).await?,
        look(plan, "view_parked", || page(parked())).await?,
        look(plan, "view_words", async || Ok(!page(rare()).await?)).await?,
        look(plan, "view_by_type", || groups(ErrorGroup::WorkflowType)).await?,
        look(plan, "view_by_activity", || groups(ErrorGroup::Activity)).await?,
        look(plan, "view_by_cause", || groups(ErrorGroup::Cause)).await?,
        look(plan, "view_by_fingerprint", || groups(ErrorGroup::Fingerprint)).await?,
        look(plan, "view_count", async || Ok(engine.count_errors(NAMESPACE, parked()).await? > 0))
            .await?,
        look(plan, "view_workflows", async || {
            let request = ListWorkflowExecutionsRequest {
                namespace: NAMESPACE.to_owned(),
                page_size: 50,
                query: "RetryState = 'parked'".to_owned(),
                ..ListWorkflowExecutionsRequest::default()
            };
            Ok(!engine.list_workflow_executions(request).await?.executions.is_empty())
        })
        .await?,
    ])
}

async fn look<F>(plan: &FailuresPlan, case: &str, view: impl Fn() -> F) -> Result<Line>
where
    F: Future<Output = Result<bool, Error>>,
{
    ensure!(view().await?, "{case} shows something else than it should");
    usage::reset_peak();
    let watch = Stopwatch::start();
    let mut spans = Vec::with_capacity(plan.looks);
    for _ in 0..plan.looks {
        let began = now();
        view().await?;
        spans.push(began.elapsed());
    }
    let counted = Counted {
        units: plan.looks,
        elapsed: watch.elapsed(),
        cpu: watch.cpu(),
        spans,
        ..Counted::default()
    };
    Ok(Line::new(case, plan.sync.name(), counted, usage::peak_rss_mib()))
}
