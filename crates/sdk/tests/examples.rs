//! The examples do what their pages say. They are the programs that cargo has built; nothing is
//! built here.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
};

#[test]
fn hello_is_paid_at_the_third_attempt() {
    let said = run("hello", &[]);
    assert_eq!(
        said,
        "attempt 1 to charge order 17\n\
         attempt 2 to charge order 17\n\
         attempt 3 to charge order 17\n\
         order 17 is paid\n"
    );
}

#[test]
fn e_70_the_retry_program_behaves_as_described() {
    let said = run("order_retry", &[]);
    let times = |activity: &str| -> Vec<f64> {
        let lines = said.lines().filter(|line| line.contains(activity));
        lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
    };
    let waits = |activity: &str| -> Vec<f64> {
        times(activity).windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    // Printed times are rounded to hundredths.
    let at_least = |found: &[f64], wanted: &[f64]| {
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| *a >= b - 0.015)
    };
    assert!(at_least(&waits("call_flaky_api"), &[1.0, 2.0]), "{said}");
    assert!(at_least(&waits("process_critical_payment"), &[0.5, 0.75, 1.125]), "{said}");
    assert_eq!(times("validate_user").len(), 1, "{said}");
    assert!(said.contains("failed, not retried: User invalid_user not found"), "{said}");
    assert_eq!(times("  place_order").len(), 3, "{said}");
    assert_eq!(times("notify_failure").len(), 1, "{said}");
    let exhausted = "Activity place_order failed after 3 attempts: Max attempts (3) reached; \
                     caused by ConnectionError: Order service unavailable";
    assert!(said.contains(exhausted), "{said}");
    let kept = "in history: attempt 3, after Some(ConnectionError: Network timeout)";
    assert!(said.contains(kept), "{said}");
}

#[test]
fn e_70_the_compensation_program_behaves_as_described() {
    assert_eq!(
        run("order_saga", &[]),
        r#"ORDER-SUCCESS: 2 of SKU-123
  reserve_inventory, attempt 1
  reserve_inventory, attempt 2
  process_payment, attempt 1
  process_payment, attempt 2
  process_payment, attempt 3
  ORDER-SUCCESS is complete
ORDER-FAIL: 1 of SKU-456
  reserve_inventory, attempt 1
  reserve_inventory, attempt 2
  process_payment, attempt 1
  process_payment, attempt 2
  process_payment, attempt 3
  ship_order, attempt 1
  ship_order, attempt 2
  ship_order, attempt 3
  undo: refund_payment, attempt 1
  undo: cancel_reservation, attempt 1
  failed: Activity ship_order failed after 3 attempts: Max attempts (3) reached
ORDER-TERMINAL: 100 of INVALID-SKU
  reserve_inventory, attempt 1
  reserve_inventory, attempt 2
  failed: Insufficient inventory for INVALID-SKU (need 100, have 0)
stock: {"SKU-123": 8, "SKU-456": 5}
"#
    );
}

#[test]
fn e_65_presets_are_kept_to_where_a_policy_is_taken() {
    let said = run("retry_tour", &[]);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("attempts at")).collect();
    assert_eq!(
        lines,
        [
            "attempts at 0.0 1.0 3.0 7.0 15.0 s",
            "attempts at 0.0 0.1 0.3 0.5 0.8 1.3 2.1 3.2 4.9 7.5 s",
            "attempts at 0.0 5.0 15.0 s",
            "attempts at 0.0 1.0 3.0 7.0 15.0 31.0 63.0 123.0 183.0 s",
            "attempts at 0.0 1.0 3.0 7.0 15.0 31.0 63.0 127.0 227.0 s",
        ],
        "{said}"
    );
    assert!(said.contains("survives an outage of  15s"), "{said}");
    assert!(said.contains("warning: neither attempts nor time are limited"), "{said}");
}

#[test]
fn a_copy_goes_on_at_its_last_heartbeat_after_sigkill() {
    let said = run("heartbeat_resume", &[]);
    assert!(said.contains("attempt 1 begins at 0%\n  50%: kill -9\nsecond life"), "{said}");
    let percent = said.lines().find_map(|line| line.strip_prefix("  attempt 2 begins at "));
    let percent: u64 = percent.and_then(|it| it.strip_suffix('%')?.parse().ok()).expect(&said);
    assert!((1..=50).contains(&percent), "{said}");
    assert!(said.ends_with("the copy is the same: true\n"), "{said}");
}

#[test]
fn an_approval_is_waited_for_but_not_for_ever() {
    let said = run("approval", &[]);
    assert_eq!(
        said,
        "train to Gent: waiting for a decision\n\
         paying 84 euros for train to Gent\n\
         train to Gent: paid, approved by Ada\n\
         yacht: rejected by Ada: it rains in Gent\n\
         chair: nobody decided in time\n"
    );
}

#[test]
fn a_report_is_written_again_and_again_by_runs_of_its_own() {
    let said = run("cron", &[]);
    let mut runs: Vec<&str> = said.lines().filter(|line| line.starts_with("a report")).collect();
    assert!(runs.len() >= 3, "{said}");
    let all = runs.len();
    runs.dedup();
    assert_eq!(runs.len(), all, "{said}");
    assert!(said.ends_with("the workflow was terminated: three are enough\n"), "{said}");
}

#[test]
fn a_schedule_is_triggered_filled_in_paused_and_deleted() {
    assert_eq!(
        run("schedule", &[]),
        "acts next on 10 mornings that are known\n\
         triggered: report 1\n\
         filled in: report 6\n\
         paused: true, because the printer is broken\n\
         schedules left: 0\n"
    );
}

#[test]
fn lookups_are_part_of_a_step() {
    let said = run("local_activity", &[]);
    assert!(said.contains("the price of the lamp, attempt 2\n"), "{said}");
    let (_, history) = said.split_once("14 euros are paid\n").expect(&said);
    let markers = history.lines().filter(|line| line.trim() == "MarkerRecorded").count();
    let tasks = history.lines().filter(|line| line.trim() == "WorkflowTaskCompleted").count();
    assert_eq!((markers, tasks), (3, 2), "{said}");
}

#[test]
fn a_cart_is_there_from_its_first_thing_on() {
    assert_eq!(
        run("shopping_cart", &[]),
        "Ada has 1\n\
         Ada has 2\n\
         Bob has 1\n\
         Bob cannot have a boat: too big\n\
         more than one thing: Ada\n\
         Ada ordered lamp and table\n\
         Bob ordered chair\n\
         open carts: 0\n"
    );
}

#[test]
fn a_thousand_activities_give_one_result() {
    let said = run("fan_out", &[]);
    assert!(said.starts_with("the squares of 1 to 1000 add up to 333833500\n"), "{said}");
}

#[test]
fn children_have_results_and_failures_of_their_own() {
    let said = run("children", &[]);
    assert_eq!(
        said,
        "table: on its way, number 5 in a box\n\
         lamp: not shipped, the lamp is broken\n\
         chairs: on its way, number 6 in a box\n\
         by itself: on its way, number 5 in a box\n"
    );
}

#[test]
fn a_running_workflow_goes_on_with_patched_code() {
    let said = run("versioning", &[]);
    let (told, refused) = said.split_once("without the patch: ").expect(&said);
    assert_eq!(
        told,
        "last year's code starts an order\n\
         today's code takes over\n\
         old is on its way, not insured\n\
         new is on its way, insured\n\
         today's code replays both histories\n"
    );
    assert!(refused.contains("insure") && refused.contains("pack"), "{refused}");
}

#[test]
fn e_67_e_68_steps_that_were_done_are_not_done_again_after_kill_9() {
    let said = run("crash_resume", &[]);
    let times = |line: &str| said.lines().filter(|it| it.trim().starts_with(line)).count();
    assert_eq!((times("reserve"), times("charge")), (1, 1), "{said}");
    let (_, second) = said.split_once("second life\n").expect(&said);
    assert_eq!(second, "  ship, attempt 2\n  order 17 is complete\n  exit status: 0\n");
    assert!(said.contains("signal: 9"), "{said}");
}

#[test]
fn a_program_for_duroxide_runs_moved_and_as_a_workflow() {
    let said = run("duroxide_migration", &[]);
    let (moved, native) = said.split_once("as a workflow\n").expect(&said);
    assert!(moved.contains("order 1 reserved, order 1 charged, approved by Ada"), "{said}");
    for event in ["OrchestrationStarted", "ActivityScheduled", "OrchestrationCompleted"] {
        assert!(moved.contains(event), "{event} in {said}");
    }
    assert_eq!(native, "  order 2 reserved, order 2 charged, approved by Ada\n");
}

#[test]
fn what_is_encrypted_is_read_with_its_keys_alone() {
    assert_eq!(
        run("encryption", &[]),
        "with the keys: 4929 0000 1234 5678 has paid 12 euros, as Ada allowed\n\
         without: input, 97 bytes, key spring\n\
         without: signal, 59 bytes, key autumn\n\
         without: result, 109 bytes, key autumn\n\
         the card's number is nowhere in the file\n"
    );
}

#[test]
fn an_example_can_be_run_again_on_the_same_data() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "approval",
        "children",
        "crash_resume",
        "fan_out",
        "local_activity",
        "order_saga",
        "schedule",
        "shopping_cart",
        "versioning",
    ] {
        let place = folder.path().join(name).display().to_string();
        run(name, &[&place]);
        run(name, &[&place]);
    }
}

#[test]
fn every_example_has_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let folders: Vec<PathBuf> = root
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|it| it.is_dir())
        .collect();
    assert!(!folders.is_empty());
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let page = std::fs::read_to_string(folder.join("README.md")).expect(&name);
        assert!(page.starts_with(&format!("# {name}\n")), "{name}");
        assert!(page.contains(&format!("--example {name}")), "{name}");
    }
}

/// Runs an example to its end, and gives what it said.
fn run(example: &str, args: &[&str]) -> String {
    let Output { status, stdout, stderr } =
        Command::new(program(example)).args(args).output().expect(example);
    let said = String::from_utf8(stdout).expect("text");
    let complained = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{example} {args:?}: {status}\n{said}\n{complained}");
    said
}

/// Cargo puts the examples beside the folder of the tests.
fn program(example: &str) -> PathBuf {
    let own = env::current_exe().expect("the path of this program");
    let built = own.parent().and_then(Path::parent).expect("a folder of builds");
    let program = built.join("examples").join(format!("{example}{}", env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{example} is not built: cargo build -p steadfast --examples");
    program
}
