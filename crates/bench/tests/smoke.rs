//! Every case runs, tiny.

use std::path::PathBuf;

use steadfast_bench::{
    args::{FailuresPlan, Plan, SdkPlan, Sizes, Sync},
    cases::{self, NAMES},
    failures, sdk,
};

#[tokio::test(flavor = "multi_thread")]
async fn every_case_tells_what_it_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path().to_owned());
    let mut told = 0;
    let lines = cases::run(&plan, &mut |_| told += 1).await.expect("all cases run");
    let names: Vec<&str> = lines.iter().map(|line| line.case.as_str()).collect();
    assert_eq!(names, NAMES);
    assert_eq!(told, NAMES.len());
    for line in &lines {
        assert!(line.throughput_per_s > 0.0, "{line}");
        let fields = serde_json::json!(line);
        for field in ["case", "system", "p50_ms", "p99_ms", "fsyncs_per_step", "rss_mib"] {
            assert!(!fields[field].is_null(), "{field} of {line}");
        }
    }
}

#[test]
fn every_case_of_the_sdk_tells_what_it_found() {
    let folder = tempfile::tempdir().expect("a folder");
    // The folder for the files is made if it is not there.
    let plan = plan(folder.path().join("new"));
    let program = Some(PathBuf::from(env!("CARGO_BIN_EXE_steadfast-bench-embedded")));
    let lines =
        sdk::run(&SdkPlan { plan, alone: true, program }, &mut |_| ()).expect("all cases run");
    let names: Vec<&str> = lines.iter().map(|line| line.case.as_str()).collect();
    assert_eq!(names, sdk::NAMES);
    for line in &lines {
        assert!(line.throughput_per_s > 0.0 && line.p50_ms > 0.0, "{line}");
    }
    let shown = sdk::ratios(&lines)["ratios"].clone();
    for name in ["chain_100_over_fdatasync_ms", "replay_10000_p50_ms", "cached_step_late_to_early"]
    {
        assert!(shown[name].is_number(), "{name} in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_of_failures_tells_what_it_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = FailuresPlan {
        json: false,
        dir: folder.path().to_owned(),
        sync: Sync::Normal,
        errors: 200,
        policies: 5,
        looks: 2,
        rate: 100,
    };
    let mut told = 0;
    let lines = failures::run(&plan, &mut |_| told += 1).await.expect("all cases run");
    assert_eq!(told, lines.len());
    for line in &lines {
        assert!(line.throughput_per_s > 0.0, "{line}");
    }
    let wanted = failures::wanted(&lines)["wanted"].clone();
    for name in ["match_policies_p50_us", "view_page_p50_ms", "bulk_resume_rate_off_percent"] {
        assert!(wanted[name]["found"].is_number(), "{name} in {wanted}");
    }
}

#[tokio::test]
async fn a_case_that_does_not_exist_is_told() {
    let plan = Plan { only: vec!["chain".to_owned()], ..plan(PathBuf::from(".")) };
    let error = cases::run(&plan, &mut |_| ()).await.expect_err("there is no such case");
    assert!(error.to_string().contains("chain_100"), "{error}");
    let plan = SdkPlan { plan, alone: true, program: None };
    let error = sdk::run(&plan, &mut |_| ()).expect_err("there is no such case");
    assert!(error.to_string().contains("replay_10000"), "{error}");
}

fn plan(dir: PathBuf) -> Plan {
    Plan {
        only: Vec::new(),
        json: false,
        dir,
        sync: Sync::Normal,
        sizes: Sizes {
            workflows: 40,
            chains: 1,
            long_steps: 40,
            events: 100,
            sleeping: 40,
            open: 40,
            peer_workflows: 1,
            peer_chains: 1,
        },
    }
}
