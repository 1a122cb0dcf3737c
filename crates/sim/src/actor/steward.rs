//! Somebody who sees to failures: says what becomes of work that is given up and when it goes on by
//! itself, parks, resumes, acknowledges, and lets fail.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{
    Code, Engine, Error,
    failures::{Acted, EndingSetting, Notify, Resume, Selection, Settings, Who},
};
use steadfast_retry::{
    Ending,
    resume::{BackOffDraft, Draft},
};
use steadfast_store::ErrorFilter;

use crate::{chance::Chance, hook, oracle, scenario::Part, wire, world::World};

/// Meddles until faults are over.
pub(super) async fn run(world: Arc<World>) {
    world.ledger.book().resumed = true;
    let chance = world.chance.child("steward at work");
    let mut steward = Steward { world, chance, asked: 0 };
    steward.settle_endings().await;
    while !steward.world.faults.are_over() {
        steward.meddle().await;
        let pause = steward.chance.millis(1, 2_000);
        steward.world.wait(pause).await;
    }
}

/// Takes back all that a steward has said, so that the world can come to rest.
pub(super) async fn leave(world: &World) {
    if !world.has(Part::Steward) {
        return;
    }
    let said = world.insist(TRIES, |engine| async move {
        engine.set_failure_settings(wire::NAMESPACE, Settings::default(), who()).await?;
        for policy in engine.failure_book(wire::NAMESPACE)?.resume_policies.clone() {
            engine.delete_resume_policy(wire::NAMESPACE, &policy.id, who()).await?;
        }
        Ok(())
    });
    if let Err(trouble) = said.await {
        world.ledger.fault("", format!("a steward could not leave: {trouble}"));
    }
}

/// Lets everything fail that waits for a resume, acknowledged or not.
pub(crate) async fn give_up(world: &World) {
    if !world.has(Part::Steward) {
        return;
    }
    for acknowledged in [false, true] {
        let all = ErrorFilter { acknowledged: Some(acknowledged), ..ErrorFilter::default() };
        let given = world.insist(TRIES, |engine| {
            let chosen = Selection::Matching(all.clone());
            async move { engine.give_up_errors(wire::NAMESPACE, chosen, &who()).await }
        });
        heard(world, "give up", given.await.map_err(|trouble| trouble.to_string()));
    }
}

struct Steward {
    world: Arc<World>,
    chance: Chance,
    asked: u64,
}

impl Steward {
    async fn meddle(&mut self) {
        self.asked += 1;
        match self.chance.below(16) {
            0..=1 => self.settle_endings().await,
            2 => self.add_policy().await,
            3 => self.drop_policy().await,
            4..=8 => self.resume().await,
            9 => self.acknowledge().await,
            10 => self.let_fail().await,
            11 => self.park().await,
            12 => self.hurry().await,
            _ => {
                let workflow_id = format!("w{}", self.chance.below(8));
                oracle::look_at_errors(&self.world, &workflow_id).await;
            }
        }
    }

    /// Says what becomes of activities that are given up.
    async fn settle_endings(&mut self) {
        let (ending, ttl) = match self.chance.below(8) {
            0 => (Ending::Fail, None),
            1 => (Ending::DeadLetter, None),
            2..=4 => (Ending::Park, None),
            _ => (Ending::Park, Some(self.chance.millis(200, 20_000))),
        };
        let then = if self.chance.percent(50) { Ending::Fail } else { Ending::DeadLetter };
        let then = if ttl.is_some() { then } else { Ending::Fail };
        let setting = EndingSetting { workflow_type: None, activity: None, ending, ttl, then };
        let settings = Settings {
            endings: vec![setting],
            poison_after: self.chance.small(0, 3),
            notify: self.world.has(Part::Foreman).then(notify).into_iter().collect(),
            ..Settings::default()
        };
        let what = format!("ending {ending:?} {ttl:?} {then:?}, poison {}", settings.poison_after);
        let said = self.world.insist(TRIES, |engine| {
            let settings = settings.clone();
            async move { engine.set_failure_settings(wire::NAMESPACE, settings, who()).await }
        });
        let said = said.await.map(drop);
        self.tell(&what, said.map_err(|trouble| trouble.to_string()));
    }

    /// Says when parked work goes on by itself.
    async fn add_policy(&mut self) {
        let draft = Draft {
            name: Some(format!("policy-{}", self.asked)),
            error_substring: self.chance.percent(50).then(|| "planned".to_owned()),
            flow: Some(wire::PROGRAM.to_owned()),
            max_attempts: Some(i64::from(self.chance.small(2, 7))),
            back_off: Some(BackOffDraft {
                delay: Some(i64::from(self.chance.small(0, 9))),
                ..BackOffDraft::default()
            }),
            ..Draft::default()
        };
        let added = self.world.insist(1, |engine| {
            let draft = draft.clone();
            async move { engine.create_resume_policy(wire::NAMESPACE, draft, who()).await }
        });
        let added = added.await.map(drop).map_err(|trouble| trouble.to_string());
        self.tell(&format!("add {draft:?}"), added);
    }

    async fn drop_policy(&mut self) {
        let dropped = self.world.insist(1, |engine| async move {
            let book = engine.failure_book(wire::NAMESPACE)?;
            let Some(policy) = book.resume_policies.first() else { return Ok(()) };
            engine.delete_resume_policy(wire::NAMESPACE, &policy.id, who()).await.map(drop)
        });
        let dropped = dropped.await.map_err(|trouble| trouble.to_string());
        self.tell("drop a policy", dropped);
    }

    /// Resumes, perhaps twice with the same request, which is as good as once.
    async fn resume(&mut self) {
        let resume = Resume {
            who: who(),
            request_id: format!("resume-{}", self.asked),
            reset_heartbeat: self.chance.percent(20),
            spread: if self.chance.percent(30) {
                self.chance.millis(1, 5_000)
            } else {
                Duration::ZERO
            },
            ..Resume::default()
        };
        let chosen = self.chosen();
        for _ in 0..=u32::from(self.chance.percent(20)) {
            let what = format!("resume {chosen:?}");
            self.act(&what, |engine| {
                let (chosen, resume) = (chosen.clone(), resume.clone());
                async move { engine.resume_errors(wire::NAMESPACE, chosen, &resume).await }
            })
            .await;
        }
    }

    async fn acknowledge(&mut self) {
        let chosen = self.chosen();
        self.act("acknowledge", |engine| {
            let chosen = chosen.clone();
            async move { engine.acknowledge_errors(wire::NAMESPACE, chosen, &who()).await }
        })
        .await;
    }

    async fn let_fail(&mut self) {
        let chosen = self.chosen();
        self.act("give up", |engine| {
            let chosen = chosen.clone();
            async move { engine.give_up_errors(wire::NAMESPACE, chosen, &who()).await }
        })
        .await;
    }

    async fn park(&mut self) {
        let chosen = self.chosen();
        self.act("park", |engine| {
            let chosen = chosen.clone();
            async move { engine.park_errors(wire::NAMESPACE, chosen, &who()).await }
        })
        .await;
    }

    async fn hurry(&mut self) {
        let chosen = self.chosen();
        self.act("retry now", |engine| {
            let chosen = chosen.clone();
            async move { engine.retry_errors_now(wire::NAMESPACE, chosen, &who()).await }
        })
        .await;
    }

    /// All errors, or those of one workflow.
    fn chosen(&mut self) -> Selection {
        if self.chance.percent(30) {
            return Selection::Everything;
        }
        let workflow_id = Some(format!("w{}", self.chance.below(8)));
        Selection::Matching(ErrorFilter { workflow_id, ..ErrorFilter::default() })
    }

    async fn act<F>(&self, what: &str, act: impl Fn(Engine) -> F)
    where
        F: Future<Output = Result<Vec<Acted>, Error>>,
    {
        let acted = self.world.insist(4, act).await.map_err(|trouble| trouble.to_string());
        heard(&self.world, what, acted);
    }

    fn tell(&self, what: &str, said: Result<(), String>) {
        heard(&self.world, what, said.map(|()| Vec::new()));
    }
}

/// Notes what was heard. That an error has gone on meanwhile is fine.
fn heard(world: &World, what: &str, acted: Result<Vec<Acted>, String>) {
    let told = match acted {
        Ok(acted) => {
            for one in &acted {
                if let Err(error) = &one.outcome
                    && error.code == Code::Internal
                {
                    world.ledger.fault(&one.workflow_id, format!("{what}: {error}"));
                }
            }
            let show = |one: &Acted| {
                let came = one.outcome.as_ref().map_or_else(Error::to_string, Clone::clone);
                format!("{} {}: {came}", one.workflow_id, one.id)
            };
            acted.iter().map(show).collect::<Vec<_>>().join("; ")
        }
        Err(trouble) => trouble,
    };
    world.note("steward", &format!("{what}: {told}"));
}

/// Somebody wants to hear of everything.
fn notify() -> Notify {
    Notify { on: Vec::new(), webhook: Some(hook::URL.to_owned()), signal: None }
}

fn who() -> Who {
    Who { identity: "steward".to_owned(), reason: "simulated".to_owned() }
}

/// How often a steward asks before it gives up.
const TRIES: u32 = 20;
