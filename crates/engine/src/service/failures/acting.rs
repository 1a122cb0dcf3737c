//! What operators do about errors: resume, acknowledge, cancel, give up, park, retry now.
//!
//! Each says for every error what came of it; one that cannot be helped does not keep the others from
//! it.

use std::time::Duration;

use steadfast_core::{
    AcknowledgeError, CancelRequest, ClearResume, GiveUpActivity, Input, ParkActivity, RUN,
    ResumeActivity, ResumeTask, ResumedBy, RetryNow, Selector, TASK,
};
use steadfast_proto::common::WorkflowExecution;
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorState, Order};

use crate::{
    error::{Code, Error},
    failures::{Acted, ErrorId, Resume, Selection, Who},
    namespaces::Namespace,
    service::{Engine, address},
    shard::Address,
};

impl Engine {
    /// Has parked activities go on, and failed runs from before the step that failed.
    pub async fn resume_errors(
        &self,
        namespace: &str,
        selection: Selection,
        resume: &Resume,
    ) -> Result<Vec<Acted>, Error> {
        let states = [ErrorState::Parked, ErrorState::Failed];
        let namespace = self.namespace(namespace)?;
        let chosen = self.chosen(&namespace, selection, &states).await?;
        let mut acted = Vec::with_capacity(chosen.len());
        for entry in chosen {
            let outcome = self.resume_one(&namespace, &entry, resume).await;
            acted.push(done(&entry, outcome));
        }
        Ok(acted)
    }

    /// Notes that somebody has seen to errors: they are not resumed by themselves any more, and count
    /// as open no more.
    pub async fn acknowledge_errors(
        &self,
        namespace: &str,
        selection: Selection,
        who: &Who,
    ) -> Result<Vec<Acted>, Error> {
        let input = |entry: &ErrorEntry| {
            Ok(vec![Input::AcknowledgeError(AcknowledgeError {
                subject: entry.subject,
                identity: who.identity.clone(),
                reason: who.reason.clone(),
            })])
        };
        self.act(namespace, selection, &ErrorState::ALL, input).await
    }

    /// Cancels the workflows that errors belong to. What was scheduled for the errors is off; a run that
    /// has failed stays so.
    pub async fn cancel_errors(
        &self,
        namespace: &str,
        selection: Selection,
        who: &Who,
    ) -> Result<Vec<Acted>, Error> {
        let input = |entry: &ErrorEntry| {
            let Who { identity, reason } = who.clone();
            let cancel = CancelRequest { reason, identity, ..CancelRequest::default() };
            let clear = Input::ClearResume(call_off(entry, who)?);
            Ok(match entry.subject {
                // It has ended; that it does not go on is all that can be asked of it.
                RUN => vec![clear],
                _ => vec![clear, Input::RequestCancel(cancel)],
            })
        };
        self.act(namespace, selection, &[ErrorState::Parked], input).await
    }

    /// Lets parked activities fail into their workflows.
    pub async fn give_up_errors(
        &self,
        namespace: &str,
        selection: Selection,
        who: &Who,
    ) -> Result<Vec<Acted>, Error> {
        self.steer(namespace, selection, &[ErrorState::Parked], |it| give_up(it, who)).await
    }

    /// Parks what is being retried: it is not tried again until it is resumed.
    pub async fn park_errors(
        &self,
        namespace: &str,
        selection: Selection,
        who: &Who,
    ) -> Result<Vec<Acted>, Error> {
        self.steer(namespace, selection, &[ErrorState::Retrying], |it| park(it, who)).await
    }

    /// Parks activities of a workflow, whether they have failed or not.
    pub async fn park_activities(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
        selector: Selector,
        who: &Who,
    ) -> Result<(), Error> {
        self.tell_activities(namespace, execution, park(selector, who)).await
    }

    /// Has what waits for its next attempt be tried at once. That does not count as an attempt.
    pub async fn retry_errors_now(
        &self,
        namespace: &str,
        selection: Selection,
        who: &Who,
    ) -> Result<Vec<Acted>, Error> {
        self.steer(namespace, selection, &[ErrorState::Retrying], |it| retry_now(it, who)).await
    }

    /// Has activities of a workflow that wait for their next attempt be tried at once.
    pub async fn retry_activities_now(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
        selector: Selector,
        who: &Who,
    ) -> Result<(), Error> {
        self.tell_activities(namespace, execution, retry_now(selector, who)).await
    }

    /// Resumes one error.
    pub(super) async fn resume_one(
        &self,
        namespace: &Namespace,
        entry: &ErrorEntry,
        resume: &Resume,
    ) -> Result<String, Error> {
        match entry.row.state {
            ErrorState::Failed => {
                if resume.has_changes() {
                    return Err(Error::invalid(
                        "a failed run goes on by a reset: its activities are scheduled anew, so \
                         neither input, policy nor metadata can be given to them",
                    ));
                }
                let request_id = request_id(entry, resume);
                self.start_over(namespace, entry, &resume.who, request_id, ResumedBy::Hand).await
            }
            ErrorState::Parked | ErrorState::Retrying | ErrorState::Dead => {
                let chance = self.shared().ids.entropy().nonce();
                let input = resume_input(entry, resume, chance)?;
                self.apply(address_of(entry), String::new(), input, |_| String::new()).await
            }
        }
    }

    /// Gives the activity of each chosen error an input.
    pub(super) async fn steer(
        &self,
        namespace: &str,
        selection: Selection,
        states: &[ErrorState],
        input: impl Fn(Selector) -> Input,
    ) -> Result<Vec<Acted>, Error> {
        let inputs = |entry: &ErrorEntry| Ok(vec![input(selector(entry)?)]);
        self.act(namespace, selection, states, inputs).await
    }

    /// Gives activities of a workflow an input.
    pub(super) async fn tell_activities(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
        input: Input,
    ) -> Result<(), Error> {
        let namespace = self.namespace(namespace)?;
        let address = address(&namespace, Some(execution))?;
        self.apply(address, String::new(), input, |_| ()).await
    }

    /// Gives each chosen error its inputs.
    async fn act(
        &self,
        namespace: &str,
        selection: Selection,
        states: &[ErrorState],
        inputs: impl Fn(&ErrorEntry) -> Result<Vec<Input>, Error>,
    ) -> Result<Vec<Acted>, Error> {
        let namespace = self.namespace(namespace)?;
        let chosen = self.chosen(&namespace, selection, states).await?;
        let mut acted = Vec::with_capacity(chosen.len());
        for entry in chosen {
            let outcome = match inputs(&entry) {
                Ok(inputs) => self.give(&entry, inputs).await,
                Err(error) => Err(error),
            };
            acted.push(done(&entry, outcome));
        }
        Ok(acted)
    }

    async fn give(&self, entry: &ErrorEntry, inputs: Vec<Input>) -> Result<String, Error> {
        for input in inputs {
            self.apply(address_of(entry), String::new(), input, |_| ()).await?;
        }
        Ok(String::new())
    }

    /// The errors that a selection means. Those that are named must all be there.
    pub(super) async fn chosen(
        &self,
        namespace: &Namespace,
        selection: Selection,
        states: &[ErrorState],
    ) -> Result<Vec<ErrorEntry>, Error> {
        if let Selection::Ids(ids) = &selection
            && !ids.is_empty()
        {
            check_count(ids.len())?;
            return self.named_errors(namespace, ids).await;
        }
        let filter: ErrorFilter = selection.filter(states)?;
        let found = self.store().errors(
            namespace.id.clone(),
            filter,
            Order::Forward,
            None,
            AT_ONCE_MAX + 1,
        );
        let found = found.await?.errors;
        check_count(found.len())?;
        Ok(found)
    }
}

/// The run that an error belongs to.
pub(super) fn address_of(entry: &ErrorEntry) -> Address {
    let identity = &entry.identity;
    Address::of(&identity.namespace, &identity.workflow_id, &identity.run_id)
}

/// The activity that an error is about.
pub(super) fn selector(entry: &ErrorEntry) -> Result<Selector, Error> {
    if entry.subject > 0 {
        return Ok(Selector::Event(entry.subject));
    }
    let what = if entry.subject == 0 { "a run that has failed" } else { "a workflow task" };
    let id = ErrorId::from(entry);
    let message = format!("error {id} is about {what}; this is for errors of activities");
    Err(Error::new(Code::FailedPrecondition, message))
}

fn call_off(entry: &ErrorEntry, who: &Who) -> Result<ClearResume, Error> {
    let selector = if entry.subject == RUN { Selector::Event(RUN) } else { selector(entry)? };
    let Who { identity, reason } = who.clone();
    Ok(ClearResume { selector, identity, reason })
}

fn resume_input(entry: &ErrorEntry, resume: &Resume, chance: u64) -> Result<Input, Error> {
    if entry.subject == TASK {
        return resume_task(entry, resume);
    }
    let spread = u64::try_from(resume.spread.as_nanos()).unwrap_or(u64::MAX);
    Ok(Input::ResumeActivity(Box::new(ResumeActivity {
        selector: selector(entry)?,
        request_id: request_id(entry, resume),
        identity: resume.who.identity.clone(),
        reason: resume.who.reason.clone(),
        reset_attempts: resume.reset_attempts,
        reset_heartbeat: resume.reset_heartbeat,
        rekey: resume.rekey,
        delay: Duration::from_nanos(chance.checked_rem(spread).unwrap_or_default()),
        header: resume.metadata.clone(),
        change: resume.change.clone(),
    })))
}

fn resume_task(entry: &ErrorEntry, resume: &Resume) -> Result<Input, Error> {
    if resume.has_changes() {
        return Err(Error::invalid(
            "a workflow task is tried again as it is: neither input, policy nor metadata can be \
             given to it",
        ));
    }
    let Who { identity, reason } = resume.who.clone();
    Ok(Input::ResumeTask(ResumeTask { request_id: request_id(entry, resume), identity, reason }))
}

/// The same resume of the same error, and of no other.
fn request_id(entry: &ErrorEntry, resume: &Resume) -> String {
    if resume.request_id.is_empty() {
        return String::new();
    }
    format!("{}/{}", resume.request_id, ErrorId::from(entry))
}

fn park(selector: Selector, who: &Who) -> Input {
    let Who { identity, reason } = who.clone();
    Input::ParkActivity(ParkActivity { selector, identity, reason })
}

fn give_up(selector: Selector, who: &Who) -> Input {
    let Who { identity, reason } = who.clone();
    Input::GiveUpActivity(GiveUpActivity { selector, identity, reason })
}

fn retry_now(selector: Selector, who: &Who) -> Input {
    let Who { identity, reason } = who.clone();
    Input::RetryNow(RetryNow { selector, identity, reason })
}

fn done(entry: &ErrorEntry, outcome: Result<String, Error>) -> Acted {
    Acted {
        id: entry.into(),
        workflow_id: entry.identity.workflow_id.clone(),
        run_id: entry.identity.run_id.clone(),
        outcome,
    }
}

fn check_count(count: usize) -> Result<(), Error> {
    if count <= AT_ONCE_MAX {
        return Ok(());
    }
    Err(Error::new(
        Code::FailedPrecondition,
        format!("this means more than {AT_ONCE_MAX} errors: start a resume job, or ask for fewer"),
    ))
}

/// Errors that may be acted on in one call.
const AT_ONCE_MAX: usize = 1_000;
