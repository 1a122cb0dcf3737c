//! Every case runs, tiny.

use std::path::PathBuf;

use steadfast_bench::{
    args::{Plan, Sizes, Sync},
    cases::{self, NAMES},
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

#[tokio::test]
async fn a_case_that_does_not_exist_is_told() {
    let plan = Plan { only: vec!["chain".to_owned()], ..plan(PathBuf::from(".")) };
    let error = cases::run(&plan, &mut |_| ()).await.expect_err("there is no such case");
    assert!(error.to_string().contains("chain_100"), "{error}");
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
            sleeping: 40,
            open: 40,
            peer_workflows: 1,
            peer_chains: 1,
        },
    }
}
