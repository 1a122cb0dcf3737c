//! What happens in the small world: work that ends in each of the ways in which work can.

use std::time::Duration;

use steadfast_engine::{
    Code,
    failures::{
        EndingSetting, JobOrder, JobRate, JobState, NewResumeJob, Notify, Resume, Selection,
        Settings, SignalTarget, Who,
    },
};
use steadfast_proto::{common::WorkflowType, workflowservice as ws};
use steadfast_retry::{
    Ending,
    pattern::NamePattern,
    resume::{BackOffDraft, Draft, WORKFLOW},
};
use steadfast_store::{ErrorFilter, ErrorState};

use crate::{hook, host::Trouble, wire, world::World};

/// The workflows, each with its type. The types say what becomes of work that is given up.
pub(super) const WORKFLOWS: [(&str, &str); 8] = [
    (LISTENER, "Listener"),
    ("fails", "Fails"),
    ("parks-1", "Parks"),
    ("parks-2", "Parks"),
    ("expires", "Expires"),
    ("buried", "Buried"),
    ("returns", "Returns"),
    ("starts-over", "StartsOver"),
];

/// The workflow that hears of failures.
pub(super) const LISTENER: &str = "listener";

/// The bulk resume.
pub(super) const JOB: &str = "job";

/// From when on attempts succeed.
pub(super) const MENDED: Duration = Duration::from_secs(60);

/// Tells the whole story, and waits until nothing happens any more.
pub(super) async fn tell(world: &World) {
    must(world, "settings", |engine| async move {
        engine.set_failure_settings(wire::NAMESPACE, settings(), who()).await
    })
    .await;
    for (name, flow, action_type) in
        [("returns", "Returns", None), ("starts over", "StartsOver", Some(WORKFLOW))]
    {
        let draft = policy(name, flow, action_type);
        must(world, name, |engine| {
            let draft = draft.clone();
            async move {
                // It may be there: nobody heard that it was made.
                let book = engine.failure_book(wire::NAMESPACE)?;
                if book.resume_policies.iter().any(|it| Some(&it.name) == draft.name.as_ref()) {
                    return Ok(());
                }
                engine.create_resume_policy(wire::NAMESPACE, draft, who()).await.map(drop)
            }
        })
        .await;
    }
    for (workflow_id, kind) in WORKFLOWS {
        let request = start(workflow_id, kind);
        must(world, workflow_id, |engine| {
            let request = request.clone();
            async move { engine.start_workflow_execution(request).await.map(drop) }
        })
        .await;
    }
    world.wait(MENDED.saturating_sub(world.clock.elapsed())).await;
    resume_many(world).await;
    world.wait(Duration::from_secs(300)).await;
}

/// A bulk resume that is held for a while.
async fn resume_many(world: &World) {
    must(world, JOB, |engine| async move {
        match engine.start_resume_job(wire::NAMESPACE, job()).await {
            Err(error) if error.code == Code::AlreadyExists => Ok(()),
            begun => begun.map(drop),
        }
    })
    .await;
    for state in [JobState::Paused, JobState::Running] {
        must(world, "hold", |engine| async move {
            match engine.change_resume_job(wire::NAMESPACE, JOB, Some(state), None).await {
                // All had their turn before it could be held.
                Err(error) if error.code == Code::FailedPrecondition => Ok(()),
                changed => changed.map(drop),
            }
        })
        .await;
        world.wait(Duration::from_secs(3)).await;
    }
}

/// Calls until it is done: that the process was gone meanwhile is no excuse.
async fn must<F>(world: &World, what: &str, call: impl Fn(steadfast_engine::Engine) -> F)
where
    F: Future<Output = Result<(), steadfast_engine::Error>>,
{
    let done: Result<(), Trouble> = world.insist(40, call).await;
    if let Err(trouble) = done {
        world.ledger.fault("", format!("{what}: {trouble}"));
    }
}

fn settings() -> Settings {
    let ending = |kind: &str, ending, ttl, then| EndingSetting {
        workflow_type: NamePattern::new(kind).ok(),
        activity: None,
        ending,
        ttl,
        then,
    };
    let ttl = Some(Duration::from_secs(20));
    let signal = SignalTarget { workflow_id: LISTENER.to_owned(), name: "failure".to_owned() };
    Settings {
        endings: vec![
            ending("Parks", Ending::Park, None, Ending::Fail),
            ending("Expires", Ending::Park, ttl, Ending::Fail),
            ending("Buried", Ending::DeadLetter, None, Ending::Fail),
        ],
        notify: vec![Notify {
            on: Vec::new(),
            webhook: Some(hook::URL.to_owned()),
            signal: Some(signal),
        }],
        ..Settings::default()
    }
}

fn policy(name: &str, flow: &str, action_type: Option<&str>) -> Draft {
    Draft {
        name: Some(name.to_owned()),
        flow: Some(flow.to_owned()),
        action_type: action_type.map(str::to_owned),
        max_attempts: Some(10),
        back_off: Some(BackOffDraft { delay: Some(90), ..BackOffDraft::default() }),
        ..Draft::default()
    }
}

fn start(workflow_id: &str, kind: &str) -> ws::StartWorkflowExecutionRequest {
    ws::StartWorkflowExecutionRequest {
        namespace: wire::NAMESPACE.to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(WorkflowType { name: kind.to_owned() }),
        task_queue: Some(wire::queue(wire::QUEUE)),
        request_id: format!("start {workflow_id}"),
        workflow_task_timeout: wire::millis(2_000),
        ..ws::StartWorkflowExecutionRequest::default()
    }
}

fn job() -> NewResumeJob {
    let filter = ErrorFilter {
        workflow_type: Some("Parks".to_owned()),
        states: vec![ErrorState::Parked],
        ..ErrorFilter::default()
    };
    NewResumeJob {
        id: JOB.to_owned(),
        selection: Selection::Matching(filter),
        resume: Resume { who: who(), ..Resume::default() },
        canary: 1,
        rate: JobRate::Fixed(1.0),
        max_failures: 1.0,
        order: JobOrder::Oldest,
    }
}

fn who() -> Who {
    Who { identity: "operator".to_owned(), reason: "mended".to_owned() }
}
