//! Signals, queries and updates.

use steadfast_sdk_rust::workflows::Adder;
use temporalio_client::{
    WorkflowStartOptions,
    errors::{WorkflowStartError, WorkflowUpdateError},
};

use crate::rig::{QUEUE, with_a_worker};

#[test]
fn reach_a_workflow_and_are_answered() {
    with_a_worker(async |rig| {
        let adder = rig.start("adder", Adder::run, ()).await;
        adder.signal(Adder::add, 1, Default::default()).await.unwrap();
        assert_eq!(adder.query(Adder::sum, (), Default::default()).await.unwrap(), 1);
        let told = adder.execute_update(Adder::add_and_tell, 2, Default::default()).await;
        assert_eq!(told.unwrap(), 3);
        let refused = adder.execute_update(Adder::add_and_tell, -1, Default::default()).await;
        let Err(WorkflowUpdateError::Failed(failure)) = refused else {
            panic!("the validator was not asked: {refused:?}");
        };
        assert_eq!(failure.message, "only up");
        adder.signal(Adder::finish, (), Default::default()).await.unwrap();
        assert_eq!(adder.get_result(Default::default()).await.unwrap(), 3);
    });
}

#[test]
fn can_start_a_workflow() {
    with_a_worker(async |rig| {
        let options = WorkflowStartOptions::new(QUEUE, "signalled").build();
        let start = rig.client.signal_with_start_workflow(Adder::run, (), Adder::add, 7, options);
        let adder = start.await.unwrap();
        assert_eq!(adder.query(Adder::sum, (), Default::default()).await.unwrap(), 7);
    });
}

#[test]
fn a_second_workflow_of_the_same_id_is_refused() {
    with_a_worker(async |rig| {
        let first = rig.start("only-one", Adder::run, ()).await;
        let options = WorkflowStartOptions::new(QUEUE, "only-one").build();
        let second = rig.client.start_workflow(Adder::run, (), options).await;
        let Err(WorkflowStartError::AlreadyStarted { run_id, .. }) = second else {
            panic!("two were started");
        };
        assert_eq!(run_id.as_deref(), first.run_id());
    });
}
