//! Workflows that are drawn by lot, with the plug pulled at any moment: each comes to an end that its
//! program allows, never fails a task on the way, and replays.

use std::{future::Future, pin::Pin, time::Duration};

use proptest::{collection::vec, prelude::*};
use serde::{Deserialize, Serialize};
use steadfast::{
    ActivityContext, AppBuilder, ClientError, Failure, OnCancel, Replayer, RetryPolicy,
    WorkflowContext, WorkflowError, WorkflowHandle, join_all,
    proto::enums::WorkflowTaskFailedCause,
    proto::history::{
        HistoryEvent, WorkflowTaskFailedEventAttributes as Failed, history_event::Attributes,
    },
    testing::TestEnv,
};

/// What a workflow does, one after the other.
#[derive(Clone, Debug, Deserialize, Serialize)]
enum Step {
    /// An activity.
    Work(Work),
    /// A local one.
    Local(Work),
    Sleep(u64),
    /// Several things at once, all of which are waited for.
    All(Vec<Vec<Self>>),
    /// Two things at once, of which the first counts and the other is cancelled.
    First(Vec<Self>, Vec<Self>),
    /// Something that is cancelled after so many milliseconds, and waited for all the same.
    Cancelled(Vec<Self>, u64),
    Child(Vec<Self>, Leaving),
    /// A child that sends a signal of its own name, and a wait for that.
    Signal(u32),
    /// What only the world knows: the same at every replay.
    Effect(u32),
    Patch(u32),
}

/// What an activity does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Work {
    number: u32,
    /// How many attempts fail before one succeeds.
    fails: u32,
    /// How long each takes, in milliseconds.
    takes: u64,
    leaving: Leaving,
}

/// What a cancellation does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
enum Leaving {
    Try,
    Wait,
    Abandon,
}

impl From<Leaving> for OnCancel {
    fn from(leaving: Leaving) -> Self {
        match leaving {
            Leaving::Try => Self::Try,
            Leaving::Wait => Self::Wait,
            Leaving::Abandon => Self::Abandon,
        }
    }
}

/// What a step came to.
#[derive(Clone, Debug, Deserialize, Serialize)]
enum Came {
    Number(u32),
    Slept,
    All(Vec<Vec<Self>>),
    /// Whether it was the one or the other.
    First(bool, Vec<Self>),
    /// Nothing, if it was cancelled before its end.
    Cancelled(Option<Vec<Self>>),
    Child(Vec<Self>),
}

/// Steps for each run of a chain, and what came of those of the runs before.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Program {
    runs: Vec<Vec<Step>>,
    came: Vec<Vec<Came>>,
}

async fn chain(ctx: WorkflowContext, mut program: Program) -> Result<Vec<Vec<Came>>, Failure> {
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

async fn child(ctx: WorkflowContext, steps: Vec<Step>) -> Result<Vec<Came>, Failure> {
    play(ctx, steps).await
}

async fn tell(ctx: WorkflowContext, (whom, number): (String, u32)) -> Result<(), Failure> {
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
        Step::Sleep(span) => {
            ctx.sleep(millis(span)).await?;
            Came::Slept
        }
        Step::All(parts) => {
            let parts = parts.into_iter().map(|steps| play(ctx.clone(), steps));
            Came::All(join_all(parts).await.into_iter().collect::<Result<_, _>>()?)
        }
        Step::First(one, other) => steadfast::select! {
            came = play(ctx.clone(), one) => Came::First(true, came?),
            came = play(ctx.clone(), other) => Came::First(false, came?),
        },
        Step::Cancelled(steps, span) => {
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
                Ok(came) => Came::Cancelled(Some(came)),
                Err(failure) if failure.is_cancelled() => Came::Cancelled(None),
                Err(failure) => return Err(failure),
            }
        }
        Step::Child(steps, leaving) => {
            Came::Child(ctx.child(child, &steps).on_cancel(leaving.into()).await?)
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

async fn work(ctx: ActivityContext, work: Work) -> Result<u32, Failure> {
    #[expect(clippy::disallowed_methods, reason = "time is virtual")]
    tokio::time::sleep(millis(work.takes)).await;
    if ctx.attempt() <= work.fails {
        return Err(Failure::new("planned"));
    }
    Ok(work.number)
}

fn policy() -> RetryPolicy {
    let policy = RetryPolicy::new().unlimited_attempts().unlimited_duration();
    policy.initial_interval(millis(50)).max_interval(millis(400))
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Whether steps may have come to this.
fn may_be(steps: &[Step], came: &[Came]) -> bool {
    let pairs = steps.iter().zip(came);
    steps.len() == came.len()
        && pairs.into_iter().all(|pair| match pair {
            (Step::Work(it) | Step::Local(it), Came::Number(number)) => it.number == *number,
            (Step::Signal(it) | Step::Effect(it) | Step::Patch(it), Came::Number(number)) => {
                it == number
            }
            (Step::Sleep(_), Came::Slept) | (Step::Cancelled(..), Came::Cancelled(None)) => true,
            (Step::All(parts), Came::All(came)) => {
                parts.len() == came.len()
                    && parts.iter().zip(came).all(|(steps, came)| may_be(steps, came))
            }
            (Step::First(one, other), Came::First(is_one, came)) => {
                may_be(if *is_one { one } else { other }, came)
            }
            (Step::Cancelled(steps, _), Came::Cancelled(Some(came)))
            | (Step::Child(steps, _), Came::Child(came)) => may_be(steps, came),
            _ => false,
        })
}

fn leaving() -> impl Strategy<Value = Leaving> {
    prop_oneof![Just(Leaving::Try), Just(Leaving::Wait), Just(Leaving::Abandon)]
}

fn some_work() -> impl Strategy<Value = Work> {
    (0..4_u32, 0..800_u64, leaving()).prop_map(|(fails, takes, leaving)| Work {
        number: 0,
        fails: fails.saturating_sub(1),
        takes: takes.saturating_sub(200),
        leaving,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let leaf = prop_oneof![
        4 => some_work().prop_map(Step::Work),
        2 => some_work().prop_map(Step::Local),
        3 => (0..3_000_u64).prop_map(Step::Sleep),
        1 => Just(Step::Signal(0)),
        1 => Just(Step::Effect(0)),
        1 => Just(Step::Patch(0)),
    ];
    let step = leaf.prop_recursive(3, 20, 3, |inner| {
        let steps = || vec(inner.clone(), 0..3);
        prop_oneof![
            2 => vec(steps(), 0..4).prop_map(Step::All),
            2 => (steps(), steps()).prop_map(|(one, other)| Step::First(one, other)),
            2 => (steps(), 0..2_000_u64).prop_map(|(it, span)| Step::Cancelled(it, span)),
            1 => (steps(), leaving()).prop_map(|(it, leaving)| Step::Child(it, leaving)),
        ]
    });
    vec(step, 0..4)
}

/// Gives each step a number of its own.
fn number(steps: &mut [Step], next: &mut u32) {
    for step in steps {
        *next += 1;
        match step {
            Step::Work(it) | Step::Local(it) => it.number = *next,
            Step::Signal(it) | Step::Effect(it) | Step::Patch(it) => *it = *next,
            Step::Sleep(_) => {}
            Step::All(parts) => parts.iter_mut().for_each(|steps| number(steps, next)),
            Step::First(one, other) => {
                number(one, next);
                number(other, next);
            }
            Step::Cancelled(steps, _) | Step::Child(steps, _) => number(steps, next),
        }
    }
}

fn program() -> impl Strategy<Value = Program> {
    vec(steps(), 1..3).prop_map(|mut runs| {
        let mut next = 0;
        for steps in &mut runs {
            number(steps, &mut next);
        }
        Program { runs, came: Vec::new() }
    })
}

/// What happens after so many milliseconds.
#[derive(Clone, Copy, Debug)]
struct Blow {
    after: u64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The plug is pulled, and the process begins anew.
    Crash,
    /// The process is stopped as it should be, and begins anew.
    Restart,
    Query(u32),
    Update(Work),
    Cancel,
}

fn blows() -> impl Strategy<Value = Vec<Blow>> {
    let after = prop_oneof![0..20_u64, 0..3_000_u64];
    let what = prop_oneof![
        6 => Just(What::Crash),
        2 => Just(What::Restart),
        2 => any::<u32>().prop_map(What::Query),
        2 => some_work().prop_map(What::Update),
        1 => Just(What::Cancel),
    ];
    vec((after, what).prop_map(|(after, what)| Blow { after, what }), 0..6)
}

type Run = WorkflowHandle<Vec<Vec<Came>>>;

/// The workflow, whatever process runs it.
fn run(env: &TestEnv) -> Run {
    env.client().workflow("w")
}

async fn strike(env: &mut TestEnv, what: What) {
    match what {
        What::Crash => env.crash().await.expect("it starts again"),
        What::Restart => env.restart().await.expect("it starts again"),
        What::Query(number) => match run(env).query::<u32>("echo", &number).await {
            Ok(answer) => assert_eq!(answer, number),
            Err(error) if is_about_lost_tasks(&error) => {}
            Err(error) => panic!("a query is answered: {error}"),
        },
        What::Update(it) => match run(env).update::<u32>("work", &it).await {
            Ok(answer) => assert_eq!(answer, it.number),
            // It has ended, or is cancelled and the update with it.
            Err(ClientError::NotFound(_)) => {}
            Err(ClientError::Refused(failure)) if failure.is_cancelled() => {}
            Err(error) if is_about_lost_tasks(&error) => {}
            Err(error) => panic!("an update is done: {error}"),
        },
        What::Cancel => match run(env).cancel().await {
            Ok(()) | Err(ClientError::NotFound(_)) => {}
            Err(error) => panic!("a request to cancel is taken: {error}"),
        },
    }
}

/// Whether so many tasks in a row ended with their process that nothing is asked of the code before it has
/// answered one.
fn is_about_lost_tasks(error: &ClientError) -> bool {
    error.to_string().contains("Workflow Task in failed state")
}

async fn live(program: &Program, blows: &[Blow], cached: usize) {
    let build = move |app: AppBuilder| {
        let app = app.workflow(chain).workflow(child).workflow(tell).activity(work);
        app.cached_workflows(cached)
    };
    let mut env = TestEnv::start(build).await.expect("it starts");
    env.client().start(chain, program).id("w").await.expect("it begins");
    for blow in blows {
        env.wait(millis(blow.after)).await;
        strike(&mut env, blow.what).await;
    }
    let run = run(&env);
    #[expect(clippy::disallowed_methods, reason = "time is virtual")]
    let came = tokio::time::timeout(Duration::from_secs(3_600), run.result()).await;
    match came.expect("it ends") {
        Ok(came) => {
            assert_eq!(came.len(), program.runs.len());
            for (steps, came) in program.runs.iter().zip(&came) {
                assert!(may_be(steps, came), "{came:?}");
            }
        }
        Err(WorkflowError::Cancelled) => {
            assert!(
                blows.iter().any(|it| matches!(it.what, What::Cancel)),
                "somebody wanted it so"
            );
        }
        Err(error) => panic!("it fails: {error}"),
    }
    for run in env.client().list("").await.expect("a list") {
        let run = run.execution.expect("a run");
        let run = env.client().workflow::<()>(run.workflow_id).run(run.run_id);
        let history = run.history().await.expect("a history");
        assert_eq!(faults(&history), [""; 0]);
        let replayer = Replayer::new().workflow(chain).workflow(child).workflow(tell);
        replayer.replay(history).expect("it replays");
    }
}

/// Tasks that failed of what the workflow did: not of what happened while it ended, nor with the process.
fn faults(history: &[HistoryEvent]) -> Vec<String> {
    let failed = history.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(it)) => Some(it),
        _ => None,
    });
    let failed = failed.filter(|it| it.cause() != WorkflowTaskFailedCause::UnhandledCommand);
    let message = |it: &Failed| it.failure.as_ref().map(|it| it.message.clone());
    failed
        .filter_map(|it| message(it))
        .filter(|it| !it.starts_with("the process that ran"))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_workflow_does_it_survives_crashes_and_replays(
        program in program(),
        blows in blows(),
        cached in prop_oneof![Just(0_usize), Just(1), Just(1_000)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(live(&program, &blows, cached));
    }
}
