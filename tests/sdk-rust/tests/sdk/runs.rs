//! Runs that belong together, that are cancelled, and that can be found.

use steadfast_sdk_rust::workflows::{COLOUR, Coloured, CountsDown, Parent, Waits};
use temporalio_client::{WorkflowStartOptions, errors::WorkflowGetResultError, tonic::Request};
use temporalio_common::{
    protos::temporal::api::{
        enums::v1::IndexedValueType, operatorservice::v1::AddSearchAttributesRequest,
    },
    search_attributes::SearchAttributes,
};

use crate::rig::{QUEUE, with_a_worker};

#[test]
fn a_parent_has_the_result_of_its_child() {
    with_a_worker(async |rig| {
        assert_eq!(rig.run("parent", Parent::run, "parent".to_owned()).await.unwrap(), 3);
    });
}

#[test]
fn a_run_goes_on_as_a_new_one() {
    with_a_worker(async |rig| {
        assert_eq!(rig.run("counts-down", CountsDown::run, 3).await.unwrap(), "zero");
    });
}

#[test]
fn a_run_is_cancelled() {
    with_a_worker(async |rig| {
        let started = rig.start("waits", Waits::run, ()).await;
        started.cancel(Default::default()).await.unwrap();
        let ended = started.get_result(Default::default()).await;
        assert!(matches!(ended, Err(WorkflowGetResultError::Cancelled { .. })), "{ended:?}");
    });
}

#[test]
fn a_run_is_terminated() {
    with_a_worker(async |rig| {
        let started = rig.start("waits", Waits::run, ()).await;
        started.terminate(Default::default()).await.unwrap();
        let ended = started.get_result(Default::default()).await;
        assert!(matches!(ended, Err(WorkflowGetResultError::Terminated { .. })), "{ended:?}");
    });
}

#[test]
fn a_run_times_out() {
    with_a_worker(async |rig| {
        let options = WorkflowStartOptions::new(QUEUE, "late")
            .run_timeout(std::time::Duration::from_millis(300))
            .build();
        let started = rig.client.start_workflow(Waits::run, (), options).await.unwrap();
        let ended = started.get_result(Default::default()).await;
        assert!(matches!(ended, Err(WorkflowGetResultError::TimedOut)), "{ended:?}");
    });
}

#[test]
fn a_run_is_found_by_its_attributes() {
    with_a_worker(async |rig| {
        let keyword = IndexedValueType::Keyword.into();
        let new = AddSearchAttributesRequest {
            namespace: "default".to_owned(),
            search_attributes: [(COLOUR.name().to_owned(), keyword)].into(),
        };
        let mut operator = rig.client.connection().operator_service();
        operator.add_search_attributes(Request::new(new)).await.unwrap();

        let options = WorkflowStartOptions::new(QUEUE, "coloured")
            .search_attributes(SearchAttributes::new([COLOUR.value_set("red".to_owned())]))
            .build();
        let started = rig.client.start_workflow(Coloured::run, (), options).await.unwrap();
        assert_eq!(started.get_result(Default::default()).await.unwrap(), "red");

        let about = started.describe(Default::default()).await.unwrap();
        assert_eq!(about.search_attributes().get(&COLOUR).as_deref(), Some("green"));
        for (colour, found) in [("red", 0), ("green", 1)] {
            let query = format!("Colour = '{colour}'");
            let count = rig.client.count_workflows(query, Default::default()).await.unwrap();
            assert_eq!(count.count(), found, "{colour}");
        }
    });
}
