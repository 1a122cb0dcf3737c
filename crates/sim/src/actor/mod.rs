//! Those who use the engine, and those who break things.

mod activity_worker;
mod chaos;
mod cleaner;
mod client;
mod foreman;
mod home;
mod operator;
mod planner;
mod steward;
mod workflow_worker;

use std::sync::Arc;

pub(crate) use steward::give_up;

use tokio::task::JoinHandle;

use crate::{scenario::Part, world::World};

/// Lets everybody loose. The first is the one who breaks things and the rest are clients: they end
/// when faults do. Workers go on for ever.
pub(crate) fn spawn(world: &Arc<World>) -> Vec<JoinHandle<()>> {
    let mut draw = world.chance.child("actors");
    for number in 0..draw.between(1, 3) {
        drop(tokio::spawn(workflow_worker::run(Arc::clone(world), number)));
    }
    for number in 0..draw.between(1, 3) {
        drop(tokio::spawn(activity_worker::run(Arc::clone(world), number)));
    }
    let mut ends = vec![tokio::spawn(chaos::run(Arc::clone(world)))];
    if draw.percent(50) {
        ends.push(tokio::spawn(operator::run(Arc::clone(world))));
    }
    if world.has(Part::Steward) {
        ends.push(tokio::spawn(steward::run(Arc::clone(world))));
    }
    if world.has(Part::Foreman) {
        ends.push(tokio::spawn(foreman::run(Arc::clone(world))));
    }
    if world.has(Part::Cleaner) {
        ends.push(tokio::spawn(cleaner::run(Arc::clone(world))));
    }
    if world.has(Part::Planner) {
        ends.push(tokio::spawn(planner::run(Arc::clone(world))));
    }
    for number in 0..draw.between(1, 5) {
        ends.push(tokio::spawn(client::run(Arc::clone(world), number)));
    }
    ends
}

/// Those who have said something take it back, so that the world can come to rest.
pub(crate) async fn leave(world: &World) {
    steward::leave(world).await;
    foreman::leave(world).await;
    planner::leave(world).await;
}
