//! Seeds that found something once. What they found is in their names.

use steadfast_sim::{Disk, simulate, simulate_on};

fn is_good(seed: u64) {
    let report = simulate(seed, false);
    assert!(report.faults.is_empty(), "{:#?}\n{}", report.faults, report.histories);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(simulate(4, false).log, simulate(4, false).log);
}

#[test]
fn a_disk_that_loses_parts_of_commits_is_found_out() {
    let found = (1..=8).filter(|seed| !simulate_on(*seed, false, Disk::Torn).faults.is_empty());
    // In a seed in which little happens, what is lost may not have mattered.
    assert!(found.count() >= 6, "most seeds lose something that was promised");
}

#[test]
fn seed_121_a_deadline_is_on_its_way_to_the_disk_while_its_page_is_read() {
    is_good(121);
}

#[test]
fn seed_172_a_refused_completion_asks_for_the_next_task() {
    is_good(172);
}

#[test]
fn seed_219_a_start_is_repeated_after_its_run_continued_as_new() {
    is_good(219);
}

#[test]
fn seed_252_the_rest_of_a_history_is_read_after_its_task_is_over() {
    is_good(252);
}

#[test]
fn seed_5239_a_worker_refuses_an_update_that_a_crash_has_lost() {
    is_good(5239);
}
