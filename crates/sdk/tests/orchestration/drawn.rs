//! Orchestrations that are drawn by lot, with the plug pulled at any moment: each comes to an end that its
//! program allows, and replays.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex},
};

use proptest::{collection::vec, prelude::*};
use serde::{Deserialize, Serialize};
use steadfast::orchestration::{
    ActivityContext, ActivityRegistry, BackoffStrategy, Either2, OrchestrationContext,
    OrchestrationRegistry, RetryPolicy,
};

use super::rig::{Stage, ms, nap};
use crate::common::on_virtual_time;

/// What an orchestration does, one after the other.
#[derive(Clone, Debug, Deserialize, Serialize)]
enum Step {
    /// A call, with so many attempts and perhaps a time for each, in milliseconds.
    Call(Call, u32, Option<u64>),
    Timer(u64),
    /// An event that nobody raises, or this timer.
    Wait(u64),
    All(Vec<Vec<Self>>),
    First(Vec<Self>, Vec<Self>),
    Sub(Vec<Self>),
}

/// What an activity does.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Call {
    number: u32,
    /// How many calls fail before one succeeds.
    fails: u32,
    takes: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Came {
    Number(u32),
    Failed,
    Fired,
    All(Vec<Vec<Self>>),
    First(bool, Vec<Self>),
    Sub(Vec<Self>),
}

/// Steps for each execution, and what came of those of the executions before.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Program {
    executions: Vec<Vec<Step>>,
    came: Vec<Vec<Came>>,
}

/// The calls of each activity, by their keys: one that is made again because a process died over it is the
/// same call.
type Calls = Arc<Mutex<BTreeMap<u32, Vec<String>>>>;

async fn work(calls: Calls, ctx: ActivityContext, call: Call) -> Result<u32, String> {
    nap(ms(call.takes)).await;
    let mut calls = calls.lock().expect("nobody panicked with it");
    let keys = calls.entry(call.number).or_default();
    let key = ctx.idempotency_key();
    if !keys.contains(&key) {
        keys.push(key.clone());
    }
    let nth = keys.iter().position(|it| *it == key).unwrap_or_default();
    let fails = usize::try_from(call.fails).expect("it fits");
    if nth < fails { Err(format!("call {nth} fails")) } else { Ok(call.number) }
}

async fn chain(ctx: OrchestrationContext, mut program: Program) -> Result<Vec<Vec<Came>>, String> {
    if let Some(steps) = program.executions.get(program.came.len()) {
        program.came.push(play(ctx.clone(), steps.clone()).await?);
    }
    if program.came.len() < program.executions.len() {
        ctx.continue_as_new_typed(&program).await?;
    }
    Ok(program.came)
}

type Playing = Pin<Box<dyn Future<Output = Result<Vec<Came>, String>> + Send>>;

fn play(ctx: OrchestrationContext, steps: Vec<Step>) -> Playing {
    Box::pin(async move {
        let mut came = Vec::new();
        for step in steps {
            came.push(once(&ctx, step).await?);
        }
        Ok(came)
    })
}

async fn once(ctx: &OrchestrationContext, step: Step) -> Result<Came, String> {
    Ok(match step {
        Step::Call(call, attempts, span) => {
            let policy =
                RetryPolicy::new(attempts).with_backoff(BackoffStrategy::Fixed { delay: ms(70) });
            let policy = match span {
                Some(span) => policy.with_timeout(ms(span)),
                None => policy,
            };
            let called = ctx.schedule_activity_with_retry_typed::<_, u32>("Work", &call, policy);
            called.await.map_or(Came::Failed, Came::Number)
        }
        Step::Timer(span) => {
            ctx.schedule_timer(ms(span)).await;
            Came::Fired
        }
        Step::Wait(span) => {
            ctx.select2(ctx.schedule_wait("nobody"), ctx.schedule_timer(ms(span))).await;
            Came::Fired
        }
        Step::All(parts) => {
            let parts = parts.into_iter().map(|steps| play(ctx.clone(), steps)).collect();
            Came::All(ctx.join(parts).await.into_iter().collect::<Result<_, _>>()?)
        }
        Step::First(one, other) => {
            match ctx.select2(play(ctx.clone(), one), play(ctx.clone(), other)).await {
                Either2::First(came) => Came::First(true, came?),
                Either2::Second(came) => Came::First(false, came?),
            }
        }
        Step::Sub(steps) => Came::Sub(ctx.schedule_sub_orchestration_typed("Sub", &steps).await?),
    })
}

fn may_be(steps: &[Step], came: &[Came]) -> bool {
    steps.len() == came.len()
        && steps.iter().zip(came).all(|pair| match pair {
            (Step::Call(call, attempts, _), Came::Number(number)) => {
                call.number == *number && call.fails < *attempts
            }
            (Step::Call(call, attempts, span), Came::Failed) => {
                span.is_some() || call.fails >= *attempts
            }
            (Step::Timer(_) | Step::Wait(_), Came::Fired) => true,
            (Step::All(parts), Came::All(came)) => {
                parts.len() == came.len()
                    && parts.iter().zip(came).all(|(steps, came)| may_be(steps, came))
            }
            (Step::First(one, other), Came::First(is_one, came)) => {
                may_be(if *is_one { one } else { other }, came)
            }
            (Step::Sub(steps), Came::Sub(came)) => may_be(steps, came),
            _ => false,
        })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let call = (0..3_u32, 0..500_u64).prop_map(|(fails, takes)| Call {
        fails,
        takes: takes.saturating_sub(150),
        ..Call::default()
    });
    let span = prop_oneof![2 => Just(None), 1 => (1..400_u64).prop_map(Some)];
    let leaf = prop_oneof![
        4 => (call, 1..4_u32, span).prop_map(|(call, attempts, span)| Step::Call(call, attempts, span)),
        2 => (0..2_000_u64).prop_map(Step::Timer),
        1 => (0..1_000_u64).prop_map(Step::Wait),
    ];
    let step = leaf.prop_recursive(3, 16, 3, |inner| {
        let steps = || vec(inner.clone(), 0..3);
        prop_oneof![
            vec(steps(), 0..4).prop_map(Step::All),
            (steps(), steps()).prop_map(|(one, other)| Step::First(one, other)),
            steps().prop_map(Step::Sub),
        ]
    });
    vec(step, 0..4)
}

/// Gives each call a number of its own.
fn number(steps: &mut [Step], next: &mut u32) {
    for step in steps {
        *next += 1;
        match step {
            Step::Call(call, ..) => call.number = *next,
            Step::Timer(_) | Step::Wait(_) => {}
            Step::All(parts) => parts.iter_mut().for_each(|steps| number(steps, next)),
            Step::First(one, other) => {
                number(one, next);
                number(other, next);
            }
            Step::Sub(steps) => number(steps, next),
        }
    }
}

fn program() -> impl Strategy<Value = Program> {
    vec(steps(), 1..3).prop_map(|mut executions| {
        let mut next = 0;
        for steps in &mut executions {
            number(steps, &mut next);
        }
        Program { executions, came: Vec::new() }
    })
}

async fn live(program: &Program, crashes: &[u64], cached: usize) {
    let calls = Calls::default();
    let activities = ActivityRegistry::builder()
        .register_typed("Work", move |ctx, call: Call| work(Arc::clone(&calls), ctx, call));
    let orchestrations = OrchestrationRegistry::builder()
        .register_typed("Chain", chain)
        .register_typed("Sub", play)
        .build();
    let build = move |app: steadfast::AppBuilder| app.cached_workflows(cached);
    let mut stage = Stage::built(&activities.build(), orchestrations, build).await;
    let input = serde_json::to_string(program).expect("a program can be written");
    stage.start("Chain", &input).await;
    for span in crashes {
        stage.env.wait(ms(*span)).await;
        stage.env.crash().await.expect("it starts again");
    }
    let came = stage.result().await.expect("it succeeds");
    let came: Vec<Vec<Came>> = serde_json::from_str(&came).expect("what came of it");
    assert_eq!(came.len(), program.executions.len());
    for (steps, came) in program.executions.iter().zip(&came) {
        assert!(may_be(steps, came), "{came:?}");
    }
    stage.replays().await;
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_an_orchestration_does_it_survives_crashes_and_replays(
        program in program(),
        crashes in vec(prop_oneof![0..20_u64, 0..1_500_u64], 0..5),
        cached in prop_oneof![Just(0_usize), Just(1), Just(1_000)],
    ) {
        on_virtual_time(live(&program, &crashes, cached));
    }
}
