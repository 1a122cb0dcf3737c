//! What buttons do: errors go on, are parked, given up or taken note of; runs are stopped.
//!
//! Whoever presses one is led back to the page that it is on, which then shows what has become of
//! it. What could not be done is told on a page of its own.

use std::time::Duration;

use axum::response::{IntoResponse as _, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use steadfast_engine::{
    Code, Error,
    failures::{Acted, ErrorId, Resume, Selection},
    fingerprint,
};
use steadfast_proto::{
    common::WorkflowExecution,
    workflowservice::{RequestCancelWorkflowExecutionRequest, TerminateWorkflowExecutionRequest},
};
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorState};

use super::{
    form::{Form, posting},
    frame::{Section, section, trouble},
    link,
    visit::{Visit, refused},
};

/// What can be done about errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Deed {
    RetryNow,
    Park,
    Resume,
    GiveUp,
    Acknowledge,
}

impl Deed {
    const ALL: [Self; 5] =
        [Self::RetryNow, Self::Park, Self::Resume, Self::GiveUp, Self::Acknowledge];

    /// What can be done about an error, the likeliest first.
    fn about(error: &ErrorEntry) -> Vec<Self> {
        let row = &error.row;
        let mut deeds = match row.state {
            ErrorState::Retrying => return vec![Self::RetryNow, Self::Park],
            ErrorState::Parked => vec![Self::Resume, Self::GiveUp],
            ErrorState::Failed | ErrorState::Dead => vec![Self::Resume],
        };
        if row.acknowledged.is_none() {
            deeds.push(Self::Acknowledge);
        }
        deeds
    }

    /// What can be done about some of these errors together. Those that somebody has seen to are
    /// not meant then.
    fn about_some(errors: &[ErrorEntry]) -> Vec<Self> {
        let open = errors.iter().filter(|error| error.row.acknowledged.is_none());
        let each: Vec<Self> = open.flat_map(Self::about).collect();
        Self::ALL.into_iter().filter(|deed| each.contains(deed)).collect()
    }

    /// What the button says.
    const fn label(self) -> &'static str {
        match self {
            Self::RetryNow => "Retry now",
            Self::Park => "Park",
            Self::Resume => "Resume",
            Self::GiveUp => "Let it fail",
            Self::Acknowledge => "Acknowledge",
        }
    }

    /// What the button sends.
    const fn name(self) -> &'static str {
        match self {
            Self::RetryNow => "retry-now",
            Self::Park => "park",
            Self::Resume => "resume",
            Self::GiveUp => "fail",
            Self::Acknowledge => "acknowledge",
        }
    }

    fn named(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|deed| deed.name() == name).ok_or_else(|| unknown(name))
    }
}

/// Buttons for what can be done about one error.
pub(super) fn about_one(visit: &Visit, error: &ErrorEntry) -> Markup {
    let buttons = html! {
        input type="hidden" name="id" value=(ErrorId::from(error));
        @for deed in Deed::about(error) { (button(deed)) }
    };
    about_errors(visit, &buttons)
}

/// Buttons for what can be done about all errors that are like these.
pub(super) fn about_alike(visit: &Visit, print: &str, errors: &[ErrorEntry]) -> Markup {
    let deeds = Deed::about_some(errors);
    let buttons = html! {
        input type="hidden" name="fingerprint" value=(print);
        "All of them: "
        @for deed in &deeds { (button(*deed)) }
        @if deeds.contains(&Deed::Resume) {
            label {
                "spread over " input.seconds type="number" name="spread" min="0" value="0"; " seconds"
            }
        }
        input name="reason" placeholder="why, for the record";
    };
    html! { @if !deeds.is_empty() { (about_errors(visit, &buttons)) } }
}

fn about_errors(visit: &Visit, buttons: &Markup) -> Markup {
    let fields = html! {
        input type="hidden" name="back" value=(visit.here);
        (buttons)
    };
    posting(visit, &link::errors(&visit.namespace), &fields)
}

fn button(deed: Deed) -> Markup {
    html! { button name="do" value=(deed.name()) { (deed.label()) } }
}

/// Buttons that stop a run. They are out of the way until they are asked for.
pub(super) fn stopping(visit: &Visit, execution: &WorkflowExecution) -> Markup {
    let WorkflowExecution { workflow_id, run_id } = execution;
    let fields = html! {
        input name="reason" placeholder="why, for the record";
        button name="do" value="cancel" { "Cancel" }
        button name="do" value="terminate" { "Terminate" }
        span.faint { "Cancelling lets the workflow clean up; terminating ends it where it is." }
    };
    html! {
        @if visit.may_change().is_ok() {
            details {
                summary { "Stop it" }
                (posting(visit, &link::run(&visit.namespace, workflow_id, run_id), &fields))
            }
        }
    }
}

/// Carries out what a form asks about errors.
pub(super) async fn to_errors(form: Form) -> Response {
    match carried_out(&form).await {
        Err(error) => refused(&form.visit, &error),
        Ok(acted) if acted.is_empty() => {
            let why = "nothing was done: no such error is in a state for it any more";
            trouble(StatusCode::CONFLICT, &form.visit.namespace, why)
        }
        Ok(acted) if acted.iter().all(|it| it.outcome.is_ok()) => back(&form),
        Ok(acted) => told(&form.visit, &acted),
    }
}

async fn carried_out(form: &Form) -> Result<Vec<Acted>, Error> {
    let Visit { engine, namespace, .. } = &form.visit;
    let (deed, selection, who) = (Deed::named(form.field("do"))?, chosen(form)?, form.who());
    match deed {
        Deed::RetryNow => engine.retry_errors_now(namespace, selection, &who).await,
        Deed::Park => engine.park_errors(namespace, selection, &who).await,
        Deed::GiveUp => engine.give_up_errors(namespace, selection, &who).await,
        Deed::Acknowledge => engine.acknowledge_errors(namespace, selection, &who).await,
        Deed::Resume => {
            let resume = Resume { who, spread: spread(form)?, ..Resume::default() };
            engine.resume_errors(namespace, selection, &resume).await
        }
    }
}

/// The error that is named, or all that are alike.
fn chosen(form: &Form) -> Result<Selection, Error> {
    let print = form.field("fingerprint");
    if print.is_empty() {
        let id = form.field("id").parse::<ErrorId>();
        let id = id.map_err(|bad| invalid(format!("id: {bad}")))?;
        return Ok(Selection::Ids(vec![id]));
    }
    let fingerprint = Some(fingerprint(print)?);
    Ok(Selection::Matching(ErrorFilter { fingerprint, ..ErrorFilter::default() }))
}

/// What errors that are alike have in common, as it is written in addresses.
pub(super) fn fingerprint(text: &str) -> Result<u64, Error> {
    let wrong = || invalid(format!("fingerprint: {text:?} is not 16 hexadecimal digits"));
    fingerprint::parse(text).ok_or_else(wrong)
}

fn spread(form: &Form) -> Result<Duration, Error> {
    match form.field("spread") {
        "" => Ok(Duration::ZERO),
        seconds => seconds.parse().map(Duration::from_secs).map_err(|_| {
            invalid(format!("spread: {seconds:?} must be a whole number of seconds, 0 or more"))
        }),
    }
}

/// Carries out what a form asks of a run.
pub(super) async fn to_run(form: Form) -> Response {
    match stopped(&form).await {
        Ok(()) => {
            let Visit { namespace, .. } = &form.visit;
            let (workflow, run) = (form.visit.part("workflow"), form.visit.part("run"));
            Redirect::to(&link::run(namespace, workflow, run)).into_response()
        }
        Err(error) => refused(&form.visit, &error),
    }
}

async fn stopped(form: &Form) -> Result<(), Error> {
    let Visit { engine, namespace, .. } = &form.visit;
    let namespace = namespace.clone();
    let workflow_execution = Some(WorkflowExecution {
        workflow_id: form.visit.part("workflow").to_owned(),
        run_id: form.visit.part("run").to_owned(),
    });
    let who = form.who();
    match form.field("do") {
        "cancel" => {
            let request = RequestCancelWorkflowExecutionRequest {
                namespace,
                workflow_execution,
                identity: who.identity,
                reason: who.reason,
                ..RequestCancelWorkflowExecutionRequest::default()
            };
            engine.request_cancel_workflow_execution(request).await.map(drop)
        }
        "terminate" => {
            let request = TerminateWorkflowExecutionRequest {
                namespace,
                workflow_execution,
                identity: who.identity,
                reason: who.reason,
                ..TerminateWorkflowExecutionRequest::default()
            };
            engine.terminate_workflow_execution(request).await.map(drop)
        }
        other => Err(unknown(other)),
    }
}

/// To the page that the button is on; never to another server.
fn back(form: &Form) -> Response {
    let errors = link::errors(&form.visit.namespace);
    let page = Some(form.field("back")).filter(|page| page.starts_with("/namespaces/"));
    Redirect::to(page.unwrap_or(&errors)).into_response()
}

/// What came of it, if not all went well.
fn told(visit: &Visit, acted: &[Acted]) -> Response {
    let done = acted.iter().filter(|it| it.outcome.is_ok()).count();
    let body = html! {
        h1 { "Done for " (done) " of " (acted.len()) }
        table {
            thead { tr { th { "Workflow" } th { "Why it was not done" } } }
            tbody {
                @for it in acted {
                    @if let Err(error) = &it.outcome {
                        tr {
                            td { a href=(link::run(&visit.namespace, &it.workflow_id, &it.run_id)) { (it.workflow_id) } }
                            td.said { (error.message) }
                        }
                    }
                }
            }
        }
        p { a href=(link::errors(&visit.namespace)) { "All errors" } }
    };
    section(&visit.namespace, Section::Errors, "Not all was done", &body)
}

/// A button that is on no page of ours.
pub(super) fn unknown(name: &str) -> Error {
    invalid(format!("do: {name:?} is nothing that can be done here"))
}

fn invalid(why: String) -> Error {
    Error::new(Code::InvalidArgument, why)
}
