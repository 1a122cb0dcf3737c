//! Schedules: made, looked at, changed, listed.

use steadfast_core::{
    Timestamp,
    schedule::{Input, Refused, Schedule, ScheduleState},
    span,
};
use steadfast_proto::{
    common,
    errordetails::WorkflowExecutionAlreadyStartedFailure,
    workflow::NewWorkflowExecutionInfo,
    workflowservice::{
        CountSchedulesRequest, CountSchedulesResponse, CreateScheduleRequest,
        CreateScheduleResponse, DeleteScheduleRequest, DeleteScheduleResponse,
        DescribeScheduleRequest, DescribeScheduleResponse, ListScheduleMatchingTimesRequest,
        ListScheduleMatchingTimesResponse, ListSchedulesRequest, ListSchedulesResponse,
        PatchScheduleRequest, PatchScheduleResponse, StartWorkflowExecutionRequest,
        UpdateScheduleRequest, UpdateScheduleResponse,
    },
};
use steadfast_store::{Filter, RunNumber};
use tokio::sync::oneshot;

use super::{Engine, check_length, listing, start};
use crate::{
    error::{Code, Detail, Error},
    namespaces::Namespace,
    schedules::{self, Name},
    shard::{Address, Desk, Job, ScheduleEntry, schedule_address},
    visibility::{self, Schema},
};

impl Engine {
    /// Makes a schedule.
    pub async fn create_schedule(
        &self,
        request: CreateScheduleRequest,
    ) -> Result<CreateScheduleResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        check_id(&namespace, &request.schedule_id)?;
        check_length("RequestId", &request.request_id, namespace.limits.id_bytes_max)?;
        check_memo(&namespace, request.memo.as_ref())?;
        check_attributes(&namespace, request.search_attributes.as_ref())?;
        if let Some(patch) = &request.initial_patch {
            schedules::checked_patch(patch)?;
        }
        let schedule =
            schedules::checked(request.schedule, |action| check_action(&namespace, action))?;
        let name = Name {
            namespace_id: namespace.id.clone(),
            schedule_id: request.schedule_id,
            incarnation: self.shared().ids.entropy().run_id(self.now()),
        };
        let state = ScheduleState {
            schedule: Some(schedule),
            memo: request.memo,
            search_attributes: request.search_attributes,
            create_request_id: request.request_id,
            incarnation: name.incarnation.clone(),
            ..ScheduleState::default()
        };
        let address = schedule_address(&name.namespace_id, &name.schedule_id);
        let (slot, reply) = oneshot::channel();
        let patch = request.initial_patch;
        self.post(CreateJob { address, name, state, patch, slot });
        Ok(CreateScheduleResponse { conflict_token: self.answer(reply).await? })
    }

    /// Shows a schedule. One that has just decided to start something is shown when it has.
    pub async fn describe_schedule(
        &self,
        request: DescribeScheduleRequest,
    ) -> Result<DescribeScheduleResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let schema = Schema::new(namespace.search_attributes());
        let look =
            move |entry: &ScheduleEntry, now| schedules::describe(&entry.schedule, &schema, now);
        self.look_at_schedule(&namespace, &request.schedule_id, look).await
    }

    /// Replaces a schedule.
    pub async fn update_schedule(
        &self,
        request: UpdateScheduleRequest,
    ) -> Result<UpdateScheduleResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        check_length("RequestId", &request.request_id, namespace.limits.id_bytes_max)?;
        check_memo(&namespace, request.memo.as_ref())?;
        check_attributes(&namespace, request.search_attributes.as_ref())?;
        let schedule =
            schedules::checked(request.schedule, |action| check_action(&namespace, action))?;
        let input = Input::Update {
            schedule: Box::new(schedule),
            search_attributes: request.search_attributes,
            memo: request.memo,
            conflict_token: request.conflict_token,
            request_id: request.request_id,
        };
        self.change_schedule(&namespace, &request.schedule_id, Change::Input(input)).await?;
        Ok(UpdateScheduleResponse {})
    }

    /// Triggers, fills in, pauses or unpauses a schedule.
    pub async fn patch_schedule(
        &self,
        request: PatchScheduleRequest,
    ) -> Result<PatchScheduleResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        check_length("RequestId", &request.request_id, namespace.limits.id_bytes_max)?;
        let patch = request.patch.ok_or_else(|| Error::invalid("Patch is not set on request."))?;
        schedules::checked_patch(&patch)?;
        let input = Input::Patch { patch, request_id: request.request_id };
        self.change_schedule(&namespace, &request.schedule_id, Change::Input(input)).await?;
        Ok(PatchScheduleResponse {})
    }

    /// Deletes a schedule. What it started goes on.
    pub async fn delete_schedule(
        &self,
        request: DeleteScheduleRequest,
    ) -> Result<DeleteScheduleResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        self.change_schedule(&namespace, &request.schedule_id, Change::Delete).await?;
        Ok(DeleteScheduleResponse {})
    }

    /// The times of a schedule between two instants, both included.
    pub async fn list_schedule_matching_times(
        &self,
        request: ListScheduleMatchingTimesRequest,
    ) -> Result<ListScheduleMatchingTimesResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let (Some(start), Some(end)) = (&request.start_time, &request.end_time) else {
            return Err(Error::invalid("StartTime and EndTime must be set on request."));
        };
        let after = Timestamp(span::instant_from_wire(start).nanos().saturating_sub(1));
        let end = span::instant_from_wire(end);
        let look = move |entry: &ScheduleEntry, _| {
            let turns = entry.schedule.times().between(after, end);
            turns.take(MATCHING_MAX).map(|turn| span::instant_to_wire(turn.due)).collect()
        };
        let start_time = self.look_at_schedule(&namespace, &request.schedule_id, look).await?;
        Ok(ListScheduleMatchingTimesResponse { start_time })
    }

    /// Lists schedules that match a query.
    pub async fn list_schedules(
        &self,
        request: ListSchedulesRequest,
    ) -> Result<ListSchedulesResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let schema = Schema::of_schedules(namespace.search_attributes());
        let filter = visibility::parse_list(&request.query, &schema)?;
        let after = listing::position(&request.next_page_token)?;
        let limit = self.page_size(request.maximum_page_size);
        let space = schedules::space(&namespace.id);
        let found = self.store().list(space, filter, after, limit).await?;
        let now = self.now();
        let entries: Result<Vec<_>, Error> =
            found.rows.iter().map(|(_, row)| schedules::entry(row, &schema, now)).collect();
        Ok(ListSchedulesResponse {
            schedules: entries?,
            next_page_token: listing::page_token(found.next),
        })
    }

    /// Counts schedules that match a query.
    pub async fn count_schedules(
        &self,
        request: CountSchedulesRequest,
    ) -> Result<CountSchedulesResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let schema = Schema::of_schedules(namespace.search_attributes());
        let filter = visibility::parse_list(&request.query, &schema)?;
        let space = schedules::space(&namespace.id);
        let counted = self.store().count(space, filter, None).await?;
        let count = visibility::count_response(&counted, false).count;
        Ok(CountSchedulesResponse { count, groups: Vec::new() })
    }

    /// Deletes some schedules of a namespace. Whether there were any.
    pub(super) async fn delete_schedules(
        &self,
        namespace_id: &str,
        count_max: usize,
    ) -> Result<bool, Error> {
        let space = schedules::space(namespace_id);
        let found = self.store().list(space, Filter::All, None, count_max).await?;
        for (_, row) in &found.rows {
            let address = schedule_address(namespace_id, &row.identity.workflow_id);
            let (slot, reply) = oneshot::channel();
            self.post(ChangeJob { address, change: Change::Delete, slot });
            match self.answer(reply).await {
                Err(error) if error.code != Code::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(!found.rows.is_empty())
    }

    async fn look_at_schedule<T: Send + 'static>(
        &self,
        namespace: &Namespace,
        schedule_id: &str,
        look: impl FnOnce(&ScheduleEntry, Timestamp) -> T + Send + 'static,
    ) -> Result<T, Error> {
        check_id(namespace, schedule_id)?;
        let address = schedule_address(&namespace.id, schedule_id);
        let (slot, reply) = oneshot::channel();
        self.post(LookJob { address, look, slot });
        self.answer(reply).await
    }

    async fn change_schedule(
        &self,
        namespace: &Namespace,
        schedule_id: &str,
        change: Change,
    ) -> Result<(), Error> {
        check_id(namespace, schedule_id)?;
        let address = schedule_address(&namespace.id, schedule_id);
        let (slot, reply) = oneshot::channel();
        self.post(ChangeJob { address, change, slot });
        self.answer(reply).await
    }
}

struct CreateJob {
    address: Address,
    name: Name,
    state: ScheduleState,
    patch: Option<steadfast_proto::schedule::SchedulePatch>,
    slot: oneshot::Sender<Result<Vec<u8>, Error>>,
}

impl CreateJob {
    /// The conflict token of the schedule, be it new or made before.
    fn create(&mut self, desk: &mut Desk<'_>, found: Option<RunNumber>) -> Result<Vec<u8>, Error> {
        let request_id = &self.state.create_request_id;
        if let Some(entry) = found.and_then(|number| desk.schedule(number)) {
            let made_by = &entry.schedule.state().create_request_id;
            if !request_id.is_empty() && made_by == request_id {
                return Ok(entry.schedule.conflict_token());
            }
            return Err(taken(entry));
        }
        let state = std::mem::take(&mut self.state);
        let now = desk.now();
        let schedule = Schedule::create(state, &self.name.schedule_id, self.patch.take(), now)
            .map_err(|fault| Error::invalid(fault.to_string()))?;
        let token = schedule.conflict_token();
        desk.create_schedule(self.name.clone(), schedule);
        Ok(token)
    }
}

impl Job for CreateJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn creates(&self) -> bool {
        true
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let outcome = self.create(desk, found);
        let slot = self.slot;
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

struct LookJob<T, L> {
    address: Address,
    look: L,
    slot: oneshot::Sender<Result<T, Error>>,
}

impl<T: Send + 'static, L: FnOnce(&ScheduleEntry, Timestamp) -> T + Send + 'static> Job
    for LookJob<T, L>
{
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let now = desk.now();
        let number = found.unwrap_or_default();
        let outcome = match desk.schedule(number) {
            // Whoever has just triggered it wants to see what came of that.
            Some(entry) if entry.schedule.is_starting() => {
                return desk.wait_for_starts(number, self);
            }
            Some(entry) => Ok((self.look)(entry, now)),
            None => Err(unknown(&self.address)),
        };
        let slot = self.slot;
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

enum Change {
    Input(Input),
    Delete,
}

struct ChangeJob {
    address: Address,
    change: Change,
    slot: oneshot::Sender<Result<(), Error>>,
}

impl Job for ChangeJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let found = found.filter(|number| desk.schedule(*number).is_some());
        let outcome = match (found, self.change) {
            (None, _) => Err(unknown(&self.address)),
            (Some(number), Change::Input(input)) => {
                desk.apply_schedule(number, input).map_err(|why| refused(&why))
            }
            (Some(number), Change::Delete) => {
                desk.delete_schedule(number);
                Ok(())
            }
        };
        let slot = self.slot;
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

/// The workflow that a schedule starts must be one that anybody could start.
fn check_action(namespace: &Namespace, action: &NewWorkflowExecutionInfo) -> Result<(), Error> {
    let request = StartWorkflowExecutionRequest {
        workflow_id: action.workflow_id.clone(),
        workflow_type: action.workflow_type.clone(),
        task_queue: action.task_queue.clone(),
        input: action.input.clone(),
        workflow_execution_timeout: action.workflow_execution_timeout,
        workflow_run_timeout: action.workflow_run_timeout,
        workflow_task_timeout: action.workflow_task_timeout,
        retry_policy: action.retry_policy.clone(),
        memo: action.memo.clone(),
        search_attributes: action.search_attributes.clone(),
        ..StartWorkflowExecutionRequest::default()
    };
    start::check_start(namespace, &request)?;
    // The nominal time is added to it.
    let bytes_max = namespace.limits.id_bytes_max.saturating_sub(SUFFIX_BYTES);
    check_length("WorkflowId", &action.workflow_id, bytes_max)
}

fn check_id(namespace: &Namespace, schedule_id: &str) -> Result<(), Error> {
    if schedule_id.is_empty() {
        return Err(Error::invalid("ScheduleId is not set on request."));
    }
    check_length("ScheduleId", schedule_id, namespace.limits.id_bytes_max)
}

fn check_memo(namespace: &Namespace, memo: Option<&common::Memo>) -> Result<(), Error> {
    if memo.map_or(0, prost::Message::encoded_len) > namespace.limits.memo_bytes_max {
        return Err(Error::invalid("Blob data size exceeds limit."));
    }
    Ok(())
}

fn check_attributes(
    namespace: &Namespace,
    attributes: Option<&common::SearchAttributes>,
) -> Result<(), Error> {
    let Some(attributes) = attributes else { return Ok(()) };
    visibility::search_values(attributes, &Schema::new(namespace.search_attributes())).map(drop)
}

fn refused(why: &Refused) -> Error {
    match why {
        Refused::Conflict => Error::new(Code::FailedPrecondition, why.to_string()),
        Refused::Invalid(_) | _ => Error::invalid(why.to_string()),
    }
}

fn unknown(address: &Address) -> Error {
    match address {
        Address::Current { workflow_id, .. } | Address::Run { workflow_id, .. } => {
            Error::not_found(format!("schedule {workflow_id:?} is not found"))
        }
        Address::Number(_) => Error::not_found("schedule is not found"),
    }
}

fn taken(entry: &ScheduleEntry) -> Error {
    let detail = WorkflowExecutionAlreadyStartedFailure {
        start_request_id: entry.schedule.state().create_request_id.clone(),
        run_id: entry.name.incarnation.clone(),
        first_execution_run_id: entry.name.incarnation.clone(),
    };
    let message = format!("schedule {:?} is already registered", entry.name.schedule_id);
    Error::new(Code::AlreadyExists, message).with(Detail::AlreadyStarted(detail))
}

/// Times that are listed at once.
const MATCHING_MAX: usize = 1_000;
/// A dash and `2024-01-02T03:04:05Z`.
const SUFFIX_BYTES: usize = 21;
