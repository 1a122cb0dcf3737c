//! Starts workflows of its own and deletes them, open or closed, one by one or several at once.

use std::{collections::BTreeMap, sync::Arc};

use steadfast_engine::Code;
use steadfast_proto::{batch::BatchOperationDeletion, common::Execution, workflowservice as ws};

use crate::{
    chance::Chance,
    host::{Trouble, shown},
    ledger::Deletion,
    program::Order,
    wire,
    world::World,
};

/// Starts and deletes until faults are over.
pub(super) async fn run(world: Arc<World>) {
    let chance = world.chance.child("cleaner at work");
    let mut cleaner = Cleaner { world, chance, asked: 0, kept: BTreeMap::new() };
    while !cleaner.world.faults.are_over() {
        let pause = cleaner.chance.millis(1, 3_000);
        cleaner.world.wait(pause).await;
        cleaner.asked += 1;
        match cleaner.chance.below(10) {
            0..=4 => cleaner.start().await,
            5..=7 => cleaner.delete().await,
            8 => cleaner.delete_all().await,
            _ => cleaner.signal().await,
        }
    }
}

struct Cleaner {
    world: Arc<World>,
    chance: Chance,
    asked: u64,
    /// The runs that it has started and not deleted, with their workflow ids.
    kept: BTreeMap<String, String>,
}

impl Cleaner {
    async fn start(&mut self) {
        let workflow_id = format!("x{}", self.chance.below(4));
        let order = Order { seed: self.chance.below(1 << 40), depth: 0, lives: 0 };
        let request = ws::StartWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_id: workflow_id.clone(),
            workflow_type: Some(wire::program()),
            task_queue: Some(wire::queue(wire::QUEUE)),
            input: Some(wire::payloads(&order.to_string())),
            request_id: format!("cleaner {}", self.asked),
            ..ws::StartWorkflowExecutionRequest::default()
        };
        let started = self.world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.start_workflow_execution(request).await }
        });
        let started = started.await;
        if let Ok(started) = &started {
            self.kept.insert(started.run_id.clone(), workflow_id.clone());
        }
        self.tell("start", &workflow_id, &started.map(drop));
    }

    async fn delete(&mut self) {
        let Some((run_id, workflow_id)) = self.pick() else { return };
        let request = ws::DeleteWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(wire::execution(&workflow_id, &run_id)),
        };
        self.asked_for([(run_id.clone(), workflow_id.clone())], false);
        let deleted = self.world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.delete_workflow_execution(request).await }
        });
        let deleted = deleted.await.map(drop);
        self.tell("delete", &workflow_id, &deleted);
        self.asked_for([(run_id, workflow_id)], deleted.is_ok());
    }

    /// Deletes everything that it has, in the background.
    async fn delete_all(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        if kept.is_empty() {
            return;
        }
        let deletion = BatchOperationDeletion { identity: "cleaner".to_owned() };
        let request = ws::StartBatchOperationRequest {
            namespace: wire::NAMESPACE.to_owned(),
            job_id: format!("clean-{}", self.asked),
            reason: "simulated".to_owned(),
            target_executions: kept.iter().map(target).collect(),
            operation: Some(ws::start_batch_operation_request::Operation::DeletionOperation(
                deletion,
            )),
            ..ws::StartBatchOperationRequest::default()
        };
        self.asked_for(kept.clone(), false);
        let begun = self.world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.start_batch_operation(request).await }
        });
        let begun = begun.await.map(drop);
        self.tell(DELETE_ALL, &format!("{} runs", kept.len()), &begun);
        self.asked_for(kept, begun.is_ok());
    }

    async fn signal(&mut self) {
        let workflow_id = format!("x{}", self.chance.below(4));
        let request = ws::SignalWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(wire::execution(&workflow_id, "")),
            signal_name: "hurry".to_owned(),
            request_id: format!("cleaner {}", self.asked),
            ..ws::SignalWorkflowExecutionRequest::default()
        };
        let signaled = self.world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.signal_workflow_execution(request).await }
        });
        self.tell("signal", &workflow_id, &signaled.await.map(drop));
    }

    /// Writes down that runs are to be gone.
    fn asked_for(&self, runs: impl IntoIterator<Item = (String, String)>, acknowledged: bool) {
        let mut book = self.world.ledger.book();
        for (run_id, workflow_id) in runs {
            book.deletions.insert(run_id, Deletion { workflow_id, acknowledged });
        }
    }

    /// One of the runs that it has, which it has no more.
    fn pick(&mut self) -> Option<(String, String)> {
        let place = self.chance.below(u64::try_from(self.kept.len()).unwrap_or(0));
        let run_id = self.kept.keys().nth(usize::try_from(place).unwrap_or(0))?.clone();
        self.kept.remove_entry(&run_id)
    }

    fn tell(&self, what: &str, whom: &str, told: &Result<(), Trouble>) {
        self.world.note("cleaner", &format!("{what} {whom}: {}", shown(told)));
        let Err(Trouble::Refused(error)) = told else { return };
        // One is open already, or is not there; or nobody heard that it was done.
        let expected = [Code::AlreadyExists, Code::NotFound, Code::Unavailable];
        // The last one may take long while the disk is bad, and there is one at a time.
        let is_busy = what == DELETE_ALL && error.code == Code::ResourceExhausted;
        if !is_busy && !expected.contains(&error.code) {
            self.world.ledger.fault(whom, format!("{what}: {error}"));
        }
    }
}

fn target((run_id, workflow_id): (&String, &String)) -> Execution {
    Execution { business_id: workflow_id.clone(), run_id: run_id.clone(), ..Execution::default() }
}

const DELETE_ALL: &str = "delete all";
/// How often a cleaner asks before it gives up.
const TRIES: u32 = 20;
