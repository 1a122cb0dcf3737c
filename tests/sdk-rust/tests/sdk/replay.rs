//! A recorded history fits the code that made it, and no other.

use steadfast_sdk_rust::workflows::{Load, elsewhere};
use temporalio_client::WorkflowHistory;
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use crate::rig::with_a_worker;

#[test]
fn a_recorded_history_is_replayed() {
    with_a_worker(async |rig| {
        let run = rig.start("recorded", Load::run, "recorded".to_owned()).await;
        assert_eq!(run.get_result(Default::default()).await.unwrap(), "recorded v1");
        let recorded = run.fetch_history(Default::default()).to_json().await.unwrap();
        let history = || WorkflowHistory::from_json(&recorded).unwrap();

        let same = WorkflowReplayerOptions::new().register_workflow::<Load>().unwrap().build();
        WorkflowReplayer::new(same).unwrap().replay_workflow(history()).await.unwrap();

        let other = WorkflowReplayerOptions::new();
        let other = other.register_workflow::<elsewhere::Load>().unwrap().build();
        let replayed = WorkflowReplayer::new(other).unwrap().replay_workflow(history()).await;
        let error = replayed.expect_err("a timer is not an activity");
        assert!(error.to_string().contains("nondeterministic"), "{error}");
    });
}
