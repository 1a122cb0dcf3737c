//! Starting workflows, with or without a signal.

use std::sync::Arc;

use prost::Message as _;
use steadfast_core::{
    Attach, CadenceTerms, Identity, Input, Signal, Start, Started, cron, policy, span,
};
use steadfast_proto::{
    common::{
        self,
        link::{
            Variant, WorkflowEvent,
            workflow_event::{EventReference, Reference, RequestIdReference},
        },
    },
    enums::{self, EventType},
    workflow::OnConflictOptions,
    workflowservice::{
        SignalWithStartWorkflowExecutionRequest, SignalWithStartWorkflowExecutionResponse,
        StartWorkflowExecutionRequest, StartWorkflowExecutionResponse,
    },
};
use steadfast_retry::preset::cadence;
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, check_length};
use crate::{
    error::Error,
    gift::Gift,
    namespaces::Namespace,
    shard::{Address, Desk, Job, Wishes},
    start::{self, Plan, StartPolicy},
    task::{Taker, TaskGift},
    visibility::{self, Schema},
};

impl Engine {
    /// Starts a workflow.
    pub fn start_workflow_execution(
        &self,
        request: StartWorkflowExecutionRequest,
    ) -> impl Future<Output = Result<StartWorkflowExecutionResponse, Error>> + Send {
        self.start_in_terms(request, None)
    }

    /// Starts a workflow whose policy is declared in Cadence's terms: its retries have an expiration
    /// of their own, which every cron run has anew, and a failure after its cancellation was asked
    /// for counts as a cancellation.
    pub async fn start_workflow_in_cadence_terms(
        &self,
        mut request: StartWorkflowExecutionRequest,
        policy: &cadence::RetryPolicy,
    ) -> Result<StartWorkflowExecutionResponse, Error> {
        if request.retry_policy.is_some() {
            return Err(Error::invalid(
                "retry_policy: the policy is given in Cadence's terms, so leave this one out",
            ));
        }
        let (on_wire, terms) = policy::of_cadence_workflow(policy)
            .map_err(|fault| Error::invalid(fault.to_string()))?;
        request.retry_policy = Some(on_wire);
        self.start_in_terms(request, Some(terms)).await
    }

    async fn start_in_terms(
        &self,
        mut request: StartWorkflowExecutionRequest,
        terms: Option<CadenceTerms>,
    ) -> Result<StartWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let policy = StartPolicy::of_start(
            request.workflow_id_reuse_policy(),
            request.workflow_id_conflict_policy(),
        )?;
        if request.request_id.is_empty() {
            request.request_id = self.shared().ids.id();
        }
        let eager = request.request_eager_execution.then(|| Taker {
            identity: request.identity.clone(),
            request_id: request.request_id.clone(),
            ..self.taker()
        });
        let (name, workflow_id) = (namespace.name.clone(), request.workflow_id.clone());
        let wanted = Wanted { cadence: terms, ..Self::wanted(&namespace, request)? };
        let done = self.start(namespace, wanted, policy, None, eager).await?;
        let link = link(name, workflow_id, &done);
        let task = done.task.and_then(Gift::take).map(|gift| *gift.response);
        Ok(StartWorkflowExecutionResponse {
            run_id: done.run_id,
            first_execution_run_id: done.first_run_id,
            started: done.started,
            status: done.status,
            eager_workflow_task: task,
            link: Some(link),
        })
    }

    /// Signals a workflow, and starts it first if it does not run.
    pub async fn signal_with_start_workflow_execution(
        &self,
        request: SignalWithStartWorkflowExecutionRequest,
    ) -> Result<SignalWithStartWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let bytes_max = namespace.limits.id_bytes_max;
        if request.signal_name.is_empty() {
            return Err(Error::invalid("SignalName is not set on request."));
        }
        check_length("SignalName", &request.signal_name, bytes_max)?;
        check_blob(&namespace, request.signal_input.as_ref())?;
        let policy = StartPolicy::of_signal(
            request.workflow_id_reuse_policy(),
            request.workflow_id_conflict_policy(),
        )?;
        let (mut start, signal) = split(request);
        if start.request_id.is_empty() {
            start.request_id = self.shared().ids.id();
        }
        let wanted = Self::wanted(&namespace, start)?;
        let done = self.start(namespace, wanted, policy, Some(signal), None).await?;
        Ok(SignalWithStartWorkflowExecutionResponse {
            run_id: done.run_id,
            first_execution_run_id: done.first_run_id,
            started: done.created,
            signal_link: None,
        })
    }

    async fn start(
        &self,
        namespace: Arc<Namespace>,
        wanted: Wanted,
        policy: StartPolicy,
        signal: Option<Signal>,
        eager: Option<Taker>,
    ) -> Result<Done, Error> {
        let (slot, reply) = oneshot::channel();
        let address = Address::of(&namespace.id, &wanted.started.workflow_id, "");
        let starter = Starter { namespace, wanted, policy, signal, eager };
        self.post(StartJob { address, starter, slot });
        self.answer(reply).await
    }

    /// Checks a request and says what it wants.
    pub(super) fn wanted(
        namespace: &Namespace,
        request: StartWorkflowExecutionRequest,
    ) -> Result<Wanted, Error> {
        check(namespace, &request)?;
        let retry_policy = match &request.retry_policy {
            None => None,
            Some(given) => {
                Some(policy::checked(given).map_err(|fault| Error::invalid(fault.to_string()))?)
            }
        };
        let delay = checked_span("WorkflowStartDelay", request.workflow_start_delay.as_ref())?;
        let started = Started {
            workflow_type: request.workflow_type,
            task_queue: request.task_queue,
            input: request.input,
            workflow_execution_timeout: request.workflow_execution_timeout,
            workflow_run_timeout: request.workflow_run_timeout,
            workflow_task_timeout: request.workflow_task_timeout,
            continued_failure: request.continued_failure,
            last_completion_result: request.last_completion_result,
            identity: request.identity,
            retry_policy,
            cron_schedule: request.cron_schedule,
            memo: request.memo,
            search_attributes: typed(namespace, request.search_attributes),
            header: request.header,
            workflow_id: request.workflow_id,
            completion_callbacks: request.completion_callbacks,
            versioning_override: request.versioning_override,
            priority: request.priority,
            ..Started::default()
        };
        Ok(Wanted {
            started,
            delay,
            user_metadata: request.user_metadata,
            links: request.links,
            request_id: request.request_id,
            on_conflict: request.on_conflict_options.unwrap_or_default(),
            cadence: None,
        })
    }
}

/// Where a start is found in the history of its workflow.
fn link(namespace: String, workflow_id: String, done: &Done) -> common::Link {
    let reference = match &done.attached {
        None => Reference::EventRef(EventReference {
            event_id: 1,
            event_type: EventType::WorkflowExecutionStarted.into(),
        }),
        Some(request_id) => Reference::RequestIdRef(RequestIdReference {
            request_id: request_id.clone(),
            event_type: EventType::WorkflowExecutionOptionsUpdated.into(),
        }),
    };
    let run_id = done.run_id.clone();
    let event = WorkflowEvent { namespace, workflow_id, run_id, reference: Some(reference) };
    common::Link { variant: Some(Variant::WorkflowEvent(event)) }
}

/// Search attributes as their reader finds them in the history: with the types that they have here.
fn typed(
    namespace: &Namespace,
    attributes: Option<common::SearchAttributes>,
) -> Option<common::SearchAttributes> {
    let schema = || Schema::new(namespace.search_attributes());
    attributes.map(|given| visibility::with_types(given, &schema()))
}

/// A checked start.
pub(super) struct Wanted {
    started: Started,
    delay: std::time::Duration,
    user_metadata: Option<steadfast_proto::sdk::UserMetadata>,
    links: Vec<common::Link>,
    pub(super) request_id: String,
    /// What a run that is there already is to remember of it.
    on_conflict: OnConflictOptions,
    /// Set if it is meant in Cadence's terms.
    pub(super) cadence: Option<CadenceTerms>,
}

/// What came of a start.
pub(super) struct Done {
    pub(super) number: RunNumber,
    pub(super) run_id: String,
    pub(super) first_run_id: String,
    /// Whether this request made the run, now or before.
    pub(super) started: bool,
    /// Whether it made it now.
    pub(super) created: bool,
    /// The request by which a run that was there already remembers it.
    attached: Option<String>,
    pub(super) status: i32,
    task: Option<Gift<TaskGift>>,
}

/// A start that is allowed to look at what is there.
pub(super) struct Starter {
    pub(super) namespace: Arc<Namespace>,
    pub(super) wanted: Wanted,
    pub(super) policy: StartPolicy,
    pub(super) signal: Option<Signal>,
    pub(super) eager: Option<Taker>,
}

struct StartJob {
    address: Address,
    starter: Starter,
    slot: oneshot::Sender<Result<Done, Error>>,
}

impl Job for StartJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn creates(&self) -> bool {
        true
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let outcome = self.starter.start(desk, found);
        let slot = self.slot;
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

impl Starter {
    /// Does what the policies say about a workflow id and the newest run that has it.
    pub(super) fn start(
        &mut self,
        desk: &mut Desk<'_>,
        found: Option<RunNumber>,
    ) -> Result<Done, Error> {
        let current = found.and_then(|number| desk.run(number));
        match start::plan(current, self.policy, &self.wanted.request_id) {
            Plan::Refuse(error) => Err(*error),
            Plan::Existing { by_this_request, run_id } => {
                let number = found.unwrap_or_default();
                if let (Some(signal), false) = (self.signal.take(), by_this_request) {
                    desk.apply(number, Input::Signal(Signal { wakes: true, ..signal }))?;
                }
                let attached = if by_this_request { None } else { self.attach(desk, number)? };
                let done = done(desk, number, by_this_request)?;
                Ok(Done { run_id, attached, ..done })
            }
            Plan::Replace => {
                let now = desk.now();
                let run_id = desk.shared().ids.entropy().run_id(now);
                let number = found.unwrap_or_default();
                desk.apply(number, Input::Terminate(start::termination(&run_id)))?;
                self.create(desk, run_id)
            }
            Plan::Create => {
                let now = desk.now();
                let run_id = desk.shared().ids.entropy().run_id(now);
                self.create(desk, run_id)
            }
        }
    }

    /// Has a run that is there already remember this start, if it is to be; the request by which.
    fn attach(&self, desk: &mut Desk<'_>, number: RunNumber) -> Result<Option<String>, Error> {
        let Wanted { on_conflict, started, links, request_id, .. } = &self.wanted;
        if !on_conflict.attach_request_id {
            return Ok(None);
        }
        let callbacks = Some(&started.completion_callbacks);
        let callbacks = callbacks.filter(|_| on_conflict.attach_completion_callbacks);
        let input = Attach {
            request_id: request_id.clone(),
            callbacks: callbacks.cloned().unwrap_or_default(),
            links: Some(links).filter(|_| on_conflict.attach_links).cloned().unwrap_or_default(),
            identity: started.identity.clone(),
        };
        desk.apply(number, Input::Attach(Box::new(input)))?;
        Ok(Some(request_id.clone()))
    }

    fn create(&mut self, desk: &mut Desk<'_>, run_id: String) -> Result<Done, Error> {
        let now = desk.now();
        let limits = &self.namespace.limits;
        let started = std::mem::take(&mut self.wanted.started);
        let mut started = start::resolved(started, &run_id, self.wanted.delay, now, limits);
        let backoff = span::from_wire(started.first_workflow_task_backoff.as_ref());
        let eager = self.eager.take().filter(|_| backoff.is_zero());
        started.eager_execution_accepted = eager.is_some();
        let start = Start {
            identity: Identity {
                namespace_id: self.namespace.id.clone(),
                namespace: self.namespace.name.clone(),
                workflow_id: started.workflow_id.clone(),
                run_id,
            },
            started,
            user_metadata: self.wanted.user_metadata.take(),
            links: std::mem::take(&mut self.wanted.links),
            request_id: std::mem::take(&mut self.wanted.request_id),
            signal: self.signal.take(),
            cadence: self.wanted.cadence,
            scheduled_by: None,
        };
        let mut wishes = Wishes { task_for: eager, ..Wishes::default() };
        let number = desk.create(&self.namespace, start, &mut wishes);
        Ok(Done { created: true, task: wishes.task, ..done(desk, number, true)? })
    }
}

/// What there is to say of a run that was there before.
pub(super) fn done(desk: &Desk<'_>, number: RunNumber, started: bool) -> Result<Done, Error> {
    let run = desk.run(number).ok_or_else(|| super::not_found(&Address::Number(number)))?;
    Ok(Done {
        number,
        run_id: run.identity().run_id.clone(),
        first_run_id: run.first_run_id().to_owned(),
        started,
        created: false,
        attached: None,
        status: run.state().status,
        task: None,
    })
}

fn split(
    request: SignalWithStartWorkflowExecutionRequest,
) -> (StartWorkflowExecutionRequest, Signal) {
    let signal = Signal {
        name: request.signal_name,
        input: request.signal_input,
        identity: request.identity.clone(),
        header: request.header.clone(),
        request_id: request.request_id.clone(),
        links: request.links.clone(),
        ..Signal::default()
    };
    let start = StartWorkflowExecutionRequest {
        namespace: request.namespace,
        workflow_id: request.workflow_id,
        workflow_type: request.workflow_type,
        task_queue: request.task_queue,
        input: request.input,
        workflow_execution_timeout: request.workflow_execution_timeout,
        workflow_run_timeout: request.workflow_run_timeout,
        workflow_task_timeout: request.workflow_task_timeout,
        identity: request.identity,
        request_id: request.request_id,
        retry_policy: request.retry_policy,
        cron_schedule: request.cron_schedule,
        memo: request.memo,
        search_attributes: request.search_attributes,
        header: request.header,
        workflow_start_delay: request.workflow_start_delay,
        user_metadata: request.user_metadata,
        links: request.links,
        versioning_override: request.versioning_override,
        priority: request.priority,
        ..StartWorkflowExecutionRequest::default()
    };
    (start, signal)
}

/// Whether a request is one that can be carried out.
pub(super) fn check_start(
    namespace: &Namespace,
    request: &StartWorkflowExecutionRequest,
) -> Result<(), Error> {
    check(namespace, request)?;
    match &request.retry_policy {
        None => Ok(()),
        Some(given) => {
            policy::checked(given).map(drop).map_err(|fault| Error::invalid(fault.to_string()))
        }
    }
}

/// What is attached is told from what was by its request.
fn check_on_conflict(request: &StartWorkflowExecutionRequest) -> Result<(), Error> {
    let options = request.on_conflict_options.unwrap_or_default();
    if options.attach_completion_callbacks && !options.attach_request_id {
        return Err(Error::invalid(
            "on_conflict_options: attach_completion_callbacks needs attach_request_id too",
        ));
    }
    Ok(())
}

fn check(namespace: &Namespace, request: &StartWorkflowExecutionRequest) -> Result<(), Error> {
    let limits = &namespace.limits;
    let named = |field: &str, name: &str| {
        if name.is_empty() {
            return Err(Error::invalid(format!("{field} is not set on request.")));
        }
        check_length(field, name, limits.id_bytes_max)
    };
    named("WorkflowId", &request.workflow_id)?;
    named("WorkflowType", request.workflow_type.as_ref().map_or("", |kind| &kind.name))?;
    let queue =
        request.task_queue.as_ref().ok_or_else(|| Error::invalid("taskQueue is not set"))?;
    if queue.name.is_empty() {
        return Err(Error::invalid("missing task queue name"));
    }
    check_length("taskQueue", &queue.name, limits.id_bytes_max)?;
    check_length("RequestId", &request.request_id, limits.id_bytes_max)?;
    checked_span("WorkflowExecutionTimeout", request.workflow_execution_timeout.as_ref())?;
    checked_span("WorkflowRunTimeout", request.workflow_run_timeout.as_ref())?;
    checked_span("WorkflowTaskTimeout", request.workflow_task_timeout.as_ref())?;
    check_cron(request)?;
    check_on_conflict(request)?;
    check_blob(namespace, request.input.as_ref())?;
    if request.memo.as_ref().map_or(0, prost::Message::encoded_len) > limits.memo_bytes_max {
        return Err(Error::invalid("Blob data size exceeds limit."));
    }
    if let Some(attributes) = &request.search_attributes {
        visibility::search_values(attributes, &Schema::new(namespace.search_attributes()))?;
    }
    if enums::WorkflowIdReusePolicy::try_from(request.workflow_id_reuse_policy).is_err() {
        return Err(Error::invalid("workflow_id_reuse_policy is not a known policy"));
    }
    Ok(())
}

fn check_cron(request: &StartWorkflowExecutionRequest) -> Result<(), Error> {
    if request.cron_schedule.is_empty() {
        return Ok(());
    }
    if request.workflow_start_delay.is_some() {
        return Err(Error::invalid(
            "CronSchedule and WorkflowStartDelay may not be used together.",
        ));
    }
    cron::parse(&request.cron_schedule)
        .map(drop)
        .map_err(|fault| Error::invalid(format!("Invalid CronSchedule. {fault}")))
}

pub(super) fn check_blob(
    namespace: &Namespace,
    payloads: Option<&common::Payloads>,
) -> Result<(), Error> {
    if payloads.map_or(0, common::Payloads::encoded_len) > namespace.limits.blob_bytes_max {
        return Err(Error::invalid("Blob data size exceeds limit."));
    }
    Ok(())
}

fn checked_span(
    field: &str,
    wire: Option<&steadfast_proto::prost_types::Duration>,
) -> Result<std::time::Duration, Error> {
    span::checked(wire).map_err(|fault| Error::invalid(format!("Invalid {field}: {fault}")))
}
