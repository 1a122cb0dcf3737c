//! One simulation: faults for a while, then rest, then judgement.

use std::{sync::Arc, time::Duration};

use steadfast_proto::workflowservice as ws;

use crate::{
    actor, clock,
    ledger::Fault,
    oracle,
    scenario::{Disk, Scenario},
    wire,
    world::World,
};

/// What came of a seed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Everything that happened, line by line, and all histories at the end.
    pub log: String,
    /// The rules that were broken.
    pub faults: Vec<Fault>,
    /// The histories of the workflows that have to do with it.
    pub histories: String,
    /// How many runs there were.
    pub runs: usize,
    /// How many events they had.
    pub events: usize,
    /// How many faults of the disk there were.
    pub disk_faults: u64,
    /// How many attempts were lost with the process that their worker lived in.
    pub lost_attempts: usize,
    /// How many activities wrote something together with their result.
    pub effects: usize,
}

/// Runs the simulation of a seed; `shown` prints its log as it comes.
pub fn simulate(seed: u64, shown: bool) -> Report {
    simulate_in(seed, shown, Scenario::default())
}

/// As [`simulate`], in such a scenario.
pub fn simulate_in(seed: u64, shown: bool, scenario: Scenario) -> Report {
    clock::run(async {
        let world = Arc::new(World::new(seed, shown, scenario));
        if scenario.disk == Disk::Torn {
            world.faults.tear();
        }
        live(&world).await;
        judged(&world, seed).await
    })
}

/// From the first start until everything has come to rest.
async fn live(world: &Arc<World>) {
    world.host.start().await;
    for end in actor::spawn(world) {
        if let Err(error) = end.await {
            world.ledger.fault("", format!("an actor died: {error}"));
        }
    }
    actor::leave(world).await;
    come_to_rest(world).await;
    // Somebody who was not at home is still to be told.
    let latest = world.clock.elapsed() + TOLD_MAX;
    while world.host.owes_the_hook() && world.clock.elapsed() < latest {
        world.wait(Duration::from_secs(5)).await;
    }
    world.note("world", "at rest");
}

/// Waits until all runs are closed, and still are a while later: closed runs have something to say to
/// each other, and a job that nobody waits for may start one over.
async fn come_to_rest(world: &World) {
    let latest = world.clock.elapsed() + REST_MAX;
    let mut was_closed = false;
    loop {
        let open = oracle::open(world).await;
        if open.is_empty() && was_closed {
            return;
        }
        if world.clock.elapsed() > latest {
            for run in open {
                let workflow_id = run.execution.unwrap_or_default().workflow_id;
                world.ledger.fault(&workflow_id, "it is still open");
            }
            return;
        }
        for run in open.iter().filter_map(|run| run.execution.as_ref()) {
            // It may have closed meanwhile, or have nothing to let go.
            let _ = oracle::unpause(world, &run.workflow_id, &run.run_id).await;
        }
        if !open.is_empty() {
            actor::give_up(world).await;
            end_crons(world, &open).await;
        }
        was_closed = open.is_empty();
        world.wait(Duration::from_secs(5)).await;
    }
}

/// What is started again and again is ended by hand.
async fn end_crons(world: &World, open: &[steadfast_proto::workflow::WorkflowExecutionInfo]) {
    for info in open {
        let run = info.execution.clone().unwrap_or_default();
        let request = ws::TerminateWorkflowExecutionRequest {
            namespace: wire::NAMESPACE.to_owned(),
            workflow_execution: Some(run.clone()),
            reason: "cron".to_owned(),
            ..ws::TerminateWorkflowExecutionRequest::default()
        };
        if !is_cron(world, &run.workflow_id, &run.run_id).await {
            continue;
        }
        let end = world.insist(4, |engine| {
            let request = request.clone();
            async move { engine.terminate_workflow_execution(request).await }
        });
        // It may have closed meanwhile: its successor is met the next time.
        drop(end.await);
    }
}

async fn is_cron(world: &World, workflow_id: &str, run_id: &str) -> bool {
    oracle::started(world, workflow_id, run_id)
        .await
        .is_some_and(|started| !started.cron_schedule.is_empty())
}

async fn judged(world: &World, seed: u64) -> Report {
    let runs = oracle::read(world).await;
    oracle::count(world, &runs).await;
    oracle::check_attempts(world, &runs).await;
    oracle::check_lost(world, &runs).await;
    oracle::check_resumes(world, &runs).await;
    let errors = oracle::check_errors(world, &runs).await;
    let mut faults = oracle::judge(world, &runs);
    world.host.crash().await;
    world.host.start().await;
    let again = oracle::read(world).await;
    faults.extend(oracle::compare(&runs, &again));
    faults.extend(oracle::compare_errors(world, &errors).await);
    if world.host.has_lost_data() {
        let what = "the engine has lost its data".to_owned();
        faults.push(Fault { what, workflow_id: String::new() });
    }
    let mut shown: Vec<&str> = faults.iter().map(|fault| fault.workflow_id.as_str()).collect();
    shown.sort_unstable();
    shown.dedup();
    let histories: Vec<String> = shown.iter().map(|id| oracle::show(&runs, id)).collect();
    let everything = oracle::show_all(&runs);
    Report {
        seed,
        log: format!("{}\n{everything}", world.log.text()),
        histories: histories.join("\n"),
        runs: runs.len(),
        events: runs.values().map(|run| run.events.len()).sum(),
        disk_faults: world.faults.made(),
        lost_attempts: world.ledger.book().lost.len(),
        effects: world.host.disk().effects().len(),
        faults,
    }
}

/// How long everything may take to come to rest once faults are over.
const REST_MAX: Duration = Duration::from_secs(20 * 60);
/// Longer than the engine waits before it tells somebody again.
const TOLD_MAX: Duration = Duration::from_secs(6 * 60);
