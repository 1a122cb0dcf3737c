//! Somebody who resumes many errors at once, holds such a job, has it go on, or ends it.

use std::sync::Arc;

use steadfast_engine::{
    Code,
    failures::{JobOrder, JobRate, JobState, NewResumeJob, Resume, Selection, Who},
};

use crate::{
    chance::Chance,
    host::{Trouble, shown},
    scenario::Part,
    wire,
    world::World,
};

/// Meddles until faults are over.
pub(super) async fn run(world: Arc<World>) {
    let chance = world.chance.child("foreman at work");
    let mut foreman = Foreman { world, chance, begun: 0 };
    while !foreman.world.faults.are_over() {
        let pause = foreman.chance.millis(500, 6_000);
        foreman.world.wait(pause).await;
        foreman.meddle().await;
    }
}

/// Has everything go on that is held, and quickly.
pub(super) async fn leave(world: &World) {
    if !world.has(Part::Foreman) {
        return;
    }
    let jobs =
        world.insist(TRIES, |engine| async move { engine.list_resume_jobs(wire::NAMESPACE) });
    let held = |state| matches!(state, JobState::Running | JobState::Paused);
    for job in jobs.await.unwrap_or_default().into_iter().filter(|job| held(job.state)) {
        let (state, rate) = (Some(JobState::Running), Some(JobRate::Fixed(100.0)));
        let told = change(world, &job.id, state, rate).await;
        world.note("foreman", &format!("leaves {}: {}", job.id, shown(&told)));
    }
}

struct Foreman {
    world: Arc<World>,
    chance: Chance,
    begun: u64,
}

impl Foreman {
    async fn meddle(&mut self) {
        let id = format!("job-{}", self.chance.below(self.begun.max(1)));
        let (what, state, rate) = match self.chance.below(8) {
            0..=3 => return self.begin().await,
            4 => ("hold", Some(JobState::Paused), None),
            5 => ("go on", Some(JobState::Running), None),
            6 => ("hurry", None, Some(JobRate::Fixed(20.0))),
            _ => ("end", Some(JobState::Stopped), None),
        };
        let told = change(&self.world, &id, state, rate).await;
        self.world.note("foreman", &format!("{what} {id}: {}", shown(&told)));
    }

    async fn begin(&mut self) {
        let id = format!("job-{}", self.begun);
        self.begun += 1;
        let who = Who { identity: id.clone(), reason: "simulated".to_owned() };
        let new = NewResumeJob {
            id: id.clone(),
            selection: Selection::Everything,
            resume: Resume { who, ..Resume::default() },
            canary: self.chance.small(0, 2),
            rate: self.rate(),
            max_failures: f64::from(self.chance.small(3, 10)) / 10.0,
            order: self.order(),
        };
        let begun = self.world.insist(TRIES, |engine| {
            let new = new.clone();
            async move { engine.start_resume_job(wire::NAMESPACE, new).await }
        });
        let begun = begun.await.map(drop);
        self.world.note("foreman", &format!("begin {id}: {}", shown(&begun)));
        match begun {
            // Nobody heard that it was begun.
            Err(Trouble::Refused(error)) if error.code == Code::AlreadyExists => {}
            Err(trouble) if !trouble.is_passing() => {
                self.world.ledger.fault("", format!("{id} could not be begun: {trouble}"));
            }
            Ok(()) | Err(_) => {}
        }
    }

    fn rate(&mut self) -> JobRate {
        match self.chance.small(0, 20) {
            0 => JobRate::Auto,
            rate => JobRate::Fixed(f64::from(rate)),
        }
    }

    fn order(&mut self) -> JobOrder {
        match self.chance.small(0, 3) {
            0 => JobOrder::Oldest,
            1 => JobOrder::Newest,
            2 => JobOrder::Deadline,
            _ => JobOrder::Priority,
        }
    }
}

async fn change(
    world: &World,
    id: &str,
    state: Option<JobState>,
    rate: Option<JobRate>,
) -> Result<(), Trouble> {
    let changed = world.insist(TRIES, |engine| async move {
        engine.change_resume_job(wire::NAMESPACE, id, state, rate).await
    });
    changed.await.map(drop)
}

/// How often a foreman asks before it gives up.
const TRIES: u32 = 20;
