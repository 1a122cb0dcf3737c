//! Runs workflow programs: polls, looks at the history, answers; with a cache, like a real one.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use steadfast_engine::Code;
use steadfast_proto::{
    command::{Command, ProtocolMessageCommandAttributes},
    enums,
    history::{HistoryEvent, history_event::Attributes},
    prost::Message as _,
    prost_types::Any,
    protocol::Message,
    query::WorkflowQueryResult,
    taskqueue::{StickyExecutionAttributes, TaskQueue},
    update::{Acceptance, Meta, Outcome, Rejection, Request, Response, outcome::Value},
    workflowservice as ws,
};

use super::{
    activity_worker,
    home::{Family, Home},
};
use crate::{
    chance::Chance,
    host::Trouble,
    program::{View, decide},
    wire,
    world::World,
};

/// How a task is treated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Manner {
    Good,
    /// It is never answered.
    Vanish,
    /// It is answered when its time is over.
    Late,
    /// It is reported as failed.
    Fail,
    /// It is answered twice.
    Twice,
}

/// Works for ever.
pub(super) async fn run(world: Arc<World>, number: u64) {
    let who = format!("flow-{number}");
    let chance = world.chance.child(&who);
    let family = Family::of(&world, &who);
    let (home, cache) = (Home::Elsewhere(Duration::ZERO), BTreeMap::new());
    let mut worker =
        Worker { world: Arc::clone(&world), who, home, chance, lives: 0, tasks: 0, cache };
    loop {
        let Some(home) = family.home(&world) else {
            world.wait(Duration::from_millis(50)).await;
            continue;
        };
        if worker.home != home {
            worker.home = home;
            worker.is_born_again();
        }
        // If it dies, another one is born.
        home.live(&world, Box::pin(worker.turn())).await;
    }
}

struct Worker {
    world: Arc<World>,
    who: String,
    home: Home,
    chance: Chance,
    /// How often it was born again: its sticky queue has a new name then.
    lives: u64,
    tasks: u64,
    /// Histories of runs that it has seen, by run id.
    cache: BTreeMap<String, Vec<HistoryEvent>>,
}

impl Worker {
    async fn turn(&mut self) {
        let misbehaves = !self.world.faults.are_over();
        let hasty = misbehaves && self.chance.percent(8);
        let patience =
            if hasty { self.chance.millis(0, 200) } else { self.chance.millis(500, 4_000) };
        let sticky = self.chance.percent(50);
        let request = ws::PollWorkflowTaskQueueRequest {
            namespace: wire::NAMESPACE.to_owned(),
            task_queue: Some(if sticky { self.sticky_queue() } else { wire::queue(wire::QUEUE) }),
            identity: self.who.clone(),
            ..ws::PollWorkflowTaskQueueRequest::default()
        };
        let home = self.home;
        let poll = self.world.hurry(patience, |engine| async move {
            home.door(&engine).poll_workflow_task_queue(request).await
        });
        match poll.await {
            Ok(task) if !task.task_token.is_empty() => self.take(task).await,
            Ok(_) | Err(Trouble::Lost) => {}
            Err(_) => self.world.wait(Duration::from_millis(50)).await,
        }
        if misbehaves && self.chance.percent(2) {
            self.is_born_again();
        }
    }

    /// It has forgotten everything.
    fn is_born_again(&mut self) {
        self.world.note(&self.who, "born again");
        self.lives += 1;
        self.cache.clear();
    }

    /// Does a task, and those that come back with its answer.
    async fn take(&mut self, task: ws::PollWorkflowTaskQueueResponse) {
        let mut next = Some(task);
        while let Some(task) = next.take() {
            let Some(events) = self.history(&task).await else { return };
            if task.query.is_some() {
                self.answer_query(&task, &events).await;
                return;
            }
            next = self.answer(task, events).await;
        }
    }

    async fn answer(
        &mut self,
        task: ws::PollWorkflowTaskQueueResponse,
        mut events: Vec<HistoryEvent>,
    ) -> Option<ws::PollWorkflowTaskQueueResponse> {
        let execution = task.workflow_execution.clone().unwrap_or_default();
        let manner = self.manner();
        match manner {
            Manner::Vanish => return None,
            Manner::Fail => {
                self.cache.remove(&execution.run_id);
                self.fail(&task).await;
                return None;
            }
            Manner::Late => self.world.wait(self.chance.millis(1_000, 14_000)).await,
            Manner::Good | Manner::Twice => self.world.wait(self.chance.millis(0, 20)).await,
        }
        let request = self.completion(&task, &events, &execution.workflow_id);
        let home = self.home;
        let say = |request: ws::RespondWorkflowTaskCompletedRequest| {
            self.world.insist(5, move |engine| {
                let request = request.clone();
                async move { home.door(&engine).respond_workflow_task_completed(request).await }
            })
        };
        let answer = say(request.clone()).await;
        self.world.note(
            &self.who,
            &format!(
                "{} task {} with {} commands: {}",
                execution.workflow_id,
                task.started_event_id,
                request.commands.len(),
                answer.as_ref().map_or_else(ToString::to_string, |it| {
                    match it.reset_history_event_id {
                        0 => "ok".to_owned(),
                        last => format!("forgotten, back to {last}"),
                    }
                })
            ),
        );
        if manner == Manner::Twice && say(request).await.is_ok() && answer.is_ok() {
            self.world.ledger.fault(&execution.workflow_id, "a workflow task was answered twice");
        }
        match answer {
            Ok(answer) => {
                self.check_history(&execution.workflow_id, task.started_event_id, &events);
                // The task was for nothing: it is as if it had never been.
                let back_to = answer.reset_history_event_id;
                events.retain(|event| back_to == 0 || event.event_id <= back_to);
                self.cache.insert(execution.run_id, events);
                for activity in answer.activity_tasks {
                    let chance = self.chance.child(&format!("eager {}", self.tasks));
                    self.tasks += 1;
                    activity_worker::take(&self.world, &self.who, home, activity, chance);
                }
                answer.workflow_task
            }
            Err(trouble) => {
                self.cache.remove(&execution.run_id);
                self.check_refusal(&execution.workflow_id, &trouble);
                None
            }
        }
    }

    fn completion(
        &mut self,
        task: &ws::PollWorkflowTaskQueueResponse,
        events: &[HistoryEvent],
        workflow_id: &str,
    ) -> ws::RespondWorkflowTaskCompletedRequest {
        let decision = decide(workflow_id, &View::of(events));
        let mut commands = Vec::new();
        let mut messages = Vec::new();
        let reapplied = reapplied(events, task.previous_started_event_id);
        for message in reapplied.iter().chain(&task.messages) {
            for said in update_messages(message) {
                // Most SDKs give a refusal no place.
                if !is_refusal(&said) || self.chance.percent(30) {
                    commands.push(protocol_command(&said.id));
                }
                messages.push(said);
            }
        }
        commands.extend(decision.commands);
        let sticky = self.chance.percent(60).then(|| StickyExecutionAttributes {
            worker_task_queue: Some(self.sticky_queue()),
            schedule_to_start_timeout: wire::millis(5_000),
        });
        let answered = |id: &String| (id.clone(), query_result(events));
        ws::RespondWorkflowTaskCompletedRequest {
            task_token: task.task_token.clone(),
            commands,
            messages,
            identity: self.who.clone(),
            namespace: wire::NAMESPACE.to_owned(),
            sticky_attributes: sticky,
            return_new_workflow_task: self.chance.percent(50),
            query_results: task.queries.keys().map(answered).collect(),
            capabilities: Some(ws::respond_workflow_task_completed_request::Capabilities {
                discard_speculative_workflow_task_with_events: self.chance.percent(70),
            }),
            ..ws::RespondWorkflowTaskCompletedRequest::default()
        }
    }

    async fn fail(&self, task: &ws::PollWorkflowTaskQueueResponse) {
        let request = ws::RespondWorkflowTaskFailedRequest {
            task_token: task.task_token.clone(),
            cause: enums::WorkflowTaskFailedCause::WorkflowWorkerUnhandledFailure.into(),
            failure: Some(wire::failure("the worker is in a bad mood", false)),
            identity: self.who.clone(),
            namespace: wire::NAMESPACE.to_owned(),
            ..ws::RespondWorkflowTaskFailedRequest::default()
        };
        let say = self.world.insist(3, |engine| {
            let request = request.clone();
            async move { engine.respond_workflow_task_failed(request).await }
        });
        // It may be too late for it.
        drop(say.await);
    }

    async fn answer_query(
        &self,
        task: &ws::PollWorkflowTaskQueueResponse,
        events: &[HistoryEvent],
    ) {
        let request = ws::RespondQueryTaskCompletedRequest {
            task_token: task.task_token.clone(),
            completed_type: enums::QueryResultType::Answered.into(),
            query_result: query_result(events).answer,
            namespace: wire::NAMESPACE.to_owned(),
            ..ws::RespondQueryTaskCompletedRequest::default()
        };
        let say = self
            .world
            .host
            .call(|engine| async move { engine.respond_query_task_completed(request).await });
        // Whoever asked may be gone.
        drop(say.await);
    }

    /// The whole history that a task is about, from the task, the cache and further pages.
    async fn history(&self, task: &ws::PollWorkflowTaskQueueResponse) -> Option<Vec<HistoryEvent>> {
        let execution = task.workflow_execution.clone().unwrap_or_default();
        let mut given = task.history.clone().unwrap_or_default().events;
        let mut token = task.next_page_token.clone();
        while !token.is_empty() {
            let page = self.page(&execution.workflow_id, &execution.run_id, token).await?;
            given.extend(page.history.unwrap_or_default().events);
            token = page.next_page_token;
        }
        let first = given.first().map_or(1, |event| event.event_id);
        let known = self.cache.get(&execution.run_id);
        let mut events = match known {
            _ if first == 1 && !given.is_empty() => Vec::new(),
            Some(known) if reaches(known, first - 1) => known.clone(),
            // The run is not in the cache any more: its history is read from the start.
            _ => {
                let mut events = self.whole(&execution.workflow_id, &execution.run_id).await?;
                if task.query.is_none() {
                    events.retain(|event| event.event_id < first);
                }
                events
            }
        };
        if !given.is_empty() {
            events.retain(|event| event.event_id < first);
        }
        events.extend(given);
        Some(events)
    }

    async fn whole(&self, workflow_id: &str, run_id: &str) -> Option<Vec<HistoryEvent>> {
        let mut events = Vec::new();
        let mut token = Vec::new();
        loop {
            let page = self.page(workflow_id, run_id, token).await?;
            events.extend(page.history.unwrap_or_default().events);
            token = page.next_page_token;
            if token.is_empty() {
                return Some(events);
            }
        }
    }

    async fn page(
        &self,
        workflow_id: &str,
        run_id: &str,
        token: Vec<u8>,
    ) -> Option<ws::GetWorkflowExecutionHistoryResponse> {
        let request = ws::GetWorkflowExecutionHistoryRequest {
            namespace: wire::NAMESPACE.to_owned(),
            execution: Some(wire::execution(workflow_id, run_id)),
            next_page_token: token,
            ..ws::GetWorkflowExecutionHistoryRequest::default()
        };
        let read = self.world.insist(5, |engine| {
            let request = request.clone();
            async move { engine.get_workflow_execution_history(request).await }
        });
        read.await.ok()
    }

    /// A task whose answer was taken came with its whole history. (That of one that was over before
    /// all pages were read may have changed in between.)
    fn check_history(&self, workflow_id: &str, started: i64, events: &[HistoryEvent]) {
        let last = events.last().map_or(0, |event| event.event_id);
        let dense = (1..).zip(events).all(|(id, event)| event.event_id == id);
        if !dense || last != started {
            let what = format!("the history of task {started} has a gap, or ends at {last}");
            self.world.ledger.fault(workflow_id, what);
        }
    }

    fn check_refusal(&self, workflow_id: &str, trouble: &Trouble) {
        let Trouble::Refused(error) = trouble else { return };
        let expected = error.code == Code::NotFound
            || error.code == Code::Unavailable
            || error.message.contains("UnhandledCommand");
        if !expected {
            self.world.ledger.fault(workflow_id, format!("commands were refused: {error}"));
        }
    }

    fn sticky_queue(&self) -> TaskQueue {
        TaskQueue {
            name: format!("sticky-{}-{}", self.who, self.lives),
            kind: enums::TaskQueueKind::Sticky.into(),
            normal_name: wire::QUEUE.to_owned(),
        }
    }

    fn manner(&mut self) -> Manner {
        if self.world.faults.are_over() {
            return Manner::Good;
        }
        match self.chance.below(40) {
            0 => Manner::Vanish,
            1 => Manner::Late,
            2 => Manner::Fail,
            3 | 4 => Manner::Twice,
            _ => Manner::Good,
        }
    }
}

/// Whether a history has all events up to this one.
fn reaches(known: &[HistoryEvent], last: i64) -> bool {
    known.last().is_some_and(|event| event.event_id >= last)
}

/// The answer to any query: how long the history is that the worker knows.
fn query_result(events: &[HistoryEvent]) -> WorkflowQueryResult {
    let last = events.last().map_or(0, |event| event.event_id);
    WorkflowQueryResult {
        result_type: enums::QueryResultType::Answered.into(),
        answer: Some(wire::payloads(&last.to_string())),
        ..WorkflowQueryResult::default()
    }
}

/// The requests that came with a reset: they are in the history, and as SDKs do, a worker makes of
/// each that is new the message that it would have got.
fn reapplied(events: &[HistoryEvent], previous_started_event_id: i64) -> Vec<Message> {
    let new = events.iter().filter(|event| event.event_id > previous_started_event_id);
    let requests = new.filter_map(|event| {
        let Some(Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(admitted)) =
            &event.attributes
        else {
            return None;
        };
        admitted.request.as_ref()
    });
    requests.map(request_message).collect()
}

fn request_message(request: &Request) -> Message {
    let update_id = request.meta.as_ref().map(|meta| meta.update_id.clone()).unwrap_or_default();
    Message {
        id: format!("{update_id}/request"),
        protocol_instance_id: update_id,
        body: Some(Any {
            type_url: "type.googleapis.com/temporal.api.update.v1.Request".to_owned(),
            value: request.encode_to_vec(),
        }),
        sequencing_id: None,
    }
}

fn is_refusal(said: &Message) -> bool {
    said.body.as_ref().is_some_and(|body| body.type_url.ends_with("Rejection"))
}

/// What a program says to an update: no if it is asked to, else yes and its outcome.
fn update_messages(asked: &Message) -> Vec<Message> {
    let body = asked.body.clone().unwrap_or_default();
    let Ok(request) = Request::decode(body.value.as_slice()) else { return Vec::new() };
    let update_id = asked.protocol_instance_id.clone();
    let said = |kind: &str, value: Vec<u8>| Message {
        id: format!("{update_id}/{kind}"),
        protocol_instance_id: update_id.clone(),
        body: Some(Any {
            type_url: format!("type.googleapis.com/temporal.api.update.v1.{kind}"),
            value,
        }),
        sequencing_id: None,
    };
    if request.input.as_ref().is_some_and(|input| input.name == "refuse") {
        let rejection = Rejection {
            rejected_request_message_id: asked.id.clone(),
            rejected_request: Some(request),
            failure: Some(wire::failure("no", false)),
            ..Rejection::default()
        };
        return vec![said("Rejection", rejection.encode_to_vec())];
    }
    let acceptance = Acceptance {
        accepted_request_message_id: asked.id.clone(),
        accepted_request: Some(request),
        ..Acceptance::default()
    };
    let outcome = Outcome { value: Some(Value::Success(wire::payloads(&update_id))) };
    let meta = Meta { update_id: update_id.clone(), ..Meta::default() };
    let response = Response { meta: Some(meta), outcome: Some(outcome) };
    vec![said("Acceptance", acceptance.encode_to_vec()), said("Response", response.encode_to_vec())]
}

fn protocol_command(message_id: &str) -> Command {
    let wanted = ProtocolMessageCommandAttributes { message_id: message_id.to_owned() };
    Command::of(wanted)
}
