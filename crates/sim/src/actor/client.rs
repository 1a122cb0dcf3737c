//! Asks for everything that can be asked for, and writes down what it was promised.

use std::{sync::Arc, time::Duration};

use steadfast_engine::Code;
use steadfast_proto::{enums, query, update, update::outcome::Value, workflowservice as ws};

use crate::{
    chance::Chance,
    host::Trouble,
    ledger::{Signal, Start},
    program::Order,
    wire,
    world::World,
};

/// Asks until faults are over.
pub(super) async fn run(world: Arc<World>, number: u64) {
    let who = format!("client-{number}");
    let chance = world.chance.child(&who);
    let mut client = Client { world, who, chance, asked: 0 };
    while !client.world.faults.are_over() {
        client.ask().await;
        let pause = client.chance.millis(1, 1_500);
        client.world.wait(pause).await;
    }
}

struct Client {
    world: Arc<World>,
    who: String,
    chance: Chance,
    asked: u64,
}

impl Client {
    async fn ask(&mut self) {
        self.asked += 1;
        let workflow_id = format!("w{}", self.chance.below(8));
        match self.chance.below(40) {
            0..=13 => self.start(&workflow_id).await,
            14..=16 => self.signal_with_start(&workflow_id).await,
            17..=24 => self.signal(&workflow_id).await,
            25..=26 => self.cancel(&workflow_id).await,
            27..=28 => self.terminate(&workflow_id).await,
            29..=32 => self.update(&workflow_id).await,
            33..=35 => self.query(&workflow_id).await,
            _ => crate::oracle::glance(&self.world, &workflow_id).await,
        }
    }

    /// A name that nobody else gives.
    fn name(&self, what: &str) -> String {
        format!("{what}-{}-{}", self.who, self.asked)
    }

    async fn start(&mut self, workflow_id: &str) {
        let request = self.start_request(workflow_id);
        let id = request.request_id.clone();
        let start = Start { workflow_id: workflow_id.to_owned(), runs: Vec::new() };
        self.world.ledger.book().starts.insert(id.clone(), start);
        let repeats = self.chance.percent(20);
        for _ in 0..=u32::from(repeats) {
            let answer = self.world.insist(8, |engine| {
                let request = request.clone();
                async move { engine.start_workflow_execution(request).await }
            });
            let answer = answer.await;
            let heard = answer.as_ref().map(|it| it.run_id.clone());
            self.tell("start", workflow_id, &heard.map_err(Clone::clone));
            match answer {
                Ok(answer) if answer.started => {
                    if let Some(start) = self.world.ledger.book().starts.get_mut(&id) {
                        start.runs.push(answer.run_id);
                    }
                }
                Ok(_) => {}
                Err(trouble) => self.check(workflow_id, &trouble, &[Code::AlreadyExists]),
            }
        }
    }

    fn start_request(&mut self, workflow_id: &str) -> ws::StartWorkflowExecutionRequest {
        use enums::{WorkflowIdConflictPolicy as Conflict, WorkflowIdReusePolicy as Reuse};
        let conflict = match self.chance.below(8) {
            0 => Conflict::UseExisting,
            1 => Conflict::TerminateExisting,
            _ => Conflict::Fail,
        };
        let reuse = match self.chance.below(8) {
            0 => Reuse::AllowDuplicateFailedOnly,
            1 if conflict == Conflict::Fail => Reuse::RejectDuplicate,
            _ => Reuse::AllowDuplicate,
        };
        let retries = self.chance.percent(20);
        let cron = !retries && self.chance.percent(5);
        let delay = if self.chance.percent(10) { self.chance.between(1, 4_000) } else { 0 };
        let timeout = if self.chance.percent(15) { self.chance.between(1_000, 9_000) } else { 0 };
        ws::StartWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_id: workflow_id.to_owned(),
            workflow_type: Some(wire::program()),
            task_queue: Some(wire::queue(wire::QUEUE)),
            input: Some(wire::payloads(&Order::draw(&mut self.chance).to_string())),
            identity: self.who.clone(),
            request_id: self.name("start"),
            workflow_id_reuse_policy: reuse.into(),
            workflow_id_conflict_policy: conflict.into(),
            workflow_task_timeout: wire::millis(self.chance.between(1, 4) * 1_000),
            workflow_run_timeout: wire::millis(timeout),
            workflow_start_delay: wire::millis(if cron { 0 } else { delay }),
            retry_policy: retries.then(|| wire::policy(500, 3)),
            cron_schedule: if cron { "@every 4s".to_owned() } else { String::new() },
            ..ws::StartWorkflowExecutionRequest::default()
        }
    }

    async fn signal_with_start(&mut self, workflow_id: &str) {
        let start = self.start_request(workflow_id);
        let text = self.name("signal");
        let signal = Signal { workflow_id: workflow_id.to_owned(), ..Signal::default() };
        self.world.ledger.book().signals.insert(text.clone(), signal);
        let request = ws::SignalWithStartWorkflowExecutionRequest {
            namespace: start.namespace,
            workflow_id: start.workflow_id,
            workflow_type: start.workflow_type,
            task_queue: start.task_queue,
            input: start.input,
            identity: start.identity,
            request_id: start.request_id,
            signal_name: "poke".to_owned(),
            signal_input: Some(wire::payloads(&text)),
            workflow_task_timeout: start.workflow_task_timeout,
            ..ws::SignalWithStartWorkflowExecutionRequest::default()
        };
        let answer = self.world.insist(8, |engine| {
            let request = request.clone();
            async move { engine.signal_with_start_workflow_execution(request).await }
        });
        let answer = answer.await.map(|answer| answer.run_id);
        self.tell("signal-with-start", workflow_id, &answer);
        match answer {
            Ok(_) => self.signalled(&text),
            Err(trouble) => self.check(workflow_id, &trouble, &[]),
        }
    }

    async fn signal(&mut self, workflow_id: &str) {
        let text = self.name("signal");
        let run_id = if self.chance.percent(30) {
            self.current_run(workflow_id).await.unwrap_or_default()
        } else {
            String::new()
        };
        let signal = Signal {
            workflow_id: workflow_id.to_owned(),
            run_id: run_id.clone(),
            acknowledged: false,
        };
        self.world.ledger.book().signals.insert(text.clone(), signal);
        let request = ws::SignalWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(wire::execution(workflow_id, &run_id)),
            signal_name: "poke".to_owned(),
            input: Some(wire::payloads(&text)),
            request_id: text.clone(),
            ..ws::SignalWorkflowExecutionRequest::default()
        };
        let repeats = self.chance.percent(20);
        for _ in 0..=u32::from(repeats) {
            let answer = self.world.insist(8, |engine| {
                let request = request.clone();
                async move { engine.signal_workflow_execution(request).await }
            });
            let answer = answer.await.map(drop);
            self.tell("signal", workflow_id, &answer);
            match answer {
                Ok(()) => self.signalled(&text),
                Err(trouble) => self.check(workflow_id, &trouble, &[Code::NotFound]),
            }
        }
    }

    fn signalled(&self, text: &str) {
        if let Some(signal) = self.world.ledger.book().signals.get_mut(text) {
            signal.acknowledged = true;
        }
    }

    async fn cancel(&mut self, workflow_id: &str) {
        let Some(run_id) = self.current_run(workflow_id).await else { return };
        let request = ws::RequestCancelWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(wire::execution(workflow_id, &run_id)),
            identity: self.who.clone(),
            request_id: self.name("cancel"),
            ..ws::RequestCancelWorkflowExecutionRequest::default()
        };
        let answer = self.world.insist(8, |engine| {
            let request = request.clone();
            async move { engine.request_cancel_workflow_execution(request).await }
        });
        let answer = answer.await.map(drop);
        self.tell("cancel", workflow_id, &answer);
        match answer {
            Ok(()) => {
                let cancel = (workflow_id.to_owned(), run_id, self.world.clock.latest());
                self.world.ledger.book().cancels.push(cancel);
            }
            Err(trouble) => self.check(workflow_id, &trouble, &[Code::NotFound]),
        }
    }

    async fn terminate(&mut self, workflow_id: &str) {
        let Some(run_id) = self.current_run(workflow_id).await else { return };
        let reason = self.name("terminate");
        let entry = (workflow_id.to_owned(), run_id.clone(), false);
        self.world.ledger.book().terminations.insert(reason.clone(), entry);
        let request = ws::TerminateWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(wire::execution(workflow_id, &run_id)),
            reason: reason.clone(),
            identity: self.who.clone(),
            ..ws::TerminateWorkflowExecutionRequest::default()
        };
        let answer = self.world.insist(8, |engine| {
            let request = request.clone();
            async move { engine.terminate_workflow_execution(request).await }
        });
        let answer = answer.await.map(drop);
        self.tell("terminate", workflow_id, &answer);
        match answer {
            Ok(()) => {
                if let Some(entry) = self.world.ledger.book().terminations.get_mut(&reason) {
                    entry.2 = true;
                }
            }
            Err(trouble) => self.check(workflow_id, &trouble, &[Code::NotFound]),
        }
    }

    async fn update(&mut self, workflow_id: &str) {
        let update_id = self.name("update");
        let name = if self.chance.percent(25) { "refuse" } else { "accept" };
        let request = ws::UpdateWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(wire::execution(workflow_id, "")),
            wait_policy: Some(update::WaitPolicy {
                lifecycle_stage: enums::UpdateWorkflowExecutionLifecycleStage::Completed.into(),
            }),
            request: Some(update::Request {
                meta: Some(update::Meta {
                    update_id: update_id.clone(),
                    identity: self.who.clone(),
                }),
                input: Some(update::Input { name: name.to_owned(), ..update::Input::default() }),
                ..update::Request::default()
            }),
            ..ws::UpdateWorkflowExecutionRequest::default()
        };
        let answer = self.world.insist(4, |engine| {
            let request = request.clone();
            async move { engine.update_workflow_execution(request).await }
        });
        let answer = answer.await;
        let heard = answer.as_ref().map(|it| outcome_text(it.outcome.as_ref()));
        self.tell("update", workflow_id, &heard.map_err(Clone::clone));
        match answer {
            Ok(answer) => self.updated(workflow_id, &update_id, name, answer),
            Err(trouble) => {
                self.check(workflow_id, &trouble, &[Code::NotFound, Code::FailedPrecondition]);
            }
        }
    }

    fn updated(
        &self,
        workflow_id: &str,
        update_id: &str,
        name: &str,
        answer: ws::UpdateWorkflowExecutionResponse,
    ) {
        let Some(Value::Success(result)) = answer.outcome.and_then(|outcome| outcome.value) else {
            return;
        };
        let result = wire::text(Some(&result));
        if result != update_id || name == "refuse" {
            let what = format!("update {update_id} ({name}) has the outcome {result:?}");
            self.world.ledger.fault(workflow_id, what);
        }
        let run = answer.update_ref.and_then(|it| it.workflow_execution).unwrap_or_default();
        let entry = (workflow_id.to_owned(), run.run_id, result);
        self.world.ledger.book().updates.insert(update_id.to_owned(), entry);
    }

    async fn query(&mut self, workflow_id: &str) {
        let request = ws::QueryWorkflowRequest {
            namespace: wire::NAMESPACE.to_owned(),
            execution: Some(wire::execution(workflow_id, "")),
            query: Some(query::WorkflowQuery {
                query_type: "length".to_owned(),
                ..query::WorkflowQuery::default()
            }),
            ..ws::QueryWorkflowRequest::default()
        };
        let patience = self.chance.millis(100, 40_000).min(Duration::from_secs(20));
        let answer = self
            .world
            .hurry(patience, |engine| async move { engine.query_workflow(request).await });
        let answer = answer.await.map(|answer| wire::text(answer.query_result.as_ref()));
        self.tell("query", workflow_id, &answer);
        match answer {
            Ok(text) if text.parse::<i64>().is_ok_and(|length| length > 0) => {}
            Ok(text) => self.world.ledger.fault(workflow_id, format!("a query answered {text:?}")),
            Err(trouble) => {
                let fine = [Code::NotFound, Code::DeadlineExceeded, Code::FailedPrecondition];
                self.check(workflow_id, &trouble, &fine);
            }
        }
    }

    async fn current_run(&self, workflow_id: &str) -> Option<String> {
        let request = ws::DescribeWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            execution: Some(wire::execution(workflow_id, "")),
        };
        let look = self.world.insist(4, |engine| {
            let request = request.clone();
            async move { engine.describe_workflow_execution(request).await }
        });
        Some(look.await.ok()?.workflow_execution_info?.execution?.run_id)
    }

    fn tell<T>(&self, what: &str, workflow_id: &str, answer: &Result<T, Trouble>)
    where
        T: Told,
    {
        let heard = answer.as_ref().map_or_else(ToString::to_string, Told::told);
        self.world.note(&self.who, &format!("{workflow_id} {what}: {heard}"));
    }

    /// Trouble passes, or is one of those that may be expected.
    fn check(&self, workflow_id: &str, trouble: &Trouble, fine: &[Code]) {
        if let Trouble::Refused(error) = trouble
            && !trouble.is_passing()
            && !fine.contains(&error.code)
        {
            let what = format!("a client heard {}: {error}", error.code);
            self.world.ledger.fault(workflow_id, what);
        }
    }
}

/// What an answer looks like in the log.
trait Told {
    fn told(&self) -> String;
}

impl Told for String {
    fn told(&self) -> String {
        self.clone()
    }
}

impl Told for () {
    fn told(&self) -> String {
        "ok".to_owned()
    }
}

fn outcome_text(outcome: Option<&update::Outcome>) -> String {
    match outcome.and_then(|outcome| outcome.value.as_ref()) {
        Some(Value::Success(result)) => wire::text(Some(result)),
        Some(Value::Failure(failure)) => failure.message.clone(),
        None => "no outcome yet".to_owned(),
    }
}
