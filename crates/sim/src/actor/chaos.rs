//! The one who breaks things: crashes, stops, bad disks, clocks that are set wrong.

use std::{sync::Arc, time::Duration};

use crate::{chance::Chance, oracle::Glance, world::World};

/// Breaks things for a while, then leaves the machine running and everything whole.
pub(super) async fn run(world: Arc<World>) {
    let mut chance = world.chance.child("chaos");
    let span = chance.millis(20_000, 60_000);
    // One seed in eight is a quiet one: what fails then is no fault's fault.
    let quiet = chance.percent(12);
    while world.clock.elapsed() < span {
        world.wait(chance.millis(500, 8_000)).await;
        if !quiet {
            break_something(&world, &mut chance).await;
        }
    }
    world.faults.end();
    world.note("chaos", "over");
}

async fn break_something(world: &World, chance: &mut Chance) {
    match chance.below(10) {
        0..=3 => {
            let glance = Glance::at(world, &format!("w{}", chance.below(8))).await;
            world.note("chaos", "crash");
            world.host.crash().await;
            restart(world, chance).await;
            if let Some(glance) = glance {
                glance.again(world).await;
            }
        }
        4 => {
            world.note("chaos", "stop");
            world.host.stop().await;
            restart(world, chance).await;
        }
        5..=7 => {
            let (writes, reads) = (chance.between(0, 90), chance.between(0, 90));
            world.note("chaos", &format!("disk writes={writes}% reads={reads}%"));
            world.faults.burst(writes, reads);
            world.wait(chance.millis(200, 6_000)).await;
            world.faults.burst(0, 0);
        }
        8 => jump(world, i64::try_from(chance.between(1, 120_000)).unwrap_or(0)),
        _ => jump(world, -i64::try_from(chance.between(1, 20_000)).unwrap_or(0)),
    }
}

async fn restart(world: &World, chance: &mut Chance) {
    if chance.percent(50) {
        world.wait(chance.millis(1, 4_000)).await;
    }
    if chance.percent(30) {
        world.faults.burst(chance.between(0, 60), chance.between(0, 60));
    }
    world.host.start().await;
    world.note("chaos", "up");
    world.wait(Duration::from_millis(chance.between(0, 500))).await;
    world.faults.burst(0, 0);
}

fn jump(world: &World, millis: i64) {
    world.note("chaos", &format!("clock {millis} ms"));
    world.clock.jump(millis);
}
