//! The workflows that carry a program out, and their activity.

use std::{pin::Pin, time::Duration};

use steadfast::{
    ActivityContext, Cancelled, Failure, RetryPolicy, StateCell, WorkflowContext, join_all,
};

use super::program::{Came, Program, Step, Work};

pub(crate) async fn chain(
    ctx: WorkflowContext,
    mut program: Program,
) -> Result<Vec<Vec<Came>>, Failure> {
    ctx.on_query("echo", |number: u32| number);
    ctx.on_update("work", |ctx: WorkflowContext, it: Work| async move {
        ctx.activity(work, it).retry(policy()).await
    });
    if program.came.len() < program.runs.len() {
        let steps = program.runs[program.came.len()].clone();
        program.came.push(play(ctx.clone(), steps).await?);
    }
    ctx.handlers_done().await;
    if program.came.len() < program.runs.len() {
        return ctx.continue_as_new(&program);
    }
    Ok(program.came)
}

pub(crate) async fn child(ctx: WorkflowContext, steps: Vec<Step>) -> Result<Vec<Came>, Failure> {
    play(ctx, steps).await
}

pub(crate) async fn tell(
    ctx: WorkflowContext,
    (whom, number): (String, u32),
) -> Result<(), Failure> {
    ctx.external(whom).signal(&signal(number), &number).await
}

fn signal(number: u32) -> String {
    format!("signal-{number}")
}

type Playing = Pin<Box<dyn Future<Output = Result<Vec<Came>, Failure>> + Send>>;

fn play(ctx: WorkflowContext, steps: Vec<Step>) -> Playing {
    Box::pin(async move {
        let mut came = Vec::new();
        for step in steps {
            came.push(once(&ctx, step).await?);
        }
        Ok(came)
    })
}

async fn once(ctx: &WorkflowContext, step: Step) -> Result<Came, Failure> {
    Ok(match step {
        Step::Work(it) => {
            let call = ctx.activity(work, it).on_cancel(it.leaving.into());
            Came::Number(call.retry(policy()).await?)
        }
        Step::Local(it) => {
            let call = ctx.local_activity(work, it).on_cancel(it.leaving.into());
            Came::Number(call.retry(policy()).await?)
        }
        Step::Detached(it) => {
            ctx.activity(work, it).retry(policy()).start().detach();
            Came::Number(it.number)
        }
        Step::Sleep(span) => {
            ctx.sleep(millis(span)).await?;
            Came::Slept
        }
        Step::Until(span) => until(ctx, span).await?,
        Step::All(parts) => {
            let parts = parts.into_iter().map(|steps| play(ctx.clone(), steps));
            Came::All(join_all(parts).await.into_iter().collect::<Result<_, _>>()?)
        }
        Step::First(one, other) => steadfast::select! {
            came = play(ctx.clone(), one) => Came::First(true, came?),
            came = play(ctx.clone(), other) => Came::First(false, came?),
        },
        Step::Cancelled(steps, span) => cancelled(ctx, steps, span).await?,
        Step::Child(steps, leaving) => {
            Came::Child(ctx.child(child, &steps).on_cancel(leaving.into()).await?)
        }
        Step::Handle(steps, span) => {
            let begun = ctx.child(child, &steps).start().await?;
            ctx.sleep(millis(span)).await?;
            Came::Child(begun.result().await?)
        }
        Step::Undone(steps, undo) => {
            let mut saga = ctx.saga().retry(policy());
            saga.compensate_with(work, undo);
            let came = play(ctx.clone(), steps).await;
            saga.compensate().await?;
            Came::All(vec![came?])
        }
        Step::Signal(number) => {
            let mut heard = ctx.signals::<u32>(signal(number));
            ctx.child(tell, &(ctx.info().workflow_id, number)).await?;
            Came::Number(heard.receive().await?)
        }
        Step::Effect(number) => Came::Number(ctx.side_effect(|| number)?),
        Step::Patch(number) => {
            assert!(ctx.patched(&format!("patch-{number}")), "it is new code all along");
            Came::Number(number)
        }
    })
}

async fn until(ctx: &WorkflowContext, span: u64) -> Result<Came, Failure> {
    let gate = StateCell::new(false);
    let opened = gate.clone();
    let opening = async {
        let slept = ctx.sleep(millis(span)).await;
        gate.set(true);
        slept
    };
    let (slept, ()) = steadfast::join!(opening, ctx.until(move || opened.get()));
    slept?;
    Ok(Came::Slept)
}

async fn cancelled(ctx: &WorkflowContext, steps: Vec<Step>, span: u64) -> Result<Came, Failure> {
    let scope = ctx.scope();
    let playing = play(WorkflowContext::clone(&scope), steps);
    let cancelling = async {
        ctx.sleep(millis(span)).await?;
        scope.cancel();
        Ok::<_, Failure>(())
    };
    let (came, slept) = steadfast::join!(playing, cancelling);
    slept?;
    match came {
        Ok(came) => Ok(Came::Cancelled(Some(came))),
        Err(failure) if failure.is_cancelled() => Ok(Came::Cancelled(None)),
        Err(failure) => Err(failure),
    }
}

pub(crate) async fn work(ctx: ActivityContext, work: Work) -> Result<u32, Failure> {
    #[expect(clippy::disallowed_methods, reason = "time is virtual")]
    let working = tokio::time::sleep(millis(work.takes));
    tokio::select! {
        biased;
        () = ctx.cancelled(), if work.heeds => return Err(Cancelled.into()),
        () = working => {}
    }
    if ctx.attempt() <= work.fails {
        return Err(Failure::new("planned"));
    }
    Ok(work.number)
}

fn policy() -> RetryPolicy {
    let policy = RetryPolicy::new().unlimited_attempts().unlimited_duration();
    policy.initial_interval(millis(50)).max_interval(millis(400))
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
