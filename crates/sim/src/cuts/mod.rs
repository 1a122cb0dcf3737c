//! A small fixed world, run once for each of its writes to the disk, with the plug pulled just before
//! that write or just after it. Whatever the moment, everything must come to the same end.
//!
//! ```text
//!  straight through ──▶ N writes, and how it ended
//!  for each write: pulled before it ──▶ the same end     pulled after it ──▶ the same end
//! ```

mod ending;
mod story;
mod workers;

use std::sync::Arc;

use crate::{clock, faults::Cut, scenario::Scenario, world::World};

/// How a small world ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// What became of everything, line by line.
    pub text: String,
    /// How many writes there were.
    pub writes: u64,
    /// How often the process was begun.
    pub starts: u64,
}

/// How many writes the world makes when nobody pulls the plug, and how it ends.
pub fn writes() -> Outcome {
    run(None)
}

/// How it ends if the plug is pulled at a write, counted from 1.
pub fn pull_the_plug(write: u64, cut: Cut) -> Outcome {
    run(Some((write, cut)))
}

fn run(cut: Option<(u64, Cut)>) -> Outcome {
    clock::run(async {
        let world = Arc::new(World::new(SEED, false, Scenario::bare()));
        if let Some((write, cut)) = cut {
            world.faults.cut_at(write, cut);
        }
        drop(tokio::spawn(put_the_plug_back(Arc::clone(&world))));
        // Beside everything else: the plug may be pulled at the very first writes, those of the start.
        let begun = Arc::clone(&world);
        drop(tokio::spawn(async move { begun.host.start().await }));
        workers::spawn(&world);
        story::tell(&world).await;
        let text = ending::of(&world).await;
        Outcome { text, writes: world.faults.writes_seen(), starts: world.host.starts() }
    })
}

/// Whenever the plug is pulled, the process is gone, and another one begins.
async fn put_the_plug_back(world: Arc<World>) {
    loop {
        world.faults.are_pulled().await;
        world.host.crash().await;
        world.host.start().await;
    }
}

/// Whatever is drawn is drawn alike each time.
const SEED: u64 = 1;
