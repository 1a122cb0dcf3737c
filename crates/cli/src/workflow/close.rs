//! How a run ended.

use steadfast_proto::{
    common::Payloads,
    failure::Failure,
    history::{HistoryEvent, history_event::Attributes},
};

use crate::output::{chain, show_all};

/// The end of a run.
#[derive(Debug)]
pub(super) enum Close {
    /// It completed, with a result.
    Completed(Option<Payloads>),
    /// It ended in another manner: its status, and why.
    Otherwise { status: &'static str, failure: Option<Box<Failure>>, reason: String },
    /// Another run goes on with it.
    GoesOn { run_id: String },
}

impl Close {
    /// The end that an event tells of; `None` if it tells of none.
    pub(super) fn of(event: HistoryEvent) -> Option<Self> {
        let ended = |status, failure, reason| Self::Otherwise { status, failure, reason };
        let attributes = event.attributes?;
        if let Some(run_id) = next_run(&attributes) {
            return Some(Self::GoesOn { run_id: run_id.to_owned() });
        }
        if let Attributes::WorkflowExecutionCompletedEventAttributes(it) = attributes {
            Some(Self::Completed(it.result))
        } else if let Attributes::WorkflowExecutionFailedEventAttributes(it) = attributes {
            Some(ended("FAILED", it.failure.map(Box::new), String::new()))
        } else if let Attributes::WorkflowExecutionTimedOutEventAttributes(_) = attributes {
            Some(ended("TIMED_OUT", None, String::new()))
        } else if let Attributes::WorkflowExecutionCanceledEventAttributes(it) = attributes {
            Some(ended("CANCELED", None, show_all(it.details.as_ref())))
        } else if let Attributes::WorkflowExecutionTerminatedEventAttributes(it) = attributes {
            Some(ended("TERMINATED", None, it.reason))
        } else {
            None
        }
    }
}

/// What is said of an end that is not a completion.
pub(super) fn told(status: &str, failure: Option<&Failure>, reason: &str) -> String {
    let how = match status {
        "FAILED" => "failed",
        "TIMED_OUT" => "ran out of time",
        "CANCELED" => "was cancelled",
        _ => "was terminated",
    };
    match failure {
        Some(failure) => format!("{how}: {}", chain(failure)),
        None if reason.is_empty() => how.to_owned(),
        None => format!("{how}: {reason}"),
    }
}

/// The run that goes on after this end.
fn next_run(attributes: &Attributes) -> Option<&str> {
    let next = if let Attributes::WorkflowExecutionContinuedAsNewEventAttributes(it) = attributes {
        &it.new_execution_run_id
    } else if let Attributes::WorkflowExecutionCompletedEventAttributes(it) = attributes {
        &it.new_execution_run_id
    } else if let Attributes::WorkflowExecutionFailedEventAttributes(it) = attributes {
        &it.new_execution_run_id
    } else if let Attributes::WorkflowExecutionTimedOutEventAttributes(it) = attributes {
        &it.new_execution_run_id
    } else {
        return None;
    };
    (!next.is_empty()).then_some(next)
}
