//! Runs activities: most of them well, some of them as badly as workers can.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{AsideError, Clock as _, Code, Engine, Error, Timestamp};
use steadfast_proto::workflowservice as ws;
use steadfast_store::Aside;

use super::home::{Family, Home};
use crate::{
    chance::Chance,
    host::{Trouble, shown},
    ledger::{Attempt, Delivery},
    medium,
    program::Task,
    wire,
    world::World,
};

/// How an attempt is treated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Manner {
    /// As it should be.
    Good,
    /// It is never heard of again.
    Vanish,
    /// It is answered when its time is over.
    Late,
    /// It is answered twice.
    Twice,
    /// It is answered, and the answer to that is not waited for.
    Hasty,
}

/// What an attempt writes into the engine's file with its result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Effect {
    Nothing,
    /// What it came to.
    Good,
    /// As well, but then it says that it could not.
    Bad,
}

/// Works for ever.
pub(super) async fn run(world: Arc<World>, number: u64) {
    let who = format!("act-{number}");
    let mut chance = world.chance.child(&who);
    let family = Family::of(&world, &who);
    let mut count = 0_u64;
    loop {
        let Some(home) = family.home(&world) else {
            world.wait(chance.millis(5, 100)).await;
            continue;
        };
        let request = ws::PollActivityTaskQueueRequest {
            namespace: wire::NAMESPACE.to_owned(),
            task_queue: Some(wire::queue(wire::QUEUE)),
            identity: who.clone(),
            ..ws::PollActivityTaskQueueRequest::default()
        };
        let hasty = chance.percent(10) && !world.faults.are_over();
        let patience = if hasty { chance.millis(0, 200) } else { Duration::from_secs(90) };
        let poll = world.hurry(patience, |engine| async move {
            home.door(&engine).poll_activity_task_queue(request).await
        });
        match poll.await {
            Ok(task) if !task.task_token.is_empty() => {
                count += 1;
                let chance = chance.child(&count.to_string());
                take(&world, &who, home, task, chance);
            }
            Ok(_) => {}
            Err(_) => world.wait(chance.millis(5, 100)).await,
        }
    }
}

/// Takes an activity on, beside all others.
pub(super) fn take(
    world: &Arc<World>,
    who: &str,
    home: Home,
    task: ws::PollActivityTaskQueueResponse,
    chance: Chance,
) {
    let work = Work::new(Arc::clone(world), who, home, task, chance);
    if let Some(work) = work {
        drop(tokio::spawn(work.live()));
    }
}

/// One attempt in a worker's hands.
struct Work {
    world: Arc<World>,
    who: String,
    home: Home,
    token: Vec<u8>,
    workflow_id: String,
    key: Attempt,
    task: Task,
    /// Within which time it must be heard of; zero if it need not be.
    heard_within: Duration,
    manner: Manner,
    effect: Effect,
    /// Whether the engine may have heard how it went.
    has_answered: bool,
    chance: Chance,
}

impl Work {
    fn new(
        world: Arc<World>,
        who: &str,
        home: Home,
        given: ws::PollActivityTaskQueueResponse,
        mut chance: Chance,
    ) -> Option<Self> {
        let execution = given.workflow_execution.clone().unwrap_or_default();
        let key = Attempt {
            run_id: execution.run_id,
            activity_id: given.activity_id.clone(),
            number: u32::try_from(given.attempt).unwrap_or_default(),
        };
        let workflow_id = execution.workflow_id;
        let what = format!("{workflow_id} {} #{} delivered", key.activity_id, key.number);
        world.note(who, &what);
        let Ok(task) = wire::text(given.input.as_ref()).parse::<Task>() else {
            world.ledger.fault(&workflow_id, "an activity came without its input");
            return None;
        };
        record(&world, &workflow_id, &key, task, &given);
        let manner = if world.faults.are_over() { Manner::Good } else { manner(&mut chance) };
        let effect = effect(&world, home, &mut chance);
        let heard_within = wire::span(given.heartbeat_timeout.as_ref());
        let (who, token) = (who.to_owned(), given.task_token);
        Some(Self {
            world,
            who,
            home,
            token,
            workflow_id,
            key,
            task,
            heard_within,
            manner,
            effect,
            has_answered: false,
            chance,
        })
    }

    /// Does it, unless the worker dies first. Whatever came of it in a worker inside the engine's
    /// process: if the engine does not know of it, it is over when the process is.
    async fn live(mut self) {
        let (world, home) = (Arc::clone(&self.world), self.home);
        let life = async {
            self.run().await;
            home.stay().await;
        };
        if home.live(&world, Box::pin(life)).await.is_some() {
            return;
        }
        self.over_by(world.clock.now());
        if !self.has_answered {
            world.ledger.book().lost.insert(self.key);
        }
    }

    async fn run(&mut self) {
        match self.manner {
            Manner::Vanish => return,
            Manner::Late => {
                let over = Duration::from_millis(self.task.start_to_close_ms);
                self.world.wait(over + self.chance.millis(0, 3_000)).await;
            }
            Manner::Good | Manner::Twice | Manner::Hasty => {
                if self.work().await {
                    self.has_answered = true;
                    self.cancelled().await;
                    return;
                }
            }
        }
        self.has_answered = true;
        if self.key.number <= self.task.fails || self.task.fatal {
            self.fail().await;
        } else {
            self.complete().await;
        }
    }

    /// Works for as long as it takes. Says whether it was asked to stop.
    async fn work(&mut self) -> bool {
        let mut left = Duration::from_millis(self.task.work_ms);
        let beat = self.heard_within / 3;
        while !beat.is_zero() && left > beat {
            self.world.wait(beat).await;
            left -= beat;
            let request = ws::RecordActivityTaskHeartbeatRequest {
                task_token: self.token.clone(),
                identity: self.who.clone(),
                namespace: wire::NAMESPACE.to_owned(),
                details: Some(wire::payloads("beat")),
                ..ws::RecordActivityTaskHeartbeatRequest::default()
            };
            let beat = self
                .world
                .host
                .call(|engine| async move { engine.record_activity_task_heartbeat(request).await });
            if beat.await.is_ok_and(|heard| heard.cancel_requested) {
                return true;
            }
        }
        self.world.wait(left).await;
        false
    }

    async fn complete(&self) {
        let result = self.result();
        let request = ws::RespondActivityTaskCompletedRequest {
            task_token: self.token.clone(),
            result: Some(wire::payloads(&result)),
            identity: self.who.clone(),
            namespace: wire::NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskCompletedRequest::default()
        };
        let say = || async {
            let answer = self.world.insist(10, |engine| {
                let (request, aside) = (request.clone(), self.aside(&result));
                async move { respond(&engine, request, aside).await }
            });
            self.within_manner(answer).await
        };
        let first = say().await;
        if let Ok(Written::Not) = first {
            return self.fail().await;
        }
        let first = first.map(drop);
        self.outcome("completed", &first);
        if first.is_ok() {
            let mut book = self.world.ledger.book();
            if let Some(delivery) = book.deliveries.get_mut(&self.key) {
                delivery.completed = Some(result.clone());
            }
        }
        if self.manner == Manner::Twice && say().await.is_ok() && first.is_ok() {
            self.broken("a second answer to the same attempt was taken");
        }
    }

    /// What it comes to. It says whether there is an effect.
    fn result(&self) -> String {
        let Attempt { run_id, activity_id, number } = &self.key;
        let effect = if self.effect == Effect::Nothing { "" } else { wire::WITH_EFFECT };
        format!("{run_id} {activity_id} {number}{effect}")
    }

    fn aside(&self, result: &str) -> Option<Aside> {
        let is_bad = self.effect == Effect::Bad;
        (self.effect != Effect::Nothing).then(|| medium::effect(result, is_bad))
    }

    async fn fail(&self) {
        self.over_by(self.world.clock.now());
        let fatal = self.task.fatal && self.key.number > self.task.fails;
        let request = ws::RespondActivityTaskFailedRequest {
            task_token: self.token.clone(),
            failure: Some(wire::failure("planned", fatal)),
            identity: self.who.clone(),
            namespace: wire::NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskFailedRequest::default()
        };
        let say = || async {
            let answer = self.world.insist(10, |engine| {
                let request = request.clone();
                async move { engine.respond_activity_task_failed(request).await }
            });
            self.within_manner(answer).await.map(drop)
        };
        let first = say().await;
        self.outcome("failed", &first);
        if self.manner == Manner::Twice && say().await.is_ok() && first.is_ok() {
            self.broken("a second answer to the same attempt was taken");
        }
    }

    async fn cancelled(&self) {
        let request = ws::RespondActivityTaskCanceledRequest {
            task_token: self.token.clone(),
            identity: self.who.clone(),
            namespace: wire::NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskCanceledRequest::default()
        };
        let answer = self.world.insist(10, |engine| {
            let request = request.clone();
            async move { engine.respond_activity_task_canceled(request).await }
        });
        self.outcome("cancelled", &answer.await.map(drop));
    }

    async fn within_manner<T>(
        &self,
        answer: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        if self.manner != Manner::Hasty {
            return answer.await;
        }
        tokio::select! {
            biased;
            answer = answer => answer,
            () = self.world.wait(Duration::from_millis(1)) => Err(Trouble::Lost),
        }
    }

    fn outcome(&self, what: &str, answer: &Result<(), Trouble>) {
        let Attempt { activity_id, number, .. } = &self.key;
        let heard = shown(answer);
        let line = format!("{} {activity_id} #{number} {what}: {heard}", self.workflow_id);
        self.world.note(&self.who, &line);
        if let Err(Trouble::Refused(error)) = answer
            && !matches!(error.code, Code::NotFound | Code::Unavailable)
        {
            self.broken(&format!("an answer was refused: {error}"));
        }
    }

    /// The attempt may be over from then on.
    fn over_by(&self, at: Timestamp) {
        let mut book = self.world.ledger.book();
        if let Some(delivery) = book.deliveries.get_mut(&self.key) {
            delivery.over_at = delivery.over_at.min(at);
        }
    }

    fn broken(&self, what: &str) {
        let Attempt { activity_id, number, .. } = &self.key;
        self.world.ledger.fault(&self.workflow_id, format!("{activity_id} #{number}: {what}"));
    }
}

/// Whether a result was taken.
enum Written {
    Done,
    /// What was to be written with it could not be.
    Not,
}

async fn respond(
    engine: &Engine,
    request: ws::RespondActivityTaskCompletedRequest,
    aside: Option<Aside>,
) -> Result<Written, Error> {
    let Some(aside) = aside else {
        return engine.respond_activity_task_completed(request).await.map(|_| Written::Done);
    };
    match engine.respond_activity_task_completed_with(request, aside).await {
        Ok(_) => Ok(Written::Done),
        Err(AsideError::Engine(error)) => Err(error),
        Err(_) => Ok(Written::Not),
    }
}

/// Writes a delivery down, and checks that it may be.
fn record(
    world: &World,
    workflow_id: &str,
    key: &Attempt,
    task: Task,
    given: &ws::PollActivityTaskQueueResponse,
) {
    let seen_at = world.clock.latest();
    let mut timeout = Duration::from_millis(task.start_to_close_ms);
    let heard_within = wire::span(given.heartbeat_timeout.as_ref());
    if !heard_within.is_zero() {
        timeout = timeout.min(heard_within);
    }
    let started_at = wire::instant(given.started_time.as_ref());
    let delivery = Delivery {
        workflow_id: workflow_id.to_owned(),
        over_at: started_at.after(timeout),
        completed: None,
    };
    let mut book = world.ledger.book();
    let before = Attempt { number: key.number.saturating_sub(1), ..key.clone() };
    let earliest = book
        .deliveries
        .get(&before)
        .map(|before| before.over_at.after(wire::backoff(task.initial_ms, key.number)));
    let twice = book.deliveries.insert(key.clone(), delivery).is_some();
    let held = book.is_held(workflow_id);
    drop(book);
    let broken = |what: String| {
        let Attempt { activity_id, number, .. } = key;
        world.ledger.fault(workflow_id, format!("{activity_id} #{number}: {what}"));
    };
    if twice {
        broken("the same attempt was delivered twice".to_owned());
    }
    if task.attempts_max > 0 && key.number > task.attempts_max && !held {
        broken(format!("only {} attempts were allowed", task.attempts_max));
    }
    if let Some(earliest) = earliest.filter(|earliest| seen_at < *earliest && !held) {
        let early = earliest.since(seen_at);
        broken(format!("it came {early:?} before the attempt before could be over and waited for"));
    }
}

fn effect(world: &World, home: Home, chance: &mut Chance) -> Effect {
    if matches!(home, Home::Elsewhere(_))
        || !world.host.disk().takes_asides()
        || !chance.percent(70)
    {
        return Effect::Nothing;
    }
    let is_bad = chance.percent(25) && !world.faults.are_over();
    if is_bad { Effect::Bad } else { Effect::Good }
}

fn manner(chance: &mut Chance) -> Manner {
    match chance.below(20) {
        0 => Manner::Vanish,
        1 => Manner::Late,
        2 => Manner::Twice,
        3 => Manner::Hasty,
        _ => Manner::Good,
    }
}
