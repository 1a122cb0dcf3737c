//! The plug is pulled just before and just after every write of a small world: each work comes to the
//! same one end.

use steadfast_sim::{Cut, pull_the_plug, writes};

#[test]
fn everything_ends_the_same_wherever_the_plug_is_pulled() {
    let straight = writes();
    insta::assert_snapshot!(straight.text, @r#"
    listener: open
    fails: step failed completed "given up"
    parks-1: step done completed "done"
    parks-2: step done completed "done"
    expires: step failed completed "given up"
    buried: step failed completed "given up"
    returns: step done completed "done"
    starts-over: step done completed "done" / step failed failed
    job: Completed, 2 of 2 resumed, 0 refused, 2 succeeded, 0 failed again
    resumed by operator: 2, 1 at most each
    resumed by returns: 1, 1 at most each
    error: buried dead
    signal: buried dead
    signal: expires parked
    signal: parks-1 parked
    signal: parks-2 parked
    signal: returns parked
    document: buried dead
    document: expires parked
    document: parks-1 parked
    document: parks-2 parked
    document: returns parked
    "#);
    assert!(straight.writes > 30, "{} writes", straight.writes);
    let check = |write: u64| {
        for cut in [Cut::Before, Cut::After] {
            let ended = pull_the_plug(write, cut);
            assert_eq!(ended.text, straight.text, "pulled {cut:?} write {write}");
            assert_eq!(ended.starts, 2, "pulled {cut:?} write {write}");
        }
    };
    // Each world is a thread's own, so that several can be run at once.
    std::thread::scope(|scope| {
        for first in 0..THREADS {
            let writes = (1..=straight.writes).skip(first).step_by(THREADS);
            scope.spawn(|| writes.for_each(check));
        }
    });
}

const THREADS: usize = 4;
