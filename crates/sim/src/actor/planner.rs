//! Makes schedules, holds some of them and lets them go, and takes them away in the end.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{Clock as _, Code};
use steadfast_proto::{
    enums::ScheduleOverlapPolicy as Overlap,
    schedule::{
        IntervalSpec, Schedule, ScheduleAction, SchedulePatch, SchedulePolicies, ScheduleSpec,
        TriggerImmediatelyRequest, schedule_action::Action,
    },
    workflow::NewWorkflowExecutionInfo,
    workflowservice as ws,
};

use crate::{
    chance::Chance,
    host::{Trouble, shown},
    ledger::Plan,
    program::Order,
    wire,
    world::World,
};

/// Makes some, and meddles with them until faults are over.
pub(super) async fn run(world: Arc<World>) {
    let chance = world.chance.child("planner at work");
    let mut planner = Planner { world, chance, asked: 0 };
    let count = planner.chance.between(1, 3);
    for number in 0..count {
        planner.create(&format!("s{number}")).await;
    }
    while !planner.world.faults.are_over() {
        let pause = planner.chance.millis(500, 6_000);
        planner.world.wait(pause).await;
        let id = format!("s{}", planner.chance.below(count));
        planner.meddle(&id).await;
    }
}

/// Takes all away, once they have had time to catch up.
pub(super) async fn leave(world: &World) {
    let ids: Vec<String> = world.ledger.book().plans.keys().cloned().collect();
    if ids.is_empty() {
        return;
    }
    world.wait(CATCH_UP).await;
    for id in ids {
        let request = ws::DeleteScheduleRequest {
            namespace: wire::NAMESPACE.to_owned(),
            schedule_id: id.clone(),
            ..ws::DeleteScheduleRequest::default()
        };
        let ended_at = world.clock.now();
        let deleted = world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.delete_schedule(request).await }
        });
        let deleted = deleted.await.map(drop);
        world.note("planner", &format!("{id} delete: {}", shown(&deleted)));
        let mut book = world.ledger.book();
        match deleted {
            Ok(()) => {
                if let Some(plan) = book.plans.get_mut(&id) {
                    plan.ended_at = Some(ended_at);
                }
            }
            // Nobody heard of it, and it never was.
            Err(Trouble::Refused(error)) if error.code == Code::NotFound => {
                if book.plans.get(&id).is_some_and(|plan| plan.is_made) {
                    drop(book);
                    world.ledger.fault("", format!("schedule {id} is gone"));
                }
            }
            Err(_) => {}
        }
    }
}

struct Planner {
    world: Arc<World>,
    chance: Chance,
    asked: u64,
}

impl Planner {
    async fn create(&mut self, id: &str) {
        let plan = Plan {
            every: Duration::from_secs(self.chance.between(4, 20)),
            overlap: self.overlap(),
            is_left_alone: self.chance.percent(60),
            is_made: false,
            ended_at: None,
        };
        let request = ws::CreateScheduleRequest {
            namespace: wire::NAMESPACE.to_owned(),
            schedule_id: id.to_owned(),
            schedule: Some(self.schedule(id, &plan)),
            request_id: format!("create {id}"),
            ..ws::CreateScheduleRequest::default()
        };
        self.world.ledger.book().plans.insert(id.to_owned(), plan);
        let made = self.world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.create_schedule(request).await }
        });
        let made = made.await.map(drop);
        self.tell(id, "create", &made);
        if let Some(plan) = self.world.ledger.book().plans.get_mut(id) {
            plan.is_made = made.is_ok();
        }
    }

    async fn meddle(&mut self, id: &str) {
        let alone = |plan: &Plan| plan.is_left_alone;
        if self.world.ledger.book().plans.get(id).is_none_or(alone) {
            return self.look(id).await;
        }
        let (what, patch) = match self.chance.below(4) {
            0 => ("hold", SchedulePatch { pause: "held".to_owned(), ..SchedulePatch::default() }),
            1 => ("let go", SchedulePatch { unpause: "go".to_owned(), ..SchedulePatch::default() }),
            2 => ("trigger", self.trigger()),
            _ => return self.look(id).await,
        };
        self.asked += 1;
        let request = ws::PatchScheduleRequest {
            namespace: wire::NAMESPACE.to_owned(),
            schedule_id: id.to_owned(),
            patch: Some(patch),
            request_id: format!("patch {}", self.asked),
            ..ws::PatchScheduleRequest::default()
        };
        let patched = self.world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.patch_schedule(request).await }
        });
        self.tell(id, what, &patched.await.map(drop));
    }

    /// Looks at it, which waits for what is on its way.
    async fn look(&self, id: &str) {
        let request = ws::DescribeScheduleRequest {
            namespace: wire::NAMESPACE.to_owned(),
            schedule_id: id.to_owned(),
        };
        let seen = self.world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.describe_schedule(request).await }
        });
        let seen = seen.await;
        if let Some(info) = seen.as_ref().ok().and_then(|seen| seen.info.as_ref()) {
            let what = format!("{id} has started {}", info.action_count);
            self.world.note("planner", &what);
        }
        self.tell(id, "look", &seen.map(drop));
    }

    fn trigger(&mut self) -> SchedulePatch {
        let trigger = TriggerImmediatelyRequest {
            overlap_policy: self.overlap().into(),
            ..TriggerImmediatelyRequest::default()
        };
        SchedulePatch { trigger_immediately: Some(trigger), ..SchedulePatch::default() }
    }

    fn overlap(&mut self) -> Overlap {
        match self.chance.below(8) {
            0 => Overlap::Skip,
            1 => Overlap::BufferOne,
            2..=3 => Overlap::BufferAll,
            4 => Overlap::CancelOther,
            5 => Overlap::TerminateOther,
            _ => Overlap::AllowAll,
        }
    }

    fn schedule(&mut self, id: &str, plan: &Plan) -> Schedule {
        let every = u64::try_from(plan.every.as_millis()).unwrap_or(u64::MAX);
        let order =
            Order { seed: self.chance.below(1 << 40), depth: 0, lives: self.chance.small(0, 1) };
        let action = NewWorkflowExecutionInfo {
            workflow_id: id.to_owned(),
            workflow_type: Some(wire::program()),
            task_queue: Some(wire::queue(wire::QUEUE)),
            input: Some(wire::payloads(&order.to_string())),
            ..NewWorkflowExecutionInfo::default()
        };
        Schedule {
            spec: Some(ScheduleSpec {
                interval: vec![IntervalSpec { interval: wire::millis(every), phase: None }],
                ..ScheduleSpec::default()
            }),
            action: Some(ScheduleAction { action: Some(Action::StartWorkflow(action)) }),
            policies: Some(SchedulePolicies {
                overlap_policy: plan.overlap.into(),
                catchup_window: wire::millis(3_600_000),
                ..SchedulePolicies::default()
            }),
            state: None,
        }
    }

    fn tell(&self, id: &str, what: &str, told: &Result<(), Trouble>) {
        self.world.note("planner", &format!("{id} {what}: {}", shown(told)));
        let Err(Trouble::Refused(error)) = told else { return };
        let is_made = self.world.ledger.book().plans.get(id).is_some_and(|plan| plan.is_made);
        let is_expected =
            error.code == Code::Unavailable || error.code == Code::NotFound && !is_made;
        if !is_expected {
            self.world.ledger.fault("", format!("schedule {id} {what}: {error}"));
        }
    }
}

/// How long a schedule has to catch up with its times.
const CATCH_UP: Duration = Duration::from_secs(30);

/// How often a planner asks before it gives up.
const TRIES: u32 = 20;
