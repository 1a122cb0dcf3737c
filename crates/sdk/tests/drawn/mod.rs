//! Workflows that are drawn by lot, with the plug pulled at any moment: each comes to an end that its
//! program allows, never fails a task on the way, and replays.

mod play;
mod program;

use std::time::Duration;

use proptest::{collection::vec, prelude::*};
use steadfast::{
    AppBuilder, ClientError, Replayer, WorkflowError, WorkflowHandle,
    proto::{
        enums::WorkflowTaskFailedCause,
        history::{
            HistoryEvent, WorkflowTaskFailedEventAttributes as Failed, history_event::Attributes,
        },
    },
    testing::TestEnv,
};

use crate::common::on_virtual_time;
use play::{chain, child, millis, tell, work};
use program::{Came, Program, Work, may_be, program, some_work};

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
    /// A signal that nobody listens to: a task for nothing.
    Signal,
    Query(u32),
    Update(Work),
    Cancel,
}

fn blows() -> impl Strategy<Value = Vec<Blow>> {
    let after = prop_oneof![0..20_u64, 0..3_000_u64];
    let what = prop_oneof![
        6 => Just(What::Crash),
        2 => Just(What::Restart),
        2 => Just(What::Signal),
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
        What::Signal => match run(env).signal("noise", &()).await {
            Ok(()) | Err(ClientError::NotFound(_)) => {}
            Err(error) => panic!("a signal is taken: {error}"),
        },
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
        on_virtual_time(live(&program, &blows, cached));
    }
}
