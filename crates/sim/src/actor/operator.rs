//! An operator: holds activities back and lets them go, resets runs and sticky queues, waits for
//! runs to close.

use std::{sync::Arc, time::Duration};

use steadfast_engine::Code;
use steadfast_proto::{enums, history::history_event::Attributes, workflowservice as ws};

use crate::{
    chance::Chance,
    host::{Trouble, shown},
    ledger::Close,
    oracle, wire,
    world::World,
};

/// Meddles until faults are over.
pub(super) async fn run(world: Arc<World>) {
    let chance = world.chance.child("operator");
    let mut operator = Operator { world, chance, asked: 0 };
    while !operator.world.faults.are_over() {
        operator.meddle().await;
        let pause = operator.chance.millis(1, 2_000);
        operator.world.wait(pause).await;
    }
}

struct Operator {
    world: Arc<World>,
    chance: Chance,
    asked: u64,
}

impl Operator {
    async fn meddle(&mut self) {
        self.asked += 1;
        let workflow_id = format!("w{}", self.chance.below(8));
        match self.chance.below(12) {
            0..=2 => self.pause(&workflow_id).await,
            3..=4 => {
                let answer = oracle::unpause(&self.world, &workflow_id, "").await;
                self.tell("unpause", &workflow_id, &answer);
            }
            5 => self.reset_sticky(&workflow_id).await,
            6 => self.reset(&workflow_id).await,
            7..=8 => oracle::glance(&self.world, &workflow_id).await,
            _ => self.watch(&workflow_id).await,
        }
    }

    async fn pause(&mut self, workflow_id: &str) {
        let activity = format!("a{}.{}", self.chance.below(4), self.chance.below(2));
        self.world.ledger.book().held.insert(workflow_id.to_owned());
        let request = ws::PauseActivityRequest {
            namespace: wire::NAMESPACE.to_owned(),
            execution: Some(wire::execution(workflow_id, "")),
            activity: Some(ws::pause_activity_request::Activity::Id(activity)),
            ..ws::PauseActivityRequest::default()
        };
        let answer = self.world.insist(4, |engine| {
            let request = request.clone();
            async move { engine.pause_activity(request).await }
        });
        let answer = answer.await.map(drop);
        self.tell("pause", workflow_id, &answer);
    }

    async fn reset_sticky(&mut self, workflow_id: &str) {
        let request = ws::ResetStickyTaskQueueRequest {
            namespace: wire::NAMESPACE.to_owned(),
            execution: Some(wire::execution(workflow_id, "")),
        };
        let answer = self.world.insist(4, |engine| {
            let request = request.clone();
            async move { engine.reset_sticky_task_queue(request).await }
        });
        let answer = answer.await.map(drop);
        self.tell("reset sticky", workflow_id, &answer);
    }

    /// Starts a run over from one of its workflow tasks.
    async fn reset(&mut self, workflow_id: &str) {
        let Some(events) = oracle::history(&self.world, workflow_id, "").await else { return };
        let is_task = |attributes: &Attributes| {
            matches!(attributes, Attributes::WorkflowTaskCompletedEventAttributes(_))
        };
        let ended = events.iter().filter(|event| event.attributes.as_ref().is_some_and(is_task));
        let ended: Vec<i64> = ended.map(|event| event.event_id).collect();
        let place = self.chance.below(u64::try_from(ended.len()).unwrap_or(0));
        let Some(finish) = ended.get(usize::try_from(place).unwrap_or(0)) else { return };
        let request = ws::ResetWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(wire::execution(workflow_id, "")),
            reason: "once more".to_owned(),
            workflow_task_finish_event_id: *finish,
            request_id: format!("reset-{}", self.asked),
            ..ws::ResetWorkflowExecutionRequest::default()
        };
        let answer = self.world.insist(4, |engine| {
            let request = request.clone();
            async move { engine.reset_workflow_execution(request).await }
        });
        let answer = answer.await.map(drop);
        // Another run may have become the newest since the history was read.
        self.tell(&format!("reset to {finish}"), workflow_id, &answer);
    }

    /// Waits for the newest run to close, for a while.
    async fn watch(&mut self, workflow_id: &str) {
        let Some(run_id) = oracle::newest(&self.world, workflow_id).await else { return };
        let request = ws::GetWorkflowExecutionHistoryRequest {
            namespace: wire::NAMESPACE.to_owned(),
            execution: Some(wire::execution(workflow_id, &run_id)),
            wait_new_event: true,
            history_event_filter_type: enums::HistoryEventFilterType::CloseEvent.into(),
            ..ws::GetWorkflowExecutionHistoryRequest::default()
        };
        let patience = self.chance.millis(10, 15_000).min(Duration::from_secs(10));
        let answer = self.world.hurry(patience, |engine| async move {
            engine.get_workflow_execution_history(request).await
        });
        let events = answer.await.map(|page| page.history.unwrap_or_default().events);
        self.tell("watch", workflow_id, &events.as_ref().map(drop).map_err(Clone::clone));
        let Ok(Some(event)) = events.map(|mut events| events.pop()) else { return };
        let workflow_id = workflow_id.to_owned();
        self.world.ledger.book().closes.push(Close { workflow_id, run_id, event });
    }

    fn tell(&self, what: &str, workflow_id: &str, answer: &Result<(), Trouble>) {
        self.world.note("operator", &format!("{workflow_id} {what}: {}", shown(answer)));
        if let Err(Trouble::Refused(error)) = answer
            && error.code == Code::Internal
        {
            self.world.ledger.fault(workflow_id, format!("{what}: {error}"));
        }
    }
}
