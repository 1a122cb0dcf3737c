//! Seeds that found something once. What they found is in their names.

use steadfast_sim::{Disk, Part, Scenario, simulate, simulate_in};

/// Seeds from before many were resumed at once, and somebody was told of failures.
fn is_good_without_foreman(seed: u64) {
    is_good_in(seed, Scenario { without: &LATER, ..Scenario::default() });
}

/// Seeds from before there were stewards: with one, they would be other stories.
fn is_good_without_steward(seed: u64) {
    let without = &[Part::Steward, Part::Planner, Part::Cleaner, Part::OwnWorkers, Part::File];
    is_good_in(seed, Scenario { without, ..Scenario::default() });
}

/// What came later.
const LATER: [Part; 5] =
    [Part::Foreman, Part::Planner, Part::Cleaner, Part::OwnWorkers, Part::File];

fn is_good_in(seed: u64, scenario: Scenario) {
    let report = simulate_in(seed, false, scenario);
    assert!(report.faults.is_empty(), "{:#?}\n{}", report.faults, report.histories);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(simulate(4, false).log, simulate(4, false).log);
}

#[test]
fn a_disk_that_loses_parts_of_commits_is_found_out() {
    let torn = Scenario { disk: Disk::Torn, ..Scenario::default() };
    let found = (1..=8).filter(|seed| !simulate_in(*seed, false, torn).faults.is_empty());
    // In a seed in which little happens, what is lost may not have mattered.
    assert!(found.count() >= 6, "most seeds lose something that was promised");
}

#[test]
fn workers_die_with_the_process_and_write_with_their_results() {
    let reports: Vec<_> = (1..=12).map(|seed| simulate(seed, false)).collect();
    for report in &reports {
        assert!(report.faults.is_empty(), "{:#?}\n{}", report.faults, report.histories);
    }
    assert!(reports.iter().any(|it| it.lost_attempts > 0), "some are lost");
    assert!(reports.iter().any(|it| it.effects > 0), "some write");
}

#[test]
fn seed_121_a_deadline_is_on_its_way_to_the_disk_while_its_page_is_read() {
    is_good_without_steward(121);
}

#[test]
fn seed_172_a_refused_completion_asks_for_the_next_task() {
    is_good_without_steward(172);
}

#[test]
fn seed_219_a_start_is_repeated_after_its_run_continued_as_new() {
    is_good_without_steward(219);
}

#[test]
fn seed_252_the_rest_of_a_history_is_read_after_its_task_is_over() {
    is_good_without_steward(252);
}

#[test]
fn seed_5239_a_worker_refuses_an_update_that_a_crash_has_lost() {
    is_good_without_steward(5239);
}

#[test]
fn seed_1019_poison_that_is_given_up_is_not_in_progress() {
    is_good_without_foreman(1019);
}

#[test]
fn seed_11424_a_run_is_deleted_while_it_is_read() {
    is_good_in(11_424, Scenario::default());
}
